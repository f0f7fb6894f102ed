#pragma once
// Sleeping until a signal may have changed. All signals of the process raise one KFD event (the packet processor writes its number
// to the signal's mailbox and interrupts), and a counter in the process tells sleepers that something happened.
// Thread safety: any thread.
// Memory ordering: no wake-up is lost. A sleeper reads the counter before it looks at its signal, and sleeps only while the counter
// is the same. One sleeper, the leader, waits in the kernel on the event; the event stays raised if it fires while nobody waits, so
// what fires between the look and the wait ends the wait. The leader then counts, which ends the sleep of all others; one of them is
// the next leader. Host-side changes count first and then look for a leader, which announces itself first and then looks at the
// counter (both seq_cst): one of them sees the other.

#include <atomic>
#include <chrono>
#include <cstdint>

#include <aql/abi/signal.hpp>
#include <aql/types.hpp>

#include "driver/kfd/thunk.hpp"

namespace aql::detail::kfd {

class WakeHub {
public:
  // A kernel may store to a signal without any event, so a sleep ends after `look_again` at the latest.
  explicit WakeHub(const Thunk& thunk, std::chrono::nanoseconds look_again = std::chrono::milliseconds{1}) noexcept : thunk_(thunk), look_again_(look_again) {}
  ~WakeHub() { stop(); }
  WakeHub(const WakeHub&) = delete;
  WakeHub& operator=(const WakeHub&) = delete;

  // Makes the event. Errors: the thunk's.
  [[nodiscard]] Result<void> start();
  void stop() noexcept; // nobody sleeps any more
  // Lets completions on `signal` end sleeps.
  void arm(abi::AmdSignal& signal) const noexcept;

  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void wait(std::uint64_t epoch, Deadline deadline) noexcept;
  void notify() noexcept;

private:
  void count_and_wake() noexcept;

  const Thunk& thunk_;
  const std::chrono::nanoseconds look_again_;
  HsaEvent* event_ = nullptr;
  std::atomic<std::uint32_t> epoch_{0}; // futex
  std::atomic<std::uint32_t> followers_{0};
  std::atomic<bool> leader_{false};
};

} // namespace aql::detail::kfd
