// f16 scalars for the lane loops: decode, one rounding to f16 under MODE, NaN choice, ordering. Included after valu_lane.hpp, in
// the same way; the including file includes aql/numerics.hpp before AQL_TIER_BEGIN.
//
// f16 arithmetic is done in f32 or f64 and rounded to f16 once more. That second rounding is harmless:
//  - sums, differences, products, quotients and roots: f32 has 24 >= 2 * 11 + 2 bits (and a subnormal sum is exact);
//  - fma: the product is exact in f32, the sum is rounded to odd there; in directed modes both are done in f64, where
//    the sum is inexact only if the product is far below the addend's last place;
//  - directed modes: the host rounds in the same direction first, and rounding twice in one direction is rounding once.
//
// Operations are templates on Plain: true when MODE asks for round-to-nearest-even and no FP16_OVFL, which needs no look at MODE.

// An f16, and a 16-bit integer, in the low half of a dword (the high half is 0): loops stay in one element width.
struct Half32 { u32 bits; };
struct Word16 { u32 v; };
template <> struct Lane<Half32> {
  static constexpr Ty ty = Ty::f16; static constexpr u8 rows = 1;
  AQL_INLINE Half32 get(const u32* p, unsigned i) { return {p[i] & 0xffffu}; }
  AQL_INLINE void put(u32* p, unsigned i, Half32 v) { p[i] = v.bits; }
};
template <> struct Lane<Word16> {
  static constexpr Ty ty = Ty::x16; static constexpr u8 rows = 1;
  AQL_INLINE void put(u32* p, unsigned i, Word16 v) { p[i] = v.v; }
};
// A register of two elements as one operand: op_sel, op_sel_hi (and neg for floats) apply to the halves.
struct PairF16 { u32 v; };
struct PairI16 { u32 v; };
template <> struct Lane<PairF16> {
  static constexpr Ty ty = Ty::pkf16; static constexpr u8 rows = 1;
  AQL_INLINE PairF16 get(const u32* p, unsigned i) { return {p[i]}; }
  AQL_INLINE void put(u32* p, unsigned i, PairF16 v) { p[i] = v.v; }
};
template <> struct Lane<PairI16> {
  static constexpr Ty ty = Ty::pk16; static constexpr u8 rows = 1;
  AQL_INLINE PairI16 get(const u32* p, unsigned i) { return {p[i]}; }
};
// Two f32 results in a register pair.
struct PairF32 { f32 lo, hi; };
template <> struct Lane<PairF32> {
  static constexpr Ty ty = Ty::pk32; static constexpr u8 rows = 2;
  AQL_INLINE void put(u32* p, unsigned i, PairF32 v) { p[i] = as_u32(v.lo); p[kLanes + i] = as_u32(v.hi); }
};
template <> consteval u32 mode_bits_of<Half32>() { return 0xccu; }
template <> consteval u32 mode_bits_of<PairF16>() { return 0xccu; }
template <> consteval u32 mode_bits_of<PairF32>() { return 0x33u; }

constexpr u32 kHalfModes = 0x0080000cu; // FP_ROUND of f16, FP16_OVFL
AQL_INLINE bool plain_half(const Ctx& c) { return (c.mode.bits & kHalfModes) == 0; }

AQL_INLINE f32 wide(Half32 h) { return as_f32(num::decode_bits<num::kF16>(h.bits)); }
AQL_INLINE f64 wide64(Half32 h) { return static_cast<f64>(wide(h)); }
AQL_INLINE Half32 half(u32 bits) { return {bits & 0xffffu}; }
AQL_INLINE bool is_nan(Half32 h) { return (h.bits & 0x7fffu) > 0x7c00u; }
AQL_INLINE bool is_snan(Half32 h) { return (h.bits & 0x7fffu) - 0x7c01u < 0x1ffu; }
AQL_INLINE bool is_inf(Half32 h) { return (h.bits & 0x7fffu) == 0x7c00u; }
AQL_INLINE bool is_zero(Half32 h) { return (h.bits & 0x7fffu) == 0; }
AQL_INLINE Half32 quiet(Half32 h) { return half(h.bits | 0x200u); }
AQL_INLINE Half32 flush(Half32 h) { return (h.bits & 0x7c00u) == 0 ? half(h.bits & 0x8000u) : h; }

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
template <bool Plain, class T> AQL_INLINE Half32 narrow(T v, const Ctx& c) { return half(narrow_bits<Plain>(v, c)); }

// The first NaN source, quieted; the default NaN if the operation made one out of numbers.
AQL_INLINE u32 take_nan(u32 r, Half32 a) { return is_nan(a) ? a.bits | 0x200u : r; }
AQL_INLINE u32 make_nan(Half32 r) { return is_nan(r) ? 0xfe00u : r.bits; }
AQL_INLINE Half32 settle(Half32 r, Half32 a) { return {take_nan(make_nan(r), a)}; }
AQL_INLINE Half32 settle(Half32 r, Half32 a, Half32 b) { return {take_nan(take_nan(make_nan(r), b), a)}; }
AQL_INLINE Half32 settle(Half32 r, Half32 a, Half32 b, Half32 c) { return {take_nan(take_nan(take_nan(make_nan(r), c), b), a)}; }

// Integers in the order of the numbers, -0 below +0.
AQL_INLINE i32 order(Half32 h) {
  const i32 v = static_cast<i32>(h.bits << 16) >> 16;
  return v ^ ((v >> 15) & 0x7fff);
}
AQL_INLINE bool same_number(Half32 a, Half32 b) { return a.bits == b.bits || ((a.bits | b.bits) & 0x7fffu) == 0; }

// v_min_f16, v_max_f16: a NaN gives the other source as it is; with MODE.IEEE a signalling NaN gives itself, quieted.
template <bool Max> AQL_INLINE Half32 pick(Half32 a, Half32 b, bool ieee) {
  u32 r = (order(a) < order(b)) != Max ? a.bits : b.bits;
  r = is_nan(b) ? a.bits : r;
  r = is_nan(a) ? b.bits : r;
  const bool quiet_b = is_snan(b) & ieee, quiet_a = is_snan(a) & ieee;
  r = quiet_b ? b.bits | 0x200u : r;
  return {quiet_a ? a.bits | 0x200u : r};
}
// IEEE 754-2019 minimum and maximum: any NaN gives a NaN.
template <bool Max> AQL_INLINE Half32 pick_nan_first(Half32 a, Half32 b) {
  const Half32 r = (order(a) < order(b)) != Max ? a : b;
  return settle(r, a, b);
}

// --- operations that exist alone and packed
template <bool P> struct AddHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return settle(narrow<P>(wide(a) + wide(b), c), a, b); } };
template <bool P> struct MulHalf { static Half32 apply(Half32 a, Half32 b, const Ctx& c) { return settle(narrow<P>(wide(a) * wide(b), c), a, b); } };
// f32 sum of an exact product and a number, rounded to odd: with the error of the sum (exact under nearest even) the neighbour is
// taken that ends in 1. Rounding that to f16 is rounding the exact value, because f32 has two bits and more to spare.
AQL_INLINE f32 sum_to_odd(f32 p, f32 d) {
  const f32 s = p + d, part = s - p, error = (p - (s - part)) + (d - part);
  const u32 bits = as_u32(s), step = 1u - ((as_u32(error) ^ bits) >> 31 << 1), size = as_u32(error) << 1;
  const u32 inexact = size - 1u < 0xfeffffffu ? 1u : 0u; // neither zero nor, where the sum is infinite, NaN
  return as_f32(bits + step * (inexact & ~bits));
}
template <bool P> struct FmaHalf {
  static Half32 apply(Half32 a, Half32 b, Half32 d, const Ctx& c) {
    if constexpr (P) return settle(narrow<P>(sum_to_odd(wide(a) * wide(b), wide(d)), c), a, b, d);
    else return settle(narrow<P>(wide64(a) * wide64(b) + wide64(d), c), a, b, d);
  }
};

// Lane functions of an operation in both versions.
template <template <bool> class Op> static void lanes_half(LaneIo& io) {
  if (plain_half(io)) lanes<Op<true>>(io);
  else lanes<Op<false>>(io);
}
template <template <bool> class Op> consteval ValuOp make_half(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op<false>>(code, flags);
  op.kernel = &lanes_half<Op>;
  return op;
}
#define AQL_VALU_HALF(code, name, flags) make_half<name>(isa::Op::code, flags)

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
template <class Op> consteval ValuOp make_insert8(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op>(code, flags | kReadsOldDst);
  op.kernel = &lanes_insert8<Op>;
  return op;
}
