#include "kernel/kernarg_ring.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "queue/queue_core.hpp"

namespace aql::detail {
namespace {

constexpr std::size_t kBlock = 64;
// Compilers widen scalar loads past the end of the arguments: the last block must not be the last of its memory.
constexpr std::size_t kSlack = 256;

std::size_t round_up(std::size_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

} // namespace

std::shared_ptr<KernargRing> KernargRing::of(QueueCore& queue, const Device& device) {
  const std::lock_guard lock{queue.kernargs_mutex};
  if (!queue.kernargs) {
    // Twice what a full ring of small launches needs, and never less than a few large ones.
    const auto size = std::clamp<std::size_t>(std::size_t{queue.ring.size()} * 2 * 256, std::size_t{256} << 10, std::size_t{16} << 20);
    queue.kernargs = std::make_shared<KernargRing>(device, size);
  }
  return queue.kernargs;
}

Result<KernargRing::Block> KernargRing::allocate(std::size_t size_bytes, Deadline deadline) {
  const auto size = round_up(std::max<std::size_t>(size_bytes, 1));
  std::unique_lock lock{mutex_};
  if (!memory_.valid()) {
    auto memory = device_.allocate(PoolKind::kernarg, capacity_ + kSlack, "kernargs");
    if (!memory) return std::unexpected(memory.error());
    memory_ = std::move(*memory);
  }
  if (memory_.host().empty() || size > capacity_ / 4) {
    auto own = device_.allocate(PoolKind::kernarg, size, "kernargs of one launch");
    if (!own) return std::unexpected(own.error());
    if (own->host().empty()) return std::unexpected(Error{Errc::unsupported, 0, "this device's kernarg memory cannot be reached by the host", "launch"});
    reclaim();
    Entry entry;
    entry.sequence = next_sequence_++;
    entry.own = std::move(*own);
    Block block{entry.own.host().first(size_bytes), entry.own.device_address(), entry.sequence};
    std::memset(block.host.data(), 0, block.host.size());
    entries_.push_back(std::move(entry));
    return block;
  }
  while (true) {
    // A block does not wrap: if it would, it starts at the ring's beginning again.
    const auto offset = head_ % capacity_;
    const auto start = offset + size > capacity_ ? head_ + (capacity_ - offset) : head_;
    if (start + size - tail_ <= capacity_) {
      Entry entry;
      entry.sequence = next_sequence_++;
      entry.end = start + size;
      head_ = entry.end;
      Block block{memory_.host().subspan(start % capacity_, size_bytes), memory_.device_address() + start % capacity_, entry.sequence};
      std::memset(block.host.data(), 0, size_bytes);
      entries_.push_back(std::move(entry));
      return block;
    }
    const auto tail = tail_;
    reclaim();
    if (tail_ != tail) continue;
    if (deadline.passed()) {
      return std::unexpected(Error{Errc::timeout, 0, fmt::format("{} bytes of kernarg memory are in use by launches that have not completed", head_ - tail_), "launch"});
    }
    // The oldest launch holds the ring. Wait for it without the lock, so that others may retire theirs.
    if (entries_.front().state == Entry::State::launched) {
      const Ticket oldest = entries_.front().ticket;
      lock.unlock();
      auto ended = oldest.wait(deadline);
      lock.lock();
      if (!ended) return std::unexpected(ended.error());
    } else { // between allocate and retire in another thread: a moment
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
}

void KernargRing::retire(std::uint64_t sequence, Ticket ticket, std::shared_ptr<const void> keep) {
  const std::lock_guard lock{mutex_};
  if (auto* entry = find(sequence)) {
    entry->ticket = std::move(ticket);
    entry->keep = std::move(keep);
    entry->state = Entry::State::launched;
  }
  if (entries_.size() > 64) reclaim();
}

void KernargRing::cancel(std::uint64_t sequence) {
  const std::lock_guard lock{mutex_};
  if (auto* entry = find(sequence)) entry->state = Entry::State::cancelled;
  reclaim();
}

void KernargRing::reclaim() {
  while (!entries_.empty()) {
    auto& oldest = entries_.front();
    if (oldest.state == Entry::State::open) return;
    if (oldest.state == Entry::State::launched && !oldest.ticket.done()) return;
    if (oldest.end != 0) tail_ = oldest.end;
    entries_.pop_front();
  }
  if (entries_.empty()) tail_ = head_;
}

KernargRing::Entry* KernargRing::find(std::uint64_t sequence) {
  // Sequences ascend: the entry stands near the back.
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), sequence, [](const Entry& e, std::uint64_t s) { return e.sequence < s; });
  return found == entries_.end() || found->sequence != sequence ? nullptr : &*found;
}

} // namespace aql::detail
