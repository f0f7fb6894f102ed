#include "driver/kfd/clock.hpp"

#include <ctime>

namespace aql::detail::kfd {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kApart = kSecond / 2; // pairs this far apart give a rate
constexpr std::int64_t kFresh = kSecond;     // how long a pair serves

std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * kSecond + now.tv_nsec;
}

} // namespace

std::int64_t interpolate(const ClockPair& first, const ClockPair& last, std::uint64_t nominal_hz, std::uint64_t ticks) noexcept {
  const auto delta = static_cast<double>(static_cast<std::int64_t>(ticks - last.ticks));
  double ns_per_tick = static_cast<double>(kSecond) / static_cast<double>(nominal_hz);
  if (last.ns - first.ns >= kApart && last.ticks > first.ticks) ns_per_tick = static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
  return last.ns + static_cast<std::int64_t>(delta * ns_per_tick);
}

TickClock::TickClock(const Thunk& thunk, const Gpu& gpu) : thunk_(thunk), node_(gpu.node), hz_(gpu.info.timestamp_hz), first_(read()), last_(first_) {}

// The kernel reads GPU and system clock one after the other; of a few tries the one that took least is nearest to "at once".
ClockPair TickClock::read() const noexcept {
  ClockPair pair;
  std::int64_t best = 0;
  for (int i = 0; i < 3; ++i) {
    HsaClockCounters counters{};
    const std::int64_t before = clock_ns(CLOCK_MONOTONIC);
    if (thunk_.hsaKmtGetClockCounters(node_, &counters) != HSAKMT_STATUS_SUCCESS) continue;
    const std::int64_t after = clock_ns(CLOCK_MONOTONIC);
    if (pair.ticks != 0 && after - before >= best) continue;
    best = after - before;
    pair = {counters.GPUClockCounter, before + (after - before) / 2};
  }
  return pair;
}

std::uint64_t TickClock::now() const noexcept {
  HsaClockCounters counters{};
  return thunk_.hsaKmtGetClockCounters(node_, &counters) == HSAKMT_STATUS_SUCCESS ? counters.GPUClockCounter : 0;
}

std::int64_t TickClock::to_host_ns(std::uint64_t ticks) noexcept {
  const std::lock_guard lock{mutex_};
  if (clock_ns(CLOCK_MONOTONIC) - last_.ns > kFresh) last_ = read();
  return interpolate(first_, last_, hz_, ticks);
}

} // namespace aql::detail::kfd
