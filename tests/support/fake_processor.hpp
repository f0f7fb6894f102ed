#pragma once
// A packet processor on plain memory that tests step by hand, or run on a thread of their own. It follows rules 1 to 4 of the
// packet processor: acquires header and setup as one word, stops at the first INVALID slot, sets a consumed slot INVALID before
// it releases the read index, and never passes the write index. It runs nothing: a callback sees each packet.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/queue_view.hpp>

namespace aql::test {

class FakeProcessor {
public:
  static constexpr std::uint32_t kInvalid = static_cast<std::uint32_t>(abi::PacketType::invalid);

  // `start`: both indices begin there. Slots are poisoned, their headers INVALID.
  explicit FakeProcessor(std::uint64_t slots, std::uint64_t start = 0)
      : slots_(new abi::Slot[slots]), mask_(slots - 1), rung_(start) {
    std::memset(slots_.get(), 0xA5, slots * sizeof(abi::Slot));
    for (std::uint64_t i = 0; i < slots; ++i) slots_[i].word[0] = kInvalid;
    queue_->write_dispatch_id = start;
    queue_->read_dispatch_id = start;
    doorbell_ = start - 1;
  }

  [[nodiscard]] detail::QueueView view() {
    detail::QueueView v;
    v.ring = slots_.get();
    v.mask = mask_;
    v.write_index = &queue_->write_dispatch_id;
    v.read_index = &queue_->read_dispatch_id;
    v.doorbell = &doorbell_;
    v.notify = [](void* self) noexcept { static_cast<FakeProcessor*>(self)->rings_.fetch_add(1, std::memory_order_relaxed); };
    v.notify_arg = this;
    v.amd_queue = queue_.get();
    return v;
  }

  bool needs_doorbell = true; // false: polls headers up to the write index

  // Consumes one packet: calls seen(index, slot copy). False if there was nothing to consume.
  template <class Seen>
  bool step(Seen&& seen) {
    const std::uint64_t read = read_index();
    if (read == write_index()) return false;
    if (needs_doorbell) {
      const std::uint64_t rung = std::atomic_ref{doorbell_}.load(std::memory_order_acquire) + 1;
      if (static_cast<std::int64_t>(rung - rung_) > 0) rung_ = rung; // lower and repeated values are harmless
      if (static_cast<std::int64_t>(rung_ - read) <= 0) return false;
    }
    abi::Slot& slot = slots_[read & mask_];
    const std::uint32_t first = std::atomic_ref{slot.word[0]}.load(std::memory_order_acquire); // A
    if ((first & 0xFF) == kInvalid) return false;
    abi::Slot copy;
    std::memcpy(copy.word + 1, slot.word + 1, sizeof copy - 4);
    copy.word[0] = first;
    seen(read, copy);
    std::atomic_ref{slot.word[0]}.store(kInvalid, std::memory_order_relaxed);
    std::atomic_ref{queue_->read_dispatch_id}.store(read + 1, std::memory_order_release); // C
    return true;
  }
  bool step() {
    return step([](std::uint64_t, const abi::Slot&) {});
  }
  // Steps until there is nothing to do; how many packets.
  std::uint64_t drain() {
    std::uint64_t n = 0;
    while (step()) ++n;
    return n;
  }

  [[nodiscard]] std::uint64_t write_index() const { return std::atomic_ref{queue_->write_dispatch_id}.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t read_index() const { return std::atomic_ref{queue_->read_dispatch_id}.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t doorbell() { return std::atomic_ref{doorbell_}.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t rings() const { return rings_.load(std::memory_order_relaxed); } // doorbell stores so far
  [[nodiscard]] abi::Slot& slot(std::uint64_t index) { return slots_[index & mask_]; }
  [[nodiscard]] abi::AmdQueue& queue() { return *queue_; }

private:
  std::unique_ptr<abi::Slot[]> slots_;
  std::uint64_t mask_;
  std::unique_ptr<abi::AmdQueue> queue_ = std::make_unique<abi::AmdQueue>();
  alignas(64) std::uint64_t doorbell_ = 0;
  std::uint64_t rung_; // one past the highest doorbell value seen
  std::atomic<std::uint64_t> rings_{0};
};

} // namespace aql::test
