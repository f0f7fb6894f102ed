#include <aql/ring.hpp>

#include <thread>

#include "base/membarrier.hpp"

namespace aql {
namespace {

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace

Ring::Ring(const detail::QueueView& view, const RingOptions& options)
    : slots_(view.ring), mask_(view.mask), counter_(options.publish == Publish::fused ? view.write_index : &reserved_),
      write_index_(view.write_index), read_index_(view.read_index), doorbell_(view.doorbell), notify_(view.notify),
      notify_arg_(view.notify_arg), ring_slow_(view.ring_slow), ring_arg_(view.ring_arg), single_(options.producers == Producers::single),
      fused_(options.publish == Publish::fused), spins_(options.spins), reserved_(write_index()),
      published_(fused_ ? reserved_ - 1 : reserved_), read_cache_(read_index()) {
  if (single_ || fused_) return; // no marks are ever left
  if (!detail::heavy_barrier_available()) left_behind_.store(kNoHeavyBarrier, std::memory_order_relaxed);
  marks_ = std::make_unique<std::atomic<std::uint64_t>[]>(size());
  // A mark counts only if it lies 1 to size() ahead of its own index; the start index never does.
  if (reserved_ != 0)
    for (std::uint64_t i = 0; i < size(); ++i) marks_[i].store(reserved_, std::memory_order_relaxed);
}

bool Ring::refresh_room(std::uint64_t first, std::uint64_t count) noexcept {
  if (count == 0 || count > size()) return false;
  const std::uint64_t read = read_index(); // C
  read_cache_.store(read, std::memory_order_release);
  // `first` may be older than `read` by now: the difference wraps, this attempt fails, and the caller's exchange would have, too.
  return first + count - read <= size();
}

bool Ring::take_slow(std::uint32_t count, Deadline deadline, std::uint64_t& first) noexcept {
  if (count == 0 || count > size()) return false;
  for (std::uint32_t round = 0;; ++round) {
    if (take(count, first)) return true;
    if (closed()) return false;
    if (round < 64) {
      pause();
      continue;
    }
    if (deadline.passed()) return false;
    std::this_thread::yield();
  }
}

void Ring::commit_slow(std::uint64_t first, std::uint32_t count) noexcept {
  if (fused_) return ring_fused();
  if (single_) return hand_on(first + count);
  for (std::uint32_t i = 0; i < spins_; ++i) {
    pause();
    if (is_head(first)) return commit_head(first, count);
  }
  // A predecessor is slow. Leave a mark: the counter first, so that it is never smaller than the number of marks in place.
  const std::uint64_t before = left_behind_.fetch_add(1, std::memory_order_seq_cst);
  marks_[first & mask_].store(first + count, std::memory_order_seq_cst); // carries A: headers before mark
  // P, the heavy side of the handshake with commit_head(): the stores above, then the load of published_ in publish_left_behind().
  // Either that load sees our predecessor's store, and we publish; or the predecessor sees left_behind_, and publishes for us.
  if ((before & kNoHeavyBarrier) == 0) detail::heavy_barrier();
  publish_left_behind();
}

void Ring::publish_left_behind() noexcept {
  for (;;) {
    // Without the heavy barrier both sides of the handshake fence: here, after published_ or a mark was stored.
    if ((left_behind_.load(std::memory_order_relaxed) & kNoHeavyBarrier) != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint64_t at = published_.load(std::memory_order_seq_cst);
    std::atomic<std::uint64_t>& mark = marks_[at & mask_];
    std::uint64_t end = mark.load(std::memory_order_seq_cst);
    if (end - at - 1 >= size()) return; // its owner is still writing, or another thread took the mark: either will come here
    // Whoever takes the mark owns the step from `at` to `end`; the producer that left it has given it away.
    if (!mark.compare_exchange_strong(end, at, std::memory_order_seq_cst)) continue;
    left_behind_.fetch_sub(1, std::memory_order_seq_cst);
    hand_on(end);
    std::atomic_signal_fence(std::memory_order_seq_cst); // as in commit_head(), before the next mark is looked at
  }
}

void Ring::ring_fused() noexcept {
  // The value must not fall behind a later one, and others ring at the same time: look again after the store.
  std::uint64_t end = write_index();
  for (;;) {
    store_doorbell(end - 1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint64_t now = write_index();
    if (now == end) break;
    end = now;
  }
  if (notify_ != nullptr) notify_(notify_arg_);
}

} // namespace aql
