#pragma once
// Sinks for what a run tells about itself: an instruction trace and fidelity counters.

#include <array>
#include <atomic>
#include <cstdint>

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

} // namespace aql::sim
