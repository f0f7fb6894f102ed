// A sum through LDS: groups of 256 work-items reduce in local memory, meet at barriers, and add once to global memory.
#include <numeric>

#include "example.hpp"

int main() {
  constexpr std::uint32_t n = 100'000;
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "reduce")), "load");
  const auto kernel = need(module.kernel("sum"), "kernel");
  const auto in = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "in"), "allocate");
  const auto out = need(device.allocate(aql::PoolKind::device_coarse, 4, "out"), "allocate");
  std::vector<int> host(n);
  std::iota(host.begin(), host.end(), -1000);
  need(in.write(host), "write");

  auto queue = need(aql::Queue::create(device, {}), "queue");
  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(in, out, n), "arguments");
  auto ticket = need(aql::launch(queue, kernargs, {.grid = {1024}, .group = {256}}), "launch");
  need(ticket.wait(), "wait");

  int result = 0;
  need(out.read(&result, sizeof result), "read");
  const int expected = std::accumulate(host.begin(), host.end(), 0u) & 0xffffffffu; // wraps as the kernel does
  std::printf("sum of %u numbers with %u bytes of LDS a group: %d\n", n, kernel.info().group_segment_size, result);
  return verdict(result == expected);
}
