#pragma once
// linux/kfd_ioctl.h includes <drm/drm.h>, which Debian ships as <libdrm/drm.h>.
#include <libdrm/drm.h>
