// gfx950's scaled conversions: fp8, bf8, fp6, bf6, fp4 from and to f32, f16, bf16, times or by a power of two.
//
// The scale is the exponent field of an f32 operand, read as e8m0 (field 255 makes the result NaN, or the largest value where the
// format has no NaN). Decoding multiplies by it and rounds to nearest even; encoding divides by it and rounds once, to nearest even
// or stochastically (aql/numerics.hpp). Both go through f64, which holds every such product exactly. fp8 and bf8 results overflow to NaN or infinity unless
// MODE.FP16_OVFL clamps them; fp6, bf6 and fp4 clamp always. Subnormals are never flushed. Random numbers of packed forms: one v_prng_b32 step per element.
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

using num::FloatFormat;
constexpr u32 kLowHalf = 0xffffu;
constexpr FloatFormat kF32{32, 8, 23, 127, num::Special::ieee}; // for the rounding: not as the host's mode wants

// 2^(field - 127) and its inverse, as f64; NaN for field 255.
AQL_INLINE u32 field_of(u32 operand) { return operand >> 23 & 255u; }
AQL_INLINE f64 scale_of(u32 operand) { return num::e8m0::from_bits(field_of(operand)).to_double(); }
AQL_INLINE f64 inverse_of(u32 operand) {
  const u32 field = field_of(operand);
  return as_f64(field == 255u ? 0x7ff8000000000000u : u64{1023u + 127u - field} << 52);
}
// The product keeps the sign of v; a NaN of either becomes the plain quiet one.
AQL_INLINE f64 scaled(f64 v, f64 scale) {
  const f64 r = v * scale;
  const u64 magnitude = r != r ? 0x7ff8000000000000u : as_u64(r) & 0x7fffffffffffffffu;
  return as_f64(magnitude | (as_u64(v) & 0x8000000000000000u));
}

// --- wide elements: how they are read from dwords, and written
struct F32 {
  static constexpr unsigned mantissa = 23, bits = 32;
  AQL_INLINE f64 read(u32 v) { return static_cast<f64>(as_f32(v)); }
  AQL_INLINE u32 write(f64 v) { return num::encode<kF32>(v); }
};
struct F16 {
  static constexpr unsigned mantissa = 10, bits = 16;
  AQL_INLINE f64 read(u32 v) { return static_cast<f64>(num::decode<num::kF16>(v & kLowHalf)); }
  AQL_INLINE u32 write(f64 v) { return num::encode<num::kF16>(v); }
};
struct BF16 {
  static constexpr unsigned mantissa = 7, bits = 16;
  AQL_INLINE f64 read(u32 v) { return static_cast<f64>(as_f32(v << 16)); }
  AQL_INLINE u32 write(f64 v) { return num::encode<num::kBf16>(v); }
};

AQL_INLINE num::Overflow overflow_of(const Ctx& c) { return c.mode.fp16_ovfl() ? num::Overflow::clamp : num::Overflow::infinity; }
template <FloatFormat F, class W> AQL_INLINE u32 narrow_scaled(u32 v, f64 inverse, const Ctx& c) {
  return num::encode<F>(scaled(W::read(v), inverse), num::Round::nearest_even, overflow_of(c));
}
template <FloatFormat F, class W> AQL_INLINE u32 narrow_random(u32 v, u32 random, f64 inverse, const Ctx& c) {
  return num::encode_sr<F>(scaled(W::read(v), inverse), random, overflow_of(c), W::mantissa);
}
AQL_INLINE u32 next_random(u32 v) { return (v << 1) ^ ((v >> 31) != 0 ? 197u : 0u); }
template <FloatFormat F, class W> AQL_INLINE u32 widen_scaled(u32 code, f64 scale) {
  return W::write(scaled(static_cast<f64>(num::decode<F>(code)), scale));
}

// --- one or two elements
// To 8 bits, two elements; the word by op_sel[3].
template <FloatFormat F> struct PkFromF32 {
  static Word16 apply(f32 a, f32 b, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return {narrow_scaled<F, F32>(as_u32(a), k, c) | narrow_scaled<F, F32>(as_u32(b), k, c) << 8};
  }
};
template <FloatFormat F, class W> struct PkFrom16 {
  static Word16 apply(PairF16 a, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return {narrow_scaled<F, W>(a.v, k, c) | narrow_scaled<F, W>(a.v >> 16, k, c) << 8};
  }
};
// To 8 bits, stochastic, one element; the byte by op_sel[3:2].
template <FloatFormat F> struct SrFromF32 {
  static u32 apply(f32 a, u32 random, u32 s, const Ctx& c) { return narrow_random<F, F32>(as_u32(a), random, inverse_of(s), c); }
};
template <FloatFormat F, class W> struct SrFrom16 {
  static u32 apply(Half32 a, u32 random, u32 s, const Ctx& c) { return narrow_random<F, W>(a.bits, random, inverse_of(s), c); }
};
// To 4 bits, two elements in a byte.
struct Fp4FromF32 {
  static u32 apply(f32 a, f32 b, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return narrow_scaled<num::kFp4, F32>(as_u32(a), k, c) | narrow_scaled<num::kFp4, F32>(as_u32(b), k, c) << 4;
  }
};
template <class W> struct Fp4From16 {
  static u32 apply(PairF16 a, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return narrow_scaled<num::kFp4, W>(a.v, k, c) | narrow_scaled<num::kFp4, W>(a.v >> 16, k, c) << 4;
  }
};
struct Fp4SrFromF32 {
  static u32 apply(u64 a, u32 random, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return narrow_random<num::kFp4, F32>(static_cast<u32>(a), random, k, c) |
           narrow_random<num::kFp4, F32>(static_cast<u32>(a >> 32), next_random(random), k, c) << 4;
  }
};
template <class W> struct Fp4SrFrom16 {
  static u32 apply(PairF16 a, u32 random, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    return narrow_random<num::kFp4, W>(a.v, random, k, c) | narrow_random<num::kFp4, W>(a.v >> 16, next_random(random), k, c) << 4;
  }
};
// From 8 bits: a word by op_sel[0], or a byte by op_sel[1:0]. From 4 bits: a byte by op_sel[1:0].
AQL_INLINE u32 source_word(u32 v, const Ctx& c) { return v >> ((c.op_sel & 1u) * 16u); }
AQL_INLINE u32 source_byte(u32 v, const Ctx& c) { return v >> ((c.op_sel & 3u) * 8u) & 0xffu; }
template <FloatFormat F> AQL_INLINE u32 element(u32 pair, unsigned n) { return pair >> (n * F.bits) & ((1u << F.bits) - 1u); }
template <FloatFormat F> AQL_INLINE u32 selected(u32 v, const Ctx& c) { return F.bits == 8 ? source_word(v, c) : source_byte(v, c); }
template <FloatFormat F> struct PkF32From {
  static PairF32 apply(u32 v, u32 s, const Ctx& c) {
    const u32 p = selected<F>(v, c);
    const f64 k = scale_of(s);
    return {as_f32(widen_scaled<F, F32>(element<F>(p, 0), k)), as_f32(widen_scaled<F, F32>(element<F>(p, 1), k))};
  }
};
template <FloatFormat F, class W> AQL_INLINE u32 widen_pair(u32 v, u32 s, const Ctx& c) {
  const u32 p = selected<F>(v, c);
  const f64 k = scale_of(s);
  return widen_scaled<F, W>(element<F>(p, 0), k) | widen_scaled<F, W>(element<F>(p, 1), k) << 16;
}
template <FloatFormat F> struct PkF16From { static PairF16 apply(u32 v, u32 s, const Ctx& c) { return {widen_pair<F, F16>(v, s, c)}; } };
template <FloatFormat F> struct PkBf16From { static u32 apply(u32 v, u32 s, const Ctx& c) { return widen_pair<F, BF16>(v, s, c); } };
template <FloatFormat F> struct F32From {
  static f32 apply(u32 v, u32 s, const Ctx& c) { return as_f32(widen_scaled<F, F32>(source_byte(v, c), scale_of(s))); }
};
template <FloatFormat F> struct F16From {
  static Half32 apply(u32 v, u32 s, const Ctx& c) { return half(widen_scaled<F, F16>(source_byte(v, c), scale_of(s))); }
};

// --- blocks of 32 six-bit elements
template <class W> AQL_INLINE u32 wide_element(const u32* w, unsigned n) {
  return W::bits == 32 ? w[n] : w[n / 2] >> (n % 2 * 16) & kLowHalf;
}
AQL_INLINE Words<6> as_words(const num::Packed6x32& p) { return {{p[0], p[1], p[2], p[3], p[4], p[5]}}; }
template <FloatFormat F, class W> struct Block {
  using Source = Words<W::bits>; // 32 elements: 32 dwords of f32, 16 of f16
  static Words<6> apply(Words<W::bits> a, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    num::Packed6x32 out{};
    for (unsigned n = 0; n < 32; ++n) num::set6(out, n, narrow_scaled<F, W>(wide_element<W>(a.w, n), k, c));
    return as_words(out);
  }
};
template <FloatFormat F, class W> struct BlockSr {
  static Words<6> apply(Words<W::bits> a, u32 random, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    num::Packed6x32 out{};
    for (unsigned n = 0; n < 32; ++n) {
      num::set6(out, n, narrow_random<F, W>(wide_element<W>(a.w, n), random, k, c));
      random = next_random(random);
    }
    return as_words(out);
  }
};
// Two sources of 16 f32, interleaved.
template <FloatFormat F> struct BlockOfTwo {
  static Words<6> apply(Words<16> a, Words<16> b, u32 s, const Ctx& c) {
    const f64 k = inverse_of(s);
    num::Packed6x32 out{};
    for (unsigned n = 0; n < 16; ++n) {
      num::set6(out, 2 * n, narrow_scaled<F, F32>(a.w[n], k, c));
      num::set6(out, 2 * n + 1, narrow_scaled<F, F32>(b.w[n], k, c));
    }
    return as_words(out);
  }
};
template <FloatFormat F, class W> struct Unblock {
  static Words<W::bits> apply(Words<6> a, u32 s) {
    const f64 k = scale_of(s);
    const num::Packed6x32 in{a.w[0], a.w[1], a.w[2], a.w[3], a.w[4], a.w[5]};
    Words<W::bits> out{};
    for (unsigned n = 0; n < 32; ++n) {
      const u32 v = widen_scaled<F, W>(num::get6(in, n), k);
      if (W::bits == 32) out.w[n] = v;
      else out.w[n / 2] |= v << (n % 2 * 16);
    }
    return out;
  }
};

constexpr u32 kOwnDenorm = kKeepSourceDenorm | kKeepResultDenorm;
#define AQL_S(code, ...) make_op<__VA_ARGS__>(isa::Op::v_cvt_scalef32_##code, kOwnDenorm)
#define AQL_S_WORD(code, ...) make_op<__VA_ARGS__>(isa::Op::v_cvt_scalef32_##code, kKeepHigh | kOwnDenorm)
#define AQL_S_BYTE(code, ...) make_insert8<__VA_ARGS__>(isa::Op::v_cvt_scalef32_##code, kOwnDenorm)

constexpr ValuOp kOps[] = {
  AQL_S_WORD(pk_fp8_f32, PkFromF32<num::kFp8>), AQL_S_WORD(pk_bf8_f32, PkFromF32<num::kBf8>),
  AQL_S_WORD(pk_fp8_f16, PkFrom16<num::kFp8, F16>), AQL_S_WORD(pk_bf8_f16, PkFrom16<num::kBf8, F16>),
  AQL_S_WORD(pk_fp8_bf16, PkFrom16<num::kFp8, BF16>), AQL_S_WORD(pk_bf8_bf16, PkFrom16<num::kBf8, BF16>),
  AQL_S_BYTE(sr_fp8_f32, SrFromF32<num::kFp8>), AQL_S_BYTE(sr_bf8_f32, SrFromF32<num::kBf8>),
  AQL_S_BYTE(sr_fp8_f16, SrFrom16<num::kFp8, F16>), AQL_S_BYTE(sr_bf8_f16, SrFrom16<num::kBf8, F16>),
  AQL_S_BYTE(sr_fp8_bf16, SrFrom16<num::kFp8, BF16>), AQL_S_BYTE(sr_bf8_bf16, SrFrom16<num::kBf8, BF16>),
  AQL_S_BYTE(pk_fp4_f32, Fp4FromF32), AQL_S_BYTE(pk_fp4_f16, Fp4From16<F16>), AQL_S_BYTE(pk_fp4_bf16, Fp4From16<BF16>),
  AQL_S_BYTE(sr_pk_fp4_f32, Fp4SrFromF32), AQL_S_BYTE(sr_pk_fp4_f16, Fp4SrFrom16<F16>), AQL_S_BYTE(sr_pk_fp4_bf16, Fp4SrFrom16<BF16>),
  AQL_S(pk_f32_fp8, PkF32From<num::kFp8>), AQL_S(pk_f32_bf8, PkF32From<num::kBf8>), AQL_S(pk_f32_fp4, PkF32From<num::kFp4>),
  AQL_S(pk_f16_fp8, PkF16From<num::kFp8>), AQL_S(pk_f16_bf8, PkF16From<num::kBf8>), AQL_S(pk_f16_fp4, PkF16From<num::kFp4>),
  AQL_S(pk_bf16_fp8, PkBf16From<num::kFp8>), AQL_S(pk_bf16_bf8, PkBf16From<num::kBf8>), AQL_S(pk_bf16_fp4, PkBf16From<num::kFp4>),
  AQL_S(f32_fp8, F32From<num::kFp8>), AQL_S(f32_bf8, F32From<num::kBf8>),
  AQL_S_WORD(f16_fp8, F16From<num::kFp8>), AQL_S_WORD(f16_bf8, F16From<num::kBf8>),
  AQL_S(2xpk16_fp6_f32, BlockOfTwo<num::kFp6>), AQL_S(2xpk16_bf6_f32, BlockOfTwo<num::kBf6>),
  AQL_S(sr_pk32_fp6_f32, BlockSr<num::kFp6, F32>), AQL_S(sr_pk32_bf6_f32, BlockSr<num::kBf6, F32>),
  AQL_S(sr_pk32_fp6_f16, BlockSr<num::kFp6, F16>), AQL_S(sr_pk32_bf6_f16, BlockSr<num::kBf6, F16>),
  AQL_S(sr_pk32_fp6_bf16, BlockSr<num::kFp6, BF16>), AQL_S(sr_pk32_bf6_bf16, BlockSr<num::kBf6, BF16>),
  AQL_S(pk32_fp6_f16, Block<num::kFp6, F16>), AQL_S(pk32_bf6_f16, Block<num::kBf6, F16>),
  AQL_S(pk32_fp6_bf16, Block<num::kFp6, BF16>), AQL_S(pk32_bf6_bf16, Block<num::kBf6, BF16>),
  AQL_S(pk32_f32_fp6, Unblock<num::kFp6, F32>), AQL_S(pk32_f32_bf6, Unblock<num::kBf6, F32>),
  AQL_S(pk32_f16_fp6, Unblock<num::kFp6, F16>), AQL_S(pk32_f16_bf6, Unblock<num::kBf6, F16>),
  AQL_S(pk32_bf16_fp6, Unblock<num::kFp6, BF16>), AQL_S(pk32_bf16_bf6, Unblock<num::kBf6, BF16>),
};

} // namespace

std::span<const ValuOp> valu_scale_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
