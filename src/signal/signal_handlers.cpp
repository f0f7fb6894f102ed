#include <aql/signal_handlers.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <aql/device.hpp>

#include "base/fork_guard.hpp"
#include "base/log.hpp"

namespace aql {

namespace {

struct Entry {
  SignalHandlers::Id id = 0;
  WaitFor what;
  std::shared_ptr<SignalHandlers::Handler> function;
};

} // namespace

struct SignalHandlers::State {
  explicit State(Signal wake_signal) : wake(std::move(wake_signal)) {}

  // Its value counts the changes of `entries`; the thread waits for it beside the others.
  const Signal wake;
  const detail::ForkGuard fork;
  std::mutex mutex;
  std::condition_variable let_go; // a handler has returned, or the thread has taken a new list
  std::vector<Entry> entries;
  std::vector<Id> watched; // the thread may look at the signals of these
  Id next = 1;
  Id running = 0; // of the handler that runs now
  bool closing = false;
  std::thread thread;

  void changed() noexcept { wake.add_release(1); }
  [[nodiscard]] bool on_thread() const noexcept { return std::this_thread::get_id() == thread.get_id(); }

  void run() {
    std::vector<Entry> known;
    std::vector<WaitFor> list;
    for (;;) {
      const std::int64_t changes = wake.load_acquire(); // before the list is read: what changes later is waited for
      {
        const std::lock_guard lock{mutex};
        if (closing) return;
        known = entries;
        watched.clear();
        for (const Entry& e : known) watched.push_back(e.id);
        let_go.notify_all();
      }
      list.assign(1, {wake, Condition::ne, changes});
      for (const Entry& e : known) list.push_back(e.what);
      // Every handler whose condition holds gets its turn before the first gets another.
      bool same = true;
      while (same) {
        (void)wait_any(list);
        for (const Entry& e : known) same = look(e) && same;
        same = same && wake.load_acquire() == changes;
      }
    }
  }

  // Calls the handler if its condition holds. False: it is over, or was.
  bool look(const Entry& entry) {
    std::int64_t value = 0;
    {
      const std::lock_guard lock{mutex};
      if (!registered(entry.id)) return false; // another handler may have removed it, and then destroyed the signal
      value = entry.what.signal.load_acquire(); // D
      if (!holds(entry.what.condition, value, entry.what.reference)) return true;
      running = entry.id;
    }
    bool again = false;
    try {
      again = (*entry.function)(value);
    } catch (const std::exception& e) {
      log::error(fmt::format("a signal handler threw \"{}\" and is removed", e.what()));
    } catch (...) {
      log::error("a signal handler threw something that is no std::exception and is removed");
    }
    const std::lock_guard lock{mutex};
    running = 0;
    if (!again) std::erase_if(entries, [&](const Entry& e) { return e.id == entry.id; });
    let_go.notify_all();
    return again;
  }

  [[nodiscard]] bool registered(Id id) const {
    return std::ranges::any_of(entries, [&](const Entry& e) { return e.id == id; });
  }
};

Result<SignalHandlers> SignalHandlers::create(const Device& device) {
  auto wake = Signal::create(device, 0);
  if (!wake) return std::unexpected(std::move(wake).error());
  SignalHandlers made;
  made.state_ = std::make_shared<State>(std::move(*wake));
  try {
    const std::lock_guard lock{made.state_->mutex};
    made.state_->thread = std::thread{[state = made.state_] {
      { const std::lock_guard wait_for_the_handle{state->mutex}; }
      state->run();
    }};
  } catch (const std::system_error& e) {
    made.state_.reset();
    return std::unexpected(Error{Errc::out_of_resources, e.code().value(), fmt::format("no thread for signal handlers: {}", e.what()), "SignalHandlers::create"});
  }
  return made;
}

SignalHandlers& SignalHandlers::operator=(SignalHandlers&& other) noexcept {
  SignalHandlers{std::move(other)}.state_.swap(state_);
  return *this;
}

SignalHandlers::~SignalHandlers() {
  if (!state_) return;
  if (state_->fork.forked()) {
    new std::shared_ptr<State>(std::move(state_)); // its thread did not come along, its lock may be held for ever
    return;
  }
  {
    const std::lock_guard lock{state_->mutex};
    state_->closing = true;
    state_->entries.clear();
  }
  state_->changed();
  if (state_->on_thread())
    state_->thread.detach(); // ends after this handler; it has its own hold on the state
  else
    state_->thread.join();
}

Result<SignalHandlers::Id> SignalHandlers::add(SignalRef signal, Condition condition, std::int64_t reference, Handler handler) {
  const auto fail = [](Errc code, std::string why) { return std::unexpected(Error{code, 0, std::move(why), "SignalHandlers::add"}); };
  if (!state_) return fail(Errc::invalid_argument, "this SignalHandlers is empty (default-made or moved from); make one with create()");
  if (auto ours = state_->fork.check("SignalHandlers::add"); !ours) return std::unexpected(std::move(ours).error());
  if (!signal.valid()) return fail(Errc::invalid_argument, "the signal is empty (default-made or moved from)");
  if (!handler) return fail(Errc::invalid_argument, "the handler is an empty function");
  Id id = 0;
  {
    const std::lock_guard lock{state_->mutex};
    id = state_->next++;
    state_->entries.push_back({id, {signal, condition, reference}, std::make_shared<Handler>(std::move(handler))});
  }
  state_->changed();
  return id;
}

bool SignalHandlers::remove(Id id) noexcept {
  if (!state_ || state_->fork.forked()) return false;
  State& state = *state_;
  std::unique_lock lock{state.mutex};
  const bool was = std::erase_if(state.entries, [&](const Entry& e) { return e.id == id; }) != 0;
  if (was) state.changed();
  // The caller may destroy the signal next. On the thread itself, the list is not looked at again before it is renewed.
  if (!state.on_thread()) state.let_go.wait(lock, [&] { return state.running != id && std::ranges::find(state.watched, id) == state.watched.end(); });
  return was;
}

std::size_t SignalHandlers::size() const noexcept {
  if (!state_ || state_->fork.forked()) return 0;
  const std::lock_guard lock{state_->mutex};
  return state_->entries.size();
}

} // namespace aql
