#include "sim/exec/valu_dpp.hpp"

#include <array>

namespace aql::sim::isa {
namespace {

struct Source {
  unsigned lane;
  bool valid;
};

Source source_of(unsigned ctrl, unsigned lane) {
  const unsigned row = lane & ~15u, in_row = lane & 15u, n = ctrl & 15u;
  if (ctrl <= 0xff) return {(lane & ~3u) | ((ctrl >> (2 * (lane & 3u))) & 3u), true}; // quad_perm
  if (ctrl >= 0x101 && ctrl <= 0x10f) return {lane + n, in_row + n < 16};             // row_shl
  if (ctrl >= 0x111 && ctrl <= 0x11f) return {lane - n, in_row >= n};                 // row_shr
  if (ctrl >= 0x121 && ctrl <= 0x12f) return {row | ((in_row - n) & 15u), true};      // row_ror
  if (ctrl >= 0x150 && ctrl <= 0x15f) return {row | n, true};                         // row_newbcast
  switch (ctrl) {
  case 0x130: return {lane + 1, lane < 63};              // wave_shl:1
  case 0x134: return {(lane + 1) & 63u, true};           // wave_rol:1
  case 0x138: return {lane - 1, lane > 0};               // wave_shr:1
  case 0x13c: return {(lane - 1) & 63u, true};           // wave_ror:1
  case 0x140: return {row | (15u - in_row), true};       // row_mirror
  case 0x141: return {lane ^ 7u, true};                  // row_half_mirror
  case 0x142: return {row >= 16 ? row - 1 : lane, true}; // row_bcast:15, lane 15 of each row to the next row
  case 0x143: return {lane >= 32 ? 31u : lane, true};    // row_bcast:31, lane 31 to rows 2 and 3
  default: return {lane, true};
  }
}

std::array<DppPattern, 512> build() {
  std::array<DppPattern, 512> all{};
  for (unsigned ctrl = 0; ctrl < all.size(); ++ctrl) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const Source s = source_of(ctrl, lane);
      all[ctrl].lane[lane] = static_cast<std::uint8_t>(s.lane & 63u);
      if (s.valid) all[ctrl].valid |= std::uint64_t{1} << lane;
    }
  }
  return all;
}

// Bit per lane from a bit per row of 16 lanes.
std::uint64_t lanes_of_rows(unsigned row_mask) {
  std::uint64_t lanes = 0;
  for (unsigned row = 0; row < 4; ++row) {
    if ((row_mask >> row & 1u) != 0) lanes |= std::uint64_t{0xffff} << (16 * row);
  }
  return lanes;
}

// Bank b of every row: lanes 4b to 4b+3.
std::uint64_t lanes_of_banks(unsigned bank_mask) {
  std::uint64_t row = 0;
  for (unsigned bank = 0; bank < 4; ++bank) {
    if ((bank_mask >> bank & 1u) != 0) row |= std::uint64_t{0xf} << (4 * bank);
  }
  return row * 0x0001000100010001u;
}

} // namespace

const DppPattern& dpp_pattern(unsigned ctrl) noexcept {
  static const std::array<DppPattern, 512> all = build();
  return all[ctrl & 511u];
}

std::uint64_t dpp_readable(const DppPattern& pattern, std::uint64_t exec) noexcept {
  std::uint64_t lanes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) lanes |= (exec >> pattern.lane[lane] & 1u) << lane;
  return lanes & pattern.valid;
}

std::uint64_t dpp_write_lanes(const Dpp& dpp, const DppPattern& pattern, std::uint64_t exec) noexcept {
  const std::uint64_t lanes = lanes_of_rows(dpp.row_mask) & lanes_of_banks(dpp.bank_mask);
  return dpp.bound_ctrl ? lanes : lanes & dpp_readable(pattern, exec);
}

void dpp_permute(std::uint32_t* to, const std::uint32_t* from, const DppPattern& pattern, std::uint64_t exec) noexcept {
  const std::uint64_t readable = dpp_readable(pattern, exec);
  std::uint32_t moved[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    moved[lane] = (readable >> lane & 1u) != 0 ? from[pattern.lane[lane]] : 0u;
  }
  std::memcpy(to, moved, sizeof moved);
}

} // namespace aql::sim::isa
