// The metadata note: what clang writes, what the format allows, and what hostile bytes try.

#include "loader/metadata.hpp"

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"

using aql::test::contains;

namespace {

using Packer = msgpack::packer<msgpack::sbuffer>;

struct Note {
  msgpack::sbuffer buffer;
  Packer packer{buffer};
  [[nodiscard]] aql::Result<aql::loader::Metadata> read() const {
    return aql::loader::read_metadata(std::as_bytes(std::span(buffer.data(), buffer.size())), 0x200);
  }
  [[nodiscard]] std::string refusal() const {
    const auto result = read();
    return result ? "accepted" : result.error().message();
  }
  void key(std::string_view text) {
    packer.pack_str(static_cast<std::uint32_t>(text.size()));
    packer.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }
};

// Root with a version and `more` further entries.
void root(Note& note, std::uint32_t more) {
  note.packer.pack_map(1 + more);
  note.key("amdhsa.version");
  note.packer.pack_array(2);
  note.packer.pack(1);
  note.packer.pack(2);
}

// One kernel with everything required; `without` leaves one key out, `more` counts keys that the caller appends.
void kernel(Note& note, std::string_view without, std::uint32_t more) {
  root(note, 1);
  note.key("amdhsa.kernels");
  note.packer.pack_array(1);
  const std::pair<std::string_view, unsigned> numbers[] = {{".kernarg_segment_size", 64},
                                                           {".kernarg_segment_align", 8},
                                                           {".group_segment_fixed_size", 16},
                                                           {".private_segment_fixed_size", 32},
                                                           {".max_flat_workgroup_size", 256},
                                                           {".wavefront_size", 64},
                                                           {".sgpr_count", 20},
                                                           {".vgpr_count", 30}};
  note.packer.pack_map(static_cast<std::uint32_t>(std::size(numbers)) + 2 - (without.empty() ? 0 : 1) + more);
  for (const auto& [name, value] : numbers) {
    if (name == without) continue;
    note.key(name);
    note.packer.pack(value);
  }
  for (const std::string_view name : {".name", ".symbol"}) {
    if (name == without) continue;
    note.key(name);
    note.key(name == ".name" ? "k" : "k.kd");
  }
}

aql::Result<aql::loader::Metadata> read_raw(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> raw;
  for (const unsigned b : bytes) raw.push_back(static_cast<std::byte>(b));
  return aql::loader::read_metadata(raw, 0);
}

} // namespace

TEST_CASE("metadata: a kernel with every optional entry") {
  Note note;
  kernel(note, "", 10);
  note.key(".reqd_workgroup_size");
  note.packer.pack(std::vector<unsigned>{8, 4, 2});
  note.key(".workgroup_size_hint");
  note.packer.pack(std::vector<unsigned>{64, 1, 1});
  note.key(".cluster_dims");
  note.packer.pack(std::vector<unsigned>{2, 2, 1});
  note.key(".uniform_work_group_size");
  note.packer.pack(1);
  note.key(".uses_dynamic_stack");
  note.packer.pack_true();
  note.key(".agpr_count");
  note.packer.pack(7);
  note.key(".vec_type_hint");
  note.key("float4");
  note.key(".language");
  note.key("OpenCL C");
  note.key(".kind");
  note.key("init");
  note.key(".args");
  note.packer.pack_array(1);
  note.packer.pack_map(9);
  for (const auto& [key, text] : {std::pair<std::string_view, std::string_view>{".name", "out"},
                                  {".type_name", "float*"},
                                  {".value_kind", "global_buffer"},
                                  {".address_space", "global"},
                                  {".access", "read_write"},
                                  {".actual_access", "write_only"}}) {
    note.key(key);
    note.key(text);
  }
  note.key(".offset");
  note.packer.pack(8);
  note.key(".size");
  note.packer.pack(8);
  note.key(".is_restrict");
  note.packer.pack_true();

  const auto metadata = note.read();
  REQUIRE(metadata);
  REQUIRE(metadata->kernels.size() == 1);
  const auto& k = metadata->kernels[0];
  CHECK(k.required_workgroup_size == aql::Dim3{8, 4, 2});
  CHECK(k.workgroup_size_hint == aql::Dim3{64, 1, 1});
  CHECK(k.cluster_dims == aql::Dim3{2, 2, 1});
  CHECK(k.uniform_work_group_size);
  CHECK(k.uses_dynamic_stack);
  CHECK(k.agpr_count == 7);
  CHECK(k.vec_type_hint == "float4");
  CHECK(k.language == "OpenCL C");
  CHECK(k.kind == "init");
  CHECK((k.kernarg_size == 64 && k.kernarg_align == 8 && k.group_segment_size == 16 && k.private_segment_size == 32));
  CHECK((k.max_flat_workgroup_size == 256 && k.wavefront_size == 64 && k.sgpr_count == 20 && k.vgpr_count == 30));
  REQUIRE(k.args.size() == 1);
  const auto& arg = k.args[0];
  CHECK((arg.name == "out" && arg.type_name == "float*" && arg.kind == aql::ArgKind::global_buffer));
  CHECK((arg.offset == 8 && arg.size == 8 && arg.is_restrict && !arg.is_const));
  CHECK(arg.address_space == aql::AddressSpace::global);
  CHECK(arg.access == aql::Access::read_write);
  CHECK(arg.actual_access == aql::Access::write_only);
}

TEST_CASE("metadata: each required entry is missed by name") {
  for (const std::string_view name :
       {".name", ".symbol", ".kernarg_segment_size", ".kernarg_segment_align", ".group_segment_fixed_size",
        ".private_segment_fixed_size", ".max_flat_workgroup_size", ".wavefront_size", ".sgpr_count", ".vgpr_count"}) {
    Note note;
    kernel(note, name, 0);
    CHECK(contains(note.refusal(), "kernel 0 has no " + std::string(name)));
  }
}

TEST_CASE("metadata: wrong types, values and versions are named") {
  Note text_size;
  kernel(text_size, ".vgpr_count", 1);
  text_size.key(".vgpr_count");
  text_size.key("many");
  CHECK(contains(text_size.refusal(), ".vgpr_count of kernel 0 is a string, must be an unsigned integer"));

  Note huge;
  kernel(huge, ".vgpr_count", 1);
  huge.key(".vgpr_count");
  huge.packer.pack(std::uint64_t{1} << 32);
  CHECK(contains(huge.refusal(), ".vgpr_count of kernel 0 is an integer, must be an unsigned integer of fitting size"));

  Note negative;
  kernel(negative, ".sgpr_count", 1);
  negative.key(".sgpr_count");
  negative.packer.pack(-1);
  CHECK(contains(negative.refusal(), ".sgpr_count of kernel 0"));

  Note align;
  kernel(align, ".kernarg_segment_align", 1);
  align.key(".kernarg_segment_align");
  align.packer.pack(12);
  CHECK(contains(align.refusal(), ".kernarg_segment_align of k.kd is 12, must be a power of two"));

  Note wave;
  kernel(wave, ".wavefront_size", 1);
  wave.key(".wavefront_size");
  wave.packer.pack(16);
  CHECK(contains(wave.refusal(), ".wavefront_size of k.kd is 16, must be 32 or 64"));

  Note version;
  version.packer.pack_map(1);
  version.key("amdhsa.version");
  version.packer.pack(std::vector<unsigned>{2, 0});
  CHECK(contains(version.refusal(), "metadata version 2.0, this build reads 1.x"));

  Note no_map;
  no_map.packer.pack(7);
  CHECK(contains(no_map.refusal(), "the root is an integer, must be a map"));

  Note kernels;
  root(kernels, 1);
  kernels.key("amdhsa.kernels");
  kernels.key("none");
  CHECK(contains(kernels.refusal(), "amdhsa.kernels of the root is a string, must be an array"));
}

TEST_CASE("metadata: an argument beyond the kernarg segment is refused, at any overflow") {
  for (const std::uint64_t offset : {std::uint64_t{60}, std::uint64_t{65}, ~std::uint64_t{0}}) {
    Note note;
    kernel(note, "", 1);
    note.key(".args");
    note.packer.pack_array(1);
    note.packer.pack_map(3);
    note.key(".value_kind");
    note.key("by_value");
    note.key(".offset");
    note.packer.pack(offset);
    note.key(".size");
    note.packer.pack(8);
    CHECK(contains(note.refusal(), "beyond the kernarg segment of 64 bytes"));
  }
}

TEST_CASE("metadata: an argument kind from the future is kept as text, hidden or not by its name") {
  Note note;
  kernel(note, "", 1);
  note.key(".args");
  note.packer.pack_array(2);
  for (const std::string_view kind : {"hidden_something_new", "wormhole"}) {
    note.packer.pack_map(3);
    note.key(".value_kind");
    note.key(kind);
    note.key(".offset");
    note.packer.pack(0);
    note.key(".size");
    note.packer.pack(8);
  }
  const auto metadata = note.read();
  REQUIRE(metadata);
  const auto& args = metadata->kernels[0].args;
  CHECK((args[0].kind == aql::ArgKind::other && args[0].hidden() && args[0].value_kind == "hidden_something_new"));
  CHECK((args[1].kind == aql::ArgKind::other && !args[1].hidden()));
}

TEST_CASE("metadata: hostile counts, depths and lengths are refused at once") {
  CHECK(contains(read_raw({0xdd, 0xff, 0xff, 0xff, 0xff}).error().detail, "declares more elements than it has bytes"));
  CHECK(contains(read_raw({0xdf, 0x7f, 0xff, 0xff, 0xff}).error().detail, "declares more elements than it has bytes"));
  CHECK_FALSE(read_raw({0xdb, 0xff, 0xff, 0xff, 0xff, 'x'})); // a string of 4 GiB
  CHECK_FALSE(read_raw({}));
  CHECK_FALSE(read_raw({0xc1}));                        // the one code MessagePack never uses
  std::vector<std::byte> deep(100000, std::byte{0x91}); // arrays of one array of one array ...
  CHECK(contains(aql::loader::read_metadata(deep, 0).error().detail, "nests deeper than 32 levels"));
  // Nested arrays, each claiming all the bytes there are: together they claim too much.
  std::vector<std::byte> greedy;
  for (int i = 0; i < 20; ++i) {
    for (const unsigned b : {0xddU, 0U, 0U, 0U, 90U}) greedy.push_back(static_cast<std::byte>(b));
  }
  CHECK(contains(aql::loader::read_metadata(greedy, 0).error().detail, "declares more elements than it has bytes"));
}

TEST_CASE("metadata: hidden arguments of clang's kernels have the kinds and offsets of the ABI") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = R"(
    kernel void k(global float *out, float scale) {
      out[0] = scale * ((constant int *)__builtin_amdgcn_implicitarg_ptr())[3];
    })",
                                                        .options = "-O0 -cl-kernel-arg-info",
                                                        .extension = ".cl"});
  INFO(compiled.messages);
  REQUIRE(compiled.ok);
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  const auto& kernel = object->kernels()[0];
  CHECK(kernel.kernarg_size == 16 + 256);
  CHECK(kernel.uniform_work_group_size == false);
  REQUIRE(kernel.args.size() > 2);
  CHECK((kernel.args[0].name == "out" && kernel.args[0].type_name == "float*"));
  CHECK((kernel.args[1].name == "scale" && kernel.args[1].offset == 8));
  const auto hidden_at = [&](aql::ArgKind kind) -> std::uint64_t {
    for (const auto& arg : kernel.args) {
      if (arg.kind == kind) return arg.offset;
    }
    return ~0ULL;
  };
  CHECK(hidden_at(aql::ArgKind::hidden_block_count_x) == 16);
  CHECK(hidden_at(aql::ArgKind::hidden_group_size_x) == 16 + 12);
  CHECK(hidden_at(aql::ArgKind::hidden_remainder_z) == 16 + 22);
  CHECK(hidden_at(aql::ArgKind::hidden_global_offset_y) == 16 + 48);
  CHECK(hidden_at(aql::ArgKind::hidden_grid_dims) == 16 + 64);
  CHECK(hidden_at(aql::ArgKind::hidden_hostcall_buffer) == 16 + 80);
  for (const auto& arg : kernel.args) CHECK(aql::to_string(arg.kind) == arg.value_kind);
}

TEST_CASE("metadata: required group sizes and the uniform promise come through from OpenCL") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = R"(
    __attribute__((reqd_work_group_size(8, 4, 2))) kernel void fixed(global int *o) { o[__builtin_amdgcn_workitem_id_x()] = 1; }
    __attribute__((work_group_size_hint(64, 1, 1))) kernel void hinted(global int *o) { o[__builtin_amdgcn_workitem_id_x()] = 1; })",
                                                        .options = "-O2 -cl-uniform-work-group-size",
                                                        .extension = ".cl"});
  INFO(compiled.messages);
  REQUIRE(compiled.ok);
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  CHECK((*object->find_kernel("fixed"))->required_workgroup_size == aql::Dim3{8, 4, 2});
  CHECK((*object->find_kernel("fixed"))->uniform_work_group_size);
  CHECK((*object->find_kernel("hinted"))->workgroup_size_hint == aql::Dim3{64, 1, 1});
}

TEST_CASE("metadata: an old descriptor without a kernarg size takes the metadata's") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  auto file =
      aql::test::compile_code_object(
          {.text =
               "__attribute__((amdgpu_kernel)) void k(__attribute__((address_space(1))) int *o, long a, int b) { o[0] = b + a; }",
           .options = "-O2 -mcode-object-version=4"})
          .bytes();
  const auto before = aql::CodeObject::parse(file);
  REQUIRE(before);
  const auto& kernel = before->kernels()[0];
  REQUIRE(kernel.descriptor.kernarg_size == kernel.kernarg_size);
  aql::test::put<std::uint32_t>(file, kernel.descriptor_offset + 8, 0); // the first segment: image offset == file offset
  const auto after = aql::CodeObject::parse(file);
  REQUIRE(after);
  CHECK(after->kernels()[0].descriptor.kernarg_size == 0);
  CHECK(after->kernels()[0].kernarg_size == kernel.kernarg_size);
  CHECK(after->warnings().empty());
}

TEST_CASE("metadata: a kernarg segment of 64 KiB and more is no problem") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const auto compiled = aql::test::compile_code_object({.text = R"(
    typedef struct { int v[17000]; } Big;
    __attribute__((amdgpu_kernel)) void k(__attribute__((address_space(1))) int *o, Big big) { o[0] = big.v[o[1]]; })"});
  INFO(compiled.messages);
  REQUIRE(compiled.ok);
  const auto object = aql::CodeObject::parse(compiled.bytes());
  REQUIRE(object);
  CHECK(object->kernels()[0].kernarg_size >= 68008);
  CHECK(object->kernels()[0].args[1].size == 68000);
}
