#include "kernel/launch_check.hpp"

#include <array>
#include <cstring>

#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail;

namespace {

KernelInfo kernel_with(std::uint32_t vgprs) {
  KernelInfo kernel;
  kernel.symbol = "k.kd";
  kernel.allocated_vgprs = vgprs;
  kernel.max_flat_workgroup_size = 1024;
  return kernel;
}

Errc code_of(const KernelInfo& kernel, const LaunchShape& shape) {
  const auto sizes = check_launch(kernel, DeviceInfo{}, shape);
  return sizes ? Errc::ok : sizes.error().code;
}

template <class T>
T read(std::span<const std::byte> block, std::size_t offset) {
  T value;
  std::memcpy(&value, block.data() + offset, sizeof value);
  return value;
}

} // namespace

TEST_CASE("launch: 256 work-items may have 512 registers each") { CHECK(code_of(kernel_with(512), {{256, 1, 1}, {256, 1, 1}, 0}) == Errc::ok); }
TEST_CASE("launch: 1024 work-items may have 128 registers each") { CHECK(code_of(kernel_with(128), {{1024, 1, 1}, {1024, 1, 1}, 0}) == Errc::ok); }
TEST_CASE("launch: 1024 work-items with more than 128 registers are out of registers") {
  // 129 registers are allocated as 136.
  CHECK(code_of(kernel_with(136), {{1024, 1, 1}, {1024, 1, 1}, 0}) == Errc::out_of_registers);
}
TEST_CASE("launch: a grid smaller than its group is refused") {
  CHECK(code_of(kernel_with(8), {{63, 1, 1}, {64, 1, 1}, 0}) == Errc::incompatible_arguments);
}
TEST_CASE("launch: a partial group is legal") { CHECK(code_of(kernel_with(8), {{100, 1, 1}, {64, 1, 1}, 0}) == Errc::ok); }
TEST_CASE("launch: a partial group is refused where the kernel was promised none") {
  auto kernel = kernel_with(8);
  kernel.uniform_work_group_size = true;
  CHECK(code_of(kernel, {{100, 1, 1}, {64, 1, 1}, 0}) == Errc::incompatible_arguments);
  CHECK(code_of(kernel, {{128, 1, 1}, {64, 1, 1}, 0}) == Errc::ok);
}
TEST_CASE("launch: an empty dimension is refused") { CHECK(code_of(kernel_with(8), {{64, 0, 1}, {64, 1, 1}, 0}) == Errc::incompatible_arguments); }
TEST_CASE("launch: a group above the device limit is refused") { CHECK(code_of(kernel_with(8), {{2048, 1, 1}, {2048, 1, 1}, 0}) == Errc::invalid_argument); }
TEST_CASE("launch: a group above the kernel's own limit is refused") {
  auto kernel = kernel_with(8);
  kernel.max_flat_workgroup_size = 256;
  CHECK(code_of(kernel, {{512, 1, 1}, {512, 1, 1}, 0}) == Errc::invalid_argument);
}
TEST_CASE("launch: a required group size must be met exactly") {
  auto kernel = kernel_with(8);
  kernel.required_workgroup_size = Dim3{64, 2, 1};
  CHECK(code_of(kernel, {{128, 2, 1}, {128, 1, 1}, 0}) == Errc::invalid_argument);
  CHECK(code_of(kernel, {{128, 2, 1}, {64, 2, 1}, 0}) == Errc::ok);
}
TEST_CASE("launch: static and dynamic LDS together are limited") {
  auto kernel = kernel_with(8);
  kernel.group_segment_size = 65536;
  CHECK(code_of(kernel, {{64, 1, 1}, {64, 1, 1}, 0}) == Errc::ok);
  CHECK(code_of(kernel, {{64, 1, 1}, {64, 1, 1}, 1}) == Errc::invalid_allocation);
}
TEST_CASE("launch: 131056 bytes of private memory are the most") {
  auto kernel = kernel_with(8);
  kernel.private_segment_size = 131056;
  CHECK(code_of(kernel, {{64, 1, 1}, {64, 1, 1}, 0}) == Errc::ok);
  kernel.private_segment_size = 131072;
  CHECK(code_of(kernel, {{64, 1, 1}, {64, 1, 1}, 0}) == Errc::out_of_resources);
}
TEST_CASE("launch: a kernel with a dynamic stack gets room for it behind its fixed segment, others do not") {
  auto kernel = kernel_with(8);
  kernel.private_segment_size = 32;
  const auto bytes = [&] { return check_launch(kernel, DeviceInfo{}, {{64, 1, 1}, {64, 1, 1}, 0, 4096})->private_segment; };
  CHECK(bytes() == 32);
  kernel.uses_dynamic_stack = true;
  CHECK(bytes() == 4128);
  kernel.private_segment_size = 131056;
  CHECK(code_of(kernel, {{64, 1, 1}, {64, 1, 1}, 0, 16}) == Errc::out_of_resources);
}

TEST_CASE("hidden arguments: block counts are whole groups, the partial one is the remainder") {
  KernelInfo kernel = kernel_with(8);
  const auto add = [&](ArgKind kind, const char* name, std::uint64_t offset, std::uint64_t size) {
    KernelArg arg;
    arg.kind = kind;
    arg.value_kind = name;
    arg.offset = offset;
    arg.size = size;
    kernel.args.push_back(arg);
  };
  add(ArgKind::hidden_block_count_x, "hidden_block_count_x", 0, 4);
  add(ArgKind::hidden_block_count_y, "hidden_block_count_y", 4, 4);
  add(ArgKind::hidden_block_count_z, "hidden_block_count_z", 8, 4);
  add(ArgKind::hidden_group_size_x, "hidden_group_size_x", 12, 2);
  add(ArgKind::hidden_group_size_y, "hidden_group_size_y", 14, 2);
  add(ArgKind::hidden_group_size_z, "hidden_group_size_z", 16, 2);
  add(ArgKind::hidden_remainder_x, "hidden_remainder_x", 18, 2);
  add(ArgKind::hidden_remainder_y, "hidden_remainder_y", 20, 2);
  add(ArgKind::hidden_remainder_z, "hidden_remainder_z", 22, 2);
  add(ArgKind::hidden_grid_dims, "hidden_grid_dims", 24, 2);
  std::array<std::byte, 32> block{};
  const LaunchShape shape{{7, 5, 3}, {4, 4, 2}, 0};
  const auto sizes = check_launch(kernel, DeviceInfo{}, shape);
  REQUIRE(sizes);
  fill_hidden(kernel, DeviceInfo{}, shape, *sizes, 0, block);
  CHECK(read<std::uint32_t>(block, 0) == 1);
  CHECK(read<std::uint32_t>(block, 4) == 1);
  CHECK(read<std::uint32_t>(block, 8) == 1);
  CHECK(read<std::uint16_t>(block, 12) == 4);
  CHECK(read<std::uint16_t>(block, 16) == 2);
  CHECK(read<std::uint16_t>(block, 18) == 3);
  CHECK(read<std::uint16_t>(block, 20) == 1);
  CHECK(read<std::uint16_t>(block, 22) == 1);
  CHECK(read<std::uint16_t>(block, 24) == 3);
}

TEST_CASE("hidden arguments: an offset beyond the block is never written") {
  KernelInfo kernel = kernel_with(8);
  KernelArg arg;
  arg.kind = ArgKind::hidden_block_count_x;
  arg.value_kind = "hidden_block_count_x";
  arg.offset = 14;
  arg.size = 4;
  kernel.args.push_back(arg);
  std::array<std::byte, 16> block{};
  fill_hidden(kernel, DeviceInfo{}, {{64, 1, 1}, {64, 1, 1}, 0}, {}, 0, block);
  CHECK(block == std::array<std::byte, 16>{});
}
