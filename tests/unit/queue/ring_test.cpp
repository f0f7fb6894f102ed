// The ring, producer side, with a hand-stepped processor.

#include <algorithm>
#include <numeric>
#include <vector>

#include <aql/ring.hpp>

#include "support/catch.hpp"
#include "support/fake_processor.hpp"

namespace {
using namespace aql;
using aql::test::FakeProcessor;

// A packet whose every body word is made from one number.
struct Numbered {
  std::uint32_t number = 0;
  SignalHandle completion{};
  [[nodiscard]] std::uint32_t emit(abi::Slot& slot) const noexcept {
    for (unsigned i = 1; i < 16; ++i) slot.word[i] = number * 16 + i;
    return static_cast<std::uint32_t>(abi::PacketType::agent_dispatch) | (number & 0xFFFF) << 16;
  }
};
bool is_numbered(const abi::Slot& slot, std::uint32_t number) {
  for (unsigned i = 1; i < 16; ++i)
    if (slot.word[i] != number * 16 + i) return false;
  return (slot.word[0] >> 16) == (number & 0xFFFF);
}

void push_batch(Ring& ring, std::uint32_t count, std::uint32_t number) {
  const auto first = ring.try_reserve(count);
  REQUIRE(first);
  for (std::uint32_t i = 0; i < count; ++i) ring.publish(*first + i, Numbered{number + i}.emit(ring.slot(*first + i)));
  ring.commit(*first, count);
}
} // namespace

TEST_CASE("ring: one packet is body, header, write index, doorbell") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  const auto index = ring.try_reserve();
  REQUIRE(index == 0u);
  CHECK(gpu.write_index() == 0); // reservation is private
  const std::uint32_t first_word = Numbered{7}.emit(ring.slot(*index));
  CHECK((gpu.slot(0).word[0] & 0xFF) == FakeProcessor::kInvalid);
  ring.publish(*index, first_word);
  CHECK(gpu.slot(0).word[0] == first_word);
  CHECK(gpu.write_index() == 0);
  CHECK_FALSE(gpu.step());
  ring.commit(*index, 1);
  CHECK(gpu.write_index() == 1);
  CHECK(gpu.doorbell() == 0); // the index of the last packet made ready
  CHECK(gpu.step([](std::uint64_t at, const abi::Slot& slot) {
    CHECK(at == 0);
    CHECK(is_numbered(slot, 7));
  }));
}

TEST_CASE("ring: try_reserve leaves the index when full") {
  FakeProcessor gpu{64};
  for (const Producers producers : {Producers::single, Producers::multi}) {
    Ring ring{gpu.view(), {.producers = producers}};
    const std::uint64_t start = ring.reserved();
    REQUIRE(ring.try_reserve(64));
    CHECK_FALSE(ring.try_reserve(1));
    CHECK_FALSE(ring.try_reserve(64));
    CHECK(ring.reserved() == start + 64);
  }
}

TEST_CASE("ring: room is checked for the whole batch") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  push_batch(ring, 60, 0);
  CHECK_FALSE(ring.try_reserve(5));
  CHECK(ring.reserved() == 60);
  CHECK(ring.try_reserve(4) == 60u);
}

TEST_CASE("ring: batches of 0 and of more than the ring are refused and change nothing") {
  FakeProcessor gpu{64};
  for (const Producers producers : {Producers::single, Producers::multi}) {
    Ring ring{gpu.view(), {.producers = producers}};
    CHECK_FALSE(ring.try_reserve(0));
    CHECK_FALSE(ring.try_reserve(65));
    CHECK_FALSE(ring.try_reserve(~0u));
    CHECK_FALSE(ring.reserve(65, Deadline::never()));
    CHECK_FALSE(ring.reserve(0, Deadline::never()));
    CHECK(ring.reserved() == 0);
  }
}

TEST_CASE("ring: a slot is free again when the read index has passed it, not before") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  push_batch(ring, 64, 0);
  CHECK_FALSE(ring.try_reserve());
  REQUIRE(gpu.step());
  CHECK(ring.try_reserve() == 64u);
  CHECK_FALSE(ring.try_reserve());
}

TEST_CASE("ring: one doorbell a batch") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  push_batch(ring, 40, 0);
  CHECK(gpu.rings() == 1);
  CHECK(gpu.doorbell() == 39);
  CHECK(gpu.drain() == 40);
}

TEST_CASE("ring: 200 single packets over 64 slots") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  for (std::uint32_t i = 0; i < 200; ++i) {
    REQUIRE(ring.try_push(Numbered{i}) == i);
    REQUIRE(gpu.step([&](std::uint64_t at, const abi::Slot& slot) {
      CHECK(at == i);
      CHECK(is_numbered(slot, i));
    }));
  }
}

TEST_CASE("ring: batches of every size straddle the end of the ring") {
  for (std::uint32_t count = 1; count <= 64; ++count) {
    FakeProcessor gpu{64};
    Ring ring{gpu.view()};
    push_batch(ring, 64 - count / 2, 0); // the next batch begins count/2 before the end
    gpu.drain();
    push_batch(ring, count, 1000);
    std::uint32_t next = 1000;
    while (gpu.step([&](std::uint64_t, const abi::Slot& slot) { CHECK(is_numbered(slot, next)); })) ++next;
    CHECK(next == 1000 + count);
  }
}

TEST_CASE("ring: indices do not wrap at 32 bits, and wrap at 64 bits without harm") {
  for (const std::uint64_t start : {(1ULL << 32) - 8, ~0ULL - 7}) {
    for (const Producers producers : {Producers::single, Producers::multi}) {
      FakeProcessor gpu{64, start};
      Ring ring{gpu.view(), {.producers = producers}};
      for (std::uint32_t i = 0; i < 32; ++i) {
        REQUIRE(ring.try_push(Numbered{i}) == start + i);
        CHECK(gpu.write_index() == start + i + 1);
        CHECK(gpu.doorbell() == start + i);
      }
      push_batch(ring, 32, 32);
      CHECK_FALSE(ring.try_reserve());
      std::uint32_t next = 0;
      while (gpu.step([&](std::uint64_t at, const abi::Slot& slot) {
        CHECK(at == start + next);
        CHECK(is_numbered(slot, next));
      }))
        ++next;
      CHECK(next == 64);
    }
  }
}

TEST_CASE("ring: marks left behind near 2^64 are not mistaken for others") {
  FakeProcessor gpu{64, ~0ULL - 7};
  Ring ring{gpu.view(), {.spins = 0}};
  for (std::uint32_t round = 0; round < 40; ++round) {
    const auto a = ring.try_reserve(3);
    const auto b = ring.try_reserve(5);
    REQUIRE((a && b));
    for (std::uint64_t i = *a; i != *a + 8; ++i) ring.publish(i, Numbered{static_cast<std::uint32_t>(i)}.emit(ring.slot(i)));
    ring.commit(*b, 5);
    CHECK(gpu.write_index() == *a);
    ring.commit(*a, 3);
    CHECK(gpu.write_index() == *b + 5);
    CHECK(gpu.drain() == 8);
  }
}

TEST_CASE("ring: the write index moves only over packets that are all published, in any order of commits") {
  std::vector<unsigned> order(5);
  std::iota(order.begin(), order.end(), 0u);
  do {
    FakeProcessor gpu{64};
    Ring ring{gpu.view(), {.spins = 0}};
    constexpr std::uint32_t kCounts[] = {1, 3, 2, 1, 4};
    std::uint64_t firsts[5], done = 0;
    bool committed[5] = {};
    for (unsigned i = 0; i < 5; ++i) firsts[i] = *ring.try_reserve(kCounts[i]);
    for (const unsigned i : order) {
      for (std::uint32_t k = 0; k < kCounts[i]; ++k) {
        const auto number = static_cast<std::uint32_t>(firsts[i] + k);
        ring.publish(number, Numbered{number}.emit(ring.slot(number)));
      }
      ring.commit(firsts[i], kCounts[i]);
      committed[i] = true;
      done = 0;
      for (unsigned k = 0; k < 5 && committed[k]; ++k) done += kCounts[k];
      REQUIRE(gpu.write_index() == done);
      if (done != 0) REQUIRE(gpu.doorbell() == done - 1);
    }
    REQUIRE(done == 11);
    std::uint32_t next = 0;
    while (gpu.step([&](std::uint64_t, const abi::Slot& slot) { REQUIRE(is_numbered(slot, next)); })) ++next;
    REQUIRE(next == 11);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("ring: an inverted producer does not make the processor pass an unpublished slot") {
  FakeProcessor gpu{64};
  gpu.needs_doorbell = false;
  Ring ring{gpu.view(), {.publish = Publish::fused}}; // the shared index runs ahead of the headers
  const auto a = ring.try_reserve();
  const auto b = ring.try_reserve();
  REQUIRE((a && b));
  CHECK(gpu.write_index() == 2);
  ring.publish(*b, Numbered{1}.emit(ring.slot(*b)));
  ring.commit(*b, 1);
  CHECK_FALSE(gpu.step()); // parked on slot 0
  ring.publish(*a, Numbered{0}.emit(ring.slot(*a)));
  ring.commit(*a, 1);
  CHECK(gpu.drain() == 2);
}

TEST_CASE("ring: fused mode publishes a burst of 32 one by one behind a moved write index") {
  FakeProcessor gpu{64};
  gpu.needs_doorbell = false;
  Ring ring{gpu.view(), {.publish = Publish::fused}};
  for (std::uint32_t burst = 0; burst < 8; ++burst) {
    const auto first = ring.try_reserve(32);
    REQUIRE(first);
    for (std::uint32_t i = 0; i < 32; ++i) {
      CHECK_FALSE(gpu.step());
      const auto number = static_cast<std::uint32_t>(*first) + i;
      ring.publish(*first + i, Numbered{number}.emit(ring.slot(*first + i)));
      CHECK(gpu.step([&](std::uint64_t, const abi::Slot& slot) { CHECK(is_numbered(slot, number)); }));
    }
    ring.commit(*first, 32);
  }
}

TEST_CASE("ring: the processor sees nothing before the doorbell when it needs one, and lower values are harmless") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  push_batch(ring, 3, 0);
  CHECK(gpu.step());
  ring.ring(0); // a late, lower value
  CHECK(gpu.drain() == 2);
  ring.ring(50); // past the write index
  CHECK(gpu.drain() == 0);
  CHECK(gpu.read_index() == 3);
}

TEST_CASE("ring: a closed ring refuses reservations and still takes what was reserved") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  const auto index = ring.try_reserve();
  REQUIRE(index);
  ring.close();
  CHECK_FALSE(ring.try_reserve());
  CHECK_FALSE(ring.reserve(1, Deadline::never()));
  CHECK(ring.reserved() == 1);
  ring.publish(*index, Numbered{0}.emit(ring.slot(*index)));
  ring.commit(*index, 1);
  CHECK(gpu.drain() == 1);
}

TEST_CASE("ring: reserve gives up at the deadline when the ring stays full") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  push_batch(ring, 64, 0);
  CHECK_FALSE(ring.reserve(1, Deadline::now()));
  CHECK_FALSE(ring.reserve(1, Deadline::in_ns(1)));
  CHECK_FALSE(ring.reserve(1, Deadline::in(std::chrono::milliseconds{1})));
  CHECK(ring.reserved() == 64);
}

TEST_CASE("ring: without a raw doorbell the driver's function rings, once a batch, with the last index") {
  FakeProcessor gpu{64};
  auto view = gpu.view();
  std::vector<std::uint64_t> rung;
  rung.reserve(16);
  view.doorbell = nullptr;
  view.ring_slow = [](void* arg, std::uint64_t index) noexcept { static_cast<std::vector<std::uint64_t>*>(arg)->push_back(index); };
  view.ring_arg = &rung;
  Ring ring{view};
  push_batch(ring, 5, 0);
  (void)ring.try_push(Numbered{5});
  CHECK(rung == std::vector<std::uint64_t>{4, 5});
}
