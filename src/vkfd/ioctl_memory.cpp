// KFD ioctls about memory.

#include <cerrno>
#include <vector>

#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

constexpr std::uint32_t kMaxIds = 1024;

int read_ids(std::uint64_t user, std::uint32_t count, std::vector<std::uint32_t>& out) {
  if (count == 0 || count > kMaxIds) return refuse(-EINVAL, "{} GPUs are named", count);
  out.resize(count);
  if (!copy_from_user(out.data(), user, count * sizeof out[0])) return refuse(-EFAULT, "the GPU ids at {:#x} cannot be read", user);
  return 0;
}

} // namespace

int alloc_memory(Process& process, kfd_ioctl_alloc_memory_of_gpu_args& args) {
  GpuContext* gpu = process.gpu(args.gpu_id);
  if (gpu != nullptr && (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) != 0) {
    if (args.size != kDoorbellBytes) return refuse(-EINVAL, "the doorbells take {} bytes, not {}", kDoorbellBytes, args.size);
    return process.memory().allocate(args, doorbell_offset(gpu->index), reinterpret_cast<std::byte*>(gpu->doorbells));
  }
  if (gpu != nullptr && (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) != 0) {
    if (args.size != kPage) return refuse(-EINVAL, "the remapped registers take {} bytes, not {}", kPage, args.size);
    return process.memory().allocate(args, Process::registers_offset(gpu->index), process.registers(gpu->index));
  }
  return process.memory().allocate(args, 0, nullptr);
}

int free_memory(Process& process, kfd_ioctl_free_memory_of_gpu_args& args) { return process.memory().free(args.handle); }

int map_memory(Process& process, kfd_ioctl_map_memory_to_gpu_args& args) {
  std::vector<std::uint32_t> ids;
  if (const int error = read_ids(args.device_ids_array_ptr, args.n_devices, ids); error != 0) return error;
  if (args.n_success > args.n_devices) return refuse(-EINVAL, "{} of {} GPUs are said to be done", args.n_success, args.n_devices);
  return process.memory().map(args.handle, ids, args.n_success);
}

int unmap_memory(Process& process, kfd_ioctl_unmap_memory_from_gpu_args& args) {
  std::vector<std::uint32_t> ids;
  if (const int error = read_ids(args.device_ids_array_ptr, args.n_devices, ids); error != 0) return error;
  if (args.n_success > args.n_devices) return refuse(-EINVAL, "{} of {} GPUs are said to be done", args.n_success, args.n_devices);
  return process.memory().unmap(args.handle, ids, args.n_success);
}

int available_memory(Process& process, kfd_ioctl_get_available_memory_args& args) {
  const GpuContext* gpu = process.gpu(args.gpu_id);
  if (gpu == nullptr) return refuse(-EINVAL, "no GPU has the id {}", args.gpu_id);
  args.available = process.memory().available(*gpu);
  return 0;
}

} // namespace aql::vkfd
