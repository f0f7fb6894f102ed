// The steps of exact division: v_div_scale, v_div_fmas, v_div_fixup in f32 and f64.
//
// The guide's text of these has slips that would make quotients wrong, and programs rely on the right ones. Deviations, each
// "assumed": a denominator whose reciprocal is denormal is scaled down also where the guide says up; v_div_fmas scales by 2^64
// (f64: 2^128) up or down, by the exponent of its third source, and rounds once; v_div_fixup takes a quotient that is NaN though
// its operands are numbers for an overflow (the refinement computes infinity minus infinity then).
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/exec/valu_scaled_fma.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

template <class T> struct Format;
template <> struct Format<f32> {
  using Bits = u32;
  static constexpr unsigned kFraction = 23, kMaxExponent = 255;
  static constexpr i32 kBias = 127, kFar = 96, kTiny = 23, kUnderflow = -150;
  static constexpr f32 kScaleUp = 0x1p64f, kScaleDown = 0x1p-64f, kMinNormal = 0x1p-126f;
};
template <> struct Format<f64> {
  using Bits = u64;
  static constexpr unsigned kFraction = 52, kMaxExponent = 2047;
  static constexpr i32 kBias = 1023, kFar = 768, kTiny = 53, kUnderflow = -1075;
  static constexpr f64 kScaleUp = 0x1p128, kScaleDown = 0x1p-128, kMinNormal = 0x1p-1022;
};
template <class T> AQL_INLINE i32 exponent_of(T v) {
  using B = typename Format<T>::Bits;
  return static_cast<i32>((__builtin_bit_cast(B, v) >> Format<T>::kFraction) & Format<T>::kMaxExponent);
}
template <class T> AQL_INLINE bool negative(T v) {
  using B = typename Format<T>::Bits;
  return (__builtin_bit_cast(B, v) >> (8 * sizeof(T) - 1)) != 0;
}
template <class T> AQL_INLINE T magnitude(T v) {
  using B = typename Format<T>::Bits;
  return __builtin_bit_cast(T, static_cast<B>(__builtin_bit_cast(B, v) & ~(B{1} << (8 * sizeof(T) - 1))));
}
template <class T> AQL_INLINE T with_sign(T v, bool sign) { return sign ? -magnitude(v) : magnitude(v); }
template <class T> AQL_INLINE bool denormal(T v) { return v != T{0} && magnitude(v) < Format<T>::kMinNormal; }
template <class T> AQL_INLINE T default_nan() {
  if constexpr (sizeof(T) == 4) return as_f32(0xffc00000u);
  else return as_f64(0xfff8000000000000u);
}

// value is the denominator or the numerator; the mask says that v_div_fmas must scale the quotient back.
template <class T> AQL_INLINE WithBit<T> div_scale(T value, T denominator, T numerator) {
  using F = Format<T>;
  const T up = value * F::kScaleUp, down = value * F::kScaleDown;
  const bool is_denominator = value == denominator, is_numerator = value == numerator;
  const bool far = exponent_of(numerator) - exponent_of(denominator) >= F::kFar;
  const bool reciprocal_denormal = denormal(T{1} / denominator);
  const bool quotient_denormal = denormal(numerator / denominator);
  WithBit<T> r{value, false};
  if (numerator == T{0} || denominator == T{0}) r = {default_nan<T>(), false};
  else if (far) r = {is_denominator ? up : value, true};
  else if (denormal(denominator)) r = {up, false};
  else if (reciprocal_denormal && quotient_denormal) r = {is_denominator ? down : value, true};
  else if (reciprocal_denormal) r = {down, false};
  else if (quotient_denormal) r = {is_numerator ? up : value, true};
  else if (exponent_of(numerator) <= F::kTiny) r = {up, false};
  return r.value == r.value ? r : WithBit<T>{quiet(r.value), r.bit};
}
struct v_div_scale_f32 { static WithBit<f32> apply(f32 a, f32 b, f32 c) { return div_scale(a, b, c); } };
struct v_div_scale_f64 { static WithBit<f64> apply(f64 a, f64 b, f64 c) { return div_scale(a, b, c); } };

template <class T> AQL_INLINE T underflow(bool sign, unsigned round) { // a quotient too small to represent
  using B = typename Format<T>::Bits;
  const bool away = sign ? round == 2 : round == 1;
  return with_sign(away ? __builtin_bit_cast(T, B{1}) : T{0}, sign);
}
template <class T> AQL_INLINE T overflow(bool sign, unsigned round) {
  const bool infinite = round == 0 || round == (sign ? 2u : 1u);
  const T largest = sizeof(T) == 4 ? static_cast<T>(0x1.fffffep127) : static_cast<T>(0x1.fffffffffffffp1023);
  return with_sign(infinite ? static_cast<T>(__builtin_inff()) : largest, sign);
}
template <class T> AQL_INLINE T div_fixup(T quotient, T denominator, T numerator, unsigned round) {
  using F = Format<T>;
  const bool sign = negative(denominator) != negative(numerator);
  const T infinity = static_cast<T>(__builtin_inff());
  const bool zero_d = denominator == T{0}, zero_n = numerator == T{0};
  const bool inf_d = magnitude(denominator) == infinity, inf_n = magnitude(numerator) == infinity;
  T r = quotient == quotient ? with_sign(quotient, sign) : overflow<T>(sign, round);
  if (exponent_of(numerator) - exponent_of(denominator) < F::kUnderflow) r = underflow<T>(sign, round);
  if (inf_d || zero_n) r = with_sign(T{0}, sign);
  if (zero_d || inf_n) r = with_sign(infinity, sign);
  if ((zero_d && zero_n) || (inf_d && inf_n)) r = default_nan<T>();
  if (denominator != denominator) r = quiet(denominator);
  if (numerator != numerator) r = quiet(numerator);
  return r;
}
struct v_div_fixup_f32 { static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return div_fixup(a, b, c, x.mode.round32()); } };
struct v_div_fixup_f64 { static f64 apply(f64 a, f64 b, f64 c, const Ctx& x) { return div_fixup(a, b, c, x.mode.round16_64()); } };

struct fma_f32 : FirstNan { static f32 apply(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); } };
struct fma_f64 : FirstNan { static f64 apply(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); } };
// Lanes with a mask bit are few; they are computed exactly, one by one.
template <class T, class Fma> void div_fmas_lanes(LaneIo& io) {
  T scaled[kLanes];
  const u64 which = io.mask;
  const unsigned round = sizeof(T) == 4 ? io.mode.round32() : io.mode.round16_64();
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((which >> i & 1u) == 0) continue;
    const T a = Lane<T>::get(io.src[0], i), b = Lane<T>::get(io.src[1], i), c = Lane<T>::get(io.src[2], i);
    const int by = sizeof(T) == 4 ? 64 : 128;
    scaled[i] = ordered_nan<T>(scaled_fma(a, b, c, exponent_of(c) > Format<T>::kBias ? by : -by, round), a, b, c);
  }
  lanes<Fma>(io);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((which >> i & 1u) != 0) Lane<T>::put(io.dst, i, scaled[i]);
  }
}
struct v_div_fmas_f32 { static f32 apply(f32 a, f32, f32, Bit) { return a; } }; // operands only
struct v_div_fmas_f64 { static f64 apply(f64 a, f64, f64, Bit) { return a; } };
template <class Op, class T, class Fma> consteval ValuOp div_fmas(isa::Op code) {
  ValuOp op = make_op<Op>(code, kKeepSourceDenorm);
  op.kernel = &div_fmas_lanes<T, Fma>;
  return op;
}

constexpr ValuOp kOps[] = {
  AQL_VALU(v_div_scale_f32), AQL_VALU(v_div_scale_f64), AQL_VALU(v_div_fixup_f32), AQL_VALU(v_div_fixup_f64),
  div_fmas<v_div_fmas_f32, f32, fma_f32>(isa::Op::v_div_fmas_f32), div_fmas<v_div_fmas_f64, f64, fma_f64>(isa::Op::v_div_fmas_f64),
};

} // namespace

std::span<const ValuOp> valu_div_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
