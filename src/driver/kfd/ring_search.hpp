#pragma once
// Which packet of a ring stopped the processor. Its read index does not say: processors that end dispatches in hardware move it for
// many packets at once, so packets that are long over may lie between it and the one that is meant.
// Thread safety: functions; producers may publish meanwhile.

#include <cstdint>
#include <optional>

#include <aql/abi/packet.hpp>

namespace aql::detail::kfd {

// The part of a ring that is in use, as its indices say.
struct RingPart {
  const abi::Slot* slots = nullptr;
  std::uint64_t mask = 0; // of the index
  std::uint64_t read = 0, write = 0;
};

struct ScratchNeed {
  std::uint64_t packet = 0;
  std::uint32_t lane_bytes = 0;
};
// The first dispatch that needs more private memory a work-item than the queue has.
[[nodiscard]] std::optional<ScratchNeed> find_scratch_need(const RingPart& ring, std::uint32_t has_lane_bytes) noexcept;
// The first packet that the processor has not taken out of its slot.
[[nodiscard]] std::optional<std::uint64_t> find_first_left(const RingPart& ring) noexcept;

} // namespace aql::detail::kfd
