// Pools, pinned memory, copies and fills of the kfd driver.

#include <cstdlib>
#include <numeric>
#include <vector>

#include "kfd_support.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

namespace {

std::vector<std::uint32_t> counting(std::size_t n, std::uint32_t from = 1) {
  std::vector<std::uint32_t> v(n);
  std::iota(v.begin(), v.end(), from);
  return v;
}

} // namespace

TEST_CASE("kfd memory: what is written to any pool is read back") {
  const auto device = open_device();
  const auto kind = GENERATE(PoolKind::device_coarse, PoolKind::device_fine, PoolKind::host_fine, PoolKind::host_coarse, PoolKind::kernarg, PoolKind::executable);
  const auto buffer = need(device.allocate(kind, 40'000, "buffer"));
  const auto data = counting(10'000);
  need(buffer.write(data.data(), 40'000));
  std::vector<std::uint32_t> back(10'000);
  need(buffer.read(back.data(), 40'000));
  CHECK(back == data);
}

TEST_CASE("kfd memory: host pools are at one address for host and device, device pools have no host address") {
  const auto device = open_device();
  const auto host = need(device.allocate(PoolKind::host_fine, 100));
  const auto own = need(device.allocate(PoolKind::device_coarse, 100));
  CHECK(reinterpret_cast<std::uint64_t>(host.host().data()) == host.device_address());
  CHECK(own.host().empty());
}

TEST_CASE("kfd memory: megabytes go from device to device and back in order") {
  const auto device = open_device();
  constexpr std::size_t n = 9'000'001; // neither a multiple of a page nor of the engine's largest copy
  const auto a = need(device.allocate(PoolKind::device_coarse, n * 4));
  const auto b = need(device.allocate(PoolKind::device_coarse, n * 4));
  const auto data = counting(n, 77);
  need(a.write(data.data(), n * 4));
  need(device.copy(b.device_address(), a.device_address(), n * 4));
  std::vector<std::uint32_t> back(n);
  need(b.read(back.data(), n * 4));
  CHECK(back == data);
}

TEST_CASE("kfd memory: a fill covers the whole buffer, odd bytes included") {
  const auto device = open_device();
  const auto buffer = need(device.allocate(PoolKind::device_coarse, 3'000'003));
  need(buffer.fill(std::byte{0x5a}));
  std::vector<std::byte> back(3'000'003);
  need(buffer.read(back.data(), back.size()));
  CHECK(std::all_of(back.begin(), back.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
}

TEST_CASE("kfd memory: a wild host pointer is an error, not a crash") {
  const auto device = open_device();
  const auto buffer = need(device.allocate(PoolKind::device_coarse, 4096));
  const auto refused = buffer.write(reinterpret_cast<const void*>(0x1000), 4096);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK_THAT(refused.error().detail, Contains("0x1000") && Contains("source"));
}

TEST_CASE("kfd memory: more than the card has is refused with what it has") {
  const auto device = open_device();
  const auto refused = device.allocate(PoolKind::device_coarse, std::size_t{1} << 40);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_resources);
  CHECK_THAT(refused.error().detail, Contains("1099511627776") && Contains(std::to_string(device.info().memory_bytes)));
}

TEST_CASE("kfd memory: a kernel works on pinned memory of the program") {
  const auto device = open_device();
  const auto kernel = kernel_of(device, "basics_O2", "scale_add");
  auto queue = need(Queue::create(device, {.packets = 64}));
  std::vector<std::uint32_t> data = counting(5000);
  const auto pinned = need(device.pin(data.data(), data.size() * 4, "mine"));
  need(run(queue, arguments(kernel, pinned, 5000u, 3u, 1u), {.grid = {5120}, .group = {64}}));
  bool all = true;
  for (std::uint32_t i = 0; i < 5000; ++i) all = all && data[i] == (i + 1) * 3 + 1;
  CHECK(all);
}

TEST_CASE("kfd memory: pinned twice, memory stays until it is unpinned twice") {
  const auto device = open_device();
  const auto kernel = kernel_of(device, "basics_O2", "store_value");
  auto queue = need(Queue::create(device, {.packets = 64}));
  auto* const page = static_cast<std::uint32_t*>(std::aligned_alloc(4096, 4096));
  page[0] = 0;
  {
    auto* driver = device.driver().get();
    const auto first = need(driver->pin(page, 4096, true));
    const auto second = need(driver->pin(page, 4096, true));
    CHECK(first.device_address == second.device_address);
    need(driver->unpin(second));
    Kernargs args{kernel};
    need(args.set_address(0, first.device_address));
    need(args.set(1, 9u));
    need(run(queue, args, {.grid = {64}, .group = {64}}));
    CHECK(page[0] == 9);
    need(driver->unpin(first));
    CHECK_FALSE(driver->unpin(first));
  }
  std::free(page);
}

TEST_CASE("kfd memory: read-only pinning is refused with the reason") {
  const auto device = open_device();
  std::vector<std::uint32_t> data(1024);
  const auto refused = device.pin(data.data(), 4096, "mine", PinAccess::read_only);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
}

TEST_CASE("kfd memory: code that replaces other code at the same address is what runs") {
  const auto device = open_device();
  auto queue = need(Queue::create(device, {.packets = 64}));
  const auto out = need(device.allocate(PoolKind::host_fine, 256));
  for (std::uint32_t round = 0; round < 6; ++round) {
    out.as<std::uint32_t>()[0] = 0;
    const bool add = round % 2 == 0; // the module goes at the end of each round
    const auto kernel = add ? kernel_of(device, "basics_O2", "count") : kernel_of(device, "basics_O2", "store_value");
    Kernargs args{kernel};
    need(args.set(0, out));
    if (!add) need(args.set(1, 1000u));
    need(run(queue, args, {.grid = {128}, .group = {64}}));
    CHECK(out.as<std::uint32_t>()[0] == (add ? 2 : 1000));
  }
}
