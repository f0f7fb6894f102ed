#pragma once
// The ioctls of /dev/kfd: one row and one handler for each. Arguments are copied in and out as the kernel copies them: as many
// bytes as the caller's request number says, the rest zero.
// Thread safety: all may be called from any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "vkfd/kfd_abi.hpp"

namespace aql::vkfd {

class Process;

struct IoctlRow {
  unsigned nr;
  const char* name;
  unsigned direction; // _IOC_READ: results go back; _IOC_WRITE: arguments come in
  std::size_t size;   // of the arguments we know
  int (*handler)(Process& process, void* args, std::size_t caller_size); // 0 or -errno
};

[[nodiscard]] std::span<const IoctlRow> ioctl_rows() noexcept;
[[nodiscard]] const IoctlRow* find_ioctl(unsigned nr) noexcept;

// 0 or more, or -errno: ENOTTY for what no row names, EFAULT for arguments that cannot be reached.
[[nodiscard]] int kfd_ioctl(Process& process, unsigned long request, std::uint64_t user_args);

// Largest argument block that is accepted.
inline constexpr std::size_t kMaxIoctlBytes = 16384;

// Handlers, by file: ioctl_device.cpp, ioctl_memory.cpp, ioctl_svm.cpp, ioctl_share.cpp, ioctl_queue.cpp,
// ioctl_event.cpp.
int get_version(Process&, kfd_ioctl_get_version_args&);
int get_clock_counters(Process&, kfd_ioctl_get_clock_counters_args&);
int get_process_apertures(Process&, kfd_ioctl_get_process_apertures_args&);
int get_process_apertures_new(Process&, kfd_ioctl_get_process_apertures_new_args&);
int set_memory_policy(Process&, kfd_ioctl_set_memory_policy_args&);
int set_scratch_backing_va(Process&, kfd_ioctl_set_scratch_backing_va_args&);
int get_tile_config(Process&, kfd_ioctl_get_tile_config_args&);
int set_trap_handler(Process&, kfd_ioctl_set_trap_handler_args&);
int acquire_vm(Process&, kfd_ioctl_acquire_vm_args&);
int set_xnack_mode(Process&, kfd_ioctl_set_xnack_mode_args&);
int alloc_memory(Process&, kfd_ioctl_alloc_memory_of_gpu_args&);
int free_memory(Process&, kfd_ioctl_free_memory_of_gpu_args&);
int map_memory(Process&, kfd_ioctl_map_memory_to_gpu_args&);
int unmap_memory(Process&, kfd_ioctl_unmap_memory_from_gpu_args&);
int available_memory(Process&, kfd_ioctl_get_available_memory_args&);
int create_queue(Process&, kfd_ioctl_create_queue_args&);
int destroy_queue(Process&, kfd_ioctl_destroy_queue_args&);
int update_queue(Process&, kfd_ioctl_update_queue_args&);
int set_cu_mask(Process&, kfd_ioctl_set_cu_mask_args&);
int get_queue_wave_state(Process&, kfd_ioctl_get_queue_wave_state_args&);
int alloc_queue_gws(Process&, kfd_ioctl_alloc_queue_gws_args&);
int svm(Process&, void* args, std::size_t caller_size);
int get_dmabuf_info(Process&, kfd_ioctl_get_dmabuf_info_args&);
int import_dmabuf(Process&, kfd_ioctl_import_dmabuf_args&);
int export_dmabuf(Process&, void* args, std::size_t caller_size);
int ipc_export_handle(Process&, kfd::IpcExportHandleArgs&);
int ipc_import_handle(Process&, kfd::IpcImportHandleArgs&);
int create_event(Process&, kfd_ioctl_create_event_args&);
int destroy_event(Process&, kfd_ioctl_destroy_event_args&);
int set_event(Process&, kfd_ioctl_set_event_args&);
int reset_event(Process&, kfd_ioctl_reset_event_args&);
int wait_events(Process&, kfd_ioctl_wait_events_args&);

} // namespace aql::vkfd
