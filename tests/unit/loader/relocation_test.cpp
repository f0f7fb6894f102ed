// Segments in the image and relocation: real objects of the linker, then each relocation type by patching one entry's type.

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"

using aql::test::Bytes;
using aql::test::contains;
using aql::test::get;
using aql::test::put;

namespace {

constexpr std::string_view kPointers = R"(
#define G __attribute__((address_space(1)))
extern G int outside[4];
extern __attribute__((weak)) G int maybe;
G int inside[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__attribute__((visibility("hidden"))) G int hidden_target[8] = {5};
G int *G p_out = &outside[1];
G int *G p_in = &inside[2];
G int *G p_hidden = &hidden_target[3];
G int *G p_weak = &maybe;
#define P4(i) &hidden_target[(i) & 7], &hidden_target[(i + 1) & 7], &hidden_target[(i + 2) & 7], &hidden_target[(i + 3) & 7]
#define P16(i) P4(i), P4(i + 1), P4(i + 2), P4(i + 3)
G int *G many[80] = {P16(0), P16(1), P16(2), P16(3), P16(4)};
__attribute__((amdgpu_kernel)) void k(G int *o) { o[0] = outside[2] + *p_in + *p_hidden; hidden_target[o[1]] = 4; }
)";

constexpr std::uint64_t kOutside = 0x7e0000001000, kLoad = 0x7f1200000000;

aql::test::Compiled pointers(std::string_view more = "") {
  return aql::test::compile_code_object(
      {.text = kPointers, .options = "-O2 -fvisibility=default -Wl,-z,undefs " + std::string(more)});
}

std::optional<std::uint64_t> outside_only(std::string_view name) {
  if (name == "outside") return kOutside;
  return std::nullopt;
}

std::vector<std::byte> loaded(const aql::CodeObject& object, std::uint64_t address) {
  std::vector<std::byte> image(object.image_size(), std::byte{0xA5});
  const auto result = object.load_into(image, address, outside_only);
  INFO((result ? "" : result.error().message()));
  REQUIRE(result);
  return image;
}

std::uint64_t offset_of(const aql::CodeObject& object, std::string_view global) {
  const auto found = object.find_global(global);
  REQUIRE(found);
  return (*found)->image_offset;
}

// Where the RELA entry for the global `name`'s own place stands in the file.
std::size_t entry_for(const Bytes& file, const aql::CodeObject& object, std::string_view name) {
  const auto table = aql::test::program_of_type(file, 2);
  REQUIRE(table);
  std::uint64_t rela = 0, size = 0;
  for (std::size_t at = get<std::uint64_t>(file, *table + 8);; at += 16) {
    const auto tag = get<std::int64_t>(file, at);
    if (tag == 7) rela = get<std::uint64_t>(file, at + 8); // address == offset in the first segment
    if (tag == 8) size = get<std::uint64_t>(file, at + 8);
    if (tag == 0) break;
  }
  for (std::size_t at = rela; at < rela + size; at += 24) {
    if (get<std::uint64_t>(file, at) == offset_of(object, name)) return at;
  }
  FAIL("no entry");
  return 0;
}

// The relocation of p_in (inside + 8) with another type; `size` bytes of the result.
std::uint64_t value_with_type(std::uint32_t type, std::uint64_t address) {
  Bytes file = pointers().bytes();
  const auto before = aql::CodeObject::parse(file);
  REQUIRE(before);
  put<std::uint32_t>(file, entry_for(file, *before, "p_in") + 8, type);
  const auto object = aql::CodeObject::parse(file);
  INFO((object ? "" : object.error().message()));
  REQUIRE(object);
  return get<std::uint64_t>(loaded(*object, address), offset_of(*object, "p_in"));
}

} // namespace

TEST_CASE("relocation: pointers to own, hidden and outside symbols hold their addresses after loading") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const std::string_view more : {"", "-Wl,-z,pack-relative-relocs", "-Wl,--strip-all"}) {
    INFO(more);
    const auto compiled = pointers(more);
    REQUIRE(compiled.ok);
    const auto object = aql::CodeObject::parse(compiled.bytes());
    REQUIRE(object);
    const auto image = loaded(*object, kLoad);
    const auto hidden = get<std::uint64_t>(image, offset_of(*object, "p_hidden")) - kLoad - 12;
    CHECK(get<std::uint64_t>(image, offset_of(*object, "p_out")) == kOutside + 4);
    CHECK(get<std::uint64_t>(image, offset_of(*object, "p_in")) == kLoad + offset_of(*object, "inside") + 8);
    CHECK(get<std::int32_t>(image, hidden) == 5);
    CHECK(get<std::uint64_t>(image, offset_of(*object, "p_weak")) == 0);
    for (std::uint64_t i = 0; i < 80; ++i) {
      const std::uint64_t index = (i / 16 + i % 16 / 4 + i % 4) & 7;
      CHECK(get<std::uint64_t>(image, offset_of(*object, "many") + 8 * i) == kLoad + hidden + 4 * index);
    }
  }
}

TEST_CASE("relocation: gaps and the zero tail of the image are cleared, whatever was there") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::CodeObject::parse(pointers().bytes());
  REQUIRE(object);
  const auto image = loaded(*object, kLoad);
  std::vector<bool> backed(image.size());
  for (const auto& s : object->segments()) {
    for (std::uint64_t at = 0; at < s.file_size; ++at) backed[s.image_offset + at] = true;
  }
  std::size_t gaps = 0;
  for (const auto& r : object->relocations()) std::fill_n(backed.begin() + static_cast<std::ptrdiff_t>(r.image_offset), 8, true);
  for (std::size_t at = 0; at < image.size(); ++at) {
    if (backed[at]) continue;
    ++gaps;
    if (image[at] != std::byte{0}) FAIL("byte " << at << " is not zero");
  }
  CHECK(gaps > 100);
}

TEST_CASE("relocation: imports are listed, and one that nobody supplies is an error with its name") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::CodeObject::parse(pointers().bytes());
  REQUIRE(object);
  CHECK(std::vector<std::string>(object->imports().begin(), object->imports().end()) ==
        std::vector<std::string>{"maybe", "outside"});
  std::vector<std::byte> image(object->image_size());
  const auto result = object->load_into(image, kLoad);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == aql::Errc::invalid_symbol_name);
  CHECK(contains(result.error().detail, "needs symbol \"outside\""));
}

TEST_CASE("relocation: every type computes what the ABI says") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::CodeObject::parse(pointers().bytes());
  REQUIRE(object);
  const std::uint64_t inside = offset_of(*object, "inside") + 8, place = offset_of(*object, "p_in");
  const std::uint64_t symbol = kLoad + inside, low = 0x20000000;
  const std::uint64_t distance = inside - place; // modulo 2^64
  const std::uint64_t rest = 0;                  // four-byte types leave the upper half of the zeroed place alone
  CHECK(value_with_type(3, kLoad) == symbol);    // ABS64
  CHECK(value_with_type(1, kLoad) == (rest | (symbol & 0xffffffff)));   // ABS32_LO
  CHECK(value_with_type(2, kLoad) == (rest | (symbol >> 32)));          // ABS32_HI
  CHECK(value_with_type(6, low) == low + inside);                       // ABS32
  CHECK(value_with_type(5, kLoad) == distance);                         // REL64
  CHECK(value_with_type(4, kLoad) == (distance & 0xffffffff));          // REL32
  CHECK(value_with_type(10, kLoad) == (distance & 0xffffffff));         // REL32_LO
  CHECK(value_with_type(11, kLoad) == ((distance >> 32) & 0xffffffff)); // REL32_HI
  CHECK(value_with_type(13, kLoad) == kLoad + 8);                       // RELATIVE64: no symbol, addend 8
  CHECK(value_with_type(0, kLoad) == 0);                                // NONE
}

TEST_CASE("relocation: a 32-bit value that does not fit is an error, not a wrong address") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  for (const std::uint32_t type : {6U, 4U}) {
    Bytes file = pointers().bytes();
    const auto before = aql::CodeObject::parse(file);
    REQUIRE(before);
    put<std::uint32_t>(file, entry_for(file, *before, "p_out") + 8, type);
    const auto object = aql::CodeObject::parse(file);
    REQUIRE(object);
    std::vector<std::byte> image(object->image_size());
    const auto result = object->load_into(image, kLoad, outside_only);
    REQUIRE_FALSE(result);
    CHECK(contains(result.error().detail, "fit 32 bits"));
  }
}

TEST_CASE("relocation: types that belong into unlinked objects, and unknown ones, are refused by number and name") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = pointers().bytes();
  const auto object = aql::CodeObject::parse(file);
  REQUIRE(object);
  const std::size_t entry = entry_for(file, *object, "p_in");
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint32_t>(b, entry + 8, 8); }), "R_AMDGPU_GOTPCREL32_LO"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint32_t>(b, entry + 8, 14); }), "R_AMDGPU_REL16"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint32_t>(b, entry + 8, 99); }), "type 99 (unknown)"));
}

TEST_CASE("relocation: places and symbols outside what there is are refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = pointers().bytes();
  const auto object = aql::CodeObject::parse(file);
  REQUIRE(object);
  const std::size_t entry = entry_for(file, *object, "p_in");
  const std::uint64_t end = object->image_size();
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, entry, end); }), "outside all load segments"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, entry, end - 7); }), "outside all load segments"));
  CHECK(
      contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, entry, ~0ULL - 3); }), "outside all load segments"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint32_t>(b, entry + 12, 12345); }),
                 "uses symbol 12345, but there are"));
}

TEST_CASE("image: a span too small and an address not aligned are refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto object = aql::CodeObject::parse(pointers().bytes());
  REQUIRE(object);
  std::vector<std::byte> image(object->image_size());
  CHECK(
      contains(object->load_into(std::span(image).first(image.size() - 1), kLoad, outside_only).error().detail, "the image needs"));
  CHECK(contains(object->load_into(image, kLoad + 0x100, outside_only).error().detail,
                 "not a multiple of the image's alignment 0x1000"));
}

TEST_CASE("image: segments that overlap, exceed the file, or claim odd alignments are refused") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const Bytes file = pointers().bytes();
  const auto first = aql::test::program_of_type(file, 1);
  REQUIRE(first);
  const std::size_t second = *first + 56;
  CHECK(
      contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, *first + 40, 0x100000); }), "load segments overlap"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, second + 32, b.size()); }), "beyond the end"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, second + 40, 1); }),
                 "bytes in the file, but 0x1 in memory"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, second + 48, 0x1001); }), "alignment 0x1001"));
  CHECK(contains(aql::test::refusal(file, [&](Bytes& b) { put<std::uint64_t>(b, second + 16, ~0ULL - 0x100); }),
                 "exceed 47 address bits"));
}

TEST_CASE("image: an object linked away from address 0 loads the same") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto moved = aql::test::compile_code_object(
      {.text = kPointers, .options = "-O2 -fvisibility=default -Wl,-z,undefs -Wl,--image-base=0x200000"});
  if (!moved.ok) AQL_SKIP("this linker has no --image-base for shared objects");
  const auto object = aql::CodeObject::parse(moved.bytes());
  REQUIRE(object);
  const auto image = loaded(*object, kLoad);
  CHECK(get<std::uint64_t>(image, offset_of(*object, "p_in")) == kLoad + offset_of(*object, "inside") + 8);
  CHECK(object->find_kernel("k"));
}
