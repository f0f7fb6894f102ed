// Forward progress (rule 13): everything that is resident, all queues and the host move together, with any number of workers.
#include "cp/kernels.hpp"

using namespace cp_test;

TEST_CASE("progress: a kernel that spins on a host flag ends when the host sets it, and does not stop other queues") {
  const unsigned workers = GENERATE(1u, 2u);
  const bool asleep = GENERATE(false, true);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, asleep ? kSleepOnFlag : kSpinOnFlag);
  Kernel empty{*gpu, {kEndpgm}};
  Memory flag{*gpu, 4096, kRead | kWrite, "flag"};
  Kernargs args{*gpu};
  args.put64(0, flag.address());
  Signal done{*gpu, 1}, other_done{*gpu, 1};
  Queue queue{*gpu}, other{*gpu};
  auto packet = dispatch(kernel->object(), done.handle());
  packet.kernarg_address = args.address();
  queue.submit(packet);
  other.submit(dispatch(empty.object(), other_done.handle()));
  wait_until([&] { return other_done.load() == 0; });
  CHECK(done.load() == 1);
  store32(flag, 0, 1);
  wait_until([&] { return done.load() == 0; });
  CHECK(queue.fault_count == 0);
}

TEST_CASE("progress: groups that wait for each other are co-resident") {
  const unsigned workers = GENERATE(1u, 2u, 3u);
  const bool asleep = GENERATE(false, true);
  const std::uint32_t groups = GENERATE(2u, 8u, 100u);
  const std::uint64_t seed = GENERATE(0ull, 7ull);
  auto gpu = make_gpu({.workers = workers, .seed = seed, .slice_instructions = 256});
  auto kernel = make_kernel(*gpu, asleep ? kMeetAsleep : kMeet);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address()).put32(8, groups * 4);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), groups * 256, 256);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  CHECK(load32(counter) == groups * 4);
  CHECK(queue.fault_count == 0);
}

TEST_CASE("progress: as many groups are resident as the device has room for, and no more") {
  // MI300X: 304 compute units. Groups that take all LDS of one: 304 fit, and 305 that wait for each other hang.
  const std::uint32_t groups = GENERATE(304u, 305u);
  auto gpu = make_gpu({.workers = 1, .slice_instructions = 64, .watchdog_instructions = 2'000'000});
  auto kernel = make_kernel(*gpu, kMeetAsleep);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address()).put32(8, groups);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), groups * 64, 64);
  packet.kernarg_address = args.address();
  packet.group_segment_size = 65536;
  queue.submit(packet);
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  if (groups == 304) {
    CHECK(queue.fault_count == 0);
  } else {
    REQUIRE(queue.fault_count == 1);
    CHECK(queue.faults[0].code == Errc::hang);
    CHECK(load32(counter) == 304);
  }
}

TEST_CASE("progress: two queues whose kernels wait for each other both end") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kMeet);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address()).put32(8, 2);
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue a{*gpu}, b{*gpu};
  auto packet = dispatch(kernel->object(), first.handle());
  packet.kernarg_address = args.address();
  a.submit(packet);
  packet.completion_signal = second.handle();
  b.submit(packet);
  wait_until([&] { return first.load() == 0 && second.load() == 0; });
  CHECK(load32(counter) == 2);
}

TEST_CASE("progress: a persistent kernel and the host pass a value back and forth") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kPersistent);
  Memory mailbox{*gpu, 4096, kRead | kWrite, "mailbox"};
  Kernargs args{*gpu};
  args.put64(0, mailbox.address());
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle());
  packet.kernarg_address = args.address();
  queue.submit(packet);
  for (std::uint32_t n = 1; n <= 200; ++n) {
    store32(mailbox, 0, n);
    wait_until([&] { return load32(mailbox, 64) == n; });
  }
  store32(mailbox, 0, ~0u);
  wait_until([&] { return done.load() == 0; });
  CHECK(queue.fault_count == 0);
}

namespace {

// Dispatches whose groups count themselves, stepped by hand.
struct Counting {
  std::unique_ptr<Gpu> gpu = make_gpu({.hand_stepped = true});
  std::unique_ptr<Kernel> count = make_kernel(*gpu, kCount);
  Memory counters{*gpu, 4096, kRead | kWrite, "counters"};
  Kernargs first{*gpu}, second{*gpu};

  Counting() {
    first.put64(0, counters.address());
    second.put64(0, counters.address() + 64);
  }
  // Counts at byte 0 or 64 of the counters.
  [[nodiscard]] abi::KernelDispatchPacket packet(unsigned at, std::uint32_t groups, std::uint64_t signal = 0) {
    auto p = dispatch(count->object(), signal, 64 * groups, 64);
    p.kernarg_address = at == 0 ? first.address() : second.address();
    return p;
  }
};

} // namespace

TEST_CASE("progress: the lowest-priority queue moves while others are flooded") {
  Counting counting;
  auto& gpu = counting.gpu;
  auto& counters = counting.counters;
  Signal done{*gpu, 1};
  Queue flood{*gpu, {.priority = 3}}, low{*gpu, {.priority = -3}};
  flood.submit(counting.packet(0, 100'000));
  low.submit(counting.packet(64, 100, done.handle()));
  while (done.load() != 0) REQUIRE(gpu->step());
  CHECK(load32(counters, 64) == 100);
  CHECK(load32(counters) < 10'000);
}

TEST_CASE("progress: a queue's new priority counts for the groups of its dispatch that have not started") {
  Counting counting;
  auto& gpu = counting.gpu;
  auto& counters = counting.counters;
  Queue one{*gpu, {.priority = 3}}, other{*gpu, {.priority = -3}};
  one.submit(counting.packet(0, 100'000));
  other.submit(counting.packet(64, 100'000));
  while (load32(counters) < 3000) REQUIRE(gpu->step());
  const std::uint32_t before = load32(counters, 64);
  CHECK(before < 2000);
  REQUIRE(gpu->set_priority(one.id(), -4));
  while (load32(counters, 64) < before + 3000) REQUIRE(gpu->step());
  CHECK(load32(counters) < 3000 + 2000);
  one.destroy();
  CHECK_FALSE(gpu->set_priority(one.id(), 0));
}

TEST_CASE("progress: an endless stream of new dispatches does not keep one that runs from its end") {
  constexpr std::uint32_t kStream = 1000;
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 64});
  auto spin = make_kernel(*gpu, kSpinOnFlag);
  Kernel empty{*gpu, {kEndpgm}};
  Memory flag{*gpu, 4096, kRead | kWrite, "flag"};
  Kernargs args{*gpu};
  args.put64(0, flag.address());
  Signal done{*gpu, 1}, last{*gpu, 1};
  Queue queue{*gpu}, stream{*gpu, {.packets = 1024}};
  auto packet = dispatch(spin->object(), done.handle());
  packet.kernarg_address = args.address();
  queue.submit(packet);
  for (int i = 0; i < 10; ++i) REQUIRE(gpu->step());
  REQUIRE(done.load() == 1);
  for (std::uint32_t i = 1; i < kStream; ++i) stream.submit(dispatch(empty.object(), 0));
  stream.submit(dispatch(empty.object(), last.handle()));
  store32(flag, 0, 1);
  while (done.load() != 0) REQUIRE(gpu->step());
  CHECK(last.load() == 1);
}

TEST_CASE("progress: a grid of 2^31 work-items starts at once and can be stopped") {
  auto gpu = make_gpu({.hand_stepped = true});
  auto count = make_kernel(*gpu, kCount);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  Queue queue{*gpu};
  auto packet = dispatch(count->object(), 0, 1u << 31, 64);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  for (int i = 0; i < 10; ++i) REQUIRE(gpu->step());
  CHECK(load32(counter) >= 5);
  queue.destroy();
  CHECK(load32(counter) < 100);
}

TEST_CASE("progress: 100,000 workgroups run exactly once each") {
  const unsigned workers = GENERATE(1u, 2u, 4u);
  auto gpu = make_gpu({.workers = workers});
  auto count = make_kernel(*gpu, kCount);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(count->object(), done.handle(), 64 * 100'000, 64);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  wait_until([&] { return done.load() == 0; });
  CHECK(load32(counter) == 100'000);
}

TEST_CASE("progress: waves that have ended do not count at a barrier") {
  auto gpu = make_gpu();
  auto kernel = make_kernel(*gpu, kBarrierWithoutWave0);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), 1024, 1024);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(load32(counter) == 15);
}

TEST_CASE("progress: dynamic LDS of the packet is there, zero at start and shared by the group") {
  const auto group = GENERATE(std::uint16_t{64}, std::uint16_t{100}, std::uint16_t{1024});
  auto gpu = make_gpu();
  auto kernel = make_kernel(*gpu, kLdsMirror);
  Memory sum{*gpu, 4096, kRead | kWrite, "sum"};
  Kernargs args{*gpu};
  args.put64(0, sum.address()).put32(8, group - 1u);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), group * 3u, group);
  packet.kernarg_address = args.address();
  packet.group_segment_size = group * 4u;
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(load32(sum) == 3u * group * (group - 1u) / 2u);
}

TEST_CASE("progress: work-item ids of partial groups and EXEC of partial waves") {
  auto gpu = make_gpu();
  auto kernel = make_kernel(*gpu, kStoreIds);
  Memory out{*gpu, 4096, kRead | kWrite, "out"};
  Kernargs args{*gpu};
  args.put64(0, out.address());
  std::memset(out.host<std::byte>(), 0xff, 4096);
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), 0, 100, 64);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  gpu->run_until_idle();
  for (auto& fault : queue.faults) FAIL(fault.detail);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(load32(out, i * 4) == (i < 100 ? i % 64 : ~0u));
}

TEST_CASE("determinism: with one worker, scheduling is a function of the seed") {
  const auto run = [](std::uint64_t seed) {
    auto gpu = make_gpu({.hand_stepped = true, .seed = seed, .slice_instructions = 3});
    auto kernel = make_kernel(*gpu, kCount);
    Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
    Kernargs args{*gpu};
    args.put64(0, counter.address());
    Queue a{*gpu}, b{*gpu};
    auto packet = dispatch(kernel->object(), 0, 64 * 40, 128);
    packet.kernarg_address = args.address();
    a.submit(packet);
    b.submit(packet);
    std::vector<std::uint32_t> steps;
    while (gpu->step()) steps.push_back(load32(counter));
    return steps;
  };
  CHECK(run(1) == run(1));
  CHECK(run(2) == run(2));
  CHECK(run(1) != run(2));
  CHECK(run(1).back() == 80);
}

TEST_CASE("shutdown: a Gpu with endless kernels on several queues ends") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kEndless);
  std::vector<std::unique_ptr<Queue>> queues;
  for (int i = 0; i < 4; ++i) {
    queues.push_back(std::make_unique<Queue>(*gpu));
    queues.back()->submit(dispatch(kernel->object(), 0, 6400, 64));
  }
  queues.clear();
  SUCCEED();
}

TEST_CASE("shutdown: 1000 times create, dispatch, destroy") {
  auto gpu = make_gpu({.workers = 1});
  Kernel kernel{*gpu, {kEndpgm}};
  for (int i = 0; i < 1000; ++i) {
    Signal done{*gpu, 1};
    Queue queue{*gpu};
    queue.submit(dispatch(kernel.object(), done.handle()));
    wait_until([&] { return done.load() == 0; });
  }
  SUCCEED();
}
