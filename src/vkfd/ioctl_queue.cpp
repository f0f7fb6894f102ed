// KFD ioctls about queues.

#include <algorithm>
#include <cerrno>
#include <vector>

#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {

int create_queue(Process& process, kfd_ioctl_create_queue_args& args) { return process.queues().create(args); }
int destroy_queue(Process& process, kfd_ioctl_destroy_queue_args& args) { return process.queues().destroy(args.queue_id); }
int update_queue(Process& process, kfd_ioctl_update_queue_args& args) { return process.queues().update(args); }

int set_cu_mask(Process& process, kfd_ioctl_set_cu_mask_args& args) {
  if (args.num_cu_mask == 0 || args.num_cu_mask % 32 != 0)
    return refuse(-EINVAL, "a mask of {} bits; multiples of 32 exist", args.num_cu_mask);
  // Bits of compute units that do not exist are ignored.
  std::vector<std::uint32_t> mask(std::min<std::uint32_t>(args.num_cu_mask, 1024) / 32);
  if (!copy_from_user(mask.data(), args.cu_mask_ptr, mask.size() * sizeof mask[0]))
    return refuse(-EFAULT, "the mask at {:#x} cannot be read", args.cu_mask_ptr);
  return process.queues().set_cu_mask(args.queue_id, mask);
}

int get_queue_wave_state(Process& process, kfd_ioctl_get_queue_wave_state_args& args) { return process.queues().wave_state(args); }

int alloc_queue_gws(Process& process, kfd_ioctl_alloc_queue_gws_args& args) {
  if (!process.queues().exists(args.queue_id)) return refuse(-EINVAL, "no queue has the id {}", args.queue_id);
  return refuse(-ENODEV, "the software GPU has no global wave synchronisation");
}

} // namespace aql::vkfd
