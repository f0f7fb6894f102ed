// Packets of every type, the barrier bit, fences, and what the processor does with slots.
#include <thread>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

namespace {

// Two dispatches, the first of which waits for the host; `second` is the second packet's barrier bit.
struct Held {
  Buffer log = buffer(kJournalBytes), gate = buffer(4);
  Queue q = queue();
  Ticket first, second;
  explicit Held(Barrier barrier) {
    first = start(q, arguments("held", log, 1u, gate));
    second = start(q, arguments("note", log, 2u), {.grid = {64}, .group = {64}, .barrier = barrier});
  }
  ~Held() { open(); }
  void open() { word(gate).store(1, std::memory_order_release); }
};

} // namespace

TEST_CASE("packet: without the barrier bit a dispatch overtakes an earlier one that waits") {
  Held held{Barrier::off};
  finish(held.second); // while the first is still held
  CHECK_FALSE(held.first.done());
  CHECK(journal(held.log) == std::vector<std::uint32_t>{2});
  held.open();
  finish(held.first);
  CHECK(journal(held.log) == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("packet: with the barrier bit a dispatch waits until every earlier one has completed") {
  Held held{Barrier::on};
  CHECK_FALSE(held.second.wait(Deadline::in(std::chrono::milliseconds{30}))); // could only be true if the bit were ignored
  CHECK(journal(held.log).empty());
  held.open();
  finish(held.second);
  CHECK(held.first.done());
  CHECK(journal(held.log) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("packet: a barrier-AND packet without the barrier bit still holds what comes after it") {
  const auto log = buffer(kJournalBytes);
  const auto dependency = signal(1);
  auto q = queue();
  const auto barrier = q.submit(BarrierAndPacket{.dependencies = {dependency}});
  const auto after = start(q, arguments("note", log, 1u));
  CHECK_FALSE(after.wait(Deadline::in(std::chrono::milliseconds{30})));
  dependency.store_release(0);
  finish(barrier);
  finish(after);
  CHECK(journal(log) == std::vector<std::uint32_t>{1});
}

TEST_CASE("packet: barrier-AND needs every dependency, and each only once") {
  const Signal d[] = {signal(1), signal(1), signal(1), signal(1), signal(1)};
  const auto done = signal(1);
  auto q = queue();
  REQUIRE(q.post(BarrierAndPacket{.dependencies = {d[0], d[1], d[2], d[3], d[4]}, .completion = done}));
  for (int i = 0; i < 4; ++i) d[i].store_release(0);
  CHECK(done.wait(Condition::eq, 0, Deadline::in(std::chrono::milliseconds{20})) == 1);
  d[4].store_release(0);
  CHECK(zero(done));
}

TEST_CASE("packet: barrier-OR needs any one dependency, null ones do not count") {
  const auto which = GENERATE(0u, 2u, 4u);
  const Signal d[] = {signal(1), signal(1), signal(1)};
  const auto done = signal(1);
  auto q = queue();
  BarrierOrPacket packet{.completion = done};
  packet.dependencies[0] = d[0];
  packet.dependencies[2] = d[1];
  packet.dependencies[4] = d[2];
  REQUIRE(q.post(packet));
  CHECK(done.wait(Condition::eq, 0, Deadline::in(std::chrono::milliseconds{10})) == 1);
  d[which / 2].store_release(0);
  CHECK(zero(done));
}

TEST_CASE("packet: a barrier-AND without dependencies and a dispatch without signal need nothing") {
  auto q = queue();
  const auto log = buffer(kJournalBytes);
  const auto note = prepare(q, arguments("note", log, 3u));
  REQUIRE(q.post(note.packet()));
  finish(q.submit(BarrierAndPacket{.barrier = Barrier::on}));
  CHECK(journal(log) == std::vector<std::uint32_t>{3});
}

TEST_CASE("packet: barrier-value compares under its mask by each condition") {
  struct Case {
    ValueCondition condition;
    std::int64_t value, mask, waits, goes;
  };
  const auto c = GENERATE(Case{ValueCondition::eq, 5, 0xff, 0x104, 0x105}, Case{ValueCondition::ne, 5, -1, 5, 6}, Case{ValueCondition::lt, 5, -1, 5, 4}, Case{ValueCondition::gte, 5, -1, 4, 5});
  const auto watched = signal(c.waits), done = signal(1);
  auto q = queue();
  REQUIRE(q.post(BarrierValuePacket{.signal = watched, .value = c.value, .mask = c.mask, .condition = c.condition, .completion = done}));
  CHECK(done.wait(Condition::eq, 0, Deadline::in(std::chrono::milliseconds{10})) == 1);
  watched.store_release(c.goes);
  CHECK(zero(done));
}

TEST_CASE("packet: an indirect buffer of PM4 commands is executed and completes") {
  const auto commands = buffer(256), target = buffer(64);
  const auto address = target.device_address();
  // WRITE_DATA of one dword to memory, confirmed.
  const std::uint32_t words[] = {3u << 30 | 3u << 16 | 0x37u << 8, 5u << 8 | 1u << 20, static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(address >> 32), 0xfeedu};
  REQUIRE(commands.write(words));
  auto q = queue();
  finish(q.submit(Pm4IbPacket{.address = commands.device_address(), .size_dwords = 5, .barrier = Barrier::on}));
  CHECK(word(target).load() == 0xfeed);
}

TEST_CASE("packet: agent dispatch runs the queue's function and stores its result") {
  std::atomic<std::uint64_t> sum{0};
  QueueOptions options;
  options.packets = 64;
  options.agent_function = [&](std::uint16_t type, const std::uint64_t args[4], std::uint64_t) {
    sum += type * args[0] + args[3];
    return Errc::ok;
  };
  auto q = Queue::create(device(), std::move(options));
  if (!q && q.error().code == Errc::unsupported) AQL_SKIP(q.error().message());
  REQUIRE(q);
  finish(q->submit(AgentPacket{.type = 100, .arguments = {2, 0, 0, 7}}));
  CHECK(sum == 207);
}

TEST_CASE("packet: consumed slots are INVALID again, and the read index follows") {
  auto q = queue();
  for (int i = 0; i < 10; ++i) REQUIRE(q.post(BarrierAndPacket{}));
  REQUIRE(q.wait_consumed(9, soon()));
  CHECK(q.ring().read_index() == 10);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK((std::atomic_ref{q.ring().slot(i).word[0]}.load() & 0xff) == 1);
}

TEST_CASE("packet: an INVALID slot stops the processor, which goes on when it is published") {
  auto q = queue();
  const auto done = signal(2);
  auto& ring = q.ring();
  const auto first = ring.reserve(2, soon());
  REQUIRE(first);
  const BarrierAndPacket packet{.completion = done};
  ring.publish(*first + 1, packet.emit(ring.slot(*first + 1)));
  const std::uint32_t head = packet.emit(ring.slot(*first));
  ring.commit(*first, 2); // rung for, though the first of them is still INVALID
  CHECK(done.wait(Condition::lt, 2, Deadline::in(std::chrono::milliseconds{20})) == 2);
  ring.publish(*first, head);
  ring.ring(*first + 1);
  CHECK(zero(done));
}

TEST_CASE("packet: a kernel that completes releases its stores to another queue's kernel") {
  const auto a = buffer(65536, PoolKind::device_coarse), b = buffer(65536, PoolKind::device_coarse), c = buffer(65536);
  std::vector<std::uint32_t> values(16384);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i ^ 0x5555u;
  REQUIRE(a.write(values));
  auto first = queue(), second = queue();
  const auto moved = signal(1), done = signal(1);
  auto one = prepare(first, arguments("copy_words", a, b, 16384u), {.grid = {1024}, .group = {256}, .release = Scope::agent});
  auto two = prepare(second, arguments("copy_words", b, c, 16384u), {.grid = {1024}, .group = {256}, .acquire = Scope::agent});
  one.packet().completion = moved;
  two.packet().completion = done;
  REQUIRE(second.post(BarrierAndPacket{.dependencies = {moved}}));
  REQUIRE(second.post(two.packet()));
  REQUIRE(first.post(one.packet()));
  REQUIRE(zero(done));
  CHECK(read<std::uint32_t>(c) == values);
}

TEST_CASE("packet: every combination of fence scopes gives right results where none is needed") {
  const auto acquire = GENERATE(Scope::none, Scope::agent, Scope::system), release = GENERATE(Scope::none, Scope::agent, Scope::system);
  const auto counter = buffer(4);
  auto q = queue();
  for (int i = 0; i < 3; ++i) run(q, arguments("add_one", counter), {.grid = {64}, .group = {64}, .barrier = Barrier::on, .acquire = acquire, .release = release});
  CHECK(word(counter).load() == 3);
}
