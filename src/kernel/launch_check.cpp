#include "kernel/launch_check.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace aql::detail {
namespace {

Error refuse(const KernelInfo& kernel, Errc code, std::string text) {
  return Error{code, 0, fmt::format("'{}': {}", kernel.display_name(), text), "launch"};
}

std::string shape_text(const Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

std::uint32_t axis(const Dim3& d, unsigned i) noexcept { return i == 0 ? d.x : i == 1 ? d.y : d.z; }

} // namespace

std::uint32_t vgprs_needed_per_simd(std::uint32_t work_items, std::uint32_t allocated_vgprs, const DeviceInfo& device) noexcept {
  const auto waves = (work_items + device.wavefront_size - 1) / device.wavefront_size;
  const auto waves_per_simd = (waves + device.simds_per_cu - 1) / device.simds_per_cu;
  return waves_per_simd * allocated_vgprs;
}

Result<LaunchSizes> check_launch(const KernelInfo& kernel, const DeviceInfo& device, const LaunchShape& shape) {
  for (unsigned i = 0; i < 3; ++i) {
    const auto grid = axis(shape.grid, i);
    const auto group = axis(shape.group, i);
    if (grid == 0 || group == 0) {
      return std::unexpected(refuse(kernel, Errc::incompatible_arguments,
                                    fmt::format("grid {} and group {} must be at least 1 in every dimension", shape_text(shape.grid), shape_text(shape.group))));
    }
    if (group > 0xffffu) {
      return std::unexpected(refuse(kernel, Errc::invalid_argument, fmt::format("group {} does not fit the packet's 16 bits a dimension", shape_text(shape.group))));
    }
  }
  const auto flat = static_cast<std::uint64_t>(shape.group.x) * shape.group.y * shape.group.z;
  if (flat > device.max_workgroup_size) {
    return std::unexpected(refuse(kernel, Errc::invalid_argument,
                                  fmt::format("a group of {} is {} work-items; {} takes at most {}", shape_text(shape.group), flat, device.selector, device.max_workgroup_size)));
  }
  if (kernel.max_flat_workgroup_size != 0 && flat > kernel.max_flat_workgroup_size) {
    return std::unexpected(refuse(kernel, Errc::invalid_argument,
                                  fmt::format("a group of {} is {} work-items; the kernel was compiled for at most {} (amdgpu_flat_work_group_size, __launch_bounds__)",
                                              shape_text(shape.group), flat, kernel.max_flat_workgroup_size)));
  }
  if (kernel.required_workgroup_size && *kernel.required_workgroup_size != shape.group) {
    return std::unexpected(refuse(kernel, Errc::invalid_argument,
                                  fmt::format("group {} was asked; the kernel requires exactly {} (reqd_work_group_size)", shape_text(shape.group),
                                              shape_text(*kernel.required_workgroup_size))));
  }
  for (unsigned i = 0; i < 3; ++i) {
    const auto grid = axis(shape.grid, i);
    const auto group = axis(shape.group, i);
    if (grid < group) {
      return std::unexpected(refuse(kernel, Errc::incompatible_arguments,
                                    fmt::format("grid {} is smaller than the group {} in dimension {}; the grid counts work-items, not groups", shape_text(shape.grid),
                                                shape_text(shape.group), "xyz"[i])));
    }
    if (kernel.uniform_work_group_size && grid % group != 0) {
      return std::unexpected(refuse(kernel, Errc::incompatible_arguments,
                                    fmt::format("grid {} leaves a partial group of {} in dimension {}, and the kernel was compiled on the promise that there is none "
                                                "(uniform work-group size); round the grid up",
                                                shape_text(shape.grid), shape_text(shape.group), "xyz"[i])));
    }
  }
  LaunchSizes sizes;
  sizes.dimensions = static_cast<std::uint16_t>(shape.grid.z > 1 || shape.group.z > 1 ? 3 : shape.grid.y > 1 || shape.group.y > 1 ? 2 : 1);
  const auto lds = static_cast<std::uint64_t>(kernel.group_segment_size) + shape.dynamic_lds;
  if (lds > device.lds_bytes) {
    return std::unexpected(refuse(kernel, Errc::invalid_allocation,
                                  fmt::format("{} bytes of LDS a group ({} static, {} dynamic); a compute unit of {} has {}", lds, kernel.group_segment_size, shape.dynamic_lds,
                                              device.selector, device.lds_bytes)));
  }
  sizes.group_segment = static_cast<std::uint32_t>(lds);
  const std::uint64_t stack = kernel.uses_dynamic_stack ? shape.stack_bytes : 0;
  if (kernel.private_segment_size + stack > device.max_private_bytes) {
    return std::unexpected(refuse(kernel, Errc::out_of_resources,
                                  fmt::format("{} bytes of private memory a work-item{}; at most {} are possible", kernel.private_segment_size + stack,
                                              stack == 0 ? std::string{} : fmt::format(" ({} fixed, {} for the dynamic stack)", kernel.private_segment_size, stack),
                                              device.max_private_bytes)));
  }
  sizes.private_segment = static_cast<std::uint32_t>(kernel.private_segment_size + stack);
  const auto allocated = std::max(kernel.allocated_vgprs, device.vgpr_granule);
  if (const auto needed = vgprs_needed_per_simd(static_cast<std::uint32_t>(flat), allocated, device); needed > device.vgprs_per_lane) {
    return std::unexpected(refuse(kernel, Errc::out_of_registers,
                                  fmt::format("a group of {} work-items with {} VGPRs each needs {} a SIMD lane; there are {}. Launch smaller groups, or compile with "
                                              "amdgpu_flat_work_group_size(1, {})",
                                              flat, allocated, needed, device.vgprs_per_lane, flat)));
  }
  return sizes;
}

void fill_hidden(const KernelInfo& kernel, const DeviceInfo& device, const LaunchShape& shape, const LaunchSizes& sizes, std::uint64_t queue_address, std::span<std::byte> block) noexcept {
  for (const auto& arg : kernel.args) {
    if (!arg.hidden()) continue;
    std::uint64_t value = 0;
    const auto count = [&](unsigned i) { return axis(shape.grid, i) / axis(shape.group, i); };   // whole groups only
    const auto rest = [&](unsigned i) { return axis(shape.grid, i) % axis(shape.group, i); };
    switch (arg.kind) {
    case ArgKind::hidden_block_count_x: value = count(0); break;
    case ArgKind::hidden_block_count_y: value = count(1); break;
    case ArgKind::hidden_block_count_z: value = count(2); break;
    case ArgKind::hidden_group_size_x: value = shape.group.x; break;
    case ArgKind::hidden_group_size_y: value = shape.group.y; break;
    case ArgKind::hidden_group_size_z: value = shape.group.z; break;
    case ArgKind::hidden_remainder_x: value = rest(0); break;
    case ArgKind::hidden_remainder_y: value = rest(1); break;
    case ArgKind::hidden_remainder_z: value = rest(2); break;
    case ArgKind::hidden_grid_dims: value = sizes.dimensions; break;
    case ArgKind::hidden_dynamic_lds_size: value = shape.dynamic_lds; break;
    case ArgKind::hidden_private_base: value = device.private_aperture >> 32; break;
    case ArgKind::hidden_shared_base: value = device.shared_aperture >> 32; break;
    case ArgKind::hidden_queue_ptr: value = queue_address; break;
    default: break; // global offsets are 0; services that do not exist are null
    }
    const auto size = std::min<std::uint64_t>(arg.size, sizeof value);
    if (arg.offset <= block.size() && size <= block.size() - arg.offset) std::memcpy(block.data() + arg.offset, &value, size); // little endian
  }
}

} // namespace aql::detail
