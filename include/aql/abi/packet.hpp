#pragma once
// Wire structs of the AQL packets (64 bytes, 64-byte aligned slots). HSA Platform System Architecture 1.2, section 2.8,
// and hsa.h / hsa_ext_amd.h for the AMD vendor formats. Nothing here allocates or has behaviour.
// Memory ordering: the first 32-bit word (header and setup or vendor format) is published last, as one release store,
// and read first, as one acquire load. No field of this file is an atomic: rings do that through std::atomic_ref.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace aql::abi {

// A named range of bits inside an integer word; we do not use C++ bit-fields in shared memory.
template <unsigned shift, unsigned width>
struct Field {
  static constexpr unsigned kShift = shift;
  static constexpr unsigned kWidth = width;
  static constexpr std::uint64_t kMax = (width == 64) ? ~0ULL : ((1ULL << width) - 1);
  template <class Word>
  [[nodiscard]] static constexpr Word encode(std::uint64_t value) noexcept {
    return static_cast<Word>((value & kMax) << shift);
  }
  template <class Word>
  [[nodiscard]] static constexpr std::uint32_t decode(Word word) noexcept {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word) >> shift) & kMax);
  }
};

inline constexpr std::size_t kPacketSize = 64;

enum class PacketType : std::uint8_t {
  vendor_specific = 0,
  invalid = 1,
  kernel_dispatch = 2,
  barrier_and = 3,
  agent_dispatch = 4,
  barrier_or = 5,
};

// The AMD vendor packet's second word, low byte. 3 is read as "extended kernel dispatch" (newer headers and rocjitsu);
// hsa_ext_amd.h of 2025 names the same value AIE_ERT, which no GPU accepts.
enum class VendorFormat : std::uint8_t {
  pm4_indirect_buffer = 1,
  barrier_value = 2,
  extended_dispatch = 3,
};

// Header, 16 bits: type 7:0, barrier 8, acquire fence scope 10:9, release fence scope 12:11.
using HeaderType = Field<0, 8>;
using HeaderBarrier = Field<8, 1>;
using HeaderAcquire = Field<9, 2>;
using HeaderRelease = Field<11, 2>;
using HeaderReserved = Field<13, 3>;
// Setup, 16 bits, of a kernel dispatch: number of grid dimensions, 1 to 3.
using SetupDimensions = Field<0, 2>;

enum class FenceScope : std::uint8_t { none = 0, agent = 1, system = 2 };

struct KernelDispatchPacket {
  std::uint16_t header;             // producer writes last; processor sets type INVALID after consuming
  std::uint16_t setup;              // dimensions in bits 1:0
  std::uint16_t workgroup_size_x;   // work-items, 1 to 1024
  std::uint16_t workgroup_size_y;
  std::uint16_t workgroup_size_z;
  std::uint16_t reserved0;          // must be 0
  std::uint32_t grid_size_x;        // work-items (not groups)
  std::uint32_t grid_size_y;
  std::uint32_t grid_size_z;
  std::uint32_t private_segment_size; // bytes a work-item
  std::uint32_t group_segment_size;   // bytes a group, static and dynamic LDS
  std::uint64_t kernel_object;        // device address of the kernel descriptor
  std::uint64_t kernarg_address;      // device address, at least 16-byte aligned; 0 for a kernel without arguments
  std::uint64_t reserved2;            // must be 0 (HIP stores a correlation id while tracing)
  std::uint64_t completion_signal;    // handle, 0 = none
};
static_assert(sizeof(KernelDispatchPacket) == 64 && alignof(KernelDispatchPacket) == 8);
static_assert(offsetof(KernelDispatchPacket, setup) == 2 && offsetof(KernelDispatchPacket, workgroup_size_x) == 4);
static_assert(offsetof(KernelDispatchPacket, workgroup_size_y) == 6 && offsetof(KernelDispatchPacket, workgroup_size_z) == 8);
static_assert(offsetof(KernelDispatchPacket, reserved0) == 10 && offsetof(KernelDispatchPacket, grid_size_x) == 12);
static_assert(offsetof(KernelDispatchPacket, grid_size_y) == 16 && offsetof(KernelDispatchPacket, grid_size_z) == 20);
static_assert(offsetof(KernelDispatchPacket, private_segment_size) == 24 && offsetof(KernelDispatchPacket, group_segment_size) == 28);
static_assert(offsetof(KernelDispatchPacket, kernel_object) == 32 && offsetof(KernelDispatchPacket, kernarg_address) == 40);
static_assert(offsetof(KernelDispatchPacket, reserved2) == 48 && offsetof(KernelDispatchPacket, completion_signal) == 56);

inline constexpr std::size_t kBarrierDependencies = 5;

// Barrier-AND and barrier-OR have the same layout; the header's type tells them apart.
struct BarrierPacket {
  std::uint16_t header;
  std::uint16_t reserved0;
  std::uint32_t reserved1;
  std::uint64_t dep_signal[kBarrierDependencies]; // handles; 0 is satisfied for AND, not satisfied for OR
  std::uint64_t reserved2;
  std::uint64_t completion_signal;
};
static_assert(sizeof(BarrierPacket) == 64 && alignof(BarrierPacket) == 8);
static_assert(offsetof(BarrierPacket, reserved0) == 2 && offsetof(BarrierPacket, reserved1) == 4);
static_assert(offsetof(BarrierPacket, dep_signal) == 8 && offsetof(BarrierPacket, reserved2) == 48);
static_assert(offsetof(BarrierPacket, completion_signal) == 56);

struct AgentDispatchPacket {
  std::uint16_t header;
  std::uint16_t type;             // function code, chosen by the application
  std::uint32_t reserved0;
  std::uint64_t return_address;   // where the function stores its result, or 0
  std::uint64_t arg[4];
  std::uint64_t reserved2;
  std::uint64_t completion_signal;
};
static_assert(sizeof(AgentDispatchPacket) == 64 && alignof(AgentDispatchPacket) == 8);
static_assert(offsetof(AgentDispatchPacket, type) == 2 && offsetof(AgentDispatchPacket, reserved0) == 4);
static_assert(offsetof(AgentDispatchPacket, return_address) == 8 && offsetof(AgentDispatchPacket, arg) == 16);
static_assert(offsetof(AgentDispatchPacket, reserved2) == 48 && offsetof(AgentDispatchPacket, completion_signal) == 56);

// AMD vendor packet, format 1: run a PM4 indirect buffer. The four IB words are an INDIRECT_BUFFER PM4 packet.
struct Pm4IbPacket {
  std::uint16_t header;
  std::uint8_t amd_format;        // VendorFormat::pm4_indirect_buffer
  std::uint8_t reserved0;
  std::uint32_t ib_jump_cmd[4];   // PM4 header, address low, address high, size and valid bit
  std::uint32_t dw_cnt_remain;    // 0xA: dwords left in this packet
  std::uint32_t reserved1[8];
  std::uint64_t completion_signal;
};
static_assert(sizeof(Pm4IbPacket) == 64 && alignof(Pm4IbPacket) == 8);
static_assert(offsetof(Pm4IbPacket, amd_format) == 2 && offsetof(Pm4IbPacket, ib_jump_cmd) == 4);
static_assert(offsetof(Pm4IbPacket, dw_cnt_remain) == 20 && offsetof(Pm4IbPacket, reserved1) == 24);
static_assert(offsetof(Pm4IbPacket, completion_signal) == 56);

// Comparison of the AMD barrier-value packet: (signal & mask) <cond> value. Values of hsa_signal_condition_t.
enum class ValueCondition : std::uint32_t { eq = 0, ne = 1, lt = 2, gte = 3 };

// AMD vendor packet, format 2 (hsa_amd_barrier_value_packet_t).
struct BarrierValuePacket {
  std::uint16_t header;
  std::uint8_t amd_format;        // VendorFormat::barrier_value
  std::uint8_t reserved0;
  std::uint32_t reserved1;
  std::uint64_t signal;           // handle
  std::int64_t value;
  std::int64_t mask;
  std::uint32_t cond;             // ValueCondition
  std::uint32_t reserved2;
  std::uint64_t reserved3;
  std::uint64_t reserved4;
  std::uint64_t completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == 64 && alignof(BarrierValuePacket) == 8);
static_assert(offsetof(BarrierValuePacket, amd_format) == 2 && offsetof(BarrierValuePacket, reserved1) == 4);
static_assert(offsetof(BarrierValuePacket, signal) == 8 && offsetof(BarrierValuePacket, value) == 16);
static_assert(offsetof(BarrierValuePacket, mask) == 24 && offsetof(BarrierValuePacket, cond) == 32);
static_assert(offsetof(BarrierValuePacket, reserved2) == 36 && offsetof(BarrierValuePacket, reserved3) == 40);
static_assert(offsetof(BarrierValuePacket, reserved4) == 48 && offsetof(BarrierValuePacket, completion_signal) == 56);

// AMD vendor packet, format 3: kernel dispatch with clusters of workgroups and a dependency signal (newer than the
// headers of ROCr 5.2.3).
struct ExtendedDispatchPacket {
  std::uint16_t header;
  std::uint8_t amd_format;         // VendorFormat::extended_dispatch
  std::uint8_t setup;              // dimensions in bits 1:0
  std::uint16_t workgroup_size_x;
  std::uint16_t workgroup_size_y;
  std::uint16_t workgroup_size_z;
  std::uint16_t reserved0;
  std::uint32_t cluster_count_x;   // clusters of workgroups in the grid
  std::uint16_t cluster_count_y;
  std::uint16_t cluster_count_z;
  std::uint8_t cluster_size_x;     // workgroups in a cluster
  std::uint8_t cluster_size_y;
  std::uint8_t cluster_size_z;
  std::uint8_t perf_hint;
  std::uint32_t private_segment_size;
  std::uint32_t group_segment_size;
  std::uint64_t kernel_object;
  std::uint64_t kernarg_address;
  std::uint64_t dep_signal;        // handle to wait for (value 0), or 0
  std::uint64_t completion_signal;
};
static_assert(sizeof(ExtendedDispatchPacket) == 64 && alignof(ExtendedDispatchPacket) == 8);
static_assert(offsetof(ExtendedDispatchPacket, amd_format) == 2 && offsetof(ExtendedDispatchPacket, setup) == 3);
static_assert(offsetof(ExtendedDispatchPacket, workgroup_size_x) == 4 && offsetof(ExtendedDispatchPacket, workgroup_size_y) == 6);
static_assert(offsetof(ExtendedDispatchPacket, workgroup_size_z) == 8 && offsetof(ExtendedDispatchPacket, reserved0) == 10);
static_assert(offsetof(ExtendedDispatchPacket, cluster_count_x) == 12 && offsetof(ExtendedDispatchPacket, cluster_count_y) == 16);
static_assert(offsetof(ExtendedDispatchPacket, cluster_count_z) == 18 && offsetof(ExtendedDispatchPacket, cluster_size_x) == 20);
static_assert(offsetof(ExtendedDispatchPacket, cluster_size_y) == 21 && offsetof(ExtendedDispatchPacket, cluster_size_z) == 22);
static_assert(offsetof(ExtendedDispatchPacket, perf_hint) == 23 && offsetof(ExtendedDispatchPacket, private_segment_size) == 24);
static_assert(offsetof(ExtendedDispatchPacket, group_segment_size) == 28 && offsetof(ExtendedDispatchPacket, kernel_object) == 32);
static_assert(offsetof(ExtendedDispatchPacket, kernarg_address) == 40 && offsetof(ExtendedDispatchPacket, dep_signal) == 48);
static_assert(offsetof(ExtendedDispatchPacket, completion_signal) == 56);

// One ring slot. Always accessed word-wise or by memcpy; the first 32-bit word through std::atomic_ref.
struct alignas(64) Slot {
  std::uint32_t word[16];
};
static_assert(sizeof(Slot) == 64 && alignof(Slot) == 64);
static_assert(std::is_trivially_copyable_v<Slot> && std::is_standard_layout_v<Slot>);

} // namespace aql::abi
