// Four threads submit to one MULTI queue of 64 slots. Reservation is private and publication in order, so no thread can expose
// another's half-written packet; every dispatch runs exactly once.
#include <thread>

#include "example.hpp"

int main() {
  constexpr unsigned threads = 4, each = 500;
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "basics")), "load");
  const auto kernel = need(module.kernel("count"), "kernel");
  const auto counter = need(device.allocate(aql::PoolKind::device_fine, 4, "counter"), "allocate");
  auto queue = need(aql::Queue::create(device, {.packets = 64, .producers = aql::Producers::multi}), "queue");

  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(counter), "arguments");
  const auto prepared = need(aql::PreparedDispatch::create(queue, kernargs, {.grid = {64}, .group = {64}}), "prepare");
  const auto done = need(aql::Signal::create(device, threads * each), "signal");
  {
    std::vector<std::jthread> producers;
    for (unsigned t = 0; t < threads; ++t) {
      producers.emplace_back([&] {
        aql::DispatchPacket packet = prepared.packet();
        packet.completion = done.handle();
        for (unsigned i = 0; i < each; ++i) queue.submit(packet); // waits while the ring is full
      });
    }
  }
  const auto left = done.wait(aql::Condition::eq, 0, aql::Deadline::in(std::chrono::minutes{1}));
  std::uint32_t ran = 0;
  need(counter.read(&ran, sizeof ran), "read"); // device memory: not every driver lets the host look into it directly
  std::printf("%u threads, %u dispatches: the kernel counted %u, %lld not completed\n", threads, threads * each, ran, static_cast<long long>(left));
  return verdict(left == 0 && ran == threads * each);
}
