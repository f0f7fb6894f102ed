#include "sim/exec/valu_scaled_fma.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace aql::sim {
namespace {

__extension__ using u128 = unsigned __int128;

// magnitude * 2^exponent; `sticky`: something non-zero below was dropped.
struct Exact {
  bool negative;
  u128 magnitude;
  int exponent;
  bool sticky;
};

template <class T> struct Layout;
template <> struct Layout<float> {
  using Bits = std::uint32_t;
  static constexpr int kFraction = 23, kBias = 127, kMax = 255;
};
template <> struct Layout<double> {
  using Bits = std::uint64_t;
  static constexpr int kFraction = 52, kBias = 1023, kMax = 2047;
};

template <class T> Exact unpack(T v) {
  using L = Layout<T>;
  const auto bits = std::bit_cast<typename L::Bits>(v);
  const int e = static_cast<int>((bits >> L::kFraction) & static_cast<typename L::Bits>(L::kMax));
  const u128 fraction = bits & ((typename L::Bits{1} << L::kFraction) - 1);
  const bool negative = (bits >> (sizeof(T) * 8 - 1)) != 0;
  if (e == 0) return {negative, fraction, 1 - L::kBias - L::kFraction, false};
  return {negative, fraction | u128{1} << L::kFraction, e - L::kBias - L::kFraction, false};
}

int width(u128 v) {
  const auto high = static_cast<std::uint64_t>(v >> 64), low = static_cast<std::uint64_t>(v);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
}

// Lowers the exponent to `to` where that fits in 126 bits, else as far as possible.
void left_align(Exact& x, int to) {
  const int room = 126 - width(x.magnitude), by = x.exponent - to;
  const int shift = by < room ? by : room;
  if (x.magnitude == 0 || shift <= 0) return;
  x.magnitude <<= shift;
  x.exponent -= shift;
}

void right_align(Exact& x, int to) {
  const int by = to - x.exponent;
  if (by <= 0) return;
  if (by > 127) {
    x.sticky = x.sticky || x.magnitude != 0;
    x.magnitude = 0;
  } else {
    x.sticky = x.sticky || (x.magnitude & ((u128{1} << by) - 1)) != 0;
    x.magnitude >>= by;
  }
  x.exponent = to;
}

Exact add(Exact p, Exact c, unsigned round) {
  if (p.magnitude == 0 && c.magnitude == 0) {
    p.negative = p.negative == c.negative ? p.negative : round == 2;
    return p;
  }
  if (p.magnitude == 0) return c;
  if (c.magnitude == 0) return p;
  // Both to the higher of the exponents that the other one can be lowered to.
  Exact& high = p.exponent > c.exponent ? p : c;
  Exact& low = p.exponent > c.exponent ? c : p;
  left_align(high, low.exponent);
  right_align(low, high.exponent);
  if (p.negative == c.negative) return {p.negative, p.magnitude + c.magnitude, high.exponent, low.sticky};
  const bool high_larger = high.magnitude > low.magnitude || (high.magnitude == low.magnitude && !low.sticky);
  if (high_larger) {
    u128 difference = high.magnitude - low.magnitude;
    if (low.sticky) difference -= 1; // the dropped part borrows
    const bool zero = difference == 0 && !low.sticky;
    return {zero ? round == 2 : high.negative, difference, high.exponent, low.sticky};
  }
  return {low.negative, low.magnitude - high.magnitude, high.exponent, low.sticky};
}

template <class T> T pack(Exact x, unsigned round) {
  using L = Layout<T>;
  using B = typename L::Bits;
  const B sign = static_cast<B>(x.negative ? B{1} << (sizeof(T) * 8 - 1) : B{0});
  if (x.magnitude == 0 && !x.sticky) return std::bit_cast<T>(sign);
  // Two bits below the last place of the result, and sticky.
  const int lowest = 1 - L::kBias - L::kFraction; // exponent of the smallest denormal
  left_align(x, lowest - 2);
  int last = x.exponent + width(x.magnitude) - (L::kFraction + 1);
  if (last < lowest) last = lowest;
  right_align(x, last - 2);
  // Fewer bits than two below the last place: the value is exact there.
  const int below = last - x.exponent;
  u128 value = below >= 0 ? x.magnitude >> below : x.magnitude << -below;
  const u128 rest = below > 0 ? x.magnitude & ((u128{1} << below) - 1) : 0;
  const u128 half = below > 0 ? u128{1} << (below - 1) : 0;
  const bool inexact = rest != 0 || x.sticky;
  const bool over_half = below > 0 && (rest > half || (rest == half && x.sticky));
  const bool tie = below > 0 && rest == half && !x.sticky;
  const bool away = round == 0 ? over_half || (tie && (value & 1) != 0) : round == 1 ? inexact && !x.negative : round == 2 ? inexact && x.negative : false;
  if (away) value += 1;
  if (value >> (L::kFraction + 1) != 0) {
    value >>= 1;
    last += 1;
  }
  const bool normal = value >> L::kFraction != 0;
  const int exponent = normal ? last - lowest + 1 : 0;
  if (exponent >= L::kMax) {
    const bool to_infinity = round == 0 || (round == 1 && !x.negative) || (round == 2 && x.negative);
    const B infinity = static_cast<B>(static_cast<B>(L::kMax) << L::kFraction);
    return std::bit_cast<T>(static_cast<B>(sign | (to_infinity ? infinity : infinity - 1)));
  }
  const B fraction = static_cast<B>(value) & ((B{1} << L::kFraction) - 1);
  return std::bit_cast<T>(static_cast<B>(sign | static_cast<B>(exponent) << L::kFraction | fraction));
}

template <class T> T scaled(T a, T b, T c, int scale, unsigned round) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return std::fma(a, b, c);
  const Exact x = unpack(a), y = unpack(b);
  const Exact product{x.negative != y.negative, x.magnitude * y.magnitude, x.exponent + y.exponent, false};
  Exact sum = add(product, unpack(c), round);
  sum.exponent += scale;
  return pack<T>(sum, round);
}

} // namespace

float scaled_fma(float a, float b, float c, int scale, unsigned round) noexcept { return scaled(a, b, c, scale, round); }
double scaled_fma(double a, double b, double c, int scale, unsigned round) noexcept { return scaled(a, b, c, scale, round); }

} // namespace aql::sim
