#pragma once
// One hardware queue: reads the ring, decides when a packet may launch, launches it, completes barrier packets.
// Thread safety: poll() and what it calls belong to the processor's thread. record_fault() and dispatch_over() may be called by any
// worker.
// Memory ordering: label A, the packet's first 32-bit word is loaded with acquire, the partner of the producer's release store;
// label C, the read index is released after the slot is INVALID again; label Q, in_flight_ is decremented with release by
// the worker that completed a dispatch and read with acquire where the barrier bit is honoured.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>

#include "sim/cp/engine.hpp"
#include "sim/cp/kernel_code.hpp"
#include "sim/cp/occupancy.hpp"
#include "sim/cp/pm4.hpp"
#include "sim/cp/sdma.hpp"

namespace aql::sim {

class Processor;

// abi::QueueError bits for a fault of a wave.
[[nodiscard]] std::uint32_t queue_error_bits(Errc code) noexcept;

// Why a packet cannot be processed.
struct PacketError {
  Errc code = Errc::ok;
  std::uint32_t bits = 0;
  std::string detail;
};

struct Geometry {
  std::uint32_t grid[3] = {1, 1, 1};   // work-items
  std::uint32_t group[3] = {1, 1, 1};  // work-items of a full group
  std::uint32_t offset[3] = {0, 0, 0}; // first workgroup id
};

// PM4 commands of one queue, executed on it.
class Pm4Stream final : public Pm4Interpreter::Device {
public:
  Pm4Stream(Engine& engine, Processor& processor, HwQueue& queue, std::function<void(std::uint32_t)> on_interrupt)
      : interpreter(*this), engine_(engine), processor_(processor), queue_(queue), on_interrupt_(std::move(on_interrupt)) {}
  Pm4Interpreter interpreter;

private:
  void packet(std::uint64_t address, std::span<const std::uint32_t> words) override;
  std::byte* memory(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) override;
  std::string describe(std::uint64_t address) override;
  bool idle() override;
  Error dispatch(const std::uint32_t* sh, const std::uint32_t dimensions[3], std::uint32_t initiator) override;
  void acquire() override;
  void release() override;
  std::uint64_t clock() override;
  void interrupt(std::uint32_t context_id) override;
  std::uint32_t read_register(std::uint32_t index) override;
  void write_register(std::uint32_t index, std::uint32_t value) override;

  Engine& engine_;
  Processor& processor_;
  HwQueue& queue_;
  std::function<void(std::uint32_t)> on_interrupt_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> registers_; // written ones outside the SH space
  WaveSlots slots_;
  std::atomic<std::uint32_t> scratch_users_{0};
};

// Makes a ring's doorbell ready for a queue that starts at `read`. What was stored to the doorbell before is overwritten, but its
// write position, which the program stored earlier, is in memory by then.
template <class Position>
void open_doorbell(std::uint64_t& doorbell, Position read, Position* write_pointer) noexcept {
  std::uint64_t armed = read;
  (void)std::atomic_ref{doorbell}.exchange(armed, std::memory_order_acq_rel);
  if (write_pointer == nullptr) return;
  const Position rung = std::atomic_ref{*write_pointer}.load(std::memory_order_acquire) - read;
  if (static_cast<std::make_signed_t<Position>>(rung) <= 0) return;
  // Not over a ring that comes just now: it is the later one.
  (void)std::atomic_ref{doorbell}.compare_exchange_strong(armed, armed + rung, std::memory_order_acq_rel);
}

struct Pm4Ring {
  Pm4QueueConfig config;
};

// SDMA commands of one queue.
class SdmaRing final : public SdmaInterpreter::Device {
public:
  SdmaRing(Engine& engine, QueueId id, const SdmaQueueConfig& config);
  const SdmaQueueConfig config;
  SdmaInterpreter interpreter;

private:
  void packet(std::uint64_t address, std::span<const std::uint32_t> words) override;
  std::uint64_t clock() override;
  void interrupt(std::uint32_t context_id) override;
  void stored() override;

  Engine& engine_;
  const QueueId id_;
};

class HwQueue {
public:
  enum class Poll : std::uint8_t {
    idle,    // nothing to do until somebody rings
    waiting, // a packet waits: for earlier ones, for signals, for scratch
    worked,  // at least one packet was processed
  };

  HwQueue(Engine& engine, Processor& processor, QueueId id, const QueueConfig& config, abi::Slot* ring);
  HwQueue(Engine& engine, Processor& processor, QueueId id, const Pm4QueueConfig& config);
  HwQueue(Engine& engine, Processor& processor, QueueId id, const SdmaQueueConfig& config);

  // Processes at most `packets` packets.
  Poll poll(unsigned packets);
  // After what was rung for is consumed: makes the doorbell ready to show the next ring, whatever its value.
  void rearm() noexcept;
  // A packet that waits for memory nobody tells us about (a signal stored by a kernel): look again before long.
  [[nodiscard]] bool waits_for_memory() const noexcept { return stage_ != Stage::fetch; }

  // The doorbell is stored without notify().
  [[nodiscard]] bool polled() const noexcept {
    if (sdma_) return sdma_->config.polled_doorbell;
    return pm4_ring_ ? pm4_ring_->config.polled_doorbell : config_.polled_doorbell;
  }

  // Any thread. Held: no packet is started and no wave goes on.
  void hold(bool held) noexcept { held_.store(held, std::memory_order_release); }
  [[nodiscard]] bool held() const noexcept { return held_.load(std::memory_order_relaxed); }
  // Any thread: taken over by the next poll.
  void change_cu_mask(const std::uint64_t (&mask)[8]);
  void change_priority(std::int32_t priority);

  // Any thread: the queue stops; the first error wins. `kernel_object` names the kernel in the report.
  void record_fault(QueueFault fault, std::uint64_t kernel_object = 0);
  [[nodiscard]] bool fault_pending() const noexcept { return fault_pending_.load(std::memory_order_acquire); }
  // Processor: ends in-flight work of a faulted queue; true when the error may be reported now.
  [[nodiscard]] bool settle_fault();
  // Processor, no locks held: stores the error bits and calls on_error, once.
  void deliver_fault();

  void dispatch_over() noexcept { in_flight_.fetch_sub(1, std::memory_order_release); } // label Q
  [[nodiscard]] bool drained() const noexcept { return in_flight_.load(std::memory_order_acquire) == 0; }
  // Stops everything that runs.
  void stop_all();
  // A dispatch of this queue, with everything but user SGPRs and scratch; null: the CU mask allows none.
  [[nodiscard]] Dispatch* make_dispatch(const KernelCode& code, const Geometry& geometry, const GroupNeeds& needs);
  void start_dispatch(Dispatch& dispatch);
  // So many dispatches are in flight that the next one waits.
  [[nodiscard]] bool full() const noexcept;
  void unlink(Dispatch* dispatch) noexcept;

  [[nodiscard]] QueueId id() const noexcept { return id_; }
  [[nodiscard]] QueueState state() const noexcept { return state_.load(std::memory_order_acquire); }
  void set_state(QueueState state) noexcept { state_.store(state, std::memory_order_release); }
  [[nodiscard]] bool callback_running() const noexcept { return callback_running_.load(std::memory_order_relaxed); }

private:
  enum class Stage : std::uint8_t { fetch, condition, scratch, pm4 };

  void list_cus(const std::uint64_t (&mask)[8]);
  void take_changes();
  void show_packet(std::uint32_t word0);
  [[nodiscard]] bool fetch(std::uint32_t& word0);
  void note_ring(std::uint64_t value, std::uint64_t write) noexcept;
  // true: consumed; false: waits, or the queue has become inactive.
  bool process(std::uint32_t word0);
  bool process_dispatch(std::uint32_t word0, const abi::KernelDispatchPacket& packet);
  bool process_extended(std::uint32_t word0);
  bool process_barrier(std::uint32_t word0, bool all);
  bool process_barrier_value(std::uint32_t word0);
  bool process_agent(std::uint32_t word0);
  bool process_vendor(std::uint32_t word0);
  bool process_pm4(std::uint32_t word0);
  Poll poll_ring();
  Poll poll_sdma();
  // What a turn of a ring's interpreter comes to, which began at `before`. `wait` is the stage of one that waits for memory.
  template <class Interpreter>
  Poll turn_over(const Interpreter& interpreter, typename Interpreter::Status status, std::uint64_t before, Stage wait) {
    using Status = typename Interpreter::Status;
    stage_ = status == Status::waiting ? wait : Stage::fetch;
    if (status == Status::error) {
      const Error& error = interpreter.error();
      record_fault({error.code, queue_error_bits(error.code), before, error.detail, {}});
    }
    return status == Status::waiting && interpreter.ring_position() == before ? Poll::waiting : Poll::worked;
  }
  void link(Dispatch* dispatch) noexcept;
  [[nodiscard]] bool get_scratch(Dispatch& dispatch, std::uint32_t lane_bytes);
  // Slot INVALID, then the read index.
  void consume();
  // Completion of packets that the processor itself executes.
  void complete(std::uint32_t word0, std::uint64_t signal, std::uint64_t start_ts);
  void reject(PacketError error);
  [[nodiscard]] abi::Slot& slot() noexcept { return ring_[read_ & mask_]; }
  [[nodiscard]] abi::AmdQueue& amd() noexcept { return *config_.amd_queue; }
  // Value of a signal, or nothing after the packet was rejected.
  [[nodiscard]] std::optional<std::int64_t> load_signal(std::uint64_t handle, const char* what);

  Engine& engine_;
  Processor& processor_;
  const QueueId id_;
  QueueConfig config_; // the priority changes
  std::unique_ptr<Pm4Ring> pm4_ring_; // a PM4 queue
  std::unique_ptr<Pm4Stream> pm4_;    // made when first needed
  std::unique_ptr<SdmaRing> sdma_;    // an SDMA queue
  abi::Slot* const ring_;
  const std::uint64_t mask_;
  const bool single_;
  std::vector<std::uint16_t> cus_; // compute units that the CU mask allows
  std::vector<std::vector<std::uint16_t>> former_cus_; // dispatches in flight may look at them
  std::uint64_t shown_ = ~0ull;                        // last packet that the observer has seen
  std::uint64_t read_ = 0;         // next packet
  std::uint64_t rung_ = 0;         // first packet that nobody has rung for
  std::uint64_t armed_ = 0;        // doorbell value that means "nothing new"
  std::uint64_t seen_doorbell_ = 0;
  bool rearm_ = false; // the doorbell holds a ring that was noted
  Stage stage_ = Stage::fetch;
  std::uint32_t satisfied_ = 0; // dependencies seen at 0, bit by position
  std::uint32_t reported_negative_ = 0;
  bool progressed_ = false; // a packet that is not finished got further
  std::uint64_t condition_start_ = 0;
  Dispatch* first_ = nullptr; // in flight
  WaveSlots external_slots_;  // external scratch
  std::atomic<std::uint32_t> external_users_{0};
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<QueueState> state_{QueueState::active};
  std::atomic<bool> fault_pending_{false};
  std::atomic<bool> held_{false}, changed_{false};
  struct Changes { // with fault_mutex_
    bool masked = false;
    std::uint64_t cu_mask[8] = {};
    std::optional<std::int32_t> priority;
  } changes_;
  bool stop_sent_ = false;
  std::atomic<bool> callback_running_{false};
  std::mutex fault_mutex_;
  QueueFault fault_;
  std::uint64_t fault_kernel_ = 0;
  bool fault_recorded_ = false;
};

} // namespace aql::sim
