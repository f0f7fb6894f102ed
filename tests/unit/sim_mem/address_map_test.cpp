#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "sim/mem/address_map.hpp"

using namespace aql;
using namespace aql::sim;

namespace {

struct Backing {
  alignas(4096) std::array<std::byte, 8192> bytes{};
};

Region region(std::uint64_t address, std::uint64_t size, std::byte* host, const char* label = "a") {
  return {.address = address, .size = size, .host = host, .kind = MemoryKind::device_coarse, .label = label};
}

} // namespace

TEST_CASE("address map: a mapped byte translates to its host byte and the one behind the end does not", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 1000, b.bytes.data())));
  CHECK(map.translate(0x100000, 1000, kRead | kWrite) == b.bytes.data());
  CHECK(map.translate(0x100000 + 999, 1, kRead) == b.bytes.data() + 999);
  CHECK(map.translate(0x100000 + 999, 2, kRead) == nullptr);
  CHECK(map.translate(0x100000 + 1000, 1, kRead) == nullptr);
  CHECK(map.translate(0x100000 - 1, 1, kRead) == nullptr);
  CHECK(map.translate(0x100000 + 8, ~std::uint64_t{0}, kRead) == nullptr);
}

TEST_CASE("address map: execute permission is asked for on its own", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 1000, b.bytes.data())));
  CHECK(map.translate(0x100000, 4, kExecute) == nullptr);
  REQUIRE(map.change(0x100000, kRead | kExecute, MemoryKind::executable));
  CHECK(map.translate(0x100000, 4, kExecute) != nullptr);
  CHECK(map.translate(0x100000, 4, kWrite) == nullptr);
}

TEST_CASE("address map: what cannot be mapped is refused with both regions named", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 0x1000, b.bytes.data(), "first")));
  const auto overlap = map.map(region(0x100fff, 16, b.bytes.data(), "second"));
  REQUIRE_FALSE(overlap);
  CHECK(overlap.error().detail == "region 'second' of 16 bytes at 0x100fff, device coarse overlaps buffer 'first' of 4096 bytes at 0x100000, device coarse; "
                                  "unmap that one first");
  CHECK_FALSE(map.map(region(0xff000, 0x1001, b.bytes.data())));
  CHECK_FALSE(map.map(region(0x200000, 0, b.bytes.data())));
  CHECK_FALSE(map.map(region(0x200000, 16, nullptr)));
  CHECK_FALSE(map.map(region(0x800, 16, b.bytes.data())));
  CHECK_FALSE(map.map(region(~std::uint64_t{0} - 8, 16, b.bytes.data())));
  CHECK(map.map(region(0x101000, 0x1000, b.bytes.data(), "adjacent")));
}

TEST_CASE("address map: unmap returns the region and refuses an address that starts none", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 64, b.bytes.data(), "kept")));
  CHECK_FALSE(map.unmap(0x100004));
  const auto gone = map.unmap(0x100000);
  REQUIRE(gone);
  CHECK(gone->label == "kept");
  CHECK_FALSE(map.unmap(0x100000));
  CHECK_FALSE(map.find(0x100000));
}

TEST_CASE("address map: descriptions name the nearest allocation and the distance", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 1024, b.bytes.data(), "a")));
  REQUIRE(map.map(region(0x700000, 64, b.bytes.data(), "")));
  CHECK(map.describe(0x100404) == "4 bytes past buffer 'a' of 1024 bytes at 0x100000, device coarse");
  CHECK(map.describe(0x100400) == "0 bytes past buffer 'a' of 1024 bytes at 0x100000, device coarse");
  CHECK(map.describe(0xfffff) == "1 bytes before buffer 'a' of 1024 bytes at 0x100000, device coarse");
  CHECK(map.describe(0x700010) == "16 bytes into buffer of 64 bytes at 0x700000, device coarse");
  CHECK(map.describe(0x6ffffc) == "4 bytes before buffer of 64 bytes at 0x700000, device coarse");
  CHECK(map.describe(0) == "null pointer");
  CHECK(map.describe(8) == "null page, 8 bytes past address 0");
  CHECK(map.describe(0x0001000000000000) == "non-canonical address: bits 63-47 differ");
  CHECK(map.describe(0x00007fff00000000) == "no allocation near");
}

TEST_CASE("address map: a freed buffer is remembered until its address is used again", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 1024, b.bytes.data(), "old")));
  REQUIRE(map.unmap(0x100000));
  CHECK(map.describe(0x100010) == "inside a freed buffer: 16 bytes into buffer 'old' of 1024 bytes at 0x100000, device coarse");
  REQUIRE(map.map(region(0x100000, 16, b.bytes.data(), "new")));
  CHECK(map.describe(0x10000c) == "12 bytes into buffer 'new' of 16 bytes at 0x100000, device coarse");
  CHECK(map.describe(0x100010) == "inside a freed buffer: 16 bytes into buffer 'old' of 1024 bytes at 0x100000, device coarse");
}

TEST_CASE("address map: an access is described with what it lacks", "[mem]") {
  Backing b;
  AddressMap map;
  auto r = region(0x100000, 1024, b.bytes.data(), "ro");
  r.permissions = kRead;
  REQUIRE(map.map(r));
  CHECK(map.describe_access(0x100008, 4, kWrite) == "8 bytes into buffer 'ro' of 1024 bytes at 0x100000, device coarse, which is read-only");
  CHECK(map.describe_access(0x100008, 4, kExecute) == "8 bytes into buffer 'ro' of 1024 bytes at 0x100000, device coarse, which is not executable");
  CHECK(map.describe_access(0x1003fe, 4, kRead) == "crosses the end of buffer 'ro' of 1024 bytes at 0x100000, device coarse: 2 of 4 bytes are past it");
}

TEST_CASE("address map: every change raises the generation", "[mem]") {
  Backing b;
  AddressMap map;
  const auto g0 = map.generation();
  REQUIRE(map.map(region(0x100000, 64, b.bytes.data())));
  const auto g1 = map.generation();
  REQUIRE(map.change(0x100000, kRead, MemoryKind::device_coarse));
  const auto g2 = map.generation();
  REQUIRE(map.unmap(0x100000));
  CHECK(g0 < g1);
  CHECK(g1 < g2);
  CHECK(g2 < map.generation());
}

TEST_CASE("address map: the parts of a split region are one to accesses until one is changed or unmapped", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 1000, b.bytes.data())));
  REQUIRE(map.map(region(0x100000 + 1000, 24, b.bytes.data() + 1000))); // a neighbour, not a part
  const auto generation = map.generation();
  map.split(0x100000 + 300);
  map.split(0x100000 + 300); // a part begins there: nothing to do
  map.split(0x100000 + 600);
  map.split(0x90000);
  CHECK(map.generation() == generation);
  CHECK(map.find(0x100000 + 299)->size == 300);
  CHECK(map.find(0x100000 + 599)->address == 0x100000 + 300);
  CHECK(map.translate(0x100000, 1000, kRead | kWrite) == b.bytes.data());
  CHECK(map.translate(0x100000 + 650, 350, kRead) == b.bytes.data() + 650);
  CHECK(map.extent(0x100000 + 650).begin == 0x100000);
  CHECK(map.translate(0x100000 + 650, 351, kRead) == nullptr);
  REQUIRE(map.change(0x100000 + 300, kRead, MemoryKind::device_coarse));
  CHECK(map.generation() > generation);
  CHECK(map.translate(0x100000 + 300, 300, kRead) == b.bytes.data() + 300);
  CHECK(map.translate(0x100000 + 300, 300, kWrite) == nullptr);
  CHECK(map.translate(0x100000 + 299, 1, kWrite) == b.bytes.data() + 299);
  CHECK(map.translate(0x100000 + 299, 2, kRead) == nullptr); // one translation has one set of permissions
  REQUIRE(map.unmap(0x100000 + 300));
  CHECK(map.translate(0x100000 + 300, 1, kRead) == nullptr);
  CHECK(map.translate(0x100000 + 600, 400, kWrite) == b.bytes.data() + 600);
  REQUIRE(map.unmap(0x100000));
  REQUIRE(map.unmap(0x100000 + 600));
  CHECK_FALSE(map.unmap(0x100000));
}

TEST_CASE("address map: unmap waits for a slice that began before it", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 64, b.bytes.data())));
  std::atomic<bool> ended{false};
  std::atomic<int> stage{0};
  std::thread worker([&] {
    AddressMap::Slice slice(map);
    stage.store(1);
    while (map.generation() == 2) std::this_thread::yield(); // until the unmap has begun
    ended.store(true);
  });
  while (stage.load() != 1) std::this_thread::yield();
  const auto gone = map.unmap(0x100000);
  const bool seen = ended.load();
  worker.join();
  CHECK(gone);
  CHECK(seen);
}

TEST_CASE("address map: a thread that holds nested slices can unmap", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 64, b.bytes.data())));
  AddressMap::Slice outer(map);
  AddressMap::Slice inner(map);
  CHECK(map.unmap(0x100000));
}

TEST_CASE("address map: two threads that hold slices can unmap at the same time", "[mem]") {
  Backing b;
  AddressMap map;
  REQUIRE(map.map(region(0x100000, 64, b.bytes.data())));
  REQUIRE(map.map(region(0x200000, 64, b.bytes.data())));
  std::atomic<int> holding{0};
  std::array<bool, 2> done{};
  std::array<std::uint64_t, 2> addresses{0x100000, 0x200000};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      AddressMap::Slice slice(map);
      holding.fetch_add(1);
      while (holding.load() != 2) std::this_thread::yield();
      done[i] = map.unmap(addresses[i]).has_value();
    });
  }
  for (auto& t : threads) t.join();
  CHECK(done[0]);
  CHECK(done[1]);
}

TEST_CASE("address map: memory is unmapped after the thread's other thread-local objects have gone") {
  AddressMap map;
  alignas(64) static std::byte memory[64];
  struct Last { // made before the map's own thread-local state, so it goes after that
    AddressMap* map = nullptr;
    std::uint64_t address = 0;
    bool* unmapped = nullptr;
    ~Last() { *unmapped = map->unmap(address).has_value(); }
  };
  bool unmapped = false;
  std::thread{[&] {
    static thread_local Last last;
    last.map = &map;
    last.address = reinterpret_cast<std::uint64_t>(memory);
    last.unmapped = &unmapped;
    (void)map.map({.address = last.address, .size = 64, .host = memory});
    const AddressMap::Slice slice{map};
  }}.join();
  CHECK(unmapped);
}
