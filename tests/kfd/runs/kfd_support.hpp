#pragma once
// Opening the device that AQL_DEVICE names, loading kernels, launching one and waiting for it.

#include <string>

#include <aql/aql.hpp>

#include "driver/driver.hpp"
#include "support/catch.hpp"

namespace aql::test {

inline Device open_device() {
  auto device = Device::open();
  if (!device) FAIL(device.error().message());
  return std::move(*device);
}

inline Kernel kernel_of(const Device& device, const std::string& file, const char* name) {
  auto module = Module::load_file(device, std::string{AQL_TEST_KERNEL_DIR} + "/" + file + "." + device.info().target + ".co");
  if (!module) FAIL(module.error().message());
  auto kernel = module->kernel(name);
  if (!kernel) FAIL(kernel.error().message());
  return std::move(*kernel);
}

template <class T>
T need(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}
inline void need(Result<void> result) {
  if (!result) FAIL(result.error().message());
}

template <class... Args>
Kernargs arguments(const Kernel& kernel, const Args&... args) {
  Kernargs kernargs{kernel};
  need(kernargs.set_all(args...));
  return kernargs;
}

inline Result<void> run(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch) {
  auto ticket = launch(queue, kernargs, dispatch);
  if (!ticket) return std::unexpected(ticket.error());
  return ticket->wait(Deadline::in(std::chrono::seconds{60}));
}

} // namespace aql::test
