// The ring under threads: no packet mixes two generations, every packet is seen exactly once, none is forgotten.

#include <atomic>
#include <thread>
#include <vector>

#include <aql/ring.hpp>

#include "support/catch.hpp"
#include "support/fake_processor.hpp"

namespace {
using namespace aql;
using aql::test::FakeProcessor;

#if defined(__SANITIZE_THREAD__) || defined(AQL_TEST_SMALL)
constexpr std::uint32_t kPackets = 100'000;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::uint32_t kPackets = 100'000;
#else
constexpr std::uint32_t kPackets = 1'000'000;
#endif
#else
constexpr std::uint32_t kPackets = 1'000'000;
#endif

// Every body word is made from one number; now and then the body is written slowly.
struct Slow {
  std::uint32_t number = 0;
  SignalHandle completion{};
  [[nodiscard]] std::uint32_t emit(abi::Slot& slot) const noexcept {
    for (unsigned i = 1; i < 16; ++i) {
      slot.word[i] = number * 16 + i;
      if (number % 512 == 0 && i == 8) std::this_thread::yield();
    }
    return static_cast<std::uint32_t>(abi::PacketType::agent_dispatch) | (number & 0xFFFF) << 16;
  }
};

// Consumes `total` packets; how many were torn, and how often each number came.
struct Consumer {
  std::vector<std::uint8_t> seen;
  std::uint32_t torn = 0, repeated = 0;
  explicit Consumer(std::uint32_t total) : seen(total) {}
  void run(FakeProcessor& gpu) {
    for (std::uint32_t done = 0; done < seen.size();) {
      const bool any = gpu.step([&](std::uint64_t, const abi::Slot& slot) {
        const std::uint32_t number = slot.word[1] / 16;
        bool whole = number < seen.size() && slot.word[0] >> 16 == (number & 0xFFFF);
        for (unsigned i = 1; i < 16; ++i) whole = whole && slot.word[i] == number * 16 + i;
        if (!whole) ++torn;
        else if (seen[number]++ != 0) ++repeated;
        ++done;
      });
      if (!any) std::this_thread::yield();
    }
  }
};

void produce(Ring& ring, std::uint32_t begin, std::uint32_t end, std::uint32_t batch) {
  for (std::uint32_t at = begin; at < end;) {
    const std::uint32_t count = std::min(batch, end - at);
    const auto first = ring.reserve(count, Deadline::never());
    for (std::uint32_t i = 0; i < count; ++i) ring.publish(*first + i, Slow{at + i}.emit(ring.slot(*first + i)));
    ring.commit(*first, count);
    at += count;
  }
}

void run(RingOptions options, unsigned threads, std::uint32_t batch, bool needs_doorbell, std::uint32_t total = kPackets) {
  FakeProcessor gpu{64, ~0ULL - 99};
  gpu.needs_doorbell = needs_doorbell;
  Ring ring{gpu.view(), options};
  Consumer consumer{total};
  {
    std::vector<std::jthread> producers;
    const std::uint32_t share = total / threads;
    for (unsigned t = 0; t < threads; ++t)
      producers.emplace_back([&ring, t, threads, share, total, batch] { produce(ring, t * share, t + 1 == threads ? total : (t + 1) * share, batch); });
    consumer.run(gpu);
  }
  CHECK(consumer.torn == 0);
  CHECK(consumer.repeated == 0);
  CHECK(gpu.write_index() == ring.reserved()); // nothing was left behind for ever
  CHECK(gpu.read_index() == ring.reserved());
}
} // namespace

TEST_CASE("ring: a polling consumer never sees a packet that mixes two generations, one producer") {
  run({.producers = Producers::single}, 1, 1, false);
  run({.producers = Producers::multi}, 1, 1, false);
}

TEST_CASE("ring: eight producers, every packet exactly once") { run({}, 8, 1, true); }

TEST_CASE("ring: eight producers of batches, every packet exactly once") { run({}, 8, 5, true); }

TEST_CASE("ring: producers that never wait for each other leave nothing behind") {
  run({.spins = 0}, 4, 1, true, kPackets / 5);
  run({.spins = 0}, 4, 3, true, kPackets / 5);
}

TEST_CASE("ring: fused reservation with a polling consumer, every packet exactly once") { run({.publish = Publish::fused}, 4, 4, false); }

TEST_CASE("ring: a packet left behind a preempted producer is committed by that producer, not waited for") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view(), {.spins = 0}};
  const auto slow = ring.try_reserve();
  REQUIRE(slow);
  std::jthread{[&] { produce(ring, 1, 11, 1); }}.join(); // ends although slot 0 is not published
  CHECK(gpu.write_index() == 0);
  CHECK_FALSE(gpu.step());
  ring.publish(*slow, Slow{0}.emit(ring.slot(*slow)));
  ring.commit(*slow, 1);
  CHECK(gpu.write_index() == 11);
  CHECK(gpu.doorbell() == 10);
  CHECK(gpu.drain() == 11);
}

TEST_CASE("ring: a blocked reserve ends when the ring is closed") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  produce(ring, 0, 64, 64);
  std::atomic<bool> refused{false};
  std::jthread waiter{[&] { refused = !ring.reserve(1, Deadline::never()).has_value(); }};
  ring.close();
  waiter.join();
  CHECK(refused);
}

TEST_CASE("ring: a blocked reserve gets the slot that is freed") {
  FakeProcessor gpu{64};
  Ring ring{gpu.view()};
  produce(ring, 0, 64, 64);
  std::jthread waiter{[&] { produce(ring, 64, 65, 1); }};
  REQUIRE(gpu.step());
  waiter.join();
  CHECK(gpu.drain() == 64);
}
