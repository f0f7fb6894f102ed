#include "driver/kfd/ring_search.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace aql::detail::kfd {
namespace {

// The slot's first word: the body is there when it says so (label A of the rings).
std::uint32_t header(const abi::Slot& slot) noexcept { return std::atomic_ref{const_cast<abi::Slot&>(slot).word[0]}.load(std::memory_order_acquire); }

bool is_dispatch(std::uint32_t word0) noexcept {
  switch (static_cast<abi::PacketType>(abi::HeaderType::decode(word0))) {
  case abi::PacketType::kernel_dispatch: return true;
  case abi::PacketType::vendor_specific: return static_cast<abi::VendorFormat>(word0 >> 16 & 0xffu) == abi::VendorFormat::extended_dispatch;
  default: return false;
  }
}

// The first index for which `wanted(word0, slot)`. A write index may run ahead of the ring: producers reserve, then wait for room.
template <class Wanted>
std::optional<std::uint64_t> find(const RingPart& ring, Wanted wanted) noexcept {
  const std::uint64_t count = std::min(ring.write - ring.read, ring.mask + 1);
  for (std::uint64_t i = ring.read; i != ring.read + count; ++i) {
    const abi::Slot& slot = ring.slots[i & ring.mask];
    if (wanted(header(slot), slot)) return i;
  }
  return std::nullopt;
}

// Word 6 of both dispatch packets.
static_assert(offsetof(abi::KernelDispatchPacket, private_segment_size) == 24 && offsetof(abi::ExtendedDispatchPacket, private_segment_size) == 24);

} // namespace

std::optional<ScratchNeed> find_scratch_need(const RingPart& ring, std::uint32_t has_lane_bytes) noexcept {
  const auto packet = find(ring, [&](std::uint32_t word0, const abi::Slot& slot) { return is_dispatch(word0) && slot.word[6] > has_lane_bytes; });
  if (!packet) return std::nullopt;
  return ScratchNeed{*packet, ring.slots[*packet & ring.mask].word[6]};
}

std::optional<std::uint64_t> find_first_left(const RingPart& ring) noexcept {
  return find(ring, [](std::uint32_t word0, const abi::Slot&) { return static_cast<abi::PacketType>(abi::HeaderType::decode(word0)) != abi::PacketType::invalid; });
}

} // namespace aql::detail::kfd
