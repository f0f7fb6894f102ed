// Dot products of packed f16, bf16 and small integers, accumulated in 32 bits.
//
// Float: products are exact in f32; each addition is rounded to f32 (MODE's f32 rounding), in the order of the ISA guide's
// operation text: f16 starts from the accumulator, bf16 adds it last. gfx90a flushes f16 subnormals in every MODE, gfx942 and
// gfx950 in none; the f32 accumulator and the f16 form's result are flushed in every MODE.
// Integer: exact sum; wraps, or with clamp saturates once at the end.
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

AQL_INLINE f32 flushed(f32 v) { return (as_u32(v) & 0x7f800000u) == 0 ? as_f32(as_u32(v) & 0x80000000u) : v; }
template <bool Flush> AQL_INLINE f32 element(u32 pair, unsigned h) {
  const Half32 e = half(h == 0 ? pair : pair >> 16);
  return wide(Flush ? flush(e) : e);
}
// NaN sources in the order a.lo b.lo a.hi b.hi, then the accumulator.
AQL_INLINE f32 first_of(f32 r, f32 a, f32 b, f32 c, f32 d, f32 acc) {
  f32 out = r != r ? as_f32(0xffc00000u) : r;
  out = acc != acc ? quiet(acc) : out;
  out = d != d ? quiet(d) : out;
  out = c != c ? quiet(c) : out;
  out = b != b ? quiet(b) : out;
  return a != a ? quiet(a) : out;
}
template <bool Flush> struct Dot2F16 {
  static f32 apply(PairF16 a, PairF16 b, f32 acc) {
    const f32 a0 = element<Flush>(a.v, 0), a1 = element<Flush>(a.v, 1), b0 = element<Flush>(b.v, 0), b1 = element<Flush>(b.v, 1);
    const f32 r = (flushed(acc) + a0 * b0) + a1 * b1;
    return first_of(flushed(r), a0, b0, a1, b1, acc);
  }
};
struct Dot2Bf16 {
  static f32 apply(PairF16 a, PairF16 b, f32 acc) {
    const f32 a0 = as_f32(a.v << 16), a1 = as_f32(a.v & 0xffff0000u), b0 = as_f32(b.v << 16), b1 = as_f32(b.v & 0xffff0000u);
    const f32 r = (a0 * b0 + a1 * b1) + acc;
    return first_of(r, a0, b0, a1, b1, acc);
  }
};

// Element k of `bits` bits, sign-extended or not.
template <unsigned Bits> AQL_INLINE i32 signed_element(u32 v, unsigned k) {
  return static_cast<i32>(v << (32 - Bits * (k + 1))) >> (32 - Bits);
}
template <unsigned Bits> AQL_INLINE u32 unsigned_element(u32 v, unsigned k) { return (v >> (Bits * k)) & ((1u << Bits) - 1u); }

template <unsigned Bits> AQL_INLINE i64 signed_dot(u32 a, u32 b, i32 c) {
  i64 sum = c;
  for (unsigned k = 0; k < 32 / Bits; ++k) sum += i64{signed_element<Bits>(a, k)} * signed_element<Bits>(b, k);
  return sum;
}
template <unsigned Bits> AQL_INLINE u64 unsigned_dot(u32 a, u32 b, u32 c) {
  u64 sum = c;
  for (unsigned k = 0; k < 32 / Bits; ++k) sum += u64{unsigned_element<Bits>(a, k)} * unsigned_element<Bits>(b, k);
  return sum;
}
AQL_INLINE i32 cap(i64 v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : static_cast<i32>(v); }
AQL_INLINE u32 cap(u64 v) { return v > UINT32_MAX ? UINT32_MAX : static_cast<u32>(v); }

template <unsigned Bits> struct DotSigned {
  static i32 apply(u32 a, u32 b, i32 c) { return static_cast<i32>(signed_dot<Bits>(a, b, c)); }
  static i32 clamped(u32 a, u32 b, i32 c) { return cap(signed_dot<Bits>(a, b, c)); }
};
template <unsigned Bits> struct DotUnsigned {
  static u32 apply(u32 a, u32 b, u32 c) { return static_cast<u32>(unsigned_dot<Bits>(a, b, c)); }
  static u32 clamped(u32 a, u32 b, u32 c) { return cap(unsigned_dot<Bits>(a, b, c)); }
};
struct Dot2I16 {
  static i32 apply(PairI16 a, PairI16 b, i32 c) { return static_cast<i32>(signed_dot<16>(a.v, b.v, c)); }
  static i32 clamped(PairI16 a, PairI16 b, i32 c) { return cap(signed_dot<16>(a.v, b.v, c)); }
};
struct Dot2U16 {
  static u32 apply(PairI16 a, PairI16 b, u32 c) { return static_cast<u32>(unsigned_dot<16>(a.v, b.v, c)); }
  static u32 clamped(PairI16 a, PairI16 b, u32 c) { return cap(unsigned_dot<16>(a.v, b.v, c)); }
};

consteval ValuOp on(u8 archs, ValuOp op) {
  op.archs = archs;
  return op;
}
constexpr u8 k90a = 1, k94x = 6; // bits by Arch
constexpr u32 kRaw = kKeepSourceDenorm | kKeepResultDenorm;

constexpr ValuOp kOps[] = {
  on(k90a, AQL_VALU_AS(v_dot2_f32_f16, Dot2F16<true>, kRaw)), on(k94x, AQL_VALU_AS(v_dot2_f32_f16, Dot2F16<false>, kRaw)),
  on(k90a, AQL_VALU_AS(v_dot2c_f32_f16, Dot2F16<true>, kRaw | kReadsDst)),
  on(k94x, AQL_VALU_AS(v_dot2c_f32_f16, Dot2F16<false>, kRaw | kReadsDst)),
  AQL_VALU_AS(v_dot2_f32_bf16, Dot2Bf16, kRaw), AQL_VALU_AS(v_dot2c_f32_bf16, Dot2Bf16, kRaw | kReadsDst),
  AQL_VALU_AS(v_dot2_i32_i16, Dot2I16, 0), AQL_VALU_AS(v_dot2c_i32_i16, Dot2I16, kReadsDst), AQL_VALU_AS(v_dot2_u32_u16, Dot2U16, 0),
  AQL_VALU_AS(v_dot4_i32_i8, DotSigned<8>, 0), AQL_VALU_AS(v_dot4c_i32_i8, DotSigned<8>, kReadsDst),
  AQL_VALU_AS(v_dot4_u32_u8, DotUnsigned<8>, 0),
  AQL_VALU_AS(v_dot8_i32_i4, DotSigned<4>, 0), AQL_VALU_AS(v_dot8c_i32_i4, DotSigned<4>, kReadsDst),
  AQL_VALU_AS(v_dot8_u32_u4, DotUnsigned<4>, 0),
};

} // namespace

std::span<const ValuOp> valu_dot_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
