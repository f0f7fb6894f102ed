#include "loader/occupancy.hpp"

#include <algorithm>
#include <limits>

namespace aql::loader {
namespace {

constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t granule) noexcept {
  return granule == 0 ? value : (value + granule - 1) / granule * granule;
}

// How many lots of `each` (rounded to granules) `total` holds.
constexpr std::uint32_t lots(std::uint64_t total, std::uint64_t each, std::uint64_t granule, std::uint32_t none) noexcept {
  if (each == 0) return none;
  if (each > total) return 0; // before rounding, which could overflow
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(total / round_up(each, granule), kUnlimited));
}

} // namespace

std::string_view to_string(OccupancyFactor factor) noexcept {
  switch (factor) {
  case OccupancyFactor::vgprs: return "VGPRs";
  case OccupancyFactor::sgprs: return "SGPRs";
  case OccupancyFactor::lds: return "LDS";
  case OccupancyFactor::wave_slots: return "wave slots";
  case OccupancyFactor::group_slots: return "group slots";
  }
  return "unknown";
}

Occupancy occupancy(const OccupancyRequest& r, const OccupancyLimits& l) noexcept {
  Occupancy o;
  const std::uint32_t wave = std::max(r.wavefront_size, 1U);
  const std::uint32_t per_group = std::max(1U, r.group_size / wave + (r.group_size % wave != 0 ? 1U : 0U));
  o.waves_per_group = per_group;
  const auto slot = [](OccupancyFactor f) { return static_cast<std::size_t>(f); };

  // Registers: waves a SIMD, then groups whose waves are spread over all SIMDs.
  const std::uint32_t by_vgprs = std::min(lots(l.vgprs_per_lane, r.vgprs, l.vgpr_granule, l.waves_per_simd), l.waves_per_simd);
  const std::uint32_t by_sgprs = std::min(lots(l.sgprs_per_simd, r.sgprs, l.sgpr_granule, l.waves_per_simd), l.waves_per_simd);
  o.groups_by_factor[slot(OccupancyFactor::vgprs)] = by_vgprs * l.simds / per_group;
  o.groups_by_factor[slot(OccupancyFactor::sgprs)] = by_sgprs * l.simds / per_group;
  o.groups_by_factor[slot(OccupancyFactor::lds)] = lots(l.lds_bytes, r.lds_bytes, l.lds_granule, kUnlimited);
  o.groups_by_factor[slot(OccupancyFactor::wave_slots)] = l.waves_per_simd * l.simds / per_group;
  o.groups_by_factor[slot(OccupancyFactor::group_slots)] = per_group > 1 ? l.group_slots : kUnlimited;

  const auto fewest = std::ranges::min_element(o.groups_by_factor);
  // Wave slots limit every kernel; another factor is named only if it allows fewer groups than they do.
  const std::uint32_t by_slots = o.groups_by_factor[slot(OccupancyFactor::wave_slots)];
  o.limit = *fewest < by_slots ? static_cast<OccupancyFactor>(fewest - o.groups_by_factor.begin()) : OccupancyFactor::wave_slots;
  o.groups = *fewest;
  o.waves_per_simd = std::min(l.waves_per_simd, (o.groups * per_group + l.simds - 1) / l.simds);

  const auto waves_of_groups = [&](std::uint32_t groups) {
    const std::uint64_t waves = std::uint64_t{std::min(groups, by_slots)} * per_group;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((waves + l.simds - 1) / l.simds, 1, l.waves_per_simd));
  };
  o.waves_by_factor[slot(OccupancyFactor::vgprs)] = std::max(by_vgprs, 1U);
  o.waves_by_factor[slot(OccupancyFactor::sgprs)] = std::max(by_sgprs, 1U);
  for (const auto f : {OccupancyFactor::lds, OccupancyFactor::wave_slots, OccupancyFactor::group_slots}) {
    o.waves_by_factor[slot(f)] = waves_of_groups(o.groups_by_factor[slot(f)]);
  }
  o.compiler_waves_per_simd = *std::ranges::min_element(o.waves_by_factor);
  return o;
}

} // namespace aql::loader
