#include <aql/signal.hpp>

#include <fmt/format.h>

#include <aql/device.hpp>

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

namespace {

// Sleeping on several signals at once works through one driver; signals of several drivers are looked at every millisecond.
template <class Look>
bool wait_for_list(std::span<const WaitFor> list, Deadline deadline, Wait how, Look look) noexcept {
  const WaitFor& first = list.front();
  for (const WaitFor& other : list) {
    if (other.signal.driver() == first.signal.driver()) continue;
    for (;;) {
      const Deadline slice = Deadline::in(std::chrono::milliseconds{1});
      const bool last = !deadline.infinite && deadline.at <= slice.at;
      if (detail::wait_until(*first.signal.driver(), first.signal.view(), last ? deadline : slice, how, nullptr, first.signal.fork_generation(), look)) return true;
      if (last) return false;
    }
  }
  return detail::wait_until(*first.signal.driver(), first.signal.view(), deadline, how, nullptr, first.signal.fork_generation(), look);
}

} // namespace

std::optional<Satisfied> wait_any(std::span<const WaitFor> list, Deadline deadline, Wait how) noexcept {
  std::optional<Satisfied> found;
  if (list.empty()) return found;
  wait_for_list(list, deadline, how, [&] {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t value = list[i].signal.load_acquire(); // D
      if (!holds(list[i].condition, value, list[i].reference)) continue;
      found = Satisfied{i, value};
      return true;
    }
    return false;
  });
  return found;
}

bool wait_all(std::span<const WaitFor> list, Deadline deadline, Wait how) noexcept {
  if (list.empty()) return true;
  std::size_t next = 0; // everything before has been seen to hold
  return wait_for_list(list, deadline, how, [&] {
    while (next < list.size() && holds(list[next].condition, list[next].signal.load_acquire(), list[next].reference)) ++next; // D
    return next == list.size();
  });
}

} // namespace aql
