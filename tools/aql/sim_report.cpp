#include "sim_report.hpp"

#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include <aql/bundle.hpp>

#include "driver/sim/sim_driver.hpp"
#include "sim/cp/gpu.hpp"
#include "sim/exec/trace.hpp"

namespace aql::tool {

SimReport::SimReport(const Device& device, bool trace, bool fidelity) : device_(device), gpu_(detail::sim_gpu(*device.driver())) {
  if (!trace && !fidelity) return;
  if (gpu_ == nullptr) {
    fmt::print(stderr, "aql run: {} is no software GPU; it shows no instructions\n", device.info().selector);
    return;
  }
  if (trace) {
    trace_ = std::make_unique<sim::InstructionTrace>([](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); });
    gpu_->set_trace(trace_.get());
  }
  if (fidelity) {
    counters_ = std::make_unique<sim::FidelityCounters>();
    gpu_->set_fidelity(counters_.get());
  }
}

SimReport::~SimReport() { stop(); }

void SimReport::stop() {
  if (gpu_ == nullptr) return;
  if (trace_) gpu_->set_trace(nullptr);
  if (counters_) gpu_->set_fidelity(nullptr);
}

std::string SimReport::text() const { return {}; }
nlohmann::json SimReport::json() const { return nullptr; }

std::string target_of_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return {};
  std::vector<std::byte> bytes;
  std::byte block[65536];
  std::size_t n = 0;
  while ((n = std::fread(block, 1, sizeof block, file)) > 0) bytes.insert(bytes.end(), block, block + n);
  std::fclose(file);
  if (!Bundle::recognizes(bytes)) {
    const auto code = CodeObject::parse(bytes);
    return code ? code->target_id().processor : std::string{};
  }
  const auto bundle = Bundle::open(bytes);
  if (!bundle) return {};
  for (const auto& entry : bundle->entries()) {
    if (entry.target && !entry.bytes.empty()) return entry.target->processor;
  }
  return {};
}

} // namespace aql::tool
