// Floating-point operations of the reference: numbers as bits, sums and products exact, one rounding.

#include "valu_reference_float.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "valu_exact.hpp"

namespace aql::test {
namespace {

// A format, so that each rule stands once for f32 and f64.
struct F32 {
  using Bits = std::uint32_t;
  using Host = float;
  static constexpr int kFraction = 23, kBias = 127, kMaxField = 255;
  static constexpr Bits kSign = 0x80000000u, kInfinity = 0x7f800000u, kQuiet = 0x00400000u, kDefaultNan = 0xffc00000u;
  static constexpr int kScale = 64, kFar = 96, kTiny = 23, kUnderflow = -150;
  static Exact exact(Bits v) { return Exact::of_f32(v); }
  static Exact product(Bits a, Bits b) { return Exact::product_f32(a, b); }
  static Bits round(const Exact& v, Rounding r) { return v.to_f32(r); }
  static Rounding rounding(const RefIn& in) { return static_cast<Rounding>(in.mode.bits & 3u); }
};
struct F64 {
  using Bits = std::uint64_t;
  using Host = double;
  static constexpr int kFraction = 52, kBias = 1023, kMaxField = 2047;
  static constexpr Bits kSign = Bits{1} << 63, kInfinity = 0x7ff0000000000000u, kQuiet = Bits{1} << 51, kDefaultNan = 0xfff8000000000000u;
  static constexpr int kScale = 128, kFar = 768, kTiny = 53, kUnderflow = -1075;
  static Exact exact(Bits v) { return Exact::of_f64(v); }
  static Exact product(Bits a, Bits b) { return Exact::product_f64(a, b); }
  static Bits round(const Exact& v, Rounding r) { return v.to_f64(r); }
  static Rounding rounding(const RefIn& in) { return static_cast<Rounding>((in.mode.bits >> 2) & 3u); }
};

template <class F> struct Number {
  using Bits = typename F::Bits;
  Bits bits;

  explicit Number(std::uint64_t v) : bits(static_cast<Bits>(v)) {}
  [[nodiscard]] Bits magnitude() const { return bits & ~F::kSign; }
  [[nodiscard]] bool sign() const { return (bits & F::kSign) != 0; }
  [[nodiscard]] bool nan() const { return magnitude() > F::kInfinity; }
  [[nodiscard]] bool signalling() const { return nan() && (bits & F::kQuiet) == 0; }
  [[nodiscard]] bool infinite() const { return magnitude() == F::kInfinity; }
  [[nodiscard]] bool zero() const { return magnitude() == 0; }
  [[nodiscard]] int field() const { return static_cast<int>(magnitude() >> F::kFraction); }
  [[nodiscard]] bool denormal() const { return field() == 0 && !zero(); }
  [[nodiscard]] Bits quiet() const { return bits | F::kQuiet; }
  // An order that has -0 below +0; no NaN.
  [[nodiscard]] Wide order() const { return sign() ? -Wide{magnitude()} - 1 : Wide{magnitude()}; }
  [[nodiscard]] Wide value_order() const { return sign() ? -Wide{magnitude()} : Wide{magnitude()}; }
  [[nodiscard]] typename F::Host host() const { return std::bit_cast<typename F::Host>(bits); }
};

template <class F> using Bits = typename F::Bits;
template <class F> Bits<F> first_nan(std::initializer_list<Number<F>> sources) {
  for (const Number<F> v : sources) {
    if (v.nan()) return v.quiet();
  }
  return F::kDefaultNan;
}
template <class F> Bits<F> signed_as(Bits<F> magnitude, bool sign) { return magnitude | (sign ? F::kSign : 0); }

template <class F> Bits<F> add(Number<F> a, Number<F> b, Rounding r) {
  if (a.nan() || b.nan()) return first_nan<F>({a, b});
  if (a.infinite() && b.infinite()) return a.sign() == b.sign() ? a.bits : F::kDefaultNan;
  if (a.infinite()) return a.bits;
  if (b.infinite()) return b.bits;
  return F::round(F::exact(a.bits).plus(F::exact(b.bits), r), r);
}
template <class F> Number<F> negated(Number<F> v) { return v.nan() ? v : Number<F>(v.bits ^ F::kSign); }

template <class F> Bits<F> multiply(Number<F> a, Number<F> b, Rounding r) {
  if (a.nan() || b.nan()) return first_nan<F>({a, b});
  const bool sign = a.sign() != b.sign();
  if (a.infinite() || b.infinite()) return a.zero() || b.zero() ? F::kDefaultNan : signed_as<F>(F::kInfinity, sign);
  return F::round(F::product(a.bits, b.bits), r);
}

// 2^scale * (a * b + c), rounded once.
template <class F> Bits<F> fused(Number<F> a, Number<F> b, Number<F> c, Rounding r, int scale = 0) {
  if (a.nan() || b.nan() || c.nan()) return first_nan<F>({a, b, c});
  const bool sign = a.sign() != b.sign();
  if (a.infinite() || b.infinite()) {
    if (a.zero() || b.zero() || (c.infinite() && c.sign() != sign)) return F::kDefaultNan;
    return signed_as<F>(F::kInfinity, sign);
  }
  if (c.infinite()) return c.bits;
  return F::round(F::product(a.bits, b.bits).plus(F::exact(c.bits), r).scaled(scale), r);
}

template <class F> Bits<F> minimum(Number<F> a, Number<F> b, bool ieee) {
  if (ieee && a.signalling()) return a.quiet();
  if (ieee && b.signalling()) return b.quiet();
  if (a.nan()) return b.bits;
  if (b.nan()) return a.bits;
  return a.order() <= b.order() ? a.bits : b.bits;
}
template <class F> Bits<F> maximum(Number<F> a, Number<F> b, bool ieee) {
  if (ieee && a.signalling()) return a.quiet();
  if (ieee && b.signalling()) return b.quiet();
  if (a.nan()) return b.bits;
  if (b.nan()) return a.bits;
  return a.order() >= b.order() ? a.bits : b.bits;
}
template <class F> Bits<F> median(Number<F> a, Number<F> b, Number<F> c, bool ieee) {
  const Number<F> largest(maximum<F>(Number<F>(maximum<F>(a, b, ieee)), c, ieee));
  if (a.nan() || b.nan() || c.nan()) return minimum<F>(Number<F>(minimum<F>(a, b, ieee)), c, ieee);
  if (largest.value_order() == a.value_order()) return maximum<F>(b, c, ieee);
  if (largest.value_order() == b.value_order()) return maximum<F>(a, c, ieee);
  return maximum<F>(a, b, ieee);
}
// IEEE 754-2019 minimum (or maximum): NaNs win, signalling ones first.
template <class F> Bits<F> winning_nan(Number<F> a, Number<F> b, bool largest) {
  for (const Number<F> v : {a, b}) {
    if (v.signalling()) return v.quiet();
  }
  for (const Number<F> v : {a, b}) {
    if (v.nan()) return v.bits;
  }
  return (a.order() <= b.order()) != largest ? a.bits : b.bits;
}

enum class Integral { trunc, ceil, floor, even };
template <class F> Bits<F> integral(Number<F> v, Integral how) {
  if (v.nan()) return v.quiet();
  if (v.infinite() || v.field() >= F::kBias + F::kFraction) return v.bits;
  // The whole part of the magnitude, and what is left.
  const int exponent = v.field() - F::kBias;
  const Bits<F> mantissa = (v.magnitude() & ((Bits<F>{1} << F::kFraction) - 1)) | (v.field() != 0 ? Bits<F>{1} << F::kFraction : 0);
  const int drop = F::kFraction - exponent;
  const Bits<F> whole = drop > F::kFraction ? 0 : mantissa >> drop;
  const Bits<F> rest = drop > F::kFraction ? mantissa : mantissa & ((Bits<F>{1} << drop) - 1);
  const bool beyond_half = drop <= F::kFraction ? rest > (Bits<F>{1} << drop) / 2 : exponent == -1 && rest > (Bits<F>{1} << F::kFraction);
  const bool half = drop <= F::kFraction ? rest == (Bits<F>{1} << drop) / 2 : exponent == -1 && rest == (Bits<F>{1} << F::kFraction);
  bool up = false;
  switch (how) {
  case Integral::trunc: break;
  case Integral::ceil: up = rest != 0 && !v.sign(); break;
  case Integral::floor: up = rest != 0 && v.sign(); break;
  case Integral::even: up = beyond_half || (half && (whole & 1u) != 0); break;
  }
  const Exact exact(v.sign(), std::uint64_t{whole} + (up ? 1 : 0), 0);
  return signed_as<F>(F::round(exact, Rounding::zero) & ~F::kSign, v.sign());
}
template <class F> Bits<F> fraction(Number<F> v, Rounding r) {
  const Number<F> floor(integral<F>(v, Integral::floor));
  const Bits<F> f = add<F>(v, negated(floor), r);
  const Bits<F> one = static_cast<Bits<F>>(F::kBias) << F::kFraction;
  return f == one ? one - 1 : f;
}

template <class F> Bits<F> scaled(Number<F> v, std::int32_t by, Rounding r) {
  if (v.nan()) return v.quiet();
  if (v.infinite()) return v.bits;
  return F::round(F::exact(v.bits).scaled(std::clamp(by, -2300, 2300)), r);
}
template <class F> int frexp_exponent(Number<F> v) {
  if (v.nan() || v.infinite() || v.zero()) return 0;
  int exponent = v.field() - F::kBias + 1;
  if (v.field() == 0) exponent = static_cast<int>(std::bit_width(v.magnitude())) - F::kFraction - F::kBias + 1;
  return exponent;
}
template <class F> Bits<F> frexp_mantissa(Number<F> v) {
  if (v.nan()) return v.quiet();
  if (v.infinite() || v.zero()) return v.bits;
  return F::round(F::exact(v.bits).scaled(-frexp_exponent(v)), Rounding::zero);
}

// --- division steps. The tests "is the quotient denormal" need a quotient: the host's, rounded as MODE says, from exact bits.
template <class F> bool denormal_quotient(Number<F> n, Number<F> d, Rounding r) {
  if (n.nan() || d.nan() || n.infinite() || d.infinite() || n.zero() || d.zero()) return false;
  // |n/d| is denormal if it rounds to a value below the smallest normal and not to zero.
  const auto parts = [](Number<F> v, int& exponent) {
    Bits<F> m = v.magnitude() & ((Bits<F>{1} << F::kFraction) - 1);
    exponent = v.field() == 0 ? 1 : v.field();
    if (v.field() != 0) m |= Bits<F>{1} << F::kFraction;
    while ((m >> F::kFraction) == 0) {
      m <<= 1;
      --exponent;
    }
    return m;
  };
  int en = 0, ed = 0;
  const Wide mn = parts(n, en), md = parts(d, ed);
  // quotient with plenty of bits: mn * 2^(fraction + 8) / md, sticky in the lowest bit
  const Wide shifted = mn << (F::kFraction + 8);
  const auto q = static_cast<std::uint64_t>(shifted / md) << 1 | (shifted % md != 0 ? 1u : 0u);
  const Exact exact(n.sign() != d.sign(), q, en - ed - F::kFraction - 9);
  const Number<F> rounded(F::round(exact, r));
  return rounded.denormal();
}
template <class F> void div_scale(const RefIn& in, RefOut& out) {
  const Number<F> s0(in.s[0]), d(in.s[1]), n(in.s[2]);
  const Rounding r = F::rounding(in);
  const bool same_d = !s0.nan() && !d.nan() && s0.value_order() == d.value_order(), same_n = !s0.nan() && !n.nan() && s0.value_order() == n.value_order();
  const bool reciprocal = denormal_quotient(Number<F>(std::uint64_t{F::kBias} << F::kFraction), d, r);
  const bool quotient = denormal_quotient(n, d, r);
  out.d = s0.nan() ? s0.quiet() : s0.bits;
  const auto scale = [&](int by) { out.d = scaled<F>(s0, by, r); };
  if (n.zero() || d.zero()) {
    out.d = F::kDefaultNan;
  } else if (n.field() - d.field() >= F::kFar) {
    out.bit = true;
    if (same_d) scale(F::kScale);
  } else if (d.denormal()) {
    scale(F::kScale);
  } else if (reciprocal && quotient) {
    out.bit = true;
    if (same_d) scale(-F::kScale);
  } else if (reciprocal) {
    scale(-F::kScale);
  } else if (quotient) {
    out.bit = true;
    if (same_n) scale(F::kScale);
  } else if (n.field() <= F::kTiny) {
    scale(F::kScale);
  }
}
template <class F> void div_fmas(const RefIn& in, RefOut& out) {
  const Number<F> c(in.s[2]);
  const int by = !in.bit ? 0 : c.field() > F::kBias ? F::kScale : -F::kScale;
  out.d = fused<F>(Number<F>(in.s[0]), Number<F>(in.s[1]), c, F::rounding(in), by);
}
template <class F> void div_fixup(const RefIn& in, RefOut& out) {
  const Number<F> q(in.s[0]), d(in.s[1]), n(in.s[2]);
  const bool sign = d.sign() != n.sign();
  if (n.nan()) out.d = n.quiet();
  else if (d.nan()) out.d = d.quiet();
  else if (d.zero() && n.zero()) out.d = F::kDefaultNan;
  else if (d.infinite() && n.infinite()) out.d = F::kDefaultNan;
  else if (d.zero() || n.infinite()) out.d = signed_as<F>(F::kInfinity, sign);
  else if (d.infinite() || n.zero()) out.d = signed_as<F>(0, sign);
  else if (n.field() - d.field() < F::kUnderflow) {
    const bool away = F::rounding(in) == (sign ? Rounding::down : Rounding::up);
    out.d = signed_as<F>(away ? 1 : 0, sign);
  } else {
    // A NaN here comes from infinity minus infinity in the refinement: overflow.
    const Rounding r = F::rounding(in);
    const bool infinite = r == Rounding::nearest_even || r == (sign ? Rounding::down : Rounding::up);
    out.d = signed_as<F>(!q.nan() ? q.magnitude() : infinite ? F::kInfinity : F::kInfinity - 1, sign);
  }
}

// --- 2/pi, by dividing 2 by Machin's pi in long binary fractions
using Long = std::vector<std::uint32_t>; // big-endian: [0] is the whole part
constexpr std::size_t kLong = 60;
Long divided(const Long& a, std::uint32_t by) {
  Long r(kLong);
  std::uint64_t rest = 0;
  for (std::size_t n = 0; n < kLong; ++n) {
    rest = rest << 32 | a[n];
    r[n] = static_cast<std::uint32_t>(rest / by);
    rest %= by;
  }
  return r;
}
void accumulate(Long& a, const Long& b, bool subtract) {
  std::int64_t carry = 0;
  for (std::size_t n = kLong; n-- > 0;) {
    carry += subtract ? std::int64_t{a[n]} - b[n] : std::int64_t{a[n]} + b[n];
    a[n] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
}
Long arctangent_of_inverse(std::uint32_t x, std::uint32_t times) {
  Long term(kLong), sum(kLong);
  term[0] = times;
  term = divided(term, x);
  for (std::uint32_t n = 1; n < 3000; n += 2) {
    accumulate(sum, divided(term, n), n % 4 == 3);
    term = divided(term, x * x);
  }
  return sum;
}
// Bit n after the binary point.
bool two_over_pi_bit(int n) {
  static const Long bits = [] {
    Long pi = arctangent_of_inverse(5, 16);
    accumulate(pi, arctangent_of_inverse(239, 4), true);
    Long rest(kLong), quotient(kLong);
    rest[0] = 2;
    for (std::size_t bit = 0; bit < 1300; ++bit) { // schoolbook: double the rest, subtract pi where it fits
      accumulate(rest, Long(rest), false);
      if (rest >= pi) {
        accumulate(rest, pi, true);
        quotient[1 + bit / 32] |= 0x80000000u >> (bit % 32);
      }
    }
    return quotient;
  }();
  return n <= 1200 && ((bits[1 + static_cast<std::size_t>(n) / 32] << (n % 32)) & 0x80000000u) != 0;
}
void trig_preop(const RefIn& in, RefOut& out) {
  const int field = Number<F64>(in.s[0]).field();
  int shift = static_cast<int>(in.s[1] & 31u) * 53;
  if (field > 1077) shift += field - 1077;
  std::uint64_t segment = 0;
  for (int n = 0; n < 53; ++n) segment = segment << 1 | (two_over_pi_bit(shift + n) ? 1u : 0u);
  out.d = Exact(false, segment, -53 - shift + (field >= 1968 ? 128 : 0)).to_f64(Rounding::zero);
}

// --- cube maps
enum class Cube { id, s, t, axis };
void cube(const RefIn& in, RefOut& out, Cube what) {
  using N = Number<F32>;
  const N x(in.s[0]), y(in.s[1]), z(in.s[2]);
  const auto ge = [](N a, N b) { return !a.nan() && !b.nan() && a.magnitude() >= b.magnitude(); };
  const auto below_zero = [](N v) { return !v.nan() && v.sign() && !v.zero(); };
  const unsigned major = ge(z, x) && ge(z, y) ? 2 : ge(y, x) ? 1 : 0;
  const N axis = major == 2 ? z : major == 1 ? y : x;
  constexpr std::uint32_t kFace[6] = {0, 0x3f800000u, 0x40000000u, 0x40400000u, 0x40800000u, 0x40a00000u}; // 0.0 to 5.0
  const std::uint32_t flip = 0x80000000u;
  switch (what) {
  case Cube::id: out.d = kFace[major * 2 + (below_zero(axis) ? 1 : 0)]; break;
  case Cube::s: out.d = major == 2 ? (below_zero(z) ? x.bits ^ flip : x.bits) : major == 1 ? x.bits : below_zero(x) ? z.bits : z.bits ^ flip; break;
  case Cube::t: out.d = major == 1 ? (below_zero(y) ? z.bits ^ flip : z.bits) : y.bits ^ flip; break;
  case Cube::axis: out.d = multiply<F32>(axis, N(0x40000000u), F32::rounding(in)); break;
  }
}

// --- compares
struct Condition {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Condition kFloatConditions[] = {
  {"f", false, false, false, false}, {"lt", true, false, false, false}, {"eq", false, true, false, false},  {"le", true, true, false, false},
  {"gt", false, false, true, false}, {"lg", true, false, true, false},  {"ge", false, true, true, false},   {"o", true, true, true, false},
  {"u", false, false, false, true},  {"nge", true, false, false, true}, {"nlg", false, true, false, true},  {"ngt", true, true, false, true},
  {"nle", false, false, true, true}, {"neq", true, false, true, true},  {"nlt", false, true, true, true},   {"tru", true, true, true, true},
  {"ne", true, false, true, false},  {"t", true, true, true, false},
};

template <unsigned C> bool holds(int order, bool unordered) {
  const Condition& c = kFloatConditions[C];
  return unordered ? c.unordered : order < 0 ? c.less : order > 0 ? c.greater : c.equal;
}
int sign_of(Wide v) { return v < 0 ? -1 : v > 0 ? 1 : 0; }

struct F16 {
  using Bits = std::uint16_t;
  using Host = float; // unused
  static constexpr int kFraction = 10;
  static constexpr Bits kSign = 0x8000, kInfinity = 0x7c00, kQuiet = 0x0200;
};
template <class F, unsigned C> void compare_float(const RefIn& in, RefOut& out) {
  const auto nan = [](std::uint64_t v) { return (v & (F::kSign - 1u)) > F::kInfinity; };
  const auto order = [](std::uint64_t v) { const Wide m = v & (F::kSign - 1u); return (v & F::kSign) != 0 ? -m : m; };
  out.bit = holds<C>(sign_of(order(in.s[0]) - order(in.s[1])), nan(in.s[0]) || nan(in.s[1]));
}
template <class T, unsigned C> void compare_integer(const RefIn& in, RefOut& out) {
  out.bit = holds<C>(sign_of(Wide{static_cast<T>(in.s[0])} - Wide{static_cast<T>(in.s[1])}), false);
}
template <class F> void classify(const RefIn& in, RefOut& out) {
  const auto sign = static_cast<std::uint64_t>(F::kSign), v = in.s[0] & (sign | (sign - 1)), m = v & (sign - 1);
  const bool negative = (v & sign) != 0;
  unsigned bit = 0;
  if (m > F::kInfinity) bit = (v & F::kQuiet) != 0 ? 1 : 0;
  else if (m == F::kInfinity) bit = negative ? 2 : 9;
  else if (m >= (std::uint64_t{1} << F::kFraction)) bit = negative ? 3 : 8;
  else if (m != 0) bit = negative ? 4 : 7;
  else bit = negative ? 5 : 6;
  out.bit = ((in.s[1] >> bit) & 1u) != 0;
}

template <unsigned C> RefFunction compare_for(std::string_view type) {
  if (type == "f16") return compare_float<F16, C>;
  if (type == "f32") return compare_float<F32, C>;
  if (type == "f64") return compare_float<F64, C>;
  if (type == "i16") return compare_integer<std::int16_t, C>;
  if (type == "u16") return compare_integer<std::uint16_t, C>;
  if (type == "i32") return compare_integer<std::int32_t, C>;
  if (type == "u32") return compare_integer<std::uint32_t, C>;
  if (type == "i64") return compare_integer<std::int64_t, C>;
  if (type == "u64") return compare_integer<std::uint64_t, C>;
  return nullptr;
}
template <unsigned C = 0> RefFunction compare_named(std::string_view condition, std::string_view type) {
  if constexpr (C < std::size(kFloatConditions)) {
    return condition == kFloatConditions[C].name ? compare_for<C>(type) : compare_named<C + 1>(condition, type);
  } else {
    return nullptr;
  }
}

template <class F> void add_both(std::map<std::string, RefOp, std::less<>>& all, const std::string& type) {
  using N = Number<F>;
  const auto put = [&](const char* name, RefFunction f, unsigned flags = 0) { all["v_" + std::string(name) + "_" + type] = {f, flags}; };
  put("add", [](const RefIn& in, RefOut& out) { out.d = add<F>(N(in.s[0]), N(in.s[1]), F::rounding(in)); });
  put("mul", [](const RefIn& in, RefOut& out) { out.d = multiply<F>(N(in.s[0]), N(in.s[1]), F::rounding(in)); });
  put("fma", [](const RefIn& in, RefOut& out) { out.d = fused<F>(N(in.s[0]), N(in.s[1]), N(in.s[2]), F::rounding(in)); });
  put("min", [](const RefIn& in, RefOut& out) { out.d = minimum<F>(N(in.s[0]), N(in.s[1]), in.mode.ieee()); });
  put("max", [](const RefIn& in, RefOut& out) { out.d = maximum<F>(N(in.s[0]), N(in.s[1]), in.mode.ieee()); });
  put("trunc", [](const RefIn& in, RefOut& out) { out.d = integral<F>(N(in.s[0]), Integral::trunc); });
  put("ceil", [](const RefIn& in, RefOut& out) { out.d = integral<F>(N(in.s[0]), Integral::ceil); });
  put("floor", [](const RefIn& in, RefOut& out) { out.d = integral<F>(N(in.s[0]), Integral::floor); });
  put("rndne", [](const RefIn& in, RefOut& out) { out.d = integral<F>(N(in.s[0]), Integral::even); });
  put("fract", [](const RefIn& in, RefOut& out) { out.d = fraction<F>(N(in.s[0]), F::rounding(in)); });
  put("ldexp", [](const RefIn& in, RefOut& out) { out.d = scaled<F>(N(in.s[0]), static_cast<std::int32_t>(in.s[1]), F::rounding(in)); });
  put("frexp_exp_i32", [](const RefIn& in, RefOut& out) { out.d = static_cast<std::uint32_t>(frexp_exponent(N(in.s[0]))); });
  put("frexp_mant", [](const RefIn& in, RefOut& out) { out.d = frexp_mantissa(N(in.s[0])); });
  put("div_scale", div_scale<F>);
  put("div_fmas", div_fmas<F>, kRefKeepSources);
  put("div_fixup", div_fixup<F>);
}

} // namespace

void add_float_references(std::map<std::string, RefOp, std::less<>>& all) {
  using N = Number<F32>;
  add_both<F32>(all, "f32");
  add_both<F64>(all, "f64");
  const auto put = [&](const char* name, RefFunction f, unsigned flags = 0) { all[name] = {f, flags}; };
  const auto same = [&](const char* name, const char* as, unsigned flags = 0) { all[name] = {all.find(as)->second.run, flags}; };
  put("v_sub_f32", [](const RefIn& in, RefOut& out) { out.d = add<F32>(N(in.s[0]), negated(N(in.s[1])), F32::rounding(in)); });
  put("v_subrev_f32", [](const RefIn& in, RefOut& out) {
    const N a(in.s[0]), b(in.s[1]);
    out.d = a.nan() ? a.quiet() : add<F32>(b, negated(a), F32::rounding(in));
  });
  put("v_mad_f32", [](const RefIn& in, RefOut& out) {
    const N a(in.s[0]), b(in.s[1]), c(in.s[2]);
    const Rounding r = F32::rounding(in);
    out.d = a.nan() || b.nan() ? first_nan<F32>({a, b}) : c.nan() ? c.quiet() : add<F32>(N(multiply<F32>(a, b, r)), c, r);
  }, kRefFlushAlways);
  put("v_mad_legacy_f32", [](const RefIn& in, RefOut& out) {
    const N a(in.s[0]), b(in.s[1]), c(in.s[2]);
    const Rounding r = F32::rounding(in);
    const bool zero = a.zero() || b.zero();
    if (zero) out.d = add<F32>(N(0), c, r);
    else out.d = a.nan() || b.nan() ? first_nan<F32>({a, b}) : c.nan() ? c.quiet() : add<F32>(N(multiply<F32>(a, b, r)), c, r);
  }, kRefFlushAlways);
  put("v_mul_legacy_f32", [](const RefIn& in, RefOut& out) {
    const N a(in.s[0]), b(in.s[1]);
    out.d = a.zero() || b.zero() ? 0 : multiply<F32>(a, b, F32::rounding(in));
  });
  put("v_fmamk_f32", [](const RefIn& in, RefOut& out) { out.d = fused<F32>(N(in.s[0]), N(in.s[1]), N(in.s[2]), F32::rounding(in)); });
  same("v_fmaak_f32", "v_fma_f32");
  same("v_fmac_f32", "v_fma_f32");
  same("v_fmac_f64", "v_fma_f64");
  same("v_pk_fma_f32", "v_fma_f32");
  same("v_pk_mul_f32", "v_mul_f32");
  same("v_pk_add_f32", "v_add_f32");
  same("v_mac_f32", "v_mad_f32", kRefFlushAlways);
  same("v_madmk_f32", "v_mad_f32", kRefFlushAlways);
  same("v_madak_f32", "v_mad_f32", kRefFlushAlways);
  put("v_min3_f32", [](const RefIn& in, RefOut& out) {
    out.d = minimum<F32>(N(minimum<F32>(N(in.s[0]), N(in.s[1]), in.mode.ieee())), N(in.s[2]), in.mode.ieee());
  });
  put("v_max3_f32", [](const RefIn& in, RefOut& out) {
    out.d = maximum<F32>(N(maximum<F32>(N(in.s[0]), N(in.s[1]), in.mode.ieee())), N(in.s[2]), in.mode.ieee());
  });
  put("v_med3_f32", [](const RefIn& in, RefOut& out) { out.d = median<F32>(N(in.s[0]), N(in.s[1]), N(in.s[2]), in.mode.ieee()); });
  put("v_minimum3_f32", [](const RefIn& in, RefOut& out) {
    out.d = winning_nan<F32>(N(winning_nan<F32>(N(in.s[0]), N(in.s[1]), false)), N(in.s[2]), false);
  });
  put("v_maximum3_f32", [](const RefIn& in, RefOut& out) {
    out.d = winning_nan<F32>(N(winning_nan<F32>(N(in.s[0]), N(in.s[1]), true)), N(in.s[2]), true);
  });
  put("v_cubeid_f32", [](const RefIn& in, RefOut& out) { cube(in, out, Cube::id); });
  put("v_cubesc_f32", [](const RefIn& in, RefOut& out) { cube(in, out, Cube::s); });
  put("v_cubetc_f32", [](const RefIn& in, RefOut& out) { cube(in, out, Cube::t); });
  put("v_cubema_f32", [](const RefIn& in, RefOut& out) { cube(in, out, Cube::axis); });
  put("v_trig_preop_f64", trig_preop);
}

RefOp find_compare_reference(std::string_view mnemonic) {
  const bool x = mnemonic.starts_with("v_cmpx_");
  if (!x && !mnemonic.starts_with("v_cmp_")) return {};
  mnemonic.remove_prefix(x ? 7 : 6);
  const std::size_t split = mnemonic.find('_');
  if (split == std::string_view::npos) return {};
  const std::string_view condition = mnemonic.substr(0, split), type = mnemonic.substr(split + 1);
  if (condition == "class") return {type == "f16" ? classify<F16> : type == "f32" ? classify<F32> : classify<F64>, kRefRaw};
  return {compare_named(condition, type), 0};
}

} // namespace aql::test
