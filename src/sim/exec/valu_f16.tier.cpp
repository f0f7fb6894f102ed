// f16 arithmetic and 16-bit integers, one result a lane. Packed forms: valu_packed.tier.cpp; conversions: valu_cvt.tier.cpp.
//
// The half of the destination that is not written: operations older than gfx9 clear it; those new in gfx9 (three-source minimum
// and so on, v_mad_f16 and its kin beside their _legacy forms, v_add_i16, v_sub_i16) keep it: kKeepHigh.
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

// --- arithmetic
template <bool P> struct SubHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return settle(narrow<P>(wide(a) - wide(b), c), a, b); } };
template <bool P> struct SubRevHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return settle(narrow<P>(wide(b) - wide(a), c), a, b); } };
// mad, mac: product and sum are rounded one after the other, and subnormals are flushed whatever MODE says.
template <bool P> struct MadHalf {
  static Half32 apply(Half32 a0, Half32 b0, Half32 d0, const Ctx& c) {
    const Half32 a = flush(a0), b = flush(b0), d = flush(d0);
    const Half32 product = flush(narrow<P>(wide(a) * wide(b), c));
    return settle(flush(narrow<P>(wide(product) + wide(d), c)), a, b, d);
  }
};
struct v_min_f16 { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return pick<false>(a, b, c.mode.ieee()); } };
struct v_max_f16 { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return pick<true>(a, b, c.mode.ieee()); } };
struct v_min3_f16 {
  static Half32 apply(Half32 a, Half32 b, Half32 d, const Ctx& c) { return pick<false>(pick<false>(a, b, c.mode.ieee()), d, c.mode.ieee()); }
};
struct v_max3_f16 {
  static Half32 apply(Half32 a, Half32 b, Half32 d, const Ctx& c) { return pick<true>(pick<true>(a, b, c.mode.ieee()), d, c.mode.ieee()); }
};
// Without NaN: the larger of the two that are left when the first source equal to the maximum goes.
struct v_med3_f16 {
  static Half32 apply(Half32 a, Half32 b, Half32 d, const Ctx& c) {
    const bool ieee = c.mode.ieee();
    const Half32 top = pick<true>(pick<true>(a, b, ieee), d, ieee);
    const Half32 rest = pick<true>(same_number(top, a) ? b : a, same_number(top, a) || same_number(top, b) ? d : b, ieee);
    return is_nan(a) || is_nan(b) || is_nan(d) ? pick<false>(pick<false>(a, b, ieee), d, ieee) : rest;
  }
};

// --- exponent and integer parts
template <bool P> struct LdexpHalf {
  static Half32 apply(Half32 a, i16 n, const Ctx& c) {
    // 2^n as f64; beyond +-64 the result overflows or vanishes already
    const i32 e = n > 64 ? 64 : n < -64 ? -64 : n;
    const f64 scale = as_f64(static_cast<u64>(1023 + e) << 52);
    return settle(narrow<P>(wide64(a) * scale, c), a);
  }
};
AQL_INLINE u32 as_normal(Half32 a) { return as_u32(wide(a)) & 0x7fffffffu; } // every non-zero f16 is normal in f32
struct v_frexp_mant_f16 {
  static Half32 apply(Half32 a) {
    const u32 m = 0x3800u | ((as_normal(a) >> 13) & 0x3ffu) | (a.bits & 0x8000u);
    return is_nan(a) ? quiet(a) : is_inf(a) || is_zero(a) ? a : half(m);
  }
};
struct v_frexp_exp_i16_f16 {
  static Word16 apply(Half32 a) {
    const i32 e = static_cast<i32>(as_normal(a) >> 23) - 126;
    return {static_cast<u32>(is_nan(a) || is_inf(a) || is_zero(a) ? 0 : e) & 0xffffu};
  }
};
// To whole numbers. Not by the host's floor and so on, which without SSE4.1 are sequences that mind the rounding mode.
AQL_INLINE f32 truncated(Half32 a) { return static_cast<f32>(static_cast<i32>((a.bits & 0x7fffu) >= 0x7c00u ? 0.0f : wide(a))); }
AQL_INLINE f32 floored(Half32 a) {
  const f32 t = truncated(a);
  return t > wide(a) ? t - 1.0f : t;
}
// Zeros take the sign of the source.
AQL_INLINE Half32 whole(f32 v, Half32 a) {
  const u32 r = num::encode<num::kF16>(v) | (v == 0.0f ? a.bits & 0x8000u : 0u);
  return {take_nan(is_inf(a) ? a.bits : r, a)};
}
struct v_floor_f16 { static Half32 apply(Half32 a) { return whole(floored(a), a); } };
struct v_ceil_f16 {
  static Half32 apply(Half32 a) {
    const f32 t = truncated(a);
    return whole(t < wide(a) ? t + 1.0f : t, a);
  }
};
struct v_trunc_f16 { static Half32 apply(Half32 a) { return whole(truncated(a), a); } };
struct v_rndne_f16 {
  static Half32 apply(Half32 a) {
    const f32 t = truncated(a), v = wide(a), rest = v > t ? v - t : t - v;
    const bool away = (rest > 0.5f) | ((rest == 0.5f) & ((static_cast<i32>(t) & 1) != 0));
    const f32 next = v > t ? t + 1.0f : t - 1.0f;
    return whole(away ? next : t, a);
  }
};
// x - floor(x), below 1 in every rounding mode; whole numbers give +0.
template <bool P> struct FractHalf {
  static Half32 apply(Half32 a, const Ctx& c) {
    const f32 f = wide(a) - floored(a);
    const u32 r = narrow_bits<P>(f, c);
    const u32 below_one = r > 0x3bffu ? 0x3bffu : r, number = f == 0.0f ? 0u : below_one;
    return {take_nan(is_inf(a) ? 0xfe00u : number, a)};
  }
};

// v_div_fixup_f16: quotient, denominator, numerator -> the quotient with the special cases put right.
struct DivFixupHalf {
  static Half32 apply(Half32 q, Half32 den, Half32 num) {
    const u32 sign = (den.bits ^ num.bits) & 0x8000u;
    u32 r = (q.bits & 0x7fffu) | sign;
    r = is_inf(den) || is_zero(num) ? sign : r;
    r = is_zero(den) || is_inf(num) ? 0x7c00u | sign : r;
    r = (is_zero(den) && is_zero(num)) || (is_inf(den) && is_inf(num)) ? 0xfe00u : r;
    return is_nan(num) ? quiet(num) : is_nan(den) ? quiet(den) : half(r);
  }
};
struct v_pack_b32_f16 { static u32 apply(Half32 a, Half32 b) { return a.bits | b.bits << 16; } };

// --- 16-bit integers
AQL_INLINE u16 cap_u16(i32 v) { return static_cast<u16>(v < 0 ? 0 : v > 0xffff ? 0xffff : v); }
AQL_INLINE i16 cap_i16(i32 v) { return static_cast<i16>(v < -0x8000 ? -0x8000 : v > 0x7fff ? 0x7fff : v); }
struct v_add_u16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(a + b); }
  static u16 clamped(u16 a, u16 b) { return cap_u16(a + b); }
};
struct v_sub_u16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(a - b); }
  static u16 clamped(u16 a, u16 b) { return cap_u16(a - b); }
};
struct v_subrev_u16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(b - a); }
  static u16 clamped(u16 a, u16 b) { return cap_u16(b - a); }
};
struct v_add_i16 {
  static i16 apply(i16 a, i16 b) { return static_cast<i16>(a + b); }
  static i16 clamped(i16 a, i16 b) { return cap_i16(a + b); }
};
struct v_sub_i16 {
  static i16 apply(i16 a, i16 b) { return static_cast<i16>(a - b); }
  static i16 clamped(i16 a, i16 b) { return cap_i16(a - b); }
};
struct v_mul_lo_u16 { static u16 apply(u16 a, u16 b) { return static_cast<u16>(u32{a} * b); } };
struct v_mad_u16 {
  static u16 apply(u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }
  static u16 clamped(u16 a, u16 b, u16 c) { // at most 0xffff * 0xffff + 0xffff: no wrap
    const u32 r = u32{a} * b + c;
    return static_cast<u16>(r > 0xffffu ? 0xffffu : r);
  }
};
struct v_mad_i16 {
  static i16 apply(i16 a, i16 b, i16 c) { return static_cast<i16>(i32{a} * b + c); }
  static i16 clamped(i16 a, i16 b, i16 c) { return cap_i16(i32{a} * b + c); }
};
struct v_mad_u32_u16 {
  static u32 apply(u16 a, u16 b, u32 c) { return u32{a} * b + c; }
  static u32 clamped(u16 a, u16 b, u32 c) {
    const u32 p = u32{a} * b;
    return p + c < p ? UINT32_MAX : p + c;
  }
};
struct v_mad_i32_i16 {
  static i32 apply(i16 a, i16 b, i32 c) { return static_cast<i32>(static_cast<u32>(i32{a} * b) + static_cast<u32>(c)); }
  static i32 clamped(i16 a, i16 b, i32 c) {
    const i64 r = i64{i32{a} * b} + c;
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : static_cast<i32>(r);
  }
};
struct v_lshlrev_b16 { static u16 apply(u16 n, u16 v) { return static_cast<u16>(u32{v} << (n & 15u)); } };
struct v_lshrrev_b16 { static u16 apply(u16 n, u16 v) { return static_cast<u16>(v >> (n & 15u)); } };
struct v_ashrrev_i16 { static i16 apply(u16 n, i16 v) { return static_cast<i16>(v >> (n & 15u)); } };
template <class T> AQL_INLINE T lower(T a, T b) { return a < b ? a : b; }
template <class T> AQL_INLINE T upper(T a, T b) { return a > b ? a : b; }
struct v_min_u16 { static u16 apply(u16 a, u16 b) { return lower(a, b); } };
struct v_max_u16 { static u16 apply(u16 a, u16 b) { return upper(a, b); } };
struct v_min_i16 { static i16 apply(i16 a, i16 b) { return lower(a, b); } };
struct v_max_i16 { static i16 apply(i16 a, i16 b) { return upper(a, b); } };
struct v_min3_u16 { static u16 apply(u16 a, u16 b, u16 c) { return lower(lower(a, b), c); } };
struct v_max3_u16 { static u16 apply(u16 a, u16 b, u16 c) { return upper(upper(a, b), c); } };
struct v_med3_u16 { static u16 apply(u16 a, u16 b, u16 c) { return upper(lower(a, b), lower(upper(a, b), c)); } };
struct v_min3_i16 { static i16 apply(i16 a, i16 b, i16 c) { return lower(lower(a, b), c); } };
struct v_max3_i16 { static i16 apply(i16 a, i16 b, i16 c) { return upper(upper(a, b), c); } };
struct v_med3_i16 { static i16 apply(i16 a, i16 b, i16 c) { return upper(lower(a, b), lower(upper(a, b), c)); } };

constexpr ValuOp kOps[] = {
  AQL_VALU_HALF(v_add_f16, AddHalf, 0), AQL_VALU_HALF(v_sub_f16, SubHalf, 0), AQL_VALU_HALF(v_subrev_f16, SubRevHalf, 0),
  AQL_VALU_HALF(v_mul_f16, MulHalf, 0), AQL_VALU_HALF(v_fma_f16, FmaHalf, kKeepHigh), AQL_VALU_HALF(v_fma_legacy_f16, FmaHalf, 0),
  AQL_VALU_HALF(v_mad_f16, MadHalf, kKeepHigh), AQL_VALU_HALF(v_mad_legacy_f16, MadHalf, 0), AQL_VALU_HALF(v_mac_f16, MadHalf, kReadsDst),
  AQL_VALU_HALF(v_madmk_f16, MadHalf, 0), AQL_VALU_HALF(v_madak_f16, MadHalf, 0),
  AQL_VALU(v_min_f16), AQL_VALU(v_max_f16), AQL_VALU_FLAGS(v_min3_f16, kKeepHigh), AQL_VALU_FLAGS(v_max3_f16, kKeepHigh),
  AQL_VALU_FLAGS(v_med3_f16, kKeepHigh),
  AQL_VALU_HALF(v_ldexp_f16, LdexpHalf, 0), AQL_VALU(v_frexp_mant_f16), AQL_VALU(v_frexp_exp_i16_f16),
  AQL_VALU(v_floor_f16), AQL_VALU(v_ceil_f16), AQL_VALU(v_trunc_f16), AQL_VALU(v_rndne_f16), AQL_VALU_HALF(v_fract_f16, FractHalf, 0),
  AQL_VALU_AS(v_div_fixup_f16, DivFixupHalf, kKeepHigh), AQL_VALU_AS(v_div_fixup_legacy_f16, DivFixupHalf, 0),
  AQL_VALU(v_pack_b32_f16),
  AQL_VALU(v_add_u16), AQL_VALU(v_sub_u16), AQL_VALU(v_subrev_u16), AQL_VALU_FLAGS(v_add_i16, kKeepHigh),
  AQL_VALU_FLAGS(v_sub_i16, kKeepHigh), AQL_VALU(v_mul_lo_u16),
  AQL_VALU_FLAGS(v_mad_u16, kKeepHigh), AQL_VALU_FLAGS(v_mad_i16, kKeepHigh),
  AQL_VALU_AS(v_mad_legacy_u16, v_mad_u16, 0), AQL_VALU_AS(v_mad_legacy_i16, v_mad_i16, 0),
  AQL_VALU(v_mad_u32_u16), AQL_VALU(v_mad_i32_i16),
  AQL_VALU(v_lshlrev_b16), AQL_VALU(v_lshrrev_b16), AQL_VALU(v_ashrrev_i16),
  AQL_VALU(v_min_u16), AQL_VALU(v_max_u16), AQL_VALU(v_min_i16), AQL_VALU(v_max_i16),
  AQL_VALU_FLAGS(v_min3_u16, kKeepHigh), AQL_VALU_FLAGS(v_max3_u16, kKeepHigh), AQL_VALU_FLAGS(v_med3_u16, kKeepHigh),
  AQL_VALU_FLAGS(v_min3_i16, kKeepHigh), AQL_VALU_FLAGS(v_max3_i16, kKeepHigh), AQL_VALU_FLAGS(v_med3_i16, kKeepHigh),
};

} // namespace

std::span<const ValuOp> valu_f16_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
