#include "sim/cp/sleeper.hpp"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace aql::sim {
namespace {

bool register_membarrier() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

bool have_membarrier() noexcept {
  static const bool have = register_membarrier();
  return have;
}

} // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  timespec limit{};
  timespec* limit_pointer = nullptr;
  if (timeout_ns >= 0) {
    limit.tv_sec = timeout_ns / 1'000'000'000;
    limit.tv_nsec = timeout_ns % 1'000'000'000;
    limit_pointer = &limit;
  }
  (void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit_pointer, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Sleeper::Sleeper() noexcept : fence_in_wake_(!have_membarrier()) {}

void Sleeper::announce() noexcept {
  asleep_.store(1, std::memory_order_seq_cst);
  if (!fence_in_wake_) {
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void Sleeper::sleep(std::int64_t timeout_ns) noexcept {
  futex_wait(asleep_, 1, timeout_ns);
  cancel();
}

void Sleeper::wake_slow() noexcept {
  if (asleep_.exchange(0, std::memory_order_seq_cst) != 0) futex_wake_all(asleep_);
}

} // namespace aql::sim
