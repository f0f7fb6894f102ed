#pragma once
// The thunk, AMD's library over /dev/kfd (libhsakmt), by its entry points; loaded at run time, or linked where the build says so.
// Thread safety: any thread.

#if __has_include(<hsakmt/hsakmt.h>)
#include <hsakmt/hsakmt.h>
#else
#include <hsakmt.h>
#endif

#include <cstdint>
#include <string>

#include <aql/error.hpp>

namespace aql::detail::kfd {

// Every entry point this driver calls. All are in libhsakmt 5.2.3.
#define AQL_KFD_ENTRY_POINTS(X)     \
  X(hsaKmtOpenKFD)                  \
  X(hsaKmtCloseKFD)                 \
  X(hsaKmtGetVersion)               \
  X(hsaKmtAcquireSystemProperties)  \
  X(hsaKmtReleaseSystemProperties)  \
  X(hsaKmtGetNodeProperties)        \
  X(hsaKmtGetNodeMemoryProperties)  \
  X(hsaKmtGetXNACKMode)             \
  X(hsaKmtGetClockCounters)         \
  X(hsaKmtAllocMemory)              \
  X(hsaKmtFreeMemory)               \
  X(hsaKmtMapMemoryToGPUNodes)      \
  X(hsaKmtUnmapMemoryToGPU)         \
  X(hsaKmtRegisterMemoryWithFlags)  \
  X(hsaKmtDeregisterMemory)         \
  X(hsaKmtCreateEvent)              \
  X(hsaKmtDestroyEvent)             \
  X(hsaKmtSetEvent)                 \
  X(hsaKmtWaitOnEvent)              \
  X(hsaKmtWaitOnMultipleEvents)     \
  X(hsaKmtCreateQueue)              \
  X(hsaKmtUpdateQueue)              \
  X(hsaKmtDestroyQueue)             \
  X(hsaKmtSetQueueCUMask)

struct Thunk {
#define AQL_KFD_MEMBER(name) decltype(&::name) name = nullptr;
  AQL_KFD_ENTRY_POINTS(AQL_KFD_MEMBER)
#undef AQL_KFD_MEMBER
};

// Loads the library once; it is never unloaded. Errors: unsupported, with the linker's words, or because the process has another
// thunk inside its HSA runtime.
[[nodiscard]] Result<const Thunk*> load_thunk();

// What a status means for us. "no memory (6)".
[[nodiscard]] Errc errc_of(HSAKMT_STATUS status) noexcept;
[[nodiscard]] std::string describe(HSAKMT_STATUS status);
[[nodiscard]] Error failure(HSAKMT_STATUS status, std::string what, const char* where);

// Dies are counted (XCC: the accelerator dies that share the queues of a device) by thunks of ROCm 6; older ones leave the place of
// the number at 0.
[[nodiscard]] std::uint32_t xcc_count(const HsaNodeProperties& properties) noexcept;

} // namespace aql::detail::kfd
