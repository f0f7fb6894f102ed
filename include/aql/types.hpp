#pragma once
// Small vocabulary types that several public headers share.

#include <cstddef>
#include <cstdint>
#include <chrono>

namespace aql {

// Extent of a grid or workgroup. Grids count work-items, not groups.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

using Clock = std::chrono::steady_clock;

// A point in time after which a wait gives up. Never turns into "at once" by overflow: see in() and never().
struct Deadline {
  bool infinite = true;
  Clock::time_point at{};

  [[nodiscard]] static constexpr Deadline never() noexcept { return {}; }
  [[nodiscard]] static Deadline now() noexcept { return {false, Clock::now()}; }
  // `nanoseconds` from now; UINT64_MAX and everything that would overflow the clock mean never.
  [[nodiscard]] static Deadline in_ns(std::uint64_t nanoseconds) noexcept {
    const auto start = Clock::now();
    const auto room = static_cast<std::uint64_t>((Clock::time_point::max() - start).count());
    if (nanoseconds >= room) return never();
    return {false, start + Clock::duration{static_cast<std::int64_t>(nanoseconds)}};
  }
  template <class Rep, class Period>
  [[nodiscard]] static Deadline in(std::chrono::duration<Rep, Period> d) noexcept {
    if (d.count() <= 0) return now();
    const long double ns = std::chrono::duration<long double, std::nano>(d).count();
    if (ns >= 9.0e18L) return never();
    return in_ns(static_cast<std::uint64_t>(ns));
  }
  [[nodiscard]] bool passed() const noexcept { return !infinite && Clock::now() >= at; }
};

// Kinds of memory. Coarse: coherent at dispatch boundaries only. Fine: coherent with the host while a kernel runs.
enum class PoolKind : std::uint8_t { device_coarse, device_fine, host_fine, host_coarse, kernarg, executable };
inline constexpr unsigned kPoolKinds = 6;
[[nodiscard]] constexpr const char* to_string(PoolKind kind) noexcept {
  switch (kind) {
  case PoolKind::device_coarse: return "device coarse";
  case PoolKind::device_fine: return "device fine";
  case PoolKind::host_fine: return "host fine";
  case PoolKind::host_coarse: return "host coarse";
  case PoolKind::kernarg: return "kernarg";
  case PoolKind::executable: return "executable";
  }
  return "unknown";
}

enum class Wait : std::uint8_t { blocked, busy }; // blocked: spin briefly, then sleep; busy: never sleep

} // namespace aql
