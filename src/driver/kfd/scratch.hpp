#pragma once
// Scratch (private memory) of one queue. The packet processor finds a dispatch that needs more than the queue has, stops there and
// says so in the queue's inactive signal; the host gives more, writes the new fields of amd_queue_t and clears the signal.
// Thread safety: one thread at a time; the processor reads the fields only after the signal is cleared.

#include <cstdint>

#include <aql/abi/queue.hpp>

#include "driver/kfd/memory.hpp"
#include "driver/kfd/topology.hpp"

namespace aql::detail::kfd {

// How scratch for `lane_bytes` a lane is laid out.
struct ScratchLayout {
  std::uint32_t lane_bytes = 0;   // rounded up, so that a wave has whole KiB
  std::uint32_t wave_kib = 0;
  std::uint32_t waves_per_xcc = 0; // at most this many waves of one XCC use scratch at a time
  std::uint64_t bytes_per_xcc = 0, total_bytes = 0;
};
// `budget_bytes` bounds the total. Errors: out_of_resources.
[[nodiscard]] Result<ScratchLayout> lay_out_scratch(const Gpu& gpu, std::uint32_t lane_bytes, std::uint64_t budget_bytes);
// The fields of amd_queue_t for a layout at a device address.
void describe_scratch(abi::AmdQueue& queue, const ScratchLayout& layout, std::uint64_t address) noexcept;

class Scratch {
public:
  Scratch(Memory& memory, const Gpu& gpu) noexcept : memory_(memory), gpu_(gpu) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Makes room for dispatches that need `lane_bytes` a lane. Errors: out_of_resources.
  [[nodiscard]] Result<void> grow(abi::AmdQueue& queue, std::uint32_t lane_bytes);

private:
  Memory& memory_;
  const Gpu& gpu_;
  Memory::Block current_, previous_; // what an earlier dispatch may still use stays until nothing can
};

} // namespace aql::detail::kfd
