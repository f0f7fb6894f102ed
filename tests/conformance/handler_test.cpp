// Signal handlers: functions that run when a signal satisfies a condition.
#include <array>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

namespace {

SignalHandlers handlers() {
  auto made = SignalHandlers::create(device());
  if (!made) FAIL(made.error().message());
  return std::move(*made);
}

// What handlers saw, told to the test by a signal: it falls by one a call.
struct Calls {
  explicit Calls(std::int64_t expected) : left(signal(expected)) {}
  void note(std::int64_t value) {
    {
      const std::lock_guard lock{mutex};
      values.push_back(value);
    }
    left.subtract_release(1);
  }
  std::mutex mutex;
  std::vector<std::int64_t> values;
  const Signal left;
};

} // namespace

TEST_CASE("handler: it runs once when a packet completes, on another thread, with the value") {
  const auto done = signal(1);
  Calls calls{1};
  std::thread::id thread;
  auto watch = handlers(); // last: it goes first, and no handler runs then
  REQUIRE(watch.add(done, Condition::eq, 0, [&](std::int64_t value) {
    thread = std::this_thread::get_id();
    calls.note(value);
    return false;
  }));
  auto q = queue();
  REQUIRE(q.post(BarrierAndPacket{.completion = done}));
  REQUIRE(zero(calls.left));
  CHECK(calls.values == std::vector<std::int64_t>{0});
  CHECK(thread != std::this_thread::get_id());
  while (watch.size() != 0) std::this_thread::yield(); // it is over
}

TEST_CASE("handler: a condition that holds already counts, each of the four") {
  const auto condition = GENERATE(Condition::eq, Condition::ne, Condition::lt, Condition::gte);
  const std::int64_t value = condition == Condition::eq || condition == Condition::gte ? 5 : 4;
  const auto s = signal(value);
  Calls calls{1};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  REQUIRE(watch.add(s, condition, 5, [&](std::int64_t v) { return calls.note(v), false; }));
  REQUIRE(zero(calls.left));
  CHECK(calls.values == std::vector{value});
}

TEST_CASE("handler: one that stays runs for each of a hundred dispatches that it starts itself") {
  const auto done = signal(1), finished = signal(1);
  auto q = queue();
  const auto counter = buffer(4);
  auto packet = prepare(q, arguments("add_one", counter));
  packet.packet().completion = done;
  int runs = 0;
  auto watch = handlers(); // last: it goes first, and no handler runs then
  REQUIRE(watch.add(done, Condition::eq, 0, [&](std::int64_t) {
    if (++runs == 100) {
      finished.store_release(0);
      return false;
    }
    done.rearm(1);
    return q.post(packet.packet()).has_value();
  }));
  REQUIRE(q.post(packet.packet()));
  REQUIRE(zero(finished));
  CHECK(read<std::uint32_t>(counter) == std::vector<std::uint32_t>{100});
}

TEST_CASE("handler: forty signals, stored in any order, each call theirs") {
  constexpr std::size_t kCount = 40;
  std::vector<Signal> signals;
  std::array<std::atomic<int>, kCount> runs{};
  Calls calls{kCount};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  for (std::size_t i = 0; i < kCount; ++i) {
    signals.push_back(signal(1));
    REQUIRE(watch.add(signals[i], Condition::eq, 0, [&, i](std::int64_t value) { return ++runs[i], calls.note(value), false; }));
  }
  for (std::size_t i = 0; i < kCount; ++i) signals[(i * 7) % kCount].store_release(0);
  REQUIRE(zero(calls.left));
  for (const auto& n : runs) CHECK(n == 1);
}

TEST_CASE("handler: one whose condition goes on holding does not keep the others from their turn") {
  const auto always = signal(0), other = signal(1);
  Calls calls{1};
  std::atomic<bool> enough{false};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  REQUIRE(watch.add(always, Condition::eq, 0, [&](std::int64_t) { return !enough; }));
  REQUIRE(watch.add(other, Condition::eq, 0, [&](std::int64_t v) { return calls.note(v), false; }));
  other.store_release(0);
  REQUIRE(zero(calls.left));
  enough = true;
  while (watch.size() != 0) std::this_thread::yield();
}

TEST_CASE("handler: after its removal it does not run, and its signal can go") {
  std::atomic<int> runs{0};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  for (int i = 0; i < 50; ++i) {
    const auto s = signal(1);
    const auto id = watch.add(s, Condition::eq, 0, [&](std::int64_t) { return ++runs, false; });
    REQUIRE(id);
    CHECK(watch.remove(*id));
    CHECK_FALSE(watch.remove(*id));
    s.store_release(0);
  }
  CHECK(runs == 0);
  CHECK(watch.size() == 0);
}

TEST_CASE("handler: a removal waits for the call that runs") {
  const auto s = signal(0), entered = signal(1), leave = signal(1);
  std::atomic<bool> returned{false};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  const auto id = watch.add(s, Condition::eq, 0, [&](std::int64_t) {
    entered.store_release(0);
    (void)zero(leave);
    returned = true;
    return true;
  });
  REQUIRE(id);
  REQUIRE(zero(entered));
  std::jthread releaser{[&] { leave.store_release(0); }};
  CHECK(watch.remove(*id));
  CHECK(returned);
}

TEST_CASE("handler: handlers add and remove handlers") {
  const auto first = signal(0), second = signal(0), never = signal(1);
  Calls calls{1};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  const auto idle = watch.add(never, Condition::eq, 0, [](std::int64_t) { return true; });
  REQUIRE(idle);
  REQUIRE(watch.add(first, Condition::eq, 0, [&](std::int64_t) {
    const bool removed = watch.remove(*idle);
    if (removed) (void)watch.add(second, Condition::eq, 0, [&](std::int64_t v) { return calls.note(v), false; });
    return false;
  }));
  REQUIRE(zero(calls.left));
  while (watch.size() != 0) std::this_thread::yield();
}

TEST_CASE("handler: one that throws is over, the others go on") {
  const auto s = signal(0);
  Calls calls{3};
  auto watch = handlers(); // last: it goes first, and no handler runs then
  REQUIRE(watch.add(s, Condition::eq, 0, [](std::int64_t) -> bool { throw std::runtime_error{"from the test"}; }));
  REQUIRE(watch.add(s, Condition::eq, 0, [&, left = 3](std::int64_t v) mutable { return calls.note(v), --left > 0; }));
  REQUIRE(zero(calls.left));
  while (watch.size() != 0) std::this_thread::yield();
}

TEST_CASE("handler: the object can be destroyed by one of them") {
  const auto s = signal(0);
  const auto gone = std::make_shared<std::atomic<bool>>(false); // the thread ends in its own time
  auto watch = std::make_unique<SignalHandlers>(handlers());
  REQUIRE(watch->add(s, Condition::eq, 0, [&watch, gone](std::int64_t) {
    watch.reset();
    *gone = true;
    return true;
  }));
  while (!*gone) std::this_thread::yield();
  CHECK_FALSE(watch);
}

TEST_CASE("handler: without a signal, a function or a thread it is refused") {
  const auto s = signal(1);
  auto watch = handlers(); // last: it goes first, and no handler runs then
  CHECK(watch.add(SignalRef{}, Condition::eq, 0, [](std::int64_t) { return false; }).error().code == Errc::invalid_argument);
  CHECK(watch.add(s, Condition::eq, 0, {}).error().code == Errc::invalid_argument);
  SignalHandlers empty;
  CHECK(empty.add(s, Condition::eq, 0, [](std::int64_t) { return false; }).error().code == Errc::invalid_argument);
  CHECK_FALSE(empty.remove(1));
  CHECK(empty.size() == 0);
}
