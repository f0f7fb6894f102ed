#pragma once
// The software GPU: memory, queues, a packet processor and worker threads. It sees what hardware sees: an amd_queue_t, a ring,
// a doorbell. It knows no driver and no ELF file; a symbol callback gives it names for reports.
// Thread safety: all members may be called from any thread unless they say otherwise. on_error runs on the processor's thread,
// outside all locks, and may call any member but the destructor. Agent functions run on a thread of their own (hand-stepped: inside
// step()) and may wait for other work of the device, but not destroy their own queue. The symbolizer, the event hook and
// on_interrupt run on whichever thread needs them and call no member.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <aql/abi/queue.hpp>
#include <aql/error.hpp>

#include "sim/cp/profile.hpp"
#include "sim/exec/wave.hpp"
#include "sim/fault.hpp"
#include "sim/mem/address_map.hpp"

namespace aql::sim {

struct GpuOptions {
  unsigned workers = 1;                       // threads that run waves; 0: as many as the host has
  bool hand_stepped = false;                  // no thread of its own: step() does the work (tests)
  std::uint64_t seed = 0;                     // scheduling of queues and waves with one worker is a function of this
  std::uint32_t slice_instructions = 4096;    // a wave yields after at most this many
  std::uint64_t watchdog_instructions = 0;    // per dispatch, 0 = off
  std::uint64_t watchdog_ms = 0;              // wall time per dispatch without end, 0 = off
  bool barrier_nonpositive_satisfies = false; // barrier-AND/OR: "<= 0" instead of "== 0"
  bool needs_doorbell = true;                 // packets beyond the last doorbell are not looked at
  bool acquire_always = false;                // invalidate L1 before every dispatch (AMDGPUUsage's wording)
  bool kernarg_preload_firmware = true;       // start at entry + 256 when a kernel preloads kernargs
  bool poison = false;                        // fill VGPRs and LDS with a pattern at wave start
  MatrixNumerics numerics = MatrixNumerics::exact;
};

enum class QueueState : std::uint8_t { active, inactive, destroyed };

// A queue's error as the processor reports it, once.
struct QueueFault {
  Errc code = Errc::ok;
  std::uint32_t error_bits = 0; // abi::QueueError bits, as stored in queue_inactive_signal; 0 for memory faults (KFD: an event)
  std::uint64_t packet_index = 0;
  std::string detail; // report, several lines for memory faults and hangs
  Fault fault;        // code == ok if no wave was involved
};

struct QueueConfig {
  abi::AmdQueue* amd_queue = nullptr; // host address of the structure; its device address is queue_address
  std::uint64_t queue_address = 0;
  std::uint64_t* doorbell = nullptr;               // host address of the 64-bit doorbell; armed to ~0 by create_queue
  std::function<void(const QueueFault&)> on_error; // at most once
  // Who owns scratch. false: the processor allocates it. true: the runtime does, through amd_queue_t (compute_tmpring_size,
  // scratch_backing_memory_location, scratch_wave64_lane_byte_size); a dispatch that needs more makes the processor store
  // kQueueErrorScratch in queue_inactive_signal, raise its event, and try again when the signal reads 0 (ROCr's handshake).
  bool external_scratch = false;
  // Agent-dispatch packets: function(type, args[4], return_address) -> Errc. Empty: INVALID_PACKET_FORMAT.
  std::function<Errc(std::uint16_t type, const std::uint64_t args[4], std::uint64_t return_address)> agent_function;
  std::int32_t priority = 0;
  std::uint64_t cu_mask[8] = {}; // all zero = all
  // Nobody calls notify() after the doorbell store (foreign programs over the virtual KFD): an idle processor looks from time to
  // time.
  bool polled_doorbell = false;
  // What is reserved when the queue is created counts as rung for: rings that came before it, or while it was off the device.
  bool starts_rung = false;
  // The ring, where the driver has its own word for it; 0: as the amd_queue_t says, which a program may change at any time.
  std::uint64_t ring_address = 0, ring_packets = 0;
};

// A ring of PM4 packets instead of AQL ones (the virtual KFD). Positions count dwords, run free, and are masked by the ring's size;
// the doorbell gets the new write position.
struct Pm4QueueConfig {
  std::uint64_t ring_address = 0;        // device address
  std::uint64_t ring_dwords = 0;         // a power of two
  std::uint32_t* read_pointer = nullptr; // host address of the 32-bit read position that the processor reports
  std::uint64_t* doorbell = nullptr;     // host address of the 64-bit doorbell, of which 32 bits count; set by create_pm4_queue
  // Host address of the write position, for rings that came before the queue; null: there were none. Not looked at later.
  std::uint32_t* write_pointer = nullptr;
  std::function<void(const QueueFault&)> on_error;            // at most once
  std::function<void(std::uint32_t context_id)> on_interrupt; // RELEASE_MEM with an interrupt
  std::int32_t priority = 0;
  std::uint64_t cu_mask[8] = {};
  bool polled_doorbell = false;
};

// A ring of SDMA packets: the copy engine (the virtual KFD). Positions count bytes, run free, and are masked by the ring's size; the
// doorbell gets the new write position.
struct SdmaQueueConfig {
  std::uint64_t ring_address = 0;        // device address
  std::uint64_t ring_bytes = 0;          // a power of two, at least 256
  std::uint64_t* read_pointer = nullptr; // host address of the 64-bit read position that the engine reports
  std::uint64_t* doorbell = nullptr;     // host address of the 64-bit doorbell; set by create_sdma_queue
  // Host address of the write position, for rings that came before the queue; null: there were none. Not looked at later.
  std::uint64_t* write_pointer = nullptr;
  std::function<void(const QueueFault&)> on_error;            // at most once
  std::function<void(std::uint32_t context_id)> on_interrupt; // TRAP
  bool polled_doorbell = false;
};

using QueueId = std::uint64_t;

// What the event hook is told when a wave interrupts (s_sendmsg MSG_INTERRUPT): some mailboxes hold events, look at all.
inline constexpr std::uint32_t kAnyEvent = 0;

// Sees every packet once, before it is executed: an AQL slot, or a PM4 or SDMA packet with its header, also of indirect buffers.
// Called on the processor's thread; calls no member of the Gpu.
enum class PacketEngine : std::uint8_t { aql, pm4, sdma };
class PacketObserver {
public:
  virtual ~PacketObserver() = default;
  virtual void packet(QueueId queue, PacketEngine engine, std::uint64_t index, std::span<const std::uint32_t> words) = 0;
};

class Gpu {
public:
  static Result<std::unique_ptr<Gpu>> create(const DeviceProfile& profile, const GpuOptions& options);
  ~Gpu();

  [[nodiscard]] AddressMap& memory() noexcept;
  [[nodiscard]] const DeviceProfile& profile() const noexcept;
  [[nodiscard]] std::uint64_t shared_aperture() const noexcept; // 64-bit bases
  [[nodiscard]] std::uint64_t private_aperture() const noexcept;

  Result<QueueId> create_queue(const QueueConfig& config);
  Result<QueueId> create_pm4_queue(const Pm4QueueConfig& config);
  Result<QueueId> create_sdma_queue(const SdmaQueueConfig& config);
  // Ends work in flight (waves are stopped at the next slice) and returns when the processor has left the ring.
  Result<void> destroy_queue(QueueId id);
  // Stops a queue as if it had faulted (hsa_queue_inactivate).
  Result<void> inactivate_queue(QueueId id);
  [[nodiscard]] Result<QueueState> queue_state(QueueId id) const;
  // Takes a queue off the device, with its waves where they are (at the latest after the slice under way), and puts it back.
  Result<void> hold_queue(QueueId id);
  Result<void> resume_queue(QueueId id);
  // All zero: every compute unit. Groups that run stay where they are.
  Result<void> set_cu_mask(QueueId id, const std::uint64_t (&mask)[8]);
  // Also for the groups of what is in flight that have not started. Copy-engine queues have none.
  Result<void> set_priority(QueueId id, std::int32_t priority);

  // The doorbell of a queue was written. Cheap; wakes the processor when it sleeps. `arg` is the Gpu.
  static void notify(void* arg) noexcept;
  // A signal that a barrier packet may wait for was written by the host. Same wake-up.
  void notify_signal() noexcept;
  // Counter bumped at every completion-signal store; blocked host waits sleep on it (futex), see wait_for_event(). notify_signal()
  // bumps it too.
  [[nodiscard]] std::atomic<std::uint32_t>& event_counter() noexcept;

  // Sleeps until event_counter() differs from `seen`, at most `timeout_ns`; spurious returns allowed.
  void wait_for_event(std::uint32_t seen, std::int64_t timeout_ns) noexcept;

  // hand_stepped: does a bounded amount of work; false if there was nothing to do.
  bool step();
  // Runs step() until idle (tests).
  void run_until_idle();

  // address -> "kernel name" for reports, may be empty.
  void set_symbolizer(std::function<std::string(std::uint64_t)> symbolizer);
  // amd_signal_t.event_id to raise (virtual KFD events), or kAnyEvent.
  void set_event_hook(std::function<void(std::uint32_t event_id)> hook);
  void set_trace(TraceSink* sink); // null: off
  void set_packet_observer(PacketObserver* observer); // null: off; lives as long as the Gpu
  void set_fidelity(FidelityCounters* counters);
  // Device clock, ticks of profile().timestamp_hz.
  [[nodiscard]] std::uint64_t timestamp() const noexcept;

private:
  Gpu();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace aql::sim
