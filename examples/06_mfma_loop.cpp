// The smallest matrix-core kernel: v_mfma_f32_32x32x8_f16 in a loop. Every lane gives the same a[k] and b[k], so every element
// of the result is the sum over k of 2 * dot4(a[k], b[k]): with three steps, a = 1, b = 2 that is 48.
// gfx1250 has no MFMA (its matrix instructions are WMMA, for waves of 32): this kernel's source does not compile for it.
#include "example.hpp"

int main() {
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "mfma_loop")), "load");
  const auto kernel = need(module.kernel("gemm_tile"), "kernel");
  std::printf("%s: code object V%u for %s, %u VGPRs, kernarg %llu bytes\n", device.info().selector.c_str(), module.code_object().code_object_version(),
              module.code_object().target_id().short_name().c_str(), kernel.info().vgpr_count, static_cast<unsigned long long>(kernel.info().kernarg_size));

  constexpr int steps = 3;
  const auto out = need(device.allocate(aql::PoolKind::device_coarse, 16 * 4, "out"), "allocate");
  const auto a = need(device.allocate(aql::PoolKind::device_coarse, steps * 8, "a"), "allocate");
  const auto b = need(device.allocate(aql::PoolKind::device_coarse, steps * 8, "b"), "allocate");
  const std::vector<aql::num::f16> ones(steps * 4, aql::num::f16::from_float(1.0f)), twos(steps * 4, aql::num::f16::from_float(2.0f));
  need(a.write(ones), "write a");
  need(b.write(twos), "write b");

  auto queue = need(aql::Queue::create(device, {}), "queue");
  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(out, a, b, steps), "arguments");
  auto ticket = need(aql::launch(queue, kernargs, {.grid = {256}, .group = {256}}), "launch");
  need(ticket.wait(), "wait");

  std::vector<float> result(16);
  need(out.read(result), "read");
  bool ok = true;
  for (const float v : result) ok = ok && v == 48.0f;
  std::printf("out[0..15] = %g\n", static_cast<double>(result[0]));
  return verdict(ok);
}
