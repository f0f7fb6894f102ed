// Load: many packets, many queues, graphs of dependencies, several threads, work left behind.
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

TEST_CASE("load: a flood of packets through a small ring") {
  auto q = queue();
  const auto counter = buffer(4);
  auto packet = prepare(q, arguments("add_one", counter));
  constexpr int kPackets = 20'000;
  for (int i = 0; i < kPackets; ++i) REQUIRE(q.post(packet.packet()));
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(word(counter).load() == kPackets);
}

TEST_CASE("load: queues are made, used and destroyed again and again, idle and busy") {
  const auto counter = buffer(4);
  for (int i = 0; i < 60; ++i) {
    auto q = queue();
    auto packet = prepare(q, arguments("add_one", counter));
    for (int k = 0; k < 5; ++k) REQUIRE(q.post(packet.packet()));
    REQUIRE(q.close(soon())); // drains
  }
  CHECK(word(counter).load() == 300);
}

TEST_CASE("load: a chain of dependent dispatches over several queues keeps its order") {
  constexpr std::uint32_t kQueues = 4, kLinks = 200;
  std::vector<Queue> queues;
  for (std::uint32_t i = 0; i < kQueues; ++i) queues.push_back(queue({.packets = 256}));
  const auto value = buffer(4);
  std::vector<Signal> done;
  std::vector<PreparedDispatch> steps;
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < kLinks; ++i) {
    Queue& q = queues[i * 7 % kQueues];
    done.push_back(signal(1));
    steps.push_back(prepare(q, arguments("step", value, i)));
    steps.back().packet().completion = done.back();
    if (i != 0) REQUIRE(q.post(BarrierAndPacket{.dependencies = {done[i - 1]}}));
    REQUIRE(q.post(steps.back().packet()));
    expected = expected * 3 + i;
  }
  REQUIRE(zero(done.back()));
  CHECK(word(value).load() == expected);
}

TEST_CASE("load: a diamond submitted backwards joins both of its sides") {
  const auto values = buffer(16);
  const Signal done[] = {signal(1), signal(1), signal(1), signal(1)};
  const std::uint32_t inputs[4][2] = {{0, 0}, {0, 0}, {0, 0}, {1, 2}};
  std::vector<Queue> queues;
  std::vector<PreparedDispatch> kept;
  for (std::uint32_t i = 4; i-- > 0;) {
    Queue& q = queues.emplace_back(queue());
    BarrierAndPacket barrier;
    if (i != 0) barrier.dependencies = {done[inputs[i][0]], done[inputs[i][1]]};
    kept.push_back(prepare(q, arguments("node", values, i, inputs[i][0], inputs[i][1])));
    kept.back().packet().completion = done[i];
    REQUIRE(q.post(barrier));
    REQUIRE(q.post(kept.back().packet()));
  }
  REQUIRE(zero(done[3]));
  CHECK(read<std::uint32_t>(values) == std::vector<std::uint32_t>{1, 2, 2, 3});
}

TEST_CASE("load: a random graph of dispatches over many queues gives the depths that the host computes") {
  constexpr std::uint32_t kNodes = 300, kQueues = 6;
  std::mt19937 random{GENERATE(1u, 2u, 3u)};
  std::vector<Queue> queues;
  for (std::uint32_t i = 0; i < kQueues; ++i) queues.push_back(queue({.packets = 1024}));
  const auto values = buffer(4 * kNodes);
  std::vector<std::uint32_t> expected(kNodes, 0);
  std::vector<Signal> done;
  std::vector<PreparedDispatch> kept;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    done.push_back(signal(1));
    const auto earlier = [&] { return i == 0 ? 0u : static_cast<std::uint32_t>(random() % i); };
    const std::uint32_t a = earlier(), b = earlier();
    expected[i] = std::max(expected[a], expected[b]) + 1;
    Queue& q = queues[random() % kQueues];
    BarrierAndPacket barrier;
    if (i != 0) barrier.dependencies = {done[a], done[b]};
    kept.push_back(prepare(q, arguments("node", values, i, a, b)));
    kept.back().packet().completion = done[i];
    if (random() % 2 == 0) kept.back().packet().barrier = Barrier::on;
    REQUIRE(q.post(barrier));
    REQUIRE(q.post(kept.back().packet()));
  }
  for (const auto& s : done) REQUIRE(zero(s));
  CHECK(read<std::uint32_t>(values) == expected);
}

TEST_CASE("load: threads that launch on queues of their own and on a shared one") {
  constexpr std::uint32_t kThreads = 4, kEach = 60;
  const auto counters = buffer(4 * (kThreads + 1));
  auto shared = queue({.packets = 64});
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        auto made = Queue::create(device(), {.packets = 64});
        Kernargs mine{kernel("add_one")}, ours{kernel("add_one")};
        if (!made || !mine.set(0, counters, 4 * t) || !ours.set(0, counters, 4 * kThreads)) {
          ++failed;
          return;
        }
        for (std::uint32_t i = 0; i < kEach; ++i) {
          auto a = launch(*made, mine, {.grid = {64}, .group = {64}});
          auto b = launch(shared, ours, {.grid = {64}, .group = {64}});
          if (!a || !b || !a->wait(soon()) || !b->wait(soon())) ++failed;
        }
      });
    }
  }
  CHECK(failed == 0);
  auto expected = std::vector<std::uint32_t>(kThreads, kEach);
  expected.push_back(kThreads * kEach);
  CHECK(read<std::uint32_t>(counters) == expected);
}

TEST_CASE("load: packets of all kinds mixed, with holes in the order of publishing") {
  auto q = queue({.packets = 256});
  const auto counter = buffer(4);
  const auto done = signal(120);
  auto work = prepare(q, arguments("add_one", counter));
  work.packet().completion = done;
  const auto zeroed = signal(0);
  std::mt19937 random{7};
  auto& ring = q.ring();
  for (int round = 0; round < 30; ++round) {
    const auto first = ring.reserve(4, soon());
    REQUIRE(first);
    std::uint32_t heads[4];
    for (std::uint32_t i = 0; i < 4; ++i) {
      abi::Slot& slot = ring.slot(*first + i);
      switch (random() % 4) {
      case 0: heads[i] = BarrierAndPacket{.dependencies = {zeroed}, .completion = done}.emit(slot); break;
      case 1: heads[i] = BarrierOrPacket{.dependencies = {SignalHandle{}, zeroed}, .completion = done}.emit(slot); break;
      case 2: heads[i] = BarrierValuePacket{.signal = zeroed, .value = 0, .completion = done}.emit(slot); break;
      default: heads[i] = work.packet().emit(slot); break;
      }
    }
    // Published last to first, the doorbell in between.
    ring.publish(*first + 3, heads[3]);
    ring.publish(*first + 2, heads[2]);
    ring.commit(*first, 4);
    ring.publish(*first + 1, heads[1]);
    ring.publish(*first, heads[0]);
    ring.ring(*first + 3);
  }
  CHECK(zero(done));
}

TEST_CASE("load: many kernels wait for one gate of the host, and all run when it opens") {
  constexpr std::uint32_t kQueues = 8;
  const auto log = buffer(kJournalBytes), gate = buffer(4);
  std::vector<Queue> queues;
  std::vector<Ticket> tickets;
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    queues.push_back(queue());
    tickets.push_back(start(queues.back(), arguments("held", log, i, gate)));
  }
  CHECK(journal(log).empty());
  word(gate).store(1, std::memory_order_release);
  for (const auto& t : tickets) finish(t);
  auto order = journal(log);
  std::sort(order.begin(), order.end());
  CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("load: a queue is destroyed while a kernel runs for ever") {
  QueueOptions options;
  options.packets = 64;
  options.destroy_wait = std::chrono::milliseconds{10};
  {
    auto q = queue(std::move(options));
    (void)start(q, Kernargs{kernel("spin")});
  }
  auto q = queue();
  const auto counter = buffer(4);
  run(q, arguments("add_one", counter));
  CHECK(word(counter).load() == 1);
}

TEST_CASE("load: a process exits with work in flight") {
  // A new process each: this one's threads and driver are not for children.
  const auto how = GENERATE(as<std::string>{}, "return", "exit");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/proc/self/exe", "conformance", "[.exit]", nullptr);
    _exit(99);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

// Run by the case above only.
TEST_CASE("load: leaves work behind", "[.exit]") {
  static const auto log = buffer(kJournalBytes), gate = buffer(4);
  static std::optional<Queue> left; // goes first
  QueueOptions options;
  options.packets = 64;
  options.destroy_wait = std::chrono::milliseconds{10};
  left.emplace(queue(std::move(options)));
  (void)start(*left, arguments("held", log, 1u, gate));
  (void)start(*left, arguments("note", log, 2u));
  std::exit(0); // destructors of statics run with the kernel still there
}
