#include "sim/cp/packet_check.hpp"

#include <fmt/format.h>

namespace aql::sim {

PacketError check_geometry(const DeviceProfile& profile, const abi::KernelDispatchPacket& p) {
  const auto bad = [](std::string detail) {
    return PacketError{Errc::incompatible_arguments, abi::kQueueErrorDimensions, std::move(detail)};
  };
  const std::uint32_t dimensions = abi::SetupDimensions::decode(p.setup);
  if (dimensions == 0) return bad("setup asks for 0 dimensions; 1 to 3 are possible");
  const std::uint32_t group[3] = {p.workgroup_size_x, p.workgroup_size_y, p.workgroup_size_z};
  const std::uint32_t grid[3] = {p.grid_size_x, p.grid_size_y, p.grid_size_z};
  for (unsigned d = 0; d < 3; ++d) {
    const char name = static_cast<char>('x' + d);
    if (group[d] == 0) return bad(fmt::format("workgroup_size_{} is 0", name));
    if (grid[d] == 0) return bad(fmt::format("grid_size_{} is 0", name));
    if (d >= dimensions && (group[d] != 1 || grid[d] != 1)) {
      return bad(fmt::format("dimension {} is not used (setup says {} dimensions), so its sizes must be 1; workgroup_size_{} is {} "
                             "and grid_size_{} is {}",
                             name, dimensions, name, group[d], name, grid[d]));
    }
    if (grid[d] < group[d]) {
      return bad(fmt::format(
          "grid_size_{} is {} work-items, smaller than workgroup_size_{}, {} (the grid counts work-items, not workgroups)", name,
          grid[d], name, group[d]));
    }
  }
  const std::uint64_t items = static_cast<std::uint64_t>(group[0]) * group[1] * group[2];
  if (items > profile.max_workgroup_size) {
    return {Errc::invalid_argument, abi::kQueueErrorWorkgroupSize,
            fmt::format("a workgroup of {} x {} x {} has {} work-items; {} has room for {}", group[0], group[1], group[2], items,
                        profile.target, profile.max_workgroup_size)};
  }
  __extension__ unsigned __int128 groups = 1;
  for (unsigned d = 0; d < 3; ++d) groups *= (static_cast<std::uint64_t>(grid[d]) + group[d] - 1) / group[d];
  if (groups >> 62 != 0) return bad(fmt::format("a grid of {} x {} x {} work-items has more workgroups than 62 bits count", grid[0], grid[1], grid[2]));
  if (p.group_segment_size > profile.lds_bytes) {
    return {Errc::invalid_allocation, abi::kQueueErrorGroupMemory,
            fmt::format("group_segment_size is {} bytes; {} has {} bytes of LDS for a workgroup", p.group_segment_size,
                        profile.target, profile.lds_bytes)};
  }
  return {};
}

PacketError check_resources(const DeviceProfile& profile, const abi::KernelDispatchPacket& p, const KernelCode& code,
                            GroupNeeds& needs) {
  if (!code.error.empty()) return {Errc::invalid_code_object, abi::kQueueErrorCode, code.error};
  const std::uint32_t items = static_cast<std::uint32_t>(p.workgroup_size_x) * p.workgroup_size_y * p.workgroup_size_z;
  needs.waves = (items + kLanes - 1) / kLanes;
  needs.vgprs = (code.vgprs + profile.vgpr_granule - 1) / profile.vgpr_granule * profile.vgpr_granule;
  needs.lds_bytes = (p.group_segment_size + profile.lds_granule - 1) / profile.lds_granule * profile.lds_granule;
  if (groups_per_cu(profile, needs) == 0) {
    const std::uint32_t per_simd = (needs.waves + profile.simds_per_cu - 1) / profile.simds_per_cu;
    return {
        Errc::out_of_registers, abi::kQueueErrorRegisters,
        fmt::format(
            "the kernel has {} vector registers a lane and its workgroup {} work-items: {} waves on a SIMD need {} of {} registers",
            code.vgprs, items, per_simd, per_simd * needs.vgprs, profile.vgprs_per_lane)};
  }
  if (p.private_segment_size > profile.max_private_bytes) {
    return {Errc::out_of_resources, abi::kQueueErrorScratchLarge,
            fmt::format("private_segment_size is {} bytes a work-item; the limit of {} is {}", p.private_segment_size,
                        profile.target, profile.max_private_bytes)};
  }
  return {};
}

} // namespace aql::sim
