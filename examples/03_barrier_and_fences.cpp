// The barrier bit orders packets of one queue; it is not a fence. Here each dispatch needs the result of the one before it:
// barrier bit on, release agent on the first, acquire agent on the second. Without the barrier bit both may run at once.
#include "example.hpp"

int main() {
  constexpr std::uint32_t n = 4096, steps = 8;
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "basics")), "load");
  const auto kernel = need(module.kernel("scale_add"), "kernel");
  const auto x = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "x"), "allocate");
  auto queue = need(aql::Queue::create(device, {}), "queue");

  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(x, n, 3u, 5u), "arguments");
  aql::Ticket last;
  for (std::uint32_t step = 0; step < steps; ++step) {
    // The first acquires what the host wrote, the last releases to the host; between them the agent's scope is enough.
    const auto acquire = step == 0 ? aql::Scope::system : aql::Scope::agent;
    const auto release = step + 1 == steps ? aql::Scope::system : aql::Scope::agent;
    last = need(aql::launch(queue, kernargs, {.grid = {n}, .group = {256}, .barrier = aql::Barrier::on, .acquire = acquire, .release = release}), "launch");
  }
  need(last.wait(), "wait");

  std::uint32_t expected = 0; // x = 3 x + 1, five times a dispatch
  for (std::uint32_t i = 0; i < steps * 5; ++i) expected = expected * 3 + 1;
  std::vector<std::uint32_t> host(n);
  need(x.read(host), "read");
  bool ok = true;
  for (const auto v : host) ok = ok && v == expected;
  std::printf("%u dependent dispatches: every element is %u\n", steps, expected);
  return verdict(ok);
}
