// ioctl: the two kinds of device files answer here, everything else is passed on.

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include <sys/ioctl.h>

#include "vkfd/drm.hpp"
#include "vkfd/hooks.hpp"
#include "vkfd/ioctl_table.hpp"
#include "vkfd/session.hpp"

using namespace aql::vkfd;

AQL_HOOK int ioctl(int fd, unsigned long request, ...) noexcept {
  AQL_REAL(ioctl);
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (Inside::now() || (_IOC_TYPE(request) != 'K' && _IOC_TYPE(request) != 'd')) return real(fd, request, argument);
  const int saved = errno;
  const Descriptor d = descriptor(fd);
  errno = saved;
  if (d.kind == DeviceFile::none) return real(fd, request, argument);
  const Inside inside;
  int result = -EBADF;
  if (!d.stale) {
    const bool kfd = d.kind == DeviceFile::kfd && _IOC_TYPE(request) == 'K';
    const bool drm = d.kind == DeviceFile::render && _IOC_TYPE(request) == 'd';
    const auto user = reinterpret_cast<std::uint64_t>(argument);
    result = kfd ? kfd_ioctl(*d.process, request, user) : drm ? drm_ioctl(*d.process, *d.gpu, request, user) : -ENOTTY;
  }
  errno = result < 0 ? -result : saved;
  return result < 0 ? -1 : result;
}
