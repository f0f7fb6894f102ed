#pragma once
// Device ticks, the runtime's system clock and CLOCK_MONOTONIC.
// Thread safety: any thread.

#include <cstdint>

#include "driver/rocr/runtime.hpp"

namespace aql::detail::rocr {

class TickClock {
public:
  TickClock(const Runtime& runtime, const Agent& agent);
  [[nodiscard]] std::uint64_t now() const noexcept; // device ticks
  [[nodiscard]] std::int64_t to_host_ns(std::uint64_t ticks) const noexcept;

private:
  [[nodiscard]] std::uint64_t to_system(std::uint64_t ticks) const noexcept;
  [[nodiscard]] std::int64_t system_ns(std::uint64_t system) const noexcept;

  const Runtime& runtime_;
  const hsa_agent_t agent_;
  const std::uint64_t hz_;
  std::int64_t offset_ns_ = 0; // CLOCK_MONOTONIC minus the system clock
};

} // namespace aql::detail::rocr
