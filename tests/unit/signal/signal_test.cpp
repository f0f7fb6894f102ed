// Signal operations, timestamps, lifetime and pools.

#include <limits>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include <aql/signal.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"

namespace {
using namespace aql;
using aql::test::FakeDriver;
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

struct Fixture {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  Signal signal = *Signal::create(driver, 10);
};
} // namespace

TEST_CASE("signal: is a user signal in HSA's layout, its handle names it in packets") {
  Fixture f;
  const abi::AmdSignal& object = *f.signal.view().object;
  CHECK(object.kind == static_cast<std::int64_t>(abi::SignalKind::user));
  CHECK(object.value == 10);
  CHECK(object.event_mailbox_ptr == 0);
  CHECK(f.signal.handle() == reinterpret_cast<std::uint64_t>(&object));
  const DispatchPacket packet{.completion = f.signal};
  CHECK(packet.completion.value == f.signal.handle());
}

TEST_CASE("signal: every operation in every order returns the value before") {
  Fixture f;
  const Signal& s = f.signal;
  CHECK(s.load_relaxed() == 10);
  CHECK(s.load_acquire() == 10);
  s.store_relaxed(1);
  CHECK(s.load_acquire() == 1);
  s.store_release(2);
  CHECK(s.load_acquire() == 2);
  CHECK((s.exchange_relaxed(3) == 2 && s.exchange_acquire(4) == 3 && s.exchange_release(5) == 4 && s.exchange_acq_rel(6) == 5));
  CHECK((s.add_relaxed(1) == 6 && s.add_acquire(1) == 7 && s.add_release(1) == 8 && s.add_acq_rel(1) == 9));
  CHECK((s.subtract_relaxed(1) == 10 && s.subtract_acquire(1) == 9 && s.subtract_release(1) == 8 && s.subtract_acq_rel(-1) == 7));
  CHECK(s.load_acquire() == 8);
  s.store_relaxed(0xFF);
  CHECK((s.and_relaxed(0x7F) == 0xFF && s.and_acquire(0x3F) == 0x7F && s.and_release(0x1F) == 0x3F && s.and_acq_rel(0x0F) == 0x1F));
  CHECK((s.or_relaxed(0x10) == 0x0F && s.or_acquire(0x20) == 0x1F && s.or_release(0x40) == 0x3F && s.or_acq_rel(0x80) == 0x7F));
  CHECK((s.xor_relaxed(1) == 0xFF && s.xor_acquire(2) == 0xFE && s.xor_release(4) == 0xFC && s.xor_acq_rel(8) == 0xF8));
  CHECK(s.load_acquire() == 0xF0);
}

TEST_CASE("signal: compare-and-swap returns what it saw and stores only on a match") {
  Fixture f;
  CHECK(f.signal.cas_relaxed(10, 11) == 10);
  CHECK(f.signal.cas_acquire(10, 99) == 11);
  CHECK(f.signal.cas_acquire(11, 12) == 11);
  CHECK(f.signal.cas_release(12, 13) == 12);
  CHECK(f.signal.cas_acq_rel(13, 14) == 13);
  CHECK(f.signal.load_acquire() == 14);
}

TEST_CASE("signal: arithmetic wraps like the hardware's") {
  Fixture f;
  f.signal.store_relaxed(kMax);
  CHECK(f.signal.add_acq_rel(1) == kMax);
  CHECK(f.signal.load_acquire() == kMin);
  CHECK(f.signal.subtract_acq_rel(1) == kMin);
  CHECK(f.signal.load_acquire() == kMax);
}

TEST_CASE("signal: conditions at the ends of the value range") {
  CHECK((holds(Condition::eq, kMin, kMin) && !holds(Condition::eq, kMin, kMax)));
  CHECK((holds(Condition::ne, kMin, kMax) && !holds(Condition::ne, kMax, kMax)));
  CHECK((holds(Condition::lt, kMin, kMax) && !holds(Condition::lt, kMax, kMin) && !holds(Condition::lt, kMin, kMin)));
  CHECK((holds(Condition::gte, kMax, kMin) && holds(Condition::gte, kMin, kMin) && !holds(Condition::gte, kMin, kMax)));
}

TEST_CASE("signal: operations from many threads lose nothing") {
  Fixture f;
  f.signal.store_relaxed(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) f.signal.add_relaxed(1);
      });
  }
  CHECK(f.signal.load_acquire() == 4000);
}

TEST_CASE("signal: timestamps are an error until something completed, and after rearming") {
  Fixture f;
  CHECK(f.signal.timestamps().error().code == Errc::not_ready); // value 10
  f.signal.store_release(0);
  CHECK(f.signal.timestamps().error().code == Errc::not_ready); // never completed
  f.signal.rearm(1);
  f.signal.view().object->start_ts = 100;
  f.signal.view().object->end_ts = 140;
  CHECK(f.signal.timestamps().error().code == Errc::not_ready); // stamped, but not complete
  f.signal.subtract_release(1);
  const auto stamps = f.signal.timestamps();
  REQUIRE(stamps);
  CHECK(stamps->start == 100);
  CHECK(stamps->end == 140);
  f.signal.rearm(1);
  CHECK(f.signal.timestamps().error().code == Errc::not_ready);
  f.signal.store_release(0);
  CHECK(f.signal.timestamps().error().code == Errc::not_ready); // the old stamps are gone
}

TEST_CASE("signal: stamps that make no duration are an error, never an underflow") {
  Fixture f;
  f.signal.store_release(0);
  f.signal.view().object->start_ts = 200;
  f.signal.view().object->end_ts = 100;
  CHECK(f.signal.timestamps().error().code == Errc::not_ready);
  f.signal.view().object->end_ts = 0;
  CHECK(f.signal.timestamps().error().code == Errc::not_ready);
}

TEST_CASE("signal: is destroyed once, wherever it was moved") {
  const auto driver = std::make_shared<FakeDriver>();
  {
    Signal a = *Signal::create(driver, 1);
    Signal b = std::move(a);
    Signal c = *Signal::create(driver, 2);
    c = std::move(b);
    CHECK(c.load_relaxed() == 1);
    CHECK_FALSE(b.valid());
    CHECK(driver->live_signals == 1);
  }
  CHECK(driver->live_signals == 0);
}

TEST_CASE("signal: a forked child destroys nothing of its parent's") {
  const auto driver = std::make_shared<FakeDriver>();
  std::optional<Signal> signal = std::move(*Signal::create(driver, 1));
  const pid_t child = fork();
  if (child == 0) {
    signal.reset();
    _exit(driver->live_signals == 1 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("pool: signals come with the value asked for and no timestamps, and go back") {
  const auto driver = std::make_shared<FakeDriver>();
  {
    const auto pool = *SignalPool::create(driver, 4);
    CHECK(pool.size() == 4);
    {
      const PooledSignal signal = *pool.acquire(7);
      CHECK(signal.load_relaxed() == 7);
      signal.view().object->start_ts = 5;
      signal.view().object->end_ts = 6;
      signal.store_release(0);
      CHECK(pool.in_use() == 1);
    }
    CHECK(pool.in_use() == 0);
    std::vector<PooledSignal> all;
    for (int i = 0; i < 4; ++i) all.push_back(*pool.acquire(0));
    for (const auto& signal : all) CHECK_FALSE(signal.timestamps());
    CHECK(pool.size() == 4); // no growth: the first one came back
    CHECK(driver->live_signals == 4);
  }
  CHECK(driver->live_signals == 0);
}

TEST_CASE("pool: grows when empty, and no signal is handed out twice") {
  const auto driver = std::make_shared<FakeDriver>();
  const auto pool = *SignalPool::create(driver, 2);
  std::vector<PooledSignal> all;
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < 100; ++i) {
    all.push_back(*pool.acquire(i));
    handles.push_back(all.back().handle());
  }
  std::sort(handles.begin(), handles.end());
  CHECK(std::adjacent_find(handles.begin(), handles.end()) == handles.end());
  for (int i = 0; i < 100; ++i) CHECK(all[static_cast<std::size_t>(i)].load_relaxed() == i);
  CHECK(pool.size() == 128);
}

TEST_CASE("pool: a token ends with the use it was made for") {
  const auto driver = std::make_shared<FakeDriver>();
  const auto pool = *SignalPool::create(driver, 1);
  SignalPool::Token token;
  {
    const auto signal = *pool.acquire(3);
    token = pool.token(signal);
    REQUIRE(pool.find(token));
    CHECK(pool.find(token)->load_relaxed() == 3);
  }
  CHECK_FALSE(pool.find(token));
  const auto again = *pool.acquire(4); // the same entry, another use
  CHECK_FALSE(pool.find(token));
  CHECK(pool.find(pool.token(again)));
  CHECK_FALSE(pool.find({77, 1}));
}

TEST_CASE("pool: signals that are out outlive the pool object") {
  const auto driver = std::make_shared<FakeDriver>();
  std::optional<PooledSignal> signal;
  {
    const auto pool = *SignalPool::create(driver, 1);
    signal = *pool.acquire(5);
  }
  CHECK(signal->load_relaxed() == 5);
  signal.reset();
  CHECK(driver->live_signals == 0);
}

TEST_CASE("pool: many threads take and give back, each signal is one thread's at a time") {
  const auto driver = std::make_shared<FakeDriver>();
  const auto pool = *SignalPool::create(driver, 2);
  std::atomic<int> shared{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          const auto signal = pool.acquire(0);
          if (signal->add_relaxed(1) != 0) ++shared;
          if (i % 64 == 0) std::this_thread::yield();
          if (signal->subtract_relaxed(1) != 1) ++shared;
        }
      });
  }
  CHECK(shared == 0);
  CHECK(pool.in_use() == 0);
}
