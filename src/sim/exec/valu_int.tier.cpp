// 32- and 64-bit integer, logic, shift and bit-field operations.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

// Moves take neg and abs as floats do, and change nothing else.
struct v_mov_b32 { static f32 apply(f32 a) { return a; } };
struct v_mov_b64 { static f64 apply(f64 a) { return a; } };
struct v_not_b32 { static u32 apply(u32 a) { return ~a; } };
struct v_and_b32 { static u32 apply(u32 a, u32 b) { return a & b; } };
struct v_or_b32 { static u32 apply(u32 a, u32 b) { return a | b; } };
struct v_xor_b32 { static u32 apply(u32 a, u32 b) { return a ^ b; } };
struct v_xnor_b32 { static u32 apply(u32 a, u32 b) { return ~(a ^ b); } };
struct v_or3_b32 { static u32 apply(u32 a, u32 b, u32 c) { return a | b | c; } };
struct v_and_or_b32 { static u32 apply(u32 a, u32 b, u32 c) { return (a & b) | c; } };
struct v_bfi_b32 { static u32 apply(u32 a, u32 b, u32 c) { return (a & b) | (~a & c); } };

// --- shifts: only the low bits of the amount count
struct v_lshlrev_b32 { static u32 apply(u32 n, u32 v) { return v << (n & 31u); } };
struct v_lshrrev_b32 { static u32 apply(u32 n, u32 v) { return v >> (n & 31u); } };
struct v_ashrrev_i32 { static i32 apply(u32 n, i32 v) { return v >> (n & 31u); } };
struct v_lshlrev_b64 { static u64 apply(u32 n, u64 v) { return v << (n & 63u); } };
struct v_lshrrev_b64 { static u64 apply(u32 n, u64 v) { return v >> (n & 63u); } };
struct v_ashrrev_i64 { static i64 apply(u32 n, i64 v) { return v >> (n & 63u); } };
struct v_lshl_add_u32 { static u32 apply(u32 a, u32 n, u32 c) { return (a << (n & 31u)) + c; } };
struct v_add_lshl_u32 { static u32 apply(u32 a, u32 b, u32 n) { return (a + b) << (n & 31u); } };
struct v_lshl_or_b32 { static u32 apply(u32 a, u32 n, u32 c) { return (a << (n & 31u)) | c; } };
// Three bits of shift; counts above 4 shift by nothing.
struct v_lshl_add_u64 {
  static u64 apply(u64 a, u32 n, u64 c) {
    const u32 by = n & 7u;
    return (a << (by > 4 ? 0u : by)) + c;
  }
};

// --- add and subtract
AQL_INLINE i32 saturate(i64 v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : static_cast<i32>(v); }
struct v_add_u32 {
  static u32 apply(u32 a, u32 b) { return a + b; }
  static u32 clamped(u32 a, u32 b) { return a + b < a ? UINT32_MAX : a + b; }
};
struct v_sub_u32 {
  static u32 apply(u32 a, u32 b) { return a - b; }
  static u32 clamped(u32 a, u32 b) { return a < b ? 0 : a - b; }
};
struct v_subrev_u32 {
  static u32 apply(u32 a, u32 b) { return b - a; }
  static u32 clamped(u32 a, u32 b) { return b < a ? 0 : b - a; }
};
struct v_add_i32 {
  static i32 apply(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
  static i32 clamped(i32 a, i32 b) { return saturate(i64{a} + b); }
};
struct v_sub_i32 {
  static i32 apply(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
  static i32 clamped(i32 a, i32 b) { return saturate(i64{a} - b); }
};
struct v_add3_u32 { static u32 apply(u32 a, u32 b, u32 c) { return a + b + c; } };
struct v_xad_u32 { static u32 apply(u32 a, u32 b, u32 c) { return (a ^ b) + c; } };

// With carry. Clamp saturates the vector result; the carry is that of the full sum. Carries come from the top bits of the terms and the
// sum: compilers turn "a + b < a" into a form that they cannot vectorise.
using Carry = WithBit<u32>;
AQL_INLINE u32 carry(Bit c) { return c.set ? 1u : 0u; }
AQL_INLINE Carry add_with(u32 a, u32 b, u32 c) {
  const u32 sum = a + b + c;
  return {sum, (((a & b) | ((a | b) & ~sum)) >> 31) != 0};
}
AQL_INLINE Carry sub_with(u32 a, u32 b, u32 c) {
  const u32 rest = a - b - c;
  return {rest, (((~a & b) | (~(a ^ b) & rest)) >> 31) != 0};
}
AQL_INLINE Carry all_ones(Carry r) { return {r.value | (0u - (r.bit ? 1u : 0u)), r.bit}; }
AQL_INLINE Carry zero(Carry r) { return {r.value & ((r.bit ? 1u : 0u) - 1u), r.bit}; }
struct v_add_co_u32 {
  static Carry apply(u32 a, u32 b) { return add_with(a, b, 0); }
  static Carry clamped(u32 a, u32 b) { return all_ones(add_with(a, b, 0)); }
};
struct v_sub_co_u32 {
  static Carry apply(u32 a, u32 b) { return sub_with(a, b, 0); }
  static Carry clamped(u32 a, u32 b) { return zero(sub_with(a, b, 0)); }
};
struct v_subrev_co_u32 {
  static Carry apply(u32 a, u32 b) { return sub_with(b, a, 0); }
  static Carry clamped(u32 a, u32 b) { return zero(sub_with(b, a, 0)); }
};
struct v_addc_co_u32 {
  static Carry apply(u32 a, u32 b, Bit c) { return add_with(a, b, carry(c)); }
  static Carry clamped(u32 a, u32 b, Bit c) { return all_ones(add_with(a, b, carry(c))); }
};
struct v_subb_co_u32 {
  static Carry apply(u32 a, u32 b, Bit c) { return sub_with(a, b, carry(c)); }
  static Carry clamped(u32 a, u32 b, Bit c) { return zero(sub_with(a, b, carry(c))); }
};
struct v_subbrev_co_u32 {
  static Carry apply(u32 a, u32 b, Bit c) { return v_subb_co_u32::apply(b, a, c); }
  static Carry clamped(u32 a, u32 b, Bit c) { return v_subb_co_u32::clamped(b, a, c); }
};

// --- multiply
AQL_INLINE i32 low24(i32 v) { return static_cast<i32>(static_cast<u32>(v) << 8) >> 8; }
AQL_INLINE u32 low24(u32 v) { return v & 0xffffffu; }
struct v_mul_lo_u32 { static u32 apply(u32 a, u32 b) { return a * b; } };
struct v_mul_hi_u32 { static u32 apply(u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32); } };
struct v_mul_hi_i32 { static i32 apply(i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32); } };
struct v_mul_u32_u24 {
  static u32 apply(u32 a, u32 b) { return low24(a) * low24(b); }
  static u32 clamped(u32 a, u32 b) {
    const u64 p = u64{low24(a)} * low24(b);
    return p > UINT32_MAX ? UINT32_MAX : static_cast<u32>(p);
  }
};
struct v_mul_hi_u32_u24 { static u32 apply(u32 a, u32 b) { return static_cast<u32>((u64{low24(a)} * low24(b)) >> 32); } };
struct v_mul_i32_i24 {
  static i32 apply(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(low24(a)) * static_cast<u32>(low24(b))); }
  static i32 clamped(i32 a, i32 b) { return saturate(i64{low24(a)} * low24(b)); }
};
struct v_mul_hi_i32_i24 { static i32 apply(i32 a, i32 b) { return static_cast<i32>((i64{low24(a)} * low24(b)) >> 32); } };
struct v_mad_u32_u24 {
  static u32 apply(u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) {
    const u64 r = u64{low24(a)} * low24(b) + c;
    return r > UINT32_MAX ? UINT32_MAX : static_cast<u32>(r);
  }
};
struct v_mad_i32_i24 {
  static i32 apply(i32 a, i32 b, i32 c) {
    return static_cast<i32>(static_cast<u32>(low24(a)) * static_cast<u32>(low24(b)) + static_cast<u32>(c));
  }
  static i32 clamped(i32 a, i32 b, i32 c) { return saturate(i64{low24(a)} * low24(b) + c); }
};
struct v_mad_u64_u32 {
  static WithBit<u64> apply(u32 a, u32 b, u64 c) {
    const u64 sum = u64{a} * b + c;
    return {sum, sum < c};
  }
  static WithBit<u64> clamped(u32 a, u32 b, u64 c) {
    const WithBit<u64> r = apply(a, b, c);
    return {r.bit ? UINT64_MAX : r.value, r.bit};
  }
};
// The mask bit is bit 64 of the sum of the sign-extended 65-bit terms: its sign.
struct v_mad_i64_i32 {
  static WithBit<i64> apply(i32 a, i32 b, i64 c) {
    const i64 product = i64{a} * b;
    const i64 sum = static_cast<i64>(static_cast<u64>(product) + static_cast<u64>(c));
    const bool overflow = ((product ^ sum) & (c ^ sum)) < 0;
    return {sum, (sum < 0) != overflow};
  }
  static WithBit<i64> clamped(i32 a, i32 b, i64 c) {
    const WithBit<i64> r = apply(a, b, c);
    const bool overflow = (r.value < 0) != r.bit;
    return {overflow ? (r.bit ? INT64_MIN : INT64_MAX) : r.value, r.bit};
  }
};

// --- minimum, maximum, median
template <class T> AQL_INLINE T lower(T a, T b) { return a < b ? a : b; }
template <class T> AQL_INLINE T upper(T a, T b) { return a > b ? a : b; }
struct v_min_i32 { static i32 apply(i32 a, i32 b) { return lower(a, b); } };
struct v_max_i32 { static i32 apply(i32 a, i32 b) { return upper(a, b); } };
struct v_min_u32 { static u32 apply(u32 a, u32 b) { return lower(a, b); } };
struct v_max_u32 { static u32 apply(u32 a, u32 b) { return upper(a, b); } };
struct v_min3_i32 { static i32 apply(i32 a, i32 b, i32 c) { return lower(lower(a, b), c); } };
struct v_max3_i32 { static i32 apply(i32 a, i32 b, i32 c) { return upper(upper(a, b), c); } };
struct v_min3_u32 { static u32 apply(u32 a, u32 b, u32 c) { return lower(lower(a, b), c); } };
struct v_max3_u32 { static u32 apply(u32 a, u32 b, u32 c) { return upper(upper(a, b), c); } };
struct v_med3_i32 { static i32 apply(i32 a, i32 b, i32 c) { return upper(lower(a, b), lower(upper(a, b), c)); } };
struct v_med3_u32 { static u32 apply(u32 a, u32 b, u32 c) { return upper(lower(a, b), lower(upper(a, b), c)); } };

// --- bit fields and counts
struct v_bfe_u32 {
  static u32 apply(u32 v, u32 at, u32 width) { return (v >> (at & 31u)) & ((1u << (width & 31u)) - 1u); }
};
// A field that passes bit 31 takes the sign there; width 0 gives 0.
struct v_bfe_i32 {
  static i32 apply(i32 v, u32 at, u32 width) {
    const u32 o = at & 31u, w = width & 31u;
    const u32 field = static_cast<u32>(v >> o) & ((1u << w) - 1u);
    const u32 sign = w == 0 ? 0u : 1u << (w - 1u);
    return static_cast<i32>((field ^ sign) - sign);
  }
};
struct v_bfm_b32 { static u32 apply(u32 width, u32 at) { return ((1u << (width & 31u)) - 1u) << (at & 31u); } };
struct v_bfrev_b32 {
  static u32 apply(u32 v) {
    v = (v >> 16) | (v << 16);
    v = ((v & 0xff00ff00u) >> 8) | ((v & 0x00ff00ffu) << 8);
    v = ((v & 0xf0f0f0f0u) >> 4) | ((v & 0x0f0f0f0fu) << 4);
    v = ((v & 0xccccccccu) >> 2) | ((v & 0x33333333u) << 2);
    return ((v & 0xaaaaaaaau) >> 1) | ((v & 0x55555555u) << 1);
  }
};
AQL_INLINE u32 bit_count(u32 v) {
  v -= (v >> 1) & 0x55555555u;
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0fu;
  return (v * 0x01010101u) >> 24;
}
AQL_INLINE u32 leading_zeros(u32 v) { // 32 for 0
  v |= v >> 1;
  v |= v >> 2;
  v |= v >> 4;
  v |= v >> 8;
  v |= v >> 16;
  return 32u - bit_count(v);
}
struct v_bcnt_u32_b32 { static u32 apply(u32 a, u32 b) { return bit_count(a) + b; } };
AQL_INLINE u32 ones_if_zero(u32 v) { return 0u - (v == 0 ? 1u : 0u); }
struct v_ffbh_u32 { static u32 apply(u32 v) { return leading_zeros(v) | ones_if_zero(v); } };
struct v_ffbl_b32 { static u32 apply(u32 v) { return bit_count((v & (0u - v)) - 1u) | ones_if_zero(v); } };
// Leading bits equal to the sign; -1 when all are.
struct v_ffbh_i32 {
  static u32 apply(u32 v) {
    const u32 x = v ^ static_cast<u32>(static_cast<i32>(v) >> 31);
    return leading_zeros(x) | ones_if_zero(x);
  }
};
// gfx950: the truth table stands in the instruction; bit (a << 2 | b << 1 | c) of it is the result.
AQL_INLINE u32 bitop3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 t = 0; t < 8; ++t) {
    const u32 on = 0u - ((table >> t) & 1u);
    r |= on & (t & 4u ? a : ~a) & (t & 2u ? b : ~b) & (t & 1u ? c : ~c);
  }
  return r;
}
struct v_bitop3_b32 { static u32 apply(u32 a, u32 b, u32 c, const Ctx& ctx) { return bitop3(a, b, c, ctx.imm); } };
struct v_bitop3_b16 { static u16 apply(u16 a, u16 b, u16 c, const Ctx& ctx) { return static_cast<u16>(bitop3(a, b, c, ctx.imm)); } };

// --- bytes
struct v_alignbit_b32 {
  static u32 apply(u32 hi, u32 lo, u32 n) { return static_cast<u32>((u64{hi} << 32 | lo) >> (n & 31u)); }
};
struct v_alignbyte_b32 {
  static u32 apply(u32 hi, u32 lo, u32 n) { return static_cast<u32>((u64{hi} << 32 | lo) >> ((n & 3u) * 8u)); }
};
// Selector bytes: 0-7 a byte of {a, b} with b low; 8-11 the sign of b's and a's words; 12 zero; above 12 all ones.
struct v_perm_b32 {
  static u32 apply(u32 a, u32 b, u32 sel) {
    const u64 all = u64{a} << 32 | b;
    u32 r = 0;
    for (u32 k = 0; k < 4; ++k) {
      const u32 s = (sel >> (8 * k)) & 0xffu;
      const u32 byte = static_cast<u32>(all >> ((s & 7u) * 8u)) & 0xffu;
      const u32 sign = 0u - (static_cast<u32>(all >> (((s & 3u) * 16u) + 15u)) & 1u);
      const u32 v = s < 8 ? byte : s < 12 ? sign & 0xffu : s == 12 ? 0u : 0xffu;
      r |= v << (8 * k);
    }
    return r;
  }
};
AQL_INLINE u32 byte_of(u32 v, u32 k) { return (v >> (8 * k)) & 0xffu; }
AQL_INLINE u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
// Rounded average of bytes; the rounding bit is bit 0 of c's byte.
struct v_lerp_u8 {
  static u32 apply(u32 a, u32 b, u32 c) {
    u32 r = 0;
    for (u32 k = 0; k < 4; ++k) r |= ((byte_of(a, k) + byte_of(b, k) + (byte_of(c, k) & 1u)) >> 1) << (8 * k);
    return r;
  }
};
AQL_INLINE u32 saturate_u32(u64 v) { return v > UINT32_MAX ? UINT32_MAX : static_cast<u32>(v); }
AQL_INLINE u32 sad4(u32 a, u32 b) {
  u32 r = 0;
  for (u32 k = 0; k < 4; ++k) r += distance(byte_of(a, k), byte_of(b, k));
  return r;
}
// Masked: bytes of the reference b that are zero do not count.
AQL_INLINE u32 msad4(u32 a, u32 b) {
  u32 r = 0;
  for (u32 k = 0; k < 4; ++k) r += byte_of(b, k) == 0 ? 0 : distance(byte_of(a, k), byte_of(b, k));
  return r;
}
struct v_sad_u8 {
  static u32 apply(u32 a, u32 b, u32 c) { return sad4(a, b) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) { return saturate_u32(u64{sad4(a, b)} + c); }
};
struct v_sad_hi_u8 {
  static u32 apply(u32 a, u32 b, u32 c) { return (sad4(a, b) << 16) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) { return saturate_u32((u64{sad4(a, b)} << 16) + c); }
};
AQL_INLINE u32 sad2(u32 a, u32 b) { return distance(a & 0xffffu, b & 0xffffu) + distance(a >> 16, b >> 16); }
struct v_sad_u16 {
  static u32 apply(u32 a, u32 b, u32 c) { return sad2(a, b) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) { return saturate_u32(u64{sad2(a, b)} + c); }
};
struct v_sad_u32 {
  static u32 apply(u32 a, u32 b, u32 c) { return distance(a, b) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) { return saturate_u32(u64{distance(a, b)} + c); }
};
struct v_msad_u8 {
  static u32 apply(u32 a, u32 b, u32 c) { return msad4(a, b) + c; }
  static u32 clamped(u32 a, u32 b, u32 c) { return saturate_u32(u64{msad4(a, b)} + c); }
};
// Four SADs of the 4-byte reference against a at byte offsets 0-3, each added to a 16-bit field of c.
template <bool Masked, bool Saturate> AQL_INLINE u64 qsad(u64 a, u32 b, u64 c) {
  u64 r = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 window = static_cast<u32>(a >> (8 * k));
    u32 v = (Masked ? msad4(window, b) : sad4(window, b)) + (static_cast<u32>(c >> (16 * k)) & 0xffffu);
    if (Saturate) v = v > 0xffffu ? 0xffffu : v;
    r |= u64{v & 0xffffu} << (16 * k);
  }
  return r;
}
struct v_qsad_pk_u16_u8 {
  static u64 apply(u64 a, u32 b, u64 c) { return qsad<false, false>(a, b, c); }
  static u64 clamped(u64 a, u32 b, u64 c) { return qsad<false, true>(a, b, c); }
};
struct v_mqsad_pk_u16_u8 {
  static u64 apply(u64 a, u32 b, u64 c) { return qsad<true, false>(a, b, c); }
  static u64 clamped(u64 a, u32 b, u64 c) { return qsad<true, true>(a, b, c); }
};
template <bool Saturate> AQL_INLINE Words<4> mqsad32(u64 a, u32 b, const Words<4>& c) {
  Words<4> r;
  for (u32 k = 0; k < 4; ++k) {
    const u64 v = u64{msad4(static_cast<u32>(a >> (8 * k)), b)} + c.w[k];
    r.w[k] = Saturate ? saturate_u32(v) : static_cast<u32>(v);
  }
  return r;
}
struct v_mqsad_u32_u8 {
  static Words<4> apply(u64 a, u32 b, Words<4> c) { return mqsad32<false>(a, b, c); }
  static Words<4> clamped(u64 a, u32 b, Words<4> c) { return mqsad32<true>(a, b, c); }
};
// Signed words to bytes with unsigned saturation.
AQL_INLINE u32 sat_u8(i32 v) { return static_cast<u32>(v < 0 ? 0 : v > 255 ? 255 : v); }
struct v_sat_pk_u8_i16 {
  static u16 apply(u32 a) {
    return static_cast<u16>(sat_u8(static_cast<i16>(a & 0xffffu)) | sat_u8(static_cast<i32>(a) >> 16) << 8);
  }
};
// gfx950: shift, saturate, pack into 16 bits.
struct v_ashr_pk_u8_i32 {
  static u16 apply(i32 a, i32 b, u32 n) { return static_cast<u16>(sat_u8(a >> (n & 31u)) | sat_u8(b >> (n & 31u)) << 8); }
};
AQL_INLINE u32 sat_i8(i32 v) { return static_cast<u32>(v < -128 ? -128 : v > 127 ? 127 : v) & 0xffu; }
struct v_ashr_pk_i8_i32 {
  static u16 apply(i32 a, i32 b, u32 n) { return static_cast<u16>(sat_i8(a >> (n & 31u)) | sat_i8(b >> (n & 31u)) << 8); }
};

// --- lanes below this one whose bit is set
struct v_mbcnt_lo_u32_b32 {
  static u32 apply(u32 mask, u32 c, LaneId lane) { return bit_count(mask & (lane.n < 32 ? (1u << (lane.n & 31u)) - 1u : ~0u)) + c; }
};
struct v_mbcnt_hi_u32_b32 {
  static u32 apply(u32 mask, u32 c, LaneId lane) { return bit_count(mask & (lane.n >= 32 ? (1u << (lane.n & 31u)) - 1u : 0u)) + c; }
};
// gfx950: one step of a linear feedback shift register.
struct v_prng_b32 { static u32 apply(u32 v) { return (v << 1) ^ (v >> 31 != 0 ? 197u : 0u); } };

// A table for splitting a screen among four shader engines, by the low byte: digit n of word k is entry 16 k + n.
constexpr u64 kScreenPartition[16] = {
  0xfffffff7fff5f731ull, 0xffffffbfffafe62full, 0xfffffdfff5ffc4fdull, 0xffffefffafff8fb9ull,
  0xfffefff6fdc4ffffull, 0xffdff99fb98fffffull, 0xfbfff9ff31f7ffffull, 0x7fff6ff62fe6ffffull,
  0xfffafb32fffffffbull, 0xff5fd91fffffff7full, 0xfaffc8fefffffeffull, 0x5fff4f76ffffdfffull,
  0xfec8fffffffdfff9ull, 0x764fffffffeff66full, 0x32fbfffff7fff6ffull, 0x1fd9ffffbfff9ff9ull,
};
struct v_screen_partition_4se_b32 {
  static u32 apply(u32 v) { return static_cast<u32>(kScreenPartition[(v >> 4) & 15u] >> ((v & 15u) * 4u)) & 15u; }
};

constexpr ValuOp kOps[] = {
  AQL_VALU_HOT_AS(v_mov_b32, v_mov_b32, kRawFloat), AQL_VALU_HOT(v_and_b32), AQL_VALU_HOT(v_or_b32), AQL_VALU_HOT(v_xor_b32),
  AQL_VALU_HOT(v_lshlrev_b32), AQL_VALU_HOT(v_lshrrev_b32), AQL_VALU_HOT(v_add_u32), AQL_VALU_HOT(v_sub_u32),
  AQL_VALU_HOT(v_lshl_add_u32), AQL_VALU_HOT_AS(v_mov_b64, v_mov_b64, kRawFloat), AQL_VALU_HOT(v_lshl_add_u64),
  AQL_VALU_HOT(v_add_co_u32), AQL_VALU_HOT(v_addc_co_u32), AQL_VALU_HOT(v_mul_lo_u32),
  AQL_VALU(v_not_b32), AQL_VALU(v_xnor_b32), AQL_VALU(v_or3_b32), AQL_VALU(v_and_or_b32), AQL_VALU(v_bfi_b32),
  AQL_VALU(v_ashrrev_i32), AQL_VALU(v_lshlrev_b64), AQL_VALU(v_lshrrev_b64), AQL_VALU(v_ashrrev_i64),
  AQL_VALU(v_add_lshl_u32), AQL_VALU(v_lshl_or_b32),
  AQL_VALU(v_subrev_u32), AQL_VALU(v_add_i32), AQL_VALU(v_sub_i32), AQL_VALU(v_add3_u32), AQL_VALU(v_xad_u32),
  AQL_VALU(v_sub_co_u32), AQL_VALU(v_subrev_co_u32), AQL_VALU(v_subb_co_u32), AQL_VALU(v_subbrev_co_u32),
  AQL_VALU(v_mul_hi_u32), AQL_VALU(v_mul_hi_i32), AQL_VALU(v_mul_u32_u24), AQL_VALU(v_mul_hi_u32_u24),
  AQL_VALU(v_mul_i32_i24), AQL_VALU(v_mul_hi_i32_i24), AQL_VALU(v_mad_u32_u24), AQL_VALU(v_mad_i32_i24),
  AQL_VALU(v_mad_u64_u32), AQL_VALU(v_mad_i64_i32),
  AQL_VALU(v_min_i32), AQL_VALU(v_max_i32), AQL_VALU(v_min_u32), AQL_VALU(v_max_u32), AQL_VALU(v_min3_i32),
  AQL_VALU(v_max3_i32), AQL_VALU(v_min3_u32), AQL_VALU(v_max3_u32), AQL_VALU(v_med3_i32), AQL_VALU(v_med3_u32),
  AQL_VALU(v_bfe_u32), AQL_VALU(v_bfe_i32), AQL_VALU(v_bfm_b32), AQL_VALU(v_bfrev_b32), AQL_VALU(v_bcnt_u32_b32),
  AQL_VALU(v_ffbh_u32), AQL_VALU(v_ffbl_b32), AQL_VALU(v_ffbh_i32), AQL_VALU_FLAGS(v_bitop3_b32, kOwnSigns),
  AQL_VALU(v_alignbit_b32), AQL_VALU(v_alignbyte_b32), AQL_VALU(v_perm_b32), AQL_VALU(v_lerp_u8),
  AQL_VALU(v_sad_u8), AQL_VALU(v_sad_hi_u8), AQL_VALU(v_sad_u16), AQL_VALU(v_sad_u32), AQL_VALU(v_msad_u8),
  AQL_VALU(v_qsad_pk_u16_u8), AQL_VALU(v_mqsad_pk_u16_u8), AQL_VALU(v_mqsad_u32_u8), AQL_VALU(v_sat_pk_u8_i16),
  AQL_VALU_FLAGS(v_ashr_pk_u8_i32, kKeepHigh), AQL_VALU_FLAGS(v_ashr_pk_i8_i32, kKeepHigh), AQL_VALU_FLAGS(v_bitop3_b16, kKeepHigh | kOwnSigns),
  AQL_VALU(v_mbcnt_lo_u32_b32), AQL_VALU(v_mbcnt_hi_u32_b32), AQL_VALU(v_screen_partition_4se_b32), AQL_VALU(v_prng_b32),
};

} // namespace

std::span<const ValuOp> valu_int_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
