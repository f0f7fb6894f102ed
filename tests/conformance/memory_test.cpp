// Memory: pools, coherence kinds, copies, fills, pinned memory.
#include <numeric>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

namespace {

PoolKind any_kind() { return GENERATE(PoolKind::device_coarse, PoolKind::device_fine, PoolKind::host_fine, PoolKind::host_coarse, PoolKind::kernarg); }

// Nothing if the device has no such pool: the reason is then printed as the skip's.
std::optional<Buffer> try_buffer(PoolKind kind, std::size_t bytes) {
  auto made = device().allocate(kind, bytes, "conformance");
  if (made) return std::move(*made);
  if (made.error().code != Errc::unsupported) FAIL(made.error().message());
  test::note_skip(made.error().message());
  return std::nullopt;
}

} // namespace

TEST_CASE("memory: every kind is written by kernels and read back, and the other way round") {
  const auto kind = any_kind();
  auto memory = try_buffer(kind, 4096);
  if (!memory) return;
  std::vector<std::uint32_t> values(1024);
  std::iota(values.begin(), values.end(), 7u);
  REQUIRE(memory->write(values));
  const auto out = buffer(4096);
  auto q = queue();
  run(q, arguments("copy_words", *memory, out, 1024u), {.grid = {1024}, .group = {256}});
  CHECK(read<std::uint32_t>(out) == values);
  REQUIRE(memory->fill(std::byte{0}));
  run(q, arguments("copy_words", out, *memory, 1024u), {.grid = {1024}, .group = {256}});
  CHECK(read<std::uint32_t>(*memory) == values);
}

TEST_CASE("memory: host kinds have a host view at once") {
  for (const auto kind : {PoolKind::host_fine, PoolKind::host_coarse, PoolKind::kernarg}) {
    const auto memory = buffer(64, kind);
    CHECK(memory.host().size() == 64);
  }
}

TEST_CASE("memory: fine-grained host memory shows a running kernel's stores, and shows it the host's") {
  const auto table = buffer(8);
  auto q = queue();
  const auto ticket = start(q, arguments("answer", table, 100u));
  for (std::uint32_t k = 0; k < 100; ++k) {
    table.as<std::uint32_t>()[1] = k;
    word(table).store(2 * k + 1, std::memory_order_release);
    const auto until = soon();
    while (word(table).load(std::memory_order_acquire) != 2 * k + 2 && !until.passed()) {
    }
    REQUIRE(table.as<std::uint32_t>()[1] == k * k);
  }
  finish(ticket);
}

TEST_CASE("memory: allocations do not overlap and are aligned") {
  std::vector<Buffer> all;
  for (const std::size_t bytes : {1u, 100u, 4096u, 70000u, 1u << 20}) all.push_back(buffer(bytes, PoolKind::device_coarse));
  for (const auto& a : all) {
    CHECK(a.device_address() % 256 == 0);
    for (const auto& b : all) CHECK((&a == &b || a.device_address() + a.size_bytes() <= b.device_address() || b.device_address() + b.size_bytes() <= a.device_address()));
  }
}

TEST_CASE("memory: more than the device has, and nothing, are refused") {
  const auto huge = device().allocate(PoolKind::device_coarse, std::size_t{1} << 50);
  REQUIRE_FALSE(huge);
  CHECK(huge.error().code == Errc::out_of_resources);
  CHECK(device().allocate(PoolKind::device_coarse, 0).error().code == Errc::invalid_argument);
}

TEST_CASE("memory: copies of odd sizes at odd offsets in every direction move exactly their bytes") {
  const auto bytes = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{4095}, std::size_t{65537}, std::size_t{3} << 20);
  const auto a = buffer(bytes + 64, PoolKind::device_coarse), b = buffer(bytes + 64, PoolKind::device_coarse);
  std::vector<std::uint8_t> from(bytes), back(bytes + 64, 0xee);
  for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::uint8_t>(i * 31 + i / 255);
  REQUIRE(device().copy_to_device(a.device_address() + 5, from.data(), bytes));
  REQUIRE(device().copy(b.device_address() + 11, a.device_address() + 5, bytes));
  REQUIRE(device().copy_to_host(back.data(), b.device_address(), bytes + 64));
  CHECK(std::equal(from.begin(), from.end(), back.begin() + 11));
  CHECK(back[10] == 0);
  CHECK(back[bytes + 11] == 0);
}

TEST_CASE("memory: copies that leave a buffer, overlap, or come from nowhere are refused and change nothing") {
  const auto a = buffer(4096, PoolKind::device_coarse);
  std::vector<std::byte> host(8192, std::byte{1});
  CHECK(device().copy_to_device(a.device_address() + 4000, host.data(), 200).error().code == Errc::invalid_argument);
  CHECK(device().copy(a.device_address() + 8, a.device_address(), 64).error().code == Errc::invalid_argument);
  CHECK(device().copy_to_device(a.device_address(), reinterpret_cast<const void*>(0x1000), 64).error().code == Errc::invalid_argument);
  CHECK(read<std::uint32_t>(a) == std::vector<std::uint32_t>(1024, 0));
}

TEST_CASE("memory: fill32 stores its pattern exactly so often") {
  const auto a = buffer(4096, PoolKind::device_coarse);
  REQUIRE(device().fill32(a.device_address() + 8, 0xabcd1234u, 1000));
  const auto words = read<std::uint32_t>(a);
  CHECK(words[1] == 0);
  CHECK(std::count(words.begin(), words.end(), 0xabcd1234u) == 1000);
  CHECK(words[1002] == 0);
  CHECK(device().fill32(a.device_address() + 2, 1, 1).error().code == Errc::invalid_argument);
}

TEST_CASE("memory: pinned host memory is used by kernels in place") {
  std::vector<std::uint32_t> host(4096, 5), out(4096, 0);
  const auto from = device().pin(host.data(), 16384), to = device().pin(out.data(), 16384);
  REQUIRE(from);
  REQUIRE(to);
  auto q = queue();
  run(q, arguments("copy_words", *from, *to, 4096u), {.grid = {1024}, .group = {256}});
  CHECK(out == host);
}

TEST_CASE("memory: an address inside an allocation is found, one outside is not") {
  const auto a = buffer(4096, PoolKind::device_coarse);
  const auto info = device().pointer_info(a.device_address() + 100);
  REQUIRE(info);
  CHECK(info->base == a.device_address());
  CHECK(info->offset == 100);
  CHECK(info->kind == PoolKind::device_coarse);
  CHECK_FALSE(device().pointer_info(0x10));
}

TEST_CASE("memory: a module's global is read, written and used by kernels") {
  const auto module = load();
  const auto global = module.global("conformance_global");
  REQUIRE(global);
  CHECK(global->size_bytes == 4);
  std::uint32_t value = 0;
  REQUIRE(device().copy_to_host(&value, global->device_address, 4));
  CHECK(value == 1234);
  auto k = module.kernel("add_to_global");
  REQUIRE(k);
  Kernargs args{*k};
  REQUIRE(args.set_all(6u));
  auto q = queue();
  run(q, args);
  REQUIRE(device().copy_to_host(&value, global->device_address, 4));
  CHECK(value == 1240);
  value = 99;
  REQUIRE(device().copy_to_device(global->device_address, &value, 4));
  run(q, args);
  REQUIRE(device().copy_to_host(&value, global->device_address, 4));
  CHECK(value == 105);
}
