// The hidden argument blocks against the notes that clang writes: every hidden argument it names must stand where our struct has
// it, and together the kernels below make it name every field.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <aql/abi/implicit_args.hpp>

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/tools.hpp"

namespace {
using aql::abi::ImplicitArgsV4;
using aql::abi::ImplicitArgsV5;

struct Place {
  std::size_t offset = 0, size = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
using Places = std::map<std::string, Place>;

#define PLACE(Struct, field) Place{offsetof(Struct, field), sizeof(Struct::field)}

Places v4_places() {
  return {{"hidden_global_offset_x", PLACE(ImplicitArgsV4, global_offset_x)},
          {"hidden_global_offset_y", PLACE(ImplicitArgsV4, global_offset_y)},
          {"hidden_global_offset_z", PLACE(ImplicitArgsV4, global_offset_z)},
          {"hidden_hostcall_buffer", PLACE(ImplicitArgsV4, hostcall_or_printf_buffer)},
          {"hidden_printf_buffer", PLACE(ImplicitArgsV4, hostcall_or_printf_buffer)},
          {"hidden_default_queue", PLACE(ImplicitArgsV4, default_queue)},
          {"hidden_completion_action", PLACE(ImplicitArgsV4, completion_action)},
          {"hidden_multigrid_sync_arg", PLACE(ImplicitArgsV4, multigrid_sync_arg)}};
}

Places v5_places() {
  return {{"hidden_block_count_x", PLACE(ImplicitArgsV5, block_count_x)},
          {"hidden_block_count_y", PLACE(ImplicitArgsV5, block_count_y)},
          {"hidden_block_count_z", PLACE(ImplicitArgsV5, block_count_z)},
          {"hidden_group_size_x", PLACE(ImplicitArgsV5, group_size_x)},
          {"hidden_group_size_y", PLACE(ImplicitArgsV5, group_size_y)},
          {"hidden_group_size_z", PLACE(ImplicitArgsV5, group_size_z)},
          {"hidden_remainder_x", PLACE(ImplicitArgsV5, remainder_x)},
          {"hidden_remainder_y", PLACE(ImplicitArgsV5, remainder_y)},
          {"hidden_remainder_z", PLACE(ImplicitArgsV5, remainder_z)},
          {"hidden_global_offset_x", PLACE(ImplicitArgsV5, global_offset_x)},
          {"hidden_global_offset_y", PLACE(ImplicitArgsV5, global_offset_y)},
          {"hidden_global_offset_z", PLACE(ImplicitArgsV5, global_offset_z)},
          {"hidden_grid_dims", PLACE(ImplicitArgsV5, grid_dims)},
          {"hidden_printf_buffer", PLACE(ImplicitArgsV5, printf_buffer)},
          {"hidden_hostcall_buffer", PLACE(ImplicitArgsV5, hostcall_buffer)},
          {"hidden_multigrid_sync_arg", PLACE(ImplicitArgsV5, multigrid_sync_arg)},
          {"hidden_heap_v1", PLACE(ImplicitArgsV5, heap_v1)},
          {"hidden_default_queue", PLACE(ImplicitArgsV5, default_queue)},
          {"hidden_completion_action", PLACE(ImplicitArgsV5, completion_action)},
          {"hidden_dynamic_lds_size", PLACE(ImplicitArgsV5, dynamic_lds_size)},
          {"hidden_private_base", PLACE(ImplicitArgsV5, private_base)},
          {"hidden_shared_base", PLACE(ImplicitArgsV5, shared_base)},
          {"hidden_queue_ptr", PLACE(ImplicitArgsV5, queue_ptr)}};
}

// Reads the whole hidden block, uses dynamic LDS and (through a flat pointer) both apertures.
constexpr const char* kWholeBlock = R"(
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
#define LDS __attribute__((address_space(3)))
extern LDS int dynamic[];
__attribute__((amdgpu_kernel)) void k(GLOBAL unsigned long *out, GLOBAL int *data, int n) {
  const CONSTANT char *block = (const CONSTANT char *)__builtin_amdgcn_implicitarg_ptr();
  for (int i = 0; i < 256; i += 8) out[i / 8] = *(const CONSTANT unsigned long *)(block + i);
  int local[64];
  for (int i = 0; i < 64; i++) local[i] = data[i];
  int *either = n > 3 ? (int *)&dynamic[n] : (int *)&local[n];
  *either = 4;
  dynamic[n + 1] = 5;
  data[3] = *either + local[n * 3];
}
)";
constexpr const char* kPrintf = R"(
int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));
__global char *__printf_alloc(unsigned bytes) { return (__global char *)(ulong)bytes; }
__kernel void k(__global ulong *out, __global int *in, int n) {
  __constant char *block = (__constant char *)__builtin_amdgcn_implicitarg_ptr();
  for (int i = 0; i < 256; i += 8) out[i / 8] = *(__constant ulong *)(block + i);
  printf("%d", in[n]);
}
)";
constexpr std::size_t kExplicitBytes = 24; // two pointers and an int, rounded up to 8

// name -> place relative to the hidden block; empty when a tool failed (the output is in `log`).
Places hidden_arguments(const std::string& clang, const std::string& readelf, const std::string& flags, const char* source,
                        std::string& log) {
  const aql::test::TempDir dir;
  std::ofstream{dir.file("k.src")} << source;
  const auto compiled =
      aql::test::run_command(clang + " " + flags + " --target=amdgcn-amd-amdhsa -O2 -nogpulib -fuse-ld=lld -w " +
                             dir.file("k.src") + " -o " + dir.file("k.co"));
  log = compiled.output;
  if (compiled.status != 0) return {};
  const auto notes = aql::test::run_command(readelf + " --notes " + dir.file("k.co"));
  log = notes.output;
  Places found;
  std::istringstream lines{notes.output};
  Place place;
  for (std::string line; std::getline(lines, line);) {
    const auto value = [&](const char* key) -> std::string {
      const auto at = line.find(key);
      if (at == std::string::npos) return {};
      const auto begin = line.find_first_not_of(' ', at + std::string{key}.size());
      return begin == std::string::npos ? std::string{} : line.substr(begin);
    };
    if (const auto offset = value(".offset:"); !offset.empty()) place.offset = std::stoul(offset);
    if (const auto size = value(".size:"); !size.empty()) place.size = std::stoul(size);
    if (const auto kind = value(".value_kind:"); kind.starts_with("hidden_") && kind != "hidden_none")
      found[kind] = {place.offset - kExplicitBytes, place.size};
  }
  return found;
}

struct Compile {
  const char* flags;
  const char* source;
};

void check_against_clang(const Places& ours, std::initializer_list<Compile> compiles, const std::set<std::string>& excused) {
  const auto clang = aql::test::find_tool("clang");
  const auto readelf = aql::test::find_tool("llvm-readelf");
  if (!clang || !readelf) AQL_SKIP("clang or llvm-readelf is not installed (packages clang-22, llvm-22)");
  std::set<std::string> seen;
  for (const Compile& compile : compiles) {
    std::string log;
    const Places theirs = hidden_arguments(*clang, *readelf, compile.flags, compile.source, log);
    INFO(compile.flags << "\n" << log);
    REQUIRE_FALSE(theirs.empty());
    for (const auto& [name, place] : theirs) {
      INFO(name << " at " << place.offset << ", " << place.size << " bytes");
      REQUIRE(ours.contains(name));
      CHECK(ours.at(name) == place);
      seen.insert(name);
    }
  }
  for (const auto& [name, place] : ours) {
    INFO(name << " was not named by any compiled kernel");
    CHECK((seen.contains(name) || excused.contains(name)));
  }
}
} // namespace

TEST_CASE("abi: hidden arguments of code object V4 stand where clang puts them") {
  check_against_clang(v4_places(),
                      {{"-x c -mcpu=gfx90a -mcode-object-version=4", kWholeBlock},
                       {"-x cl -cl-std=CL2.0 -mcpu=gfx90a -mcode-object-version=4", kPrintf}},
                      {});
}

TEST_CASE("abi: hidden arguments of code object V5 stand where clang puts them") {
  // gfx803 has no aperture registers, so that its notes hold the bases of the apertures too.
  check_against_clang(v5_places(),
                      {{"-x c -mcpu=gfx90a -mcode-object-version=5", kWholeBlock},
                       {"-x c -mcpu=gfx803 -mcode-object-version=5", kWholeBlock},
                       {"-x cl -cl-std=CL2.0 -mcpu=gfx90a -mcode-object-version=5", kPrintf}},
                      {});
}

TEST_CASE("abi: hidden arguments of code object V6 are those of V5") {
  check_against_clang(v5_places(), {{"-x c -mcpu=gfx942 -mcode-object-version=6", kWholeBlock}},
                      {"hidden_private_base", "hidden_shared_base", "hidden_printf_buffer"});
}
