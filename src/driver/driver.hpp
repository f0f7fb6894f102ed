#pragma once
// The seam between the runtime and a driver: about a dozen cold virtual calls. The submit path never comes here: it touches
// only QueueView, which is plain data.
// Thread safety: every call may come from any thread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/abi/signal.hpp>
#include <aql/device_info.hpp>
#include <aql/error.hpp>
#include <aql/queue_view.hpp>
#include <aql/signal.hpp>
#include <aql/signal_view.hpp>
#include <aql/types.hpp>

namespace aql::detail {

using aql::DeviceInfo;
using aql::PoolKind;
using aql::kPoolKinds;

struct Allocation {
  std::uint64_t device_address = 0;
  std::byte* host = nullptr;   // null: not host accessible
  std::size_t size_bytes = 0;
  PoolKind kind = PoolKind::device_coarse;
  std::uint64_t cookie = 0;    // driver-private
};

// Part of a loaded code object with its own permissions.
struct CodeSegment {
  std::size_t offset = 0, size_bytes = 0;
  bool read = true, write = false, execute = false;
};

// A code object for a driver that has its own loader: executable memory is then not to be had otherwise.
struct CodeRequest {
  struct Kernel {
    std::string symbol;             // "gemm.kd"
    std::uint64_t image_offset = 0; // of the descriptor
  };
  std::span<const std::byte> file;   // the ELF object
  std::uint32_t version = 0;         // code object version
  std::uint64_t virtual_base = 0;    // address in the file of the image's first byte
  std::size_t image_bytes = 0;
  std::span<const Kernel> kernels;
  std::span<const std::string> imports; // symbols from outside, each asked of `resolve`
  std::function<std::optional<std::uint64_t>(std::string_view)> resolve;
};

enum class QueueProducers : std::uint8_t { single, multi };

struct QueueFaultInfo {
  Errc code = Errc::ok;
  std::uint32_t hsa_status = 0;
  std::uint64_t packet_index = ~0ULL; // first packet that failed, ~0 if unknown
  std::string detail;
};

struct QueueRequest {
  std::uint32_t packets = 1024;
  QueueProducers producers = QueueProducers::multi;
  std::int32_t priority = 0;
  std::span<const std::uint32_t> cu_mask{};
  std::function<void(const QueueFaultInfo&)> on_fault; // at most once, on a driver thread, outside all locks
  std::function<Errc(std::uint16_t type, const std::uint64_t args[4], std::uint64_t return_address)> agent_function;
};

class Driver {
public:
  virtual ~Driver() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;

  // Memory. Alignment of what is returned: at least 4096 for executable, 256 otherwise. `label` appears in fault reports.
  virtual Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view label) = 0;
  virtual Result<void> free(const Allocation& allocation) = 0;
  // Makes host memory visible to the device; `writable` false maps it read-only.
  virtual Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable) = 0;
  virtual Result<void> unpin(const Allocation& allocation) = 0;
  // Synchronous copies between any two accessible addresses (device or host), and a 32-bit pattern fill.
  virtual Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) = 0;
  virtual Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) = 0;
  // Called after a code object was written into an executable allocation: makes it visible to instruction fetch, and sets the
  // permissions of its segments where the device has page permissions (gaps between segments become inaccessible).
  virtual Result<void> commit_code(const Allocation& allocation, std::span<const CodeSegment> segments) = 0;
  // True: executable memory is not allocated; whole code objects are handed over instead. load_code returns where the image lies.
  [[nodiscard]] virtual bool loads_code() const noexcept { return false; }
  virtual Result<Allocation> load_code(const CodeRequest&) { return std::unexpected(Error{Errc::unsupported, 0, "this driver has no loader", "load_code"}); }
  virtual Result<void> unload_code(const Allocation&) { return {}; }
  virtual void set_symbolizer(std::function<std::string(std::uint64_t pc)> symbolizer) = 0;

  // Signals.
  virtual Result<SignalView> create_signal(std::int64_t initial) = 0;
  virtual Result<void> destroy_signal(const SignalView& signal) = 0;
  // Sleeps until *some* signal may have changed, or `deadline`; spurious returns allowed, lost wake-ups not: `epoch` is a value
  // from wait_epoch() read before the caller last looked at the signal.
  virtual std::uint64_t wait_epoch(const SignalView& signal) noexcept = 0;
  virtual void wait_changed(const SignalView& signal, std::uint64_t epoch, Deadline deadline) noexcept = 0;
  // The same for a list (not empty) of signals of this driver, of which one condition is waited for; `epoch` is the first signal's.
  virtual void wait_any_changed(std::span<const WaitFor> list, std::uint64_t epoch, Deadline deadline) noexcept { wait_changed(list.front().signal.view(), epoch, deadline); }

  // Queues.
  virtual Result<QueueView> create_queue(const QueueRequest& request) = 0;
  // Stops what still runs. When it returns, no on_fault or agent_function of the queue runs or will run.
  virtual Result<void> destroy_queue(std::uint64_t id) = 0;
  virtual Result<void> inactivate_queue(std::uint64_t id) = 0;

  // Clocks: device ticks now, and conversion of device ticks to nanoseconds of CLOCK_MONOTONIC.
  virtual std::uint64_t timestamp() noexcept = 0;
  virtual std::int64_t to_host_ns(std::uint64_t ticks) noexcept = 0;
};

} // namespace aql::detail
