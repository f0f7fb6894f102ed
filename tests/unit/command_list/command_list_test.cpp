// Recorded lists: what a replay puts into the ring, patches, kernarg frames, tickets.

#include <cstring>
#include <vector>

#include <aql/command_list.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"

namespace {
using namespace aql;
using aql::test::FakeDriver;
using aql::test::FakeQueue;
using namespace std::chrono_literals;

struct Fixture {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  Queue queue;
  FakeQueue& gpu;
  CommandList list{driver};
  explicit Fixture(QueueOptions options = {.packets = 64}) : queue(*Queue::create(driver, std::move(options))), gpu(driver->last_queue()) {}
  ~Fixture() { gpu.start(); } // destructors wait for the processor
  const abi::Slot& slot(std::uint64_t index) { return gpu.processor().slot(index); }
};

DispatchPacket dispatch(std::uint32_t grid, Barrier barrier = Barrier::off) {
  return {.grid = {grid, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x1000, .barrier = barrier};
}
std::span<const std::byte> bytes_of(const std::uint64_t& value) { return std::as_bytes(std::span<const std::uint64_t, 1>{&value, 1}); }
std::uint64_t argument(const abi::Slot& slot) {
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(detail::get64(slot, 10)), sizeof value);
  return value;
}
Errc code_of(const Result<void>& result) { return result ? Errc::ok : result.error().code; }
} // namespace

TEST_CASE("command list: a replay writes the packets that a batch would have, with one doorbell") {
  Fixture f;
  const DispatchPacket packets[] = {dispatch(100), dispatch(200), dispatch(300, Barrier::on)};
  for (const DispatchPacket& packet : packets) f.list.add(packet);
  const std::uint64_t rings = f.gpu.processor().rings();
  const auto ticket = f.list.replay(f.queue);
  REQUIRE(ticket);
  CHECK(f.gpu.processor().rings() == rings + 1);
  CHECK(ticket->index() == 2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    abi::Slot expected = packets[i].encode();
    if (i == 2) detail::put64(expected, 14, detail::get64(f.slot(2), 14)); // the queue's signal
    CHECK(std::memcmp(&f.slot(i), &expected, sizeof expected) == 0);
  }
  CHECK(detail::get64(f.slot(2), 14) != 0);
  CHECK_FALSE(ticket->done());
  CHECK(f.gpu.run() == 3);
  CHECK(ticket->wait());
}

TEST_CASE("command list: independent packets share a signal, the ticket waits for all") {
  Fixture f;
  for (std::uint32_t i = 1; i <= 3; ++i) f.list.add(dispatch(64 * i));
  const auto ticket = f.list.replay(f.queue);
  REQUIRE(ticket);
  while (f.gpu.launch()) {}
  for (const std::uint64_t i : {2u, 0u, 1u}) {
    CHECK_FALSE(ticket->done());
    REQUIRE(f.gpu.complete(i));
  }
  CHECK(ticket->done());
}

TEST_CASE("command list: replays of every position straddle the ring's end, in both ring modes") {
  for (const Publish publish : {Publish::ordered, Publish::fused}) {
    Fixture f{{.packets = 64, .publish = publish}};
    for (std::uint32_t i = 0; i < 37; ++i) f.list.add(dispatch(1000 + i, i == 36 ? Barrier::on : Barrier::off));
    for (int round = 0; round < 70; ++round) {
      const auto ticket = f.list.replay(f.queue);
      REQUIRE(ticket);
      const std::uint64_t first = ticket->index() - 36;
      for (std::uint32_t i = 0; i < 37; ++i) REQUIRE(f.slot(first + i).word[3] == 1000 + i);
      CHECK(f.gpu.run() == 37);
      CHECK(ticket->done());
    }
  }
}

TEST_CASE("command list: patches change the replays behind them") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 1);
  f.list.add(dispatch(64));
  f.list.add(BarrierAndPacket{});
  CHECK(f.list.set_grid(0, {128, 2, 1}));
  CHECK(f.list.set_group_bytes(0, 512));
  CHECK(f.list.set_completion(0, signal));
  CHECK(f.list.set(1, BarrierAndPacket{.dependencies = {signal}, .barrier = Barrier::on}));
  const auto ticket = f.list.replay(f.queue);
  REQUIRE(ticket);
  const auto packet = DispatchPacket::decode(f.slot(0));
  CHECK(packet.grid == Dim3{128, 2, 1});
  CHECK(packet.dimensions == 2);
  CHECK(packet.group_bytes == 512);
  CHECK(packet.completion.value == signal.handle());
  CHECK(BarrierAndPacket::decode(f.slot(1)).dependencies[0].value == signal.handle());
  CHECK(f.gpu.run() == 2);
  CHECK(signal.load_acquire() == 0);
  CHECK(ticket->wait());
}

TEST_CASE("command list: patches that do not fit are refused") {
  Fixture f;
  const std::uint64_t value = 5;
  f.list.add(dispatch(64), bytes_of(value));
  f.list.add(BarrierAndPacket{});
  f.list.add(dispatch(64));
  CHECK(code_of(f.list.set_grid(3, {})) == Errc::invalid_argument);
  CHECK(code_of(f.list.set_grid(1, {})) == Errc::invalid_argument);
  CHECK(code_of(f.list.set_argument(0, 1, value)) == Errc::invalid_argument);
  CHECK(code_of(f.list.set_argument(0, ~std::size_t{0}, value)) == Errc::invalid_argument);
  CHECK(code_of(f.list.set_argument(2, 0, value)) == Errc::invalid_argument);
  CHECK(code_of(f.list.set(0, BarrierAndPacket{})) == Errc::invalid_argument);
  CHECK(code_of(f.list.set_completion(9, 0)) == Errc::invalid_argument);
}

TEST_CASE("command list: empty lists and lists larger than the ring are refused") {
  Fixture f;
  CHECK(f.list.replay(f.queue).error().code == Errc::invalid_argument);
  for (int i = 0; i < 65; ++i) f.list.add(dispatch(64));
  CHECK(f.list.replay(f.queue).error().code == Errc::invalid_argument);
  CHECK(f.queue.ring().reserved() == 0);
}

TEST_CASE("command list: a patched replay never writes into arguments that an earlier one still reads") {
  Fixture f;
  std::uint64_t value = 0;
  f.list.add(dispatch(64), bytes_of(value));
  f.list.add(dispatch(64, Barrier::on), bytes_of(value));
  for (value = 1; value <= 4; ++value) { // four replays in flight, each with its own value
    REQUIRE(f.list.set_argument(1, 0, value));
    REQUIRE(f.list.replay(f.queue));
  }
  CHECK(f.list.frames() == 4);
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(argument(f.slot(2 * i)) == 0);
    CHECK(argument(f.slot(2 * i + 1)) == i + 1);
    CHECK(detail::get64(f.slot(2 * i), 10) % 16 == 0);
  }
  CHECK(f.gpu.run() == 8);
  for (value = 5; value <= 20; ++value) { // frames come back
    REQUIRE(f.list.set_argument(1, 0, value));
    REQUIRE(f.list.replay(f.queue));
    CHECK(argument(f.slot(f.queue.ring().reserved() - 1)) == value);
    CHECK(f.gpu.run() == 2);
  }
  CHECK(f.list.frames() == 4);
}

TEST_CASE("command list: replays without a patch share their arguments") {
  Fixture f;
  const std::uint64_t value = 9;
  f.list.add(dispatch(64, Barrier::on), bytes_of(value));
  for (int i = 0; i < 5; ++i) REQUIRE(f.list.replay(f.queue));
  CHECK(f.list.frames() == 1);
  CHECK(argument(f.slot(4)) == 9);
  REQUIRE(f.list.set_argument(0, 0, std::uint64_t{10}));
  f.gpu.launch();
  f.gpu.complete(0); // one of the five is over, four still read the frame
  REQUIRE(f.list.replay(f.queue));
  CHECK(f.list.frames() == 2);
  CHECK(argument(f.slot(4)) == 9);
  CHECK(argument(f.slot(5)) == 10);
}

TEST_CASE("command list: arguments are safe also when every packet names its own signal") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 100);
  DispatchPacket packet = dispatch(64);
  packet.completion = signal;
  const std::uint64_t value = 1;
  f.list.add(packet, bytes_of(value));
  const auto ticket = f.list.replay(f.queue);
  REQUIRE(ticket);
  CHECK_FALSE(ticket->tracked());
  REQUIRE(f.list.set_argument(0, 0, std::uint64_t{2}));
  REQUIRE(f.list.replay(f.queue));
  CHECK(f.list.frames() == 2);
  CHECK(argument(f.slot(0)) == 1);
  f.gpu.run(); // before the signal goes
  CHECK(signal.load_acquire() == 98);
}

TEST_CASE("command list: a failed queue refuses replays with its error") {
  Fixture f;
  f.list.add(dispatch(64));
  f.gpu.fault(Errc::memory_fault, 0, "");
  const auto ticket = f.list.replay(f.queue);
  REQUIRE_FALSE(ticket);
  CHECK(ticket.error().code == Errc::memory_fault);
}
