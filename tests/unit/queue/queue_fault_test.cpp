// What a queue does after its processor stopped, and queues under threads.

#include <atomic>
#include <thread>
#include <vector>

#include <aql/queue.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"

namespace {
using namespace aql;
using aql::test::FakeDriver;
using aql::test::FakeQueue;
using namespace std::chrono_literals;

DispatchPacket dispatch(Barrier barrier = Barrier::off) {
  return {.grid = {64, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x1000, .barrier = barrier};
}
Errc code_of(const Result<void>& result) { return result ? Errc::ok : result.error().code; }

struct Fixture {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  std::atomic<int> faults{0};
  QueueFault last;
  Queue queue;
  FakeQueue& gpu;
  Fixture()
      : queue(*Queue::create(driver, {.packets = 64, .on_fault = [this](const QueueFault& fault) {
                                        ++faults;
                                        last = fault;
                                      }})),
        gpu(driver->last_queue()) {}
  ~Fixture() { gpu.start(); } // the queue's destructor waits for the processor
};
} // namespace

TEST_CASE("fault: tickets before it succeed, tickets behind it end with its error, one callback") {
  for (const Barrier barrier : {Barrier::off, Barrier::on}) {
    Fixture f;
    std::vector<Ticket> tickets;
    for (int i = 0; i < 10; ++i) tickets.push_back(f.queue.submit(dispatch(barrier)));
    for (std::uint64_t i = 0; i < 5; ++i) REQUIRE((f.gpu.launch() && f.gpu.complete(i)));
    f.gpu.fault(Errc::memory_fault, 5, "read of address 8");
    f.gpu.fault(Errc::illegal_instruction, 6, "a second one");
    for (std::size_t i = 0; i < 10; ++i) CHECK(code_of(tickets[i].wait()) == (i < 5 ? Errc::ok : Errc::memory_fault));
    CHECK(tickets[7].wait().error().detail.find("packet 5: read of address 8") != std::string::npos);
    CHECK(f.faults == 1);
    CHECK(f.last.code == Errc::memory_fault);
    CHECK(f.last.hsa_status == 43);
    CHECK(f.last.packet_index == 5);
    CHECK(f.queue.fault_index() == 5u);
  }
}

TEST_CASE("fault: the status stays, and later submissions are refused with the first error") {
  Fixture f;
  CHECK(f.queue.status());
  f.gpu.fault(Errc::out_of_registers, 0, "too many");
  for (int i = 0; i < 3; ++i) {
    CHECK(code_of(f.queue.status()) == Errc::out_of_registers);
    const Ticket ticket = f.queue.submit(dispatch());
    CHECK_FALSE(ticket.submitted());
    CHECK(code_of(ticket.wait()) == Errc::out_of_registers);
    const auto tried = f.queue.try_submit(dispatch());
    REQUIRE(tried);
    CHECK(code_of(tried->wait()) == Errc::out_of_registers);
    CHECK_FALSE(f.queue.post(dispatch()));
    CHECK(code_of(f.queue.drain()) == Errc::out_of_registers);
    CHECK(code_of(f.queue.wait_consumed(10)) == Errc::out_of_registers);
  }
  CHECK(f.queue.failed());
  CHECK(f.queue.ring().reserved() == 0);
}

TEST_CASE("fault: the callback may use the queue, no lock is held") {
  const auto driver = std::make_shared<FakeDriver>();
  Queue* self = nullptr;
  Errc seen = Errc::ok;
  Queue queue = *Queue::create(driver, {.packets = 64, .on_fault = [&](const QueueFault&) {
                                          seen = code_of(self->status());
                                          (void)self->submit(dispatch()).wait();
                                        }});
  self = &queue;
  driver->last_queue().fault(Errc::exception, 0, "trap");
  CHECK(seen == Errc::exception);
}

TEST_CASE("fault: other queues go on") {
  const auto driver = std::make_shared<FakeDriver>();
  Queue a = *Queue::create(driver, {.packets = 64});
  Queue b = *Queue::create(driver, {.packets = 64});
  driver->queue(1).fault(Errc::memory_fault, 0, "");
  const Ticket ticket = b.submit(dispatch());
  CHECK(driver->queue(2).run() == 1);
  CHECK(ticket.wait());
  CHECK(b.status());
  CHECK_FALSE(a.status());
  driver->queue(2).start();
}

TEST_CASE("fault: wakes a thread that sleeps for a ticket, for a signal with the queue, or for room") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 1);
  const Ticket ticket = f.queue.submit(dispatch());
  for (int i = 1; i < 64; ++i) f.queue.submit(dispatch());
  std::atomic<int> right{0};
  std::vector<std::jthread> waiters;
  waiters.emplace_back([&] { right += code_of(ticket.wait()) == Errc::memory_fault; });
  waiters.emplace_back([&] { right += signal.wait(Condition::eq, 0, Deadline::never(), Wait::blocked, f.queue) == 1; });
  waiters.emplace_back([&] { right += signal.wait(Condition::eq, 0, Deadline::never(), Wait::busy, f.queue) == 1; });
  waiters.emplace_back([&] { right += code_of(f.queue.submit(dispatch()).wait()) == Errc::memory_fault; });
  while (f.driver->sleeps < 2) std::this_thread::yield();
  f.gpu.fault(Errc::memory_fault, 0, "");
  waiters.clear();
  CHECK(right == 4);
}

TEST_CASE("fault: a wait on a driver that cannot be woken by the host also ends") {
  const auto driver = std::make_shared<FakeDriver>();
  driver->notify_hooks = false;
  Queue queue = *Queue::create(driver, {.packets = 64});
  const Ticket ticket = queue.submit(dispatch());
  std::atomic<Errc> code{Errc::ok};
  std::jthread waiter{[&] { code = code_of(ticket.wait()); }};
  while (driver->sleeps == 0) std::this_thread::yield();
  driver->last_queue().fault(Errc::hang, 0, "watchdog");
  waiter.join();
  CHECK(code == Errc::hang);
}

TEST_CASE("fault: a signal wait with a healthy queue is an ordinary wait") {
  Fixture f;
  const Signal signal = *Signal::create(f.driver, 1);
  CHECK(signal.wait(Condition::eq, 0, Deadline::in(1ms), Wait::blocked, f.queue) == 1);
  CHECK(signal.wait(Condition::eq, 1, Deadline::never(), Wait::blocked, f.queue) == 1);
}

TEST_CASE("fault: destruction after a fault does not wait for what will never complete") {
  const auto driver = std::make_shared<FakeDriver>();
  {
    Queue queue = *Queue::create(driver, {.packets = 64});
    queue.submit(dispatch());
    REQUIRE(driver->last_queue().launch());
    driver->last_queue().fault(Errc::memory_fault, 0, "");
  }
  CHECK(driver->open_queues() == 0);
  CHECK(driver->live_signals == 0);
}

TEST_CASE("fault: inactivate ends tickets with queue_inactive, once") {
  Fixture f;
  const Ticket ticket = f.queue.submit(dispatch());
  CHECK(f.queue.inactivate());
  CHECK(f.queue.inactivate());
  CHECK(code_of(ticket.wait()) == Errc::queue_inactive);
  CHECK(f.faults == 1);
}

TEST_CASE("queue: eight threads, every ticket of a small ring completes, epoch and slot signals mixed") {
  const auto driver = std::make_shared<FakeDriver>();
  driver->auto_run = true;
  Queue queue = *Queue::create(driver, {.packets = 64});
  constexpr int kEach = 2000;
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        Ticket held[4];
        for (int i = 0; i < kEach; ++i) {
          Ticket& ticket = held[i % 4];
          if (ticket.submitted()) good += ticket.wait().has_value();
          ticket = queue.submit(dispatch((i + t) % 3 == 0 ? Barrier::on : Barrier::off));
        }
        for (const Ticket& ticket : held) good += ticket.wait().has_value();
      });
  }
  CHECK(good == 8 * kEach);
  CHECK(queue.ring().read_index() == 8 * kEach);
}

TEST_CASE("queue: a ticket's wait orders what the packet's work wrote") {
  const auto driver = std::make_shared<FakeDriver>();
  Queue queue = *Queue::create(driver, {.packets = 64});
  FakeQueue& gpu = driver->last_queue();
  int data = 0;
  for (const Barrier barrier : {Barrier::on, Barrier::off}) {
    const Ticket ticket = queue.submit(dispatch(barrier));
    std::jthread worker{[&] {
      while (!gpu.launch()) std::this_thread::yield();
      ++data; // plain: the completion orders it
      gpu.complete(ticket.index());
    }};
    REQUIRE(ticket.wait());
    CHECK(data == (barrier == Barrier::on ? 1 : 2));
  }
  gpu.start();
}

TEST_CASE("queue: destruction while another thread waits for a ticket ends that wait") {
  const auto driver = std::make_shared<FakeDriver>();
  std::optional<Queue> queue = std::move(*Queue::create(driver, {.packets = 64, .destroy_wait = 1ms}));
  const Ticket ticket = queue->submit(dispatch());
  std::atomic<Errc> code{Errc::ok};
  std::jthread waiter{[&] { code = code_of(ticket.wait()); }};
  while (driver->sleeps == 0) std::this_thread::yield();
  queue.reset();
  waiter.join();
  CHECK(code == Errc::queue_inactive);
}
