// Files that are not what this build reads: each refusal names what is wrong.

#include <set>

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"
#include "unit/loader/sources.hpp"

using aql::test::Bytes;
using aql::test::contains;
using aql::test::put;
using aql::test::refusal;

namespace {
Bytes good() { return aql::test::compile_code_object({.text = aql::test::kGemmTile}).bytes(); }
} // namespace

TEST_CASE("identity: every ABI version byte is told as a code object version") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = good();
  for (const unsigned byte : {0U, 1U, 5U, 6U, 7U, 8U, 9U, 10U, 255U}) {
    const auto text = refusal(file, [&](Bytes& b) { put<std::uint8_t>(b, 8, static_cast<std::uint8_t>(byte)); });
    CHECK(contains(text, "code object version " + std::to_string(byte + 2) + ", this build reads 4 to 6"));
  }
  for (const unsigned byte : {2U, 3U, 4U}) {
    Bytes patched = file;
    put<std::uint8_t>(patched, 8, static_cast<std::uint8_t>(byte));
    const auto object = aql::CodeObject::parse(patched);
    REQUIRE(object);
    CHECK(object->code_object_version() == byte + 2);
  }
}

TEST_CASE("identity: wrong class, byte order, machine, OS/ABI and type have each their own message") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = good();
  const std::string messages[] = {
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 4, 1); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 4, 7); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 5, 2); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 5, 0); }),
      refusal(file, [](Bytes& b) { put<std::uint16_t>(b, 18, 62); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 7, 65); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 7, 0); }),
      refusal(file, [](Bytes& b) { put<std::uint16_t>(b, 16, 1); }),
      refusal(file, [](Bytes& b) { put<std::uint16_t>(b, 16, 2); }),
      refusal(file, [](Bytes& b) { put<std::uint8_t>(b, 0, 0x7e); }),
  };
  CHECK(contains(messages[0], "32-bit ELF"));
  CHECK(contains(messages[1], "ELF class 7"));
  CHECK(contains(messages[2], "big-endian ELF"));
  CHECK(contains(messages[3], "byte order 0"));
  CHECK(contains(messages[4], "machine 62 (x86-64) at offset 18"));
  CHECK(contains(messages[5], "OS/ABI 65 (AMDGPU PAL) at offset 7"));
  CHECK(contains(messages[6], "OS/ABI 0 (System V) at offset 7"));
  CHECK(contains(messages[7], "relocatable object"));
  CHECK(contains(messages[8], "ELF type 2"));
  CHECK(contains(messages[9], "not an ELF file: starts with 7e 45 4c 46"));
  CHECK(std::set<std::string>(std::begin(messages), std::end(messages)).size() == std::size(messages));
}

TEST_CASE("identity: what is not an ELF at all is said to be none") {
  CHECK(contains(refusal(Bytes{}), "the file is empty"));
  CHECK(contains(refusal(Bytes(3)), "not an ELF file: starts with 00 00 00"));
  CHECK(contains(refusal(Bytes(4096)), "not an ELF file"));
}

TEST_CASE("identity: a real relocatable object is refused with what to do") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = aql::test::kGemmTile, .options = "-O3 -c"});
  REQUIRE(compiled.ok);
  CHECK(contains(refusal(compiled.bytes()), "link it first"));
}

TEST_CASE("identity: code object versions 4, 5 and 6 as the compiler makes them") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const std::uint32_t version : {4U, 5U, 6U}) {
    const std::string option = "-O3 -mcode-object-version=" + std::to_string(version);
    const auto compiled = aql::test::compile_code_object({.text = aql::test::kGemmTile, .options = option});
    REQUIRE(compiled.ok);
    const auto object = aql::CodeObject::parse(compiled.bytes());
    REQUIRE(object);
    CHECK(object->code_object_version() == version);
    CHECK(object->find_kernel("gemm_tile"));
  }
}

TEST_CASE("identity: xnack and sramecc come through in all their states") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const std::string_view target :
       {"gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc-", "gfx942:sramecc+:xnack-"}) {
    INFO(target);
    const auto compiled = aql::test::compile_code_object({.text = aql::test::kGemmTile, .target = target});
    REQUIRE(compiled.ok);
    const auto object = aql::CodeObject::parse(compiled.bytes());
    REQUIRE(object);
    CHECK(object->target_id().short_name() == target);
    CHECK(object->warnings().empty());
  }
}

TEST_CASE("identity: a generic target comes with its version") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled =
      aql::test::compile_code_object({.text = "__attribute__((amdgpu_kernel)) void k(void) {}", .target = "gfx9-4-generic"});
  if (!compiled.ok) AQL_SKIP("this clang does not know gfx9-4-generic");
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  CHECK(object->target_id().processor == "gfx9-4-generic");
  CHECK(object->target_id().generic_version == 1);
  CHECK_FALSE(aql::incompatibility(object->target_id(), *aql::TargetId::parse("gfx942:sramecc+:xnack-")));
  CHECK(aql::incompatibility(object->target_id(), *aql::TargetId::parse("gfx90a:sramecc+:xnack-")));
}

TEST_CASE("identity: machine numbers and features agree with the assembler for every processor") {
  const auto mc = aql::test::find_tool("llvm-mc");
  if (!mc) AQL_SKIP("no llvm-mc");
  const aql::test::TempDir dir;
  unsigned known = 0;
  for (const auto& processor : aql::processors()) {
    const auto run =
        aql::test::run_command("echo s_endpgm | " + *mc + " -triple=amdgcn-amd-amdhsa -mcpu=" + std::string(processor.name) +
                               " -filetype=obj -o " + dir.file("o"));
    if (contains(run.output, "not a recognized processor")) continue; // an older LLVM
    ++known;
    INFO(processor.name);
    const Bytes object = aql::test::read_bytes(dir.file("o"));
    REQUIRE(object.size() > 64);
    const auto id = aql::TargetId::from_elf_flags(aql::test::get<std::uint32_t>(object, 48), 6);
    REQUIRE(id);
    CHECK(id->processor == processor.name);
    CHECK((id->xnack == aql::FeatureState::any) == processor.has_xnack);
    CHECK((id->sramecc == aql::FeatureState::any) == processor.has_sramecc);
    if (processor.is_generic()) CHECK(id->generic_version == processor.generic_version);
  }
  CHECK(known > 40);
}
