// Private memory: no lane sees another's value, whatever the sizes (several reports of other products: per-lane number checked
// against a per-wave field, sized by a share of the grid, 32-bit products).
#include "cp/kernels.hpp"

using namespace cp_test;

namespace {

struct ScratchRun {
  ScratchRun(Gpu& gpu, const aql::test::AsmCases& code)
      : kernel(make_kernel(gpu, code, scratch_options(gpu.profile().arch))), errors(gpu, 4096, kRead | kWrite, "errors") {}
  abi::KernelDispatchPacket packet(Gpu& gpu, std::uint32_t bytes, std::uint32_t groups, std::uint16_t group, std::uint64_t signal) {
    args.push_back(std::make_unique<Kernargs>(gpu));
    args.back()->put64(0, errors.address()).put32(8, bytes).put32(12, group);
    auto p = dispatch(kernel->object(), signal, groups * group, group);
    p.kernarg_address = args.back()->address();
    p.private_segment_size = bytes;
    return p;
  }
  std::unique_ptr<Kernel> kernel;
  Memory errors;
  std::vector<std::unique_ptr<Kernargs>> args;
};

struct Target {
  const char* name;
  const aql::test::AsmCases* code;
};

} // namespace

TEST_CASE("scratch: 64 bytes and 4 KiB alternated, many grids and group sizes, all targets") {
  const auto target = GENERATE(Target{"gfx90a", &kScratchGfx90a}, Target{"gfx90a", &kScratchFlatGfx90a},
                               Target{"gfx942", &kScratchGfx942}, Target{"gfx950", &kScratchGfx942});
  const std::uint32_t groups = GENERATE(1u, 64u, 65u);
  const auto group = GENERATE(std::uint16_t{64}, std::uint16_t{256}, std::uint16_t{1000});
  auto gpu = make_gpu({.workers = 2}, target.name);
  ScratchRun run{*gpu, *target.code};
  Signal done{*gpu, 4};
  Queue queue{*gpu};
  for (const std::uint32_t bytes : {64u, 4096u, 64u, 256u}) queue.submit(run.packet(*gpu, bytes, groups, group, done.handle()));
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  if (queue.fault_count != 0) FAIL(queue.faults[0].detail);
  CHECK(load32(run.errors) == 0);
}

TEST_CASE("scratch: 10,000 groups on eight workers") {
  auto gpu = make_gpu({.workers = 8});
  ScratchRun run{*gpu, kScratchGfx942};
  Signal done{*gpu, 2};
  Queue queue{*gpu};
  queue.submit(run.packet(*gpu, 64, 10'000, 64, done.handle()));
  queue.submit(run.packet(*gpu, 48, 10'000, 128, done.handle()));
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  if (queue.fault_count != 0) FAIL(queue.faults[0].detail);
  CHECK(load32(run.errors) == 0);
}

TEST_CASE("scratch: the largest private segment, with resident waves whose scratch passes 4 GiB in sum") {
  const auto target =
      GENERATE(Target{"gfx90a", &kScratchGfx90a}, Target{"gfx90a", &kScratchFlatGfx90a}, Target{"gfx942", &kScratchGfx942});
  auto gpu = make_gpu({.workers = 1, .slice_instructions = 2}, target.name);
  ScratchRun run{*gpu, *target.code};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  // Only the first 64 bytes are used, so that the test's memory stays small; slots are spread over all of it.
  auto packet = run.packet(*gpu, 16, 600, 64, done.handle());
  packet.private_segment_size = 131056;
  queue.submit(packet);
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  if (queue.fault_count != 0) FAIL(queue.faults[0].detail);
  CHECK(load32(run.errors) == 0);
}

TEST_CASE("scratch: an access outside all of scratch is a fault that names it") {
  auto gpu = make_gpu();
  ScratchRun run{*gpu, kScratchGfx942};
  Queue queue{*gpu};
  auto packet = run.packet(*gpu, 1 << 20, 1, 64, 0);
  packet.private_segment_size = 64;
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK((queue.faults[0].code == Errc::memory_fault || queue.faults[0].code == Errc::memory_aperture_violation));
}

TEST_CASE("scratch: one byte over the limit is refused and names the limit") {
  auto gpu = make_gpu();
  ScratchRun run{*gpu, kScratchGfx942};
  Queue queue{*gpu};
  auto packet = run.packet(*gpu, 64, 1, 64, 0);
  packet.private_segment_size = 131057;
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::out_of_resources);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("131056"));
}

TEST_CASE("scratch: a runtime that owns scratch is asked through the inactive signal, and the packet runs when it has grown") {
  auto gpu = make_gpu({.hand_stepped = true}, "gfx90a");
  ScratchRun run{*gpu, kScratchGfx90a};
  std::vector<std::uint32_t> events;
  gpu->set_event_hook([&events](std::uint32_t id) { events.push_back(id); });
  Memory mailbox{*gpu, 4096, kRead | kWrite, "mailbox"};
  Signal done{*gpu, 2};
  Queue queue{*gpu, {.external_scratch = true}};
  queue.inactive().object().event_mailbox_ptr = mailbox.address();
  queue.inactive().object().event_id = 5;
  queue.submit(run.packet(*gpu, 512, 20, 128, done.handle()));
  queue.submit(run.packet(*gpu, 512, 20, 128, done.handle()));
  gpu->run_until_idle();
  CHECK(queue.inactive().load() == abi::kQueueErrorScratch);
  CHECK(events == std::vector<std::uint32_t>{5});
  CHECK(queue.read_index() == 0);
  CHECK(queue.state() == QueueState::active);
  // What ROCr does: memory for some waves, the fields of amd_queue_t, then 0 in the signal.
  Memory backing{*gpu, 8 * 32768, kRead | kWrite, "scratch of the runtime"};
  queue.amd().scratch_backing_memory_location = backing.address();
  queue.amd().scratch_backing_memory_byte_size = 8 * 32768;
  queue.amd().scratch_wave64_lane_byte_size = 512;
  queue.amd().compute_tmpring_size = abi::TmpringWaves::encode<std::uint32_t>(8) | abi::TmpringWaveSize::encode<std::uint32_t>(32);
  queue.inactive().store(0);
  gpu->run_until_idle();
  if (queue.fault_count != 0) FAIL(queue.faults[0].detail);
  CHECK(done.load() == 0);
  CHECK(load32(run.errors) == 0);
  CHECK(queue.inactive().load() == 0);
}

TEST_CASE("scratch: the runtime is asked for more only when no dispatch uses what there is") {
  auto gpu = make_gpu({.hand_stepped = true, .slice_instructions = 4}, "gfx90a");
  ScratchRun run{*gpu, kScratchGfx90a};
  Signal first{*gpu, 1}, second{*gpu, 1};
  Queue queue{*gpu, {.external_scratch = true}};
  Memory backing{*gpu, 8 * 32768, kRead | kWrite, "scratch of the runtime"};
  const auto give = [&](std::uint32_t lane_bytes) {
    queue.amd().scratch_backing_memory_location = backing.address();
    queue.amd().scratch_backing_memory_byte_size = 8ull * lane_bytes * 64;
    queue.amd().scratch_wave64_lane_byte_size = lane_bytes;
    queue.amd().compute_tmpring_size =
        abi::TmpringWaves::encode<std::uint32_t>(8) | abi::TmpringWaveSize::encode<std::uint32_t>(lane_bytes * 64 / 1024);
  };
  give(64);
  queue.submit(run.packet(*gpu, 64, 4, 64, first.handle()));
  queue.submit(run.packet(*gpu, 512, 4, 64, second.handle()));
  bool both_are_there = false; // the second packet is looked at while the first one's waves run
  while (queue.inactive().load() == 0 && gpu->step()) both_are_there = both_are_there || (queue.read_index() == 1 && first.load() == 1);
  CHECK(both_are_there);
  CHECK(queue.inactive().load() == abi::kQueueErrorScratch);
  CHECK(first.load() == 0);
  give(512);
  queue.inactive().store(0);
  gpu->run_until_idle();
  if (queue.fault_count != 0) FAIL(queue.faults[0].detail);
  CHECK(second.load() == 0);
  CHECK(load32(run.errors) == 0);
}
