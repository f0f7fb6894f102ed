// f16 scalars for the lane loops: decode, one rounding to f16 under MODE, NaN choice, ordering. Included after valu_lane.hpp, in
// the same way; the including file includes aql/numerics.hpp before AQL_TIER_BEGIN.
//
// f16 arithmetic is done in f32 or f64 and rounded to f16 once more. That second rounding is harmless:
//  - sums, differences, products, quotients and roots: f32 has 24 >= 2 * 11 + 2 bits (and a subnormal sum is exact);
//  - fma: in f64 the product is exact, and the sum is inexact only if the product lies below half a unit of the addend's last
//    f64 place, which cannot make or break a tie;
//  - directed modes: the host rounds in the same direction first, and rounding twice in one direction is rounding once.
//
// Operations are templates on Plain: true when MODE asks for round-to-nearest-even and no FP16_OVFL, which needs no look at MODE.

constexpr u32 kHalfModes = 0x0080000cu; // FP_ROUND of f16, FP16_OVFL
AQL_INLINE bool plain_half(const Ctx& c) { return (c.mode.bits & kHalfModes) == 0; }

AQL_INLINE f32 wide(Half h) { return as_f32(num::decode_bits<num::kF16>(h.bits)); }
AQL_INLINE f64 wide64(Half h) { return static_cast<f64>(wide(h)); }
AQL_INLINE u16 as_u16(u32 v) { return static_cast<u16>(v); }
AQL_INLINE Half half(u32 bits) { return {static_cast<u16>(bits)}; }
AQL_INLINE bool is_nan(Half h) { return (h.bits & 0x7fffu) > 0x7c00u; }
AQL_INLINE bool is_snan(Half h) { return is_nan(h) && (h.bits & 0x200u) == 0; }
AQL_INLINE bool is_inf(Half h) { return (h.bits & 0x7fffu) == 0x7c00u; }
AQL_INLINE bool is_zero(Half h) { return (h.bits & 0x7fffu) == 0; }
AQL_INLINE Half quiet(Half h) { return half(h.bits | 0x200u); }
AQL_INLINE Half flush(Half h) { return (h.bits & 0x7c00u) == 0 ? half(h.bits & 0x8000u) : h; }

// One rounding to f16. MODE.FP16_OVFL turns finite overflow into the largest value; infinities stay.
template <bool Plain, class T> AQL_INLINE u32 narrow_bits(T v, const Ctx& c) {
  if constexpr (Plain) {
    (void)c;
    return num::encode<num::kF16>(v);
  } else {
    return num::encode<num::kF16>(v, static_cast<num::Round>(c.mode.round16_64()),
                                  c.mode.fp16_ovfl() ? num::Overflow::clamp_finite : num::Overflow::infinity);
  }
}
template <bool Plain, class T> AQL_INLINE Half narrow(T v, const Ctx& c) { return half(narrow_bits<Plain>(v, c)); }

// The first NaN source, quieted; the default NaN if the operation made one out of numbers.
AQL_INLINE Half settle(Half r, Half a) { return is_nan(a) ? quiet(a) : is_nan(r) ? half(0xfe00u) : r; }
AQL_INLINE Half settle(Half r, Half a, Half b) { return is_nan(a) ? quiet(a) : settle(r, b); }
AQL_INLINE Half settle(Half r, Half a, Half b, Half c) { return is_nan(a) ? quiet(a) : settle(r, b, c); }

// Integers in the order of the numbers, -0 below +0.
AQL_INLINE i32 order(Half h) {
  const i32 v = static_cast<i16>(h.bits);
  return v ^ ((v >> 15) & 0x7fff);
}
AQL_INLINE bool same_number(Half a, Half b) { return a.bits == b.bits || ((a.bits | b.bits) & 0x7fffu) == 0; }

// v_min_f16, v_max_f16: a NaN gives the other source as it is; with MODE.IEEE a signalling NaN gives itself, quieted.
template <bool Max> AQL_INLINE Half pick(Half a, Half b, bool ieee) {
  Half r = (order(a) < order(b)) != Max ? a : b;
  r = is_nan(b) ? a : r;
  r = is_nan(a) ? b : r;
  r = ieee && is_snan(b) ? quiet(b) : r;
  return ieee && is_snan(a) ? quiet(a) : r;
}
// IEEE 754-2019 minimum and maximum: any NaN gives a NaN.
template <bool Max> AQL_INLINE Half pick_nan_first(Half a, Half b) {
  const Half r = (order(a) < order(b)) != Max ? a : b;
  return settle(r, a, b);
}

// Lane functions of an operation in both versions.
template <template <bool> class Op> static void lanes_half(LaneIo& io) {
  if (plain_half(io)) lanes<Op<true>>(io);
  else lanes<Op<false>>(io);
}
template <template <bool> class Op> static void lanes_half_pk(LaneIo& io) {
  if (plain_half(io)) lanes_pk16<Op<true>>(io);
  else lanes_pk16<Op<false>>(io);
}
template <template <bool> class Op> consteval ValuOp make_half(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op<false>>(code, flags);
  op.kernel = &lanes_half<Op>;
  return op;
}
template <template <bool> class Op> consteval ValuOp make_half_pk(isa::Op code, u32 flags) {
  ValuOp op = make_pk16<Op<false>>(code, flags);
  op.kernel = &lanes_half_pk<Op>;
  return op;
}

// An 8-bit result that goes to the byte that op_sel bits 3:2 name; the other bytes of the register keep their value.
template <class Op> static void lanes_insert8(LaneIo& io) {
  alignas(64) u32 value[kLanes];
  u32* const dst = io.dst;
  io.dst = value;
  lanes<Op>(io);
  io.dst = dst;
  const u32 at = (io.op_sel >> 2 & 3u) * 8u;
  AQL_LANES dst[i] = (dst[i] & ~(0xffu << at)) | value[i] << at;
}
template <class Op> consteval ValuOp make_insert8(isa::Op code) {
  ValuOp op = make_op<Op>(code, kReadsOldDst);
  op.kernel = &lanes_insert8<Op>;
  return op;
}
#define AQL_VALU_HALF(code, name, flags) make_half<name>(isa::Op::code, flags)
#define AQL_VALU_HALF_PK(code, name, flags) make_half_pk<name>(isa::Op::code, flags)
