#pragma once
// The GPU's clock and CLOCK_MONOTONIC, by pairs of readings.
// Thread safety: any thread.

#include <cstdint>
#include <mutex>

#include "driver/kfd/topology.hpp"

namespace aql::detail::kfd {

// A GPU tick and the host time at which it was read.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};
// Host time of `ticks`: a straight line through both pairs where they are far enough apart, else from the later one with the nominal
// rate.
[[nodiscard]] std::int64_t interpolate(const ClockPair& first, const ClockPair& last, std::uint64_t nominal_hz, std::uint64_t ticks) noexcept;

class TickClock {
public:
  TickClock(const Thunk& thunk, const Gpu& gpu);
  [[nodiscard]] std::uint64_t now() const noexcept; // GPU ticks
  [[nodiscard]] std::int64_t to_host_ns(std::uint64_t ticks) noexcept;

private:
  [[nodiscard]] ClockPair read() const noexcept;

  const Thunk& thunk_;
  const std::uint32_t node_;
  const std::uint64_t hz_;
  std::mutex mutex_;
  ClockPair first_, last_;
};

} // namespace aql::detail::kfd
