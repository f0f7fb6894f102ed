// A persistent kernel: launched once, then fed through a flag in fine-grained host memory, without another packet.
#include <atomic>

#include "example.hpp"

struct Mailbox {
  std::uint32_t sequence, value, done, result;
};

int main() {
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "persistent")), "load");
  const auto kernel = need(module.kernel("serve"), "kernel");
  const auto buffer = need(device.allocate(aql::PoolKind::host_fine, sizeof(Mailbox), "mailbox"), "allocate");
  auto& box = buffer.as<Mailbox>()[0];
  auto queue = need(aql::Queue::create(device, {}), "queue");
  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(buffer), "arguments");
  auto ticket = need(aql::launch(queue, kernargs, {.grid = {64}, .group = {64}}), "launch");

  bool ok = true;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    box.value = i;
    std::atomic_ref{box.sequence}.store(i, std::memory_order_release);
    while (std::atomic_ref{box.done}.load(std::memory_order_acquire) != i) {
      if (auto status = queue.status(); !status) return std::fprintf(stderr, "%s\n", status.error().message().c_str()), 1;
    }
    ok = ok && box.result == i * i;
    std::printf("%u ", box.result);
  }
  std::atomic_ref{box.sequence}.store(~0u, std::memory_order_release); // stop
  need(ticket.wait(), "wait");
  std::puts("computed by one dispatch");
  return verdict(ok);
}
