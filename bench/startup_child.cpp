// What bench_startup times: opens the device, loads a code object, runs one dispatch, and writes the time when it is over (a timespec
// of CLOCK_MONOTONIC) to standard output. Exit status 0 only if all of it worked.

#include <ctime>
#include <vector>

#include <unistd.h>

#include <aql/aql.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto device = aql::Device::open("sim:gfx942");
  if (!device) return 1;
  auto module = aql::Module::load_file(*device, argv[1]);
  if (!module) return 1;
  auto kernel = module->kernel("vector_add");
  if (!kernel) return 1;
  constexpr std::uint32_t n = 1000;
  const std::vector<float> ones(n, 1.0f);
  auto a = device->allocate(aql::PoolKind::device_coarse, n * 4), sum = device->allocate(aql::PoolKind::device_coarse, n * 4);
  if (!a || !sum || !a->write(ones)) return 1;
  auto queue = aql::Queue::create(*device, {.packets = 64});
  aql::Kernargs kernargs{*kernel};
  if (!queue || !kernargs.set_all(*a, *a, *sum, n)) return 1;
  auto ticket = aql::launch(*queue, kernargs, {.grid = {n}, .group = {64}});
  if (!ticket || !ticket->wait()) return 1;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::vector<float> sums(n);
  if (!sum->read(sums) || sums[n - 1] != 2.0f) return 1;
  return write(1, &now, sizeof now) == static_cast<ssize_t>(sizeof now) ? 0 : 1;
}
