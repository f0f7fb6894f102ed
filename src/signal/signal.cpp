#include <aql/signal.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <aql/device.hpp>

#include "base/deadline.hpp"
#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "driver/driver.hpp"
#include "signal/wait.hpp"

namespace aql {

SignalRef::SignalRef(const detail::SignalView& view, detail::Driver* driver) noexcept
    : view_(view), driver_(driver), forks_(detail::fork_generation()) {}

std::int64_t SignalRef::wait(Condition condition, std::int64_t reference, Deadline deadline, Wait how) const noexcept {
  std::int64_t seen = 0;
  detail::wait_until(*driver_, view_, deadline, how, nullptr, forks_, [&] {
    seen = load_acquire(); // D
    return holds(condition, seen, reference);
  });
  return seen;
}

Result<Timestamps> SignalRef::timestamps() const {
  const auto not_ready = [](std::string why) { return std::unexpected(Error{Errc::not_ready, 0, std::move(why), "Signal::timestamps"}); };
  const std::int64_t v = load_acquire(); // D: the processor writes the stamps before it decrements
  if (v > 0) return not_ready(fmt::format("the signal's value is {}: what it stands for has not completed; wait for it first", v));
  const Timestamps stamps{std::atomic_ref{view_.object->start_ts}.load(std::memory_order_relaxed), std::atomic_ref{view_.object->end_ts}.load(std::memory_order_relaxed)};
  if (stamps.start == 0 || stamps.end == 0) return not_ready("no packet has completed on this signal since it was made or rearmed");
  if (stamps.end < stamps.start) return not_ready(fmt::format("the stamps {} and {} are of different packets: use a signal for each", stamps.start, stamps.end));
  return stamps;
}

void SignalRef::rearm(std::int64_t v) const noexcept {
  std::atomic_ref{view_.object->start_ts}.store(0, std::memory_order_relaxed);
  std::atomic_ref{view_.object->end_ts}.store(0, std::memory_order_relaxed);
  store_release(v);
}

Result<Signal> Signal::create(std::shared_ptr<detail::Driver> driver, std::int64_t initial) {
  auto view = driver->create_signal(initial);
  if (!view) return std::unexpected(std::move(view).error());
  Signal signal;
  static_cast<SignalRef&>(signal) = SignalRef{*view, driver.get()};
  signal.owner_ = std::move(driver);
  return signal;
}

Result<Signal> Signal::create(const Device& device, std::int64_t initial) { return create(device.driver(), initial); }

Signal::~Signal() {
  if (!owner_) return;
  if (forks_ != detail::fork_generation()) {
    new std::shared_ptr<detail::Driver>(std::move(owner_)); // the parent's: its locks and threads are not ours
    return;
  }
  if (auto done = owner_->destroy_signal(view_); !done) log::error(fmt::format("a signal could not be destroyed: {}", done.error().message()));
}

std::optional<Satisfied> wait_any(std::span<const WaitFor> list, Deadline deadline, Wait how) noexcept {
  std::optional<Satisfied> found;
  if (list.empty()) return found;
  const SignalRef& first = list.front().signal;
  detail::Driver& driver = *first.driver();
  // One driver can sleep on signals of its own; those of several are looked at every millisecond.
  const bool mixed = std::ranges::any_of(list, [&](const WaitFor& w) { return w.signal.driver() != &driver; });
  const auto look = [&] {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t value = list[i].signal.load_acquire(); // D
      if (!holds(list[i].condition, value, list[i].reference)) continue;
      found = Satisfied{i, value};
      return true;
    }
    return false;
  };
  detail::wait_until(driver, first.view(), deadline, how, nullptr, first.fork_generation(), look, [&](std::uint64_t epoch, Deadline until) {
    if (!mixed) return driver.wait_any_changed(list, epoch, until);
    driver.wait_changed(first.view(), epoch, detail::earlier(until, Deadline::in(std::chrono::milliseconds{1})));
  });
  return found;
}

bool wait_all(std::span<const WaitFor> list, Deadline deadline, Wait how) noexcept {
  return std::ranges::all_of(list, [&](const WaitFor& w) { return holds(w.condition, w.signal.wait(w.condition, w.reference, deadline, how), w.reference); });
}

} // namespace aql
