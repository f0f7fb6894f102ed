#pragma once
// Data-parallel primitives: which lane each lane reads, and which lanes are written. Spec: ISA guide, "Data Parallel
// Processing". Thread safety: patterns are built once and constant.

#include <cstdint>

#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"

namespace aql::sim::isa {

struct DppPattern {
  std::uint8_t lane[kLanes];  // source lane
  std::uint64_t valid;        // lanes whose source lane exists
};

// For a 9-bit dpp_ctrl; reserved values read their own lane.
[[nodiscard]] const DppPattern& dpp_pattern(unsigned ctrl) noexcept;

// Lanes whose source lane exists and is enabled.
[[nodiscard]] std::uint64_t dpp_readable(const DppPattern& pattern, std::uint64_t exec) noexcept;

// Lanes that DPP lets be written: row and bank masks, and without bound_ctrl only lanes with a readable source.
[[nodiscard]] std::uint64_t dpp_write_lanes(const Dpp& dpp, const DppPattern& pattern, std::uint64_t exec) noexcept;

// to[i] = from[source lane of i], or 0 if that is not readable. `to` and `from` may be the same row.
void dpp_permute(std::uint32_t* to, const std::uint32_t* from, const DppPattern& pattern, std::uint64_t exec) noexcept;

} // namespace aql::sim::isa
