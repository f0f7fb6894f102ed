#pragma once
// What a run on the software GPU tells about itself: instruction trace and fidelity counts. On other drivers both are refused
// with a sentence on stderr.

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <aql/device.hpp>

namespace aql::sim {
class Gpu;
class InstructionTrace;
struct FidelityCounters;
} // namespace aql::sim

namespace aql::tool {

class SimReport {
public:
  SimReport(const Device& device, bool trace, bool fidelity);
  ~SimReport();
  SimReport(const SimReport&) = delete;
  SimReport& operator=(const SimReport&) = delete;
  void stop();                           // detaches from the device
  [[nodiscard]] std::string text() const;
  [[nodiscard]] nlohmann::json json() const;

private:
  Device device_; // keeps the GPU
  sim::Gpu* gpu_ = nullptr;
  std::unique_ptr<sim::InstructionTrace> trace_;
  std::unique_ptr<sim::FidelityCounters> counters_;
};

// Processor of a bare code object ("gfx942"), of its first device entry if it is a bundle; empty if neither can be read.
[[nodiscard]] std::string target_of_file(const std::string& path);

} // namespace aql::tool
