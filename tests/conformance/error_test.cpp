// Errors: one bad field at a time. The queue stops with the status of its cause, the callback runs once, other queues go on.
#include <algorithm>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

namespace {

struct Failing {
  std::vector<QueueFault> faults;
  std::atomic<int> calls{0};
  std::optional<Queue> q;
  Failing() {
    QueueOptions options;
    options.packets = 64;
    options.on_fault = [this](const QueueFault& f) {
      faults.push_back(f);
      calls.fetch_add(1, std::memory_order_release);
    };
    q.emplace(queue(std::move(options)));
  }
  // The queue's error; fails the test if it does not stop.
  Error error() {
    const auto never = signal(1);
    (void)never.wait(Condition::eq, 0, soon(), Wait::blocked, *q);
    const auto status = q->status();
    if (status) FAIL("the queue did not stop");
    return status.error();
  }
  // Destroys the queue: afterwards the callback has run as often as it ever will.
  void check_told_once(Errc code) {
    q.reset();
    REQUIRE(calls.load(std::memory_order_acquire) == 1);
    CHECK(faults[0].code == code);
  }
};

void check_another_queue_works() {
  auto q = queue();
  const auto counter = buffer(4);
  run(q, arguments("add_one", counter));
  CHECK(word(counter).load() == 1);
}

// A good dispatch, to be spoiled.
DispatchPacket good(const Buffer& kernargs) {
  return {.grid = {64}, .group = {64}, .kernel_object = kernel("add_one").kernel_object(), .kernarg_address = kernargs.device_address()};
}

void check_refused(const abi::Slot& packet, Errc code) {
  Failing failing;
  auto& ring = failing.q->ring();
  const auto at = ring.reserve(1, soon());
  REQUIRE(at);
  std::copy_n(packet.word + 1, 15, ring.slot(*at).word + 1);
  ring.publish(*at, packet.word[0]);
  ring.commit(*at, 1);
  const auto error = failing.error();
  INFO(error.message());
  CHECK(error.code == code);
  CHECK_FALSE(failing.q->submit(BarrierAndPacket{}).submitted());
  failing.check_told_once(code);
  check_another_queue_works();
}

} // namespace

TEST_CASE("error: a setup without dimensions is incompatible arguments") {
  const auto args = buffer(64, PoolKind::kernarg);
  auto slot = good(args).encode();
  slot.word[0] &= 0xffffu;
  check_refused(slot, Errc::incompatible_arguments);
}

TEST_CASE("error: a grid smaller than its group, or a group of nothing, is incompatible arguments") {
  const auto args = buffer(64, PoolKind::kernarg);
  auto packet = good(args);
  if (GENERATE(false, true)) packet.grid.x = 32;
  else packet.group.x = 0;
  check_refused(packet.encode(), Errc::incompatible_arguments);
}

TEST_CASE("error: a group too large is an invalid argument") {
  const auto args = buffer(64, PoolKind::kernarg);
  auto packet = good(args);
  packet.grid = packet.group = {1024, 2, 1};
  packet.dimensions = 2;
  check_refused(packet.encode(), Errc::invalid_argument);
}

TEST_CASE("error: more LDS than a compute unit has is an invalid allocation") {
  const auto args = buffer(64, PoolKind::kernarg);
  auto packet = good(args);
  packet.group_bytes = device().info().lds_bytes + 1;
  check_refused(packet.encode(), Errc::invalid_allocation);
}

TEST_CASE("error: a null kernel object is an invalid code object") {
  const auto args = buffer(64, PoolKind::kernarg);
  auto packet = good(args);
  packet.kernel_object = 0;
  check_refused(packet.encode(), Errc::invalid_code_object);
}

TEST_CASE("error: a packet type or vendor format that does not exist is an invalid packet format") {
  abi::Slot slot{};
  slot.word[0] = GENERATE(6u, 7u, 200u, 0u | 99u << 16);
  check_refused(slot, Errc::invalid_packet_format);
}

TEST_CASE("error: agent dispatch on a queue without a function is an invalid packet format") { check_refused(AgentPacket{.type = 1}.encode(), Errc::invalid_packet_format); }

TEST_CASE("error: a store to memory that is not there is a memory fault") {
  Failing failing;
  Kernargs args{kernel("store_at")};
  REQUIRE(args.set_address(0, 0xdead000));
  REQUIRE(args.set(1, 1u));
  const auto ticket = start(*failing.q, args);
  const auto done = ticket.wait(soon());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::memory_fault);
  CHECK_THAT(done.error().detail, Catch::Contains("0xdead000"));
  failing.check_told_once(Errc::memory_fault);
}

TEST_CASE("error: a load from the null page is a memory fault") {
  Failing failing;
  const auto out = buffer(4);
  Kernargs args{kernel("load_at")};
  REQUIRE(args.set_address(0, 16));
  REQUIRE(args.set(1, out));
  const auto done = start(*failing.q, args).wait(soon());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::memory_fault);
  failing.check_told_once(Errc::memory_fault);
}

TEST_CASE("error: an illegal instruction and a trap stop their queue with their status") {
  const bool trap = GENERATE(false, true);
  Failing failing;
  const auto out = buffer(64);
  const auto module = trap ? load() : load("conformance_illegal");
  auto k = module.kernel(trap ? "trap" : "illegal_sop1");
  REQUIRE(k);
  Kernargs args{*k};
  if (!trap) REQUIRE(args.set(0, out));
  const auto done = start(*failing.q, args).wait(soon());
  REQUIRE_FALSE(done);
  INFO(done.error().message());
  CHECK(done.error().code == (trap ? Errc::exception : Errc::illegal_instruction));
  failing.check_told_once(trap ? Errc::exception : Errc::illegal_instruction);
  check_another_queue_works();
}

TEST_CASE("error: a queue that the host inactivates tells its tickets, and is destroyed with a kernel in it") {
  Failing failing;
  const auto ticket = start(*failing.q, Kernargs{kernel("spin")});
  REQUIRE(failing.q->inactivate());
  const auto done = ticket.wait(soon());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::queue_inactive);
  failing.check_told_once(Errc::queue_inactive);
  check_another_queue_works();
}

TEST_CASE("error: the function for a queue's error may destroy another queue, and make a new one") {
  std::optional<Queue> other{queue()}, next;
  const auto told = signal(1);
  QueueOptions options;
  options.packets = 64;
  options.on_fault = [&](const QueueFault&) {
    other.reset();
    if (auto made = Queue::create(device(), {.packets = 64})) next.emplace(std::move(*made));
    told.store_release(0);
  };
  auto q = queue(std::move(options));
  const auto counter = buffer(4);
  run(*other, arguments("add_one", counter));
  auto& ring = q.ring();
  const auto at = ring.reserve(1, soon());
  REQUIRE(at);
  std::fill_n(ring.slot(*at).word + 1, 15, 0u);
  ring.publish(*at, static_cast<std::uint32_t>(abi::PacketType::kernel_dispatch)); // no dimensions
  ring.commit(*at, 1);
  REQUIRE(zero(told));
  CHECK_FALSE(other);
  REQUIRE(next);
  run(*next, arguments("add_one", counter));
  CHECK(word(counter).load() == 2);
}

TEST_CASE("error: the function for a queue's error may hold the last of the queue and of its device") {
  static std::atomic<bool> may{false}, gone{false}; // the function may outlive the case by a step
  Select select;
  select.selector = selector();
  select.exclusive = true;
  std::optional<Device> own;
  {
    auto opened = Device::open(select);
    if (!opened) FAIL(opened.error().message());
    own.emplace(*opened);
  }
  std::optional<Queue> q;
  QueueOptions options;
  options.packets = 64;
  options.on_fault = [&](const QueueFault&) {
    may.wait(false);
    q.reset();
    own.reset();
    gone = true;
    gone.notify_all();
  };
  {
    auto made = Queue::create(*own, std::move(options));
    REQUIRE(made);
    q.emplace(std::move(*made));
  }
  {
    auto& ring = q->ring();
    const auto at = ring.reserve(1, soon());
    REQUIRE(at);
    std::fill_n(ring.slot(*at).word + 1, 15, 0u);
    ring.publish(*at, static_cast<std::uint32_t>(abi::PacketType::kernel_dispatch)); // no dimensions
    ring.commit(*at, 1);
  }
  may = true;
  may.notify_all();
  gone.wait(false);
  CHECK_FALSE(own);
  CHECK_FALSE(q);
}

TEST_CASE("error: a code object for another target is refused by name") {
  const auto& mine = device().info().target;
  const std::string other = mine == "gfx90a" ? "gfx942" : "gfx90a";
  const auto module = Module::load_file(device(), std::string{AQL_TEST_KERNEL_DIR} + "/conformance." + other + ".co");
  REQUIRE_FALSE(module);
  CHECK(module.error().code == Errc::invalid_isa);
  CHECK_THAT(module.error().detail, Catch::Contains(other) && Catch::Contains(mine));
}

TEST_CASE("error: a damaged code object is refused") {
  std::vector<std::byte> bytes(4096, std::byte{0x7f});
  const auto module = Module::load(device(), bytes);
  REQUIRE_FALSE(module);
}

TEST_CASE("error: queues of impossible sizes are refused with what is possible") {
  for (const std::uint32_t packets : {0u, 1u, 63u, 100u, 1u << 20}) {
    const auto q = Queue::create(device(), {.packets = packets});
    REQUIRE_FALSE(q);
    CHECK(q.error().code == Errc::invalid_queue_creation);
    CHECK_THAT(q.error().detail, Catch::Contains("64"));
  }
}
