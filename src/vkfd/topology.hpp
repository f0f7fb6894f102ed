#pragma once
// The KFD topology of sysfs, and the few other files of /sys and /proc that the ROCm stack reads, written as a real directory
// tree from device profiles. The preload library redirects the paths to it.
// Thread safety: called once, before any hook serves a path.

#include <cstdint>
#include <span>
#include <string>

#include <aql/error.hpp>

#include "sim/cp/profile.hpp"

namespace aql::vkfd {

// Numbers by which the virtual device is known in every interface.
struct GpuIdentity {
  const sim::DeviceProfile* profile = nullptr;
  std::uint32_t node_id = 1;    // topology node; 0 is the CPU
  std::uint32_t gpu_id = 50123; // KFD's id
  std::uint32_t render_minor = 128;
  std::uint64_t unique_id = 0;
  std::uint32_t pci_device_id = 0x740f;
  std::uint32_t location_id = 768;
};

// Values for `profiles[i]`, i from 0.
[[nodiscard]] GpuIdentity identity_of(const sim::DeviceProfile& profile, std::uint32_t index);

// Text of nodes/N/properties for a GPU: "name value" lines.
[[nodiscard]] std::string gpu_properties(const GpuIdentity& gpu, std::uint32_t io_links);
[[nodiscard]] std::string cpu_properties(std::uint32_t gpus);

// Writes the tree under `root` (an existing directory):
//   sys/devices/virtual/kfd/kfd/topology/..., sys/module/amdgpu/..., sys/dev/char/226:N/device/drm/..., proc/modules,
// and sys/devices/system/node/node0/cpuN/cache where the host shows none.
[[nodiscard]] Result<void> write_topology(const std::string& root, std::span<const GpuIdentity> gpus);

} // namespace aql::vkfd
