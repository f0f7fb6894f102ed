// Launches of compiled kernels: hidden arguments, kernarg segments, ids, partial groups, LDS, scratch, MFMA, at every level.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "run_support.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

namespace {

std::string target() { return GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950"); }
std::string level() { return GENERATE(as<std::string>{}, "_O0", "_O2", "_O3"); }

struct LaunchView {
  std::uint32_t block_count[3];
  std::uint16_t group_size[3], remainder[3], grid_dims;
  std::uint64_t global_offset[3];
};

struct ServicesView {
  std::uint64_t printf_buffer, hostcall, multigrid, heap;
};

LaunchView view_launch(const Device& device, const std::string& file, Dim3 grid, Dim3 group, std::uint32_t dynamic_lds) {
  const auto module = load(device, file);
  const auto out = buffer_of(device, sizeof(LaunchView), PoolKind::host_fine);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "show_hidden"), out), {.grid = grid, .group = group, .dynamic_lds = dynamic_lds}));
  return out.as<LaunchView>()[0];
}

} // namespace

TEST_CASE("launch: vector_add gives the sums, also in a partial last group") {
  const auto device = open_sim(target());
  const auto module = load(device, "basics" + level());
  constexpr std::uint32_t n = 300;
  const auto a = buffer_of(device, n * 4), b = buffer_of(device, n * 4), c = buffer_of(device, n * 4);
  for (std::uint32_t i = 0; i < n; ++i) {
    a.as<float>()[i] = static_cast<float>(i);
    b.as<float>()[i] = 0.25f;
  }
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "vector_add"), a, b, c, n), {.grid = {n}, .group = {128}}));
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.as<float>()[i] == static_cast<float>(i) + 0.25f);
}

TEST_CASE("launch: the reference MFMA loop gives 48 everywhere") {
  const auto device = open_sim(target());
  const auto module = load(device, "mfma_loop" + level());
  const auto out = buffer_of(device, 64), a = buffer_of(device, 24), b = buffer_of(device, 24);
  std::ranges::fill(a.as<num::f16>(), num::f16::from_float(1.0f));
  std::ranges::fill(b.as<num::f16>(), num::f16::from_float(2.0f));
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "gemm_tile"), out, a, b, 3), {.grid = {256}, .group = {256}}));
  for (const float v : out.as<float>()) CHECK(v == 48.0f);
}

TEST_CASE("launch: LDS reduction sums exactly") {
  const auto device = open_sim(target());
  const auto module = load(device, "reduce" + level());
  constexpr std::uint32_t n = 10'000;
  const auto in = buffer_of(device, n * 4), out = buffer_of(device, 4);
  std::iota(in.as<int>().begin(), in.as<int>().end(), -17);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "sum"), in, out, n), {.grid = {1024}, .group = {256}}));
  CHECK(out.as<int>()[0] == std::accumulate(in.as<int>().begin(), in.as<int>().end(), 0));
}

TEST_CASE("launch: the tiled GEMM is right with ragged edges") {
  const auto device = open_sim(target());
  const auto module = load(device, "gemm" + level());
  constexpr std::uint32_t m = 70, n = 133, k = 44;
  const auto a = buffer_of(device, m * k * 2), b = buffer_of(device, n * k * 2), c = buffer_of(device, m * n * 4);
  // Small integers: every product and sum is exact in f32, so the result must be too.
  for (std::uint32_t i = 0; i < m * k; ++i) a.as<num::f16>()[i] = num::f16::from_float(static_cast<float>(i % 7) - 3.0f);
  for (std::uint32_t i = 0; i < n * k; ++i) b.as<num::f16>()[i] = num::f16::from_float(static_cast<float>(i % 5) - 2.0f);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "gemm_f16"), a, b, c, m, n, k), {.grid = {2 * 256, 1}, .group = {256}}));
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::uint32_t x = 0; x < k; ++x) sum += a.as<num::f16>()[i * k + x].to_float() * b.as<num::f16>()[j * k + x].to_float();
      REQUIRE(c.as<float>()[i * n + j] == sum);
    }
  }
}

TEST_CASE("launch: preloaded kernel arguments arrive") {
  const auto device = open_sim(target());
  const auto module = load(device, "basics_preload");
  const auto out = buffer_of(device, 4);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "store_value"), out, 77u), {.grid = {64}, .group = {64}}));
  CHECK(out.as<std::uint32_t>()[0] == 77);
}

TEST_CASE("hidden arguments: counts, sizes and remainders as launched (100 by 64)") {
  const auto device = open_sim(target());
  const auto v = view_launch(device, GENERATE(as<std::string>{}, "hidden_v5", "hidden_v6", "hidden_O0"), {100, 1, 1}, {64, 1, 1}, 0);
  CHECK(v.block_count[0] == 1);
  CHECK(v.block_count[1] == 1);
  CHECK(v.block_count[2] == 1);
  CHECK(v.group_size[0] == 64);
  CHECK(v.group_size[1] == 1);
  CHECK(v.remainder[0] == 36);
  CHECK(v.remainder[1] == 0);
  CHECK(v.grid_dims == 1);
  for (const auto offset : v.global_offset) CHECK(offset == 0);
}

TEST_CASE("hidden arguments: three dimensions with partial groups (7x5x3 by 4x4x2)") {
  const auto device = open_sim(target());
  const auto v = view_launch(device, GENERATE(as<std::string>{}, "hidden_v5", "hidden_v6"), {7, 5, 3}, {4, 4, 2}, 0);
  CHECK(v.block_count[0] == 1);
  CHECK(v.block_count[1] == 1);
  CHECK(v.block_count[2] == 1);
  CHECK(v.group_size[0] == 4);
  CHECK(v.group_size[1] == 4);
  CHECK(v.group_size[2] == 2);
  CHECK(v.remainder[0] == 3);
  CHECK(v.remainder[1] == 1);
  CHECK(v.remainder[2] == 1);
  CHECK(v.grid_dims == 3);
}

TEST_CASE("hidden arguments: two dimensions") {
  const auto v = view_launch(open_sim("gfx942"), "hidden_v5", {64, 2, 1}, {64, 1, 1}, 0);
  CHECK(v.grid_dims == 2);
  CHECK(v.block_count[1] == 2);
}

TEST_CASE("hidden arguments: dynamic LDS is told to the kernel, and all of it works") {
  const auto device = open_sim(target());
  const auto module = load(device, GENERATE(as<std::string>{}, "hidden_v5", "hidden_v6", "hidden_O0"));
  const auto out = buffer_of(device, 8);
  auto queue = queue_on(device);
  const std::uint32_t words = device.info().lds_bytes / 4;
  check(run(queue, arguments(kernel_of(module, "use_dynamic_lds"), out), {.grid = {64}, .group = {64}, .dynamic_lds = words * 4}));
  CHECK(out.as<std::uint32_t>()[0] == words * 4);
  CHECK(out.as<std::uint32_t>()[1] == words * (words - 1) / 2 * 3);
}

TEST_CASE("hidden arguments: pointers to services that aql does not have are null") {
  const auto device = open_sim(target());
  const auto module = load(device, "hidden_O0");
  const auto out = buffer_of(device, sizeof(ServicesView));
  REQUIRE(out.fill(std::byte{0xa5}));
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "show_services"), out), {.grid = {64}, .group = {64}}));
  const auto& v = out.as<ServicesView>()[0];
  CHECK(v.printf_buffer == 0);
  CHECK(v.hostcall == 0);
  CHECK(v.multigrid == 0);
  CHECK(v.heap == 0);
}

TEST_CASE("hidden arguments: a kernel that asks for a host service by name is refused with the reason") {
  const auto device = open_sim(target());
  const auto module = load(device, "hidden_v5");
  const auto out = buffer_of(device, sizeof(ServicesView));
  auto queue = queue_on(device);
  const auto refused = launch(queue, arguments(kernel_of(module, "show_services"), out), {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
  CHECK_THAT(refused.error().detail, Contains("show_services") && Contains("hostcall"));
}

TEST_CASE("ids: every work-item sees its place and the size of a full group, V4 to V6") {
  const auto device = open_sim(target());
  const auto module = load(device, GENERATE(as<std::string>{}, "hidden_v4", "hidden_v5", "hidden_v6", "hidden_O0"));
  struct Place {
    std::uint32_t item[3], group[3], size[3];
  };
  constexpr std::uint32_t w = 7, h = 5, d = 3;
  const auto out = buffer_of(device, w * h * d * sizeof(Place));
  REQUIRE(out.fill(std::byte{0xee}));
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "show_ids"), out, w, h), {.grid = {w, h, d}, .group = {4, 4, 2}}));
  const std::uint32_t full[3] = {4, 4, 2};
  for (std::uint32_t z = 0; z < d; ++z) {
    for (std::uint32_t y = 0; y < h; ++y) {
      for (std::uint32_t x = 0; x < w; ++x) {
        const auto& p = out.as<Place>()[(z * h + y) * w + x];
        const std::uint32_t at[3] = {x, y, z};
        for (int i = 0; i < 3; ++i) {
          REQUIRE(p.item[i] == at[i] % full[i]);
          REQUIRE(p.group[i] == at[i] / full[i]);
          REQUIRE(p.size[i] == full[i]); // the builtin gives the launched size, also in a partial group
        }
      }
    }
  }
}

TEST_CASE("kernarg: bytes behind the explicit arguments are zero although the pool is dirty") {
  const auto device = open_sim(target());
  const auto module = load(device, "hidden" + level());
  const auto kernel = kernel_of(module, "show_kernarg");
  const auto out = buffer_of(device, 96);
  auto queue = queue_on(device);
  // Many launches recycle blocks; the big ones leave non-zero bytes everywhere.
  const auto big = kernel_of(module, "sum_big");
  std::array<std::uint32_t, 768> words{};
  words.fill(0xA5A5A5A5);
  for (int i = 0; i < 200; ++i) check(run(queue, arguments(big, out, words), {.grid = {64}, .group = {64}}));
  check(run(queue, arguments(kernel, out, std::uint64_t{40}, std::uint64_t{2}), {.grid = {128}, .group = {128}}));
  CHECK(out.as<std::uint8_t>()[80] == 42);
  // Offsets 24..39 of the hidden block are reserved, 72..119 pointers to services that are null.
  for (std::size_t i = 24; i < 40; ++i) CHECK(out.as<std::uint8_t>()[i] == 0);
  for (std::size_t i = 72; i < 80; ++i) CHECK(out.as<std::uint8_t>()[i] == 0);
}

TEST_CASE("kernarg: a 3 KiB structure by value arrives whole") {
  const auto device = open_sim(target());
  const auto module = load(device, "hidden" + level());
  const auto out = buffer_of(device, 4);
  std::array<std::uint32_t, 768> words{};
  std::iota(words.begin(), words.end(), 5u);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "sum_big"), out, words), {.grid = {64}, .group = {64}}));
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < 768; ++i) expected += words[i] * (i + 1);
  CHECK(out.as<std::uint32_t>()[0] == expected);
}

TEST_CASE("kernarg: a kernel without arguments needs none") {
  const auto device = open_sim(target());
  const auto module = load(device, "hidden_v5");
  auto queue = queue_on(device);
  check(run(queue, Kernargs{kernel_of(module, "no_arguments")}, {.grid = {64}, .group = {64}}));
}

TEST_CASE("kernargs: wrong sizes, kinds, counts and names are refused by argument") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "basics_O2");
  const auto buffer = buffer_of(device, 64);
  Kernargs args{kernel_of(module, "store_value")};
  CHECK(args.explicit_count() == 2);
  CHECK_THAT(args.set(1, std::uint64_t{1}).error().detail, Contains("argument 1") && Contains("4 bytes") && Contains("8 were given"));
  CHECK_THAT(args.set(1, buffer).error().detail, Contains("by value"));
  CHECK_THAT(args.set(2, 1u).error().detail, Contains("2 explicit arguments"));
  CHECK_THAT(args.set("nothing", 1u).error().detail, Contains("nothing"));
  CHECK_THAT(args.set_all(buffer).error().detail, Contains("1 were given"));
  CHECK_THAT(args.complete().error().detail, Contains("argument 0"));
  const std::array<std::byte, 16> blob{};
  CHECK_THAT(args.set_blob(blob).error().detail, Contains("take 12 bytes") && Contains("has 16"));
  CHECK_THAT(args.set_blob(std::span{blob}.first(8)).error().detail, Contains("has 8"));
  CHECK(args.set_blob(std::span{blob}.first(12)));
}

TEST_CASE("kernargs: a launch with an argument missing is refused and nothing is submitted") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "basics_O2");
  auto queue = queue_on(device);
  const auto ticket = launch(queue, Kernargs{kernel_of(module, "store_value")}, {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ticket);
  CHECK(ticket.error().code == Errc::invalid_argument);
  CHECK(queue.ring().write_index() == 0);
}

TEST_CASE("scratch: kernels with small and large private arrays alternate without seeing each other") {
  const auto device = open_sim(target(), GENERATE(1u, 4u));
  const auto module = load(device, "private" + level());
  const auto small = kernel_of(module, "private_small"), large = kernel_of(module, "private_large");
  const auto errors = buffer_of(device, 4);
  auto queue = queue_on(device);
  for (const std::uint32_t groups : {1u, 64u, 65u}) {
    for (const std::uint32_t group : {64u, 320u}) {
      check(run(queue, arguments(small, errors, groups), {.grid = {groups * group}, .group = {group}}));
      check(run(queue, arguments(large, errors, groups), {.grid = {groups * group}, .group = {group}}));
    }
  }
  CHECK(errors.as<std::uint32_t>()[0] == 0);
}

TEST_CASE("scratch: 128000 bytes of private memory a work-item work") {
  const auto device = open_sim(target());
  const auto module = load(device, "private_O2");
  const auto errors = buffer_of(device, 4);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "private_huge"), errors, 1u), {.grid = {640}, .group = {64}}));
  CHECK(errors.as<std::uint32_t>()[0] == 0);
}
