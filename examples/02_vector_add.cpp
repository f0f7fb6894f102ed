// c = a + b: buffers, arguments checked against the kernel's metadata, one launch, one wait.
#include "example.hpp"

int main() {
  constexpr std::uint32_t n = 1000; // no multiple of the group: the last group is partial
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "basics")), "load");
  const auto kernel = need(module.kernel("vector_add"), "kernel");

  const auto a = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "a"), "allocate");
  const auto b = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "b"), "allocate");
  const auto c = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "c"), "allocate");
  std::vector<float> host_a(n), host_b(n), host_c(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    host_a[i] = static_cast<float>(i);
    host_b[i] = 0.5f * static_cast<float>(i);
  }
  need(a.write(host_a), "write a");
  need(b.write(host_b), "write b");

  auto queue = need(aql::Queue::create(device, {}), "queue");
  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(a, b, c, n), "arguments");
  auto ticket = need(aql::launch(queue, kernargs, {.grid = {n}, .group = {64}}), "launch");
  need(ticket.wait(), "wait");

  need(c.read(host_c), "read c");
  bool ok = true;
  for (std::uint32_t i = 0; i < n; ++i) ok = ok && host_c[i] == host_a[i] + host_b[i];
  std::printf("%s: %u sums, the last is %g\n", device.info().selector.c_str(), n, static_cast<double>(host_c[n - 1]));
  return verdict(ok);
}
