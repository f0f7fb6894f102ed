#pragma once
// Host instruction-set tiers. A source named *.tier.cpp is compiled three times, with AQL_TIER = 0 (baseline x86-64),
// 1 (AVX2, FMA, F16C, BMI2) and 2 (AVX-512 F/BW/VL/DQ). Standard headers must be included *before* AQL_TIER_BEGIN, so that
// no inline function of theirs is compiled for a newer CPU and then shared with baseline code. Everything between BEGIN and
// the end of the file lives in namespace aql::sim::AQL_TIER_NS. No lambdas in lane loops: clang does not apply the target
// attribute to them.

#if AQL_TIER == 0
#define AQL_TIER_NS tier0
#elif AQL_TIER == 1
#define AQL_TIER_NS tier1
#else
#define AQL_TIER_NS tier2
#endif

#if AQL_TIER == 0
#define AQL_TIER_BEGIN
#define AQL_TIER_END
#elif defined(__clang__)
// No prefer-vector-width here: clang would ignore the whole attribute.
#if AQL_TIER == 1
#define AQL_TIER_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt\"))), apply_to = function)")
#else
#define AQL_TIER_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt\"))), apply_to = function)")
#endif
#define AQL_TIER_END _Pragma("clang attribute pop")
#else
#if AQL_TIER == 1
#define AQL_TIER_BEGIN _Pragma("GCC target(\"avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt\")")
#else
#define AQL_TIER_BEGIN \
  _Pragma("GCC target(\"avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512\")")
#endif
// g++ instantiates templates at the end of the file: the pragma must stay in force until there.
#define AQL_TIER_END
#endif

namespace aql::sim {
// Highest tier of this host, 0-2; AQL_SIM_TIER=0|1|2 in the environment lowers it. Read once.
[[nodiscard]] unsigned host_tier() noexcept;
} // namespace aql::sim
