#include "aql/numerics.hpp"

#include "support/catch.hpp"
#include "unit/numerics/definition.hpp"

#include <cstring>
#include <random>

using namespace aql::num;
namespace def = definition;

namespace {

std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }

constexpr Round kRounds[] = {Round::nearest_even, Round::up, Round::down, Round::zero};
constexpr def::Rounding kDefRounds[] = {def::Rounding::nearest_even, def::Rounding::up, def::Rounding::down, def::Rounding::zero};
constexpr Overflow kOverflows[] = {Overflow::infinity, Overflow::clamp_finite, Overflow::clamp};
constexpr def::Beyond kBeyonds[] = {def::Beyond::infinity, def::Beyond::clamp_finite, def::Beyond::clamp};

// Number of codes whose decoded value is not the definition's.
template <class T>
unsigned wrong_decodes(const def::Format& f) {
  unsigned wrong = 0;
  for (std::uint32_t code = 0; code < f.codes(); ++code) {
    const double want = f.value(code);
    const double got = T::from_bits(code).to_double();
    const float plain = decode<T::format>(code);
    const bool same = std::isnan(want) ? std::isnan(got) && std::isnan(plain)
                                       : got == want && std::signbit(got) == std::signbit(want) && bits_of(plain) == bits_of(static_cast<float>(want));
    wrong += !same;
  }
  return wrong;
}

template <class T>
bool agrees(std::uint32_t want, std::uint32_t got) {
  return want == def::Rounder::kNan ? T::from_bits(got).is_nan() : want == got;
}

// Every pair of neighbours, and the largest value with its would-be successor: the lower value, the midpoint, and the nearest
// floats and doubles around each, both signs, every rounding and overflow rule.
template <class T>
unsigned wrong_boundaries(const def::Format& f) {
  const def::Rounder rounder(f);
  const auto& values = rounder.with_next();
  unsigned wrong = 0;
  const auto check = [&](double x) {
    const bool in_float = static_cast<double>(static_cast<float>(x)) == x || std::isinf(x);
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned o = 0; o < 3; ++o)
        for (const double v : {x, -x}) {
          const std::uint32_t want = rounder(v, kDefRounds[r], kBeyonds[o]);
          wrong += !agrees<T>(want, encode<T::format>(v, kRounds[r], kOverflows[o]));
          if (in_float) wrong += !agrees<T>(want, encode<T::format>(static_cast<float>(v), kRounds[r], kOverflows[o]));
        }
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double low = values[i], middle = low + (values[i + 1] - low) / 2;
    for (const double x : {low, middle}) {
      check(x);
      check(std::nextafter(x, inf));
      if (x > 0) check(std::nextafter(x, 0.0));
      const float xf = static_cast<float>(x);
      check(static_cast<double>(std::nextafter(xf, std::numeric_limits<float>::infinity())));
      if (x > 0) check(static_cast<double>(std::nextafter(xf, 0.0f)));
    }
  }
  for (const double x : {values.back(), std::nextafter(values.back(), 0.0), 2 * values.back(), 1e300, 4.9e-324, 1e-300, inf,
                         static_cast<double>(std::numeric_limits<float>::max()), static_cast<double>(std::numeric_limits<float>::denorm_min())})
    check(x);
  return wrong;
}

} // namespace

#define FORMATS(X) X(f16, kF16) X(bf16, kBf16) X(fp8, kFp8) X(bf8, kBf8) X(fp8_fnuz, kFp8Fnuz) X(bf8_fnuz, kBf8Fnuz) X(fp6, kFp6) X(bf6, kBf6) X(fp4, kFp4)

TEST_CASE("numerics: every code of every format decodes to the value of its fields") {
#define X(type, form) CAPTURE(def::form.name); CHECK(wrong_decodes<type>(def::form) == 0);
  FORMATS(X)
#undef X
}

TEST_CASE("numerics: rounding picks the right neighbour at every boundary in every mode") {
#define X(type, form) CAPTURE(def::form.name); CHECK(wrong_boundaries<type>(def::form) == 0);
  FORMATS(X)
#undef X
}

TEST_CASE("numerics: encoding what was decoded gives the code back") {
  unsigned wrong = 0;
  const auto all = [&]<class T>(T) {
    for (std::uint32_t code = 0; code < (T::format.sign_mask() << 1); ++code) {
      const T x = T::from_bits(code);
      if (x.is_nan()) continue;
      wrong += T::from_float(x.to_float()) != x;
      wrong += T::from_double(x.to_double(), Round::zero) != x;
    }
  };
#define X(type, form) all(type{});
  FORMATS(X)
#undef X
  CHECK(wrong == 0);
}

TEST_CASE("numerics: random floats round as the definition says") {
  std::mt19937_64 random(20240607);
  unsigned wrong = 0;
  const auto run = [&]<class T>(T, const def::Format& f) {
    const def::Rounder rounder(f);
    for (int i = 0; i < 20000; ++i) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (std::isnan(x)) continue;
      const std::size_t r = random() % 4, o = random() % 3;
      wrong += !agrees<T>(rounder(static_cast<double>(x), kDefRounds[r], kBeyonds[o]), encode<T::format>(x, kRounds[r], kOverflows[o]));
    }
  };
#define X(type, form) run(type{}, def::form);
  FORMATS(X)
#undef X
  CHECK(wrong == 0);
}

TEST_CASE("numerics: f16 and bf16 keep the top of a NaN's payload and make it quiet") {
  CHECK(encode<kF16>(std::bit_cast<float>(0x7f802000u)) == 0x7e01u);
  CHECK(encode<kF16>(std::bit_cast<float>(0xffc00000u)) == 0xfe00u);
  CHECK(encode<kBf16>(std::bit_cast<float>(0x7f810000u)) == 0x7fc1u);
  CHECK(encode<kF16>(std::bit_cast<double>(0x7ff0040000000000ull)) == 0x7e01u);
  CHECK(decode_bits<kF16>(0x7d01u) == 0x7fa02000u); // signalling stays signalling
}

TEST_CASE("numerics: formats without NaN turn it into the largest value of its sign") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(fp6::from_float(nan).to_float() == 7.5f);
  CHECK(bf6::from_float(-nan).to_float() == -28.0f);
  CHECK(fp4::from_float(nan).to_float() == 6.0f);
}

TEST_CASE("numerics: fp8 NaNs have the codes of their specification") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(fp8::from_float(nan).bits == 0x7f);
  CHECK(fp8::from_float(-nan).bits == 0xff);
  CHECK(fp8_fnuz::from_float(nan).bits == 0x80);
  CHECK(fp8_fnuz::from_float(-nan).bits == 0x80);
  CHECK(bf8_fnuz::from_float(-nan).bits == 0x80);
  CHECK(bf8::from_float(nan).is_nan());
  CHECK(fp8_fnuz::from_float(-1e-10f).bits == 0); // no -0
}

TEST_CASE("numerics: the value types answer what they are") {
  CHECK(f16::largest().to_float() == 65504.0f);
  CHECK(f16::infinity().is_infinite());
  CHECK(f16::quiet_nan().is_nan());
  CHECK(f16::smallest().is_subnormal());
  CHECK_FALSE(f16::smallest_normal().is_subnormal());
  CHECK(f16::from_float(-0.0f).is_zero());
  CHECK(f16::from_float(-0.0f).sign());
  CHECK_FALSE(fp8_fnuz::from_bits(0x80).is_zero());
  CHECK(fp8::largest().to_float() == 448.0f);
  CHECK(fp8_fnuz::largest().to_float() == 240.0f);
  CHECK(bf8::largest().to_float() == 57344.0f);
  CHECK(bf8_fnuz::largest().to_float() == 57344.0f);
}

TEST_CASE("numerics: e8m0 is a power of two, 255 is NaN") {
  unsigned wrong = 0;
  for (std::uint32_t code = 0; code < 255; ++code) {
    const double want = std::ldexp(1.0, static_cast<int>(code) - 127);
    wrong += e8m0::from_bits(code).to_double() != want;
    wrong += static_cast<double>(e8m0::from_bits(code).to_float()) != want;
    wrong += e8m0::from_bits(code).exponent() != static_cast<int>(code) - 127;
    if (code > 0) wrong += e8m0::from_float(static_cast<float>(want) * 1.75f).bits != code;
  }
  CHECK(wrong == 0);
  CHECK(std::isnan(e8m0::from_bits(255).to_float()));
  CHECK(std::isnan(e8m0::from_bits(255).to_double()));
  CHECK(e8m0::from_float(0.0f).bits == 0);
  CHECK(e8m0::from_float(std::numeric_limits<float>::infinity()).is_nan());
}

TEST_CASE("numerics: 32 six-bit elements fill six dwords, element 0 lowest") {
  Packed6x32 words{};
  for (unsigned i = 0; i < 32; ++i) set6(words, i, (i * 37 + 5) & 63);
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(get6(words, i) == ((i * 37 + 5) & 63));
    std::uint32_t by_bits = 0;
    for (unsigned b = 0; b < 6; ++b) by_bits |= ((words[(i * 6 + b) / 32] >> ((i * 6 + b) % 32)) & 1u) << b;
    CHECK(by_bits == ((i * 37 + 5) & 63));
  }
  set6(words, 5, 0);
  CHECK(get6(words, 4) == ((4 * 37 + 5) & 63));
  CHECK(get6(words, 5) == 0);
  CHECK(get6(words, 6) == ((6 * 37 + 5) & 63));
}

static_assert(f16::from_float(1.0f).bits == 0x3c00 && f16::from_double(-2.0).bits == 0xc000);
static_assert(fp4::from_float(100.0f).to_float() == 6.0f);
static_assert(sizeof(f16) == 2 && sizeof(fp8) == 1 && sizeof(fp4) == 1);
