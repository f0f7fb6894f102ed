#pragma once
// The one wait loop behind every wait in the library.
// Thread safety: any thread.
// Memory ordering: D, every look at a value acquires it. Lost wake-ups: the driver's epoch is read before the value is looked at,
// and the sleep ends when the epoch has moved since.

#include <atomic>
#include <cstdint>

#include <aql/signal_view.hpp>
#include <aql/types.hpp>

#include "base/deadline.hpp"
#include "base/fork_guard.hpp"
#include "driver/driver.hpp"

namespace aql::detail {

inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Runs `look` until it returns true, the deadline passes, `stop` becomes true or this process turns out to be a fork of the one
// in which `forks` was the fork generation. `stop` may be null. True if `look` did; it is called at least once, and once more after the deadline.
// `wake` is any signal of `driver`: sleeping happens on it, by sleep(epoch, deadline).
template <class Look, class Sleep>
bool wait_until(Driver& driver, const SignalView& wake, Deadline deadline, Wait how, const std::atomic<bool>* stop, std::uint32_t forks,
                Look&& look, Sleep&& sleep) noexcept {
  constexpr unsigned kSpins = 512; // some microseconds: longer than a short kernel on hardware takes, shorter than a sleep costs
  const auto stopped = [&] { return (stop != nullptr && stop->load(std::memory_order_acquire)) || forks != fork_generation(); };
  for (unsigned i = 0; how == Wait::busy || i < kSpins; ++i) {
    if (look()) return true;
    if (stopped()) return look();
    if (i % 32 == 0 && deadline.passed()) return look();
    cpu_pause();
  }
  // A driver whose signals have no notify hook cannot be woken by the host: look at `stop` now and then.
  const bool slices = stop != nullptr && wake.notify == nullptr;
  for (;;) {
    const std::uint64_t epoch = driver.wait_epoch(wake);
    if (look()) return true;
    if (stopped() || deadline.passed()) return look();
    sleep(epoch, slices ? earlier(deadline, Deadline::in(std::chrono::milliseconds{10})) : deadline);
  }
}
template <class Look>
bool wait_until(Driver& driver, const SignalView& wake, Deadline deadline, Wait how, const std::atomic<bool>* stop, std::uint32_t forks,
                Look&& look) noexcept {
  return wait_until(driver, wake, deadline, how, stop, forks, look,
                    [&](std::uint64_t epoch, Deadline until) { driver.wait_changed(wake, epoch, until); });
}

} // namespace aql::detail
