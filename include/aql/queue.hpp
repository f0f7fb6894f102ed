#pragma once
// Queues: an AQL ring with a packet processor behind it, tickets for what was submitted, and the queue's one error.
// Thread safety: Producers::multi: submit, try_submit, post, drain and the ring from any thread. Producers::single: from one thread
// at a time. Everything else from any thread, but close() and destruction only once and not while others submit; they submit, too.
// Memory ordering: submit() is A and B of ring.hpp; Ticket::wait acquires the completion (D).
// Lifetime: ~Queue waits for the work in flight, at most QueueOptions::destroy_wait; what still runs then is stopped by the driver
// and a warning logged. It always ends, also after a fault. close(deadline) does the same but refuses (Errc::timeout) instead of
// stopping anything. Tickets may outlive their queue: wait() then says that the queue is gone. A queue keeps its device alive. It
// must not be destroyed inside its own on_fault or agent_function. After fork, a child's use is refused with Errc::forked.
//
// Completion: submit() gives a packet that names no completion signal one of the queue's own. A packet with the barrier bit gets
// the epoch signal, which such packets decrement in their order, since none launches before all earlier ones have completed. A
// packet without it may finish out of order and gets a signal of its slot. (A barrier-AND or -OR packet without the barrier bit may
// complete before earlier dispatches, and so counts as one without.) post() adds nothing.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/packet.hpp>
#include <aql/ring.hpp>
#include <aql/signal.hpp>
#include <aql/types.hpp>

namespace aql {

class CommandList;
class Device;
class Queue;

// Why a queue stopped.
struct QueueFault {
  Errc code = Errc::ok;
  std::uint32_t hsa_status = 0;
  std::uint64_t packet_index = ~0ULL; // first packet that failed; ~0 if unknown
  std::string detail;
};

struct QueueOptions {
  std::uint32_t packets = 1024;                   // a power of two, 64 to 131072
  Producers producers = Producers::multi;
  Publish publish = Publish::ordered;
  std::int32_t priority = 0;                      // -3 lowest to 3 highest
  std::vector<std::uint32_t> cu_mask{};           // bit a compute unit, no more words than hold them, at least one set; empty: all
  std::function<void(const QueueFault&)> on_fault{}; // exactly once, on a driver thread or inside inactivate(), outside all locks, after waiters are woken
  // Runs AgentPackets: function(type, arguments, return_address). Without it the device refuses them (invalid_packet_format).
  std::function<Errc(std::uint16_t type, const std::uint64_t arguments[4], std::uint64_t return_address)> agent_function{};
  std::chrono::milliseconds destroy_wait{10'000};
};

namespace detail {
class Driver;
class QueueCore;
struct QueueRequest;

// A signal that the queue counts completions on: it starts at 0, and each use takes it down by one for every packet. So a use is
// over when the value is no larger than minus the uses so far, and no value ever comes back.
struct alignas(64) TrackedSignal {
  SignalView view;
  std::int64_t uses = 0; // written by whoever owns the slot (slot signals) or is the ring's head (epoch signal)
};

// The epoch signal, held in registers.
struct EpochUse {
  TrackedSignal* signal;
  std::uint64_t handle;
};

// Where tickets find their queue. Never freed: reused with another generation.
struct QueueAnchor {
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint32_t> users{0}; // tickets and waits inside the core now
  std::atomic<QueueCore*> core{nullptr};
  QueueAnchor* next = nullptr;         // all anchors, newest first
};

// The part of a queue that submitting touches.
struct QueueHot {
  QueueHot(const QueueView& view, const RingOptions& options) : ring(view, options) {}
  Ring ring;
  TrackedSignal** slot_signals = nullptr; // by slot; made when a slot first needs one
  TrackedSignal* epoch = nullptr;
  QueueAnchor* anchor = nullptr;
  std::uint32_t generation = 0;
  // A signal for the slot, whose last use is over. Null if none could be made. Cold.
  AQL_API TrackedSignal* replace_slot_signal(std::uint64_t index) noexcept;
};
} // namespace detail

// One submission. Small and copyable; waiting for it or not is the caller's choice.
class AQL_API Ticket {
public:
  Ticket() noexcept = default;
  // False if nothing was submitted: default constructed, or refused (wait() says why).
  [[nodiscard]] bool submitted() const noexcept { return state_ >= State::tracked; }
  // False for a submission that names its own completion signal: wait on that.
  [[nodiscard]] bool tracked() const noexcept { return state_ == State::tracked; }
  // Index of the (last) packet; ~0 if nothing was submitted.
  [[nodiscard]] std::uint64_t index() const noexcept { return index_; }
  // Waits until every packet of the submission that named no completion signal of its own has completed. Errors: the queue's
  // first error, if it stopped before that; timeout; invalid_argument (nothing to wait for); queue_inactive (queue destroyed).
  Result<void> wait(Deadline deadline = Deadline::never(), Wait how = Wait::blocked) const;
  // True once wait() would return at once with success.
  [[nodiscard]] bool done() const noexcept;

private:
  friend class Queue;
  enum class State : std::uint8_t { none, refused, too_many, no_signal, tracked, own_signal };
  Ticket(const detail::QueueHot& hot, State state, std::uint64_t index, const detail::TrackedSignal* signal = nullptr, std::int64_t threshold = 0) noexcept
      : anchor_(hot.anchor), signal_(signal), threshold_(threshold), index_(index), generation_(hot.generation), state_(state) {}

  detail::QueueAnchor* anchor_ = nullptr;
  const detail::TrackedSignal* signal_ = nullptr;
  std::int64_t threshold_ = 0;
  std::uint64_t index_ = 0;
  std::uint32_t generation_ = 0;
  State state_ = State::none;
};

class AQL_API Queue {
public:
  // Errors: invalid_queue_creation (size), out_of_resources, unsupported.
  [[nodiscard]] static Result<Queue> create(const Device& device, QueueOptions options = {});
  [[nodiscard]] static Result<Queue> create(std::shared_ptr<detail::Driver> driver, QueueOptions options);
  Queue(Queue&&) noexcept;
  Queue& operator=(Queue&&) noexcept;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  // Submits one packet; waits while the ring is full. The ticket is refused if the queue has failed.
  template <Packet P>
  [[gnu::always_inline]] Ticket submit(const P& packet) noexcept {
    detail::QueueHot& hot = *hot_;
    const detail::EpochUse epoch{hot.epoch, hot.epoch->view.handle}; // read before the locked instruction in take()
    std::uint64_t index;
    if (!hot.ring.take(1, index) && !hot.ring.take_slow(1, Deadline::never(), index)) [[unlikely]] return refuse(1);
    return fill_one(hot, epoch, index, packet);
  }
  // The same, or nothing if the ring is full now.
  template <Packet P>
  [[nodiscard]] std::optional<Ticket> try_submit(const P& packet) noexcept {
    detail::QueueHot& hot = *hot_;
    const detail::EpochUse epoch{hot.epoch, hot.epoch->view.handle};
    std::uint64_t index;
    if (!hot.ring.take(1, index)) [[unlikely]] {
      if (failed()) return refuse(1);
      return std::nullopt;
    }
    return fill_one(hot, epoch, index, packet);
  }
  // Submits a batch with one reservation and one doorbell; at most as many packets as the ring holds.
  template <Packet P>
  Ticket submit(std::span<const P> packets) noexcept {
    if (packets.size() > hot_->ring.size()) [[unlikely]] return refuse(packets.size());
    const auto first = hot_->ring.reserve(static_cast<std::uint32_t>(packets.size()), Deadline::never());
    if (!first) [[unlikely]] return refuse(packets.size());
    return fill_batch(*first, packets, [](const P& packet, abi::Slot& slot) { return packet.emit(slot); }, [](const P& packet) { return packet.completion; });
  }
  template <Packet P, std::size_t count>
  Ticket submit(const P (&packets)[count]) noexcept {
    return submit(std::span<const P>{packets, count});
  }
  // A batch of mixed packets.
  Ticket submit(std::span<const AnyPacket> packets) noexcept;

  // Writes the packet exactly as it is: no completion signal is added, nothing can be waited for. Its index, or nothing if the
  // queue has failed; waits while the ring is full.
  template <Packet P>
  [[gnu::always_inline]] std::optional<std::uint64_t> post(const P& packet) noexcept {
    Ring& ring = hot_->ring;
    std::uint64_t index;
    if (!ring.take(1, index) && !ring.take_slow(1, Deadline::never(), index)) [[unlikely]] return std::nullopt;
    ring.publish(index, packet.emit(ring.slot(index)));
    ring.commit(index, 1);
    return index;
  }
  // For who writes slots by hand: reserve, fill, publish, commit.
  [[nodiscard]] Ring& ring() noexcept { return hot_->ring; }
  [[nodiscard]] const Ring& ring() const noexcept { return hot_->ring; }

  // Waits until everything submitted so far has completed.
  Result<void> drain(Deadline deadline = Deadline::never(), Wait how = Wait::blocked);
  // Waits until the packet at `index` has been consumed and its slot is free. That proves no completion.
  Result<void> wait_consumed(std::uint64_t index, Deadline deadline = Deadline::never()) const;

  // The first error, for ever after the queue has stopped.
  [[nodiscard]] Result<void> status() const;
  [[nodiscard]] bool failed() const noexcept;
  // Index of the packet that stopped the queue, if there was one and the driver knows it.
  [[nodiscard]] std::optional<std::uint64_t> fault_index() const;
  // Stops the queue as an error would: tickets of what has not completed end with queue_inactive.
  Result<void> inactivate();

  // Drains and destroys. Error timeout: work is still in flight; the queue stays as it was.
  Result<void> close(Deadline deadline);
  // False after a move or close().
  [[nodiscard]] bool valid() const noexcept { return core_ != nullptr; }

  // Device address of the amd_queue_t, for the hidden argument queue_ptr; 0 if unknown.
  [[nodiscard]] std::uint64_t queue_address() const noexcept;
  [[nodiscard]] const std::shared_ptr<detail::Driver>& driver() const noexcept;
  [[nodiscard]] const std::shared_ptr<detail::QueueCore>& core() const noexcept { return core_; }

private:
  friend class CommandList;
  explicit Queue(std::shared_ptr<detail::QueueCore> core) noexcept;
  // A batch as a CommandList keeps it: whole slots whose first words are INVALID, and the real first words.
  Ticket submit_recorded(const abi::Slot* image, const std::uint32_t* first_words, std::uint32_t count) noexcept;
  [[nodiscard]] Ticket refuse(std::size_t packets) const noexcept;
  void release() noexcept;

  // Counts `packets` completions on the signal of slot `index`, which the caller has reserved. Null: none could be had.
  [[nodiscard]] detail::TrackedSignal* count_on_slot(std::uint64_t index, std::uint32_t packets) noexcept {
    detail::QueueHot& hot = *hot_;
    const std::uint64_t mask = hot.ring.size() - 1;
    detail::TrackedSignal* signal = signal_of(hot, index & mask);
    if (signal == nullptr || value_of(*signal) != -signal->uses) [[unlikely]] {
      signal = hot.replace_slot_signal(index);
      if (signal == nullptr) return nullptr;
    }
    // The processor wrote the next slots' signals last: fetch one some packets ahead.
    if (const auto* ahead = signal_of(hot, (index + 8) & mask); ahead != nullptr) __builtin_prefetch(ahead->view.object);
    signal->uses += packets;
    return signal;
  }
  [[nodiscard]] static detail::TrackedSignal* signal_of(const detail::QueueHot& hot, std::uint64_t slot) noexcept {
    return std::atomic_ref<detail::TrackedSignal*>{hot.slot_signals[slot]}.load(std::memory_order_acquire);
  }
  [[nodiscard]] static std::int64_t value_of(const detail::TrackedSignal& signal) noexcept {
    return std::atomic_ref<std::int64_t>{signal.view.object->value}.load(std::memory_order_acquire);
  }
  [[nodiscard]] static bool has_barrier(std::uint32_t first_word) noexcept { return abi::HeaderBarrier::decode(first_word) != 0; }

  template <Packet P>
  [[gnu::always_inline]] Ticket fill_one(detail::QueueHot& hot, const detail::EpochUse& epoch, std::uint64_t index, const P& packet) noexcept {
    abi::Slot& slot = hot.ring.slot(index);
    const std::uint32_t first_word = packet.emit(slot);
    if (packet.completion.value == 0 && has_barrier(first_word) && hot.ring.is_head(index)) [[likely]] {
      // Numbered in the order of the ring: only the head counts.
      const std::int64_t threshold = -++epoch.signal->uses;
      detail::put64(slot, 14, epoch.handle);
      hot.ring.publish(index, first_word);
      hot.ring.commit_head(index, 1);
      return Ticket{hot, Ticket::State::tracked, index, epoch.signal, threshold};
    }
    Ticket ticket{hot, Ticket::State::own_signal, index};
    if (packet.completion.value == 0) {
      if (detail::TrackedSignal* const signal = count_on_slot(index, 1); signal != nullptr) [[likely]] {
        detail::put64(slot, 14, signal->view.handle);
        ticket = Ticket{hot, Ticket::State::tracked, index, signal, -signal->uses};
      } else {
        ticket = Ticket{hot, Ticket::State::no_signal, index};
      }
    }
    hot.ring.publish(index, first_word);
    hot.ring.commit(index, 1);
    return ticket;
  }

  template <class P, class Emit, class Completion>
  Ticket fill_batch(std::uint64_t first, std::span<const P> packets, Emit emit, Completion completion) noexcept {
    detail::QueueHot& hot = *hot_;
    const auto count = static_cast<std::uint32_t>(packets.size());
    const std::uint64_t last = first + count - 1;
    // The last packet first: whether it has the barrier bit decides who carries a signal.
    abi::Slot& last_slot = hot.ring.slot(last);
    const std::uint32_t last_word = emit(packets.back(), last_slot);
    const bool last_own = completion(packets.back()).value != 0;
    const bool epoch = !last_own && has_barrier(last_word) && hot.ring.is_head(first);
    detail::TrackedSignal* signal = nullptr;
    std::uint32_t counted = 1;
    if (epoch) {
      signal = hot.epoch;
      ++signal->uses;
    } else {
      counted = 0;
      for (const P& packet : packets) counted += completion(packet).value == 0;
      if (counted != 0) signal = count_on_slot(last, counted);
    }
    const std::uint64_t handle = signal != nullptr ? signal->view.handle : 0;
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
      abi::Slot& slot = hot.ring.slot(first + i);
      const std::uint32_t first_word = emit(packets[i], slot);
      if (!epoch && completion(packets[i]).value == 0) detail::put64(slot, 14, handle);
      hot.ring.publish(first + i, first_word);
    }
    if (!last_own) detail::put64(last_slot, 14, handle);
    hot.ring.publish(last, last_word);
    const Ticket ticket = signal != nullptr ? Ticket{hot, Ticket::State::tracked, last, signal, -signal->uses}
                                            : Ticket{hot, counted == 0 ? Ticket::State::own_signal : Ticket::State::no_signal, last};
    hot.ring.commit(first, count);
    return ticket;
  }

  std::shared_ptr<detail::QueueCore> core_;
  detail::QueueHot* hot_ = nullptr;
};

} // namespace aql
