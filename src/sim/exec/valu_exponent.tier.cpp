// Operations on exponents: ldexp, frexp, and the table of 2/pi (v_trig_preop_f64).
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/exec/valu_two_over_pi.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

AQL_INLINE i32 limit(i32 v, i32 bound) { return v < -bound ? -bound : v > bound ? bound : v; }

// 2^n as a double, n in the normal range.
AQL_INLINE f64 power(i32 n) { return as_f64(static_cast<u64>(static_cast<i64>(n) + 1023) << 52); }

// Exact in double, then one rounding.
struct v_ldexp_f32 : FirstNan {
  static f32 apply(f32 a, i32 n) { return static_cast<f32>(static_cast<f64>(a) * power(limit(n, 400))); }
};

// The significand is moved to where the last multiplication alone can round: exactly to 2^-1022 before going below it.
struct v_ldexp_f64 : FirstNan {
  static f64 apply(f64 a, i32 n) {
    const bool tiny = (as_u64(a) & 0x7ff0000000000000u) == 0;
    const u64 bits = as_u64(tiny ? a * 0x1p54 : a);
    const i32 exponent = static_cast<i32>((bits >> 52) & 0x7ffu);
    if (exponent == 0 || exponent == 0x7ff) return a + a; // zero, infinity, NaN
    const i32 target = exponent - (tiny ? 54 : 0) + limit(n, 4200); // biased, unbounded
    const u64 unit = (bits & 0x800fffffffffffffu) | (u64{1} << 52);
    if (target > 2046) return as_f64(unit | (u64{2045} << 52)) * 0x1p1000;
    if (target >= 1) return as_f64((bits & 0x800fffffffffffffu) | (static_cast<u64>(target) << 52));
    return as_f64(unit) * power(limit(target - 1, 1000));
  }
};

// Zero, infinity and NaN have exponent 0.
struct v_frexp_exp_i32_f32 {
  static i32 apply(f32 a) {
    const u32 v = as_u32(a) & 0x7fffffffu;
    const bool tiny = v < 0x00800000u;
    const u32 n = as_u32(as_f32(v) * (tiny ? 0x1p24f : 1.0f)) & 0x7fffffffu;
    const i32 e = static_cast<i32>(n >> 23) - 126 - (tiny ? 24 : 0);
    return v == 0 || v >= 0x7f800000u ? 0 : e;
  }
};
struct v_frexp_exp_i32_f64 {
  static i32 apply(f64 a) {
    const u64 v = as_u64(a) & 0x7fffffffffffffffu;
    const bool tiny = v < (u64{1} << 52);
    const u64 n = as_u64(as_f64(v) * (tiny ? 0x1p54 : 1.0)) & 0x7fffffffffffffffu;
    const i32 e = static_cast<i32>(n >> 52) - 1022 - (tiny ? 54 : 0);
    return v == 0 || v >= 0x7ff0000000000000u ? 0 : e;
  }
};
struct v_frexp_mant_f32 : FirstNan {
  static f32 apply(f32 a) {
    const u32 v = as_u32(a) & 0x7fffffffu;
    const u32 n = as_u32(v < 0x00800000u ? a * 0x1p24f : a);
    return v == 0 || v >= 0x7f800000u ? a + a : as_f32((n & 0x807fffffu) | 0x3f000000u);
  }
};
struct v_frexp_mant_f64 : FirstNan {
  static f64 apply(f64 a) {
    const u64 v = as_u64(a) & 0x7fffffffffffffffu;
    const u64 n = as_u64(v < (u64{1} << 52) ? a * 0x1p54 : a);
    return v == 0 || v >= 0x7ff0000000000000u ? a + a : as_f64((n & 0x800fffffffffffffu) | 0x3fe0000000000000u);
  }
};

// 53 bits of 2/pi, counted from its binary point: segment b, further down for large |a|, at their own weight (times 2^128 for
// the largest arguments); rounded toward zero where that is below the normal range.
struct v_trig_preop_f64 {
  static f64 apply(f64 a, u32 b) {
    const i32 exponent = static_cast<i32>((as_u64(a) >> 52) & 0x7ffu);
    const i32 shift = static_cast<i32>((b & 31u) * 53u) + (exponent > 1077 ? exponent - 1077 : 0);
    const u64 segment = two_over_pi_bits(static_cast<u32>(shift));
    const i32 scale = -53 - shift + (exponent >= 1968 ? 128 : 0);
    if (segment == 0) return 0.0;
    const u64 value = as_u64(static_cast<f64>(segment)); // exact: 53 bits
    const i32 target = static_cast<i32>(value >> 52) + scale;
    const u64 fraction = (value & 0xfffffffffffffu) | (u64{1} << 52);
    if (target >= 1) return as_f64((value & 0xfffffffffffffu) | static_cast<u64>(target) << 52);
    return as_f64(target <= -52 ? 0 : fraction >> (1 - target));
  }
};

constexpr ValuOp kOps[] = {
  AQL_VALU(v_ldexp_f32), AQL_VALU(v_ldexp_f64),
  AQL_VALU(v_frexp_exp_i32_f32), AQL_VALU(v_frexp_exp_i32_f64), AQL_VALU(v_frexp_mant_f32), AQL_VALU(v_frexp_mant_f64),
  AQL_VALU(v_trig_preop_f64),
};

} // namespace

std::span<const ValuOp> valu_exponent_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
