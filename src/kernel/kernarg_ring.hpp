#pragma once
// Kernarg memory of one queue: 64-byte blocks handed out in order, given back by completion only (the read index of a queue
// frees slots, not kernargs). Blocks that do not fit the ring get an allocation of their own, kept until completion as well.
// Thread safety: locks; launches of several threads may share one ring.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include <aql/memory.hpp>
#include <aql/queue.hpp>

namespace aql::detail {

class QueueCore;

class KernargRing {
public:
  // The ring of a queue, made by its first launch; lives as long as the queue.
  [[nodiscard]] static std::shared_ptr<KernargRing> of(QueueCore& queue, const Device& device);
  // Ring of `size_bytes`, allocated with the first block.
  KernargRing(Device device, std::size_t size_bytes) : device_(std::move(device)), capacity_(size_bytes) {}

  struct Block {
    std::span<std::byte> host;      // zeroed, size_bytes as asked
    std::uint64_t device_address = 0;
    std::uint64_t sequence = 0;     // for retire()
  };
  // Waits for older launches if the ring is full. Errors: out_of_resources; timeout (nothing completed before `deadline`);
  // the queue's error once it has failed.
  [[nodiscard]] Result<Block> allocate(std::size_t size_bytes, Deadline deadline);
  // The block is free once `ticket` is done; `keep` lives as long.
  void retire(std::uint64_t sequence, Ticket ticket, std::shared_ptr<const void> keep);
  // The block was not used after all.
  void cancel(std::uint64_t sequence);

private:
  struct Entry {
    std::uint64_t sequence = 0;
    std::size_t end = 0;            // free-running byte position behind the block; 0 for a block of its own
    Buffer own;
    Ticket ticket;
    std::shared_ptr<const void> keep;
    enum class State : std::uint8_t { open, launched, cancelled } state = State::open;
  };
  void reclaim();                   // locked by the caller
  Entry* find(std::uint64_t sequence);

  Device device_;
  std::size_t capacity_;
  std::mutex mutex_;
  Buffer memory_;
  std::uint64_t head_ = 0, tail_ = 0; // free-running byte positions: next block, oldest block in use
  std::uint64_t next_sequence_ = 1;
  std::deque<Entry> entries_;       // in the order of allocation
};

} // namespace aql::detail
