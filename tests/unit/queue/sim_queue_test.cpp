// The queue over the software GPU: packets that need no kernel.

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <aql/device.hpp>
#include <aql/queue.hpp>

#include "support/catch.hpp"

namespace {
using namespace aql;
using namespace std::chrono_literals;

Errc code_of(const Result<void>& result) { return result ? Errc::ok : result.error().code; }
Device open() { return *Device::open(Select{.selector = "sim:gfx942", .exclusive = true}); }
} // namespace

TEST_CASE("sim queue: barrier packets complete, with and without the barrier bit") {
  const Device device = open();
  Queue queue = *Queue::create(device, {.packets = 64});
  for (int i = 0; i < 200; ++i) {
    const Ticket ticket = queue.submit(BarrierAndPacket{.barrier = i % 2 == 0 ? Barrier::on : Barrier::off});
    REQUIRE(ticket.wait());
  }
  CHECK(queue.drain());
  CHECK(queue.close(Deadline::never()));
}

TEST_CASE("sim queue: a barrier-AND waits for a signal that the host sets") {
  const Device device = open();
  Queue queue = *Queue::create(device, {.packets = 64});
  const Signal gate = *Signal::create(device, 1);
  const Ticket ticket = queue.submit(BarrierAndPacket{.dependencies = {gate}});
  const Ticket behind = queue.submit(BarrierAndPacket{});
  CHECK(code_of(ticket.wait(Deadline::in(2ms))) == Errc::timeout);
  CHECK_FALSE(behind.done());
  gate.store_release(0);
  CHECK(ticket.wait());
  CHECK(behind.wait());
}

TEST_CASE("sim queue: agent packets run the queue's function") {
  const Device device = open();
  std::atomic<std::uint64_t> sum{0};
  Queue queue = *Queue::create(device, {.packets = 64, .agent_function = [&](std::uint16_t type, const std::uint64_t arguments[4], std::uint64_t) {
                                          sum += type + arguments[0] + arguments[3];
                                          return Errc::ok;
                                        }});
  const Ticket ticket = queue.submit(AgentPacket{.type = 1000, .arguments = {1, 2, 3, 4}});
  REQUIRE(ticket.wait());
  CHECK(sum == 1005);
}

TEST_CASE("sim queue: an unknown packet stops the queue, once, and nothing behind it runs") {
  const Device device = open();
  std::atomic<int> faults{0};
  std::atomic<std::uint64_t> faulty_packet{0}; // checks are the main thread's: Catch's are not made for two
  Queue queue = *Queue::create(device, {.packets = 64, .on_fault = [&](const QueueFault& fault) {
                                          faulty_packet = fault.packet_index;
                                          ++faults;
                                        }});
  const Signal completion = *Signal::create(device, 1);
  const Ticket before = queue.submit(BarrierAndPacket{.barrier = Barrier::on});
  Ring& ring = queue.ring();
  const auto index = *ring.try_reserve();
  std::memset(&ring.slot(index).word[1], 0, 60);
  detail::put64(ring.slot(index), 14, completion.handle());
  ring.publish(index, 77);
  ring.commit(index, 1);
  const Ticket after = queue.submit(BarrierAndPacket{});
  CHECK(code_of(after.wait()) == Errc::invalid_packet_format);
  CHECK(before.wait());
  CHECK(completion.load_acquire() == 1);
  CHECK(completion.timestamps().error().code == Errc::not_ready);
  CHECK(queue.fault_index() == 1u);
  Queue other = *Queue::create(device, {.packets = 64});
  CHECK(other.submit(BarrierAndPacket{}).wait());
  while (faults == 0) std::this_thread::yield();
  CHECK(faults == 1);
  CHECK(faulty_packet == 1);
}

TEST_CASE("sim queue: timestamps of ordered packets lie between host times and do not overlap") {
  const Device device = open();
  Queue queue = *Queue::create(device, {.packets = 64});
  std::vector<Signal> signals;
  for (int i = 0; i < 50; ++i) signals.push_back(*Signal::create(device, 1));
  CHECK(signals.front().timestamps().error().code == Errc::not_ready);
  const std::int64_t host_before = device.to_host_ns(device.timestamp());
  for (const Signal& signal : signals) queue.submit(BarrierAndPacket{.barrier = Barrier::on, .completion = signal});
  for (const Signal& signal : signals) CHECK(signal.wait(Condition::eq, 0) == 0);
  const std::int64_t host_after = device.to_host_ns(device.timestamp());
  std::int64_t last_end = host_before;
  for (const Signal& signal : signals) {
    const auto stamps = signal.timestamps();
    REQUIRE(stamps);
    const std::int64_t start = device.to_host_ns(stamps->start), end = device.to_host_ns(stamps->end);
    CHECK(start >= last_end);
    CHECK(end >= start);
    last_end = end;
  }
  CHECK(last_end <= host_after);
}

TEST_CASE("sim queue: eight threads into one 64-slot queue, every packet exactly once") {
  const Device device = open();
  constexpr int kEach = 5000;
  std::atomic<int> ran{0};
  Queue queue = *Queue::create(device, {.packets = 64, .agent_function = [&](std::uint16_t, const std::uint64_t*, std::uint64_t) {
                                          ran.fetch_add(1, std::memory_order_relaxed);
                                          return Errc::ok;
                                        }});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) queue.submit(AgentPacket{.barrier = i % 7 == 0 ? Barrier::on : Barrier::off});
      });
  }
  REQUIRE(queue.drain());
  CHECK(ran == 8 * kEach);
}

TEST_CASE("sim queue: create, submit and destroy 1000 times") {
  const Device device = open();
  for (int i = 0; i < 1000; ++i) {
    Queue queue = *Queue::create(device, {.packets = 64});
    const Ticket ticket = queue.submit(BarrierAndPacket{});
    if (i % 2 == 0) REQUIRE(ticket.wait());
  }
}
