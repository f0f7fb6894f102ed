#include "vkfd/ioctl_table.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/trace.hpp"
#include "vkfd/trace_ioctl.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

constexpr unsigned kIn = _IOC_WRITE, kOut = _IOC_READ, kInOut = _IOC_READ | _IOC_WRITE;

template <auto Function>
struct Handler;
template <class Args, int (*Function)(Process&, Args&)>
struct Handler<Function> {
  static constexpr std::size_t size = sizeof(Args);
  static int call(Process& process, void* args, std::size_t) { return Function(process, *static_cast<Args*>(args)); }
};

// Interfaces that exist and that this device does not have: the caller learns so, and goes on without.
template <int Error>
int absent(Process&, void*, std::size_t) {
  return refuse(-Error, "the virtual KFD does not offer this");
}

#define AQL_ROW(nr, direction, function)                                                                                           \
  IoctlRow { kfd::nr, #function, direction, Handler<&function>::size, &Handler<&function>::call }
constexpr IoctlRow kRows[] = {
    AQL_ROW(kGetVersion, kOut, get_version),
    AQL_ROW(kCreateQueue, kInOut, create_queue),
    AQL_ROW(kDestroyQueue, kInOut, destroy_queue),
    AQL_ROW(kSetMemoryPolicy, kIn, set_memory_policy),
    AQL_ROW(kGetClockCounters, kInOut, get_clock_counters),
    AQL_ROW(kGetProcessApertures, kOut, get_process_apertures),
    AQL_ROW(kUpdateQueue, kIn, update_queue),
    AQL_ROW(kCreateEvent, kInOut, create_event),
    AQL_ROW(kDestroyEvent, kIn, destroy_event),
    AQL_ROW(kSetEvent, kIn, set_event),
    AQL_ROW(kResetEvent, kIn, reset_event),
    AQL_ROW(kWaitEvents, kInOut, wait_events),
    {kfd::kDbgRegister, "dbg_register", kIn, sizeof(kfd_ioctl_dbg_register_args), &absent<EPERM>}, // as kernels since 5.18
    {kfd::kDbgUnregister, "dbg_unregister", kIn, sizeof(kfd_ioctl_dbg_unregister_args), &absent<EPERM>},
    {kfd::kDbgAddressWatch, "dbg_address_watch", kIn, sizeof(kfd_ioctl_dbg_address_watch_args), &absent<EPERM>},
    {kfd::kDbgWaveControl, "dbg_wave_control", kIn, sizeof(kfd_ioctl_dbg_wave_control_args), &absent<EPERM>},
    AQL_ROW(kSetScratchBackingVa, kInOut, set_scratch_backing_va),
    AQL_ROW(kGetTileConfig, kInOut, get_tile_config),
    AQL_ROW(kSetTrapHandler, kIn, set_trap_handler),
    AQL_ROW(kGetProcessAperturesNew, kInOut, get_process_apertures_new),
    AQL_ROW(kAcquireVm, kIn, acquire_vm),
    AQL_ROW(kAllocMemory, kInOut, alloc_memory),
    AQL_ROW(kFreeMemory, kIn, free_memory),
    AQL_ROW(kMapMemory, kInOut, map_memory),
    AQL_ROW(kUnmapMemory, kInOut, unmap_memory),
    AQL_ROW(kSetCuMask, kIn, set_cu_mask),
    AQL_ROW(kGetQueueWaveState, kInOut, get_queue_wave_state),
    AQL_ROW(kGetDmabufInfo, kInOut, get_dmabuf_info),
    AQL_ROW(kImportDmabuf, kInOut, import_dmabuf),
    AQL_ROW(kAllocQueueGws, kInOut, alloc_queue_gws),
    {kfd::kSmiEvents, "smi_events", kInOut, sizeof(kfd_ioctl_smi_events_args), &absent<EOPNOTSUPP>},
    {kfd::kSvm, "svm", kInOut, sizeof(kfd_ioctl_svm_args), &svm},
    AQL_ROW(kSetXnackMode, kInOut, set_xnack_mode),
    {kfd::kCriu, "criu", kInOut, sizeof(kfd_ioctl_criu_args), &absent<EOPNOTSUPP>},
    AQL_ROW(kAvailableMemory, kInOut, available_memory),
    {kfd::kExportDmabuf, "export_dmabuf", kInOut, sizeof(kfd::ExportDmabufArgs), &export_dmabuf},
    {kfd::kRuntimeEnable, "runtime_enable", kInOut, 16, &absent<EOPNOTSUPP>},
    {kfd::kDbgTrap, "dbg_trap", kInOut, 8, &absent<EOPNOTSUPP>},
    AQL_ROW(kIpcImportHandle, kInOut, ipc_import_handle),
    AQL_ROW(kIpcExportHandle, kInOut, ipc_export_handle),
    {kfd::kDbgTrapOld, "dbg_trap (thunk 5)", kInOut, 8, &absent<EINVAL>},
};
#undef AQL_ROW

} // namespace

std::span<const IoctlRow> ioctl_rows() noexcept { return kRows; }

const IoctlRow* find_ioctl(unsigned nr) noexcept {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [nr](const IoctlRow& r) { return r.nr == nr; });
  return row == std::end(kRows) ? nullptr : row;
}

namespace {

// The arguments of one call, ours to change.
class Arguments {
public:
  explicit Arguments(std::size_t size) {
    if (size > sizeof small_) large_ = std::make_unique<std::uint64_t[]>((size + 7) / 8);
    std::fill_n(data(), size, std::byte{0});
  }
  [[nodiscard]] std::byte* data() noexcept { return large_ ? reinterpret_cast<std::byte*>(large_.get()) : small_; }

private:
  alignas(8) std::byte small_[256];
  std::unique_ptr<std::uint64_t[]> large_;
};

int call(Process& process, const IoctlRow& row, std::size_t caller_size, std::uint64_t user_args) {
  const std::size_t size = std::max(caller_size, row.size);
  if (size > kMaxIoctlBytes) return refuse(-EINVAL, "{} bytes of arguments", size);
  Arguments args{size};
  if ((row.direction & kIn) != 0 && !copy_from_user(args.data(), user_args, caller_size))
    return refuse(-EFAULT, "the arguments at {:#x} cannot be read", user_args);
  const std::string before = tracing() ? describe_arguments(row, args.data(), false) : std::string{};
  const int result = row.handler(process, args.data(), caller_size);
  if (tracing()) {
    const std::string why = take_note();
    trace(fmt::format("{}({}) = {}{}{}{}", row.name, before, result < 0 ? error_name(-result) : "0",
                      result < 0 ? "" : describe_arguments(row, args.data(), true), why.empty() ? "" : ": ", why));
  }
  if ((row.direction & kOut) != 0 && !copy_to_user(user_args, args.data(), caller_size))
    return refuse(-EFAULT, "the results cannot be written to {:#x}", user_args);
  return result;
}

} // namespace

int kfd_ioctl(Process& process, unsigned long request, std::uint64_t user_args) {
  const unsigned nr = _IOC_NR(request);
  if (const IoctlRow* row = find_ioctl(nr)) return call(process, *row, _IOC_SIZE(request), user_args);
  if (tracing()) trace(fmt::format("ioctl {:#x} with {} bytes = ENOTTY", nr, _IOC_SIZE(request)));
  return refuse(-ENOTTY, "no KFD ioctl has the number {:#x}", nr);
}

} // namespace aql::vkfd
