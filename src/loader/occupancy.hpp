#pragma once
// Occupancy: how many workgroups of a kernel a compute unit holds at once, and what limits it. Pure arithmetic over numbers;
// the limits of a product are passed in. AMDGPUUsage and the CDNA ISA guides (register files), LLVM (barrier slots).
// Thread safety: pure functions.

#include <array>
#include <cstdint>
#include <string_view>

namespace aql::loader {

// One compute unit. Defaults are those of gfx90a and gfx942.
struct OccupancyLimits {
  std::uint32_t simds = 4;
  std::uint32_t waves_per_simd = 8;
  std::uint32_t vgprs_per_lane = 512; // of a SIMD, both kinds together
  std::uint32_t vgpr_granule = 8;
  std::uint32_t sgprs_per_simd = 800;
  std::uint32_t sgpr_granule = 16;
  std::uint32_t lds_bytes = 65536;
  std::uint32_t lds_granule = 512;
  std::uint32_t group_slots = 16; // barriers: for groups of more than one wave
};

struct OccupancyRequest {
  std::uint32_t vgprs = 0;       // a lane, both kinds together
  std::uint32_t sgprs = 0;       // a wave
  std::uint64_t lds_bytes = 0;   // a group, static and dynamic
  std::uint32_t group_size = 64; // work-items
  std::uint32_t wavefront_size = 64;
};

enum class OccupancyFactor : std::uint8_t { vgprs, sgprs, lds, wave_slots, group_slots };
inline constexpr std::size_t kOccupancyFactors = 5;

[[nodiscard]] std::string_view to_string(OccupancyFactor factor) noexcept;

struct Occupancy {
  std::uint32_t waves_per_group = 0;
  // Groups a compute unit could hold if this factor alone counted, indexed by OccupancyFactor. group_slots: UINT32_MAX if the
  // group needs no slot.
  std::array<std::uint32_t, kOccupancyFactors> groups_by_factor{};
  // Waves on one SIMD that the factor allows, as compilers count them: registers without regard to whole groups.
  std::array<std::uint32_t, kOccupancyFactors> waves_by_factor{};
  std::uint32_t groups = 0;                  // groups resident on a compute unit; 0: the kernel cannot run at this group size
  std::uint32_t waves_per_simd = 0;          // on the fullest SIMD, whole groups only
  std::uint32_t compiler_waves_per_simd = 0; // what clang's kernel-resource-usage remark calls "Occupancy"
  OccupancyFactor limit = OccupancyFactor::wave_slots; // the factor that allows fewest groups; the first of equals
};

[[nodiscard]] Occupancy occupancy(const OccupancyRequest& request, const OccupancyLimits& limits) noexcept;

} // namespace aql::loader
