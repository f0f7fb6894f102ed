#pragma once
// What waits ask of a deadline.
// Thread safety: pure.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <aql/types.hpp>

namespace aql::detail {

[[nodiscard]] inline Deadline earlier(Deadline a, Deadline b) noexcept { return a.infinite || (!b.infinite && b.at < a.at) ? b : a; }

// Nanoseconds until then, but at most `most`. Zero or less: it has passed.
[[nodiscard]] inline std::int64_t ns_left(Deadline deadline, std::int64_t most) noexcept {
  if (deadline.infinite) return most;
  return std::min<std::int64_t>(most, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.at - Clock::now()).count());
}

} // namespace aql::detail
