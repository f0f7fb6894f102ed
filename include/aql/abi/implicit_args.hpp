#pragma once
// Hidden kernel arguments: where they stand after the explicit ones (which end 8-aligned).
// LLVM AMDGPUUsage, "Code Object V4 / V5 Metadata", `.value_kind: hidden_*`. The metadata of a kernel lists only those it
// uses, each with its own offset; these structs are the whole block.

#include <cstddef>
#include <cstdint>

namespace aql::abi {

struct ImplicitArgsV4 { // 56 bytes
  std::uint64_t global_offset_x;
  std::uint64_t global_offset_y;
  std::uint64_t global_offset_z;
  std::uint64_t hostcall_or_printf_buffer;
  std::uint64_t default_queue;
  std::uint64_t completion_action;
  std::uint64_t multigrid_sync_arg;
};
static_assert(sizeof(ImplicitArgsV4) == 56 && alignof(ImplicitArgsV4) == 8);
static_assert(offsetof(ImplicitArgsV4, global_offset_y) == 8 && offsetof(ImplicitArgsV4, global_offset_z) == 16);
static_assert(offsetof(ImplicitArgsV4, hostcall_or_printf_buffer) == 24 && offsetof(ImplicitArgsV4, default_queue) == 32);
static_assert(offsetof(ImplicitArgsV4, completion_action) == 40 && offsetof(ImplicitArgsV4, multigrid_sync_arg) == 48);

struct ImplicitArgsV5 { // 256 bytes
  std::uint32_t block_count_x;   // whole groups only; a partial last group is not counted
  std::uint32_t block_count_y;
  std::uint32_t block_count_z;
  std::uint16_t group_size_x;
  std::uint16_t group_size_y;
  std::uint16_t group_size_z;
  std::uint16_t remainder_x;     // work-items of the partial last group, or 0
  std::uint16_t remainder_y;
  std::uint16_t remainder_z;
  std::uint8_t reserved0[16];
  std::uint64_t global_offset_x;
  std::uint64_t global_offset_y;
  std::uint64_t global_offset_z;
  std::uint16_t grid_dims;
  std::uint8_t reserved1[6];
  std::uint64_t printf_buffer;
  std::uint64_t hostcall_buffer;
  std::uint64_t multigrid_sync_arg;
  std::uint64_t heap_v1;
  std::uint64_t default_queue;
  std::uint64_t completion_action;
  std::uint32_t dynamic_lds_size;
  std::uint8_t reserved2[68];
  std::uint32_t private_base;    // high 32 bits of the private aperture
  std::uint32_t shared_base;     // high 32 bits of the LDS aperture
  std::uint64_t queue_ptr;       // amd_queue_t
  std::uint8_t reserved3[48];
};
static_assert(sizeof(ImplicitArgsV5) == 256 && alignof(ImplicitArgsV5) == 8);
static_assert(offsetof(ImplicitArgsV5, block_count_y) == 4 && offsetof(ImplicitArgsV5, block_count_z) == 8);
static_assert(offsetof(ImplicitArgsV5, group_size_x) == 12 && offsetof(ImplicitArgsV5, group_size_y) == 14);
static_assert(offsetof(ImplicitArgsV5, group_size_z) == 16 && offsetof(ImplicitArgsV5, remainder_x) == 18);
static_assert(offsetof(ImplicitArgsV5, remainder_y) == 20 && offsetof(ImplicitArgsV5, remainder_z) == 22);
static_assert(offsetof(ImplicitArgsV5, global_offset_x) == 40 && offsetof(ImplicitArgsV5, global_offset_y) == 48);
static_assert(offsetof(ImplicitArgsV5, global_offset_z) == 56 && offsetof(ImplicitArgsV5, grid_dims) == 64);
static_assert(offsetof(ImplicitArgsV5, printf_buffer) == 72 && offsetof(ImplicitArgsV5, hostcall_buffer) == 80);
static_assert(offsetof(ImplicitArgsV5, multigrid_sync_arg) == 88 && offsetof(ImplicitArgsV5, heap_v1) == 96);
static_assert(offsetof(ImplicitArgsV5, default_queue) == 104 && offsetof(ImplicitArgsV5, completion_action) == 112);
static_assert(offsetof(ImplicitArgsV5, dynamic_lds_size) == 120 && offsetof(ImplicitArgsV5, private_base) == 192);
static_assert(offsetof(ImplicitArgsV5, shared_base) == 196 && offsetof(ImplicitArgsV5, queue_ptr) == 200);

} // namespace aql::abi
