#pragma once
// The KFD ioctl interface: the kernel's own header, and what is newer than the header of Debian 12 (interface 1.11) or never
// was upstream (inter-process handles, the thunk's debugger call).
// Numbers and layouts: linux/kfd_ioctl.h of the kernels named at each; drivers/gpu/drm/amd/amdkfd of ROCK-Kernel-Driver.

#include <cstddef>
#include <cstdint>

#include <linux/ioctl.h>
#include <linux/kfd_ioctl.h>

namespace aql::vkfd::kfd {

// What GET_VERSION says. 1.14: signal events carry an age.
inline constexpr std::uint32_t kMajor = 1, kMinor = 14;

enum Nr : unsigned {
  kGetVersion = 0x01,
  kCreateQueue,
  kDestroyQueue,
  kSetMemoryPolicy,
  kGetClockCounters,
  kGetProcessApertures,
  kUpdateQueue,
  kCreateEvent,
  kDestroyEvent,
  kSetEvent,
  kResetEvent,
  kWaitEvents,
  kDbgRegister,
  kDbgUnregister,
  kDbgAddressWatch,
  kDbgWaveControl,
  kSetScratchBackingVa,
  kGetTileConfig,
  kSetTrapHandler,
  kGetProcessAperturesNew,
  kAcquireVm,
  kAllocMemory,
  kFreeMemory,
  kMapMemory,
  kUnmapMemory,
  kSetCuMask,
  kGetQueueWaveState,
  kGetDmabufInfo,
  kImportDmabuf,
  kAllocQueueGws,
  kSmiEvents,
  kSvm,
  kSetXnackMode,
  kCriu,
  kAvailableMemory,
  kExportDmabuf,
  kRuntimeEnable,
  kDbgTrap,
  kIpcImportHandle = 0x80,
  kIpcExportHandle = 0x81,
  kDbgTrapOld = 0x82,
  kCrossMemoryCopy = 0x83,
};
static_assert(_IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY) == kAvailableMemory && _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) == kAllocMemory);

// 1.12.
struct ExportDmabufArgs {
  std::uint64_t handle;    // in
  std::uint32_t flags;     // in: O_CLOEXEC, O_RDWR
  std::uint32_t dmabuf_fd; // out
};
static_assert(sizeof(ExportDmabufArgs) == 16);

// ROCK-Kernel-Driver only.
struct IpcExportHandleArgs {
  std::uint64_t handle;          // in
  std::uint32_t share_handle[4]; // out
  std::uint32_t gpu_id;          // in
  std::uint32_t flags;
};
struct IpcImportHandleArgs {
  std::uint64_t handle;          // out
  std::uint64_t va_addr;         // in
  std::uint64_t mmap_offset;     // out
  std::uint32_t share_handle[4]; // in
  std::uint32_t gpu_id;          // in
  std::uint32_t flags;           // out
};
static_assert(sizeof(IpcExportHandleArgs) == 32 && sizeof(IpcImportHandleArgs) == 48);

// Later than 1.11: kfd_event_data holds, for signal events, the age of the last event seen.
struct EventData {
  union {
    kfd_hsa_memory_exception_data memory;
    kfd_hsa_hw_exception_data hardware;
    std::uint64_t last_event_age;
  };
  std::uint64_t extension;
  std::uint32_t event_id;
  std::uint32_t pad;
};
static_assert(sizeof(EventData) == sizeof(kfd_event_data) && offsetof(EventData, event_id) == offsetof(kfd_event_data, event_id));

// Slots of the event page that nobody has written.
inline constexpr std::uint64_t kUnsignaledSlot = ~0ull;
inline constexpr std::uint32_t kFirstNonsignalEvent = 0x80000000u;

} // namespace aql::vkfd::kfd
