// Queues of the kfd driver: limits, doorbells, scratch, errors and faults, agent dispatch, clocks, fork.

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "kfd_support.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

namespace {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

struct Counter {
  Device device = open_device();
  Kernel kernel = kernel_of(device, "basics_O2", "count");
  Buffer out = need(device.allocate(PoolKind::host_fine, 256));
  [[nodiscard]] Kernargs args() const { return arguments(kernel, out); }
  [[nodiscard]] std::uint32_t value() const { return out.as<std::uint32_t>()[0]; }
};

constexpr Dispatch kOneGroup{.grid = {64}, .group = {64}};

} // namespace

TEST_CASE("kfd queue: thousands of dispatches pass through the smallest ring") {
  const Counter c;
  auto queue = need(Queue::create(c.device, {.packets = 64}));
  const auto args = c.args();
  const auto prepared = need(PreparedDispatch::create(queue, args, kOneGroup));
  for (int i = 0; i < 2000; ++i) queue.submit(prepared.packet());
  need(queue.drain(Deadline::in(std::chrono::seconds{60})));
  CHECK(c.value() == 2000);
}

TEST_CASE("kfd queue: sizes that are no power of two from 64 to 131072 are refused") {
  const auto device = open_device();
  const auto packets = GENERATE(32u, 96u, 262144u);
  const auto refused = Queue::create(device, {.packets = packets});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_queue_creation);
}

TEST_CASE("kfd queue: the largest ring works") {
  const Counter c;
  auto queue = need(Queue::create(c.device, {.packets = 131072}));
  need(run(queue, c.args(), kOneGroup));
  CHECK(c.value() == 1);
}

TEST_CASE("kfd queue: a doorbell that was used before hears the first ring") {
  const Counter c;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    auto queue = need(Queue::create(c.device, {.packets = 64}));
    need(run(queue, c.args(), kOneGroup));
    REQUIRE(c.value() == i);
  }
}

TEST_CASE("kfd queue: as many as the device allows run, one more is refused") {
  const Counter c;
  std::vector<Queue> queues;
  for (std::uint32_t i = 0; i < c.device.info().max_queues; ++i) queues.push_back(need(Queue::create(c.device, {.packets = 64})));
  const auto refused = Queue::create(c.device, {.packets = 64});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_resources);
  need(run(queues.front(), c.args(), kOneGroup));
  need(run(queues.back(), c.args(), kOneGroup));
  CHECK(c.value() == 2);
}

TEST_CASE("kfd queue: priorities and masks of compute units are accepted") {
  const Counter c;
  QueueOptions options;
  options.packets = 64;
  options.priority = GENERATE(-3, 0, 3);
  options.cu_mask = {0xffu, 0, 0, 0};
  auto queue = need(Queue::create(c.device, options));
  need(run(queue, c.args(), kOneGroup));
  CHECK(c.value() == 1);
}

TEST_CASE("kfd queue: a priority that does not exist is refused") {
  const auto device = open_device();
  QueueOptions options;
  options.priority = 4;
  const auto refused = Queue::create(device, options);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().detail, Contains("priority 4") && Contains("-3 to 3"));
}

TEST_CASE("kfd scratch: private memory grows as kernels ask for more, and is each lane's own") {
  const auto device = open_device();
  auto queue = need(Queue::create(device, {.packets = 64}));
  const auto errors = need(device.allocate(PoolKind::host_fine, 256));
  for (const char* name : {"private_small", "private_large", "private_huge", "private_small"}) {
    const auto kernel = kernel_of(device, "private_O2", name);
    need(run(queue, arguments(kernel, errors, 3u), {.grid = {1024}, .group = {256}}));
  }
  CHECK(errors.as<std::uint32_t>()[0] == 0);
}

TEST_CASE("kfd scratch: dispatches in flight keep theirs while it grows") {
  const auto device = open_device();
  auto queue = need(Queue::create(device, {.packets = 64}));
  const auto errors = need(device.allocate(PoolKind::host_fine, 256));
  const auto small = kernel_of(device, "private_O2", "private_small"), large = kernel_of(device, "private_O2", "private_large");
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    for (const auto* kernel : {&small, &large}) tickets.push_back(need(launch(queue, arguments(*kernel, errors, 5u), {.grid = {2048}, .group = {64}, .barrier = Barrier::off})));
  }
  for (const auto& ticket : tickets) need(ticket.wait(Deadline::in(std::chrono::seconds{60})));
  CHECK(errors.as<std::uint32_t>()[0] == 0);
}

TEST_CASE("kfd faults: a bad address stops the queue with address and reason, and the callback runs once") {
  const auto device = open_device();
  const auto kernel = kernel_of(device, "poke_O2", "store_at");
  std::atomic<int> calls{0};
  QueueOptions options;
  options.packets = 64;
  options.on_fault = [&](const QueueFault&) { ++calls; };
  {
    auto queue = need(Queue::create(device, options));
    Kernargs args{kernel};
    need(args.set_address(0, 0xdead0000));
    need(args.set(1, 1u));
    need(args.set(2, ~0ull));
    const auto ended = run(queue, args, kOneGroup);
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == Errc::memory_fault);
    CHECK_THAT(ended.error().detail, Contains("0xdead0000") && Contains("page not present"));
    CHECK_FALSE(queue.status());
  }
  CHECK(calls == 1);
}

TEST_CASE("kfd faults: a queue made after a fault works") {
  const Counter c;
  const auto bad = kernel_of(c.device, "poke_O2", "store_at");
  Kernargs args{bad};
  need(args.set_address(0, 0xdead0000));
  need(args.set(1, 1u));
  need(args.set(2, ~0ull));
  auto first = need(Queue::create(c.device, {.packets = 64}));
  REQUIRE_FALSE(run(first, args, kOneGroup));
  auto second = need(Queue::create(c.device, {.packets = 64}));
  need(run(second, c.args(), kOneGroup));
  CHECK(c.value() == 1);
}

TEST_CASE("kfd errors: each bad field of a packet has its code, and the packet is named") {
  const Counter c;
  struct Row {
    const char* what;
    void (*spoil)(DispatchPacket&);
    Errc code;
  };
  static const Row kRows[] = {
      {"grid smaller than group", [](DispatchPacket& p) { p.grid = {32, 1, 1}; }, Errc::incompatible_arguments},
      {"too much LDS", [](DispatchPacket& p) { p.group_bytes = 1u << 20; }, Errc::invalid_allocation},
      {"no kernel", [](DispatchPacket& p) { p.kernel_object = 0; }, Errc::invalid_code_object},
      {"group too large", [](DispatchPacket& p) { p.group = {2048, 1, 1}, p.grid = {2048, 1, 1}; }, Errc::invalid_argument},
  };
  for (const Row& row : kRows) {
    INFO(row.what);
    auto queue = need(Queue::create(c.device, {.packets = 64}));
    const auto args = c.args();
    const auto prepared = need(PreparedDispatch::create(queue, args, kOneGroup));
    need(queue.submit(prepared.packet()).wait(Deadline::in(std::chrono::seconds{60})));
    DispatchPacket packet = prepared.packet();
    row.spoil(packet);
    const auto ended = queue.submit(packet).wait(Deadline::in(std::chrono::seconds{60}));
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == row.code);
    CHECK(queue.fault_index() == 1);
    CHECK_THAT(ended.error().detail, Contains("dispatch grid"));
  }
}

TEST_CASE("kfd errors: an unknown vendor format is refused by the processor") {
  const auto device = open_device();
  auto queue = need(Queue::create(device, {.packets = 64}));
  auto& ring = queue.ring();
  const auto index = ring.try_reserve(1);
  REQUIRE(index);
  std::atomic_ref<std::uint32_t>{ring.slot(*index).word[0]}.store(0x77u << 16, std::memory_order_release);
  ring.commit(*index, 1);
  const auto done = queue.submit(BarrierAndPacket{}).wait(Deadline::in(std::chrono::seconds{60}));
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid_packet_format);
}

TEST_CASE("kfd errors: an inactivated queue tells so, once") {
  const auto device = open_device();
  std::atomic<int> calls{0};
  QueueOptions options;
  options.on_fault = [&](const QueueFault& fault) { calls += fault.code == Errc::queue_inactive ? 1 : 100; };
  auto queue = need(Queue::create(device, options));
  need(queue.inactivate());
  need(queue.inactivate());
  CHECK(calls == 1);
  CHECK_FALSE(queue.submit(BarrierAndPacket{}).wait(Deadline::in(std::chrono::seconds{10})));
}

TEST_CASE("kfd signals: blocked waits of several threads end, whoever completes first") {
  const Counter c;
  constexpr int kThreads = 3, kEach = 100;
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      auto queue = Queue::create(c.device, {.packets = 64});
      if (!queue) {
        ++bad;
        return;
      }
      Kernargs args{c.kernel};
      if (!args.set_all(c.out)) ++bad;
      for (int i = 0; i < kEach; ++i) {
        auto ticket = launch(*queue, args, kOneGroup);
        if (!ticket || !ticket->wait(Deadline::in(std::chrono::seconds{60}), Wait::blocked)) ++bad;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(bad == 0);
  CHECK(c.value() == kThreads * kEach);
}

TEST_CASE("kfd signals: a barrier packet waits for the host's signal") {
  const Counter c;
  auto queue = need(Queue::create(c.device, {.packets = 64}));
  const auto gate = need(Signal::create(c.device, 1));
  const auto args = c.args();
  auto barrier = queue.submit(BarrierAndPacket{.dependencies = {gate.handle()}});
  auto ticket = need(launch(queue, args, kOneGroup));
  CHECK_FALSE(ticket.wait(Deadline::in(std::chrono::milliseconds{20})));
  CHECK(c.value() == 0);
  gate.store_release(0);
  need(barrier.wait(Deadline::in(std::chrono::seconds{60})));
  need(ticket.wait(Deadline::in(std::chrono::seconds{60})));
  CHECK(c.value() == 1);
}

TEST_CASE("kfd clock: a dispatch's time lies between the host times around it") {
  const Counter c;
  auto queue = need(Queue::create(c.device, {.packets = 64}));
  const auto done = need(Signal::create(c.device, 1));
  const auto args = c.args();
  const auto prepared = need(PreparedDispatch::create(queue, args, kOneGroup));
  DispatchPacket packet = prepared.packet();
  packet.completion = done.handle();
  const auto before = monotonic_ns();
  queue.submit(packet);
  REQUIRE(done.wait(Condition::eq, 0, Deadline::in(std::chrono::seconds{60})) == 0);
  const auto after = monotonic_ns();
  const auto stamps = need(done.timestamps());
  const auto start = c.device.driver()->to_host_ns(stamps.start), end = c.device.driver()->to_host_ns(stamps.end);
  constexpr std::int64_t kReading = 5'000'000; // how far apart the two clocks of a pair may have been read on a busy machine
  CHECK(start <= end);
  CHECK(start >= before - kReading);
  CHECK(end <= after + kReading);
}

TEST_CASE("kfd agent dispatch: functions and kernels of one queue run in the order that barrier bits ask for") {
  const Counter c;
  std::vector<std::uint32_t> seen;
  QueueOptions options;
  options.packets = 64;
  options.agent_function = [&](std::uint16_t type, const std::uint64_t arguments[4], std::uint64_t return_address) {
    seen.push_back(c.value());
    *reinterpret_cast<std::uint64_t*>(return_address) = arguments[0] + type;
    return Errc::ok;
  };
  auto queue = need(Queue::create(c.device, options));
  const auto result = need(c.device.allocate(PoolKind::host_fine, 64));
  const auto args = c.args();
  const auto prepared = need(PreparedDispatch::create(queue, args, kOneGroup));
  Ticket last;
  for (std::uint16_t i = 0; i < 100; ++i) { // more than the ring holds
    DispatchPacket packet = prepared.packet();
    packet.barrier = Barrier::on;
    queue.submit(packet);
    last = queue.submit(AgentPacket{.type = i, .return_address = result.device_address(), .arguments = {1000, 0, 0, 0}, .barrier = Barrier::on});
  }
  need(last.wait(Deadline::in(std::chrono::seconds{60})));
  REQUIRE(seen.size() == 100);
  bool in_order = true;
  for (std::uint32_t i = 0; i < 100; ++i) in_order = in_order && seen[i] == i + 1;
  CHECK(in_order);
  CHECK(result.as<std::uint64_t>()[0] == 1099);
}

TEST_CASE("kfd agent dispatch: a function waits behind a barrier packet, without a barrier bit of its own") {
  const auto device = open_device();
  std::atomic<int> calls{0};
  QueueOptions options;
  options.agent_function = [&](std::uint16_t, const std::uint64_t*, std::uint64_t) {
    ++calls;
    return Errc::ok;
  };
  auto queue = need(Queue::create(device, options));
  const auto gate = need(Signal::create(device, 1));
  queue.submit(BarrierAndPacket{.dependencies = {gate.handle()}});
  auto ticket = queue.submit(AgentPacket{.type = 1, .barrier = Barrier::off});
  CHECK_FALSE(ticket.wait(Deadline::in(std::chrono::milliseconds{20})));
  CHECK(calls == 0);
  gate.store_release(0);
  need(ticket.wait(Deadline::in(std::chrono::seconds{60})));
  CHECK(calls == 1);
}

TEST_CASE("kfd agent dispatch: a failed function, or a bad packet behind it, is reported at its own index") {
  const Counter c;
  QueueOptions options;
  options.agent_function = [](std::uint16_t type, const std::uint64_t*, std::uint64_t) { return type == 0 ? Errc::ok : Errc::invalid_argument; };
  auto queue = need(Queue::create(c.device, options));
  queue.submit(AgentPacket{.type = 0, .barrier = Barrier::on});
  queue.submit(AgentPacket{.type = 0, .barrier = Barrier::on});
  SECTION("function") {
    const auto ended = queue.submit(AgentPacket{.type = 1, .barrier = Barrier::on}).wait(Deadline::in(std::chrono::seconds{60}));
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == Errc::invalid_argument);
  }
  SECTION("packet") {
    const auto args = c.args();
    DispatchPacket packet = need(PreparedDispatch::create(queue, args, kOneGroup)).packet();
    packet.kernel_object = 0;
    const auto ended = queue.submit(packet).wait(Deadline::in(std::chrono::seconds{60}));
    REQUIRE_FALSE(ended);
    CHECK(ended.error().code == Errc::invalid_code_object);
  }
  CHECK(queue.fault_index() == 2);
}

TEST_CASE("kfd agent dispatch: without a function the processor refuses the packet") {
  const auto device = open_device();
  auto queue = need(Queue::create(device, {.packets = 64}));
  const auto ended = queue.submit(AgentPacket{.type = 1}).wait(Deadline::in(std::chrono::seconds{60}));
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::invalid_packet_format);
}

TEST_CASE("kfd fork: a child's use of the parent's device is refused, and the child can open its own") {
  const Counter c;
  auto queue = need(Queue::create(c.device, {.packets = 64}));
  need(run(queue, c.args(), kOneGroup));
  const pid_t child = fork();
  if (child == 0) {
    if (c.device.allocate(PoolKind::host_fine, 64)) _exit(1);
    if (Queue::create(c.device, {.packets = 64})) _exit(2);
    const auto own = Device::open();
    if (!own) _exit(3);
    if (!own->allocate(PoolKind::device_coarse, 64)) _exit(4);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  need(run(queue, c.args(), kOneGroup)); // the parent goes on
  CHECK(c.value() == 2);
}

TEST_CASE("kfd exit: a process ends with work in flight") {
  const pid_t child = fork();
  if (child == 0) {
    const auto device = Device::open();
    if (!device) _exit(3);
    auto queue = Queue::create(*device, {.packets = 64});
    const auto gate = Signal::create(*device, 1);
    if (!queue || !gate) _exit(4);
    queue->submit(BarrierAndPacket{.dependencies = {gate->handle()}});
    std::exit(0); // nothing of the above is destroyed
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
