// Agent dispatch and extended dispatch.
#include <thread>

#include "unit/cp/bench.hpp"

using namespace cp_test;

namespace {

abi::AgentDispatchPacket agent(std::uint16_t type, std::uint64_t first, std::uint64_t done) {
  abi::AgentDispatchPacket p{};
  p.header = static_cast<std::uint16_t>(abi::PacketType::agent_dispatch);
  p.type = type;
  p.arg[0] = first;
  p.arg[3] = 4;
  p.return_address = 0x1234;
  p.completion_signal = done;
  return p;
}

abi::ExtendedDispatchPacket extended(std::uint64_t kernel_object, std::uint64_t done) {
  abi::ExtendedDispatchPacket p{};
  p.amd_format = static_cast<std::uint8_t>(abi::VendorFormat::extended_dispatch);
  p.setup = 1;
  p.workgroup_size_x = 64;
  p.workgroup_size_y = p.workgroup_size_z = 1;
  p.cluster_count_x = 3;
  p.cluster_count_y = p.cluster_count_z = 1;
  p.cluster_size_x = p.cluster_size_y = p.cluster_size_z = 1;
  p.kernel_object = kernel_object;
  p.completion_signal = done;
  return p;
}

} // namespace

TEST_CASE("agent dispatch: the function gets type, arguments and return address; then the signal is decremented") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  std::vector<std::uint64_t> seen;
  QueueOptions options;
  options.agent_function = [&](std::uint16_t type, const std::uint64_t* args, std::uint64_t address) {
    seen = {type, args[0], args[3], address, static_cast<std::uint64_t>(done.load())};
    return Errc::ok;
  };
  Queue queue{*gpu, options};
  queue.submit(agent(0x8001, 42, done.handle()));
  gpu->run_until_idle();
  CHECK(seen == std::vector<std::uint64_t>{0x8001, 42, 4, 0x1234, 1});
  CHECK(done.load() == 0);
  CHECK(queue.read_index() == 1);
}

TEST_CASE("agent dispatch: a function that fails stops the queue with its code and completes nothing") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1}, later{*gpu, 1};
  QueueOptions options;
  options.agent_function = [](std::uint16_t, const std::uint64_t*, std::uint64_t) { return Errc::invalid_argument; };
  Queue queue{*gpu, options};
  queue.submit(agent(1, 0, done.handle()));
  auto held = barrier(abi::PacketType::barrier_and, later.handle());
  held.header |= kBarrierBit;
  queue.submit(held);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_argument);
  CHECK(done.load() == 1);
  CHECK(later.load() == 1);
}

TEST_CASE("agent dispatch: the barrier bit of the next packet waits for the function") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1}, after{*gpu, 1};
  std::int64_t after_seen = 0;
  QueueOptions options;
  options.agent_function = [&](std::uint16_t, const std::uint64_t*, std::uint64_t) {
    after_seen = after.load();
    return Errc::ok;
  };
  Queue queue{*gpu, options};
  queue.submit(agent(1, 0, done.handle()));
  auto held = barrier(abi::PacketType::barrier_and, after.handle());
  held.header |= kBarrierBit;
  queue.submit(held);
  gpu->run_until_idle();
  CHECK(after_seen == 1);
  CHECK(after.load() == 0);
}

TEST_CASE("agent dispatch: a function that waits for another queue of the same device does not stop it") {
  auto gpu = make_gpu({.workers = 1});
  Signal done{*gpu, 1}, other_done{*gpu, 1};
  Queue other{*gpu};
  QueueOptions options;
  options.agent_function = [&](std::uint16_t, const std::uint64_t*, std::uint64_t) {
    other.submit(barrier(abi::PacketType::barrier_and, other_done.handle()));
    while (other_done.load() != 0) std::this_thread::yield();
    return Errc::ok;
  };
  Queue queue{*gpu, options};
  queue.submit(agent(1, 0, done.handle()));
  while (done.load() != 0) std::this_thread::yield();
  CHECK(other_done.load() == 0);
}

TEST_CASE("extended dispatch: clusters of one workgroup run like a plain dispatch") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(extended(kernel.object(), done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(queue.read_index() == 1);
}

TEST_CASE("extended dispatch: waits for its dependency signal") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal dependency{*gpu, 1}, done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = extended(kernel.object(), done.handle());
  packet.dep_signal = dependency.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == 1);
  dependency.store(0);
  gpu->run_until_idle();
  CHECK(done.load() == 0);
}

TEST_CASE("extended dispatch: a size of 0, a real cluster, or more work-items than 32 bits hold are dimension errors") {
  const int which = GENERATE(0, 1, 2, 3);
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = extended(kernel.object(), done.handle());
  if (which == 0) packet.cluster_size_y = 0;
  if (which == 1) packet.cluster_size_x = 2;
  if (which == 2) packet.cluster_count_x = 0x80000000u;
  if (which == 3) packet.cluster_count_x = 0;
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::incompatible_arguments);
  CHECK(queue.faults[0].error_bits == abi::kQueueErrorDimensions);
  CHECK(done.load() == 1);
}
