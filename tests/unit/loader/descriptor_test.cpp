// The kernel descriptor: every field against the assembler's directives, and what must not be loaded.

#include <map>

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"
#include "unit/loader/sources.hpp"

using aql::test::Bytes;
using aql::test::contains;
using aql::test::put;

namespace {

std::string kernel_source(std::string_view directives, std::string_view target) {
  return ".amdgcn_target \"amdgcn-amd-amdhsa--" + std::string(target) + R"("
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
  s_endpgm
  .rodata
  .p2align 6
  .amdhsa_kernel k
)" + std::string(directives) +
         R"(
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - { .name: k, .symbol: k.kd, .kernarg_segment_size: 0, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0,
      .kernarg_segment_align: 4, .wavefront_size: )" +
         (directives.find("wavefront_size32 1") == std::string_view::npos ? "64" : "32") +
         R"(, .sgpr_count: 8, .vgpr_count: 1, .max_flat_workgroup_size: 1024 }
...
  .end_amdgpu_metadata
)";
}

struct Decoded {
  aql::CodeObject object;
  [[nodiscard]] const aql::KernelInfo& kernel() const { return object.kernels()[0]; }
  [[nodiscard]] std::uint64_t field(std::string_view name) const {
    for (const auto& f : object.describe(kernel())) {
      if (f.name == name) return f.value;
    }
    FAIL("no field " << name);
    return 0;
  }
};

Decoded assemble(std::string_view directives, std::string_view target = "gfx942") {
  const std::string source = kernel_source(directives, target);
  const auto compiled = aql::test::compile_code_object({.text = source, .target = target, .options = "", .extension = ".s"});
  INFO(compiled.messages);
  REQUIRE(compiled.ok);
  auto object = aql::CodeObject::parse(compiled.bytes());
  INFO((object ? "" : object.error().message()));
  REQUIRE(object);
  return {*object};
}

constexpr std::string_view kRegisters = ".amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 4\n";

Bytes good() { return aql::test::compile_code_object({.text = aql::test::kGemmTile}).bytes(); }

std::string refusal_at(std::size_t offset_in_descriptor, auto value) {
  Bytes file = good();
  const auto object = aql::CodeObject::parse(file);
  REQUIRE(object);
  put(file, object->kernels()[0].descriptor_offset + offset_in_descriptor, value);
  return aql::test::refusal(file);
}

} // namespace

TEST_CASE("descriptor: each assembler directive sets the field of its name and no other") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  struct Case {
    const char* directive;
    const char* field;
    std::uint64_t value;
  };
  const Case cases[] = {
      {".amdhsa_group_segment_fixed_size 4096", "group_segment_fixed_size", 4096},
      {".amdhsa_private_segment_fixed_size 48", "private_segment_fixed_size", 48},
      {".amdhsa_kernarg_size 72", "kernarg_size", 72},
      {".amdhsa_user_sgpr_dispatch_ptr 1", "enable_sgpr_dispatch_ptr", 1},
      {".amdhsa_user_sgpr_queue_ptr 1", "enable_sgpr_queue_ptr", 1},
      {".amdhsa_user_sgpr_kernarg_segment_ptr 1", "enable_sgpr_kernarg_segment_ptr", 1},
      {".amdhsa_user_sgpr_dispatch_id 1", "enable_sgpr_dispatch_id", 1},
      {".amdhsa_user_sgpr_private_segment_size 1", "enable_sgpr_private_segment_size", 1},
      {".amdhsa_uses_dynamic_stack 1", "uses_dynamic_stack", 1},
      {".amdhsa_enable_private_segment 1", "enable_private_segment", 1},
      {".amdhsa_system_sgpr_workgroup_id_x 0", "enable_sgpr_workgroup_id_x", 0},
      {".amdhsa_system_sgpr_workgroup_id_y 1", "enable_sgpr_workgroup_id_y", 1},
      {".amdhsa_system_sgpr_workgroup_id_z 1", "enable_sgpr_workgroup_id_z", 1},
      {".amdhsa_system_sgpr_workgroup_info 1", "enable_sgpr_workgroup_info", 1},
      {".amdhsa_system_vgpr_workitem_id 2", "enable_vgpr_workitem_id", 2},
      {".amdhsa_float_round_mode_32 1", "float_round_mode_32", 1},
      {".amdhsa_float_round_mode_16_64 2", "float_round_mode_16_64", 2},
      {".amdhsa_float_denorm_mode_32 1", "float_denorm_mode_32", 1},
      {".amdhsa_float_denorm_mode_16_64 2", "float_denorm_mode_16_64", 2},
      {".amdhsa_dx10_clamp 0", "enable_dx10_clamp", 0},
      {".amdhsa_ieee_mode 0", "enable_ieee_mode", 0},
      {".amdhsa_fp16_overflow 1", "fp16_ovfl", 1},
      {".amdhsa_tg_split 1", "tg_split", 1},
      {".amdhsa_exception_fp_ieee_invalid_op 1", "enable_exception_ieee_754_fp_invalid_operation", 1},
      {".amdhsa_exception_fp_denorm_src 1", "enable_exception_fp_denormal_source", 1},
      {".amdhsa_exception_fp_ieee_div_zero 1", "enable_exception_ieee_754_fp_division_by_zero", 1},
      {".amdhsa_exception_fp_ieee_overflow 1", "enable_exception_ieee_754_fp_overflow", 1},
      {".amdhsa_exception_fp_ieee_underflow 1", "enable_exception_ieee_754_fp_underflow", 1},
      {".amdhsa_exception_fp_ieee_inexact 1", "enable_exception_ieee_754_fp_inexact", 1},
      {".amdhsa_exception_int_div_zero 1", "enable_exception_int_divide_by_zero", 1},
      {".amdhsa_user_sgpr_kernarg_preload_length 3\n.amdhsa_user_sgpr_kernarg_segment_ptr 1", "kernarg_preload_spec_length", 3},
  };
  const auto plain = assemble(kRegisters);
  for (const auto& c : cases) {
    INFO(c.directive);
    const auto changed = assemble(std::string(kRegisters) + c.directive);
    CHECK(changed.field(c.field) == c.value);
    CHECK(plain.field(c.field) != c.value);
  }
}

TEST_CASE("descriptor: register counts are decoded in the granules of each target") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto unified = assemble(".amdhsa_next_free_vgpr 301\n.amdhsa_next_free_sgpr 40\n.amdhsa_accum_offset 128\n");
  CHECK(unified.kernel().allocated_vgprs == 304);
  CHECK(unified.kernel().accum_offset == 128);
  CHECK(unified.kernel().allocated_sgprs == 48); // 40 and 6 for VCC, FLAT_SCRATCH and XNACK, in granules of 16

  const auto vega = assemble(".amdhsa_next_free_vgpr 30\n.amdhsa_next_free_sgpr 40\n", "gfx906");
  CHECK(vega.kernel().allocated_vgprs == 32);
  CHECK(vega.kernel().accum_offset == 0);

  const auto navi = assemble(".amdhsa_next_free_vgpr 30\n.amdhsa_next_free_sgpr 40\n.amdhsa_wavefront_size32 1\n", "gfx1100");
  CHECK(navi.kernel().allocated_vgprs == 32);
  CHECK(navi.kernel().allocated_sgprs == 0);
  CHECK(navi.field("enable_wavefront_size32") == 1);
}

TEST_CASE("descriptor: meanings are in words") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto decoded = assemble(kRegisters);
  for (const auto& f : decoded.object.describe(decoded.kernel())) {
    if (f.name == "float_denorm_mode_32") CHECK(f.meaning == "flush source and result");
    if (f.name == "float_denorm_mode_16_64") CHECK(f.meaning == "keep");
    if (f.name == "granulated_workitem_vgpr_count") CHECK(f.meaning == "8 VGPRs");
    if (f.name == "accum_offset") CHECK(f.meaning == "AccVGPRs start at 4");
    if (f.word == "compute_pgm_rsrc2") CHECK(f.byte_offset == 52);
  }
}

TEST_CASE("descriptor: the fields of each word cover all its bits once, on every family") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const auto& [target, more] : {std::pair<std::string_view, std::string_view>{"gfx803", ""},
                                     {"gfx906", ""},
                                     {"gfx90a", ".amdhsa_accum_offset 4"},
                                     {"gfx942", ".amdhsa_accum_offset 4"},
                                     {"gfx1030", ".amdhsa_wavefront_size32 0"},
                                     {"gfx1100", ".amdhsa_wavefront_size32 0"},
                                     {"gfx1200", ".amdhsa_wavefront_size32 1"}}) {
    INFO(target);
    const auto decoded = assemble(".amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n" + std::string(more), target);
    std::map<std::string_view, std::uint64_t> covered;
    for (const auto& f : decoded.object.describe(decoded.kernel())) {
      const std::uint64_t mask = (f.width == 64 ? ~0ULL : (1ULL << f.width) - 1) << f.shift;
      CHECK((covered[f.word] & mask) == 0);
      covered[f.word] |= mask;
    }
    CHECK(covered["compute_pgm_rsrc1"] == 0xffffffff);
    CHECK(covered["compute_pgm_rsrc3"] == 0xffffffff);
    CHECK(covered["compute_pgm_rsrc2"] == 0xffffffff);
    CHECK(covered["kernel_code_properties"] == 0xffff);
    CHECK(covered["kernarg_preload"] == 0xffff);
  }
}

TEST_CASE("descriptor: reserved bytes, a stray entry and a wrong wave size are refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  CHECK(contains(refusal_at(12, std::uint8_t{1}), "reserved bytes"));
  CHECK(contains(refusal_at(43, std::uint8_t{1}), "reserved bytes"));
  CHECK(contains(refusal_at(63, std::uint8_t{1}), "reserved bytes"));
  CHECK(contains(refusal_at(16, std::int64_t{0}), "lies in no executable segment"));
  CHECK(contains(refusal_at(16, std::int64_t{-0x100000}), "lies in no executable segment"));
  CHECK(contains(refusal_at(16, INT64_MAX), "lies in no executable segment"));
  CHECK(contains(refusal_at(56, std::uint16_t{0x400}), "asks for wave32, which gfx942 has not"));
  const auto entry = aql::CodeObject::parse(good())->kernels()[0].descriptor.kernel_code_entry_byte_offset;
  CHECK(contains(refusal_at(16, entry + 4), "is not 256-byte aligned"));
}

TEST_CASE("descriptor: bits that must be zero are warned about, not refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  Bytes file = good();
  const auto before = aql::CodeObject::parse(file);
  REQUIRE(before);
  const auto& kernel = before->kernels()[0];
  put<std::uint32_t>(file, kernel.descriptor_offset + 52, kernel.descriptor.compute_pgm_rsrc2 | 1U << 6);
  const auto after = aql::CodeObject::parse(file);
  REQUIRE(after);
  REQUIRE(after->warnings().size() == 1);
  CHECK(after->warnings()[0] == "kernel \"gemm_tile.kd\": compute_pgm_rsrc2 bits 6:6 (enable_trap_handler) are 0x1, must be 0");
}

TEST_CASE("descriptor: sizes given twice keep the larger") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  Bytes file = good();
  const auto before = aql::CodeObject::parse(file);
  REQUIRE(before);
  put<std::uint32_t>(file, before->kernels()[0].descriptor_offset, 2048);
  put<std::uint32_t>(file, before->kernels()[0].descriptor_offset + 8, 20);
  const auto after = aql::CodeObject::parse(file);
  REQUIRE(after);
  CHECK(after->kernels()[0].group_segment_size == 2048);
  CHECK(after->kernels()[0].kernarg_size == 28);
  CHECK(after->warnings().size() == 2);
}

TEST_CASE("descriptor: scratch of a wave is 64-bit, rounded to the hardware's unit, and bounded") {
  CHECK(aql::scratch_bytes_per_wave(0) == 0);
  CHECK(aql::scratch_bytes_per_wave(1) == 1024);
  CHECK(aql::scratch_bytes_per_wave(16) == 1024);
  CHECK(aql::scratch_bytes_per_wave(17) == 2048);
  CHECK(aql::scratch_bytes_per_wave(64) == 4096);
  CHECK(aql::scratch_bytes_per_wave(4096) == 262144);
  CHECK(aql::scratch_bytes_per_wave(131056) == 8191 * 1024);
  CHECK(aql::scratch_bytes_per_wave(131057).error().code == aql::Errc::out_of_resources);
  CHECK(aql::scratch_bytes_per_wave(1ULL << 58).error().code == aql::Errc::out_of_resources); // 64 times this is 0 modulo 2^64
  CHECK(aql::scratch_bytes_per_wave(262112, 32) == 8191 * 1024);
  CHECK(aql::scratch_bytes_per_wave(1, 16).error().code == aql::Errc::invalid_argument);
}
