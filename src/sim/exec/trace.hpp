#pragma once
// Sinks for what a run tells about itself: an instruction trace and fidelity counters.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "sim/exec/wave.hpp"

namespace aql::sim {

// Called around every instruction when installed. Called from worker threads; implementations lock.
struct TraceSink {
  virtual ~TraceSink() = default;
  virtual void before(const Wave& wave, const Inst& inst) = 0;
  virtual void after(const Wave& wave, const Inst& inst, Next next) = 0;
};

enum class Fidelity : std::uint8_t { exact, assumed, approximated };

// Executed-instruction counts by Op; counters are relaxed atomics.
struct FidelityCounters {
  static constexpr std::size_t kMaxOps = 2048;
  std::array<std::atomic<std::uint64_t>, kMaxOps> count{};
};

// --trace-insts: one line an instruction:
//   group (0,0,0) wave 1  0x7f1000000004  v_add_u32_e32 v0, 1, v1  | v0 = 6 6 6 6 .. #5b8c2a17
// address, text, then what was written: scalar registers in full, of vector registers the first lanes and a hash of all 64.
// Thread safety: any number of workers; lines are whole and in each wave's order.
class InstructionTrace final : public TraceSink {
public:
  struct Options {
    unsigned lanes = 4;           // of each vector register; 64 = all
    std::uint64_t max_lines = 0;  // 0 = no limit; then one line says that more was left out
  };
  using Write = std::function<void(std::string_view line)>; // called with a newline at the end, under a lock

  InstructionTrace(Write write, Options options) : write_(std::move(write)), options_(options) {}
  explicit InstructionTrace(Write write) : InstructionTrace(std::move(write), Options{}) {}

  void before(const Wave& wave, const Inst& inst) override;
  void after(const Wave& wave, const Inst& inst, Next next) override;

private:
  Write write_;
  Options options_;
  std::mutex lock_;
  std::uint64_t lines_ = 0;
};

} // namespace aql::sim
