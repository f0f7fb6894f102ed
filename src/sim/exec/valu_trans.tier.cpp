// Transcendental operations: reciprocal, roots, 2^x, log2, sine and cosine of turns. The hardware's tables are not public, so these
// are approximations of the function (fidelity.cpp says so), with the guides' special values exact. Everything is computed in f64
// with plain additions and multiplications, so that every tier gives the same bits, and rounded once: f32 and f16 results are
// within 0.51 ulp of the function, sine and cosine within 2^-25 absolute; f64 results within 1 ulp.
//
// f32 rcp, rsq, sqrt, exp and log flush subnormal sources and results whatever MODE says; sine, f16 and f64 follow MODE. None depends on
// MODE's rounding: LLVM does not list them among the instructions for which it sets that field (FPDPRounding in its tables).
#include <cmath>
#include <cstdint>
#include <utility>
#include <immintrin.h>

#include <aql/numerics.hpp>
#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_f16.hpp"

namespace {

// Both sides computed, then one taken by bits: conditional expressions would become branches, and the loops scalar.
AQL_INLINE f64 select(bool c, f64 yes, f64 no) {
  const u64 m = u64{0} - static_cast<u64>(c);
  return as_f64((as_u64(yes) & m) | (as_u64(no) & ~m));
}
AQL_INLINE f32 select(bool c, f32 yes, f32 no) {
  const u32 m = 0u - static_cast<u32>(c);
  return as_f32((as_u32(yes) & m) | (as_u32(no) & ~m));
}

// --- the functions, on f64. Sources are NaN-free except where a NaN may pass; `invalid` is the NaN of an operation on numbers.
const f64 kInf = __builtin_inf();
AQL_INLINE f64 invalid() { return as_f64(0xfff8000000000000u); }

AQL_INLINE f64 reciprocal(f64 x) { return 1.0 / x; }
AQL_INLINE f64 root(f64 x) { return __builtin_sqrt(x); }
// 1/sqrt for f32 and f16 results: two roundings in f64 do no harm there.
AQL_INLINE f64 reciprocal_root(f64 x) { return 1.0 / __builtin_sqrt(x); } // -0 gives -inf, as the guide wants

// 2^x, |x| clamped to where f32 ends. x = n + f, |f| <= 1/2; 2^f by its series.
AQL_INLINE f64 power_of_two(f64 x) {
  const f64 c = select(x > 200.0, 200.0, select(x < -200.0, -200.0, x));
  const f64 n = __builtin_floor(c + 0.5), f = (c - n) * 0.69314718055994530942;
  f64 p = 1.0 / 39916800.0;
  p = p * f + 1.0 / 3628800.0;
  p = p * f + 1.0 / 362880.0;
  p = p * f + 1.0 / 40320.0;
  p = p * f + 1.0 / 5040.0;
  p = p * f + 1.0 / 720.0;
  p = p * f + 1.0 / 120.0;
  p = p * f + 1.0 / 24.0;
  p = p * f + 1.0 / 6.0;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  const f64 scale = as_f64(static_cast<u64>(static_cast<i64>(static_cast<i32>(n)) + 1023) << 52);
  const f64 r = p * scale;
  return select(x == kInf, kInf, select(x == -kInf, 0.0, r)); // NaN is the callers' business
}

// log2 of a positive, normal f64: x = m * 2^e with m in [sqrt(1/2), sqrt(2)); 2/ln 2 * atanh((m - 1)/(m + 1)).
AQL_INLINE f64 log_two(f64 x) {
  const u64 bits = as_u64(x);
  const u64 shifted = bits - 0x3fe6a09e667f3bcdu; // subtract sqrt(1/2): the exponent field then counts from there
  const i32 e = static_cast<i32>(static_cast<u32>(shifted >> 32)) >> 20;
  const f64 m = as_f64(bits - (static_cast<u64>(static_cast<i64>(e)) << 52));
  const f64 t = (m - 1.0) / (m + 1.0), u = t * t;
  f64 p = 1.0 / 19.0;
  p = p * u + 1.0 / 17.0;
  p = p * u + 1.0 / 15.0;
  p = p * u + 1.0 / 13.0;
  p = p * u + 1.0 / 11.0;
  p = p * u + 1.0 / 9.0;
  p = p * u + 1.0 / 7.0;
  p = p * u + 1.0 / 5.0;
  p = p * u + 1.0 / 3.0;
  p = p * u + 1.0;
  return static_cast<f64>(e) + t * p * 2.88539008177792681472; // 2/ln 2
}
AQL_INLINE f64 log_special(f64 x, f64 r) {
  return select(x == 0.0, -kInf, select(x < 0.0, invalid(), select(x == kInf, kInf, r)));
}
// A number the series can take, where log_special overrides anyway.
AQL_INLINE f64 log_domain(f64 x) { return select((x > 0.0) & (x < kInf), x, 1.0); }

// sin(2 pi r) for |r| <= 1/4.
AQL_INLINE f64 sine_quarter(f64 r) {
  const f64 y = r * 6.28318530717958647693, u = y * y;
  f64 p = 1.0 / 51090942171709440000.0;
  p = p * u - 1.0 / 121645100408832000.0;
  p = p * u + 1.0 / 355687428096000.0;
  p = p * u - 1.0 / 1307674368000.0;
  p = p * u + 1.0 / 6227020800.0;
  p = p * u - 1.0 / 39916800.0;
  p = p * u + 1.0 / 362880.0;
  p = p * u - 1.0 / 5040.0;
  p = p * u + 1.0 / 120.0;
  p = p * u - 1.0 / 6.0;
  p = p * u + 1.0;
  return y * p;
}
// x in turns. All steps before the series are exact.
AQL_INLINE f64 sine(f64 x) {
  const f64 r = x - __builtin_floor(x + 0.5);
  const f64 folded = select(r > 0.25, 0.5 - r, select(r < -0.25, -0.5 - r, r));
  return select(x == 0.0, x, sine_quarter(folded) + 0.0); // whole turns give +0
}
AQL_INLINE f64 cosine(f64 x) {
  const f64 r = x - __builtin_floor(x + 0.5);
  return sine_quarter(0.25 - as_f64(as_u64(r) & 0x7fffffffffffffffu)) + 0.0;
}

// --- f32
AQL_INLINE f32 flushed(f32 v) { return select((as_u32(v) & 0x7f800000u) == 0, as_f32(as_u32(v) & 0x80000000u), v); }
AQL_INLINE f32 settled(f64 r, f32 a) { return select(a != a, quiet(a), select(r != r, as_f32(0xffc00000u), flushed(static_cast<f32>(r)))); }
struct v_rcp_f32 { static f32 apply(f32 a) { return settled(reciprocal(static_cast<f64>(flushed(a))), a); } };
struct v_rsq_f32 { static f32 apply(f32 a) { return settled(reciprocal_root(static_cast<f64>(flushed(a))), a); } };
struct v_sqrt_f32 { static f32 apply(f32 a) { return settled(root(static_cast<f64>(flushed(a))), a); } };
struct v_exp_f32 { static f32 apply(f32 a) { return settled(power_of_two(static_cast<f64>(flushed(a))), a); } };
struct v_log_f32 {
  static f32 apply(f32 a) {
    const f64 x = static_cast<f64>(flushed(a));
    return settled(log_special(x, log_two(log_domain(x))), a);
  }
};
AQL_INLINE bool finite(f32 v) { return (as_u32(v) & 0x7fffffffu) < 0x7f800000u; }
AQL_INLINE f32 kept(f64 r, f32 a) { return select(a != a, quiet(a), select(finite(a), static_cast<f32>(r), as_f32(0xffc00000u))); }
AQL_INLINE f64 turns(f32 a) { return static_cast<f64>(select(finite(a), a, 0.0f)); }
struct v_sin_f32 { static f32 apply(f32 a) { return kept(sine(turns(a)), a); } };
struct v_cos_f32 { static f32 apply(f32 a) { return kept(cosine(turns(a)), a); } };

// --- f16: subnormals by MODE, which the handler applies
template <bool P> struct RcpHalf { static Half32 apply(Half32 a, const Ctx& c) { return settle(narrow<P>(reciprocal(wide64(a)), c), a); } };
template <bool P> struct RsqHalf { static Half32 apply(Half32 a, const Ctx& c) { return settle(narrow<P>(reciprocal_root(wide64(a)), c), a); } };
template <bool P> struct SqrtHalf { static Half32 apply(Half32 a, const Ctx& c) { return settle(narrow<P>(root(wide64(a)), c), a); } };
template <bool P> struct ExpHalf { static Half32 apply(Half32 a, const Ctx& c) { return settle(narrow<P>(power_of_two(wide64(a)), c), a); } };
template <bool P> struct LogHalf {
  static Half32 apply(Half32 a, const Ctx& c) {
    const f64 x = wide64(a);
    return settle(narrow<P>(log_special(x, log_two(log_domain(x))), c), a);
  }
};
AQL_INLINE f64 turns(Half32 a) { return select((a.bits & 0x7fffu) < 0x7c00u, wide64(a), 0.0); }
AQL_INLINE Half32 no_infinity(Half32 r, Half32 a) { return is_nan(a) ? quiet(a) : is_inf(a) ? half(0xfe00u) : r; }
template <bool P> struct SinHalf { static Half32 apply(Half32 a, const Ctx& c) { return no_infinity(narrow<P>(sine(turns(a)), c), a); } };
template <bool P> struct CosHalf { static Half32 apply(Half32 a, const Ctx& c) { return no_infinity(narrow<P>(cosine(turns(a)), c), a); } };

// --- f64
AQL_INLINE f64 settled(f64 r, f64 a) { return select(a != a, quiet(a), select(r != r, invalid(), r)); }
struct v_rcp_f64 { static f64 apply(f64 a) { return settled(reciprocal(a), a); } };
struct v_sqrt_f64 { static f64 apply(f64 a) { return settled(root(a), a); } };
// a = m * 4^k with m in [1, 4), so that nothing under- or overflows; then one correction step with the exact residual.
struct v_rsq_f64 {
  static f64 apply(f64 a) {
    const bool tiny = a < 0x1p-1022, usable = a > 0.0 && a < kInf;
    const f64 x = usable ? (tiny ? a * 0x1p+54 : a) : 1.0;
    const i64 k = static_cast<i64>(as_u64(x) >> 53) - 511;
    const f64 m = as_f64(as_u64(x) - (static_cast<u64>(k) << 53));
    const f64 y = 1.0 / __builtin_sqrt(m), yy = y * y;
    const f64 residual = __builtin_fma(-m, yy, 1.0) - m * __builtin_fma(y, y, -yy);
    const f64 r = __builtin_fma(y * 0.5, residual, y);
    const f64 scaled = as_f64(as_u64(r) - (static_cast<u64>(tiny ? k - 27 : k) << 52));
    return settled(usable ? scaled : a == 0.0 ? 1.0 / a : a == kInf ? 0.0 : invalid(), a);
  }
};

constexpr u32 kOwnDenorm = kKeepSourceDenorm | kKeepResultDenorm | kRoundNearest;

constexpr ValuOp kOps[] = {
  AQL_VALU_FLAGS(v_rcp_f32, kOwnDenorm), AQL_VALU_AS(v_rcp_iflag_f32, v_rcp_f32, kOwnDenorm), AQL_VALU_FLAGS(v_rsq_f32, kOwnDenorm),
  AQL_VALU_FLAGS(v_sqrt_f32, kOwnDenorm), AQL_VALU_FLAGS(v_exp_f32, kOwnDenorm), AQL_VALU_AS(v_exp_legacy_f32, v_exp_f32, kOwnDenorm),
  AQL_VALU_FLAGS(v_log_f32, kOwnDenorm), AQL_VALU_AS(v_log_legacy_f32, v_log_f32, kOwnDenorm),
  AQL_VALU_FLAGS(v_sin_f32, kRoundNearest), AQL_VALU_FLAGS(v_cos_f32, kRoundNearest),
  AQL_VALU_HALF(v_rcp_f16, RcpHalf, kRoundNearest), AQL_VALU_HALF(v_rsq_f16, RsqHalf, kRoundNearest), AQL_VALU_HALF(v_sqrt_f16, SqrtHalf, kRoundNearest),
  AQL_VALU_HALF(v_exp_f16, ExpHalf, kRoundNearest), AQL_VALU_HALF(v_log_f16, LogHalf, kRoundNearest), AQL_VALU_HALF(v_sin_f16, SinHalf, kRoundNearest),
  AQL_VALU_HALF(v_cos_f16, CosHalf, kRoundNearest),
  AQL_VALU_FLAGS(v_rcp_f64, kRoundNearest), AQL_VALU_FLAGS(v_rsq_f64, kRoundNearest), AQL_VALU_FLAGS(v_sqrt_f64, kRoundNearest),
};

} // namespace

std::span<const ValuOp> valu_trans_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
