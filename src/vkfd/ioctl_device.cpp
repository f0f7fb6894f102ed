// KFD ioctls about devices and the process as a whole.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <vector>

#include <sys/stat.h>

#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// GPU addresses are CPU addresses: a limit of at least 2^47 - 1 tells the thunk so.
constexpr std::uint64_t kGpuVmBase = 0x200000, kGpuVmLimit = (1ull << 47) - 1;
constexpr std::uint64_t kApertureBytes = 1ull << 32;

kfd_process_device_apertures apertures_of(const GpuContext& gpu, const DeviceCore& core) {
  kfd_process_device_apertures a{};
  a.lds_base = core.shared_aperture();
  a.lds_limit = a.lds_base + kApertureBytes - 1;
  a.scratch_base = core.private_aperture();
  a.scratch_limit = a.scratch_base + kApertureBytes - 1;
  a.gpuvm_base = kGpuVmBase;
  a.gpuvm_limit = kGpuVmLimit;
  a.gpu_id = gpu.id.gpu_id;
  return a;
}

int all_apertures(Process& process, std::vector<kfd_process_device_apertures>& out) {
  for (const auto& gpu : process.gpus()) {
    const DeviceCore* core = gpu->core();
    if (core == nullptr) return refuse(-ENODEV, "the software GPU could not be started");
    out.push_back(apertures_of(*gpu, *core));
  }
  return 0;
}

int no_gpu(std::uint32_t gpu_id) { return refuse(-EINVAL, "no GPU has the id {}", gpu_id); }

} // namespace

int get_version(Process&, kfd_ioctl_get_version_args& args) {
  args.major_version = kfd::kMajor;
  args.minor_version = kfd::kMinor;
  return 0;
}

int get_clock_counters(Process& process, kfd_ioctl_get_clock_counters_args& args) {
  // Without a GPU (the id of the CPU's node) its counter reads 0, as in the kernel.
  GpuContext* gpu = process.gpu(args.gpu_id);
  DeviceCore* core = gpu != nullptr ? gpu->core() : nullptr;
  args.gpu_clock_counter = core != nullptr ? core->timestamp() : 0;
  args.cpu_clock_counter = nanoseconds(CLOCK_MONOTONIC_RAW);
  args.system_clock_counter = nanoseconds(CLOCK_BOOTTIME);
  args.system_clock_freq = 1'000'000'000;
  return 0;
}

int get_process_apertures(Process& process, kfd_ioctl_get_process_apertures_args& args) {
  std::vector<kfd_process_device_apertures> all;
  if (const int error = all_apertures(process, all); error != 0) return error;
  args.num_of_nodes = static_cast<std::uint32_t>(std::min<std::size_t>(all.size(), NUM_OF_SUPPORTED_GPUS));
  std::copy_n(all.begin(), args.num_of_nodes, args.process_apertures);
  return 0;
}

int get_process_apertures_new(Process& process, kfd_ioctl_get_process_apertures_new_args& args) {
  std::vector<kfd_process_device_apertures> all;
  if (const int error = all_apertures(process, all); error != 0) return error;
  if (args.num_of_nodes != 0) { // 0 asks for the number only
    const std::size_t n = std::min<std::size_t>(args.num_of_nodes, all.size());
    if (!copy_to_user(args.kfd_process_device_apertures_ptr, all.data(), n * sizeof all[0]))
      return refuse(-EFAULT, "the apertures cannot be written to {:#x}", args.kfd_process_device_apertures_ptr);
    args.num_of_nodes = static_cast<std::uint32_t>(n);
    return 0;
  }
  args.num_of_nodes = static_cast<std::uint32_t>(all.size());
  return 0;
}

// Caches are transparent in the functional tier, so policies change nothing.
int set_memory_policy(Process& process, kfd_ioctl_set_memory_policy_args& args) {
  if (args.default_policy > KFD_IOC_CACHE_POLICY_NONCOHERENT || args.alternate_policy > KFD_IOC_CACHE_POLICY_NONCOHERENT) {
    return refuse(-EINVAL, "cache policies {} and {}; 0 and 1 exist", args.default_policy, args.alternate_policy);
  }
  return process.gpu(args.gpu_id) != nullptr ? 0 : no_gpu(args.gpu_id);
}

int set_scratch_backing_va(Process& process, kfd_ioctl_set_scratch_backing_va_args& args) {
  GpuContext* gpu = process.gpu(args.gpu_id);
  if (gpu == nullptr) return no_gpu(args.gpu_id);
  gpu->scratch_va.store(args.va_addr, std::memory_order_relaxed);
  return 0;
}

int get_tile_config(Process& process, kfd_ioctl_get_tile_config_args& args) {
  if (process.gpu(args.gpu_id) == nullptr) return no_gpu(args.gpu_id);
  // The compute dies have no tiling tables; the address configuration is that of a linear memory.
  args.num_tile_configs = 0;
  args.num_macro_tile_configs = 0;
  args.gb_addr_config = 0;
  args.num_banks = 0;
  args.num_ranks = 0;
  return 0;
}

int set_trap_handler(Process& process, kfd_ioctl_set_trap_handler_args& args) {
  GpuContext* gpu = process.gpu(args.gpu_id);
  if (gpu == nullptr) return no_gpu(args.gpu_id);
  gpu->trap_handler.store(args.tba_addr, std::memory_order_relaxed);
  gpu->trap_memory.store(args.tma_addr, std::memory_order_relaxed);
  return 0;
}

int acquire_vm(Process& process, kfd_ioctl_acquire_vm_args& args) {
  GpuContext* gpu = process.gpu(args.gpu_id);
  if (gpu == nullptr) return no_gpu(args.gpu_id);
  struct stat info{};
  if (fstat(static_cast<int>(args.drm_fd), &info) != 0) return refuse(-EINVAL, "{} is no open descriptor", args.drm_fd);
  if (!gpu->memory.is(info.st_dev, info.st_ino))
    return refuse(-EINVAL, "descriptor {} is not the render node of GPU {}", args.drm_fd, args.gpu_id);
  gpu->vm_acquired.store(true, std::memory_order_release);
  return 0;
}

int set_xnack_mode(Process&, kfd_ioctl_set_xnack_mode_args& args) {
  // The device does not retry faulting accesses, so the mode is off and stays so.
  if (args.xnack_enabled > 0) return refuse(-EPERM, "XNACK cannot be enabled on the virtual device");
  args.xnack_enabled = 0;
  return 0;
}

} // namespace aql::vkfd
