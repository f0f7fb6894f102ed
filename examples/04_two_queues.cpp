// Barrier-AND across queues: two producers on their own queues, a consumer on a third that waits for both signals. Only the
// packet processor waits; the host submits everything at once.
#include "example.hpp"

int main() {
  constexpr std::uint32_t n = 1024;
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "basics")), "load");
  const auto scale = need(module.kernel("scale_add"), "kernel");
  const auto add = need(module.kernel("vector_add"), "kernel");
  const auto ints = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "ints"), "allocate");
  const auto a = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "a"), "allocate");
  const auto b = need(device.allocate(aql::PoolKind::device_coarse, n * 4, "b"), "allocate");
  std::vector<float> ones(n, 1.0f), twos(n, 2.0f), out(n);
  need(a.write(ones), "write");
  need(b.write(twos), "write");

  auto q1 = need(aql::Queue::create(device, {.packets = 64}), "queue 1");
  auto q2 = need(aql::Queue::create(device, {.packets = 64}), "queue 2");
  auto q3 = need(aql::Queue::create(device, {.packets = 64}), "queue 3");
  const auto first = need(aql::Signal::create(device, 1), "signal");
  const auto second = need(aql::Signal::create(device, 1), "signal");

  // The consumer is submitted first, and waits.
  const aql::BarrierAndPacket join{.dependencies = {first.handle(), second.handle()}, .barrier = aql::Barrier::on};
  q3.submit(join);
  aql::Kernargs last_args{add};
  need(last_args.set_all(a, b, a, n), "arguments");
  auto ticket = need(aql::launch(q3, last_args, {.grid = {n}, .group = {64}}), "launch 3");

  aql::Kernargs scale_args{scale}, add_args{add};
  need(scale_args.set_all(ints, n, 3u, 1000u), "arguments");
  need(add_args.set_all(a, b, b, n), "arguments"); // b = 1 + 2
  auto slow = need(aql::PreparedDispatch::create(q1, scale_args, {.grid = {n}, .group = {64}}), "prepare 1");
  auto quick = need(aql::PreparedDispatch::create(q2, add_args, {.grid = {n}, .group = {64}}), "prepare 2");
  slow.packet().completion = first.handle();
  quick.packet().completion = second.handle();
  q1.submit(slow.packet());
  q2.submit(quick.packet());

  need(ticket.wait(), "wait"); // a = 1 + 3
  need(a.read(out), "read");
  bool ok = true;
  for (const float v : out) ok = ok && v == 4.0f;
  std::printf("joined two queues: %g\n", static_cast<double>(out[0]));
  return verdict(ok);
}
