// Rules of the ring: what is consumed when, and what is left alone.
#include "unit/cp/bench.hpp"

using namespace cp_test;

TEST_CASE("packet processor: a dispatch of s_endpgm completes, frees its slot and decrements its signal once", "[!mayfail]") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  const auto index = queue.submit(dispatch(kernel.object(), done.handle()));
  gpu->run_until_idle();
  CHECK(done.load() == 0);
  CHECK(queue.header(index) == 1);
  CHECK(queue.read_index() == 1);
  for (auto& fault : queue.faults) UNSCOPED_INFO(fault.detail);
  CHECK(queue.fault_count == 0);
}

TEST_CASE("packet processor: a new queue's doorbell is armed so that a first ring with index 0 is seen") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  gpu->run_until_idle();
  CHECK(queue.doorbell() == ~0ull);
  CHECK_FALSE(gpu->step());
}

TEST_CASE("packet processor: a published packet waits for its doorbell") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Queue queue{*gpu};
  queue.write(0, dispatch(kernel.object()));
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 0);
  queue.ring(0);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}

TEST_CASE("packet processor: with needs_doorbell off a published packet runs without a ring") {
  auto gpu = make_gpu({.hand_stepped = true, .needs_doorbell = false});
  Kernel kernel{*gpu, {kEndpgm}};
  Queue queue{*gpu};
  queue.write(0, dispatch(kernel.object()));
  queue.reserve(1);
  gpu->run_until_idle();
  CHECK(queue.read_index() == 1);
}
