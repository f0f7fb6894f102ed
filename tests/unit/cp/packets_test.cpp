// Rules of the ring: what is consumed when, and what is left alone.
#include "unit/cp/bench.hpp"

using namespace cp_test;

TEST_CASE("ring: a dispatch of s_endpgm completes, frees its slot and decrements its signal once") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 5};
  Queue queue{*gpu};
  const auto index = queue.submit(dispatch(kernel.object(), done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 4);
  CHECK(queue.header(index) == 1);
  CHECK(queue.read_index() == 1);
  CHECK(queue.fault_count == 0);
}

TEST_CASE("ring: a new queue's doorbell is armed so that a first ring with index 0 is seen") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  CHECK_FALSE(gpu->step());
  CHECK(queue.doorbell() == ~0ull);
  queue.submit(barrier(abi::PacketType::barrier_and));
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}

TEST_CASE("ring: a published packet waits for its doorbell") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  queue.write(0, barrier(abi::PacketType::barrier_and));
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 0);
  queue.ring(0);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}

TEST_CASE("ring: a packet appended after the last doorbell waits for the next one") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  queue.submit(barrier(abi::PacketType::barrier_and));
  gpu->run_until_idle();
  queue.write(1, barrier(abi::PacketType::barrier_and));
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}

TEST_CASE("ring: with needs_doorbell off a published packet runs without a ring") {
  auto gpu = make_gpu({.hand_stepped = true, .needs_doorbell = false});
  Queue queue{*gpu};
  queue.write(0, barrier(abi::PacketType::barrier_and));
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}

TEST_CASE("ring: the processor stops at an INVALID slot below the write index and the doorbell, and goes on when it is published") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  queue.reserve(3);
  queue.write(0, barrier(abi::PacketType::barrier_and));
  queue.write(2, barrier(abi::PacketType::barrier_and));
  queue.ring(2);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
  CHECK(queue.header(2) == static_cast<std::uint32_t>(abi::PacketType::barrier_and));
  queue.write(1, barrier(abi::PacketType::barrier_and));
  gpu->run_until_idle();
  CHECK(queue.read_index() == 3);
}

TEST_CASE("ring: a producer that bumps the write index by a burst of 32 and publishes one by one loses nothing") {
  auto gpu = make_gpu();
  Signal done{*gpu, 32};
  Queue queue{*gpu};
  queue.reserve(32);
  for (std::uint64_t i = 0; i < 32; ++i) {
    gpu->run_until_idle();
    CHECK(queue.read_index() == i);
    queue.write(i, barrier(abi::PacketType::barrier_and, done.handle()));
    queue.ring(i);
  }
  gpu->run_until_idle();
  CHECK(queue.read_index() == 32);
  CHECK(done.load() == 0);
}

TEST_CASE("ring: a doorbell past the write index does not make the reader pass it") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  queue.write(0, barrier(abi::PacketType::barrier_and));
  queue.write(1, barrier(abi::PacketType::barrier_and));
  queue.reserve(1);
  queue.ring(40);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 2);
}

TEST_CASE("ring: lower and repeated doorbell values after a higher one lose no packet") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  queue.submit(barrier(abi::PacketType::barrier_and));
  gpu->run_until_idle();
  queue.write(1, barrier(abi::PacketType::barrier_and));
  queue.write(2, barrier(abi::PacketType::barrier_and));
  queue.reserve(2);
  queue.ring(2);
  queue.ring(0); // overtaken ring of an earlier producer
  gpu->run_until_idle();
  CHECK(queue.read_index() == 3);
  queue.ring(0);
  queue.ring(0);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 3);
}

TEST_CASE("ring: on a single-producer queue the doorbell is the last packet that is looked at") {
  auto gpu = make_gpu();
  Queue queue{*gpu, {.type = abi::QueueType::single}};
  for (std::uint64_t i = 0; i < 3; ++i) queue.write(i, barrier(abi::PacketType::barrier_and));
  queue.reserve(3);
  queue.ring(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 2);
  queue.ring(2);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 3);
}

TEST_CASE("ring: 200 packets through 64 slots") {
  auto gpu = make_gpu();
  Signal done{*gpu, 200};
  Queue queue{*gpu};
  for (std::uint64_t i = 0; i < 200; ++i) {
    if (i - queue.read_index() == 64) gpu->run_until_idle();
    queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  }
  gpu->run_until_idle();
  CHECK(queue.read_index() == 200);
  CHECK(done.load() == 0);
}

TEST_CASE("ring: indices that cross 2^32 and 2^64 are not truncated") {
  const std::uint64_t first = GENERATE((1ull << 32) - 8, ~0ull - 7);
  const auto type = GENERATE(abi::QueueType::multi, abi::QueueType::single);
  auto gpu = make_gpu();
  Signal done{*gpu, 32};
  Queue queue{*gpu, {.type = type, .first_index = first}};
  gpu->run_until_idle();
  for (std::uint64_t i = 0; i < 32; ++i) {
    queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
    gpu->run_until_idle();
    CHECK(queue.read_index() == first + i + 1);
  }
  CHECK(done.load() == 0);
}

TEST_CASE("ring: a batch that straddles the end of the ring is processed in order") {
  const std::uint64_t batch = GENERATE(1u, 2u, 31u, 63u, 64u);
  auto gpu = make_gpu();
  Queue queue{*gpu, {.first_index = 64 - batch / 2}};
  Signal done{*gpu, static_cast<std::int64_t>(batch)};
  const std::uint64_t begin = queue.write_index();
  for (std::uint64_t i = 0; i < batch; ++i) queue.write(begin + i, barrier(abi::PacketType::barrier_and, done.handle()));
  queue.reserve(batch);
  queue.ring(begin + batch - 1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == begin + batch);
  CHECK(done.load() == 0);
}

TEST_CASE("ring: consuming writes INVALID and leaves the rest of the slot alone") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and);
  packet.reserved2 = 0x1122334455667788ull;
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(queue.slot(0).word[0] == 1);
  CHECK(queue.slot(0).word[12] == 0x55667788u);
}

TEST_CASE("ring: the barrier bit holds a packet of any type until earlier dispatches are complete") {
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 1});
  // s_nop 0 x 8, s_endpgm: several turns long.
  std::vector<std::uint32_t> words(8, 0xBF800000u);
  words.push_back(kEndpgm);
  Kernel kernel{*gpu, words};
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object(), first.handle()));
  auto held = barrier(abi::PacketType::barrier_and, second.handle());
  held.header |= kBarrierBit;
  queue.submit(held);
  while (first.load() != 0) {
    CHECK(second.load() == 1);
    REQUIRE(gpu->step());
  }
  gpu->run_until_idle();
  CHECK(second.load() == 0);
}

TEST_CASE("ring: without the barrier bit a packet passes a dispatch that still runs") {
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 1});
  std::vector<std::uint32_t> words(8, 0xBF800000u);
  words.push_back(kEndpgm);
  Kernel kernel{*gpu, words};
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object(), first.handle()));
  queue.submit(barrier(abi::PacketType::barrier_and, second.handle()));
  while (second.load() != 0) REQUIRE(gpu->step());
  CHECK(first.load() == 1);
  gpu->run_until_idle();
  CHECK(first.load() == 0);
}

TEST_CASE("ring: two dispatches without the barrier bit overlap and may complete out of order") {
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 1});
  std::vector<std::uint32_t> words(64, 0xBF800000u);
  words.push_back(kEndpgm);
  Kernel slow{*gpu, words};
  Kernel quick{*gpu, {kEndpgm}};
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(slow.object(), first.handle()));
  queue.submit(dispatch(quick.object(), second.handle()));
  while (second.load() != 0) REQUIRE(gpu->step());
  CHECK(first.load() == 1);
  gpu->run_until_idle();
  CHECK(first.load() == 0);
}

TEST_CASE("timestamps: start and end are ordered, inside the host's interval, and serial dispatches do not overlap") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  std::vector<std::unique_ptr<Signal>> signals;
  Queue queue{*gpu, {.packets = 128}};
  const std::uint64_t before = gpu->timestamp();
  for (int i = 0; i < 100; ++i) {
    signals.push_back(std::make_unique<Signal>(*gpu, 1));
    auto packet = dispatch(kernel.object(), signals.back()->handle());
    packet.header |= kBarrierBit;
    queue.submit(packet);
  }
  gpu->run_until_idle();
  const std::uint64_t after = gpu->timestamp();
  std::uint64_t last_end = before;
  for (auto& signal : signals) {
    CHECK(signal->load() == 0);
    CHECK(signal->object().start_ts >= last_end);
    CHECK(signal->object().end_ts >= signal->object().start_ts);
    last_end = signal->object().end_ts;
  }
  CHECK(last_end <= after);
}

TEST_CASE("timestamps: a barrier packet gets them too") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  const std::uint64_t before = gpu->timestamp();
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(done.object().start_ts >= before);
  CHECK(done.object().end_ts >= done.object().start_ts);
}

TEST_CASE("completion: the event id goes to the mailbox and to the event hook") {
  auto gpu = make_gpu();
  std::vector<std::uint32_t> events;
  gpu->set_event_hook([&events](std::uint32_t id) { events.push_back(id); });
  Memory mailbox{*gpu, 4096, kRead | kWrite, "mailbox"};
  Signal done{*gpu, 1};
  done.object().event_mailbox_ptr = mailbox.address() + 8;
  done.object().event_id = 77;
  Queue queue{*gpu};
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(mailbox.host<std::uint64_t>()[1] == 77);
  CHECK(events == std::vector<std::uint32_t>{77});
}

TEST_CASE("completion: the event counter moves with every completion") {
  auto gpu = make_gpu();
  Signal done{*gpu, 2};
  Queue queue{*gpu};
  const std::uint32_t before = gpu->event_counter().load();
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(gpu->event_counter().load() == before + 2);
}
