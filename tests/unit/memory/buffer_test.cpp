// Buffers, raw allocations, copies, pinned ranges and pointer queries on the software GPU.

#include <aql/device.hpp>
#include <aql/memory.hpp>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace aql;
using Catch::Matchers::Contains;

namespace {

Device open() {
  auto device = Device::open(Select{.selector = "sim:gfx942", .target = {}, .sim = {}, .exclusive = true});
  REQUIRE(device);
  return *device;
}

Buffer allocate(const Device& device, std::size_t size, PoolKind kind = PoolKind::device_coarse, std::string_view label = {}) {
  auto buffer = device.allocate(kind, size, label);
  REQUIRE(buffer);
  return std::move(*buffer);
}

} // namespace

TEST_CASE("buffer: every pool gives aligned memory of the asked size, zero at first") {
  const auto device = open();
  for (const auto kind : {PoolKind::device_coarse, PoolKind::device_fine, PoolKind::host_fine, PoolKind::host_coarse, PoolKind::kernarg, PoolKind::executable}) {
    const auto buffer = allocate(device, 1000, kind);
    CHECK(buffer.kind() == kind);
    CHECK(buffer.size_bytes() == 1000);
    CHECK(buffer.device_address() % 256 == 0);
    REQUIRE(buffer.host().size() == 1000);
    CHECK(std::accumulate(buffer.as<unsigned char>().begin(), buffer.as<unsigned char>().end(), 0) == 0);
  }
}

TEST_CASE("buffer: typed views hold whole elements only") {
  const auto device = open();
  CHECK(allocate(device, 10).as<std::uint32_t>().size() == 2);
}

TEST_CASE("buffer: what is written is read, at any offset") {
  const auto device = open();
  const auto buffer = allocate(device, 64);
  const std::array<int, 4> in{1, 2, 3, 4};
  REQUIRE(buffer.write(in, 16));
  std::array<int, 4> out{};
  REQUIRE(buffer.read(out, 16));
  CHECK(out == in);
}

TEST_CASE("buffer: a write that leaves the buffer is refused and changes nothing") {
  const auto device = open();
  const auto buffer = allocate(device, 16);
  const std::array<std::byte, 8> ones{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}};
  const auto done = buffer.write(ones.data(), ones.size(), 9);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid_argument);
  CHECK_THAT(done.error().detail, Contains("8 bytes at offset 9") && Contains("16 bytes"));
  CHECK(buffer.as<unsigned char>()[15] == 0);
}

TEST_CASE("buffer: nothing is allocated for 0 bytes") {
  const auto buffer = open().allocate(PoolKind::device_coarse, 0);
  REQUIRE_FALSE(buffer);
  CHECK(buffer.error().code == Errc::invalid_argument);
}

TEST_CASE("buffer: more than the device has is out of resources, with the numbers") {
  const auto device = open();
  const auto buffer = device.allocate(PoolKind::device_coarse, device.info().memory_bytes + 1);
  REQUIRE_FALSE(buffer);
  CHECK(buffer.error().code == Errc::out_of_resources);
  CHECK_THAT(buffer.error().detail, Contains(std::to_string(device.info().memory_bytes)));
}

TEST_CASE("buffer: freed memory counts as free again") {
  const auto device = open();
  const auto half = device.info().memory_bytes / 2 + 1;
  auto first = allocate(device, half);
  CHECK_FALSE(device.allocate(PoolKind::device_coarse, half));
  REQUIRE(first.free());
  CHECK(device.allocate(PoolKind::device_coarse, half));
}

TEST_CASE("buffer: a second free is an error") {
  auto buffer = allocate(open(), 64);
  REQUIRE(buffer.free());
  const auto again = buffer.free();
  REQUIRE_FALSE(again);
  CHECK_THAT(again.error().detail, Contains("freed before"));
}

TEST_CASE("buffer: use after free is an error") {
  auto buffer = allocate(open(), 64);
  REQUIRE(buffer.free());
  int word = 0;
  CHECK_FALSE(buffer.write(&word, sizeof word));
  CHECK_FALSE(buffer.read(&word, sizeof word));
  CHECK_FALSE(buffer.fill(std::byte{1}));
  CHECK(buffer.host().empty());
  CHECK(buffer.device_address() == 0);
}

TEST_CASE("buffer: a moved-from buffer is empty, its target owns the memory") {
  auto first = allocate(open(), 64);
  const auto address = first.device_address();
  Buffer second = std::move(first);
  CHECK_FALSE(first.valid()); // NOLINT: the moved-from state is what is tested
  CHECK(second.device_address() == address);
}

TEST_CASE("buffer: fill sets every byte, also a tail that is no whole word") {
  const auto buffer = allocate(open(), 7);
  REQUIRE(buffer.fill(std::byte{0x5a}));
  for (const auto byte : buffer.host()) CHECK(byte == std::byte{0x5a});
}

TEST_CASE("buffer: a device only takes its own buffers") {
  const auto one = open();
  const auto other = open();
  const auto buffer = allocate(one, 64);
  CHECK(buffer.usable_by(one));
  CHECK_FALSE(buffer.usable_by(other));
}

TEST_CASE("raw memory: double free, inner pointers and foreign pointers are named") {
  const auto device = open();
  const auto address = allocate_raw(device, PoolKind::host_fine, 256, "raw");
  REQUIRE(address);
  const auto inner = free_raw(device, *address + 16);
  REQUIRE_FALSE(inner);
  CHECK_THAT(inner.error().detail, Contains("points 16 bytes into") && Contains("raw"));
  REQUIRE(free_raw(device, *address));
  const auto twice = free_raw(device, *address);
  REQUIRE_FALSE(twice);
  CHECK_THAT(twice.error().detail, Contains("was freed before"));
  int local = 0;
  const auto foreign = free_raw(device, reinterpret_cast<std::uint64_t>(&local));
  REQUIRE_FALSE(foreign);
  CHECK_THAT(foreign.error().detail, Contains("no allocation of this device"));
  CHECK_THAT(free_raw(device, 0).error().detail, Contains("null"));
}

TEST_CASE("copy: host to device to device to host keeps the bytes") {
  const auto device = open();
  const auto a = allocate(device, 4096);
  const auto b = allocate(device, 4096, PoolKind::device_fine);
  std::vector<std::uint32_t> in(1024), out(1024);
  std::iota(in.begin(), in.end(), 7u);
  REQUIRE(device.copy_to_device(a.device_address(), in.data(), 4096));
  REQUIRE(device.copy(b.device_address(), a.device_address(), 4096));
  REQUIRE(device.copy_to_host(out.data(), b.device_address(), 4096));
  CHECK(out == in);
}

TEST_CASE("copy: a range that leaves its allocation is refused and names it") {
  const auto device = open();
  const auto a = allocate(device, 64, PoolKind::device_coarse, "small");
  std::array<std::byte, 128> host{};
  const auto done = device.copy_to_device(a.device_address(), host.data(), 128);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().detail, Contains("destination") && Contains("small"));
}

TEST_CASE("copy: from a freed buffer is refused") {
  const auto device = open();
  auto a = allocate(device, 64);
  const auto address = a.device_address();
  REQUIRE(a.free());
  std::array<std::byte, 64> host{};
  const auto done = device.copy_to_host(host.data(), address, 64);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().detail, Contains("freed"));
}

TEST_CASE("copy: a wild host pointer is an error, no crash") {
  const auto device = open();
  const auto a = allocate(device, 4096);
  void* gone = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(gone != MAP_FAILED);
  munmap(gone, 4096);
  CHECK_FALSE(device.copy_to_device(a.device_address(), gone, 4096));
  CHECK_FALSE(device.copy_to_host(gone, a.device_address(), 4096));
}

TEST_CASE("copy: overlapping ranges are refused") {
  const auto device = open();
  const auto a = allocate(device, 128);
  CHECK_FALSE(device.copy(a.device_address() + 32, a.device_address(), 64));
}

TEST_CASE("fill32: repeats the pattern, refuses odd and foreign addresses") {
  const auto device = open();
  const auto a = allocate(device, 64);
  REQUIRE(device.fill32(a.device_address() + 4, 0x01020304, 2));
  CHECK(a.as<std::uint32_t>()[0] == 0);
  CHECK(a.as<std::uint32_t>()[1] == 0x01020304);
  CHECK(a.as<std::uint32_t>()[2] == 0x01020304);
  CHECK(a.as<std::uint32_t>()[3] == 0);
  CHECK_FALSE(device.fill32(a.device_address() + 2, 0, 1));
  CHECK_FALSE(device.fill32(a.device_address() + 60, 0, 2));
  CHECK_FALSE(device.fill32(0x1000, 0, 1));
}

TEST_CASE("pin: host memory gets an address of the device, once") {
  const auto device = open();
  alignas(4096) static std::array<std::byte, 8192> host{};
  auto pinned = device.pin(host.data(), host.size(), "mine");
  REQUIRE(pinned);
  CHECK(pinned->pinned());
  CHECK(pinned->host().data() == host.data());
  CHECK_FALSE(device.pin(host.data() + 100, 10));
  REQUIRE(pinned->free());
  CHECK(device.pin(host.data() + 100, 10));
}

TEST_CASE("pin: null and empty ranges are refused") {
  const auto device = open();
  int word = 0;
  CHECK_FALSE(device.pin(nullptr, 4));
  CHECK_FALSE(device.pin(&word, 0));
}

TEST_CASE("pointer info: allocation, offset, kind and label of an inner address") {
  const auto device = open();
  const auto a = allocate(device, 1024, PoolKind::host_coarse, "table");
  const auto info = device.pointer_info(a.device_address() + 1000);
  REQUIRE(info);
  CHECK(info->base == a.device_address());
  CHECK(info->size_bytes == 1024);
  CHECK(info->offset == 1000);
  CHECK(info->kind == PoolKind::host_coarse);
  CHECK(info->label == "table");
  const auto past = device.pointer_info(a.device_address() + 1024);
  REQUIRE_FALSE(past);
  CHECK_THAT(past.error().detail, Contains("0 bytes past") && Contains("table"));
}

TEST_CASE("device: two opens of one selector are one device, exclusive ones are not") {
  const auto one = Device::open("sim:MI300X");
  const auto two = Device::open("sim:gfx942");
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->state() == two->state());
  CHECK(open().state() != one->state());
}

TEST_CASE("device: an unknown selector names what there is") {
  const auto device = Device::open("sim:gfx1");
  REQUIRE_FALSE(device);
  CHECK(device.error().code == Errc::invalid_argument);
  CHECK_THAT(device.error().detail, Contains("MI300X") && Contains("gfx90a"));
  CHECK_THAT(Device::open("cuda:0").error().detail, Contains("sim:TARGET"));
}

TEST_CASE("device: every hardware driver that is not used here says why") {
  const auto list = devices();
  CHECK(list.found.size() >= 3);
  for (const auto& refusal : list.refused) CHECK_FALSE(refusal.reason.empty());
}

TEST_CASE("device: a forked child may not use its parent's device, and still exits") {
  const auto device = open();
  auto buffer = allocate(device, 64);
  const pid_t child = fork();
  if (child == 0) {
    const auto refused = device.allocate(PoolKind::device_coarse, 64);
    const bool ok = !refused && refused.error().code == Errc::forked && !buffer.free();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
