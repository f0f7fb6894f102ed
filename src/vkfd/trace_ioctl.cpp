#include "vkfd/trace_ioctl.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace aql::vkfd {
namespace {

enum class Form : std::uint8_t { decimal, hex, memory_flags };
struct Field {
  unsigned nr;
  const char* name;
  std::uint16_t offset;
  std::uint8_t size;
  bool result;
  Form form;
};

#define AQL_FIELD(nr, type, member, result, form)                                                                                  \
  Field { kfd::nr, #member, offsetof(type, member), sizeof(type::member), result, Form::form }
#define AQL_IN(nr, type, member) AQL_FIELD(nr, type, member, false, decimal)
#define AQL_IN_X(nr, type, member) AQL_FIELD(nr, type, member, false, hex)
#define AQL_OUT(nr, type, member) AQL_FIELD(nr, type, member, true, decimal)
#define AQL_OUT_X(nr, type, member) AQL_FIELD(nr, type, member, true, hex)
constexpr Field kFields[] = {
    AQL_OUT(kGetVersion, kfd_ioctl_get_version_args, major_version),
    AQL_OUT(kGetVersion, kfd_ioctl_get_version_args, minor_version),
    AQL_IN(kCreateQueue, kfd_ioctl_create_queue_args, gpu_id),
    AQL_IN(kCreateQueue, kfd_ioctl_create_queue_args, queue_type),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, ring_base_address),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, ring_size),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, read_pointer_address),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, write_pointer_address),
    AQL_IN(kCreateQueue, kfd_ioctl_create_queue_args, queue_percentage),
    AQL_IN(kCreateQueue, kfd_ioctl_create_queue_args, queue_priority),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, eop_buffer_address),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, ctx_save_restore_address),
    AQL_IN_X(kCreateQueue, kfd_ioctl_create_queue_args, ctx_save_restore_size),
    AQL_OUT(kCreateQueue, kfd_ioctl_create_queue_args, queue_id),
    AQL_OUT_X(kCreateQueue, kfd_ioctl_create_queue_args, doorbell_offset),
    AQL_IN(kDestroyQueue, kfd_ioctl_destroy_queue_args, queue_id),
    AQL_IN(kSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, gpu_id),
    AQL_IN(kSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, default_policy),
    AQL_IN(kSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, alternate_policy),
    AQL_IN_X(kSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, alternate_aperture_base),
    AQL_IN_X(kSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, alternate_aperture_size),
    AQL_IN(kGetClockCounters, kfd_ioctl_get_clock_counters_args, gpu_id),
    AQL_OUT(kGetClockCounters, kfd_ioctl_get_clock_counters_args, gpu_clock_counter),
    AQL_OUT(kGetClockCounters, kfd_ioctl_get_clock_counters_args, cpu_clock_counter),
    AQL_OUT(kGetClockCounters, kfd_ioctl_get_clock_counters_args, system_clock_counter),
    AQL_OUT(kGetProcessApertures, kfd_ioctl_get_process_apertures_args, num_of_nodes),
    AQL_IN(kUpdateQueue, kfd_ioctl_update_queue_args, queue_id),
    AQL_IN_X(kUpdateQueue, kfd_ioctl_update_queue_args, ring_base_address),
    AQL_IN_X(kUpdateQueue, kfd_ioctl_update_queue_args, ring_size),
    AQL_IN(kUpdateQueue, kfd_ioctl_update_queue_args, queue_percentage),
    AQL_IN(kUpdateQueue, kfd_ioctl_update_queue_args, queue_priority),
    AQL_IN(kCreateEvent, kfd_ioctl_create_event_args, event_type),
    AQL_IN(kCreateEvent, kfd_ioctl_create_event_args, auto_reset),
    AQL_IN(kCreateEvent, kfd_ioctl_create_event_args, node_id),
    AQL_IN_X(kCreateEvent, kfd_ioctl_create_event_args, event_page_offset),
    AQL_OUT_X(kCreateEvent, kfd_ioctl_create_event_args, event_id),
    AQL_OUT(kCreateEvent, kfd_ioctl_create_event_args, event_slot_index),
    AQL_OUT_X(kCreateEvent, kfd_ioctl_create_event_args, event_page_offset),
    AQL_IN_X(kDestroyEvent, kfd_ioctl_destroy_event_args, event_id),
    AQL_IN_X(kSetEvent, kfd_ioctl_set_event_args, event_id),
    AQL_IN_X(kResetEvent, kfd_ioctl_reset_event_args, event_id),
    AQL_IN(kWaitEvents, kfd_ioctl_wait_events_args, num_events),
    AQL_IN(kWaitEvents, kfd_ioctl_wait_events_args, wait_for_all),
    AQL_IN(kWaitEvents, kfd_ioctl_wait_events_args, timeout),
    AQL_OUT(kWaitEvents, kfd_ioctl_wait_events_args, wait_result),
    AQL_IN(kSetScratchBackingVa, kfd_ioctl_set_scratch_backing_va_args, gpu_id),
    AQL_IN_X(kSetScratchBackingVa, kfd_ioctl_set_scratch_backing_va_args, va_addr),
    AQL_IN(kGetTileConfig, kfd_ioctl_get_tile_config_args, gpu_id),
    AQL_IN(kSetTrapHandler, kfd_ioctl_set_trap_handler_args, gpu_id),
    AQL_IN_X(kSetTrapHandler, kfd_ioctl_set_trap_handler_args, tba_addr),
    AQL_IN_X(kSetTrapHandler, kfd_ioctl_set_trap_handler_args, tma_addr),
    AQL_IN(kGetProcessAperturesNew, kfd_ioctl_get_process_apertures_new_args, num_of_nodes),
    AQL_OUT(kGetProcessAperturesNew, kfd_ioctl_get_process_apertures_new_args, num_of_nodes),
    AQL_IN(kAcquireVm, kfd_ioctl_acquire_vm_args, gpu_id),
    AQL_IN(kAcquireVm, kfd_ioctl_acquire_vm_args, drm_fd),
    AQL_IN(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, gpu_id),
    AQL_IN_X(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, va_addr),
    AQL_IN_X(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, size),
    AQL_FIELD(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, flags, false, memory_flags),
    AQL_IN_X(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, mmap_offset),
    AQL_OUT_X(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, handle),
    AQL_OUT_X(kAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, mmap_offset),
    AQL_IN_X(kFreeMemory, kfd_ioctl_free_memory_of_gpu_args, handle),
    AQL_IN_X(kMapMemory, kfd_ioctl_map_memory_to_gpu_args, handle),
    AQL_IN(kMapMemory, kfd_ioctl_map_memory_to_gpu_args, n_devices),
    AQL_OUT(kMapMemory, kfd_ioctl_map_memory_to_gpu_args, n_success),
    AQL_IN_X(kUnmapMemory, kfd_ioctl_unmap_memory_from_gpu_args, handle),
    AQL_IN(kUnmapMemory, kfd_ioctl_unmap_memory_from_gpu_args, n_devices),
    AQL_OUT(kUnmapMemory, kfd_ioctl_unmap_memory_from_gpu_args, n_success),
    AQL_IN(kSetCuMask, kfd_ioctl_set_cu_mask_args, queue_id),
    AQL_IN(kSetCuMask, kfd_ioctl_set_cu_mask_args, num_cu_mask),
    AQL_IN(kGetQueueWaveState, kfd_ioctl_get_queue_wave_state_args, queue_id),
    AQL_IN(kAllocQueueGws, kfd_ioctl_alloc_queue_gws_args, queue_id),
    AQL_IN(kAllocQueueGws, kfd_ioctl_alloc_queue_gws_args, num_gws),
    AQL_OUT(kAllocQueueGws, kfd_ioctl_alloc_queue_gws_args, first_gws),
    AQL_IN_X(kSvm, kfd_ioctl_svm_args, start_addr),
    AQL_IN_X(kSvm, kfd_ioctl_svm_args, size),
    AQL_IN(kSvm, kfd_ioctl_svm_args, op),
    AQL_IN(kSvm, kfd_ioctl_svm_args, nattr),
    AQL_IN_X(kSetXnackMode, kfd_ioctl_set_xnack_mode_args, xnack_enabled),
    AQL_OUT(kSetXnackMode, kfd_ioctl_set_xnack_mode_args, xnack_enabled),
    AQL_IN(kAvailableMemory, kfd_ioctl_get_available_memory_args, gpu_id),
    AQL_OUT(kAvailableMemory, kfd_ioctl_get_available_memory_args, available),
    AQL_IN(kGetDmabufInfo, kfd_ioctl_get_dmabuf_info_args, dmabuf_fd),
    AQL_OUT_X(kGetDmabufInfo, kfd_ioctl_get_dmabuf_info_args, size),
    AQL_OUT(kGetDmabufInfo, kfd_ioctl_get_dmabuf_info_args, gpu_id),
    AQL_IN(kImportDmabuf, kfd_ioctl_import_dmabuf_args, gpu_id),
    AQL_IN(kImportDmabuf, kfd_ioctl_import_dmabuf_args, dmabuf_fd),
    AQL_IN_X(kImportDmabuf, kfd_ioctl_import_dmabuf_args, va_addr),
    AQL_OUT_X(kImportDmabuf, kfd_ioctl_import_dmabuf_args, handle),
    AQL_IN_X(kExportDmabuf, kfd::ExportDmabufArgs, handle),
    AQL_OUT(kExportDmabuf, kfd::ExportDmabufArgs, dmabuf_fd),
    AQL_IN_X(kIpcExportHandle, kfd::IpcExportHandleArgs, handle),
    AQL_IN(kIpcExportHandle, kfd::IpcExportHandleArgs, gpu_id),
    AQL_IN(kIpcImportHandle, kfd::IpcImportHandleArgs, gpu_id),
    AQL_IN_X(kIpcImportHandle, kfd::IpcImportHandleArgs, va_addr),
    AQL_OUT_X(kIpcImportHandle, kfd::IpcImportHandleArgs, handle),
    AQL_OUT_X(kIpcImportHandle, kfd::IpcImportHandleArgs, mmap_offset),
};

std::string memory_flags(std::uint64_t flags) {
  constexpr struct {
    std::uint32_t bit;
    const char* name;
  } kNames[] = {{KFD_IOC_ALLOC_MEM_FLAGS_VRAM, "VRAM"},
                {KFD_IOC_ALLOC_MEM_FLAGS_GTT, "GTT"},
                {KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, "USERPTR"},
                {KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL, "DOORBELL"},
                {KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP, "MMIO_REMAP"},
                {1u << 31, "WRITABLE"},
                {KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE, "EXECUTABLE"},
                {KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC, "PUBLIC"},
                {KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE, "NO_SUBSTITUTE"},
                {KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM, "AQL_QUEUE_MEM"},
                {KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, "COHERENT"},
                {KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED, "UNCACHED"}};
  std::string text;
  for (const auto& n : kNames) {
    if ((flags & n.bit) == 0) continue;
    if (!text.empty()) text += '|';
    text += n.name;
    flags &= ~static_cast<std::uint64_t>(n.bit);
  }
  if (flags != 0 || text.empty()) text += fmt::format("{}{:#x}", text.empty() ? "" : "|", flags);
  return text;
}

} // namespace

std::string describe_arguments(const IoctlRow& row, const void* args, bool results) {
  std::string text;
  for (const Field& f : kFields) {
    if (f.nr != row.nr || f.result != results || f.offset + f.size > row.size) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(args) + f.offset, f.size); // little-endian
    text += text.empty() ? (results ? " -> " : "") : ", ";
    text += f.name;
    text += '=';
    switch (f.form) {
    case Form::decimal: text += fmt::format("{}", value); break;
    case Form::hex: text += fmt::format("{:#x}", value); break;
    case Form::memory_flags: text += memory_flags(value); break;
    }
  }
  return text;
}

std::string error_name(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : fmt::format("errno {}", error);
}

} // namespace aql::vkfd
