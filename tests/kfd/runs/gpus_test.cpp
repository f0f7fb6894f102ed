// Two GPUs of one process.

#include "kfd_support.hpp"

using namespace aql;
using namespace aql::test;

TEST_CASE("kfd gpus: each card is a device with its own memory", "[gpus]") {
  const auto first = need(Device::open("kfd:0")), second = need(Device::open("kfd:1"));
  for (const auto* device : {&first, &second}) {
    const auto kernel = kernel_of(*device, "basics_O2", "store_value");
    auto queue = need(Queue::create(*device, {.packets = 64}));
    const auto out = need(device->allocate(PoolKind::device_coarse, 4));
    need(run(queue, arguments(kernel, out, 5u), {.grid = {64}, .group = {64}}));
    std::uint32_t seen = 0;
    need(out.read(&seen, 4));
    CHECK(seen == 5);
  }
}

TEST_CASE("kfd gpus: one card waits for what the other completes", "[gpus]") {
  const auto first = need(Device::open("kfd:0")), second = need(Device::open("kfd:1"));
  auto leads = need(Queue::create(first, {.packets = 64})), follows = need(Queue::create(second, {.packets = 64}));
  const auto between = need(Signal::create(first, 1)), last = need(Signal::create(second, 1));
  follows.submit(BarrierAndPacket{.dependencies = {between.handle()}, .completion = last.handle()});
  CHECK(last.wait(Condition::eq, 0, Deadline::in(std::chrono::milliseconds{20})) == 1);
  leads.submit(BarrierAndPacket{.completion = between.handle()});
  CHECK(last.wait(Condition::eq, 0, Deadline::in(std::chrono::seconds{60})) == 0);
}

TEST_CASE("kfd gpus: there is no third one", "[gpus]") {
  const auto none = Device::open("kfd:2");
  REQUIRE_FALSE(none);
  CHECK(none.error().detail.find("shows 2 GPUs") != std::string::npos);
}

TEST_CASE("kfd gpus: a memory fault on one card leaves the other alone", "[gpus]") {
  const auto first = need(Device::open("kfd:0")), second = need(Device::open("kfd:1"));
  auto bad = need(Queue::create(first, {.packets = 64})), good = need(Queue::create(second, {.packets = 64}));
  Kernargs args{kernel_of(first, "poke_O2", "store_at")};
  need(args.set_address(0, 0xdead0000));
  need(args.set(1, 1u));
  need(args.set(2, ~0ull));
  REQUIRE_FALSE(run(bad, args, {.grid = {64}, .group = {64}}));
  need(good.submit(BarrierAndPacket{}).wait(Deadline::in(std::chrono::seconds{60})));
  CHECK(good.status());
}
