// The main job: C = A * B on the matrix cores, f16 in, f32 out, tiled through LDS, with ragged edges, checked against the host.
// Usage: 07_mfma_gemm [M N K]
#include <chrono>
#include <cmath>
#include <random>

#include "example.hpp"

int main(int argc, char** argv) {
  const auto size = [&](int i, std::uint32_t otherwise) { return argc > i ? static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 0)) : otherwise; };
  const std::uint32_t m = size(1, 200), n = size(2, 136), k = size(3, 100); // no multiples of the 128 x 128 x 32 tile
  if (m == 0 || n == 0 || k == 0) return std::fputs("usage: 07_mfma_gemm [M N K], each at least 1\n", stderr), 2;
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "gemm")), "load");
  const auto kernel = need(module.kernel("gemm_f16"), "kernel");

  // A: m x k, B: n x k (given transposed), values in [-1, 1).
  using aql::num::f16;
  std::vector<f16> host_a(std::size_t{m} * k), host_b(std::size_t{n} * k);
  std::mt19937 random{1};
  std::uniform_real_distribution<float> uniform{-1.0f, 1.0f};
  for (auto& v : host_a) v = f16::from_float(uniform(random));
  for (auto& v : host_b) v = f16::from_float(uniform(random));
  const auto a = need(device.allocate(aql::PoolKind::device_coarse, host_a.size() * 2, "A"), "allocate A");
  const auto b = need(device.allocate(aql::PoolKind::device_coarse, host_b.size() * 2, "B"), "allocate B");
  const auto c = need(device.allocate(aql::PoolKind::device_coarse, std::size_t{m} * n * 4, "C"), "allocate C");
  need(a.write(host_a), "write A");
  need(b.write(host_b), "write B");

  auto queue = need(aql::Queue::create(device, {}), "queue");
  aql::Kernargs kernargs{kernel};
  need(kernargs.set_all(a, b, c, m, n, k), "arguments");
  constexpr std::uint32_t tile = 128, group = 256;
  const aql::Dim3 groups{(n + tile - 1) / tile, (m + tile - 1) / tile, 1};
  auto dispatch = need(aql::PreparedDispatch::create(queue, kernargs, {.grid = {groups.x * group, groups.y}, .group = {group}, .barrier = aql::Barrier::on}), "prepare");
  const auto start = std::chrono::steady_clock::now();
  auto ticket = queue.submit(dispatch.packet());
  need(ticket.wait(), "wait");
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

  std::vector<float> host_c(std::size_t{m} * n);
  need(c.read(host_c), "read C");
  double worst = 0;
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::uint32_t x = 0; x < k; ++x) {
        const double product = host_a[std::size_t{i} * k + x].to_double() * host_b[std::size_t{j} * k + x].to_double();
        sum += product;
        magnitude += std::fabs(product);
      }
      const double error = std::fabs(sum - static_cast<double>(host_c[std::size_t{i} * n + j])) / std::max(magnitude, 1e-30);
      worst = std::isnan(error) ? 1.0 : std::max(worst, error);
    }
  }
  std::printf("shape    %u x %u x %u, f16 x f16 -> f32\n", m, n, k);
  std::printf("device   %s (%s), %s\n", device.info().selector.c_str(), device.info().name.c_str(), device.info().isa.c_str());
  std::printf("packet   %s\n", to_line(dispatch.packet()).c_str());
  std::printf("time     %.2f ms from submit to completion\n", elapsed.count());
  std::printf("error    %.2e of the sum of magnitudes, at most\n", worst);
  return verdict(worst < 1e-5);
}
