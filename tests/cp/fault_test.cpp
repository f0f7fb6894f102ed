// Faults of waves, the watchdog, and what they stop.
#include "cp/kernels.hpp"

using namespace cp_test;

TEST_CASE("fault: the report names kernel, pc, words, workgroup, wave, lane, address, access and the nearest allocation") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kStoreLane63);
  gpu->set_symbolizer([&](std::uint64_t address) {
    return address >= kernel->object() && address < kernel->object() + 4096 ? std::string{"store_lane_63"} : std::string{};
  });
  Memory target{*gpu, 4096, kRead | kWrite, "target"};
  Kernargs args{*gpu};
  args.put64(0, target.address() + 4096);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), 128, 128);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  wait_until([&] { return queue.fault_count != 0; });
  const QueueFault& fault = queue.faults[0];
  CHECK(fault.code == Errc::memory_fault);
  CHECK(fault.fault.kernel == "store_lane_63");
  CHECK(fault.fault.address == target.address() + 4096);
  CHECK(fault.fault.access == FaultAccess::write);
  CHECK(fault.fault.lane == 63);
  CHECK(fault.fault.wave == 1);
  CHECK(fault.fault.pc == kernel->entry() + 4 * 10);
  CHECK(fault.fault.word_count == 2);
  CHECK_THAT(fault.detail, Catch::Contains("store_lane_63") && Catch::Contains("write of 4 bytes") && Catch::Contains("lane 63") &&
                               Catch::Contains("target"));
  CHECK(done.load() == 1);
}

TEST_CASE("interrupt: a wave that sends one has the event hook look at all events, and wakes who waits") {
  auto gpu = make_gpu({.workers = 1});
  std::vector<std::uint32_t> events;
  gpu->set_event_hook([&events](std::uint32_t id) { events.push_back(id); });
  Kernel kernel{*gpu, {0xbf900001, kEndpgm}}; // s_sendmsg sendmsg(MSG_INTERRUPT)
  Queue queue{*gpu};
  const std::uint32_t before = gpu->event_counter().load();
  queue.submit(dispatch(kernel.object()));
  wait_until([&] { return gpu->event_counter().load() != before; });
  queue.destroy();
  CHECK(events == std::vector<std::uint32_t>{kAnyEvent});
}

TEST_CASE("fault: in the middle of ten dispatches it ends those behind it, not those before, and no other queue") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  Kernel good{*gpu, {kEndpgm}};
  auto bad = make_kernel(*gpu, kLoadNull);
  std::vector<std::unique_ptr<Signal>> done;
  Signal elsewhere{*gpu, 1};
  Queue queue{*gpu}, other{*gpu};
  for (int i = 0; i < 10; ++i) {
    done.push_back(std::make_unique<Signal>(*gpu, 1));
    auto packet = dispatch(i == 5 ? bad->object() : good.object(), done.back()->handle());
    packet.header |= kBarrierBit;
    queue.submit(packet);
  }
  wait_until([&] { return queue.fault_count != 0; });
  other.submit(dispatch(good.object(), elsewhere.handle()));
  wait_until([&] { return elsewhere.load() == 0; });
  CHECK(queue.faults[0].packet_index == 5);
  for (std::size_t i = 0; i < 10; ++i) CHECK(done[i]->load() == (i < 5 ? 0 : 1));
  CHECK(queue.state() == QueueState::inactive);
  CHECK(queue.fault_count == 1);
}

TEST_CASE("fault: every group of a large grid faults, the callback comes once") {
  const unsigned workers = GENERATE(1u, 2u, 4u);
  auto gpu = make_gpu({.workers = workers});
  auto bad = make_kernel(*gpu, kLoadNull);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(bad->object(), done.handle(), 64 * 100'000, 64));
  wait_until([&] { return queue.fault_count != 0; });
  queue.destroy();
  CHECK(queue.fault_count == 1);
  CHECK(done.load() == 1);
}

TEST_CASE("fault: other dispatches in flight on the same queue are ended before the callback") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto endless = make_kernel(*gpu, kEndless);
  auto bad = make_kernel(*gpu, kLoadNull);
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(endless->object(), first.handle()));
  queue.submit(dispatch(bad->object(), second.handle()));
  wait_until([&] { return queue.fault_count != 0; });
  CHECK(queue.faults[0].packet_index == 1);
  CHECK(first.load() == 1);
  CHECK(second.load() == 1);
}

TEST_CASE("fault: a packet that is refused lets earlier dispatches of its queue end well") {
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 1});
  auto count = make_kernel(*gpu, kCount);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  Signal first{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(count->object(), first.handle());
  packet.kernarg_address = args.address();
  queue.submit(packet);
  queue.submit(dispatch(0));
  gpu->run_until_idle();
  CHECK(queue.faults.size() == 1);
  CHECK(first.load() == 0);
  CHECK(load32(counter) == 1);
}

TEST_CASE("fault: an unmapped kernarg is a read fault of the kernel, at its address") {
  auto gpu = make_gpu();
  auto count = make_kernel(*gpu, kCount);
  Queue queue{*gpu};
  auto packet = dispatch(count->object());
  packet.kernarg_address = 0x123450000;
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::memory_fault);
  CHECK(queue.faults[0].fault.address == 0x123450000);
  CHECK(queue.faults[0].fault.access == FaultAccess::read);
}

TEST_CASE("fault: running off the end of code is a fetch or illegal-instruction fault, never a success") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {0xBF800000u}}; // s_nop, then zeros
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object(), done.handle()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(done.load() == 1);
}

TEST_CASE("watchdog: an endless kernel is a hang, by instructions or by time, and names where it is") {
  const bool by_time = GENERATE(false, true);
  const unsigned workers = GENERATE(1u, 2u);
  GpuOptions options{.workers = workers};
  if (by_time) {
    options.watchdog_ms = 20;
  } else {
    options.watchdog_instructions = 100'000;
  }
  auto gpu = make_gpu(options);
  auto kernel = make_kernel(*gpu, kEndless);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel->object(), done.handle(), 256, 128));
  wait_until([&] { return queue.fault_count != 0; });
  CHECK(queue.faults[0].code == Errc::hang);
  CHECK(queue.faults[0].fault.pc == kernel->entry());
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("watchdog") && Catch::Contains("wave 1: running"));
  CHECK(done.load() == 1);
}

TEST_CASE("watchdog: the report says which waves wait at a barrier") {
  auto gpu = make_gpu({.hand_stepped = true, .watchdog_instructions = 100'000});
  auto kernel = make_kernel(*gpu, kBarrierNeverReached);
  Queue queue{*gpu};
  queue.submit(dispatch(kernel->object(), 0, 192, 192));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("wave 0: waits at s_barrier") && Catch::Contains("wave 1: running"));
}

TEST_CASE("watchdog: a wave that polls in s_sleep is named as sleeping") {
  auto gpu = make_gpu({.hand_stepped = true, .watchdog_instructions = 10'000});
  auto kernel = make_kernel(*gpu, kSleepOnFlag);
  Memory flag{*gpu, 4096, kRead | kWrite, "flag"};
  Kernargs args{*gpu};
  args.put64(0, flag.address());
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object());
  packet.kernarg_address = args.address();
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::hang);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("in s_sleep"));
}

TEST_CASE("watchdog: a dispatch that ends in time is left alone") {
  auto gpu = make_gpu({.hand_stepped = true, .watchdog_instructions = 1000, .watchdog_ms = 60'000});
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object(), done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(queue.fault_count == 0);
}

TEST_CASE("fault: the queue can be destroyed while its kernel runs, and its memory taken away after that") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kSpinOnFlag);
  Memory flag{*gpu, 4096, kRead | kWrite, "flag"};
  Kernargs args{*gpu};
  args.put64(0, flag.address());
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel->object(), done.handle(), 64 * 50, 64);
  packet.kernarg_address = args.address();
  queue.submit(packet);
  wait_until([&] { return queue.read_index() == 1; });
  queue.destroy();
  CHECK(done.load() == 1);
  CHECK(queue.fault_count == 0);
}
