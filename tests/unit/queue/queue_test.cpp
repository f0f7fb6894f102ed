// Queue and tickets, against a processor that the test steps by hand.

#include <set>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <aql/queue.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"

namespace {
using namespace aql;
using aql::test::FakeDriver;
using aql::test::FakeProcessor;
using aql::test::FakeQueue;
using namespace std::chrono_literals;

struct Fixture {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  Queue queue;
  FakeQueue& gpu;
  explicit Fixture(QueueOptions options = {.packets = 64}) : queue(*Queue::create(driver, std::move(options))), gpu(driver->last_queue()) {}
  ~Fixture() {
    if (queue.valid()) gpu.start(); // the queue's destructor waits for the processor
  }
};

DispatchPacket dispatch(Barrier barrier = Barrier::off) {
  return {.grid = {64, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x1000, .barrier = barrier};
}
std::uint64_t completion_of(const abi::Slot& slot) { return slot.word[14] | static_cast<std::uint64_t>(slot.word[15]) << 32; }
Errc code_of(const Result<void>& result) { return result ? Errc::ok : result.error().code; }
} // namespace

TEST_CASE("queue: sizes that are no power of two from 64 to 131072 are refused with what is needed") {
  const auto driver = std::make_shared<FakeDriver>();
  for (const std::uint32_t packets : {0u, 1u, 32u, 65u, 100u, 262144u}) {
    const auto queue = Queue::create(driver, {.packets = packets});
    REQUIRE_FALSE(queue);
    CHECK(queue.error().code == Errc::invalid_queue_creation);
    CHECK(queue.error().detail.find("power of two from 64 to 131072") != std::string::npos);
  }
  CHECK(Queue::create(driver, {.packets = 64}));
  CHECK(Queue::create(driver, {.packets = 131072}));
}

TEST_CASE("queue: a ticket is done when its packet has completed, not when it was consumed") {
  for (const Barrier barrier : {Barrier::off, Barrier::on}) {
    Fixture f;
    const Ticket ticket = f.queue.submit(dispatch(barrier));
    CHECK((ticket.submitted() && ticket.tracked() && ticket.index() == 0));
    CHECK(code_of(ticket.wait(Deadline::now())) == Errc::timeout);
    REQUIRE(f.gpu.launch());
    CHECK_FALSE(ticket.done());
    CHECK(f.queue.wait_consumed(0, Deadline::now()));
    CHECK(code_of(ticket.wait(Deadline::in(1ms))) == Errc::timeout);
    REQUIRE(f.gpu.complete(0));
    CHECK(ticket.done());
    CHECK(ticket.wait());
    CHECK(ticket.wait()); // again
  }
}

TEST_CASE("queue: packets without the barrier bit may finish in any order, each ticket knows its own") {
  Fixture f;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 8; ++i) tickets.push_back(f.queue.submit(dispatch()));
  while (f.gpu.launch()) {}
  std::set<std::size_t> completed;
  for (const std::size_t i : {5u, 0u, 7u, 3u, 1u, 6u, 2u, 4u}) {
    REQUIRE(f.gpu.complete(i));
    completed.insert(i);
    for (std::size_t k = 0; k < 8; ++k) CHECK(tickets[k].done() == completed.contains(k));
  }
}

TEST_CASE("queue: tickets of mixed packets are right whichever finishes first") {
  Fixture f;
  const Ticket a = f.queue.submit(dispatch(Barrier::on));
  const Ticket b = f.queue.submit(dispatch());
  const Ticket c = f.queue.submit(BarrierAndPacket{}); // no barrier bit: may complete before a and b
  REQUIRE((f.gpu.launch() && f.gpu.launch() && f.gpu.launch()));
  REQUIRE(f.gpu.complete(2));
  CHECK((!a.done() && !b.done() && c.done()));
  REQUIRE(f.gpu.complete(1));
  CHECK((!a.done() && b.done()));
  const Ticket d = f.queue.submit(dispatch(Barrier::on));
  CHECK_FALSE(f.gpu.launch()); // waits for a
  REQUIRE(f.gpu.complete(0));
  CHECK((a.done() && !d.done()));
  CHECK(f.gpu.run() == 1);
  CHECK(d.done());
}

TEST_CASE("queue: only packets with the barrier bit share the epoch signal") {
  Fixture f;
  f.queue.submit(dispatch(Barrier::on));
  f.queue.submit(BarrierAndPacket{.barrier = Barrier::on});
  f.queue.submit(dispatch());
  f.queue.submit(BarrierAndPacket{});
  f.queue.submit(BarrierValuePacket{.barrier = Barrier::on});
  std::vector<std::uint64_t> handles;
  for (std::uint64_t i = 0; i < 5; ++i) handles.push_back(completion_of(f.gpu.processor().slot(i)));
  CHECK(handles[0] == handles[1]);
  CHECK(handles[0] == handles[4]);
  CHECK(std::set<std::uint64_t>(handles.begin(), handles.end()).size() == 3);
  f.gpu.run();
}

TEST_CASE("queue: the slot of a packet that still runs is used again without mixing up the two") {
  Fixture f;
  const Ticket slow = f.queue.submit(dispatch());
  REQUIRE(f.gpu.launch());
  std::vector<Ticket> others;
  for (std::uint64_t lap = 1; lap <= 3 * 64; ++lap) { // three laps over slot 0 while packet 0 runs
    others.push_back(f.queue.submit(dispatch()));
    REQUIRE(f.gpu.launch());
    REQUIRE(f.gpu.complete(lap));
    REQUIRE(others.back().done());
    REQUIRE_FALSE(slow.done());
  }
  REQUIRE(f.gpu.complete(0));
  CHECK(slow.done());
  for (const Ticket& ticket : others) CHECK(ticket.done());
}

TEST_CASE("queue: a batch whose last packet has the barrier bit carries one signal") {
  Fixture f;
  const DispatchPacket batch[] = {dispatch(), dispatch(), dispatch(Barrier::on)};
  const std::uint64_t rings = f.gpu.processor().rings();
  const Ticket ticket = f.queue.submit(batch);
  CHECK(f.gpu.processor().rings() == rings + 1);
  CHECK(ticket.index() == 2);
  CHECK(completion_of(f.gpu.processor().slot(0)) == 0);
  CHECK(completion_of(f.gpu.processor().slot(1)) == 0);
  CHECK(completion_of(f.gpu.processor().slot(2)) != 0);
  REQUIRE((f.gpu.launch() && f.gpu.launch()));
  REQUIRE((f.gpu.complete(1) && f.gpu.complete(0)));
  CHECK_FALSE(ticket.done());
  CHECK(f.gpu.run() == 1);
  CHECK(ticket.done());
}

TEST_CASE("queue: a batch of independent packets is done when the last of them is, in any order") {
  Fixture f;
  const DispatchPacket batch[] = {dispatch(), dispatch(Barrier::on), dispatch()};
  const Ticket ticket = f.queue.submit(batch);
  const Ticket after = f.queue.submit(dispatch());
  REQUIRE(f.gpu.launch());
  REQUIRE(f.gpu.complete(0));
  REQUIRE((f.gpu.launch() && f.gpu.launch() && f.gpu.launch()));
  REQUIRE(f.gpu.complete(3));
  CHECK((after.done() && !ticket.done()));
  REQUIRE(f.gpu.complete(2));
  CHECK_FALSE(ticket.done());
  REQUIRE(f.gpu.complete(1));
  CHECK(ticket.done());
}

TEST_CASE("queue: batches of mixed packets, and batches that the ring cannot hold") {
  Fixture f;
  const AnyPacket mixed[] = {dispatch(), BarrierAndPacket{.barrier = Barrier::on}, AgentPacket{.type = 3}, BarrierValuePacket{.barrier = Barrier::on}};
  const Ticket ticket = f.queue.submit(std::span<const AnyPacket>{mixed});
  CHECK(f.gpu.run() == 4);
  CHECK(ticket.wait());
  const std::vector<DispatchPacket> large(65, dispatch());
  const Ticket refused = f.queue.submit(std::span<const DispatchPacket>{large});
  CHECK_FALSE(refused.submitted());
  CHECK(code_of(refused.wait()) == Errc::invalid_argument);
  CHECK(refused.wait().error().detail.find("65 packets") != std::string::npos);
  CHECK(code_of(f.queue.submit(std::span<const DispatchPacket>{}).wait()) == Errc::invalid_argument);
  CHECK(code_of(f.queue.submit(std::span<const AnyPacket>{}).wait()) == Errc::invalid_argument);
  CHECK(f.queue.ring().reserved() == 4);
}

TEST_CASE("queue: a packet with its own completion signal is left alone, and its ticket says where to wait") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 1);
  DispatchPacket packet = dispatch(Barrier::on);
  packet.completion = signal;
  const Ticket ticket = f.queue.submit(packet);
  CHECK((ticket.submitted() && !ticket.tracked()));
  CHECK(completion_of(f.gpu.processor().slot(0)) == signal.handle());
  CHECK(code_of(ticket.wait()) == Errc::invalid_argument);
  f.gpu.run();
  CHECK(signal.wait(Condition::eq, 0) == 0);
  CHECK(signal.timestamps());
}

TEST_CASE("queue: in a batch, the ticket covers the packets without a signal of their own") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 2);
  DispatchPacket own = dispatch();
  own.completion = signal;
  const DispatchPacket batch[] = {dispatch(), own, own};
  const Ticket ticket = f.queue.submit(batch);
  while (f.gpu.launch()) {}
  CHECK(ticket.tracked());
  REQUIRE(f.gpu.complete(0));
  CHECK(ticket.done());
  CHECK(signal.load_acquire() == 2);
  const DispatchPacket all_own[] = {own, own};
  CHECK_FALSE(f.queue.submit(all_own).tracked());
  f.gpu.run();
}

TEST_CASE("queue: post writes the packet as it is") {
  Fixture f;
  const DispatchPacket packet = dispatch(Barrier::on);
  CHECK(f.queue.post(packet) == 0u);
  const abi::Slot expected = packet.encode();
  CHECK(std::memcmp(&f.gpu.processor().slot(0), &expected, sizeof expected) == 0);
  f.gpu.run();
}

TEST_CASE("queue: try_submit says when the ring is full") {
  Fixture f;
  for (int i = 0; i < 64; ++i) REQUIRE(f.queue.try_submit(dispatch()));
  CHECK_FALSE(f.queue.try_submit(dispatch()));
  CHECK(f.queue.ring().reserved() == 64);
  REQUIRE(f.gpu.launch());
  CHECK(f.queue.try_submit(dispatch()));
  f.gpu.run();
}

TEST_CASE("queue: with the fused ring every packet has a signal of its slot") {
  Fixture f{{.packets = 64, .publish = Publish::fused}};
  const Ticket a = f.queue.submit(dispatch(Barrier::on));
  const Ticket b = f.queue.submit(dispatch(Barrier::on));
  CHECK(completion_of(f.gpu.processor().slot(0)) != completion_of(f.gpu.processor().slot(1)));
  CHECK(f.gpu.run() == 2);
  CHECK((a.wait() && b.wait()));
}

TEST_CASE("queue: a packet behind an uncommitted reservation does not use the epoch") {
  Fixture f;
  Ring& ring = f.queue.ring();
  const auto hole = ring.try_reserve();
  REQUIRE(hole);
  const Ticket ticket = f.queue.submit(dispatch(Barrier::on));
  CHECK(f.gpu.run() == 0);
  ring.publish(*hole, dispatch(Barrier::on).emit(ring.slot(*hole)));
  ring.commit(*hole, 1);
  const Ticket next = f.queue.submit(dispatch(Barrier::on));
  REQUIRE(f.gpu.launch());
  CHECK((!ticket.done() && !next.done()));
  CHECK(f.gpu.run() == 3);
  CHECK((ticket.done() && next.done()));
}

TEST_CASE("queue: drain waits for everything, also for what finishes out of order") {
  Fixture f{{.packets = 64, .producers = Producers::single}};
  f.queue.submit(dispatch());
  f.queue.submit(dispatch());
  REQUIRE((f.gpu.launch() && f.gpu.launch()));
  CHECK(code_of(f.queue.drain(Deadline::in(1ms))) == Errc::timeout);
  REQUIRE(f.gpu.complete(1));
  CHECK(code_of(f.queue.drain(Deadline::in(1ms))) == Errc::timeout);
  f.gpu.start();
  CHECK(f.queue.drain());
}

TEST_CASE("queue: close refuses while work is in flight, and the queue stays usable") {
  Fixture f;
  const Ticket ticket = f.queue.submit(dispatch());
  REQUIRE(f.gpu.launch());
  CHECK(code_of(f.queue.close(Deadline::in(1ms))) == Errc::timeout);
  REQUIRE(f.queue.valid());
  f.gpu.run();
  CHECK(ticket.wait());
  f.queue.submit(dispatch());
  f.gpu.start();
  CHECK(f.queue.close(Deadline::never()));
  CHECK_FALSE(f.queue.valid());
  CHECK(f.driver->open_queues() == 0);
  CHECK(f.driver->live_signals == 0);
}

TEST_CASE("queue: destruction with work that never ends stops it and returns") {
  const auto driver = std::make_shared<FakeDriver>();
  int faults = 0;
  Ticket ticket;
  {
    Queue queue = *Queue::create(driver, {.packets = 64, .on_fault = [&](const QueueFault& fault) {
                                            ++faults;
                                            CHECK(fault.code == Errc::queue_inactive);
                                          },
                                          .destroy_wait = 2ms});
    ticket = queue.submit(dispatch());
    REQUIRE(driver->last_queue().launch());
  }
  CHECK(faults == 1);
  CHECK(driver->open_queues() == 0);
  CHECK(driver->live_signals == 0);
  CHECK(code_of(ticket.wait()) == Errc::queue_inactive);
}

TEST_CASE("queue: destruction with a reservation that was never committed returns") {
  const auto driver = std::make_shared<FakeDriver>();
  {
    Queue queue = *Queue::create(driver, {.packets = 64});
    REQUIRE(queue.ring().try_reserve());
  }
  CHECK(driver->open_queues() == 0);
}

TEST_CASE("queue: a ticket that outlives its queue says so, also when another queue took its place") {
  const auto driver = std::make_shared<FakeDriver>();
  Ticket ticket;
  {
    Queue queue = *Queue::create(driver, {.packets = 64});
    ticket = queue.submit(dispatch());
    driver->last_queue().start();
    CHECK(ticket.wait());
  }
  CHECK(code_of(ticket.wait()) == Errc::queue_inactive);
  CHECK_FALSE(ticket.done());
  Queue other = *Queue::create(driver, {.packets = 64});
  CHECK(code_of(ticket.wait()) == Errc::queue_inactive);
  CHECK(code_of(Ticket{}.wait()) == Errc::invalid_argument);
}

TEST_CASE("queue: is destroyed once, wherever it was moved") {
  const auto driver = std::make_shared<FakeDriver>();
  {
    Queue a = *Queue::create(driver, {.packets = 64});
    Queue b = std::move(a);
    Queue c = *Queue::create(driver, {.packets = 64});
    c = std::move(b);
    CHECK((!a.valid() && !b.valid() && c.valid()));
    CHECK(driver->open_queues() == 1);
    c.submit(dispatch());
    driver->queue(1).start(); // the queue of `a`
  }
  CHECK(driver->open_queues() == 0);
  CHECK(driver->live_signals == 0);
}

TEST_CASE("queue: create, dispatch and destroy 1000 times") {
  const auto driver = std::make_shared<FakeDriver>();
  driver->auto_run = true;
  for (int i = 0; i < 1000; ++i) {
    Queue queue = *Queue::create(driver, {.packets = 64});
    const Ticket ticket = queue.submit(dispatch());
    if (i % 2 == 0) REQUIRE(ticket.wait());
  }
  CHECK(driver->open_queues() == 0);
  CHECK(driver->live_signals == 0);
}

TEST_CASE("queue: a forked child is refused, and the parent goes on") {
  Fixture f;
  const Ticket ticket = f.queue.submit(dispatch());
  const pid_t child = fork();
  if (child == 0) {
    bool good = code_of(f.queue.status()) == Errc::forked;
    good = good && code_of(f.queue.submit(dispatch()).wait()) == Errc::forked;
    good = good && code_of(ticket.wait()) == Errc::forked;
    good = good && code_of(f.queue.drain()) == Errc::forked;
    good = good && code_of(f.queue.close(Deadline::never())) == Errc::forked;
    good = good && code_of(f.queue.inactivate()) == Errc::forked;
    good = good && !f.queue.post(dispatch()) && !f.queue.ring().try_reserve();
    good = good && f.queue.ring().reserved() == 1;
    { Queue gone = std::move(f.queue); } // nothing is destroyed
    good = good && f.driver->open_queues() == 1;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  f.gpu.run();
  CHECK(ticket.wait());
}
