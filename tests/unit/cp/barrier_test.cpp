// Barrier-AND, barrier-OR, barrier-value.
#include <thread>

#include "unit/cp/bench.hpp"

using namespace cp_test;

TEST_CASE("barrier-AND: five null dependencies complete at once") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-AND: one real dependency, in any position, is waited for") {
  const int position = GENERATE(0, 1, 2, 3, 4);
  auto gpu = make_gpu();
  Signal dependency{*gpu, 1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  packet.dep_signal[position] = dependency.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  CHECK(queue.read_index() == 0);
  dependency.store(0);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-AND: five dependencies need not be 0 at the same instant") {
  auto gpu = make_gpu();
  std::vector<std::unique_ptr<Signal>> dependencies;
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  for (auto& handle : packet.dep_signal) {
    dependencies.push_back(std::make_unique<Signal>(*gpu, 1));
    handle = dependencies.back()->handle();
  }
  queue.submit(packet);
  for (auto& dependency : dependencies) {
    gpu->run_until_idle();
    CHECK(done.load() == 1);
    dependency->store(0);
    gpu->run_until_idle();
    dependency->store(1);
  }
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-AND: the same signal five times") {
  auto gpu = make_gpu();
  Signal dependency{*gpu, 1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  for (auto& handle : packet.dep_signal) handle = dependency.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  dependency.store(0);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-AND and barrier-OR: a negative value does not satisfy, unless asked for") {
  const auto type = GENERATE(abi::PacketType::barrier_and, abi::PacketType::barrier_or);
  const bool nonpositive = GENERATE(false, true);
  auto gpu = make_gpu({.hand_stepped = true, .barrier_nonpositive_satisfies = nonpositive});
  Signal dependency{*gpu, -1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(type, done.handle());
  packet.dep_signal[2] = dependency.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == (nonpositive ? 0 : 1));
}

TEST_CASE("barrier-OR: any real dependency at 0 satisfies it, in any position") {
  const int position = GENERATE(0, 1, 2, 3, 4);
  auto gpu = make_gpu();
  Signal never{*gpu, 1}, dependency{*gpu, 1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_or, done.handle());
  packet.dep_signal[position] = dependency.handle();
  packet.dep_signal[(position + 1) % 5] = never.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  dependency.store(0);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-OR: five null dependencies are reported as a stuck queue and complete nothing") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(barrier(abi::PacketType::barrier_or, done.handle()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::hang);
  CHECK(queue.faults[0].packet_index == 0);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("barrier-OR"));
  CHECK(done.load() == 1);
  CHECK(queue.read_index() == 0);
  CHECK(queue.state() == QueueState::inactive);
}

TEST_CASE("barrier packets: nothing after a waiting one is launched, whatever its barrier bit says") {
  const auto type = GENERATE(abi::PacketType::barrier_and, abi::PacketType::barrier_or);
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal dependency{*gpu, 1}, after{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(type);
  packet.dep_signal[4] = dependency.handle();
  queue.submit(packet);
  queue.submit(dispatch(kernel.object(), after.handle()));
  gpu->run_until_idle();
  CHECK(after.load() == 1);
  dependency.store(0);
  gpu->run_until_idle();
  CHECK(after.load() == 0);
}

TEST_CASE("barrier packets: a waiting queue does not hold up another one") {
  auto gpu = make_gpu();
  Signal dependency{*gpu, 1}, stuck{*gpu, 1}, done{*gpu, 1};
  Queue waiting{*gpu}, other{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, stuck.handle());
  packet.dep_signal[0] = dependency.handle();
  waiting.submit(packet);
  other.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(stuck.load() == 1);
}

TEST_CASE("barrier packets: a chain of queues each waiting for the one before") {
  auto gpu = make_gpu();
  std::vector<std::unique_ptr<Signal>> links;
  std::vector<std::unique_ptr<Queue>> queues;
  links.push_back(std::make_unique<Signal>(*gpu, 1));
  for (int i = 0; i < 8; ++i) {
    links.push_back(std::make_unique<Signal>(*gpu, 1));
    queues.push_back(std::make_unique<Queue>(*gpu));
    auto packet = barrier(abi::PacketType::barrier_and, links.back()->handle());
    packet.dep_signal[i % 5] = links[static_cast<std::size_t>(i)]->handle();
    queues.back()->submit(packet);
  }
  gpu->run_until_idle();
  CHECK(links.back()->load() == 1);
  links.front()->store(0);
  gpu->run_until_idle();
  CHECK(links.back()->load() == 0);
}

TEST_CASE("barrier packets: an unmapped dependency is a memory fault that names it") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and);
  packet.dep_signal[3] = 0xdead000;
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::memory_fault);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("0xdead000"));
}

namespace {
abi::BarrierValuePacket barrier_value(std::uint64_t signal, abi::ValueCondition condition, std::int64_t value, std::int64_t mask,
                                      std::uint64_t done) {
  abi::BarrierValuePacket p{};
  p.header = static_cast<std::uint16_t>(abi::PacketType::vendor_specific);
  p.amd_format = static_cast<std::uint8_t>(abi::VendorFormat::barrier_value);
  p.signal = signal;
  p.value = value;
  p.mask = mask;
  p.cond = static_cast<std::uint32_t>(condition);
  p.completion_signal = done;
  return p;
}
} // namespace

TEST_CASE("barrier-value: compares (signal & mask) with the value as asked") {
  struct Case {
    abi::ValueCondition condition;
    std::int64_t value, mask, waits, goes;
  };
  const auto c = GENERATE(Case{abi::ValueCondition::eq, 5, -1, 4, 5}, Case{abi::ValueCondition::ne, 5, -1, 5, 6},
                          Case{abi::ValueCondition::lt, 0, -1, 0, -1}, Case{abi::ValueCondition::gte, 7, -1, 6, 7},
                          Case{abi::ValueCondition::eq, 0x20, 0xf0, 0x31, 0x2f},
                          Case{abi::ValueCondition::lt, INT64_MIN + 1, -1, INT64_MAX, INT64_MIN});
  auto gpu = make_gpu();
  Signal signal{*gpu, c.waits}, done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(barrier_value(signal.handle(), c.condition, c.value, c.mask, done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  signal.store(c.goes);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-value: a null signal is satisfied") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(barrier_value(0, abi::ValueCondition::eq, 9, -1, done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("barrier-value: an unknown condition is a vendor format error") {
  auto gpu = make_gpu();
  Signal signal{*gpu, 0};
  Queue queue{*gpu};
  queue.submit(barrier_value(signal.handle(), static_cast<abi::ValueCondition>(4), 0, -1, 0));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_packet_format);
  CHECK(queue.faults[0].error_bits == abi::kQueueErrorVendorFormat);
}

TEST_CASE("barrier packets: a processor that sleeps sees a signal that the host stores") {
  auto gpu = make_gpu({.workers = 1});
  Signal dependency{*gpu, 1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  packet.dep_signal[0] = dependency.handle();
  queue.submit(packet);
  const std::uint32_t seen = gpu->event_counter().load();
  gpu->wait_for_event(seen, 3'000'000); // nothing happens; meanwhile the processor goes to sleep
  dependency.store(0);
  gpu->notify_signal();
  while (done.load() != 0) std::this_thread::yield();
  CHECK(queue.fault_count == 0);
}
