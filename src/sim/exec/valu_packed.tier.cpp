// Packed operations: two 16-bit results in a register, and the fma with mixed f16 and f32 sources. (Packed f32: valu_f32.tier.cpp.)
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

// --- f16 pairs
struct MinHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return pick<false>(a, b, c.mode.ieee()); } };
struct MaxHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return pick<true>(a, b, c.mode.ieee()); } };
struct Minimum3Half { static Half32 apply(Half32 a, Half32 b, Half32 d) { return pick_nan_first<false>(pick_nan_first<false>(a, b), d); } };
struct Maximum3Half { static Half32 apply(Half32 a, Half32 b, Half32 d) { return pick_nan_first<true>(pick_nan_first<true>(a, b), d); } };

// Both halves of each register.
AQL_INLINE Half32 low(u32 v) { return {v & 0xffffu}; }
AQL_INLINE Half32 high(u32 v) { return {v >> 16}; }
template <class Op, class... Rows> AQL_INLINE u32 both(const Ctx& c, Rows... v) {
  if constexpr (requires { Op::apply(low(v)..., c); }) return Op::apply(low(v)..., c).bits | Op::apply(high(v)..., c).bits << 16;
  else return Op::apply(low(v)...).bits | Op::apply(high(v)...).bits << 16;
}
template <class Op> static void lanes_halves(LaneIo& io) {
  u32* const dst = io.dst;
  const u32 *const a = io.src[0], *const b = io.src[1], *const d = io.src[2];
  if constexpr (make_op<Op>(isa::Op{}, 0).nsrc == 3) {
    AQL_LANES dst[i] = both<Op>(io, a[i], b[i], d[i]);
  } else {
    AQL_LANES dst[i] = both<Op>(io, a[i], b[i]);
  }
}
template <template <bool> class Op> static void lanes_halves_either(LaneIo& io) {
  if (plain_half(io)) lanes_halves<Op<true>>(io);
  else lanes_halves<Op<false>>(io);
}
template <class Op> consteval ValuOp make_halves(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op>(code, flags);
  op.kernel = &lanes_halves<Op>;
  op.dst = Ty::pkf16;
  for (unsigned n = 0; n < op.nsrc; ++n) op.src[n] = Ty::pkf16;
  return op;
}
template <template <bool> class Op> consteval ValuOp make_halves_either(isa::Op code, u32 flags) {
  ValuOp op = make_halves<Op<false>>(code, flags);
  op.kernel = &lanes_halves_either<Op>;
  return op;
}

// --- integer pairs
AQL_INLINE u16 cap_u16(i32 v) { return static_cast<u16>(v < 0 ? 0 : v > 0xffff ? 0xffff : v); }
AQL_INLINE i16 cap_i16(i32 v) { return static_cast<i16>(v < -0x8000 ? -0x8000 : v > 0x7fff ? 0x7fff : v); }
struct AddU16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(a + b); }
  static u16 clamped(u16 a, u16 b) { return cap_u16(a + b); }
};
struct SubU16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(a - b); }
  static u16 clamped(u16 a, u16 b) { return cap_u16(a - b); }
};
struct AddI16 {
  static i16 apply(i16 a, i16 b) { return static_cast<i16>(a + b); }
  static i16 clamped(i16 a, i16 b) { return cap_i16(a + b); }
};
struct SubI16 {
  static i16 apply(i16 a, i16 b) { return static_cast<i16>(a - b); }
  static i16 clamped(i16 a, i16 b) { return cap_i16(a - b); }
};
struct MulLoU16 {
  static u16 apply(u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }
  static u16 clamped(u16 a, u16 b) { return static_cast<u16>(u32{a} * b > 0xffffu ? 0xffffu : u32{a} * b); }
};
struct MadU16 {
  static u16 apply(u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); }
  static u16 clamped(u16 a, u16 b, u16 c) { // at most 0xffff * 0xffff + 0xffff: no wrap
    const u32 r = u32{a} * b + c;
    return static_cast<u16>(r > 0xffffu ? 0xffffu : r);
  }
};
struct MadI16 {
  static i16 apply(i16 a, i16 b, i16 c) { return static_cast<i16>(i32{a} * b + c); }
  static i16 clamped(i16 a, i16 b, i16 c) { return cap_i16(i32{a} * b + c); }
};
struct LshlrevB16 { static u16 apply(u16 n, u16 v) { return static_cast<u16>(u32{v} << (n & 15u)); } };
struct LshrrevB16 { static u16 apply(u16 n, u16 v) { return static_cast<u16>(v >> (n & 15u)); } };
struct AshrrevI16 { static i16 apply(u16 n, i16 v) { return static_cast<i16>(v >> (n & 15u)); } };
struct MinU16 { static u16 apply(u16 a, u16 b) { return a < b ? a : b; } };
struct MaxU16 { static u16 apply(u16 a, u16 b) { return a > b ? a : b; } };
struct MinI16 { static i16 apply(i16 a, i16 b) { return a < b ? a : b; } };
struct MaxI16 { static i16 apply(i16 a, i16 b) { return a > b ? a : b; } };

// op_sel picks the register of src0 for the low result, and of src1 for the high one.
struct v_pk_mov_b32 {
  static u64 apply(u64 a, u64 b, const Ctx& c) {
    const u32 lo = static_cast<u32>((c.op_sel & 1u) != 0 ? a >> 32 : a);
    const u32 hi = static_cast<u32>((c.op_sel & 2u) != 0 ? b >> 32 : b);
    return lo | u64{hi} << 32;
  }
};

// --- v_fma_mix: each source is an f32, or the f16 in a half of a register; the product is not rounded, the sum once to f32, and for
// mixlo and mixhi once more to f16. bind_valu packs the modifiers into imm, because they mean something of their own here:
// bits 0-2 op_sel (half), 3-5 op_sel_hi (is f16), 6-8 negate, 9-11 absolute value.
AQL_INLINE f32 mixed(u32 v, unsigned n, const Ctx& c) {
  const u32 imm = c.imm >> n;
  const u32 h = (imm & 1u) != 0 ? v >> 16 : v & 0xffffu;
  const u32 keep16 = (c.mode.denorm16_64() & 1u) != 0 ? ~0u : 0x8000u, keep32 = (c.mode.denorm32() & 1u) != 0 ? ~0u : 0x80000000u;
  const u32 from_half = as_u32(wide({(h & 0x7c00u) == 0 ? h & keep16 : h}));
  const u32 single = (v & 0x7f800000u) == 0 ? v & keep32 : v;
  const u32 magnitude = (imm >> 9 & 1u) != 0 ? 0x7fffffffu : ~0u;
  return as_f32((((imm >> 3 & 1u) != 0 ? from_half : single) & magnitude) ^ (imm >> 6 & 1u) << 31);
}
AQL_INLINE u32 take_nan(u32 r, f32 v) { return v != v ? as_u32(v) | 0x400000u : r; }
AQL_INLINE f32 mixed_fma(u32 a, u32 b, u32 d, const Ctx& c) {
  const f32 x = mixed(a, 0, c), y = mixed(b, 1, c), z = mixed(d, 2, c), r = __builtin_fmaf(x, y, z);
  return as_f32(take_nan(take_nan(take_nan(r != r ? 0xffc00000u : as_u32(r), z), y), x));
}
struct v_fma_mix_f32 { static f32 apply(u32 a, u32 b, u32 d, const Ctx& c) { return mixed_fma(a, b, d, c); } };
template <bool P> struct MixHalf { static Half32 apply(u32 a, u32 b, u32 d, const Ctx& c) { return narrow<P>(mixed_fma(a, b, d, c), c); } };
// The handler rounds as MODE says for the f16 result; the fma before it rounds as MODE says for f32.
void lanes_mix_half(LaneIo& io) {
  constexpr unsigned kCsrRound[4] = {0, 2u << 13, 1u << 13, 3u << 13};
  const unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | kCsrRound[io.mode.round32()]);
  lanes_half<MixHalf>(io);
  _mm_setcsr(saved);
}
consteval ValuOp make_mix_half(isa::Op code, u32 half) {
  ValuOp op = make_half<MixHalf>(code, kKeepHigh | kOwnSigns | kOwnSelect | half);
  op.kernel = &lanes_mix_half;
  return op;
}

constexpr ValuOp kOps[] = {
  make_halves_either<AddHalf>(isa::Op::v_pk_add_f16, 0), make_halves_either<MulHalf>(isa::Op::v_pk_mul_f16, 0),
  make_halves_either<FmaHalf>(isa::Op::v_pk_fma_f16, 0), make_halves_either<FmaHalf>(isa::Op::v_pk_fmac_f16, kReadsDst),
  make_halves<MinHalf>(isa::Op::v_pk_min_f16, 0), make_halves<MaxHalf>(isa::Op::v_pk_max_f16, 0),
  make_halves<Minimum3Half>(isa::Op::v_pk_minimum3_f16, 0), make_halves<Maximum3Half>(isa::Op::v_pk_maximum3_f16, 0),
  AQL_VALU_PK(v_pk_add_u16, AddU16), AQL_VALU_PK(v_pk_sub_u16, SubU16), AQL_VALU_PK(v_pk_add_i16, AddI16),
  AQL_VALU_PK(v_pk_sub_i16, SubI16), AQL_VALU_PK(v_pk_mul_lo_u16, MulLoU16), AQL_VALU_PK(v_pk_mad_u16, MadU16),
  AQL_VALU_PK(v_pk_mad_i16, MadI16), AQL_VALU_PK(v_pk_lshlrev_b16, LshlrevB16), AQL_VALU_PK(v_pk_lshrrev_b16, LshrrevB16),
  AQL_VALU_PK(v_pk_ashrrev_i16, AshrrevI16), AQL_VALU_PK(v_pk_min_u16, MinU16), AQL_VALU_PK(v_pk_max_u16, MaxU16),
  AQL_VALU_PK(v_pk_min_i16, MinI16), AQL_VALU_PK(v_pk_max_i16, MaxI16),
  AQL_VALU(v_pk_mov_b32), AQL_VALU_FLAGS(v_fma_mix_f32, kOwnSigns | kOwnSelect),
  make_mix_half(isa::Op::v_fma_mixlo_f16, 0), make_mix_half(isa::Op::v_fma_mixhi_f16, kHighHalf),
};

} // namespace

std::span<const ValuOp> valu_packed_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
