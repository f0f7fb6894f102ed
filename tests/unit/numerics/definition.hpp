#pragma once
// The formats by arithmetic: a code's value from its fields with ldexp, and rounding by looking up the neighbours in the sorted
// list of all values. Shares no line with the library.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace definition {

enum class Nan { ieee, all_ones, minus_zero, never };

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits, bias;
  Nan nan;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  std::uint32_t codes() const { return 1u << bits(); }
  std::uint32_t sign_bit() const { return 1u << (bits() - 1); }
  bool has_infinity() const { return nan == Nan::ieee; }

  bool is_nan(std::uint32_t code) const {
    const std::uint32_t magnitude = code % sign_bit();
    switch (nan) {
    case Nan::ieee: return magnitude / (1u << mantissa_bits) == (1u << exponent_bits) - 1 && magnitude % (1u << mantissa_bits) != 0;
    case Nan::all_ones: return magnitude == sign_bit() - 1;
    case Nan::minus_zero: return code == sign_bit();
    case Nan::never: return false;
    }
    return false;
  }
  // Infinity for IEEE's top exponent.
  double value(std::uint32_t code) const {
    if (is_nan(code)) return std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t magnitude = code % sign_bit();
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double mantissa = static_cast<double>(magnitude % (1u << mantissa_bits));
    double v = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                             : std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), exponent - bias - mantissa_bits);
    if (nan == Nan::ieee && exponent == (1 << exponent_bits) - 1) v = std::numeric_limits<double>::infinity();
    return code >= sign_bit() ? -v : v;
  }
  // Non-negative finite values in ascending order; the index is the code.
  std::vector<double> magnitudes() const {
    std::vector<double> all;
    for (std::uint32_t code = 0; code < sign_bit(); ++code)
      if (const double v = value(code); std::isfinite(v)) all.push_back(v);
    return all;
  }
};

inline const Format kF16{"f16", 5, 10, 15, Nan::ieee};
inline const Format kBf16{"bf16", 8, 7, 127, Nan::ieee};
inline const Format kFp8{"fp8", 4, 3, 7, Nan::all_ones};
inline const Format kBf8{"bf8", 5, 2, 15, Nan::ieee};
inline const Format kFp8Fnuz{"fp8_fnuz", 4, 3, 8, Nan::minus_zero};
inline const Format kBf8Fnuz{"bf8_fnuz", 5, 2, 16, Nan::minus_zero};
inline const Format kFp6{"fp6", 2, 3, 1, Nan::never};
inline const Format kBf6{"bf6", 3, 2, 3, Nan::never};
inline const Format kFp4{"fp4", 2, 1, 1, Nan::never};

enum class Rounding { nearest_even, up, down, zero };
enum class Beyond { infinity, clamp_finite, clamp };

// Expected code of a finite or infinite value; 0xffffffff means "a NaN".
class Rounder {
public:
  static constexpr std::uint32_t kNan = 0xffffffffu;
  explicit Rounder(const Format& f) : format_(f), values_(f.magnitudes()) {
    // The value that would follow the largest one if the exponent range went on: rounding happens before the range check.
    const double largest = values_.back();
    values_.push_back(largest + (largest - values_[values_.size() - 2]));
  }
  const std::vector<double>& with_next() const { return values_; }

  std::uint32_t operator()(double x, Rounding mode, Beyond beyond) const {
    const bool negative = std::signbit(x);
    const double magnitude = std::fabs(x);
    const std::size_t overflow_code = values_.size() - 1;
    std::size_t code = overflow_code;
    bool toward_zero = mode == Rounding::zero || (mode == Rounding::up && negative) || (mode == Rounding::down && !negative);
    if (magnitude < values_.back()) {
      const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
      const std::size_t low = static_cast<std::size_t>(above - values_.begin()) - 1;
      const double below = magnitude - values_[low], over = values_[low + 1] - magnitude;
      if (below == 0) code = low;
      else if (mode == Rounding::nearest_even) code = below < over ? low : over < below ? low + 1 : low + low % 2;
      else code = toward_zero ? low : low + 1;
    }
    return finish(code, overflow_code, negative, std::isinf(x), toward_zero, beyond);
  }
  std::uint32_t finish(std::size_t code, std::size_t overflow_code, bool negative, bool infinite, bool toward_zero, Beyond beyond) const {
    const std::uint32_t sign = negative ? format_.sign_bit() : 0u;
    if (infinite || code >= overflow_code) {
      const bool clamps = format_.nan == Nan::never || beyond == Beyond::clamp || (!infinite && (beyond == Beyond::clamp_finite || toward_zero));
      if (!clamps) return format_.has_infinity() ? static_cast<std::uint32_t>(overflow_code) | sign : kNan;
      code = overflow_code - 1;
    }
    if (code == 0 && format_.nan == Nan::minus_zero) return 0;
    return static_cast<std::uint32_t>(code) | sign;
  }

private:
  Format format_;
  std::vector<double> values_;
};

} // namespace definition
