// Generated C programs on the host and on the software GPU: the same source, the same compiler, the same bytes.
// A failure names the program and the level; `make_programs.py N 1` prints program N. AQL_LONG_TESTS=1 runs hundreds,
// AQL_DIFFERENTIAL=N the file of programs in which N is.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "runs/run_support.hpp"
#include "support/compile.hpp"

using namespace aql;
using namespace aql::test;

namespace {

// As in program.h.
constexpr std::uint32_t kGroupItems = 128, kGroups = 2, kItems = kGroupItems * kGroups, kInWords = 32, kOutWords = 24;
struct Shared {
  std::uint32_t words[32];
  std::uint64_t longs[16];
  float singles[8];
  double doubles[8];
};

constexpr std::string_view kCommon = " -w -fwrapv -ffp-contract=off -fno-strict-aliasing ";
constexpr unsigned kBatch = 12; // programs in a source file

bool long_tests() {
  const char* asked = std::getenv("AQL_LONG_TESTS");
  return asked != nullptr && std::string_view(asked) == "1";
}

struct Memory {
  std::vector<std::uint32_t> in = std::vector<std::uint32_t>(kItems * kInWords), out = std::vector<std::uint32_t>(kItems * kOutWords, 0xdddddddd);
  Shared shared{};

  // Inputs with the values that find mistakes: small, large, random and few bits set.
  explicit Memory(unsigned seed) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    const auto random = [&] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return static_cast<std::uint32_t>(state >> 16);
    };
    constexpr std::uint32_t edges[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x80000001, 0x00800000, 0x7f7fffff};
    for (std::uint32_t& word : in) {
      const std::uint32_t r = random();
      word = r % 8 == 0 ? edges[random() % 16] : r % 8 == 1 ? random() % 256 : r % 8 == 2 ? 1u << random() % 32 : random();
    }
    for (std::uint32_t& word : shared.words) word = random();
    for (std::uint64_t& word : shared.longs) word = std::uint64_t{random()} << 32 | random();
  }
};

std::string programs(unsigned first) {
  const auto made = run_command(std::string(AQL_PYTHON) + " " AQL_SOURCE_DIR "/tests/differential/make_programs.py " + std::to_string(first) + " " + std::to_string(kBatch));
  if (made.status != 0) FAIL("make_programs.py: " << made.output);
  return made.output;
}

Memory on_host(void* library, unsigned program) {
  Memory memory(program);
  using Function = void (*)(const std::uint32_t*, std::uint32_t*, Shared*);
  const auto function = reinterpret_cast<Function>(::dlsym(library, ("p" + std::to_string(program)).c_str()));
  REQUIRE(function != nullptr);
  function(memory.in.data(), memory.out.data(), &memory.shared);
  return memory;
}

Memory on_device(const Device& device, Queue& queue, const Module& module, unsigned program) {
  Memory memory(program);
  const auto in = buffer_of(device, memory.in.size() * 4), out = buffer_of(device, memory.out.size() * 4), shared = buffer_of(device, sizeof(Shared));
  check(in.write(memory.in));
  check(out.write(memory.out));
  check(shared.write(&memory.shared, sizeof(Shared)));
  const auto kernel = kernel_of(module, ("p" + std::to_string(program)).c_str());
  check(run(queue, arguments(kernel, in, out, shared), {.grid = {kItems}, .group = {kGroupItems}}));
  check(out.read(memory.out));
  check(shared.read(&memory.shared, sizeof(Shared)));
  return memory;
}

// One line for the first difference.
std::string difference(const Memory& host, const Memory& device) {
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t n = 0; n < host.out.size(); ++n) {
    if (host.out[n] == device.out[n]) continue;
    if (wrong++ == 0) {
      char line[160];
      std::snprintf(line, sizeof line, "item %zu, word %zu: host %08x, device %08x", n / kOutWords, n % kOutWords, host.out[n], device.out[n]);
      first = line;
    }
  }
  if (wrong != 0) return first + " (" + std::to_string(wrong) + " words differ)";
  const auto* a = reinterpret_cast<const std::uint32_t*>(&host.shared);
  const auto* b = reinterpret_cast<const std::uint32_t*>(&device.shared);
  for (std::size_t n = 0; n < sizeof(Shared) / 4; ++n) {
    if (a[n] == b[n]) continue;
    char line[160];
    std::snprintf(line, sizeof line, "shared word %zu: host %08x, device %08x", n, a[n], b[n]);
    return line;
  }
  return {};
}

void compare(const std::string& target) {
  unsigned batch = 0, batches = long_tests() ? 30 : 1;
  if (const char* asked = std::getenv("AQL_DIFFERENTIAL")) {
    batch = (static_cast<unsigned>(std::max(1l, std::strtol(asked, nullptr, 10))) - 1) / kBatch;
    batches = batch + 1;
  }
  const auto device = open_sim(target);
  auto queue = queue_on(device);
  for (; batch < batches; ++batch) {
    const unsigned first = 1 + batch * kBatch;
    const std::string source = programs(first);
    const auto host = compile_for_host(source, std::string(kCommon) + "-O1 -Xclang -ffloat16-excess-precision=none -lm");
    if (!host.ok) FAIL("host, programs " << first << "...: " << host.messages);
    void* const library = ::dlopen(host.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) FAIL(::dlerror());
    for (const char* level : long_tests() ? std::vector{"-O0", "-O1", "-O2", "-O3"} : std::vector{"-O0", "-O2", "-O3"}) {
      const auto code = compile_code_object({.text = source, .target = target, .options = std::string(kCommon) + level});
      if (!code.ok) FAIL(target << " " << level << ", programs " << first << "...: " << code.messages);
      const auto module = Module::load_file(device, code.path);
      if (!module) FAIL(module.error().message());
      for (unsigned program = first; program < first + kBatch; ++program) {
        const std::string wrong = difference(on_host(library, program), on_device(device, queue, *module, program));
        INFO(target << " " << level << ", program " << program);
        CHECK(wrong == "");
        if (!queue.status()) queue = queue_on(device);
      }
    }
    ::dlclose(library);
  }
}

} // namespace

TEST_CASE("differential: programs compiled for gfx90a compute what the host computes") { compare("gfx90a"); }
TEST_CASE("differential: programs compiled for gfx942 compute what the host computes") { compare("gfx942"); }
TEST_CASE("differential: programs compiled for gfx950 compute what the host computes") { compare("gfx950"); }
