#pragma once
// AQL_SKIP("reason"): ends a test case that cannot run here. A run in which a case was skipped and none failed exits with 77,
// which CTest (one case a run) shows as "skipped".

#include <atomic>
#include <cstdio>
#include <string_view>

namespace aql::test {

inline std::atomic<unsigned> skipped_cases{0};

inline void note_skip(std::string_view reason) {
  skipped_cases.fetch_add(1, std::memory_order_relaxed);
  std::printf("SKIPPED: %.*s\n", static_cast<int>(reason.size()), reason.data());
  std::fflush(stdout);
}

} // namespace aql::test

#define AQL_SKIP(reason)                                                                                                       \
  do {                                                                                                                         \
    ::aql::test::note_skip(reason);                                                                                            \
    return;                                                                                                                    \
  } while (false)
