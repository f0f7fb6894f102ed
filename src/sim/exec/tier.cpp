#define AQL_TIER 0
#include "sim/exec/tier.hpp"

#include <cstdlib>

namespace aql::sim {

unsigned host_tier() noexcept {
  static const unsigned tier = [] {
    __builtin_cpu_init();
    unsigned best = 0;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) best = 1;
    if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
      best = 2;
    }
    if (const char* text = std::getenv("AQL_SIM_TIER"); text != nullptr && text[0] >= '0' && text[0] <= '2' && text[1] == 0) {
      const auto wanted = static_cast<unsigned>(text[0] - '0');
      if (wanted < best) best = wanted;
    }
    return best;
  }();
  return tier;
}

} // namespace aql::sim
