// Queues: full rings, doorbells used again, many queues, many producers.
#include <thread>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

TEST_CASE("queue: a full ring refuses try_submit until the processor has taken a packet") {
  auto q = queue();
  const auto gate = signal(1);
  REQUIRE(q.post(BarrierAndPacket{.dependencies = {gate}})); // holds the processor at slot 0
  for (int i = 0; i < 63; ++i) REQUIRE(q.try_submit(BarrierAndPacket{}));
  CHECK_FALSE(q.try_submit(BarrierAndPacket{}));
  gate.store_release(0);
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
}

TEST_CASE("queue: a submission that waits for room goes on when there is some") {
  auto q = queue();
  const auto gate = signal(1);
  REQUIRE(q.post(BarrierAndPacket{.dependencies = {gate}}));
  for (int i = 0; i < 63; ++i) REQUIRE(q.try_submit(BarrierAndPacket{}));
  std::jthread other{[&] { gate.store_release(0); }};
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(q.ring().read_index() >= 65);
}

TEST_CASE("queue: a new queue's first packet is seen, also where an old queue was") {
  for (int round = 0; round < 20; ++round) {
    auto q = queue();
    const auto done = signal(1);
    const auto at = q.post(BarrierAndPacket{.completion = done}); // rings with 0
    REQUIRE(at);
    CHECK(*at == 0);
    REQUIRE(zero(done));
  }
}

TEST_CASE("queue: indices run on past the ring's size many times") {
  auto q = queue();
  const auto counter = buffer(4);
  auto packet = prepare(q, arguments("add_one", counter));
  for (int i = 0; i < 1000; ++i) REQUIRE(q.post(packet.packet()));
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(word(counter).load() == 1000);
  CHECK(q.ring().write_index() == 1001);
}

TEST_CASE("queue: doorbells that repeat or go back are harmless") {
  auto q = queue();
  const auto done = signal(10);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(q.post(BarrierAndPacket{.completion = done}));
    q.ring().ring(static_cast<std::uint64_t>(i / 2));
    q.ring().ring(static_cast<std::uint64_t>(i));
  }
  CHECK(zero(done));
}

TEST_CASE("queue: 1 to 128 queues work at once, each in its own order") {
  const auto count = GENERATE(1u, 8u, 32u, 128u);
  if (count > device().info().max_queues) AQL_SKIP("the device has " + std::to_string(device().info().max_queues) + " queues");
  const auto values = buffer(4 * count);
  std::vector<Queue> queues;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto made = Queue::create(device(), {.packets = 64});
    if (!made) FAIL("queue " << i << ": " << made.error().message());
    queues.push_back(std::move(*made));
  }
  std::vector<Ticket> tickets;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (std::uint32_t i = 0; i < count; ++i) {
      Kernargs args{kernel("step")};
      REQUIRE(args.set(0, values, 4 * i));
      REQUIRE(args.set(1, round));
      tickets.push_back(start(queues[i], args, {.grid = {64}, .group = {64}, .barrier = Barrier::on}));
    }
  }
  for (const auto& ticket : tickets) finish(ticket);
  for (const auto value : read<std::uint32_t>(values)) CHECK(value == (1 * 3 + 2) * 3 + 3);
}

TEST_CASE("queue: several producers share a queue; every dispatch runs once") {
  auto q = queue({.packets = 128});
  const auto counter = buffer(4);
  constexpr int kThreads = 4, kEach = 250;
  std::atomic<int> failed{0};
  auto packet = prepare(q, arguments("add_one", counter));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Ticket last;
        for (int i = 0; i < kEach; ++i) last = q.submit(packet.packet());
        if (!last.wait(soon())) ++failed;
      });
    }
  }
  CHECK(failed == 0);
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(word(counter).load() == kThreads * kEach);
}

TEST_CASE("queue: a single-producer queue and a fused-publish queue run the same work") {
  QueueOptions options;
  options.packets = 64;
  if (GENERATE(false, true)) options.producers = Producers::single;
  else options.publish = Publish::fused;
  auto q = queue(std::move(options));
  const auto counter = buffer(4);
  auto packet = prepare(q, arguments("add_one", counter));
  for (int i = 0; i < 200; ++i) REQUIRE(q.post(packet.packet()));
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(word(counter).load() == 200);
}

TEST_CASE("queue: priorities and CU masks are accepted and the work is done") {
  const auto counter = buffer(4);
  for (const std::int32_t priority : {-3, 0, 3}) {
    auto q = queue({.packets = 64, .priority = priority, .cu_mask = {0xffu}});
    run(q, arguments("add_one", counter), {.grid = {6400}, .group = {64}});
  }
  CHECK(word(counter).load() == 3);
}

TEST_CASE("queue: a CU mask of exactly the device's size works; a longer one, or one without a unit, is refused with the number of units") {
  const std::size_t units = device().info().compute_units, words = (units + 31) / 32;
  const auto counter = buffer(4);
  auto q = queue({.packets = 64, .cu_mask = std::vector<std::uint32_t>(words, ~0u)});
  run(q, arguments("add_one", counter), {.grid = {6400}, .group = {64}});
  CHECK(word(counter).load() == 1);
  for (const auto& mask : {std::vector<std::uint32_t>(words + 1, ~0u), std::vector<std::uint32_t>(100'000, ~0u), std::vector<std::uint32_t>(1, 0u), std::vector<std::uint32_t>(words, 0u)}) {
    const auto refused = Queue::create(device(), {.packets = 64, .cu_mask = mask});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::invalid_queue_creation);
    CHECK_THAT(refused.error().detail, Catch::Contains(std::to_string(units) + " compute units"));
  }
}

TEST_CASE("queue: a batch and a recorded list run in order") {
  auto q = queue();
  const auto value = buffer(4);
  std::vector<PreparedDispatch> steps;
  std::vector<DispatchPacket> packets;
  for (std::uint32_t c = 1; c <= 20; ++c) {
    steps.push_back(prepare(q, arguments("step", value, c), {.grid = {64}, .group = {64}, .barrier = Barrier::on}));
    packets.push_back(steps.back().packet());
  }
  std::uint32_t expected = 0;
  finish(q.submit(std::span<const DispatchPacket>{packets}));
  for (std::uint32_t c = 1; c <= 20; ++c) expected = expected * 3 + c;
  CHECK(word(value).load() == expected);
  CommandList list{device()};
  for (const auto& packet : packets) list.add(packet);
  auto replayed = list.replay(q);
  REQUIRE(replayed);
  finish(*replayed);
  for (std::uint32_t c = 1; c <= 20; ++c) expected = expected * 3 + c;
  CHECK(word(value).load() == expected);
}
