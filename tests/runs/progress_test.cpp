// Forward progress, faults, hangs and heavy use of queues.

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "run_support.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

TEST_CASE("progress: eight groups that wait for each other finish with one worker") {
  const auto device = open_sim(GENERATE(as<std::string>{}, "gfx90a", "gfx942"));
  const auto module = load(device, GENERATE(as<std::string>{}, "coresident_O0", "coresident_O2"));
  const auto arrived = buffer_of(device, 4);
  auto queue = queue_on(device);
  check(run(queue, arguments(kernel_of(module, "meet"), arrived, 8u, 20u), {.grid = {8 * 128}, .group = {128}}));
  CHECK(arrived.as<std::uint32_t>()[0] == 160);
}

TEST_CASE("progress: a kernel that spins on a host flag finishes with one worker") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "coresident_O2");
  const auto flag = buffer_of(device, 4, PoolKind::host_fine), out = buffer_of(device, 16);
  auto queue = queue_on(device);
  auto ticket = launch(queue, arguments(kernel_of(module, "wait_for_host"), flag, out), {.grid = {256}, .group = {64}});
  REQUIRE(ticket);
  // Other queues go on while it spins.
  auto other = queue_on(device);
  const auto basics = load(device, "basics_O2");
  const auto word = buffer_of(device, 4);
  check(run(other, arguments(kernel_of(basics, "store_value"), word, 3u), {.grid = {64}, .group = {64}}));
  CHECK(word.as<std::uint32_t>()[0] == 3);
  std::atomic_ref{flag.as<std::uint32_t>()[0]}.store(9);
  check(ticket->wait());
  for (const auto v : out.as<std::uint32_t>()) CHECK(v == 9);
}

TEST_CASE("faults: one in the middle of ten ends all behind it, with its error, and leaves other queues working") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "errors_O2");
  const auto kernel = kernel_of(module, "store_at");
  const auto buffer = buffer_of(device, 1024, PoolKind::device_coarse, "target");
  std::atomic<int> calls{0};
  QueueOptions options;
  options.packets = 64;
  options.on_fault = [&](const QueueFault&) { ++calls; };
  auto made = Queue::create(device, options);
  REQUIRE(made);
  std::optional<Queue> queue{std::move(*made)};
  std::vector<Ticket> tickets;
  for (std::uint32_t i = 0; i < 10; ++i) {
    auto ticket = launch(*queue, arguments(kernel, buffer, i == 4 ? 257u : i, i + 1), {.grid = {64}, .group = {64}, .barrier = Barrier::on});
    // The queue may have stopped already: then the launch itself says so.
    if (!ticket) {
      REQUIRE(i > 4);
      CHECK(ticket.error().code == Errc::memory_fault);
      continue;
    }
    tickets.push_back(std::move(*ticket));
  }
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const auto ended = tickets[i].wait(Deadline::in(std::chrono::seconds{30}));
    INFO(i);
    if (i < 4) {
      CHECK(ended);
    } else {
      REQUIRE_FALSE(ended);
      CHECK(ended.error().code == Errc::memory_fault);
      CHECK_THAT(ended.error().detail, Contains("store_at") && Contains("target") && Contains("lane"));
    }
  }
  CHECK_FALSE(queue->status());
  queue.reset(); // waiters wake first; the callback has run when the queue is gone
  CHECK(calls == 1);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(buffer.as<std::uint32_t>()[i] == i + 1);
  CHECK(buffer.as<std::uint32_t>()[5] == 0);
  auto other = queue_on(device);
  check(run(other, arguments(kernel, buffer, 8u, 5u), {.grid = {64}, .group = {64}}));
  CHECK(buffer.as<std::uint32_t>()[8] == 5);
}

TEST_CASE("faults: inactive lanes do not fault") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "errors_O2");
  const auto buffer = buffer_of(device, 4);
  auto queue = queue_on(device);
  // 63 work-items: lane 63, the only one that would store, does not exist.
  check(run(queue, arguments(kernel_of(module, "store_at"), buffer, 1000u, 1u), {.grid = {63}, .group = {63}}));
}

TEST_CASE("faults: reading a freed buffer names it") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "errors_O2");
  auto buffer = buffer_of(device, 256, PoolKind::device_coarse, "gone");
  const auto args = arguments(kernel_of(module, "store_at"), buffer, 1u, 1u);
  REQUIRE(buffer.free());
  auto queue = queue_on(device);
  const auto ended = run(queue, args, {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::memory_fault);
  CHECK_THAT(ended.error().detail, Contains("freed"));
}

TEST_CASE("hang: an endless kernel is reported by the watchdog and everything still shuts down") {
  Select select;
  select.selector = "sim:gfx942";
  select.exclusive = true;
  select.sim.watchdog_instructions = 2'000'000;
  auto device = Device::open(select);
  REQUIRE(device);
  const auto module = load(*device, "errors_O2");
  const auto flag = buffer_of(*device, 4);
  auto queue = queue_on(*device);
  const auto ended = run(queue, arguments(kernel_of(module, "endless"), flag), {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::hang);
  CHECK_THAT(ended.error().detail, Contains("endless"));
}

TEST_CASE("hang: a queue with an endless kernel can be destroyed, and its ticket returns") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "errors_O2");
  const auto flag = buffer_of(device, 4);
  Ticket ticket;
  {
    QueueOptions options;
    options.packets = 64;
    options.destroy_wait = std::chrono::milliseconds{50};
    auto made = Queue::create(device, options);
    REQUIRE(made);
    auto queue = std::move(*made);
    auto launched = launch(queue, arguments(kernel_of(module, "endless"), flag), {.grid = {64}, .group = {64}});
    REQUIRE(launched);
    ticket = std::move(*launched);
    const auto early = ticket.wait(Deadline::in(std::chrono::milliseconds{20}));
    REQUIRE_FALSE(early);
    CHECK(early.error().code == Errc::timeout);
  }
  CHECK_FALSE(ticket.wait());
}

TEST_CASE("queues: 1000 times create, dispatch, destroy") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "basics_O2");
  const auto counter = buffer_of(device, 4);
  const auto args = arguments(kernel_of(module, "count"), counter);
  for (int i = 0; i < 1000; ++i) {
    auto queue = queue_on(device);
    REQUIRE(run(queue, args, {.grid = {64}, .group = {64}}));
  }
  CHECK(counter.as<std::uint32_t>()[0] == 1000);
}

TEST_CASE("queues: dispatches from eight threads into one 64-slot queue run exactly once each") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "basics_O2");
  const auto counter = buffer_of(device, 4);
  auto queue = queue_on(device);
  const auto prepared = PreparedDispatch::create(queue, arguments(kernel_of(module, "count"), counter), {.grid = {64}, .group = {64}});
  REQUIRE(prepared);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint32_t each = 2'500;
#else
  constexpr std::uint32_t each = 125'000; // a million in all
#endif
  auto done = Signal::create(device, 8 * each);
  REQUIRE(done);
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        auto packet = prepared->packet();
        packet.completion = done->handle();
        for (std::uint32_t i = 0; i < each; ++i) {
          if (!queue.submit(packet).submitted()) ++failures;
        }
      });
    }
  }
  CHECK(failures == 0);
  CHECK(done->wait(Condition::eq, 0, Deadline::in(std::chrono::minutes{2})) == 0);
  CHECK(counter.as<std::uint32_t>()[0] == 8 * each);
}
