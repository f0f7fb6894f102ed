#pragma once
// Reference arithmetic of f16: exact in 128-bit floats, rounded once.

#include "isa/num_reference.hpp"

namespace reference {

inline constexpr std::uint32_t kDefaultNan = 0xfe00;

// The first NaN source, quieted; the default NaN for an invalid operation; else the exact value, rounded.
inline std::uint32_t nan_of(const Call& c, unsigned sources) {
  for (unsigned n = 0; n < sources; ++n)
    if (f16_nan(c.u(n))) return c.u(n) | 0x200;
  return 0;
}
inline f128 exact(std::uint32_t h) { return static_cast<f128>(f16_value(h)); }

// a * b + d with one rounding; the signs of zero sums as IEEE has them.
inline std::uint32_t fused(std::uint32_t a, std::uint32_t b, std::uint32_t d, Mode mode) {
  const bool product_negative = ((a ^ b) & 0x8000) != 0;
  const bool infinite = f16_inf(a) || f16_inf(b);
  if (infinite && ((a & 0x7fff) == 0 || (b & 0x7fff) == 0)) return kDefaultNan;
  if (infinite && f16_inf(d) && product_negative != ((d & 0x8000) != 0)) return kDefaultNan;
  if (infinite) return product_negative ? 0xfc00 : 0x7c00;
  if (f16_inf(d)) return d;
  const f128 sum = exact(a) * exact(b) + exact(d);
  const bool both_negative = product_negative && (d & 0x8000) != 0, both_positive = !product_negative && (d & 0x8000) == 0;
  const bool product_zero = (a & 0x7fff) == 0 || (b & 0x7fff) == 0, sum_of_zeros = product_zero && (d & 0x7fff) == 0;
  bool negative_zero = mode.round16_64() == 2;
  if (sum_of_zeros && both_negative) negative_zero = true;
  if (sum_of_zeros && both_positive) negative_zero = false;
  return to_f16(sum, mode, negative_zero);
}
inline std::uint32_t product(std::uint32_t a, std::uint32_t b, Mode mode) {
  if ((f16_inf(a) && (b & 0x7fff) == 0) || (f16_inf(b) && (a & 0x7fff) == 0)) return kDefaultNan;
  const std::uint32_t sign = (a ^ b) & 0x8000;
  if (f16_inf(a) || f16_inf(b)) return sign | 0x7c00;
  return to_f16(exact(a) * exact(b), mode, sign != 0);
}
inline bool less(std::uint32_t a, std::uint32_t b) { // -0 below +0
  if (f16_value(a) != f16_value(b)) return f16_value(a) < f16_value(b);
  return (a & 0x8000) > (b & 0x8000);
}
inline std::uint32_t pick(std::uint32_t a, std::uint32_t b, bool max, bool ieee) {
  if (ieee && f16_snan(a)) return a | 0x200;
  if (ieee && f16_snan(b)) return b | 0x200;
  if (f16_nan(a)) return b;
  if (f16_nan(b)) return a;
  return less(a, b) != max ? a : b;
}

} // namespace reference
