// The largest of everything works in a compiled kernel, and one more is refused by a message that names the limit.

#include <string>
#include <vector>

#include "run_support.hpp"
#include "support/compile.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

namespace {

std::string target() { return GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950"); }

// 32,763 dwords and the 4 bytes that clang adds: 131,056 bytes.
constexpr std::uint32_t kLargestPrivate = 131'056, kDwords = 32'763;
constexpr std::string_view kFillPrivate = R"(
#define GLOBAL __attribute__((address_space(1)))
__attribute__((amdgpu_kernel)) void fill_private(GLOBAL unsigned *out, unsigned seed) {
  volatile unsigned a[COUNT];
  const unsigned id = __builtin_amdgcn_workitem_id_x();
  for (unsigned n = 0; n < COUNT; ++n) a[n] = n * seed + id;
  unsigned sum = 0;
  for (unsigned n = 0; n < COUNT; ++n) sum = sum * 31 + a[n];
  out[id] = sum;
})";

std::uint32_t expected_sum(std::uint32_t seed, std::uint32_t id) {
  std::uint32_t sum = 0;
  for (std::uint32_t n = 0; n < kDwords; ++n) sum = sum * 31 + (n * seed + id);
  return sum;
}

Module largest_private(const Device& device) {
  const auto code = compile_code_object({.text = kFillPrivate, .target = device.info().target, .options = "-O2 -DCOUNT=32763"});
  if (!code.ok) FAIL(code.messages);
  auto module = Module::load_file(device, code.path);
  if (!module) FAIL(module.error().message());
  return *module;
}

} // namespace

TEST_CASE("limits: 131,056 bytes of private memory a work-item work") {
  const auto device = open_sim(target());
  const auto module = largest_private(device);
  REQUIRE(kernel_of(module, "fill_private").info().private_segment_size == kLargestPrivate);
  const auto out = buffer_of(device, 64 * 4);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "fill_private"), out, 77u), {.grid = {64}, .group = {64}}));
  for (std::uint32_t id = 0; id < 64; id += 21) CHECK(out.as<std::uint32_t>()[id] == expected_sum(77, id));
}

TEST_CASE("limits: a packet that asks for more private memory is refused, and the limit is named") {
  const auto device = open_sim(target());
  const auto module = largest_private(device);
  const auto out = buffer_of(device, 64 * 4);
  auto queue = queue_on(device);
  auto prepared = PreparedDispatch::create(queue, arguments(kernel_of(module, "fill_private"), out, 77u), {.grid = {64}, .group = {64}});
  REQUIRE(prepared);
  prepared->packet().private_bytes = kLargestPrivate + 16;
  const auto done = queue.submit(prepared->packet()).wait();
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::out_of_resources);
  CHECK_THAT(done.error().message(), Contains("131056"));
}

TEST_CASE("limits: a byte more LDS than a compute unit has is refused, and the limit is named") {
  const auto device = open_sim(target());
  CHECK(device.info().lds_bytes == (device.info().target == "gfx950" ? 163'840u : 65'536u));
  const auto module = load(device, "hidden_v5");
  const auto out = buffer_of(device, 8);
  auto queue = queue_on(device);
  const auto done = run(queue, arguments(kernel_of(module, "use_dynamic_lds"), out), {.grid = {64}, .group = {64}, .dynamic_lds = device.info().lds_bytes + 1});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid_allocation);
  CHECK_THAT(done.error().message(), Contains(std::to_string(device.info().lds_bytes)));
}

TEST_CASE("limits: 100,000 workgroups of a compiled kernel all run") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "basics_O3");
  constexpr std::uint32_t n = 100'000;
  const auto a = buffer_of(device, n * 4), b = buffer_of(device, n * 4), c = buffer_of(device, n * 4);
  for (std::uint32_t i = 0; i < n; ++i) {
    a.as<float>()[i] = static_cast<float>(i);
    b.as<float>()[i] = 1.0f;
  }
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "vector_add"), a, b, c, n), {.grid = {n}, .group = {1}}));
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < n; ++i) wrong += c.as<float>()[i] != static_cast<float>(i) + 1.0f ? 1u : 0u;
  CHECK(wrong == 0);
}
