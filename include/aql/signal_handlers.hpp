#pragma once
// Functions that run when a signal satisfies a condition, on a thread of their own (as hsa_amd_signal_async_handler).
// Thread safety: add and remove from any thread, handlers included. Creating, moving and destroying the object: one thread at a time.
// Memory ordering: a handler runs after an acquire of the value that it is given (label D).
//
//   auto handlers = aql::SignalHandlers::create(device).value();
//   handlers.add(done, aql::Condition::eq, 0, [](std::int64_t) { refill(); return false; }).value();

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/signal.hpp>

namespace aql {

class Device;

class AQL_API SignalHandlers {
public:
  // Gets the value that satisfied the condition. True: keep this handler; it runs again as long as, or as soon as again, the condition
  // holds. False: it is over. One that throws is logged and over. Keep it short: all handlers of the object share the thread.
  using Handler = std::function<bool(std::int64_t value)>;
  using Id = std::uint64_t;

  // Starts the thread. Errors: out_of_resources.
  [[nodiscard]] static Result<SignalHandlers> create(const Device& device);

  SignalHandlers() noexcept = default;
  SignalHandlers(SignalHandlers&&) noexcept = default;
  SignalHandlers& operator=(SignalHandlers&& other) noexcept;
  // Removes all. No handler runs when it returns, unless it is one of them that destroys the object.
  ~SignalHandlers();

  // The signal must live until the handler is over. A condition that holds already counts. Signals of the device wake the thread;
  // those of other devices are looked at every millisecond as long as any is registered.
  // Errors: invalid_argument (no signal, no function), forked.
  Result<Id> add(SignalRef signal, Condition condition, std::int64_t reference, Handler handler);
  // When it returns, the handler does not run and will not run again (called by itself: it will not run again). False: it was over.
  bool remove(Id id) noexcept;
  // How many are registered.
  [[nodiscard]] std::size_t size() const noexcept;

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace aql
