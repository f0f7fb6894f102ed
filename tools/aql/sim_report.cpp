#include "sim_report.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include <aql/bundle.hpp>

#include "base/env.hpp"
#include "driver/sim/sim_driver.hpp"
#include "sim/cp/gpu.hpp"
#include "sim/exec/fidelity.hpp"
#include "sim/exec/trace.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::tool {
namespace {

struct FidelityRow {
  std::string mnemonic;
  std::uint64_t count;
  sim::FidelityNote note;
};

// Executed instructions, those that are not exact first, then by count.
std::vector<FidelityRow> fidelity_rows(const sim::FidelityCounters& counters, const sim::Gpu& gpu, sim::MatrixNumerics numerics) {
  std::vector<FidelityRow> rows;
  const auto arch = gpu.profile().arch;
  for (std::size_t i = 0; i < sim::FidelityCounters::kMaxOps; ++i) {
    const auto count = counters.count[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    const auto op = static_cast<sim::isa::Op>(i);
    rows.push_back({std::string{sim::isa::mnemonic(op, arch)}, count, sim::fidelity_note(op, arch, numerics)});
  }
  std::ranges::sort(rows, [](const FidelityRow& a, const FidelityRow& b) {
    return a.note.fidelity != b.note.fidelity ? a.note.fidelity > b.note.fidelity : a.count > b.count;
  });
  return rows;
}

sim::MatrixNumerics numerics_in_use() {
  return detail::env_text("AQL_SIM_MATRIX").value_or("exact") == "fast" ? sim::MatrixNumerics::fast : sim::MatrixNumerics::exact;
}

} // namespace

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

std::string SimReport::text() const {
  if (!counters_) return {};
  const auto numerics = numerics_in_use();
  std::string text = fmt::format("fidelity: matrix arithmetic {}\n", numerics == sim::MatrixNumerics::fast ? "fast (plain f32 FMA)" : "exact");
  std::uint64_t exact = 0, kinds = 0;
  for (const auto& row : fidelity_rows(*counters_, *gpu_, numerics)) {
    if (row.note.fidelity == sim::Fidelity::exact) {
      exact += row.count;
      ++kinds;
      continue;
    }
    text += fmt::format("  {:<12} {:>10} x {:<32} {}\n", sim::to_string(row.note.fidelity), row.count, row.mnemonic, row.note.reason);
  }
  return text + fmt::format("  {:<12} {:>10} x {} kinds of instructions\n", "exact", exact, kinds);
}

nlohmann::json SimReport::json() const {
  if (!counters_) return nullptr;
  const auto numerics = numerics_in_use();
  nlohmann::json report{{"matrix_numerics", numerics == sim::MatrixNumerics::fast ? "fast" : "exact"}, {"instructions", nlohmann::json::array()}};
  for (const auto& row : fidelity_rows(*counters_, *gpu_, numerics)) {
    report["instructions"].push_back({{"mnemonic", row.mnemonic}, {"count", row.count}, {"fidelity", sim::to_string(row.note.fidelity)}, {"reason", row.note.reason}});
  }
  return report;
}

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
