#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "sim/mem/lane_ops.hpp"
#include "sim/mem/port.hpp"

using namespace aql;
using namespace aql::sim;

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

// Two mapped buffers, exactly as large as asked, at device addresses that differ from the host's.
struct World {
  static constexpr std::uint64_t kA = 0x7f0000100000, kB = 0x7f0000200000;
  std::vector<std::byte> a = std::vector<std::byte>(4096), b = std::vector<std::byte>(1024);
  AddressMap map;
  MemoryPort port{map};
  Fault fault;

  World() {
    REQUIRE(map.map({.address = kA, .size = a.size(), .host = a.data(), .kind = MemoryKind::device_coarse, .label = "a"}));
    REQUIRE(map.map({.address = kB, .size = b.size(), .host = b.data(), .kind = MemoryKind::host_fine, .label = "b"}));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  template <class T>
  T at(const std::vector<std::byte>& v, std::size_t offset) const {
    T value;
    std::memcpy(&value, v.data() + offset, sizeof value);
    return value;
  }
};

struct Rows {
  alignas(64) std::uint32_t r[4][64];
  Rows() { std::memset(r, 0xee, sizeof r); }
};

using Addresses = std::array<std::uint64_t, 64>;

Addresses strided(std::uint64_t base, std::uint64_t stride) {
  Addresses out;
  for (unsigned l = 0; l < 64; ++l) out[l] = base + l * stride;
  return out;
}

} // namespace

TEST_CASE("port: vector loads of every width give each active lane its dwords and leave the others", "[mem]") {
  World w;
  std::mt19937_64 random(1);
  for (std::uint32_t dwords = 1; dwords <= 4; ++dwords) {
    for (const std::uint64_t exec : {kAll, std::uint64_t{1} << 63, std::uint64_t{0x00ff00000000ffff}, std::uint64_t{random()}}) {
      Addresses addresses;
      for (auto& address : addresses) address = World::kA + random() % (4096 - 16); // any alignment
      Rows rows;
      REQUIRE(w.port.load_dwords(addresses.data(), exec, dwords, rows.r, {}, w.fault));
      bool same = true;
      for (unsigned l = 0; l < 64; ++l) {
        for (std::uint32_t d = 0; d < 4; ++d) {
          const bool loaded = ((exec >> l) & 1) != 0 && d < dwords;
          const auto want = loaded ? w.at<std::uint32_t>(w.a, addresses[l] - World::kA + d * 4) : 0xeeeeeeeeu;
          same = same && rows.r[d][l] == want;
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("port: consecutive dwords load and store as one row", "[mem]") {
  World w;
  const auto from = strided(World::kA + 4, 4), to = strided(World::kB + 12, 4);
  Rows rows;
  REQUIRE(w.port.load_dwords(from.data(), kAll, 1, rows.r, {}, w.fault));
  REQUIRE(w.port.store_dwords(to.data(), kAll, 1, rows.r, {}, w.fault));
  CHECK(std::memcmp(w.b.data() + 12, w.a.data() + 4, 256) == 0);
  CHECK(w.b[11] == std::byte{0});
  CHECK(w.b[12 + 256] == std::byte{0});
}

TEST_CASE("port: stores of every width write the active lanes' bytes and no others, the highest lane last", "[mem]") {
  World w;
  std::mt19937_64 random(2);
  for (std::uint32_t dwords = 1; dwords <= 4; ++dwords) {
    for (const std::uint64_t exec : {kAll, std::uint64_t{random()}}) {
      std::vector<std::byte> want = w.b;
      Addresses addresses;
      Rows rows;
      for (unsigned l = 0; l < 64; ++l) {
        addresses[l] = World::kB + random() % (1024 - 16); // lanes overlap
        for (auto& row : rows.r) row[l] = static_cast<std::uint32_t>(random());
        for (std::uint32_t d = 0; d < dwords && ((exec >> l) & 1) != 0; ++d) {
          std::memcpy(want.data() + (addresses[l] - World::kB) + d * 4, &rows.r[d][l], 4);
        }
      }
      REQUIRE(w.port.store_dwords(addresses.data(), exec, dwords, rows.r, {}, w.fault));
      CHECK(w.b == want);
    }
  }
}

TEST_CASE("port: bytes and halves load zero-extended and store their low bits", "[mem]") {
  World w;
  const auto from = strided(World::kA + 1, 3), to = strided(World::kB, 3);
  Rows rows;
  REQUIRE(w.port.load_small(from.data(), kAll, 2, rows.r[0], {}, w.fault));
  CHECK(rows.r[0][5] == w.at<std::uint16_t>(w.a, 16));
  REQUIRE(w.port.store_small(to.data(), kAll, 2, rows.r[0], {}, w.fault));
  CHECK(w.at<std::uint16_t>(w.b, 15) == w.at<std::uint16_t>(w.a, 16));
  CHECK(w.b[17] == std::byte{0});
  REQUIRE(w.port.load_small(from.data(), 2, 1, rows.r[1], {}, w.fault));
  CHECK(rows.r[1][1] == w.at<std::uint8_t>(w.a, 4));
  CHECK(rows.r[1][0] == 0xeeeeeeeeu);
}

TEST_CASE("port: lanes in different buffers are served in one access", "[mem]") {
  World w;
  auto addresses = strided(World::kA, 8);
  addresses[3] = World::kB + 4;
  w.b[4] = std::byte{0x5a};
  Rows rows;
  REQUIRE(w.port.load_dwords(addresses.data(), kAll, 1, rows.r, {}, w.fault));
  CHECK(rows.r[0][3] == 0x5au);
  CHECK(rows.r[0][4] == w.at<std::uint32_t>(w.a, 32));
}

TEST_CASE("port: only lane 63 out of bounds is reported as lane 63 and nothing is written", "[mem]") {
  World w;
  auto addresses = strided(World::kB, 4);
  addresses[63] = World::kB + 1024;
  const auto before = w.b;
  Rows rows;
  REQUIRE_FALSE(w.port.store_dwords(addresses.data(), kAll, 1, rows.r, {}, w.fault));
  CHECK(w.b == before);
  CHECK(w.fault.code == Errc::memory_fault);
  CHECK(w.fault.lane == 63);
  CHECK(w.fault.address == World::kB + 1024);
  CHECK(w.fault.size_bytes == 4);
  CHECK(w.fault.access == FaultAccess::write);
  CHECK(w.fault.nearest == "0 bytes past buffer 'b' of 1024 bytes at 0x7f0000200000, host fine");
}

TEST_CASE("port: inactive lanes never fault", "[mem]") {
  World w;
  auto addresses = strided(World::kB, 4);
  addresses[7] = 0;
  Rows rows;
  CHECK(w.port.load_dwords(addresses.data(), kAll & ~(1u << 7), 1, rows.r, {}, w.fault));
  CHECK(w.port.load_dwords(addresses.data(), 0, 1, rows.r, {}, w.fault));
  CHECK_FALSE(w.port.load_dwords(addresses.data(), 1u << 7, 1, rows.r, {}, w.fault));
}

TEST_CASE("port: an access that crosses the end by one byte faults", "[mem]") {
  World w;
  auto addresses = strided(World::kB + 1024 - 15, 0);
  Rows rows;
  REQUIRE_FALSE(w.port.load_dwords(addresses.data(), 1, 4, rows.r, {}, w.fault));
  CHECK(w.fault.nearest == "crosses the end of buffer 'b' of 1024 bytes at 0x7f0000200000, host fine: 1 of 16 bytes are past it");
  addresses[0] -= 1;
  CHECK(w.port.load_dwords(addresses.data(), 1, 4, rows.r, {}, w.fault));
}

TEST_CASE("port: null, address 8, non-canonical, freed and unregistered memory fault and say what they are", "[mem]") {
  World w;
  const auto host = std::make_unique<std::uint32_t>(1u);
  const auto nearest = [&](std::uint64_t address) {
    const auto addresses = strided(address, 0);
    std::uint32_t out[1][64];
    CHECK_FALSE(w.port.load_dwords(addresses.data(), 1, 1, out, {}, w.fault));
    CHECK_FALSE(w.port.store_dwords(addresses.data(), 1, 1, out, {}, w.fault));
    CHECK_FALSE(w.port.atomic32(AtomicOp::add, addresses.data(), 1, out[0], nullptr, nullptr, {}, w.fault));
    return w.fault.nearest;
  };
  CHECK(nearest(0) == "null pointer");
  CHECK(nearest(8) == "null page, 8 bytes past address 0");
  CHECK(nearest(0x8000000000000000) == "non-canonical address: bits 63-47 differ");
  CHECK(nearest(reinterpret_cast<std::uint64_t>(host.get())) == "no allocation near");
  REQUIRE(w.map.unmap(World::kB));
  CHECK(nearest(World::kB + 8) == "inside a freed buffer: 8 bytes into buffer 'b' of 1024 bytes at 0x7f0000200000, host fine");
}

TEST_CASE("port: an atomic on read-only memory faults and the memory keeps its value", "[mem]") {
  World w;
  REQUIRE(w.map.change(World::kB, kRead, MemoryKind::host_fine));
  const auto addresses = strided(World::kB, 4);
  const std::array<std::uint32_t, 64> ones = [] { std::array<std::uint32_t, 64> o; o.fill(1); return o; }();
  CHECK_FALSE(w.port.atomic32(AtomicOp::add, addresses.data(), kAll, ones.data(), nullptr, nullptr, {}, w.fault));
  CHECK(w.fault.access == FaultAccess::atomic);
  CHECK(w.fault.nearest == "0 bytes into buffer 'b' of 1024 bytes at 0x7f0000200000, host fine, which is read-only");
  CHECK(w.at<std::uint32_t>(w.b, 0) == 0);
}

TEST_CASE("port: fetch needs execute permission and scalar reads need all their bytes", "[mem]") {
  World w;
  std::uint32_t word = 0;
  CHECK_FALSE(w.port.fetch(World::kA, &word, 4, w.fault));
  CHECK(w.fault.access == FaultAccess::fetch);
  REQUIRE(w.map.change(World::kA, kRead | kExecute, MemoryKind::executable));
  CHECK(w.port.fetch(World::kA, &word, 4, w.fault));
  CHECK(word == w.at<std::uint32_t>(w.a, 0));
  std::array<std::byte, 64> block{};
  CHECK_FALSE(w.port.read(World::kB + 1024 - 63, block.data(), 64, w.fault));
  CHECK(w.port.read(World::kB + 1024 - 64, block.data(), 64, w.fault));
  CHECK_FALSE(w.port.write(World::kA, &word, 4, w.fault));
}

TEST_CASE("port: a translation is dropped when its region is unmapped", "[mem]") {
  World w;
  const auto addresses = strided(World::kB, 4);
  Rows rows;
  REQUIRE(w.port.load_dwords(addresses.data(), kAll, 1, rows.r, {}, w.fault));
  REQUIRE(w.map.unmap(World::kB));
  CHECK_FALSE(w.port.load_dwords(addresses.data(), kAll, 1, rows.r, {}, w.fault));
}

TEST_CASE("port: misaligned atomics fault", "[mem]") {
  World w;
  auto addresses = strided(World::kB, 8);
  addresses[9] += 4;
  std::array<std::uint64_t, 64> data{};
  CHECK_FALSE(w.port.atomic64(AtomicOp::add, addresses.data(), kAll, data.data(), nullptr, nullptr, {}, w.fault));
  CHECK(w.fault.lane == 9);
  CHECK(w.fault.reason == "atomic on an address that is not a multiple of 8");
}

TEST_CASE("port: atomics of several threads on one counter lose nothing", "[mem]") {
  World w;
  const auto addresses = strided(World::kB, 0);
  std::array<std::uint32_t, 64> ones;
  ones.fill(1);
  std::array<std::uint32_t, 64> floats;
  floats.fill(std::bit_cast<std::uint32_t>(1.0f));
  const auto second = strided(World::kB + 4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      MemoryPort port(w.map);
      Fault fault;
      for (int i = 0; i < 200; ++i) {
        AddressMap::Slice slice(w.map);
        port.atomic32(AtomicOp::add, addresses.data(), kAll, ones.data(), nullptr, nullptr, {}, fault);
        port.atomic32(AtomicOp::add_f32, second.data(), kAll, floats.data(), nullptr, nullptr, {}, fault);
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(w.at<std::uint32_t>(w.b, 0) == 4 * 200 * 64);
  CHECK(w.at<float>(w.b, 4) == 4.0f * 200 * 64);
}

TEST_CASE("port: readers survive buffers that come and go, and never read freed memory", "[mem]") {
  AddressMap map;
  constexpr std::uint64_t kAt = 0x7f0000100000;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> good{0}, bad{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      MemoryPort port(map);
      Fault fault;
      const auto addresses = strided(kAt, 4);
      Rows rows;
      while (!stop.load(std::memory_order_relaxed)) {
        AddressMap::Slice slice(map);
        for (int i = 0; i < 8; ++i) {
          if (port.load_dwords(addresses.data(), kAll, 1, rows.r, {}, fault) && rows.r[0][17] != 0x77777777u) bad.fetch_add(1);
        }
        good.fetch_add(1);
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    auto buffer = std::make_unique<std::array<std::uint32_t, 64>>();
    buffer->fill(0x77777777u);
    if (!map.map({.address = kAt, .size = 256, .host = reinterpret_cast<std::byte*>(buffer->data())})) bad.fetch_add(1);
    std::this_thread::yield();
    if (!map.unmap(kAt)) bad.fetch_add(1);
    buffer->fill(0xdeadbeefu); // a reader that still used it would see this
  }
  stop.store(true);
  for (auto& t : readers) t.join();
  CHECK(bad.load() == 0);
  CHECK(good.load() > 0);
}

TEST_CASE("port: a value stored by the host becomes visible to a guest that polls it", "[mem]") {
  World w;
  std::thread guest([&] {
    MemoryPort port(w.map);
    Fault fault;
    const auto addresses = strided(World::kB, 0);
    Rows rows;
    do {
      AddressMap::Slice slice(w.map);
      port.load_dwords(addresses.data(), 1, 1, rows.r, {}, fault);
    } while (rows.r[0][0] != 42);
  });
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(w.b.data())).store(42, std::memory_order_release);
  guest.join();
  SUCCEED();
}

TEST_CASE("lane loops: all tiers that this host has agree", "[mem]") {
  std::vector<const LaneOps*> tiers{&tier0::kLaneOps};
  if (__builtin_cpu_supports("avx2")) tiers.push_back(&tier1::kLaneOps);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) tiers.push_back(&tier2::kLaneOps);
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> memory(4096);
  for (auto& word : memory) word = static_cast<std::uint32_t>(random());
  const auto base = reinterpret_cast<std::uint64_t>(memory.data());
  for (int round = 0; round < 50; ++round) {
    Addresses addresses;
    for (auto& address : addresses) address = 0x1000 + random() % 16000;
    const std::uint64_t exec = round % 2 == 0 ? kAll : random();
    const auto dwords = static_cast<std::uint32_t>(round % 4 + 1);
    Rows expected;
    tiers[0]->load(addresses.data(), base - 0x1000, exec, dwords, expected.r);
    const auto expected_memory = [&] { auto m = memory; tiers[0]->store(addresses.data(), reinterpret_cast<std::uint64_t>(m.data()) - 0x1000, exec, dwords, expected.r); return m; }();
    const std::uint64_t last = random() % 17000;
    for (const auto* ops : tiers) {
      Rows rows;
      ops->load(addresses.data(), base - 0x1000, exec, dwords, rows.r);
      CHECK(std::memcmp(rows.r, expected.r, sizeof rows.r) == 0);
      auto copy = memory;
      ops->store(addresses.data(), reinterpret_cast<std::uint64_t>(copy.data()) - 0x1000, exec, dwords, rows.r);
      CHECK(copy == expected_memory);
      CHECK(ops->inside(addresses.data(), exec, 0x1000, last) == tiers[0]->inside(addresses.data(), exec, 0x1000, last));
    }
  }
}

TEST_CASE("lane loops: 32-bit offsets give the same on all tiers, and what one lane at a time gives", "[mem]") {
  std::vector<const LaneOps*> tiers{&tier0::kLaneOps};
  if (__builtin_cpu_supports("avx2")) tiers.push_back(&tier1::kLaneOps);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) tiers.push_back(&tier2::kLaneOps);
  std::mt19937_64 random(4);
  std::vector<std::uint32_t> memory(4100);
  for (auto& word : memory) word = static_cast<std::uint32_t>(random());
  const auto base = reinterpret_cast<std::uint64_t>(memory.data());
  for (int round = 0; round < 80; ++round) {
    // Consecutive, strided or scattered; the addend wraps in every fourth round.
    const std::uint32_t add = round % 4 == 3 ? 0xffffff00u : static_cast<std::uint32_t>(random() % 64);
    std::uint32_t offset[64];
    for (std::uint32_t l = 0; l < 64; ++l) {
      const auto at = round % 3 == 0 ? 256 + l * 4 : round % 3 == 1 ? 256 + l * 16 : static_cast<std::uint32_t>(256 + random() % 16000);
      offset[l] = at - add + static_cast<std::uint32_t>(round % 5 == 4 ? 1 : 0); // also unaligned
    }
    const std::uint64_t exec = round % 2 == 0 ? kAll : random();
    const auto dwords = static_cast<std::uint32_t>(round % 4 + 1);
    const auto begin = static_cast<std::uint32_t>(random() % 300), last = static_cast<std::uint32_t>(random() % 17000);
    Rows before, right;
    for (auto& row : before.r) for (auto& v : row) v = static_cast<std::uint32_t>(random());
    right = before;
    auto right_memory = memory;
    bool right_inside = true;
    for (std::uint32_t l = 0; l < 64; ++l) {
      if ((exec >> l & 1) == 0) continue;
      const std::uint32_t at = offset[l] + add;
      right_inside = right_inside && at - begin <= last;
      for (std::uint32_t d = 0; d < dwords; ++d) {
        std::memcpy(&right.r[d][l], reinterpret_cast<const std::byte*>(memory.data()) + at + 4 * d, 4);
        std::memcpy(reinterpret_cast<std::byte*>(right_memory.data()) + at + 4 * d, &before.r[d][l], 4); // lanes in order: the last one wins
      }
    }
    INFO(round);
    for (const auto* ops : tiers) {
      Rows rows = before;
      ops->load32(offset, add, base, exec, dwords, rows.r);
      CHECK(std::memcmp(rows.r, right.r, sizeof rows.r) == 0);
      CHECK(ops->inside32(offset, add, exec, begin, last) == right_inside);
      if (round % 3 == 2) continue; // scattered stores may overlap, and then their order is not defined
      auto copy = memory;
      ops->store32(offset, add, reinterpret_cast<std::uint64_t>(copy.data()), exec, dwords, before.r);
      if (round % 3 == 1 || dwords == 1) CHECK(copy == right_memory);
    }
  }
}
