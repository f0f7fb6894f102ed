#pragma once
// What a launch must satisfy before its packet is written, and the hidden arguments it gets.
// Thread safety: pure functions.

#include <cstdint>
#include <span>

#include <aql/code_object.hpp>
#include <aql/device_info.hpp>
#include <aql/error.hpp>
#include <aql/types.hpp>

namespace aql::detail {

struct LaunchShape {
  Dim3 grid;                        // work-items
  Dim3 group;                       // work-items of a full group
  std::uint32_t dynamic_lds = 0;    // bytes behind the kernel's static LDS
  std::uint32_t stack_bytes = 0;    // a work-item, behind the fixed private segment of a kernel with a dynamic stack
};

struct LaunchSizes {
  std::uint16_t dimensions = 1;     // 1 to 3
  std::uint32_t group_segment = 0;  // static and dynamic LDS, bytes
  std::uint32_t private_segment = 0;
};

// Checks shape against descriptor, metadata and device. Errors say which limit, what was asked, what is there:
// incompatible_arguments (grid, dimensions), invalid_argument (group size), invalid_allocation (LDS), out_of_registers,
// out_of_resources (scratch).
[[nodiscard]] Result<LaunchSizes> check_launch(const KernelInfo& kernel, const DeviceInfo& device, const LaunchShape& shape);

// VGPRs a lane that one SIMD must hold for a group: waves that share a SIMD times the allocation.
[[nodiscard]] std::uint32_t vgprs_needed_per_simd(std::uint32_t work_items, std::uint32_t allocated_vgprs, const DeviceInfo& device) noexcept;

// Stores every hidden argument that the metadata lists into `block` (the whole kernarg segment). Pointers to services that aql
// does not have stay null. LLVM AMDGPUUsage, "hidden_*" value kinds.
void fill_hidden(const KernelInfo& kernel, const DeviceInfo& device, const LaunchShape& shape, const LaunchSizes& sizes, std::uint64_t queue_address, std::span<std::byte> block) noexcept;

} // namespace aql::detail
