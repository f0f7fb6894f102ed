#pragma once
// The memory behind SignalPool: signals in chunks that never move, and a lock-free stack of the free ones.
// Thread safety: any thread.
// Memory ordering: S, giving back releases, taking acquires (through the stack's head), so that who takes a signal sees it as it was
// left. The head carries a tag that changes with every operation: an entry that left and came back is not mistaken for itself.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <aql/signal.hpp>

#include "base/fork_guard.hpp"
#include "driver/driver.hpp"

namespace aql::detail {

class SignalPoolCore : public std::enable_shared_from_this<SignalPoolCore> {
public:
  SignalPoolCore(std::shared_ptr<Driver> driver, std::uint32_t first_chunk) : driver_(std::move(driver)), first_chunk_(first_chunk) {}
  SignalPoolCore(const SignalPoolCore&) = delete;
  SignalPoolCore& operator=(const SignalPoolCore&) = delete;
  ~SignalPoolCore();

  // Makes `first_chunk` signals, then as many again as there are.
  Result<void> grow();
  Result<PooledSignal> acquire(std::int64_t initial);
  void release(std::uint32_t entry) noexcept;
  [[nodiscard]] std::uint32_t generation(std::uint32_t entry) const noexcept { return at(entry).generation.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<SignalRef> find(SignalPool::Token token) const noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }

private:
  struct Entry {
    SignalView view;
    std::atomic<std::uint32_t> next{0};       // entry + 1 of the one below in the stack, 0 = bottom
    std::atomic<std::uint32_t> generation{0}; // odd while it is out
  };
  // Chunk 0 holds first_chunk_ entries, every later one as many as all before it.
  [[nodiscard]] Entry& at(std::uint32_t entry) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> pop() noexcept;
  void push(std::uint32_t entry) noexcept;

  std::shared_ptr<Driver> driver_;
  const std::uint32_t first_chunk_; // a power of two
  std::array<std::unique_ptr<Entry[]>, 24> chunks_{};
  std::atomic<std::uint32_t> size_{0};
  std::atomic<std::uint32_t> in_use_{0};
  std::atomic<std::uint64_t> head_{0}; // tag 63:32, entry + 1 31:0
  std::mutex growing_;
  ForkGuard fork_;
};

} // namespace aql::detail
