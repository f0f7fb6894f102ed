#pragma once
// How many workgroups of a kernel fit a compute unit at once: registers, LDS, wave slots, group slots.
// Thread safety: pure functions.

#include <cstdint>

#include "sim/cp/profile.hpp"

namespace aql::sim {

struct GroupNeeds {
  std::uint32_t waves = 1;     // of a full group
  std::uint32_t vgprs = 8;     // allocated a lane, granule-rounded, ArchVGPR and AccVGPR together
  std::uint32_t lds_bytes = 0; // granule-rounded
};

// Waves of `vgprs` registers that one SIMD holds.
[[nodiscard]] constexpr std::uint32_t waves_per_simd(const DeviceProfile& profile, std::uint32_t vgprs) noexcept {
  const std::uint32_t by_registers = vgprs == 0 ? profile.waves_per_simd : profile.vgprs_per_lane / vgprs;
  return by_registers < profile.waves_per_simd ? by_registers : profile.waves_per_simd;
}

// The waves of a group go to the SIMDs in turn; a compute unit holds as many groups as its fullest SIMD allows. 0: not even one.
[[nodiscard]] constexpr std::uint32_t groups_per_cu(const DeviceProfile& profile, const GroupNeeds& needs) noexcept {
  const std::uint32_t per_simd = waves_per_simd(profile, needs.vgprs);
  // The placement evens out over groups, so count waves of the whole unit, but a single group must fit SIMD by SIMD.
  const std::uint32_t busiest = (needs.waves + profile.simds_per_cu - 1) / profile.simds_per_cu;
  if (busiest > per_simd) return 0;
  std::uint32_t groups = per_simd * profile.simds_per_cu / needs.waves;
  if (needs.waves > 1 && groups > profile.groups_per_cu) groups = profile.groups_per_cu; // one-wave groups need no barrier slot
  if (needs.lds_bytes != 0) {
    const std::uint32_t by_lds = profile.lds_bytes / needs.lds_bytes;
    if (groups > by_lds) groups = by_lds;
  }
  return groups;
}

} // namespace aql::sim
