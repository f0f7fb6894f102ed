// SDMA packets that synchronise, and what is refused.
#include "unit/cp/sdma.hpp"

using namespace cp_test;

TEST_CASE("sdma: NOP skips its body, and positions run on beyond the ring's size") {
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "data"};
  Sdma queue{*gpu, 0, 256};
  for (std::uint32_t i = 1; i <= 5; ++i) {
    queue.put({sd::header(sd::nop, 0, 35u << 16)});
    for (int n = 0; n < 35; ++n) queue.put({0xffu});
    queue.submit({sd::header(sd::fence), lo(at.address()), hi(at.address()), i});
    CHECK(*at.host<std::uint32_t>() == i);
  }
  CHECK(queue.finished());
  CHECK(queue.read == 5 * 160);
}

TEST_CASE("sdma: FENCE stores a dword, TRAP interrupts with its context, in ring order") {
  auto gpu = make_gpu();
  Memory to{*gpu, 4096, kRead | kWrite, "to"};
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::fence), lo(to.address() + 4), hi(to.address()), 0xcafe, sd::header(sd::trap), 0xf0000017u});
  CHECK(queue.finished());
  CHECK(to.host<std::uint32_t>()[1] == 0xcafe);
  CHECK(to.host<std::uint32_t>()[2] == 0);
  CHECK(queue.interrupts == std::vector<std::uint32_t>{0x17});
}

TEST_CASE("sdma: POLL_REGMEM on memory holds the queue until its function holds under the mask") {
  struct Case {
    std::uint32_t function, reference, mask, waits, goes;
  };
  const auto c = GENERATE(Case{1, 5, ~0u, 5, 4}, Case{2, 5, ~0u, 6, 5}, Case{3, 5, 0xff, 0x104, 0x105}, Case{4, 5, ~0u, 5, 6},
                          Case{5, 5, ~0u, 4, 5}, Case{6, 5, ~0u, 5, 6});
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "polled"};
  at.host<std::uint32_t>()[0] = c.waits;
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::poll_regmem, 0, sd::kMemoryPoll | c.function << 28), lo(at.address()), hi(at.address()), c.reference,
                c.mask, 4u | 0xfffu << 16, sd::header(sd::fence), lo(at.address() + 8), hi(at.address()), 1});
  CHECK(at.host<std::uint32_t>()[2] == 0);
  CHECK(queue.read == 0);
  at.host<std::uint32_t>()[0] = c.goes;
  gpu->run_until_idle();
  CHECK(queue.finished());
  CHECK(at.host<std::uint32_t>()[2] == 1);
}

TEST_CASE("sdma: POLL_REGMEM's HDP flush forms are done at once") {
  auto gpu = make_gpu();
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::poll_regmem), 0, 0x80000000u, 0, 0, 0,                               // ROCr's
                sd::header(sd::poll_regmem, 0, sd::kHdpFlush | 3u << 28), 0xf00, 0xf04, 4, 4, 10}); // the kernel driver's
  CHECK(queue.finished());
}

TEST_CASE("sdma: ATOMIC on 32 and 64 bits") {
  struct Case {
    std::uint32_t op;
    std::uint64_t before, data, compare, after;
  };
  const auto c = GENERATE(Case{47, 10, ~0ull, 0, 9}, Case{111, 10, 3, 0, 13}, Case{47, 0xffffffffull, 1, 0, 0x100000000ull},
                          Case{15, 0xffffffffull, 1, 0, 0}, Case{48, 10, 3, 0, 7}, Case{39, 10, 3, 0, 3}, Case{40, 10, 3, 10, 3},
                          Case{40, 10, 3, 11, 10}, Case{49, ~0ull, 3, 0, ~0ull}, Case{50, ~0ull, 3, 0, 3}, Case{51, ~0ull, 3, 0, 3},
                          Case{52, ~0ull, 3, 0, ~0ull}, Case{53, 12, 10, 0, 8}, Case{54, 12, 10, 0, 14}, Case{55, 12, 10, 0, 6},
                          Case{56, 5, 5, 0, 0}, Case{56, 4, 5, 0, 5}, Case{57, 0, 5, 0, 5}, Case{57, 4, 5, 0, 3});
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "counter"};
  *at.host<std::uint64_t>() = c.before;
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::atomic, 0, c.op << 25), lo(at.address()), hi(at.address()), lo(c.data), hi(c.data), lo(c.compare),
                hi(c.compare), 0});
  CHECK(queue.finished());
  CHECK(*at.host<std::uint64_t>() == c.after);
}

TEST_CASE("sdma: ATOMIC compare-and-swap with the loop bit waits for the comparison") {
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "lock"};
  *at.host<std::uint64_t>() = 1;
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::atomic, 0, 40u << 25 | sd::kAtomicLoop), lo(at.address()), hi(at.address()), 7, 0, 0, 0, 10});
  CHECK(queue.read == 0);
  *at.host<std::uint64_t>() = 0;
  gpu->run_until_idle();
  CHECK(queue.finished());
  CHECK(*at.host<std::uint64_t>() == 7);
}

TEST_CASE("sdma: ATOMIC completes a signal that an AQL barrier packet waits for") {
  auto gpu = make_gpu();
  Signal copied{*gpu}, done{*gpu};
  Queue aql{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  packet.dep_signal[0] = copied.handle();
  aql.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  Sdma queue{*gpu};
  const std::uint64_t value = copied.handle() + offsetof(abi::AmdSignal, value);
  queue.submit({sd::header(sd::atomic, 0, 47u << 25), lo(value), hi(value), ~0u, ~0u, 0, 0, 0});
  CHECK(done.load() == 0);
}

TEST_CASE("sdma: TIMESTAMP stores the device clock") {
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "times"};
  Sdma queue{*gpu};
  const std::uint64_t before = gpu->timestamp();
  queue.submit({sd::header(sd::timestamp, sd::kTimestampGetGlobal), lo(at.address()), hi(at.address()),
                sd::header(sd::timestamp, sd::kTimestampSet), 100, 0, sd::header(sd::timestamp, sd::kTimestampGetLocal),
                lo(at.address() + 8), hi(at.address())});
  CHECK(queue.finished());
  CHECK(at.host<std::uint64_t>()[0] >= before);
  CHECK(at.host<std::uint64_t>()[0] <= gpu->timestamp());
  CHECK(at.host<std::uint64_t>()[1] >= 100);
  CHECK(at.host<std::uint64_t>()[1] <= 100 + gpu->timestamp() - before);
}

TEST_CASE("sdma: INDIRECT executes a buffer and goes on behind it") {
  auto gpu = make_gpu();
  Memory ib{*gpu, 4096, kRead, "indirect buffer"}, at{*gpu, 4096, kRead | kWrite, "data"};
  const std::uint32_t commands[] = {sd::header(sd::fence),
                                    lo(at.address()),
                                    hi(at.address()),
                                    1,
                                    sd::header(sd::poll_regmem, 0, sd::kMemoryPoll | 3u << 28),
                                    lo(at.address() + 12),
                                    hi(at.address()),
                                    5,
                                    ~0u,
                                    0,
                                    sd::header(sd::fence),
                                    lo(at.address() + 4),
                                    hi(at.address()),
                                    2};
  std::memcpy(ib.host<void>(), commands, sizeof commands);
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::indirect), lo(ib.address()), hi(ib.address()), std::size(commands), 0, 0, sd::header(sd::fence),
                lo(at.address() + 8), hi(at.address()), 3});
  CHECK(at.host<std::uint32_t>()[0] == 1);
  CHECK(at.host<std::uint32_t>()[1] == 0);
  CHECK(queue.read == 0);
  at.host<std::uint32_t>()[3] = 5;
  gpu->run_until_idle();
  CHECK(queue.finished());
  CHECK(at.host<std::uint32_t>()[1] == 2);
  CHECK(at.host<std::uint32_t>()[2] == 3);
}

TEST_CASE("sdma: COND_EXE and PRE_EXE skip what their condition excludes") {
  const auto executes = GENERATE(false, true);
  auto gpu = make_gpu();
  Memory at{*gpu, 4096, kRead | kWrite, "data"};
  at.host<std::uint32_t>()[0] = executes ? 9 : 8;
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::cond_exe), lo(at.address()), hi(at.address()), 9, 4, sd::header(sd::fence), lo(at.address() + 4),
                hi(at.address()), 1, sd::header(sd::pre_exe, 0, (executes ? 1u : 2u) << 16), 4, sd::header(sd::fence),
                lo(at.address() + 8), hi(at.address()), 2, sd::header(sd::fence), lo(at.address() + 12), hi(at.address()), 3});
  CHECK(queue.finished());
  CHECK(at.host<std::uint32_t>()[1] == (executes ? 1u : 0u));
  CHECK(at.host<std::uint32_t>()[2] == (executes ? 2u : 0u));
  CHECK(at.host<std::uint32_t>()[3] == 3);
}

TEST_CASE("sdma: packets that do not exist or are incomplete end the queue with what was found") {
  struct Case {
    std::vector<std::uint32_t> words;
    const char* says;
  };
  const auto c =
      GENERATE(Case{{0x00000077u}, "opcode 119"}, Case{{sd::header(sd::copy, 9), 0, 0, 0, 0, 0, 0}, "sub-opcode 9"},
               Case{{sd::header(sd::copy), 0, 0}, "only 3 are left"}, Case{{sd::header(sd::write), 0, 0, 500}, "has 505 dwords"},
               Case{{sd::header(sd::atomic, 0, 0x20u << 25), 0, 0, 0, 0, 0, 0, 0}, "operation 32"},
               Case{{sd::header(sd::const_fill, 0, 3u << 30), 0, 0, 0, 0}, "fill size code 3"},
               Case{{sd::header(sd::copy, sd::kCopyLinearRect, 5u << 29), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "code 5"},
               Case{{sd::header(sd::poll_regmem, 0, 3u << 28), 0x100, 0, 0, 0, 0}, "register 0x40"},
               Case{{sd::header(sd::poll_regmem, 0, 7u << 28), 0, 0, 0, 0, 0}, "function 7"});
  auto gpu = make_gpu();
  Sdma queue{*gpu};
  for (const auto word : c.words) queue.put({word});
  queue.submit({});
  REQUIRE(queue.faults.size() == 1);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains(c.says));
  CHECK(queue.state() == QueueState::inactive);
}

TEST_CASE("sdma: synchronising accesses to unmapped or unaligned memory are faults") {
  const auto packet =
      GENERATE(std::vector<std::uint32_t>{sd::header(sd::fence), 0xdead0000u, 0x1, 0},
               std::vector<std::uint32_t>{sd::header(sd::poll_regmem, 0, sd::kMemoryPoll | 3u << 28), 0xdead0000u, 1, 0, 0, 0},
               std::vector<std::uint32_t>{sd::header(sd::atomic, 0, 47u << 25), 0xdead0000u, 1, 0, 0, 0, 0, 0},
               std::vector<std::uint32_t>{sd::header(sd::atomic, 0, 47u << 25), 0xdead0004u, 1, 0, 0, 0, 0, 0},
               std::vector<std::uint32_t>{sd::header(sd::timestamp, 2), 0xdead0000u, 1},
               std::vector<std::uint32_t>{sd::header(sd::cond_exe), 0xdead0000u, 1, 0, 0},
               std::vector<std::uint32_t>{sd::header(sd::indirect), 0xdead0000u, 1, 4, 0, 0});
  auto gpu = make_gpu();
  Sdma queue{*gpu};
  for (const auto word : packet) queue.put({word});
  queue.submit({});
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::memory_fault);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("0x1dead000"));
}

TEST_CASE("sdma: random dwords never crash the engine") {
  auto gpu = make_gpu();
  Memory at{*gpu, 65536, kRead | kWrite, "data"};
  std::uint64_t state = 1;
  const auto random = [&state] {
    return static_cast<std::uint32_t>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33);
  };
  int ended = 0;
  for (int round = 0; round < 300; ++round) {
    Sdma queue{*gpu};
    for (int i = 0; i < 64; ++i) {
      const std::uint32_t kind = random() % 4;
      queue.put({kind == 0   ? random() % 18 | (random() & 0xff000000u)
                 : kind == 1 ? lo(at.address()) + random() % 65536
                 : kind == 2 ? hi(at.address())
                             : random()});
    }
    queue.ring();
    for (int i = 0; i < 200 && gpu->step(); ++i) {
    }
    ended += !queue.faults.empty();
  }
  CHECK(ended > 100);
}

TEST_CASE("sdma: a doorbell past the ring's size or between dwords is an error") {
  const auto value = GENERATE(4100u, 6u);
  auto gpu = make_gpu();
  Sdma queue{*gpu};
  queue.doorbell = value;
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_packet_format);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains(std::to_string(value)));
}

TEST_CASE("sdma: a queue without ring, read pointer or doorbell is refused with the reason") {
  auto gpu = make_gpu();
  Memory ring{*gpu, 4096, kRead | kWrite, "ring"};
  std::uint64_t read = 0, doorbell = 0;
  const SdmaQueueConfig good{.ring_address = ring.address(),
                             .ring_bytes = 4096,
                             .read_pointer = &read,
                             .doorbell = &doorbell,
                             .on_error = {},
                             .on_interrupt = {}};
  auto none = good, odd = good, small = good, unmapped = good;
  none.doorbell = nullptr;
  odd.ring_bytes = 3000;
  small.ring_bytes = 128;
  unmapped.ring_bytes = 8192;
  for (const auto& config : {none, odd, small, unmapped}) {
    const auto id = gpu->create_sdma_queue(config);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == Errc::invalid_queue_creation);
  }
}

TEST_CASE("sdma: a ring starts at its write position, unless that is behind") {
  const bool ahead = GENERATE(true, false);
  auto gpu = make_gpu();
  Memory ring{*gpu, 4096, kRead | kWrite, "ring"}, at{*gpu, 4096, kRead | kWrite, "data"};
  const std::uint32_t packet[] = {sd::header(sd::fence), lo(at.address()), hi(at.address()), 77};
  std::memcpy(ring.host<std::byte>(64), packet, sizeof packet);
  std::uint64_t read = 4096 + 64, write = ahead ? read + sizeof packet : read - 32, doorbell = 12345;
  std::vector<QueueFault> faults;
  auto id = gpu->create_sdma_queue({.ring_address = ring.address(),
                                    .ring_bytes = 4096,
                                    .read_pointer = &read,
                                    .doorbell = &doorbell,
                                    .write_pointer = &write,
                                    .on_error = [&faults](const QueueFault& f) { faults.push_back(f); },
                                    .on_interrupt = {}});
  REQUIRE(id);
  gpu->run_until_idle();
  CHECK(*at.host<std::uint32_t>() == (ahead ? 77 : 0));
  CHECK(read == (ahead ? write : 4096 + 64));
  CHECK(faults.empty());
  CHECK(gpu->destroy_queue(*id));
}

TEST_CASE("sdma: with threads, a polled doorbell needs no notification") {
  auto gpu = make_gpu({.workers = 1});
  Memory ring{*gpu, 4096, kRead | kWrite, "ring"}, at{*gpu, 4096, kRead | kWrite, "data"};
  std::uint64_t read = 0, doorbell = 0;
  auto id = gpu->create_sdma_queue({.ring_address = ring.address(),
                                    .ring_bytes = 4096,
                                    .read_pointer = &read,
                                    .doorbell = &doorbell,
                                    .on_error = {},
                                    .on_interrupt = {},
                                    .polled_doorbell = true});
  REQUIRE(id);
  const std::uint32_t packet[] = {sd::header(sd::fence), lo(at.address()), hi(at.address()), 77};
  std::memcpy(ring.host<void>(), packet, sizeof packet);
  std::atomic_ref{doorbell}.store(sizeof packet, std::memory_order_release);
  while (std::atomic_ref{*at.host<std::uint32_t>()}.load(std::memory_order_acquire) != 77) sched_yield();
  while (std::atomic_ref{read}.load(std::memory_order_acquire) != sizeof packet) sched_yield();
  CHECK(gpu->destroy_queue(*id));
}
