// `aql inspect`: the reference kernel, bundles, occupancy, wrong usage.

#include <filesystem>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/compile.hpp"
#include "support/skip.hpp"
#include "unit/loader/sources.hpp"

using nlohmann::json;

namespace {

aql::test::RunOutput inspect(const std::string& arguments) {
  return aql::test::run_command(std::string(AQL_TEST_BIN_DIR) + "/aql inspect " + arguments);
}

json inspect_json(const std::string& arguments) {
  const auto run = inspect(arguments + " --json");
  INFO(run.output);
  REQUIRE(run.status == 0);
  return json::parse(run.output);
}

std::string gemm(std::string_view target) {
  return aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = target}).path;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// host + gfx90a + gfx942, compressed as the bundler does by default.
std::string bundle(const aql::test::TempDir& dir) {
  const std::string out = dir.file("gemm.bundle");
  const auto run =
      aql::test::run_command(*aql::test::find_tool("clang-offload-bundler") +
                             " -type=o -compress -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a,"
                             "hipv4-amdgcn-amd-amdhsa--gfx942 -input=/dev/null -input=" +
                             gemm("gfx90a") + " -input=" + gemm("gfx942") + " -output=" + out);
  REQUIRE(run.status == 0);
  return out;
}

} // namespace

TEST_CASE("inspect: the reference kernel on all three targets") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const auto& [target, flags] : {std::pair{"gfx90a", 0x53F}, std::pair{"gfx942", 0x54C}, std::pair{"gfx950", 0x54F}}) {
    INFO(target);
    const json j = inspect_json(gemm(target));
    const json& object = j["code_objects"][0];
    CHECK(object["elf"]["flags"] == flags);
    CHECK(object["elf"]["abi_version"] == 4);
    CHECK(object["elf"]["sections"] == 15);
    CHECK(object["code_object_version"] == 6);
    CHECK(object["processor"] == target);
    CHECK(object["xnack"] == "any");
    CHECK(object["sramecc"] == "any");
    REQUIRE(object["kernels"].size() == 1);
    const json& kernel = object["kernels"][0];
    CHECK(kernel["name"] == "gemm_tile");
    CHECK(kernel["kernarg_size"] == 28);
    CHECK(kernel["vgpr_count"] == 20);
    CHECK(kernel["args"].size() == 4);
    CHECK(kernel["descriptor_bytes"].get<std::string>().size() == 128);
    // 24 VGPRs allocated and 4 waves a group: the 32 wave slots of a CU hold 8 groups, and nothing else holds fewer.
    CHECK(kernel["occupancy"]["groups_per_cu"] == 8);
    CHECK(kernel["occupancy"]["waves_per_simd"] == 8);
    CHECK(kernel["occupancy"]["limit"] == "wave slots");
  }
}

TEST_CASE("inspect: the text says the same for people") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto run = inspect(gemm("gfx90a") + " --product MI250X");
  INFO(run.output);
  REQUIRE(run.status == 0);
  for (const std::string_view part :
       {"ABI version 4", "code object   version 6", "e_flags       0x53f", "amdgcn-amd-amdhsa--gfx90a (xnack any, sramecc any)",
        "sections      15", "kernel gemm_tile", "kernarg size  28 bytes", "VGPRs         20", "global_buffer",
        "float_denorm_mode_32", "AccVGPRs start at 20", "occupancy on MI250X", "limited by wave slots"}) {
    INFO(part);
    CHECK(contains(run.output, part));
  }
}

TEST_CASE("inspect: occupancy follows the group size and dynamic LDS asked for") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const json j = inspect_json(gemm("gfx942") + " --product MI300X --group 64 --dynamic-lds 20000");
  const json& occupancy = j["code_objects"][0]["kernels"][0]["occupancy"];
  CHECK(occupancy["product"] == "MI300X");
  CHECK(occupancy["groups_per_cu"] == 3);
  CHECK(occupancy["limit"] == "LDS");
  CHECK(occupancy["factors"]["group slots"]["groups_per_cu"].is_null()); // groups of one wave need none
}

TEST_CASE("inspect: a bundle lists its entries and shows each code object, or the product's only") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  if (!aql::test::find_tool("clang-offload-bundler")) AQL_SKIP("no clang-offload-bundler");
  const aql::test::TempDir dir;
  const std::string file = bundle(dir);
  const json all = inspect_json(file);
  CHECK(all["bundle"]["compression"] == "zstd");
  CHECK(all["bundle"]["entries"].size() == 3);
  CHECK(all["code_objects"].size() == 2);
  const json one = inspect_json(file + " --product MI300A");
  REQUIRE(one["code_objects"].size() == 1);
  CHECK(one["code_objects"][0]["processor"] == "gfx942");
  const auto none = inspect(file + " --product MI355X");
  CHECK(none.status == 1);
  CHECK(contains(none.output, "the offload bundle has no code for gfx950"));
}

TEST_CASE("inspect: a product that cannot run the code is said, not computed") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto run = inspect(gemm("gfx90a") + " --product MI300X");
  CHECK(contains(run.output, "occupancy: MI300X does not run gfx90a"));
}

TEST_CASE("inspect: unreadable files exit 1, wrong usage exits 2, each with words") {
  const aql::test::TempDir dir;
  aql::test::write_bytes(dir.file("text"), "hello", 5);
  const auto not_elf = inspect(dir.file("text"));
  CHECK(not_elf.status == 1);
  CHECK(contains(not_elf.output, "not an ELF file: starts with 68 65 6c 6c"));
  const auto missing = inspect(dir.file("missing"));
  CHECK(missing.status == 1);
  CHECK(contains(missing.output, "No such file or directory"));
  CHECK(inspect(dir.path().string()).status == 1);
  CHECK(inspect("").status == 2);
  const auto product = inspect(dir.file("text") + " --product MI9000");
  CHECK(product.status == 2);
  CHECK(contains(product.output, "no product \"MI9000\"; there are: MI300X (gfx942)"));
}
