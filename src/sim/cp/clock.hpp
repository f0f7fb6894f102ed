#pragma once
// The device clock: ticks of a fixed rate, counted from the zero of CLOCK_MONOTONIC.
// Thread safety: all functions may be called from any thread.

#include <cstdint>
#include <ctime>

namespace aql::sim {

[[nodiscard]] inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

class DeviceClock {
public:
  explicit DeviceClock(std::uint64_t hz) noexcept : hz_(hz), ns_per_tick_(1'000'000'000u % hz == 0 ? 1'000'000'000u / hz : 0) {}

  // Last tick that has begun: never later than the host's clock.
  [[nodiscard]] std::uint64_t now() const noexcept { return to_ticks(monotonic_ns()); }
  // First tick that begins at or after now: never earlier than what the host read before. For start times.
  [[nodiscard]] std::uint64_t now_up() const noexcept {
    const std::uint64_t ns = monotonic_ns();
    return to_ticks(ns + (ns_per_tick_ != 0 ? ns_per_tick_ - 1 : 0));
  }
  [[nodiscard]] std::uint64_t hz() const noexcept { return hz_; }

private:
  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const noexcept {
    if (ns_per_tick_ != 0) return ns / ns_per_tick_;
    // Seconds apart from the rest: the product would overflow after minutes otherwise.
    return ns / 1'000'000'000u * hz_ + ns % 1'000'000'000u * hz_ / 1'000'000'000u;
  }
  std::uint64_t hz_;
  std::uint64_t ns_per_tick_;
};

} // namespace aql::sim
