#pragma once
// How a processor or worker thread goes to sleep so that waking it costs the producer nothing while it is awake.
// Thread safety: one thread sleeps; any thread may call wake().
// Memory ordering: label W. The producer publishes work (a doorbell, a signal), then looks at `asleep_`. The sleeper sets
// `asleep_`, orders that against every other thread of the process with membarrier(2), then looks for work once more. One of the
// two must see the other, and the producer pays no fence. Where membarrier is missing, the producer pays a full fence instead.

#include <atomic>
#include <cstdint>

namespace aql::sim {

class Sleeper {
public:
  Sleeper() noexcept;

  // Producer side: cheap while the sleeper is awake.
  void wake() noexcept {
    if (fence_in_wake_) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    if (asleep_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_slow();
  }

  // Sleeper side: announce() first, then look for work, then either cancel() or sleep().
  void announce() noexcept;
  void cancel() noexcept { asleep_.store(0, std::memory_order_relaxed); }
  // Returns after wake(), after `timeout_ns` (negative: no limit), or spuriously.
  void sleep(std::int64_t timeout_ns) noexcept;

private:
  void wake_slow() noexcept;
  std::atomic<std::uint32_t> asleep_{0};
  bool fence_in_wake_ = false;
};

// Waits while `word` holds `expected`; returns on wake-up, time-out (negative: none) or spuriously.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

inline void cpu_pause() noexcept { __builtin_ia32_pause(); }

} // namespace aql::sim
