// Signals: operations, waits of both kinds, waits for several, timestamps.
#include <thread>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

TEST_CASE("signal: operations return the value before and store the one after") {
  const auto s = signal(12);
  CHECK(s.add_acq_rel(5) == 12);
  CHECK(s.subtract_release(1) == 17);
  CHECK(s.and_relaxed(~1) == 16);
  CHECK(s.or_acquire(3) == 16);
  CHECK(s.xor_acq_rel(1) == 19);
  CHECK(s.exchange_acq_rel(-4) == 18);
  CHECK(s.cas_acq_rel(7, 8) == -4);
  CHECK(s.cas_acq_rel(-4, 9) == -4);
  CHECK(s.load_acquire() == 9);
}

TEST_CASE("signal: a wait ends when another thread's store satisfies it, busy and blocked") {
  const auto how = GENERATE(Wait::busy, Wait::blocked);
  const auto condition = GENERATE(Condition::eq, Condition::ne, Condition::lt, Condition::gte);
  // Values that hold: eq 7; ne not 9; lt 9; gte 9, from a start where none does.
  const std::int64_t reference = condition == Condition::eq ? 7 : 9;
  const auto s = signal(condition == Condition::gte ? 1 : condition == Condition::ne ? 9 : 20);
  std::jthread other{[&] { s.store_release(condition == Condition::gte ? 30 : 7); }};
  const auto seen = s.wait(condition, reference, soon(), how);
  CHECK(holds(condition, seen, reference));
}

TEST_CASE("signal: blocked waiters each see every step of a conversation") {
  const auto ping = signal(0), pong = signal(0);
  std::jthread other{[&] {
    for (std::int64_t i = 1; i <= 200; ++i) {
      if (ping.wait(Condition::gte, i, soon()) < i) return;
      pong.store_release(i);
    }
  }};
  for (std::int64_t i = 1; i <= 200; ++i) {
    ping.store_release(i);
    REQUIRE(pong.wait(Condition::gte, i, soon()) >= i);
  }
}

TEST_CASE("signal: a deadline in the past returns the value at once") {
  const auto s = signal(3);
  CHECK(s.wait(Condition::eq, 0, Deadline::now()) == 3);
}

TEST_CASE("signal: waits for any and for all of several, whichever changes") {
  const auto which = GENERATE(0u, 1u, 2u);
  const Signal signals[] = {signal(1), signal(1), signal(1)};
  std::vector<WaitFor> list;
  for (const auto& s : signals) list.push_back({s, Condition::eq, 0});
  std::jthread other{[&] { signals[which].store_release(0); }};
  const auto any = wait_any(list, soon());
  REQUIRE(any);
  CHECK(any->index == which);
  CHECK_FALSE(wait_all(list, Deadline::now()));
  for (const auto& s : signals) s.store_release(0);
  CHECK(wait_all(list, soon()));
}

TEST_CASE("signal: packets decrement it by one each, whatever its value") {
  const auto s = signal(5);
  auto q = queue();
  for (int i = 0; i < 7; ++i) REQUIRE(q.post(BarrierAndPacket{.completion = s}));
  CHECK(s.wait(Condition::lt, -1, soon()) == -2);
}

TEST_CASE("signal: timestamps lie between the host's readings around the dispatch, in order") {
  const auto done = signal(1);
  auto q = queue();
  const auto counter = buffer(4);
  auto packet = prepare(q, arguments("add_one", counter));
  packet.packet().completion = done;
  CHECK_FALSE(done.timestamps());
  // One to warm up: hardware may calibrate its clocks on first use.
  REQUIRE(q.post(packet.packet()));
  REQUIRE(zero(done));
  done.rearm(1);
  const auto before = Clock::now();
  REQUIRE(q.post(packet.packet()));
  REQUIRE(zero(done));
  const auto after = Clock::now();
  const auto stamps = done.timestamps();
  REQUIRE(stamps);
  CHECK(stamps->start <= stamps->end);
  const auto ns = [](Clock::time_point t) { return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count(); };
  // Two clocks are compared through a third: microseconds of difference are no error.
  constexpr std::int64_t kSlack = 100'000;
  CHECK(device().to_host_ns(stamps->start) >= ns(before) - kSlack);
  CHECK(device().to_host_ns(stamps->end) <= ns(after) + kSlack);
}

TEST_CASE("signal: the device clock runs forward at its rate") {
  const auto first = device().timestamp();
  const auto host_first = Clock::now();
  while (Clock::now() - host_first < std::chrono::milliseconds{50}) {
  }
  const auto second = device().timestamp();
  const double seconds = static_cast<double>(second - first) / static_cast<double>(device().info().timestamp_hz);
  CHECK(seconds >= 0.049);
  CHECK(seconds <= 5.0); // a loaded machine may have slept in between
}

TEST_CASE("signal: a blocked wait with a queue ends when the queue fails") {
  const auto never = signal(1);
  auto q = queue();
  std::jthread other{[&] { (void)q.inactivate(); }};
  CHECK(never.wait(Condition::eq, 0, soon(), Wait::blocked, q) == 1);
  CHECK_FALSE(q.status());
}
