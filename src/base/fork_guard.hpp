#pragma once
// Knows whether this process is a fork of the one that made an object. Threads and device state do not survive a fork, so a
// child's use of an inherited object is refused.
// Thread safety: all functions may be called from any thread; they are one relaxed load.

#include <cstdint>

#include <aql/error.hpp>

namespace aql::detail {

// Number of forks between the first process that used aql and this one.
[[nodiscard]] std::uint32_t fork_generation() noexcept;

// Remembers the process in which it was made.
class ForkGuard {
public:
  ForkGuard() noexcept : generation_(fork_generation()) {}
  [[nodiscard]] bool forked() const noexcept { return generation_ != fork_generation(); }
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  [[nodiscard]] Result<void> check(std::string_view where) const;

private:
  std::uint32_t generation_;
};

} // namespace aql::detail
