#pragma once
// An exact accumulator: a two's complement fixed-point number wide enough for any sum of products that a matrix instruction
// can form. Slow, and on purpose unlike the vector code under test.

#include <array>
#include <cstdint>

namespace aql::test {

__extension__ typedef unsigned __int128 Uint128;

template <int kLimbs>
class Fixed {
public:
  static constexpr int kLowest = -32 * kLimbs; // weight of bit 0 is 2^kLowest

  // Adds (negative ? -1 : 1) * significand * 2^exponent.
  void add(bool negative, Uint128 significand, int exponent) {
    const int position = exponent - kLowest, offset = position % 64;
    Fixed term;
    const auto low = static_cast<std::uint64_t>(significand), high = static_cast<std::uint64_t>(significand >> 64);
    const int n = position / 64;
    term.limb(n) = low << offset;
    term.limb(n + 1) = high << offset | (offset != 0 ? low >> (64 - offset) : 0);
    term.limb(n + 2) = offset != 0 ? high >> (64 - offset) : 0;
    if (negative) term.negate();
    add(term);
  }

  void add(const Fixed& other) {
    Uint128 carry = 0;
    for (int n = 0; n < kLimbs; ++n) {
      carry += limb(n);
      carry += other.limb(n);
      limb(n) = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }

  // Rounds toward minus infinity to a multiple of 2^exponent.
  void floor_at(int exponent) {
    const int cleared = exponent - kLowest;
    for (int n = 0; n < kLimbs && 64 * n < cleared; ++n) {
      limb(n) &= cleared - 64 * n >= 64 ? 0 : ~std::uint64_t{0} << (cleared - 64 * n);
    }
  }

  [[nodiscard]] bool is_negative() const { return (limb(kLimbs - 1) >> 63) != 0; }
  [[nodiscard]] bool is_zero() const {
    for (const std::uint64_t l : limbs_) {
      if (l != 0) return false;
    }
    return true;
  }

  // IEEE bits (without the sign) of the magnitude, rounded to nearest even, subnormals kept, overflow to infinity.
  [[nodiscard]] std::uint64_t round(int mantissa_bits, int exponent_bits) const {
    Fixed m = *this;
    if (is_negative()) m.negate();
    const int top = m.highest_bit();
    if (top < 0) return 0;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = top + kLowest;
    if (exponent < 1 - bias) exponent = 1 - bias; // subnormal: the unit stays that of the smallest normals
    const int unit = exponent - mantissa_bits - kLowest; // position of the last kept bit
    std::uint64_t kept = 0;
    for (int bit = mantissa_bits; bit >= 0; --bit) kept = kept << 1 | (m.bit(unit + bit) ? 1u : 0u);
    bool below = false;
    for (int bit = 0; bit < unit - 1; ++bit) below = below || m.bit(bit);
    if (m.bit(unit - 1) && (below || (kept & 1))) ++kept;
    // A carry out of the significand runs into the exponent field by itself.
    const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
    if (exponent > bias) return infinity;
    const bool subnormal = (kept >> mantissa_bits) == 0;
    return subnormal ? kept : (static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits) + kept;
  }

private:
  [[nodiscard]] std::uint64_t& limb(int n) { return limbs_[static_cast<std::size_t>(n)]; }
  [[nodiscard]] std::uint64_t limb(int n) const { return limbs_[static_cast<std::size_t>(n)]; }
  [[nodiscard]] bool bit(int n) const { return n >= 0 && n < 64 * kLimbs && ((limb(n / 64) >> (n % 64)) & 1) != 0; }
  void negate() {
    unsigned carry = 1;
    for (std::uint64_t& l : limbs_) {
      l = ~l + carry;
      carry = carry != 0 && l == 0;
    }
  }
  [[nodiscard]] int highest_bit() const {
    for (int n = 64 * kLimbs - 1; n >= 0; --n) {
      if (n % 64 == 63 && limb(n / 64) == 0) n -= 63;
      else if (bit(n)) return n;
    }
    return -1;
  }

  std::array<std::uint64_t, kLimbs> limbs_{};
};

} // namespace aql::test
