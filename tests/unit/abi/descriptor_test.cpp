// The kernel descriptor against LLVM's AMDHSAKernelDescriptor.h (layout and every bit field of gfx9).

#include "support/catch.hpp"
#include "support/skip.hpp"

#if __has_include(<llvm/Support/AMDHSAKernelDescriptor.h>)
#define AQL_HAVE_LLVM_HEADER 1
#include <llvm/Support/AMDHSAKernelDescriptor.h>
#endif

#include <aql/abi/kernel_descriptor.hpp>

#ifndef AQL_HAVE_LLVM_HEADER

TEST_CASE("abi: the kernel descriptor is LLVM's kernel_descriptor_t") {
  AQL_SKIP("llvm/Support/AMDHSAKernelDescriptor.h was not found (package llvm-NN-dev)");
}

#else

namespace {
namespace abi = aql::abi;
namespace amdhsa = llvm::amdhsa;

template <class Field>
bool is_field(std::int64_t shift, std::int64_t width) {
  return Field::kShift == static_cast<unsigned>(shift) && Field::kWidth == static_cast<unsigned>(width);
}
#define SAME_BITS(Ours, THEIRS) CHECK(is_field<abi::Ours>(amdhsa::THEIRS##_SHIFT, amdhsa::THEIRS##_WIDTH))
#define SAME_FIELD(field)                                                                                                      \
  do {                                                                                                                         \
    CHECK(offsetof(abi::KernelDescriptor, field) == offsetof(amdhsa::kernel_descriptor_t, field));                             \
    CHECK(sizeof(abi::KernelDescriptor::field) == sizeof(amdhsa::kernel_descriptor_t::field));                                 \
  } while (false)
} // namespace

TEST_CASE("abi: the kernel descriptor is LLVM's kernel_descriptor_t") {
  CHECK(sizeof(abi::KernelDescriptor) == sizeof(amdhsa::kernel_descriptor_t));
  SAME_FIELD(group_segment_fixed_size);
  SAME_FIELD(private_segment_fixed_size);
  SAME_FIELD(kernarg_size);
  SAME_FIELD(reserved0);
  SAME_FIELD(kernel_code_entry_byte_offset);
  SAME_FIELD(reserved1);
  SAME_FIELD(compute_pgm_rsrc3);
  SAME_FIELD(compute_pgm_rsrc1);
  SAME_FIELD(compute_pgm_rsrc2);
  SAME_FIELD(kernel_code_properties);
  SAME_FIELD(kernarg_preload);
  SAME_FIELD(reserved3);
}

TEST_CASE("abi: the bits of compute_pgm_rsrc1 are LLVM's") {
  SAME_BITS(Rsrc1VgprGranules, COMPUTE_PGM_RSRC1_GRANULATED_WORKITEM_VGPR_COUNT);
  SAME_BITS(Rsrc1SgprGranules, COMPUTE_PGM_RSRC1_GRANULATED_WAVEFRONT_SGPR_COUNT);
  SAME_BITS(Rsrc1Priority, COMPUTE_PGM_RSRC1_PRIORITY);
  SAME_BITS(Rsrc1FloatRound32, COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_32);
  SAME_BITS(Rsrc1FloatRound16_64, COMPUTE_PGM_RSRC1_FLOAT_ROUND_MODE_16_64);
  SAME_BITS(Rsrc1FloatDenorm32, COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_32);
  SAME_BITS(Rsrc1FloatDenorm16_64, COMPUTE_PGM_RSRC1_FLOAT_DENORM_MODE_16_64);
  SAME_BITS(Rsrc1Priv, COMPUTE_PGM_RSRC1_PRIV);
  SAME_BITS(Rsrc1Dx10Clamp, COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_DX10_CLAMP);
  SAME_BITS(Rsrc1DebugMode, COMPUTE_PGM_RSRC1_DEBUG_MODE);
  SAME_BITS(Rsrc1IeeeMode, COMPUTE_PGM_RSRC1_GFX6_GFX11_ENABLE_IEEE_MODE);
  SAME_BITS(Rsrc1Bulky, COMPUTE_PGM_RSRC1_BULKY);
  SAME_BITS(Rsrc1CdbgUser, COMPUTE_PGM_RSRC1_CDBG_USER);
  SAME_BITS(Rsrc1Fp16Overflow, COMPUTE_PGM_RSRC1_GFX9_PLUS_FP16_OVFL);
}

TEST_CASE("abi: the bits of compute_pgm_rsrc2 are LLVM's") {
  SAME_BITS(Rsrc2PrivateSegment, COMPUTE_PGM_RSRC2_ENABLE_PRIVATE_SEGMENT);
  SAME_BITS(Rsrc2UserSgprCount, COMPUTE_PGM_RSRC2_GFX6_GFX120_USER_SGPR_COUNT);
  SAME_BITS(Rsrc2TrapHandler, COMPUTE_PGM_RSRC2_GFX6_GFX11_ENABLE_TRAP_HANDLER);
  SAME_BITS(Rsrc2WorkgroupIdX, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_X);
  SAME_BITS(Rsrc2WorkgroupIdY, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Y);
  SAME_BITS(Rsrc2WorkgroupIdZ, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_ID_Z);
  SAME_BITS(Rsrc2WorkgroupInfo, COMPUTE_PGM_RSRC2_ENABLE_SGPR_WORKGROUP_INFO);
  SAME_BITS(Rsrc2WorkitemId, COMPUTE_PGM_RSRC2_ENABLE_VGPR_WORKITEM_ID);
  SAME_BITS(Rsrc2ExceptionAddressWatch, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_ADDRESS_WATCH);
  SAME_BITS(Rsrc2ExceptionMemory, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_MEMORY);
  SAME_BITS(Rsrc2LdsSize, COMPUTE_PGM_RSRC2_GRANULATED_LDS_SIZE);
  SAME_BITS(Rsrc2ExceptionIeeeInvalid, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION);
  SAME_BITS(Rsrc2ExceptionDenormSource, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_FP_DENORMAL_SOURCE);
  SAME_BITS(Rsrc2ExceptionDivideByZero, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO);
  SAME_BITS(Rsrc2ExceptionOverflow, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW);
  SAME_BITS(Rsrc2ExceptionUnderflow, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW);
  SAME_BITS(Rsrc2ExceptionInexact, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_IEEE_754_FP_INEXACT);
  SAME_BITS(Rsrc2ExceptionIntDivideByZero, COMPUTE_PGM_RSRC2_ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO);
}

TEST_CASE("abi: the bits of compute_pgm_rsrc3, properties and preload are LLVM's") {
  SAME_BITS(Rsrc3AccumOffset, COMPUTE_PGM_RSRC3_GFX90A_ACCUM_OFFSET);
  SAME_BITS(Rsrc3TgSplit, COMPUTE_PGM_RSRC3_GFX90A_TG_SPLIT);
  SAME_BITS(PropPrivateSegmentBuffer, KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER);
  SAME_BITS(PropDispatchPtr, KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_PTR);
  SAME_BITS(PropQueuePtr, KERNEL_CODE_PROPERTY_ENABLE_SGPR_QUEUE_PTR);
  SAME_BITS(PropKernargSegmentPtr, KERNEL_CODE_PROPERTY_ENABLE_SGPR_KERNARG_SEGMENT_PTR);
  SAME_BITS(PropDispatchId, KERNEL_CODE_PROPERTY_ENABLE_SGPR_DISPATCH_ID);
  SAME_BITS(PropFlatScratchInit, KERNEL_CODE_PROPERTY_ENABLE_SGPR_FLAT_SCRATCH_INIT);
  SAME_BITS(PropPrivateSegmentSize, KERNEL_CODE_PROPERTY_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE);
  SAME_BITS(PropWavefrontSize32, KERNEL_CODE_PROPERTY_ENABLE_WAVEFRONT_SIZE32);
  SAME_BITS(PropUsesDynamicStack, KERNEL_CODE_PROPERTY_USES_DYNAMIC_STACK);
  SAME_BITS(PreloadLength, KERNARG_PRELOAD_SPEC_LENGTH);
  SAME_BITS(PreloadOffset, KERNARG_PRELOAD_SPEC_OFFSET);
}

#endif
