// Conversions between floating-point formats, and between floating point and integers. Scaled ones: valu_scale.tier.cpp.
//
// Rounding: to f16 by MODE's f16/f64 field, to f32 by its f32 field (f64 to f32 too), to integers toward zero; the exceptions say
// so. Out of range and infinite values saturate, NaN gives 0 (rpi and flr: the limit of the NaN's sign, as later chips do; the
// guides are silent). fp8 and bf8 are FNUZ on gfx942 and OCP on gfx950; MODE.FP16_OVFL makes them clamp instead of giving NaN or infinity.
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

AQL_INLINE u32 pair(u32 lo, u32 hi) { return (lo & 0xffffu) | hi << 16; }

// --- float to float
template <bool P> struct F16FromF32 { static Half32 apply(f32 v, const Ctx& c) { return narrow<P>(v, c); } };
struct v_cvt_f32_f16 { static f32 apply(Half32 h) { return is_nan(h) ? quiet(wide(h)) : wide(h); } };
struct v_cvt_f32_f64 { static f32 apply(f64 v) { return static_cast<f32>(v); } };
struct v_cvt_f64_f32 { static f64 apply(f32 v) { return static_cast<f64>(v); } };
struct v_cvt_f32_bf16 { static f32 apply(Half32 h) { return as_f32(h.bits << 16); } };
AQL_INLINE num::Overflow half_overflow(const Ctx& c) { return c.mode.fp16_ovfl() ? num::Overflow::clamp_finite : num::Overflow::infinity; }
struct v_cvt_pkrtz_f16_f32 {
  static PairF16 apply(f32 a, f32 b) { return {pair(num::encode<num::kF16>(a, num::Round::zero), num::encode<num::kF16>(b, num::Round::zero))}; }
};
// gfx950: nearest even whatever MODE says.
struct v_cvt_pk_f16_f32 {
  static PairF16 apply(f32 a, f32 b, const Ctx& c) {
    return {pair(num::encode<num::kF16>(a, num::Round::nearest_even, half_overflow(c)), num::encode<num::kF16>(b, num::Round::nearest_even, half_overflow(c)))};
  }
};
struct v_cvt_pk_bf16_f32 { static u32 apply(f32 a, f32 b) { return pair(num::encode<num::kBf16>(a), num::encode<num::kBf16>(b)); } };
struct v_cvt_sr_f16_f32 { static Half32 apply(f32 a, u32 random, const Ctx& c) { return half(num::encode_sr<num::kF16>(a, random, half_overflow(c))); } };
struct v_cvt_sr_bf16_f32 { static Word16 apply(f32 a, u32 random) { return {num::encode_sr<num::kBf16>(a, random)}; } };

// --- fp8 and bf8
AQL_INLINE num::Overflow small_overflow(const Ctx& c) { return c.mode.fp16_ovfl() ? num::Overflow::clamp : num::Overflow::infinity; }
template <num::FloatFormat F> struct PkFrom {
  static Word16 apply(f32 a, f32 b, const Ctx& c) {
    const u32 lo = num::encode<F>(a, num::Round::nearest_even, small_overflow(c));
    const u32 hi = num::encode<F>(b, num::Round::nearest_even, small_overflow(c));
    return {lo | hi << 8};
  }
};
template <num::FloatFormat F> struct SrFrom {
  static u32 apply(f32 a, u32 random, const Ctx& c) { return num::encode_sr<F>(a, random, small_overflow(c)); }
};
template <num::FloatFormat F> AQL_INLINE f32 from_code(u32 code) { // NaNs become quiet
  const f32 v = num::decode<F>(code & 0xffu);
  return v != v ? quiet(v) : v;
}
template <num::FloatFormat F> struct F32From { static f32 apply(u32 v) { return from_code<F>(v); } };
template <num::FloatFormat F> struct PkF32From { static PairF32 apply(u32 v) { return {from_code<F>(v), from_code<F>(v >> 8)}; } };

// --- integers to float
struct v_cvt_f32_i32 { static f32 apply(i32 v) { return static_cast<f32>(v); } };
struct v_cvt_f32_u32 { static f32 apply(u32 v) { return static_cast<f32>(v); } };
struct v_cvt_f64_i32 { static f64 apply(i32 v) { return static_cast<f64>(v); } };
struct v_cvt_f64_u32 { static f64 apply(u32 v) { return static_cast<f64>(v); } };
template <unsigned K> struct UByte { static f32 apply(u32 v) { return static_cast<f32>(static_cast<i32>((v >> (8 * K)) & 0xffu)); } };
template <bool P> struct F16FromI16 { static Half32 apply(i16 v, const Ctx& c) { return narrow<P>(static_cast<f32>(v), c); } };
template <bool P> struct F16FromU16 { static Half32 apply(u16 v, const Ctx& c) { return narrow<P>(static_cast<f32>(i32{v}), c); } };
// A signed nibble in sixteenths.
struct v_cvt_off_f32_i4 { static f32 apply(u32 v) { return static_cast<f32>(static_cast<i32>(v << 28) >> 28) * 0.0625f; } };

// --- float to integers. Comparisons are false for NaN, so it ends as 0.
AQL_INLINE i32 to_i32(f64 v) { // v is whole
  const f64 capped = v > -2147483648.0 ? (v < 2147483647.0 ? v : 2147483647.0) : -2147483648.0;
  return static_cast<i32>(v == v ? capped : 0.0);
}
AQL_INLINE u32 to_u32(f64 v) {
  const f64 capped = v > 0.0 ? (v < 4294967295.0 ? v : 4294967295.0) : 0.0;
  return static_cast<u32>(static_cast<i64>(capped));
}
struct v_cvt_i32_f32 { static i32 apply(f32 v) { return to_i32(__builtin_trunc(static_cast<f64>(v))); } };
struct v_cvt_u32_f32 { static u32 apply(f32 v) { return to_u32(static_cast<f64>(v)); } };
struct v_cvt_i32_f64 { static i32 apply(f64 v) { return to_i32(__builtin_trunc(v)); } };
struct v_cvt_u32_f64 { static u32 apply(f64 v) { return to_u32(v); } };
AQL_INLINE i32 by_sign(i32 r, f32 v) { return v == v ? r : (as_u32(v) >> 31) != 0 ? INT32_MIN : INT32_MAX; }
// floor(v + 1/2) of the exact sum: halves go up.
struct v_cvt_rpi_i32_f32 { static i32 apply(f32 v) { return by_sign(to_i32(__builtin_floor(static_cast<f64>(v) + 0.5)), v); } };
struct v_cvt_flr_i32_f32 { static i32 apply(f32 v) { return by_sign(to_i32(__builtin_floor(static_cast<f64>(v))), v); } };
struct v_cvt_i16_f16 {
  static Word16 apply(Half32 h) {
    const f32 v = wide(h), capped = v > -32768.0f ? (v < 32767.0f ? v : 32767.0f) : -32768.0f;
    return {static_cast<u32>(static_cast<i32>(is_nan(h) ? 0.0f : capped)) & 0xffffu};
  }
};
struct v_cvt_u16_f16 {
  static Word16 apply(Half32 h) {
    const f32 v = wide(h), capped = v > 0.0f ? (v < 65535.0f ? v : 65535.0f) : 0.0f;
    return {static_cast<u32>(static_cast<i32>(capped))};
  }
};
// Normalised: 1.0 is the largest integer; nearest even of the exact product.
AQL_INLINE u32 snorm(f64 v) {
  const f64 r = __builtin_roundeven(v * 32767.0), capped = r > -32767.0 ? (r < 32767.0 ? r : 32767.0) : -32767.0;
  return static_cast<u32>(static_cast<i32>(v == v ? capped : 0.0)) & 0xffffu;
}
AQL_INLINE u32 unorm(f64 v) {
  const f64 r = __builtin_roundeven(v * 65535.0), capped = r > 0.0 ? (r < 65535.0 ? r : 65535.0) : 0.0;
  return static_cast<u32>(static_cast<i32>(capped));
}
struct v_cvt_norm_i16_f16 { static Word16 apply(Half32 h) { return {snorm(wide64(h))}; } };
struct v_cvt_norm_u16_f16 { static Word16 apply(Half32 h) { return {unorm(wide64(h))}; } };
struct v_cvt_pknorm_i16_f16 { static u32 apply(Half32 a, Half32 b) { return pair(snorm(wide64(a)), snorm(wide64(b))); } };
struct v_cvt_pknorm_u16_f16 { static u32 apply(Half32 a, Half32 b) { return pair(unorm(wide64(a)), unorm(wide64(b))); } };
struct v_cvt_pknorm_i16_f32 { static u32 apply(f32 a, f32 b) { return pair(snorm(static_cast<f64>(a)), snorm(static_cast<f64>(b))); } };
struct v_cvt_pknorm_u16_f32 { static u32 apply(f32 a, f32 b) { return pair(unorm(static_cast<f64>(a)), unorm(static_cast<f64>(b))); } };

// --- integers to integers, bytes
struct v_cvt_pk_u16_u32 { static u32 apply(u32 a, u32 b) { return (a > 0xffffu ? 0xffffu : a) | (b > 0xffffu ? 0xffffu : b) << 16; } };
AQL_INLINE u32 cap_i16(i32 v) { return static_cast<u32>(v < -0x8000 ? -0x8000 : v > 0x7fff ? 0x7fff : v) & 0xffffu; }
struct v_cvt_pk_i16_i32 { static u32 apply(i32 a, i32 b) { return cap_i16(a) | cap_i16(b) << 16; } };
// Rounded by MODE's f32 field, which the handler has put into the host.
AQL_INLINE u32 to_u8(f32 v) {
  const f32 r = __builtin_rintf(v), capped = r > 0.0f ? (r < 255.0f ? r : 255.0f) : 0.0f;
  return static_cast<u32>(static_cast<i32>(capped));
}
AQL_INLINE u32 put_byte(u32 old, u32 byte, u32 value) {
  const u32 at = (byte & 3u) * 8u;
  return (old & ~(0xffu << at)) | value << at;
}
struct v_cvt_pk_u8_f32 { static u32 apply(f32 v, u32 byte, u32 old) { return put_byte(old, byte, to_u8(v)); } };
struct PkAccumU8 { static u32 apply(f32 v, u32) { return to_u8(v); } };
void lanes_pkaccum(LaneIo& io) { // the old register is in dst
  alignas(64) u32 value[kLanes];
  u32* const dst = io.dst;
  const u32* const byte = io.src[1];
  io.dst = value;
  lanes<PkAccumU8>(io);
  io.dst = dst;
  AQL_LANES dst[i] = put_byte(dst[i], byte[i], value[i]);
}
consteval ValuOp make_pkaccum() {
  ValuOp op = make_op<PkAccumU8>(isa::Op::v_cvt_pkaccum_u8_f32, kRoundBySource | kReadsOldDst);
  op.kernel = &lanes_pkaccum;
  return op;
}

consteval ValuOp on(u8 archs, ValuOp op) {
  op.archs = archs;
  return op;
}
constexpr u8 k942 = 2, k950 = 4; // bits by Arch
#define AQL_FP8(code, op, flags) \
  on(k942, AQL_VALU_AS(v_cvt_##code, AQL_FP8_FNUZ(op), flags)), on(k950, AQL_VALU_AS(v_cvt_##code, AQL_FP8_OCP(op), flags))
#define AQL_FP8_FNUZ(op) op<num::kFp8Fnuz>
#define AQL_FP8_OCP(op) op<num::kFp8>
#define AQL_BF8(code, op, flags) \
  on(k942, AQL_VALU_AS(v_cvt_##code, op<num::kBf8Fnuz>, flags)), on(k950, AQL_VALU_AS(v_cvt_##code, op<num::kBf8>, flags))

constexpr ValuOp kOps[] = {
  AQL_VALU_HALF(v_cvt_f16_f32, F16FromF32, 0), AQL_VALU(v_cvt_f32_f16), AQL_VALU_FLAGS(v_cvt_f32_f64, kRoundBySource), AQL_VALU(v_cvt_f64_f32),
  AQL_VALU_FLAGS(v_cvt_f32_bf16, kKeepSourceDenorm), AQL_VALU(v_cvt_pkrtz_f16_f32), AQL_VALU(v_cvt_pk_f16_f32), AQL_VALU(v_cvt_pk_bf16_f32),
  AQL_VALU_FLAGS(v_cvt_sr_f16_f32, kKeepHigh), AQL_VALU_FLAGS(v_cvt_sr_bf16_f32, kKeepHigh),
  AQL_FP8(pk_fp8_f32, PkFrom, kKeepHigh), AQL_BF8(pk_bf8_f32, PkFrom, kKeepHigh),
  on(k942, make_insert8<SrFrom<num::kFp8Fnuz>>(isa::Op::v_cvt_sr_fp8_f32, 0)), on(k950, make_insert8<SrFrom<num::kFp8>>(isa::Op::v_cvt_sr_fp8_f32, 0)),
  on(k942, make_insert8<SrFrom<num::kBf8Fnuz>>(isa::Op::v_cvt_sr_bf8_f32, 0)), on(k950, make_insert8<SrFrom<num::kBf8>>(isa::Op::v_cvt_sr_bf8_f32, 0)),
  AQL_FP8(f32_fp8, F32From, 0), AQL_BF8(f32_bf8, F32From, 0), AQL_FP8(pk_f32_fp8, PkF32From, 0), AQL_BF8(pk_f32_bf8, PkF32From, 0),
  AQL_VALU(v_cvt_f32_i32), AQL_VALU(v_cvt_f32_u32), AQL_VALU(v_cvt_f64_i32), AQL_VALU(v_cvt_f64_u32),
  AQL_VALU_AS(v_cvt_f32_ubyte0, UByte<0>, 0), AQL_VALU_AS(v_cvt_f32_ubyte1, UByte<1>, 0),
  AQL_VALU_AS(v_cvt_f32_ubyte2, UByte<2>, 0), AQL_VALU_AS(v_cvt_f32_ubyte3, UByte<3>, 0),
  AQL_VALU_HALF(v_cvt_f16_i16, F16FromI16, 0), AQL_VALU_HALF(v_cvt_f16_u16, F16FromU16, 0), AQL_VALU(v_cvt_off_f32_i4),
  AQL_VALU(v_cvt_i32_f32), AQL_VALU(v_cvt_u32_f32), AQL_VALU(v_cvt_i32_f64), AQL_VALU(v_cvt_u32_f64),
  AQL_VALU(v_cvt_rpi_i32_f32), AQL_VALU(v_cvt_flr_i32_f32), AQL_VALU(v_cvt_i16_f16), AQL_VALU(v_cvt_u16_f16),
  AQL_VALU(v_cvt_norm_i16_f16), AQL_VALU(v_cvt_norm_u16_f16), AQL_VALU(v_cvt_pknorm_i16_f16), AQL_VALU(v_cvt_pknorm_u16_f16),
  AQL_VALU(v_cvt_pknorm_i16_f32), AQL_VALU(v_cvt_pknorm_u16_f32),
  AQL_VALU(v_cvt_pk_u16_u32), AQL_VALU(v_cvt_pk_i16_i32),
  AQL_VALU_FLAGS(v_cvt_pk_u8_f32, kRoundBySource), make_pkaccum(),
};

} // namespace

std::span<const ValuOp> valu_cvt_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
