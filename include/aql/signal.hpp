#pragma once
// Signals: HSA's 64-byte objects that packets decrement on completion and that host and device may wait on.
// Thread safety: all operations on a signal from any thread. Creating, moving and destroying a Signal object: one thread at a
// time. Destroy a signal only when no packet in flight names it and nobody waits on it.
// Memory ordering: the order stands in the name, as in HSA: relaxed, acquire, release, acq_rel. Waits acquire the value they
// return (label D: completion, the device's release decrement -> the waiter).
// HSA Platform System Architecture 1.2, section 2.4; HSA Runtime 1.2, section 2.4.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/packet.hpp>
#include <aql/signal_view.hpp>
#include <aql/types.hpp>

namespace aql {

class Device;
class Queue;
namespace detail {
class Driver;
class SignalPoolCore;
} // namespace detail

enum class Condition : std::uint8_t { eq, ne, lt, gte };
[[nodiscard]] constexpr bool holds(Condition condition, std::int64_t value, std::int64_t reference) noexcept {
  switch (condition) {
  case Condition::eq: return value == reference;
  case Condition::ne: return value != reference;
  case Condition::lt: return value < reference;
  case Condition::gte: return value >= reference;
  }
  return false;
}

// Device ticks (Device::to_host_ns converts them).
struct Timestamps {
  std::uint64_t start = 0, end = 0;
};

// A signal that someone else owns: all operations, no lifetime. Copies refer to the same signal.
class AQL_API SignalRef {
public:
  SignalRef() noexcept = default;
  SignalRef(const detail::SignalView& view, detail::Driver* driver) noexcept;

  [[nodiscard]] bool valid() const noexcept { return view_.object != nullptr; }
  [[nodiscard]] std::uint64_t handle() const noexcept { return view_.handle; }
  operator SignalHandle() const noexcept { return {view_.handle}; } // `.completion = signal`

  [[nodiscard]] std::int64_t load_relaxed() const noexcept { return value().load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t load_acquire() const noexcept { return value().load(std::memory_order_acquire); }
  void store_relaxed(std::int64_t v) const noexcept {
    value().store(v, std::memory_order_relaxed);
    changed();
  }
  void store_release(std::int64_t v) const noexcept {
    value().store(v, std::memory_order_release);
    changed();
  }

  // NAME_relaxed, NAME_acquire, NAME_release, NAME_acq_rel (operand): the value before.
#define AQL_SIGNAL_ORDERED(name, order, function)                                                                              \
  std::int64_t name##_##order(std::int64_t operand) const noexcept {                                                           \
    const std::int64_t before = value().function(operand, std::memory_order_##order);                                          \
    changed();                                                                                                                 \
    return before;                                                                                                             \
  }
#define AQL_SIGNAL_OPERATION(name, function)                                                                                   \
  AQL_SIGNAL_ORDERED(name, relaxed, function)                                                                                  \
  AQL_SIGNAL_ORDERED(name, acquire, function)                                                                                  \
  AQL_SIGNAL_ORDERED(name, release, function)                                                                                  \
  AQL_SIGNAL_ORDERED(name, acq_rel, function)
  AQL_SIGNAL_OPERATION(exchange, exchange)
  AQL_SIGNAL_OPERATION(add, fetch_add)
  AQL_SIGNAL_OPERATION(subtract, fetch_sub)
  AQL_SIGNAL_OPERATION(and, fetch_and)
  AQL_SIGNAL_OPERATION(or, fetch_or)
  AQL_SIGNAL_OPERATION(xor, fetch_xor)
#undef AQL_SIGNAL_OPERATION
#undef AQL_SIGNAL_ORDERED

  // Stores `desired` if the value is `expected`. Returns the value seen: equal to `expected` if and only if it was stored.
  std::int64_t cas_relaxed(std::int64_t expected, std::int64_t desired) const noexcept { return cas(expected, desired, std::memory_order_relaxed); }
  std::int64_t cas_acquire(std::int64_t expected, std::int64_t desired) const noexcept { return cas(expected, desired, std::memory_order_acquire); }
  std::int64_t cas_release(std::int64_t expected, std::int64_t desired) const noexcept { return cas(expected, desired, std::memory_order_release); }
  std::int64_t cas_acq_rel(std::int64_t expected, std::int64_t desired) const noexcept { return cas(expected, desired, std::memory_order_acq_rel); }

  // Waits until the condition holds or the deadline passes. Returns the value it saw last (acquired): test it again with holds()
  // to know which. Wait::blocked spins briefly and then sleeps; Wait::busy never sleeps. In a forked child it returns at once:
  // nothing there will change the signal.
  std::int64_t wait(Condition condition, std::int64_t reference, Deadline deadline = Deadline::never(), Wait how = Wait::blocked) const noexcept;
  // The same, and ends also when `queue` fails or is closed: see queue.status().
  std::int64_t wait(Condition condition, std::int64_t reference, Deadline deadline, Wait how, const Queue& queue) const noexcept;

  // When the last packet that completed on this signal began and ended. Error not_ready: nothing completed on it yet, or it is
  // armed again (value > 0).
  [[nodiscard]] Result<Timestamps> timestamps() const;
  // Sets a new value for another use, and forgets the timestamps of the last one. Nothing in flight may name the signal.
  void rearm(std::int64_t v) const noexcept;

  [[nodiscard]] const detail::SignalView& view() const noexcept { return view_; }
  [[nodiscard]] detail::Driver* driver() const noexcept { return driver_; }
  [[nodiscard]] std::uint32_t fork_generation() const noexcept { return forks_; }

protected:
  [[nodiscard]] std::atomic_ref<std::int64_t> value() const noexcept { return std::atomic_ref<std::int64_t>{view_.object->value}; }
  void changed() const noexcept {
    if (view_.notify != nullptr) view_.notify(view_.notify_arg);
  }
  std::int64_t cas(std::int64_t expected, std::int64_t desired, std::memory_order order) const noexcept {
    if (value().compare_exchange_strong(expected, desired, order)) changed();
    return expected;
  }

  void swap(SignalRef& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(driver_, other.driver_);
    std::swap(forks_, other.forks_);
  }

  detail::SignalView view_{};
  detail::Driver* driver_ = nullptr;
  std::uint32_t forks_ = 0; // fork generation of the maker
};

// A signal of its own. Keeps its device alive.
class AQL_API Signal : public SignalRef {
public:
  [[nodiscard]] static Result<Signal> create(const Device& device, std::int64_t initial = 0);
  [[nodiscard]] static Result<Signal> create(std::shared_ptr<detail::Driver> driver, std::int64_t initial);
  Signal() noexcept = default;
  Signal(Signal&& other) noexcept { swap(other); }
  Signal& operator=(Signal&& other) noexcept {
    Signal{std::move(other)}.swap(*this);
    return *this;
  }
  ~Signal(); // a failure is logged; in a forked child nothing is destroyed

private:
  void swap(Signal& other) noexcept {
    SignalRef::swap(other);
    std::swap(owner_, other.owner_);
  }
  std::shared_ptr<detail::Driver> owner_;
};

// One signal to wait for among several.
struct WaitFor {
  SignalRef signal;
  Condition condition = Condition::eq;
  std::int64_t reference = 0;
};
struct Satisfied {
  std::size_t index = 0;   // the first in the list that was seen to hold
  std::int64_t value = 0;  // what was seen
};
// Until any condition holds; nothing if the deadline passed first, or the list is empty.
[[nodiscard]] AQL_API std::optional<Satisfied> wait_any(std::span<const WaitFor> list, Deadline deadline = Deadline::never(), Wait how = Wait::blocked) noexcept;
// Until each condition has been seen to hold (not necessarily all at the same instant); false if the deadline passed first.
[[nodiscard]] AQL_API bool wait_all(std::span<const WaitFor> list, Deadline deadline = Deadline::never(), Wait how = Wait::blocked) noexcept;

// A signal from a pool; goes back when destroyed. Destroy it only after the packets that name it have completed.
class AQL_API PooledSignal : public SignalRef {
public:
  PooledSignal() noexcept = default;
  PooledSignal(PooledSignal&& other) noexcept { swap(other); }
  PooledSignal& operator=(PooledSignal&& other) noexcept {
    PooledSignal{std::move(other)}.swap(*this);
    return *this;
  }
  ~PooledSignal();

private:
  friend class SignalPool;
  friend class detail::SignalPoolCore;
  void swap(PooledSignal& other) noexcept {
    SignalRef::swap(other);
    std::swap(pool_, other.pool_);
    std::swap(entry_, other.entry_);
  }
  std::shared_ptr<detail::SignalPoolCore> pool_;
  std::uint32_t entry_ = 0;
};

// Signals made ahead, for who needs many short-lived ones. All members from any thread; taking and giving back is lock-free
// while the pool does not have to grow. Signals that are still out keep the pool's memory alive.
class AQL_API SignalPool {
public:
  // A name for one use of a pooled signal, that can tell whether the use is over.
  struct Token {
    std::uint32_t entry = 0, generation = 0;
  };

  [[nodiscard]] static Result<SignalPool> create(const Device& device, std::size_t ahead = 64);
  [[nodiscard]] static Result<SignalPool> create(std::shared_ptr<detail::Driver> driver, std::size_t ahead);
  // A signal with this value and no timestamps. Grows by doubling when empty. Errors: out_of_resources.
  [[nodiscard]] Result<PooledSignal> acquire(std::int64_t initial) const;
  [[nodiscard]] Token token(const PooledSignal& signal) const noexcept;
  // The signal, if it has not gone back to the pool since the token was made.
  [[nodiscard]] std::optional<SignalRef> find(Token token) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;  // made so far
  [[nodiscard]] std::size_t in_use() const noexcept;

private:
  explicit SignalPool(std::shared_ptr<detail::SignalPoolCore> core) noexcept;
  std::shared_ptr<detail::SignalPoolCore> core_;
};

} // namespace aql
