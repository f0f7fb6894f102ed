// Waits: deadlines, conditions, interruptions, several signals, no lost wake-ups.

#include <csignal>
#include <ctime>
#include <limits>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/time.h>

#include <aql/signal.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"

namespace {
using namespace aql;
using aql::test::FakeDriver;
using namespace std::chrono_literals;
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr Wait kModes[] = {Wait::blocked, Wait::busy};

struct Fixture {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  Signal signal = *Signal::create(driver, 1);
  Signal other = *Signal::create(driver, 1);
};

// SIGALRM every millisecond while alive, delivered without SA_RESTART: system calls end with EINTR.
class IntervalTimer {
public:
  IntervalTimer() {
    struct sigaction action {};
    action.sa_handler = [](int) { fired.fetch_add(1, std::memory_order_relaxed); };
    sigaction(SIGALRM, &action, &before_);
    const itimerval every{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~IntervalTimer() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  static inline std::atomic<int> fired{0};

private:
  struct sigaction before_ {};
};

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
} // namespace

TEST_CASE("wait: returns at once when the condition holds, whatever the deadline") {
  Fixture f;
  for (const Wait how : kModes) {
    CHECK(f.signal.wait(Condition::eq, 1, Deadline::never(), how) == 1);
    CHECK(f.signal.wait(Condition::ne, 0, Deadline::now(), how) == 1);
    CHECK(f.signal.wait(Condition::lt, 2, Deadline::in_ns(0), how) == 1);
    CHECK(f.signal.wait(Condition::gte, 1, Deadline::in_ns(1), how) == 1);
  }
}

TEST_CASE("wait: finite deadlines end with the value seen, which does not satisfy the condition") {
  Fixture f;
  for (const Wait how : kModes) {
    for (const std::uint64_t ns : {0ULL, 1ULL, 1'000'000ULL}) {
      CHECK(f.signal.wait(Condition::eq, 0, Deadline::in_ns(ns), how) == 1);
      CHECK(f.signal.wait(Condition::lt, 1, Deadline::in_ns(ns), how) == 1);
      CHECK(f.signal.wait(Condition::gte, 2, Deadline::in_ns(ns), how) == 1);
      CHECK(f.signal.wait(Condition::ne, 1, Deadline::in_ns(ns), how) == 1);
    }
  }
}

TEST_CASE("wait: the ends of the value range compare as signed 64-bit numbers") {
  Fixture f;
  f.signal.store_release(kMin);
  CHECK(f.signal.wait(Condition::lt, kMax) == kMin);
  CHECK(f.signal.wait(Condition::eq, kMin) == kMin);
  CHECK(f.signal.wait(Condition::gte, kMax, Deadline::in_ns(1)) == kMin);
  f.signal.store_release(kMax);
  CHECK(f.signal.wait(Condition::gte, kMax) == kMax);
  CHECK(f.signal.wait(Condition::ne, kMin) == kMax);
  CHECK(f.signal.wait(Condition::lt, kMax, Deadline::in_ns(1)) == kMax);
}

TEST_CASE("wait: a deadline does not end before its time") {
  Fixture f;
  for (const Wait how : kModes) {
    const auto start = Clock::now();
    CHECK(f.signal.wait(Condition::eq, 0, Deadline::in(2ms), how) == 1);
    CHECK(Clock::now() - start >= 2ms);
  }
}

TEST_CASE("wait: UINT64_MAX nanoseconds and other huge times mean never") {
  CHECK(Deadline::in_ns(~0ULL).infinite);
  CHECK(Deadline::in(std::chrono::hours{1'000'000'000'000}).infinite);
  CHECK_FALSE(Deadline::in_ns(1'000'000'000).infinite);
  Fixture f;
  std::jthread setter{[&] {
    while (f.driver->sleeps.load() == 0) std::this_thread::yield(); // the waiter sleeps: it did not take the time for 0
    f.signal.store_release(0);
  }};
  CHECK(f.signal.wait(Condition::eq, 0, Deadline::in_ns(~0ULL)) == 0);
}

TEST_CASE("wait: POSIX signals during a wait neither end nor prolong it") {
  Fixture f;
  const IntervalTimer timer;
  const int before = IntervalTimer::fired.load();
  const auto start = Clock::now();
  CHECK(f.signal.wait(Condition::eq, 0, Deadline::in(30ms)) == 1);
  CHECK(Clock::now() - start >= 30ms);
  CHECK(IntervalTimer::fired.load() > before);
  std::jthread setter{[&] {
    const int from = IntervalTimer::fired.load();
    while (IntervalTimer::fired.load() < from + 5) std::this_thread::yield();
    f.signal.store_release(0);
  }};
  CHECK(f.signal.wait(Condition::eq, 0) == 0);
}

TEST_CASE("wait: a blocked wait sleeps") {
  Fixture f;
  const std::int64_t cpu = thread_cpu_ns();
  CHECK(f.signal.wait(Condition::eq, 0, Deadline::in(300ms)) == 1);
  CHECK(thread_cpu_ns() - cpu < 150'000'000);
  CHECK(f.driver->sleeps >= 1);
}

TEST_CASE("wait: a busy wait never sleeps") {
  Fixture f;
  CHECK(f.signal.wait(Condition::eq, 0, Deadline::in(1ms), Wait::busy) == 1);
  CHECK(f.driver->sleeps == 0);
}

TEST_CASE("wait: no wake-up is lost between two threads that pass a value back and forth") {
  // Each hand-over races a store with the other side's way into sleep; the fake driver wakes nobody without a change.
  Fixture f;
  f.signal.store_release(0);
  constexpr std::int64_t kRounds = 3000;
  std::jthread peer{[&] {
    for (std::int64_t i = 1; i < 2 * kRounds; i += 2) {
      f.signal.wait(Condition::gte, i);
      f.signal.store_release(i + 1);
    }
  }};
  for (std::int64_t i = 0; i < 2 * kRounds; i += 2) {
    f.signal.store_release(i + 1);
    REQUIRE(f.signal.wait(Condition::gte, i + 2) == i + 2);
  }
}

TEST_CASE("wait: data written before a release is seen after the wait") {
  Fixture f;
  f.signal.store_release(0);
  int data = 0;
  std::jthread writer{[&] {
    data = 42; // plain: the signal orders it
    f.signal.add_release(1);
  }};
  f.signal.wait(Condition::eq, 1);
  CHECK(data == 42);
}

TEST_CASE("wait_any: returns the first in the list that holds") {
  Fixture f;
  const WaitFor list[] = {{f.signal, Condition::eq, 5}, {f.other, Condition::eq, 1}, {f.other, Condition::gte, 0}};
  for (const Wait how : kModes) {
    const auto found = wait_any(list, Deadline::never(), how);
    REQUIRE(found);
    CHECK(found->index == 1);
    CHECK(found->value == 1);
  }
}

TEST_CASE("wait_any: nothing at the deadline, and nothing for an empty list") {
  Fixture f;
  const WaitFor list[] = {{f.signal, Condition::eq, 5}, {f.other, Condition::eq, 5}};
  for (const Wait how : kModes) {
    CHECK_FALSE(wait_any(list, Deadline::now(), how));
    CHECK_FALSE(wait_any(list, Deadline::in(1ms), how));
    CHECK_FALSE(wait_any({}, Deadline::never(), how));
  }
}

TEST_CASE("wait_any: is woken by any of its signals") {
  Fixture f;
  const WaitFor list[] = {{f.signal, Condition::eq, 5}, {f.other, Condition::eq, 5}};
  std::jthread setter{[&] {
    while (f.driver->sleeps.load() == 0) std::this_thread::yield();
    f.other.store_release(5);
  }};
  const auto found = wait_any(list);
  REQUIRE(found);
  CHECK(found->index == 1);
}

TEST_CASE("wait_all: each condition has to have been seen, not all at once") {
  Fixture f;
  const WaitFor list[] = {{f.signal, Condition::eq, 1}, {f.other, Condition::eq, 2}};
  CHECK_FALSE(wait_all(list, Deadline::in(1ms)));
  const std::uint64_t slept = f.driver->sleeps.load();
  std::jthread setter{[&] {
    while (f.driver->sleeps.load() == slept) std::this_thread::yield();
    f.signal.store_release(0); // was seen at 1 before
    f.other.store_release(2);
  }};
  CHECK(wait_all(list));
  CHECK(wait_all({}, Deadline::now()));
}

TEST_CASE("wait_any: signals of two drivers") {
  Fixture f, g;
  const WaitFor list[] = {{f.signal, Condition::eq, 5}, {g.signal, Condition::eq, 5}};
  CHECK_FALSE(wait_any(list, Deadline::in(3ms)));
  const std::uint64_t slept = f.driver->sleeps.load();
  std::jthread setter{[&] {
    while (f.driver->sleeps.load() == slept) std::this_thread::yield();
    g.signal.store_release(5);
  }};
  const auto found = wait_any(list);
  REQUIRE(found);
  CHECK(found->index == 1);
}
