#pragma once
// What a device is and what it can do. Filled by the driver when the device is opened; never changes afterwards.
// Thread safety: plain data.

#include <cstdint>
#include <string>

namespace aql {

struct DeviceInfo {
  std::string driver;          // "sim", "rocr", "kfd"
  std::string selector;        // what Device::open takes: "sim:gfx942", "rocr:0"
  std::string name;            // product: "MI300X"
  std::string isa;             // full target id: "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  std::string target;          // "gfx942"
  bool xnack = false, sramecc = true;
  std::uint32_t compute_units = 0, xcc_count = 1, simds_per_cu = 4, waves_per_simd = 8;
  std::uint32_t vgprs_per_lane = 512, vgpr_granule = 8, lds_bytes = 65536, lds_granule = 512;
  std::uint32_t max_workgroup_size = 1024, max_private_bytes = 131056, groups_per_cu = 16;
  std::uint32_t wavefront_size = 64;
  std::uint32_t max_queues = 128, min_queue_packets = 64, max_queue_packets = 131072;
  std::uint32_t clock_mhz = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t timestamp_hz = 100'000'000;
  std::uint64_t shared_aperture = 0, private_aperture = 0; // 64-bit bases, for hidden arguments; 0 = unknown
  bool host_access_device_memory = true;                   // large BAR or unified
};

} // namespace aql
