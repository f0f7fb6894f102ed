// What errors look like: before the packet (a check of the launch), after it (a fault report), and what stays usable.
#include "example.hpp"

int main() {
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "errors")), "load");
  bool ok = true;

  // 1. A name that is not there: near matches are listed.
  const auto missing = module.kernel("store");
  ok = ok && !missing;
  std::printf("1. %s\n\n", missing.error().message().c_str());

  // 2. A shape that cannot be: refused before anything is written to the ring.
  const auto kernel = need(module.kernel("store_at"), "kernel");
  const auto buffer = need(device.allocate(aql::PoolKind::device_coarse, 1024, "target"), "allocate");
  auto queue = need(aql::Queue::create(device, {.packets = 64}), "queue");
  aql::Kernargs kernargs{kernel};
  // The first element past the end; hardware sees pages, not buffers, so there a gigabyte past it.
  need(kernargs.set_all(buffer, device.info().driver == "sim" ? 256u : 1u << 28, 1u), "arguments");
  const auto refused = aql::launch(queue, kernargs, {.grid = {32}, .group = {64}});
  ok = ok && !refused && queue.status();
  std::printf("2. %s\n\n", refused.error().message().c_str());

  // 3. A kernel that stores past its buffer: the queue stops, ticket and status tell why.
  auto ticket = need(aql::launch(queue, kernargs, {.grid = {64}, .group = {64}}), "launch");
  const auto fault = ticket.wait();
  ok = ok && !fault && fault.error().code == aql::Errc::memory_fault && !queue.status();
  std::printf("3. %s\n\n", fault ? "no fault" : fault.error().message().c_str());

  // 4. Later submissions get the same error; another queue is not affected.
  const auto later = aql::launch(queue, kernargs, {.grid = {64}, .group = {64}});
  ok = ok && !later;
  auto other = need(aql::Queue::create(device, {.packets = 64}), "queue");
  need(kernargs.set(1, 255u), "arguments");
  auto good = need(aql::launch(other, kernargs, {.grid = {64}, .group = {64}}), "launch");
  need(good.wait(), "wait");
  std::uint32_t last = 0;
  need(buffer.read(&last, sizeof last, 255 * sizeof last), "read");
  ok = ok && last == 1;
  std::printf("4. the first queue stays stopped, a second one works\n");
  return verdict(ok);
}
