#pragma once
// The ring of AQL slots, producer side: reserve, fill, publish, commit.
// Thread safety: Producers::multi: every member from any thread; Producers::single: one thread at a time.
// Memory ordering (labels as in docs/memory-ordering.md):
//   A  publish(): body and kernargs -> the slot's first 32-bit word, one release store; the processor acquires it.
//   B  commit(): all headers of every reservation up to here -> write index (release) -> doorbell (release).
//   P  the right to move the write index: handed on by a release store of published_, taken by an acquire load of it.
//   C  try_reserve(): the read index is acquired before a slot is used again; the processor sets the slot INVALID before it.
// HSA Platform System Architecture 1.2, sections 2.8.3 and 2.9: slots start INVALID, indices are 64-bit and run free, the
// doorbell's value is the index of the last packet made ready.
//
// Reservation is private: the shared write index moves only over packets that are all published. A producer whose predecessors
// are still writing does not wait for them: it leaves a mark, and whoever publishes the packet before it moves the index over
// both ("the last one publishes"). The right to move the index is handed on after the doorbell store, so that doorbell values
// never fall: a processor that samples the doorbell would take a late, lower value for the last one.
// Publish::fused reserves on the shared write index itself, as some other programs do; the processor then meets unpublished
// (INVALID) slots below the write index and stops at them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <aql/abi/packet.hpp>
#include <aql/export.hpp>
#include <aql/packet.hpp>
#include <aql/queue_view.hpp>
#include <aql/types.hpp>

namespace aql {

enum class Producers : std::uint8_t { single, multi };
enum class Publish : std::uint8_t { ordered, fused };

struct RingOptions {
  Producers producers = Producers::multi;
  Publish publish = Publish::ordered;
  std::uint32_t spins = 128; // how often commit() looks again before it leaves its packets to a slower predecessor
};

class AQL_API Ring {
public:
  // The indices that the view's memory holds now are where the ring starts.
  explicit Ring(const detail::QueueView& view, const RingOptions& options = {});
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return mask_ + 1; }
  [[nodiscard]] bool fused() const noexcept { return fused_; }

  // Takes `count` consecutive slots if the ring has room for all of them; their first index. Nothing changes when it has not:
  // full, count is 0 or larger than the ring, or close() was called.
  [[nodiscard, gnu::always_inline]] std::optional<std::uint64_t> try_reserve(std::uint32_t count = 1) noexcept {
    std::uint64_t first;
    if (!take(count, first)) [[unlikely]] return std::nullopt;
    return first;
  }

  // The same, waiting for room: spins briefly, then yields, until `deadline` passes or close() is called.
  [[nodiscard, gnu::always_inline]] std::optional<std::uint64_t> reserve(std::uint32_t count, Deadline deadline) noexcept {
    std::uint64_t first;
    if (!take(count, first) && !take_slow(count, deadline, first)) [[unlikely]] return std::nullopt;
    return first;
  }

  // try_reserve without the optional: `first` is set only if the result is true. Everything behind a locked instruction waits for
  // it, so the submit path keeps what comes there short.
  [[nodiscard, gnu::always_inline]] bool take(std::uint32_t count, std::uint64_t& first) noexcept {
    if (closed_.load(std::memory_order_relaxed)) [[unlikely]] return false;
    const std::atomic_ref<std::uint64_t> counter{*counter_};
    std::uint64_t at = counter.load(std::memory_order_relaxed);
    if (single_) [[unlikely]] {
      if (!has_room(at, count)) [[unlikely]] return false;
      counter.store(at + count, std::memory_order_relaxed);
      first = at;
      return true;
    }
    for (;;) {
      if (!has_room(at, count)) [[unlikely]] {
        const std::uint64_t now = counter.load(std::memory_order_relaxed);
        if (now == at || count == 0 || count > size()) return false;
        at = now; // another producer was faster: full is only what is full for the newest index
        continue;
      }
      if (counter.compare_exchange_weak(at, at + count, std::memory_order_relaxed)) [[likely]] break;
    }
    first = at;
    return true;
  }
  [[nodiscard]] bool take_slow(std::uint32_t count, Deadline deadline, std::uint64_t& first) noexcept;

  // A reserved slot. Fill everything but the first word (emit() of a packet does).
  [[nodiscard, gnu::always_inline]] abi::Slot& slot(std::uint64_t index) const noexcept { return slots_[index & mask_]; }

  // A: makes one filled slot a packet. From here on it belongs to the processor: do not touch it again.
  [[gnu::always_inline]] void publish(std::uint64_t index, std::uint32_t first_word) const noexcept {
    std::atomic_ref<std::uint32_t>{slot(index).word[0]}.store(first_word, std::memory_order_release);
  }

  // B: hands a whole reservation, every slot of it published, to the processor. Never waits long: see the head of this file.
  // With Producers::single, reservations are committed in the order in which they were made.
  [[gnu::always_inline]] void commit(std::uint64_t first, std::uint32_t count) noexcept {
    if (is_head(first)) [[likely]] commit_head(first, count);
    else commit_slow(first, count);
  }
  // The same, if is_head(first) was seen to be true after the reservation.
  [[gnu::always_inline]] void commit_head(std::uint64_t first, std::uint32_t count) noexcept {
    hand_on(first + count);
    // P, the light side of the handshake with commit_slow(): the store of published_, then this load.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (left_behind_.load(std::memory_order_relaxed) != 0) [[unlikely]] publish_left_behind();
  }

  // Reserves one slot, fills, publishes and commits it. Nothing if the ring is full.
  template <Packet P>
  [[nodiscard, gnu::always_inline]] std::optional<std::uint64_t> try_push(const P& packet) noexcept {
    std::uint64_t index;
    if (!take(1, index)) [[unlikely]] return std::nullopt;
    publish(index, packet.emit(slot(index)));
    commit(index, 1);
    return index;
  }

  // Stores the doorbell only; commit() does that, too.
  void ring(std::uint64_t last) const noexcept {
    store_doorbell(last);
    if (notify_ != nullptr) notify_(notify_arg_);
  }

  // True if nothing unpublished is in front of `first`: until the owner of `first` commits, only it can move the write index, and
  // it sees everything that the owners before it did. Never true in fused mode, where packets are not handed on in order.
  [[nodiscard, gnu::always_inline]] bool is_head(std::uint64_t first) const noexcept { return published_.load(std::memory_order_acquire) == first; }

  // From now on reservations fail. Those made before can still be committed.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  // Everything below is published, and rung for (ordered mode).
  [[nodiscard]] std::uint64_t published() const noexcept { return fused_ ? write_index() : published_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t reserved() const noexcept { return std::atomic_ref<std::uint64_t>{*counter_}.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t write_index() const noexcept { return std::atomic_ref<std::uint64_t>{*write_index_}.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t read_index() const noexcept { return std::atomic_ref<std::uint64_t>{*read_index_}.load(std::memory_order_acquire); }

private:
  [[nodiscard, gnu::always_inline]] bool has_room(std::uint64_t first, std::uint64_t count) noexcept {
    // C: what another producer learned counts too, hence acquire and release on the copy. An old copy only looks fuller.
    if (first + count - read_cache_.load(std::memory_order_acquire) <= size() && count != 0) [[likely]] return true;
    return refresh_room(first, count);
  }
  [[nodiscard]] bool refresh_room(std::uint64_t first, std::uint64_t count) noexcept;
  [[gnu::always_inline]] void store_doorbell(std::uint64_t last) const noexcept {
    if (doorbell_ != nullptr) [[likely]] std::atomic_ref<std::uint64_t>{*doorbell_}.store(last, std::memory_order_release);
    else if (ring_slow_ != nullptr) ring_slow_(ring_arg_, last);
  }
  // Only for who owns the step from published_ to `end`.
  [[gnu::always_inline]] void hand_on(std::uint64_t end) noexcept {
    std::atomic_ref<std::uint64_t>{*write_index_}.store(end, std::memory_order_release); // B
    store_doorbell(end - 1);                                                             // B
    published_.store(end, std::memory_order_release); // P: whoever acquires it orders its own B stores behind ours
    if (notify_ != nullptr) notify_(notify_arg_);
  }
  void ring_fused() noexcept;
  void commit_slow(std::uint64_t first, std::uint32_t count) noexcept;
  void publish_left_behind() noexcept;

  // Never written after construction.
  abi::Slot* slots_;
  std::uint64_t mask_;
  std::uint64_t* counter_; // reservation: &reserved_, or the shared write index (fused)
  std::uint64_t* write_index_;
  std::uint64_t* read_index_;
  std::uint64_t* doorbell_;
  void (*notify_)(void*) noexcept;
  void* notify_arg_;
  void (*ring_slow_)(void*, std::uint64_t) noexcept;
  void* ring_arg_;
  bool single_, fused_;
  std::uint32_t spins_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> marks_; // by first slot of a reservation left behind: its end index

  // One line that every producer needs, and the processor never touches.
  alignas(64) std::uint64_t reserved_;         // taken by producers; atomic_ref
  std::atomic<std::uint64_t> published_;       // ordered: everything below is published and rung for; fused: no index
  std::atomic<std::uint64_t> read_cache_;      // a read index seen before; rarely written
  // Marks not yet published, or more; and kNoHeavyBarrier, if every commit has to fence and look.
  static constexpr std::uint64_t kNoHeavyBarrier = 1ULL << 63;
  std::atomic<std::uint64_t> left_behind_{0};
  std::atomic<bool> closed_{false};
};

} // namespace aql
