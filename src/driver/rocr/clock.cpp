#include "driver/rocr/clock.hpp"

#include <ctime>

namespace aql::detail::rocr {
namespace {

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace

TickClock::TickClock(const Runtime& runtime, const Agent& agent) : runtime_(runtime), agent_(agent.handle), hz_(agent.info.timestamp_hz) {
  // The tightest of a few pairs of readings.
  std::int64_t best = 0;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = monotonic_ns();
    const std::int64_t system = system_ns(runtime.system_time());
    const std::int64_t after = monotonic_ns();
    if (i != 0 && after - before >= best) continue;
    best = after - before;
    offset_ns_ = before + (after - before) / 2 - system;
  }
}

std::int64_t TickClock::system_ns(std::uint64_t system) const noexcept {
  const std::uint64_t hz = runtime_.system_hz();
  return static_cast<std::int64_t>(system / hz * 1'000'000'000u + system % hz * 1'000'000'000u / hz);
}

std::uint64_t TickClock::to_system(std::uint64_t ticks) const noexcept {
  std::uint64_t system = 0;
  (void)runtime_.api().hsa_amd_profiling_convert_tick_to_system_domain(agent_, ticks, &system);
  return system;
}

// HSA converts ticks to system time only: the inverse by stepping with the nominal rate, which is right to parts of a thousand.
std::uint64_t TickClock::now() const noexcept {
  const std::uint64_t system = runtime_.system_time();
  const double ticks_per_unit = static_cast<double>(hz_) / static_cast<double>(runtime_.system_hz());
  std::uint64_t ticks = static_cast<std::uint64_t>(static_cast<double>(system) * ticks_per_unit);
  for (int i = 0; i < 8; ++i) {
    const auto error = static_cast<std::int64_t>(system - to_system(ticks));
    const auto step = static_cast<std::int64_t>(static_cast<double>(error) * ticks_per_unit);
    if (step == 0) break;
    ticks += static_cast<std::uint64_t>(step);
  }
  return ticks;
}

std::int64_t TickClock::to_host_ns(std::uint64_t ticks) const noexcept { return system_ns(to_system(ticks)) + offset_ns_; }

} // namespace aql::detail::rocr
