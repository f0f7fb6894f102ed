// Kernels, globals and functions by name and by place.

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"
#include "unit/loader/sources.hpp"

using aql::test::Bytes;
using aql::test::contains;

namespace {

aql::CodeObject several(std::string_view options = "-O2") {
  auto object =
      aql::CodeObject::parse(aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = options}).bytes());
  REQUIRE(object);
  return *object;
}

std::string lookup_error(const aql::CodeObject& object, std::string_view name) {
  const auto found = object.find_kernel(name);
  return found ? "found" : found.error().message();
}

// Two kernels whose `.name` differs from their symbol, written in assembly.
constexpr std::string_view kRenamed = R"(
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .text
  .globl sym_one
  .p2align 8
  .type sym_one,@function
sym_one:
  s_endpgm
.Lend:
  .size sym_one, .Lend-sym_one
  .rodata
  .p2align 6
  .amdhsa_kernel sym_one
    .amdhsa_next_free_vgpr 1
    .amdhsa_next_free_sgpr 1
    .amdhsa_accum_offset 4
  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: source_name
    .symbol: sym_one.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 4
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 1
    .max_flat_workgroup_size: 1024
...
  .end_amdgpu_metadata
)";

} // namespace

TEST_CASE("lookup: the kernel asked for is the one found, with and without .kd") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = several();
  REQUIRE(object.kernels().size() == 3);
  for (const std::string name : {"a", "aa", "b"}) {
    INFO(name);
    const auto plain = object.find_kernel(name), with_suffix = object.find_kernel(name + ".kd");
    REQUIRE((plain && with_suffix));
    CHECK(*plain == *with_suffix);
    CHECK((*plain)->symbol == name + ".kd");
    CHECK((*plain)->display_name() == name);
    const auto function = object.function_at((*plain)->entry_offset);
    REQUIRE(function);
    CHECK(function->name == name);
  }
}

TEST_CASE("lookup: a missing name lists near matches, or what there is") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = several();
  CHECK(contains(lookup_error(object, "aaa"), "no kernel \"aaa\"; did you mean: a, aa"));
  CHECK(contains(lookup_error(object, "zzzz"), "the object has: a, aa, b"));
  CHECK(contains(lookup_error(object, ""), "no kernel \"\"; the object has: a, aa, b"));
  CHECK(contains(lookup_error(object, ".kd"), "no kernel"));
  CHECK(object.find_kernel("zzzz").error().code == aql::Errc::invalid_symbol_name);
}

TEST_CASE("lookup: neither a device function nor a 64-byte constant is a kernel") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = several();
  CHECK_FALSE(object.find_kernel("helper"));
  CHECK_FALSE(object.find_kernel("table"));
  const auto table = object.find_global("table");
  REQUIRE(table);
  CHECK((*table)->size == 64);
}

TEST_CASE("lookup: mangled names are found as they are") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = R"(
    __attribute__((amdgpu_kernel)) void _Z4scalPfif(__attribute__((address_space(1))) float *p, int n, float s) { p[n] *= s; }
    __attribute__((amdgpu_kernel)) void _Z4scalPdid(__attribute__((address_space(1))) double *p, int n, double s) { p[n] *= s; })"});
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  REQUIRE(object->find_kernel("_Z4scalPfif"));
  CHECK((*object->find_kernel("_Z4scalPdid.kd"))->name == "_Z4scalPdid");
  CHECK(contains(object->find_kernel("scal").error().message(), "did you mean: _Z4scalPfif, _Z4scalPdid"));
}

TEST_CASE("lookup: the symbol decides where the metadata's name differs") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = kRenamed, .options = "", .extension = ".s"});
  INFO(compiled.messages);
  REQUIRE(compiled.ok);
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  const auto kernel = object->find_kernel("sym_one");
  REQUIRE(kernel);
  CHECK((*kernel)->name == "source_name");
  CHECK((*kernel)->display_name() == "sym_one");
  CHECK(contains(lookup_error(*object, "source_name"), "its symbol is \"sym_one\": ask for that"));
}

TEST_CASE("lookup: works without .symtab, and without any section headers") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  Bytes stripped = aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = "-O2 -Wl,--strip-all"}).bytes();
  const auto no_symtab = aql::CodeObject::parse(stripped);
  REQUIRE(no_symtab);
  CHECK(no_symtab->find_kernel("aa"));
  CHECK(no_symtab->find_global("counter"));
  CHECK(no_symtab->function_at((*no_symtab->find_kernel("aa"))->entry_offset)->name == "aa");

  for (const std::string_view hash_style : {"both", "gnu", "sysv"}) {
    INFO(hash_style);
    Bytes bare = aql::test::compile_code_object({.text = aql::test::kSeveralKernels,
                                                 .options = std::string("-O2 -Wl,--hash-style=") + std::string(hash_style)})
                     .bytes();
    aql::test::put<std::uint64_t>(bare, 40, 0); // section header offset
    aql::test::put<std::uint16_t>(bare, 60, 0); // and count
    const auto no_sections = aql::CodeObject::parse(bare);
    REQUIRE(no_sections);
    CHECK(no_sections->identity().sections == 0);
    CHECK(no_sections->kernels().size() == 3);
    CHECK(no_sections->find_kernel("b"));
    CHECK(no_sections->globals().size() == several().globals().size());
  }
}

TEST_CASE("lookup: globals have their place and size, and sit in a segment with the right permissions") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = several();
  const auto counter = object.find_global("counter"), zeros = object.find_global("zeros"), table = object.find_global("table");
  REQUIRE((counter && zeros && table));
  CHECK((*counter)->size == 4);
  CHECK((*zeros)->size == 400);
  std::vector<std::byte> image(object.image_size());
  REQUIRE(object.load_into(image, 0x7f0000000000));
  CHECK(aql::test::get<std::int32_t>(image, (*counter)->image_offset) == 7);
  CHECK(aql::test::get<std::int32_t>(image, (*table)->image_offset + 60) == 16);
  CHECK(aql::test::get<std::int32_t>(image, (*zeros)->image_offset + 396) == 0);
  const auto writable = [&](std::uint64_t offset) {
    for (const auto& s : object.segments()) {
      if (offset >= s.image_offset && offset - s.image_offset < s.memory_size) return s.write;
    }
    return false;
  };
  CHECK(writable((*counter)->image_offset));
  CHECK_FALSE(writable((*table)->image_offset));
  CHECK(contains(object.find_global("count").error().message(), "no global \"count\"; did you mean: counter"));
}

TEST_CASE("lookup: every place in code names its function and, in kernels, its kernel") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = several();
  for (const auto& kernel : object.kernels()) {
    REQUIRE(kernel.code_size != 0);
    for (std::uint64_t at = 0; at < kernel.code_size; at += 4) {
      CHECK(object.kernel_at(kernel.entry_offset + at) == &kernel);
      const auto function = object.function_at(kernel.entry_offset + at);
      REQUIRE(function);
      CHECK((function->name == kernel.display_name() && function->offset == at));
    }
  }
  bool helper_seen = false;
  for (std::uint64_t at = 0; at < object.image_size(); at += 4) {
    const auto function = object.function_at(at);
    if (!function || function->name != "helper") continue;
    helper_seen = true;
    CHECK(object.kernel_at(at) == nullptr);
  }
  CHECK(helper_seen);
}

TEST_CASE("lookup: two kernels with one symbol are refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  Bytes file = aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = "-O2"}).bytes();
  // In the metadata, "b.kd" becomes "a.kd".
  const std::string_view from("\xa4"
                              "b.kd",
                              5);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto at = text.find(from);
  REQUIRE(at != std::string_view::npos);
  file[at + 1] = std::byte{'a'};
  CHECK(contains(aql::test::refusal(file), "two kernels have the symbol \"a.kd\""));
}

TEST_CASE("lookup: a kernel that only the metadata knows is refused by name") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  Bytes file = aql::test::compile_code_object({.text = aql::test::kSeveralKernels, .options = "-O2"}).bytes();
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto at = text.find(std::string_view("\xa4"
                                             "b.kd",
                                             5));
  REQUIRE(at != std::string_view::npos);
  file[at + 1] = std::byte{'x'};
  CHECK(contains(aql::test::refusal(file), "metadata names the kernel symbol \"x.kd\", which the symbol table has not"));
}
