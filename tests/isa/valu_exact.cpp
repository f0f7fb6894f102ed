#include "valu_exact.hpp"

#include <bit>
#include <cstdlib>

namespace aql::test {

Exact::Exact(bool negative, std::uint64_t mantissa, int exponent) : negative_(negative) { place(mantissa, exponent); }

void Exact::place(std::uint64_t mantissa, int exponent) {
  if (mantissa == 0) return;
  const int at = exponent - kLowest;
  if (at < 0 || at / 32 + 4 > kWords) std::abort();
  std::uint64_t carry = 0;
  for (int n = 0; n < 4 || carry != 0; ++n) {
    const int word = at / 32 + n;
    std::uint64_t part = 0;
    if (n < 3) {
      const int shift = at % 32;
      const std::uint64_t low = mantissa << shift, high = shift == 0 ? 0 : mantissa >> (64 - shift);
      part = n == 0 ? low & 0xffffffffu : n == 1 ? low >> 32 : high;
    }
    const std::uint64_t sum = word_[static_cast<unsigned>(word)] + part + carry;
    word_[static_cast<unsigned>(word)] = static_cast<std::uint32_t>(sum);
    carry = sum >> 32;
  }
}

namespace {

struct Parts {
  bool negative;
  std::uint64_t mantissa;
  int exponent;
};
Parts parts_f32(std::uint32_t v) {
  const unsigned e = (v >> 23) & 255u;
  const std::uint64_t f = v & 0x7fffffu;
  return {(v >> 31) != 0, e == 0 ? f : f | 0x800000u, static_cast<int>(e == 0 ? 1 : e) - 150};
}
Parts parts_f64(std::uint64_t v) {
  const unsigned e = static_cast<unsigned>(v >> 52) & 2047u;
  const std::uint64_t f = v & 0xfffffffffffffu;
  return {(v >> 63) != 0, e == 0 ? f : f | 0x10000000000000u, static_cast<int>(e == 0 ? 1 : e) - 1075};
}

} // namespace

Exact Exact::of_f32(std::uint32_t bits) {
  const Parts p = parts_f32(bits);
  return {p.negative, p.mantissa, p.exponent};
}
Exact Exact::of_f64(std::uint64_t bits) {
  const Parts p = parts_f64(bits);
  return {p.negative, p.mantissa, p.exponent};
}
Exact Exact::product_f32(std::uint32_t a, std::uint32_t b) {
  const Parts x = parts_f32(a), y = parts_f32(b);
  return {x.negative != y.negative, x.mantissa * y.mantissa, x.exponent + y.exponent};
}
Exact Exact::product_f64(std::uint64_t a, std::uint64_t b) {
  const Parts x = parts_f64(a), y = parts_f64(b);
  Exact r;
  r.negative_ = x.negative != y.negative;
  const std::uint64_t low = y.mantissa & 0x7ffffffu, high = y.mantissa >> 27; // 27 + 26 bits: both products fit
  r.place((x.mantissa & 0xffffffffu) * low, x.exponent + y.exponent);
  r.place((x.mantissa >> 32) * low, x.exponent + y.exponent + 32);
  r.place((x.mantissa & 0xffffffffu) * high, x.exponent + y.exponent + 27);
  r.place((x.mantissa >> 32) * high, x.exponent + y.exponent + 59);
  return r;
}

int Exact::top() const {
  for (int n = kWords - 1; n >= 0; --n) {
    if (word_[static_cast<unsigned>(n)] != 0) return n * 32 + 31 - std::countl_zero(word_[static_cast<unsigned>(n)]);
  }
  return -1;
}
bool Exact::is_zero() const { return top() < 0; }
bool Exact::bit(int n) const { return n >= 0 && n < kWords * 32 && ((word_[static_cast<unsigned>(n / 32)] >> (n % 32)) & 1u) != 0; }

Exact Exact::scaled(int exponent) const {
  if (exponent == 0) return *this;
  Exact r;
  r.negative_ = negative_;
  for (int n = 0; n < kWords * 32; ++n) {
    if (!bit(n)) continue;
    const int to = n + exponent;
    if (to < 0 || to >= kWords * 32) std::abort();
    r.word_[static_cast<unsigned>(to / 32)] |= 1u << (to % 32);
  }
  return r;
}

Exact Exact::plus(const Exact& other, Rounding rounding) const {
  const auto compare = [&] {
    for (int n = kWords - 1; n >= 0; --n) {
      const auto i = static_cast<unsigned>(n);
      if (word_[i] != other.word_[i]) return word_[i] < other.word_[i] ? -1 : 1;
    }
    return 0;
  };
  Exact r;
  if (negative_ == other.negative_) {
    r.negative_ = negative_;
    std::uint64_t carry = 0;
    for (unsigned n = 0; n < kWords; ++n) {
      carry += std::uint64_t{word_[n]} + other.word_[n];
      r.word_[n] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    return r;
  }
  const int order = compare();
  const Exact& large = order >= 0 ? *this : other;
  const Exact& small = order >= 0 ? other : *this;
  r.negative_ = order == 0 ? rounding == Rounding::down : large.negative_;
  std::int64_t borrow = 0;
  for (unsigned n = 0; n < kWords; ++n) {
    std::int64_t d = std::int64_t{large.word_[n]} - small.word_[n] - borrow;
    borrow = d < 0 ? 1 : 0;
    if (d < 0) d += std::int64_t{1} << 32;
    r.word_[n] = static_cast<std::uint32_t>(d);
  }
  return r;
}

// The biased exponent and fraction of the result; the caller adds the sign. Exponents are those of the value's highest bit.
std::uint64_t Exact::round_to(int fraction_bits, int min_exponent, int max_exponent, Rounding rounding) const {
  const int high = top();
  if (high < 0) return 0;
  int exponent = high + kLowest;
  if (exponent < min_exponent) exponent = min_exponent;
  const int last = exponent - fraction_bits - kLowest; // bit index of the last place
  std::uint64_t mantissa = 0;
  for (int n = 0; n <= fraction_bits; ++n) mantissa |= std::uint64_t{bit(last + n)} << n;
  const bool half = bit(last - 1);
  bool below = false;
  for (int n = last - 2; n >= 0 && !below; --n) below = bit(n);
  bool increment = false;
  switch (rounding) {
  case Rounding::nearest_even: increment = half && (below || (mantissa & 1u) != 0); break;
  case Rounding::up: increment = (half || below) && !negative_; break;
  case Rounding::down: increment = (half || below) && negative_; break;
  case Rounding::zero: break;
  }
  mantissa += increment ? 1 : 0;
  const std::uint64_t hidden = std::uint64_t{1} << fraction_bits;
  if (mantissa == hidden << 1) {
    mantissa = hidden;
    ++exponent;
  }
  if (exponent > max_exponent) {
    const bool infinite = rounding == Rounding::nearest_even || rounding == (negative_ ? Rounding::down : Rounding::up);
    const std::uint64_t infinity = static_cast<std::uint64_t>(max_exponent - min_exponent + 2) << fraction_bits;
    return infinite ? infinity : infinity - 1;
  }
  if (mantissa < hidden) return mantissa; // denormal
  return static_cast<std::uint64_t>(exponent - min_exponent + 1) << fraction_bits | (mantissa & (hidden - 1));
}

std::uint32_t Exact::to_f32(Rounding rounding) const {
  return static_cast<std::uint32_t>(round_to(23, -126, 127, rounding)) | (negative_ ? 0x80000000u : 0u);
}
std::uint64_t Exact::to_f64(Rounding rounding) const {
  return round_to(52, -1022, 1023, rounding) | (negative_ ? std::uint64_t{1} << 63 : 0u);
}

} // namespace aql::test
