#pragma once
// Opening a software GPU with a watchdog, loading test kernels, and launching one and waiting for it.

#include <string>

#include <aql/aql.hpp>

#include "support/catch.hpp"

namespace aql::test {

inline Device open_sim(const std::string& target, unsigned workers = 1) {
  Select select;
  select.selector = "sim:" + target;
  select.exclusive = true;
  select.sim.workers = workers;
  select.sim.watchdog_ms = 60'000;
  select.sim.poison = true;
  auto device = Device::open(select);
  REQUIRE(device);
  return *device;
}

inline Module load(const Device& device, const std::string& name) {
  auto module = Module::load_file(device, std::string{AQL_TEST_KERNEL_DIR} + "/" + name + "." + device.info().target + ".co");
  if (!module) FAIL(module.error().message());
  return *module;
}

inline Kernel kernel_of(const Module& module, const char* name) {
  auto kernel = module.kernel(name);
  if (!kernel) FAIL(kernel.error().message());
  return *kernel;
}

inline Buffer buffer_of(const Device& device, std::size_t bytes, PoolKind kind = PoolKind::device_coarse, const char* label = "test") {
  auto buffer = device.allocate(kind, bytes, label);
  if (!buffer) FAIL(buffer.error().message());
  return std::move(*buffer);
}

inline Queue queue_on(const Device& device, std::uint32_t packets = 64) {
  auto queue = Queue::create(device, {.packets = packets});
  if (!queue) FAIL(queue.error().message());
  return std::move(*queue);
}

inline Result<void> run(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch) {
  auto ticket = launch(queue, kernargs, dispatch);
  if (!ticket) return std::unexpected(ticket.error());
  return ticket->wait();
}

template <class... Args>
Kernargs arguments(const Kernel& kernel, const Args&... args) {
  Kernargs kernargs{kernel};
  if (auto done = kernargs.set_all(args...); !done) FAIL(done.error().message());
  return kernargs;
}

inline void check(const Result<void>& result) {
  if (!result) FAIL_CHECK(result.error().message());
  else SUCCEED();
}

} // namespace aql::test
