#pragma once
// Everything the submit path needs to know of a queue: plain data, copied from the driver once. Pointers are host addresses,
// valid until the queue is destroyed.
// Thread safety: plain data; what the pointers lead to is shared with the packet processor (see ring.hpp).

#include <cstdint>

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>

namespace aql::detail {

struct QueueView {
  abi::Slot* ring = nullptr;
  std::uint64_t mask = 0;                    // packets - 1
  std::uint64_t* write_index = nullptr;      // shared with the processor; atomic_ref
  std::uint64_t* read_index = nullptr;
  std::uint64_t* doorbell = nullptr;         // null: ring through ring_slow
  void (*notify)(void*) noexcept = nullptr;  // after the doorbell store; null on hardware
  void* notify_arg = nullptr;
  void (*ring_slow)(void*, std::uint64_t index) noexcept = nullptr; // doorbell kinds that are no raw doorbell
  void* ring_arg = nullptr;
  abi::AmdQueue* amd_queue = nullptr;        // host address; null if the driver hides it
  std::uint64_t queue_address = 0;           // device address of amd_queue_t (hidden argument queue_ptr)
  std::uint64_t id = 0;                      // driver's handle for destroy_queue
};

} // namespace aql::detail
