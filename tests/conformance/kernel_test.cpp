// Kernels: hidden arguments, LDS, scratch that grows, geometry, code object versions.
#include <numeric>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

TEST_CASE("kernel: hidden arguments say counts, sizes, remainders and dimensions (version 5)") {
  struct View {
    std::uint32_t block_count[3];
    std::uint16_t group_size[3], remainder[3], grid_dims;
    std::uint64_t global_offset[3];
  };
  const auto module = load("hidden_v5");
  auto show = module.kernel("show_hidden");
  REQUIRE(show);
  const auto out = buffer(sizeof(View));
  Kernargs args{*show};
  REQUIRE(args.set_all(out));
  auto q = queue();
  run(q, args, {.grid = {70, 5, 3}, .group = {16, 4, 2}});
  const auto& v = out.as<View>()[0];
  CHECK(v.block_count[0] == 4);
  CHECK(v.block_count[1] == 1);
  CHECK(v.block_count[2] == 1);
  CHECK(v.group_size[0] == 16);
  CHECK(v.remainder[0] == 6);
  CHECK(v.remainder[1] == 1);
  CHECK(v.remainder[2] == 1);
  CHECK(v.grid_dims == 3);
}

TEST_CASE("kernel: LDS belongs to its group") {
  const auto data = buffer(4 * 256 * 40);
  std::iota(data.as<std::uint32_t>().begin(), data.as<std::uint32_t>().end(), 0u);
  auto q = queue();
  run(q, arguments("reverse", data), {.grid = {256 * 40}, .group = {256}});
  const auto words = read<std::uint32_t>(data);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < words.size(); ++i) wrong += words[i] != i / 256 * 256 + 255 - i % 256;
  CHECK(wrong == 0);
}

TEST_CASE("kernel: scratch grows from dispatch to dispatch and stays private") {
  const auto errors = buffer(4);
  auto q = queue();
  for (const char* name : {"private_16", "private_256", "private_1024", "private_16", "private_1024"}) {
    INFO(name);
    run(q, arguments(name, errors), {.grid = {2000}, .group = {128}});
    CHECK(word(errors).load() == 0);
  }
}

TEST_CASE("kernel: scratch of two queues at once is not shared") {
  const auto errors = buffer(4);
  auto a = queue(), b = queue();
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    tickets.push_back(start(a, arguments("private_256", errors), {.grid = {1024}, .group = {256}}));
    tickets.push_back(start(b, arguments("private_1024", errors), {.grid = {1024}, .group = {64}}));
  }
  for (const auto& t : tickets) finish(t);
  CHECK(word(errors).load() == 0);
}

TEST_CASE("kernel: every work-item of any grid and group runs exactly once") {
  struct Shape {
    Dim3 grid, group;
  };
  const auto s = GENERATE(Shape{{1}, {1}}, Shape{{63}, {63}}, Shape{{65}, {64}}, Shape{{1000}, {1000}}, Shape{{1023}, {17}}, Shape{{5000}, {256}}, Shape{{7, 5, 3}, {4, 4, 2}}, Shape{{1, 300, 1}, {1, 256, 1}},
                          Shape{{1, 1, 40}, {1, 1, 7}}, Shape{{33, 31, 9}, {8, 8, 8}}, Shape{{100, 100, 1}, {32, 32, 1}});
  const std::uint32_t total = s.grid.x * s.grid.y * s.grid.z;
  const auto visits = buffer(4 * total);
  auto q = queue();
  run(q, arguments("visit", visits, s.grid.x, s.grid.y, s.group.x, s.group.y, s.group.z), {.grid = s.grid, .group = s.group});
  const auto words = read<std::uint32_t>(visits);
  CHECK(std::count(words.begin(), words.end(), 1u) == total);
}

TEST_CASE("kernel: the tiled GEMM of a version-4 file gives exact sums") {
  const auto module = load("gemm_v4");
  auto gemm = module.kernel("gemm_f16");
  REQUIRE(gemm);
  constexpr std::uint32_t m = 70, n = 133, k = 44;
  std::vector<num::f16> a(m * k), b(n * k);
  for (std::uint32_t i = 0; i < m * k; ++i) a[i] = num::f16::from_float(static_cast<float>(i % 7) - 3.0f);
  for (std::uint32_t i = 0; i < n * k; ++i) b[i] = num::f16::from_float(static_cast<float>(i % 5) - 2.0f);
  const auto da = buffer(a.size() * 2, PoolKind::device_coarse), db = buffer(b.size() * 2, PoolKind::device_coarse), dc = buffer(m * n * 4, PoolKind::device_coarse);
  REQUIRE(da.write(a));
  REQUIRE(db.write(b));
  Kernargs args{*gemm};
  REQUIRE(args.set_all(da, db, dc, m, n, k));
  auto q = queue();
  run(q, args, {.grid = {2 * 256, 1}, .group = {256}});
  const auto c = read<float>(dc);
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::uint32_t x = 0; x < k; ++x) sum += a[i * k + x].to_float() * b[j * k + x].to_float();
      wrong += c[i * n + j] != sum;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("kernel: a version-6 file loads, or the message says what to compile") {
  const auto module = Module::load_file(device(), std::string{AQL_TEST_KERNEL_DIR} + "/hidden_v6." + device().info().target + ".co");
  if (module) {
    SUCCEED();
    return;
  }
  CHECK(device().info().driver == "rocr"); // only a runtime's own loader may be too old
  CHECK(module.error().code == Errc::invalid_code_object);
  CHECK_THAT(module.error().detail, Catch::Contains("-mcode-object-version"));
}

TEST_CASE("kernel: modules come and go while others run") {
  const auto counter = buffer(4);
  auto q = queue();
  for (int i = 0; i < 10; ++i) {
    const auto module = load();
    auto k = module.kernel("add_one");
    REQUIRE(k);
    Kernargs args{*k};
    REQUIRE(args.set_all(counter));
    (void)start(q, args); // the launch keeps the module
  }
  REQUIRE(q.drain(soon()));
  CHECK(word(counter).load() == 10);
}

TEST_CASE("kernel: code for xnack or sramecc on or off runs where the device has it so, and is refused by name where not") {
  const std::string feature = GENERATE(as<std::string>{}, "xnack", "sramecc");
  const std::string state = GENERATE(as<std::string>{}, "on", "off");
  const auto& info = device().info();
  const bool fits = (feature == "xnack" ? info.xnack : info.sramecc) == (state == "on");
  const auto module = Module::load_file(device(), std::string{AQL_TEST_KERNEL_DIR} + "/variant_" + feature + "_" + state + "." + info.target + ".co");
  INFO(feature << " " << state << " on " << info.isa);
  if (!fits) {
    REQUIRE_FALSE(module);
    CHECK(module.error().message().find("needs " + feature + " " + state) != std::string::npos);
    return;
  }
  REQUIRE(module);
  const auto out = buffer(4 * 64);
  auto q = queue();
  Kernargs kernargs{module->kernel("answer").value()};
  REQUIRE(kernargs.set_all(out));
  run(q, kernargs, {.grid = {64}, .group = {64}});
  CHECK(read<std::uint32_t>(out) == std::vector<std::uint32_t>(64, 42));
}
