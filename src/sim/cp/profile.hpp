#pragma once
// Device profile: every number that distinguishes one product from another, each with its source or "assumed".

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/isa/inst.hpp"

namespace aql::sim {

struct DeviceProfile {
  std::string_view name;   // "MI300X"
  std::string_view target; // "gfx942"
  Arch arch;
  std::uint32_t gfx_target_version; // 90402
  std::uint32_t xcc_count;
  std::uint32_t cus_per_xcc;
  std::uint32_t simds_per_cu;       // 4
  std::uint32_t waves_per_simd;     // 8
  std::uint32_t vgprs_per_lane;     // 512
  std::uint32_t vgpr_granule;       // 8
  std::uint32_t sgprs_per_wave;     // 102 addressable
  std::uint32_t lds_bytes;          // per CU
  std::uint32_t lds_granule;        // 512, 1280
  std::uint32_t groups_per_cu;      // 16, for groups of more than one wave
  std::uint32_t max_workgroup_size; // 1024
  std::uint32_t max_private_bytes;  // 131056 a lane
  std::uint32_t clock_mhz;
  std::uint32_t l1_kib;
  std::uint32_t l2_mib; // per XCD
  std::uint64_t memory_bytes;
  std::uint32_t hw_queues;    // 24 compute queue slots
  std::uint64_t timestamp_hz; // 100 MHz
  bool xnack;                 // default of the device
  bool sramecc;
};

[[nodiscard]] std::span<const DeviceProfile> device_profiles() noexcept;
// By target ("gfx942": the first product of it) or product name ("MI300X", case-insensitive); null if unknown.
[[nodiscard]] const DeviceProfile* find_profile(std::string_view name) noexcept;

} // namespace aql::sim
