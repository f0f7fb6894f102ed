#pragma once
// The few DRM ioctls of a render node that libdrm_amdgpu makes for a compute device: version, device information, memory sizes.
// Thread safety: all may be called from any thread.

#include <cstdint>

namespace aql::vkfd {

class Process;
struct GpuContext;

// 0, or -errno: ENOTTY for what is not answered.
[[nodiscard]] int drm_ioctl(Process& process, GpuContext& gpu, unsigned long request, std::uint64_t user_args);
[[nodiscard]] const char* drm_ioctl_name(unsigned nr) noexcept;

} // namespace aql::vkfd
