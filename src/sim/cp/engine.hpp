#pragma once
// What the processor, its queues and its workers share.
// Thread safety: members are either set before threads start, atomics, or guard themselves; see each.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <aql/abi/signal.hpp>

#include "sim/cp/clock.hpp"
#include "sim/cp/dispatch.hpp"
#include "sim/cp/gpu.hpp"
#include "sim/cp/scheduler.hpp"
#include "sim/cp/sleeper.hpp"
#include "sim/cp/wave_setup.hpp"
#include "sim/exec/code_cache.hpp"
#include "sim/exec/exec.hpp"

namespace aql::sim {

class Worker;

// Flat apertures (the bases that KFD reports): bits 63:32 go into amd_queue_t and hidden arguments.
inline constexpr std::uint64_t kSharedAperture = 0x1000000000000ull, kPrivateAperture = 0x2000000000000ull;

struct Engine {
  Engine(const DeviceProfile& profile, const GpuOptions& options);
  ~Engine();

  const DeviceProfile profile;
  const GpuOptions options;
  const SetupOptions setup;
  AddressMap map;
  CodeCache code;
  DeviceClock clock;
  ScratchPool scratch;
  Scheduler scheduler;
  Sleeper processor_sleeper;
  std::vector<std::unique_ptr<Worker>> workers; // [0] is run by the processor's thread

  std::atomic<std::uint32_t> event_counter{0};
  std::atomic<std::uint32_t> event_waiters{0};
  std::atomic<TraceSink*> trace{nullptr};
  std::atomic<PacketObserver*> packet_observer{nullptr};
  std::atomic<FidelityCounters*> fidelity{nullptr};

  void set_symbolizer(std::function<std::string(std::uint64_t)> symbolizer);
  void set_event_hook(std::function<void(std::uint32_t)> hook);
  [[nodiscard]] std::string symbol(std::uint64_t address) const;

  // A wave says that it has stored to signals. What it names, a few bits of M0, is not enough to tell which.
  void wave_interrupt();
  // Host writes a signal or a completion happened: blocked host waits look again.
  void bump_event_counter() noexcept;
  // Timestamps, decrement (release), mailbox, event. false: the signal cannot be written; `why` says so.
  [[nodiscard]] bool complete_signal(HostView& view, std::uint64_t handle, std::uint64_t start_ts, std::string& why);
  // Stores a value, and raises the signal's event (queue_inactive_signal).
  void store_signal(HostView& view, std::uint64_t handle, std::int64_t value);

  // Fence points of a packet. In the functional tier memory is always coherent and the host's own fences suffice; a cache model
  // hooks in here.
  void acquire(abi::FenceScope scope) noexcept;
  void release(abi::FenceScope scope) noexcept;

  // `count` groups of the dispatch are over (ended, stopped or cancelled). The last one completes it.
  void groups_over(HostView& view, Dispatch* dispatch, std::uint64_t count);
  // Dispatches that are over, for the processor to take back.
  [[nodiscard]] Dispatch* take_retired() noexcept { return retired_.exchange(nullptr, std::memory_order_acquire); }

private:
  void raise_event(HostView& view, std::uint64_t mailbox, std::uint32_t event_id);
  void call_event_hook(std::uint32_t event_id);
  std::atomic<Dispatch*> retired_{nullptr};
  mutable std::mutex callbacks_mutex_;
  std::shared_ptr<const std::function<std::string(std::uint64_t)>> symbolizer_;
  std::shared_ptr<const std::function<void(std::uint32_t)>> event_hook_;
};

} // namespace aql::sim
