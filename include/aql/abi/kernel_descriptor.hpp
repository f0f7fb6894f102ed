#pragma once
// The 64-byte kernel descriptor (symbol NAME.kd, 64-byte aligned). LLVM AMDGPUUsage, "Kernel Descriptor".

#include <cstddef>
#include <cstdint>

#include <aql/abi/packet.hpp>

namespace aql::abi {

struct KernelDescriptor {
  std::uint32_t group_segment_fixed_size;   // bytes of static LDS
  std::uint32_t private_segment_fixed_size; // bytes of scratch a work-item
  std::uint32_t kernarg_size;               // bytes; 0 in some old objects
  std::uint8_t reserved0[4];
  std::int64_t kernel_code_entry_byte_offset; // from the descriptor's address; the entry is 256-byte aligned
  std::uint8_t reserved1[20];
  std::uint32_t compute_pgm_rsrc3;
  std::uint32_t compute_pgm_rsrc1;
  std::uint32_t compute_pgm_rsrc2;
  std::uint16_t kernel_code_properties;
  std::uint16_t kernarg_preload;            // length 6:0, offset 15:7, both in dwords
  std::uint8_t reserved3[4];
};
static_assert(sizeof(KernelDescriptor) == 64 && alignof(KernelDescriptor) == 8);
static_assert(offsetof(KernelDescriptor, private_segment_fixed_size) == 4 && offsetof(KernelDescriptor, kernarg_size) == 8);
static_assert(offsetof(KernelDescriptor, reserved0) == 12 && offsetof(KernelDescriptor, kernel_code_entry_byte_offset) == 16);
static_assert(offsetof(KernelDescriptor, reserved1) == 24 && offsetof(KernelDescriptor, compute_pgm_rsrc3) == 44);
static_assert(offsetof(KernelDescriptor, compute_pgm_rsrc1) == 48 && offsetof(KernelDescriptor, compute_pgm_rsrc2) == 52);
static_assert(offsetof(KernelDescriptor, kernel_code_properties) == 56 && offsetof(KernelDescriptor, kernarg_preload) == 58);
static_assert(offsetof(KernelDescriptor, reserved3) == 60);

// compute_pgm_rsrc1, GFX6-GFX11 layout as gfx90a/gfx942/gfx950 use it.
using Rsrc1VgprGranules = Field<0, 6>;   // (granules of 8 VGPRs on gfx90a and later) - 1, ArchVGPR + AccVGPR together
using Rsrc1SgprGranules = Field<6, 4>;   // 2 * (granules of 16) - 1 on gfx9; always 0xd-like values, 102 SGPRs are there
using Rsrc1Priority = Field<10, 2>;
using Rsrc1FloatRound32 = Field<12, 2>;  // 0 RNE, 1 +inf, 2 -inf, 3 toward zero
using Rsrc1FloatRound16_64 = Field<14, 2>;
using Rsrc1FloatDenorm32 = Field<16, 2>; // 0 flush in and out, 1 flush out, 2 flush in, 3 keep
using Rsrc1FloatDenorm16_64 = Field<18, 2>;
using Rsrc1Priv = Field<20, 1>;
using Rsrc1Dx10Clamp = Field<21, 1>;
using Rsrc1DebugMode = Field<22, 1>;
using Rsrc1IeeeMode = Field<23, 1>;
using Rsrc1Bulky = Field<24, 1>;
using Rsrc1CdbgUser = Field<25, 1>;
using Rsrc1Fp16Overflow = Field<26, 1>;

// compute_pgm_rsrc2.
using Rsrc2PrivateSegment = Field<0, 1>;  // scratch: wave offset SGPR (gfx90a) or architected flat scratch (gfx942)
using Rsrc2UserSgprCount = Field<1, 5>;
using Rsrc2TrapHandler = Field<6, 1>;
using Rsrc2WorkgroupIdX = Field<7, 1>;
using Rsrc2WorkgroupIdY = Field<8, 1>;
using Rsrc2WorkgroupIdZ = Field<9, 1>;
using Rsrc2WorkgroupInfo = Field<10, 1>;
using Rsrc2WorkitemId = Field<11, 2>;     // 0 x, 1 x y, 2 x y z
using Rsrc2ExceptionAddressWatch = Field<13, 1>;
using Rsrc2ExceptionMemory = Field<14, 1>;
using Rsrc2LdsSize = Field<15, 9>;        // written by the processor from the packet
using Rsrc2ExceptionIeeeInvalid = Field<24, 1>;
using Rsrc2ExceptionDenormSource = Field<25, 1>;
using Rsrc2ExceptionDivideByZero = Field<26, 1>;
using Rsrc2ExceptionOverflow = Field<27, 1>;
using Rsrc2ExceptionUnderflow = Field<28, 1>;
using Rsrc2ExceptionInexact = Field<29, 1>;
using Rsrc2ExceptionIntDivideByZero = Field<30, 1>;

// compute_pgm_rsrc3 of gfx90a, gfx942, gfx950.
using Rsrc3AccumOffset = Field<0, 6>;     // first AccVGPR / 4 - 1
using Rsrc3TgSplit = Field<16, 1>;

// kernel_code_properties.
using PropPrivateSegmentBuffer = Field<0, 1>; // 4 SGPRs
using PropDispatchPtr = Field<1, 1>;          // 2
using PropQueuePtr = Field<2, 1>;             // 2
using PropKernargSegmentPtr = Field<3, 1>;    // 2
using PropDispatchId = Field<4, 1>;           // 2
using PropFlatScratchInit = Field<5, 1>;      // 2
using PropPrivateSegmentSize = Field<6, 1>;   // 1
using PropWavefrontSize32 = Field<10, 1>;
using PropUsesDynamicStack = Field<11, 1>;

using PreloadLength = Field<0, 7>;
using PreloadOffset = Field<7, 9>;

} // namespace aql::abi
