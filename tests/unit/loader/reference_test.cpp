// The reference kernel: an MFMA loop, as the newest clang compiles it for the three targets.

#include <aql/code_object.hpp>

#include "support/catch.hpp"
#include "support/compile.hpp"
#include "support/skip.hpp"
#include "unit/loader/sources.hpp"

namespace {

struct Expected {
  const char* target;
  std::uint32_t flags;
};
constexpr Expected kTargets[] = {{"gfx90a", 0x53F}, {"gfx942", 0x54C}, {"gfx950", 0x54F}};

} // namespace

TEST_CASE("reference case: identity, target, one kernel, kernarg size and registers on all three targets") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const auto& expected : kTargets) {
    INFO(expected.target);
    const auto compiled = aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = expected.target});
    REQUIRE(compiled.ok);
    const auto object = aql::CodeObject::parse(compiled.bytes());
    REQUIRE(object);
    CHECK(object->identity().flags == expected.flags);
    CHECK(object->identity().abi_version == 4);
    CHECK(object->code_object_version() == 6);
    CHECK(object->identity().sections == 15);
    CHECK(object->target_id() == aql::TargetId{expected.target, aql::FeatureState::any, aql::FeatureState::any, 0});
    CHECK(object->warnings().empty());
    REQUIRE(object->kernels().size() == 1);
    const auto& kernel = object->kernels()[0];
    CHECK(kernel.name == "gemm_tile");
    CHECK(kernel.symbol == "gemm_tile.kd");
    CHECK(kernel.display_name() == "gemm_tile");
    CHECK(kernel.kernarg_size == 28);
    CHECK(kernel.kernarg_align == 8);
    CHECK(kernel.vgpr_count == 20);
    CHECK(kernel.agpr_count == 0);
    CHECK(kernel.max_flat_workgroup_size == 256);
    CHECK(kernel.wavefront_size == 64);
    CHECK(kernel.group_segment_size == 0);
    CHECK(kernel.private_segment_size == 0);
    CHECK_FALSE(kernel.uses_dynamic_stack);
  }
}

TEST_CASE("reference case: arguments with offsets, sizes and kinds") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::CodeObject::parse(aql::test::compile_code_object({.text = aql::test::kGemmTile}).bytes());
  REQUIRE(object);
  const auto& args = object->kernels()[0].args;
  REQUIRE(args.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(args[i].kind == aql::ArgKind::global_buffer);
    CHECK(args[i].value_kind == "global_buffer");
    CHECK(args[i].offset == 8 * i);
    CHECK(args[i].size == 8);
    CHECK(args[i].address_space == aql::AddressSpace::global);
    CHECK_FALSE(args[i].hidden());
  }
  CHECK(args[3].kind == aql::ArgKind::by_value);
  CHECK(args[3].offset == 24);
  CHECK(args[3].size == 4);
}

TEST_CASE("reference case: segments, entry and code as the linker laid them out") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object =
      aql::CodeObject::parse(aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = "gfx90a"}).bytes());
  REQUIRE(object);
  const auto segments = object->segments();
  REQUIRE(segments.size() == 3);
  CHECK((segments[0].read && !segments[0].write && !segments[0].execute));
  CHECK((segments[1].read && !segments[1].write && segments[1].execute));
  CHECK((segments[2].read && segments[2].write && !segments[2].execute));
  CHECK(object->image_align() == 0x1000);
  CHECK(object->image_size() == segments[2].image_offset + segments[2].memory_size);
  const auto& kernel = object->kernels()[0];
  CHECK(kernel.entry_offset == 0x1600);
  CHECK(kernel.descriptor_offset == 0x540);
  CHECK(kernel.code_size > 100);
  CHECK(object->kernel_at(kernel.entry_offset) == &kernel);
  CHECK(object->kernel_at(kernel.entry_offset + kernel.code_size - 4) == &kernel);
  CHECK(object->kernel_at(kernel.entry_offset + kernel.code_size) == nullptr);
  CHECK(object->kernel_at(kernel.entry_offset - 4) == nullptr);
  const auto function = object->function_at(kernel.entry_offset + 8);
  REQUIRE(function);
  CHECK(function->name == "gemm_tile");
  CHECK(function->offset == 8);
}

TEST_CASE("reference case: descriptor fields as the compiler set them") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object =
      aql::CodeObject::parse(aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = "gfx90a"}).bytes());
  REQUIRE(object);
  const auto& kernel = object->kernels()[0];
  CHECK(kernel.descriptor.kernarg_size == 28);
  CHECK(kernel.allocated_vgprs == 24);
  CHECK(kernel.accum_offset == 20);
  CHECK(kernel.allocated_sgprs == 16);
  const auto fields = object->describe(kernel);
  const auto field = [&](std::string_view name) -> std::uint64_t {
    for (const auto& f : fields) {
      if (f.name == name) return f.value;
    }
    FAIL("no field " << name);
    return 0;
  };
  CHECK(field("granulated_workitem_vgpr_count") == 2);
  CHECK(field("float_denorm_mode_32") == 3);
  CHECK(field("float_denorm_mode_16_64") == 3);
  CHECK(field("float_round_mode_32") == 0);
  CHECK(field("enable_dx10_clamp") == 1);
  CHECK(field("enable_ieee_mode") == 1);
  CHECK(field("enable_sgpr_kernarg_segment_ptr") == 1);
  CHECK(field("accum_offset") == 4);
  CHECK(field("kernarg_size") == 28);
}

TEST_CASE("reference case: the same source does not compile for gfx1250, which has no MFMA") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  if (!aql::test::compile_code_object({.text = "", .target = "gfx1250"}).ok) AQL_SKIP("this clang does not know gfx1250");
  const auto compiled = aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = "gfx1250"});
  CHECK_FALSE(compiled.ok);
  CHECK(compiled.messages.find("mfma") != std::string::npos);
}
