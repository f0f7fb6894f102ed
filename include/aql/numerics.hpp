#pragma once
// Small floating-point formats: f16, bf16, fp8/bf8 (OCP and FNUZ), fp6, bf6, fp4, and the block scale e8m0.
//
// Each format is a bit layout (FloatFormat) and a value type that holds raw bits. Decoding is exact; encoding rounds once,
// from f32 or f64, with a chosen rounding, overflow rule, or with given random bits (stochastic rounding).
//
//   name       sign exp man  bias  infinity  NaN                 largest    source
//   f16           1   5  10    15  yes       IEEE                65504      IEEE 754 binary16
//   bf16          1   8   7   127  yes       IEEE                3.39e38    upper half of binary32
//   fp8           1   4   3     7  no        s.1111.111          448        OCP OFP8 rev 1.0, E4M3 (gfx950)
//   bf8           1   5   2    15  yes       IEEE                57344      OCP OFP8 rev 1.0, E5M2 (gfx950)
//   fp8_fnuz      1   4   3     8  no        0x80, no -0         240        CDNA3 ISA, FP8 (gfx942)
//   bf8_fnuz      1   5   2    16  no        0x80, no -0         57344      CDNA3 ISA, BF8 (gfx942)
//   fp6           1   2   3     1  no        none                7.5        OCP MX rev 1.0, E2M3
//   bf6           1   3   2     3  no        none                28         OCP MX rev 1.0, E3M2
//   fp4           1   2   1     1  no        none                6          OCP MX rev 1.0, E2M1
//   e8m0          0   8   0   127  no        0xff                2^127      OCP MX rev 1.0, scale; no zero, no sign
//
// Bits from the top: sign, exponent, mantissa; an exponent field of 0 is zero or subnormal in every format but e8m0.
//
// The free functions decode(), encode() and encode_sr() work on raw bits, have no data-dependent branches and are always
// inlined: made for loops over lanes. They use integer arithmetic and exact multiplications only, so neither the host's
// rounding mode nor its flush-to-zero bits change a result (bf16 included: its subnormals never pass the FPU).
// Thread safety: pure functions and constants.

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#if defined(__GNUC__)
#define AQL_NUM_INLINE [[gnu::always_inline]] constexpr inline
#else
#define AQL_NUM_INLINE constexpr inline
#endif

namespace aql::num {

// Numbered as in the GPU's MODE register.
enum class Round : std::uint8_t { nearest_even = 0, up = 1, down = 2, zero = 3 };

// What becomes of a finite value beyond the largest one of the format, and of an infinity. Formats without NaN (fp6, bf6, fp4) clamp always.
enum class Overflow : std::uint8_t {
  infinity,     // as IEEE: infinity, or NaN where the format has none; modes that round toward zero give the largest value
  clamp_finite, // finite values give the largest value in every mode; infinities stay (MODE.FP16_OVFL for f16)
  clamp,        // both give the largest value (OCP "saturating"; MODE.FP16_OVFL for fp8)
};

enum class Special : std::uint8_t {
  ieee,   // top exponent: infinity and NaN
  fn,     // "finite": all ones is NaN, no infinity
  fnuz,   // "finite, unsigned zero": the code of -0 is the only NaN, no infinity
  none,   // every code is a number
};

struct FloatFormat {
  std::uint8_t bits, exponent_bits, mantissa_bits;
  std::uint8_t bias;
  Special special;

  [[nodiscard]] constexpr std::uint32_t sign_mask() const noexcept { return 1u << (bits - 1); }
  [[nodiscard]] constexpr std::uint32_t mantissa_mask() const noexcept { return (1u << mantissa_bits) - 1; }
  [[nodiscard]] constexpr std::uint32_t exponent_mask() const noexcept { return (1u << exponent_bits) - 1; } // not shifted
  [[nodiscard]] constexpr bool has_infinity() const noexcept { return special == Special::ieee; }
  [[nodiscard]] constexpr bool has_nan() const noexcept { return special != Special::none; }
  [[nodiscard]] constexpr std::uint32_t infinity() const noexcept { return exponent_mask() << mantissa_bits; }
  // Magnitude of the largest finite value.
  [[nodiscard]] constexpr std::uint32_t max_finite() const noexcept {
    return special == Special::ieee ? infinity() - 1 : special == Special::fn ? sign_mask() - 2 : sign_mask() - 1;
  }
  // The quiet NaN, sign bit clear (fnuz: its only NaN). Formats without one: the largest value, as AMD's conversions give.
  [[nodiscard]] constexpr std::uint32_t nan() const noexcept {
    return special == Special::ieee ? infinity() | (1u << (mantissa_bits - 1)) : special == Special::fnuz ? sign_mask() : sign_mask() - 1;
  }
  friend constexpr bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

inline constexpr FloatFormat kF16{16, 5, 10, 15, Special::ieee};
inline constexpr FloatFormat kBf16{16, 8, 7, 127, Special::ieee};
inline constexpr FloatFormat kFp8{8, 4, 3, 7, Special::fn};
inline constexpr FloatFormat kBf8{8, 5, 2, 15, Special::ieee};
inline constexpr FloatFormat kFp8Fnuz{8, 4, 3, 8, Special::fnuz};
inline constexpr FloatFormat kBf8Fnuz{8, 5, 2, 16, Special::fnuz};
inline constexpr FloatFormat kFp6{6, 2, 3, 1, Special::none};
inline constexpr FloatFormat kBf6{6, 3, 2, 3, Special::none};
inline constexpr FloatFormat kFp4{4, 2, 1, 1, Special::none};

// --- decoding -------------------------------------------------------------------------------------------------------

// Exact value of a code as f32 bits. Signs of zeros and NaNs are kept, NaN payloads move to the top of the mantissa and
// stay signalling if they were.
template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t decode_bits(std::uint32_t code) noexcept {
  constexpr unsigned kUp = 23u - F.mantissa_bits;
  const std::uint32_t sign = (code & F.sign_mask()) << (32u - F.bits);
  const std::uint32_t magnitude = code & (F.sign_mask() - 1);
  if constexpr (F.bias == 127) return sign | (magnitude << kUp);
  const std::uint32_t normal = (magnitude << kUp) + ((127u - F.bias) << 23);
  // mantissa * 2^(1 - bias - mantissa_bits): exact, and never subnormal in f32
  constexpr float kQuantum = std::bit_cast<float>((128u - F.bias - F.mantissa_bits) << 23);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * kQuantum);
  std::uint32_t result = magnitude <= F.mantissa_mask() ? subnormal : normal;
  if constexpr (F.special == Special::ieee) {
    constexpr std::uint32_t kGap = (255u - (F.exponent_mask() + 127u - F.bias)) << 23; // moves the top exponent to f32's
    result = magnitude >= F.infinity() ? normal + kGap : result;
  } else if constexpr (F.special == Special::fn) {
    result = magnitude == F.sign_mask() - 1 ? 0x7fc00000u : result;
  } else if constexpr (F.special == Special::fnuz) {
    if (code == F.sign_mask()) return 0x7fc00000u;
  }
  return sign | result;
}

template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE float decode(std::uint32_t code) noexcept { return std::bit_cast<float>(decode_bits<F>(code)); }

namespace detail {
template <FloatFormat F>
constexpr std::array<std::uint32_t, std::size_t{1} << F.bits> make_table() noexcept {
  std::array<std::uint32_t, std::size_t{1} << F.bits> table{};
  for (std::uint32_t code = 0; code < table.size(); ++code) table[code] = decode_bits<F>(code);
  return table;
}
} // namespace detail

// f32 bits of every code, for formats of up to 8 bits: where a load is cheaper than the arithmetic.
template <FloatFormat F>
  requires(F.bits <= 8)
inline constexpr std::array<std::uint32_t, std::size_t{1} << F.bits> kDecodeTable = detail::make_table<F>();

// --- encoding -------------------------------------------------------------------------------------------------------

namespace detail {

enum class Mode : std::uint8_t { nearest_even, up, down, zero, stochastic };

template <class Bits>
struct Source; // layout of the wide format
template <>
struct Source<std::uint32_t> { static constexpr int mantissa = 23, bias = 127, top = 31; };
template <>
struct Source<std::uint64_t> { static constexpr int mantissa = 52, bias = 1023, top = 63; };

// `random`: for stochastic rounding, already aligned to the bits that a normal result drops (mantissa - F.mantissa_bits of them).
template <FloatFormat F, class Bits>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t encode(Bits source, Mode mode, Overflow overflow, Bits random) noexcept {
  constexpr int kMantissa = Source<Bits>::mantissa;
  constexpr int kDrop = kMantissa - F.mantissa_bits;
  constexpr int kRebase = Source<Bits>::bias - F.bias;
  constexpr Bits kOne = 1;
  constexpr Bits kInfinity = (kOne << Source<Bits>::top) - (kOne << kMantissa);
  static_assert(kRebase >= 0 && kDrop > 0);

  const bool negative = (source >> Source<Bits>::top) != 0;
  const Bits magnitude = source & ((kOne << Source<Bits>::top) - 1);
  const int field = static_cast<int>(magnitude >> kMantissa);
  const Bits significand = (magnitude & ((kOne << kMantissa) - 1)) | (field == 0 ? Bits{0} : kOne << kMantissa);
  // How many more bits than a normal result the value loses: > 0 when it is subnormal in F.
  const int deficit = kRebase + 1 - (field == 0 ? 1 : field);
  // Rebased magnitudes carry from mantissa to exponent by themselves; so does a subnormal that rounds up to the smallest normal.
  const Bits value = deficit > 0 ? significand : magnitude - (static_cast<Bits>(kRebase) << kMantissa);
  const int extra = deficit < 0 ? 0 : deficit > kMantissa + 2 ? kMantissa + 2 : deficit;

  Bits rounded;
  if (mode == Mode::stochastic) {
    rounded = ((value >> extra) + random) >> kDrop;
  } else {
    const int shift = kDrop + extra > kMantissa + 2 ? kMantissa + 2 : kDrop + extra; // all bits gone, but still seen as "not zero"
    Bits add = 0;
    if (mode == Mode::nearest_even) add = (kOne << (shift - 1)) - 1 + ((value >> shift) & 1);
    if (mode == Mode::up) add = negative ? Bits{0} : (kOne << shift) - 1;
    if (mode == Mode::down) add = negative ? (kOne << shift) - 1 : Bits{0};
    rounded = (value + add) >> shift;
  }

  const bool is_infinite = magnitude == kInfinity;
  const bool outward = mode == Mode::nearest_even || mode == Mode::stochastic || (mode == Mode::up && !negative) || (mode == Mode::down && negative);
  constexpr std::uint32_t kBeyond = F.has_infinity() ? F.infinity() : F.nan();
  const bool clamped = overflow == Overflow::clamp || (!is_infinite && (overflow == Overflow::clamp_finite || !outward));
  std::uint32_t result = static_cast<std::uint32_t>(rounded);
  result = is_infinite || rounded > F.max_finite() ? (clamped ? F.max_finite() : kBeyond) : result;

  // NaN: the top of the payload, made quiet. Only IEEE layouts have room for one.
  std::uint32_t nan = F.nan();
  if constexpr (F.special == Special::ieee && F.bits == 16)
    nan |= static_cast<std::uint32_t>(magnitude >> kDrop) & F.mantissa_mask();
  result = magnitude > kInfinity ? nan : result;

  const std::uint32_t sign = negative ? F.sign_mask() : 0u;
  if constexpr (F.special == Special::fnuz) return result == 0 || result == F.nan() ? result : result | sign;
  return result | sign;
}

template <FloatFormat F, class Bits>
[[nodiscard]] AQL_NUM_INLINE Bits align_random(std::uint32_t random, unsigned source_mantissa_bits) noexcept {
  constexpr unsigned kDrop = static_cast<unsigned>(Source<Bits>::mantissa) - F.mantissa_bits;
  const unsigned used = source_mantissa_bits - F.mantissa_bits; // 1..22
  return static_cast<Bits>(static_cast<Bits>(random >> (32u - used)) << (kDrop - used));
}

} // namespace detail

// Rounds a value to F once and returns the code.
template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t encode(float value, Round round = Round::nearest_even, Overflow overflow = Overflow::infinity) noexcept {
  return detail::encode<F, std::uint32_t>(std::bit_cast<std::uint32_t>(value), static_cast<detail::Mode>(round), overflow, 0);
}
template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t encode(double value, Round round = Round::nearest_even, Overflow overflow = Overflow::infinity) noexcept {
  return detail::encode<F, std::uint64_t>(std::bit_cast<std::uint64_t>(value), static_cast<detail::Mode>(round), overflow, 0);
}

// Stochastic rounding as the v_cvt_*sr* instructions do it: of `random` the top (source mantissa bits - F.mantissa_bits) bits are
// added below the last kept bit, and the sum is truncated. What a subnormal result loses beyond those bits is truncated before.
// `source_mantissa_bits` is the width of the format that the value came from: 23 for f32, 10 for f16, 7 for bf16.
// So the chance of rounding away from zero is exactly the dropped fraction, for every result that is not subnormal in F.
template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t encode_sr(float value, std::uint32_t random, Overflow overflow = Overflow::infinity,
                                                     unsigned source_mantissa_bits = 23) noexcept {
  return detail::encode<F, std::uint32_t>(std::bit_cast<std::uint32_t>(value), detail::Mode::stochastic, overflow,
                                          detail::align_random<F, std::uint32_t>(random, source_mantissa_bits));
}
template <FloatFormat F>
[[nodiscard]] AQL_NUM_INLINE std::uint32_t encode_sr(double value, std::uint32_t random, Overflow overflow = Overflow::infinity,
                                                     unsigned source_mantissa_bits = 23) noexcept {
  return detail::encode<F, std::uint64_t>(std::bit_cast<std::uint64_t>(value), detail::Mode::stochastic, overflow,
                                          detail::align_random<F, std::uint64_t>(random, source_mantissa_bits));
}

// --- value types ----------------------------------------------------------------------------------------------------

// A number in format F. Same size as its code, no invariant but "unused high bits are 0". == compares codes, not values:
// 0 and -0 differ, a NaN equals itself.
template <FloatFormat F>
struct SmallFloat {
  using Storage = std::conditional_t<(F.bits > 8), std::uint16_t, std::uint8_t>;
  static constexpr FloatFormat format = F;
  Storage bits = 0;

  [[nodiscard]] static constexpr SmallFloat from_bits(std::uint32_t code) noexcept {
    return {static_cast<Storage>(code & ((F.sign_mask() << 1) - 1))};
  }
  [[nodiscard]] static constexpr SmallFloat from_float(float v, Round r = Round::nearest_even, Overflow o = Overflow::infinity) noexcept {
    return from_bits(encode<F>(v, r, o));
  }
  [[nodiscard]] static constexpr SmallFloat from_double(double v, Round r = Round::nearest_even, Overflow o = Overflow::infinity) noexcept {
    return from_bits(encode<F>(v, r, o));
  }
  [[nodiscard]] static constexpr SmallFloat from_float_sr(float v, std::uint32_t random, Overflow o = Overflow::infinity) noexcept {
    return from_bits(encode_sr<F>(v, random, o));
  }
  [[nodiscard]] static constexpr SmallFloat largest() noexcept { return from_bits(F.max_finite()); }
  [[nodiscard]] static constexpr SmallFloat smallest_normal() noexcept { return from_bits(1u << F.mantissa_bits); }
  [[nodiscard]] static constexpr SmallFloat smallest() noexcept { return from_bits(1); }
  [[nodiscard]] static constexpr SmallFloat infinity() noexcept requires(F.has_infinity()) { return from_bits(F.infinity()); }
  [[nodiscard]] static constexpr SmallFloat quiet_nan() noexcept requires(F.has_nan()) { return from_bits(F.nan()); }

  [[nodiscard]] constexpr float to_float() const noexcept {
    if constexpr (F.bits <= 8) return std::bit_cast<float>(kDecodeTable<F>[bits & ((F.sign_mask() << 1) - 1)]);
    else return decode<F>(bits);
  }
  [[nodiscard]] constexpr double to_double() const noexcept { return static_cast<double>(to_float()); }
  [[nodiscard]] constexpr std::uint32_t magnitude() const noexcept { return bits & (F.sign_mask() - 1); }
  [[nodiscard]] constexpr bool sign() const noexcept { return (bits & F.sign_mask()) != 0; }
  [[nodiscard]] constexpr bool is_nan() const noexcept {
    if constexpr (F.special == Special::ieee) return magnitude() > F.infinity();
    else if constexpr (F.special == Special::fn) return magnitude() == F.nan();
    else if constexpr (F.special == Special::fnuz) return bits == F.nan();
    else return false;
  }
  [[nodiscard]] constexpr bool is_infinite() const noexcept { return F.has_infinity() && magnitude() == F.infinity(); }
  [[nodiscard]] constexpr bool is_zero() const noexcept { return magnitude() == 0 && !is_nan(); }
  [[nodiscard]] constexpr bool is_subnormal() const noexcept { return magnitude() != 0 && magnitude() <= F.mantissa_mask(); }
  friend constexpr bool operator==(SmallFloat, SmallFloat) = default;
};

using f16 = SmallFloat<kF16>;
using bf16 = SmallFloat<kBf16>;
using fp8 = SmallFloat<kFp8>;
using bf8 = SmallFloat<kBf8>;
using fp8_fnuz = SmallFloat<kFp8Fnuz>;
using bf8_fnuz = SmallFloat<kBf8Fnuz>;
using fp6 = SmallFloat<kFp6>;
using bf6 = SmallFloat<kBf6>;
using fp4 = SmallFloat<kFp4>;

// Block scale 2^(bits - 127); 255 is NaN. There is no zero and no sign.
struct e8m0 {
  std::uint8_t bits = 127;

  [[nodiscard]] static constexpr e8m0 from_bits(std::uint32_t code) noexcept { return {static_cast<std::uint8_t>(code)}; }
  // The largest power of two not above |value|: what v_cvt_scalef32_* take from their f32 scale operand (its exponent field).
  // Subnormals and zero give 2^-127, infinities and NaN give NaN.
  [[nodiscard]] static constexpr e8m0 from_float(float value) noexcept {
    return {static_cast<std::uint8_t>((std::bit_cast<std::uint32_t>(value) >> 23) & 255u)};
  }
  [[nodiscard]] constexpr bool is_nan() const noexcept { return bits == 255; }
  [[nodiscard]] constexpr int exponent() const noexcept { return static_cast<int>(bits) - 127; }
  [[nodiscard]] constexpr float to_float() const noexcept {
    return std::bit_cast<float>(bits == 255 ? 0x7fc00000u : bits == 0 ? 0x00400000u : static_cast<std::uint32_t>(bits) << 23);
  }
  // As f64 every scale is normal.
  [[nodiscard]] constexpr double to_double() const noexcept {
    return std::bit_cast<double>(bits == 255 ? 0x7ff8000000000000ull : (static_cast<std::uint64_t>(bits) + 896u) << 52);
  }
  friend constexpr bool operator==(e8m0, e8m0) = default;
};

// --- packed 6-bit elements ------------------------------------------------------------------------------------------

// 32 elements of 6 bits in six dwords, element 0 in the low bits: the register layout of fp6 and bf6 blocks.
using Packed6x32 = std::array<std::uint32_t, 6>;
[[nodiscard]] constexpr std::uint32_t get6(const Packed6x32& words, unsigned element) noexcept {
  const unsigned at = element * 6, word = at / 32, shift = at % 32;
  const std::uint64_t pair = words[word] | (word + 1 < 6 ? static_cast<std::uint64_t>(words[word + 1]) << 32 : 0u);
  return static_cast<std::uint32_t>(pair >> shift) & 63u;
}
constexpr void set6(Packed6x32& words, unsigned element, std::uint32_t code) noexcept {
  const unsigned at = element * 6, word = at / 32, shift = at % 32;
  const std::uint64_t mask = std::uint64_t{63} << shift, value = static_cast<std::uint64_t>(code & 63u) << shift;
  words[word] = (words[word] & ~static_cast<std::uint32_t>(mask)) | static_cast<std::uint32_t>(value);
  if (shift > 26) words[word + 1] = (words[word + 1] & ~static_cast<std::uint32_t>(mask >> 32)) | static_cast<std::uint32_t>(value >> 32);
}

} // namespace aql::num
