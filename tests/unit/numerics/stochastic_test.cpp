#include "aql/numerics.hpp"

#include "support/catch.hpp"
#include "unit/numerics/definition.hpp"

using namespace aql::num;
namespace def = definition;

namespace {

// Of all random words that differ in the bits used (`width` of them, at the top), how many round `x` away from zero.
template <FloatFormat F>
std::uint32_t count_up(float x, unsigned source_mantissa, std::uint32_t low_code) {
  const unsigned width = source_mantissa - F.mantissa_bits;
  std::uint32_t up = 0;
  for (std::uint32_t r = 0; r < (1u << width); ++r) {
    // bits below the used ones must not matter: fill them with ones
    const std::uint32_t word = (r << (32 - width)) | ((1u << (32 - width)) - 1);
    const std::uint32_t code = encode_sr<F>(x, word, Overflow::infinity, source_mantissa);
    if (code != low_code) {
      if (code != low_code + 1) return 0xffffffffu;
      ++up;
    }
  }
  return up;
}

// The dropped fraction in units of 2^-width, truncated.
std::uint32_t fraction(double x, double low, double high, unsigned width) {
  return static_cast<std::uint32_t>(std::floor(std::ldexp((x - low) / (high - low), static_cast<int>(width))));
}

template <FloatFormat F>
unsigned wrong_distributions(const def::Format& f, unsigned source_mantissa, std::size_t stride, int steps) {
  const auto values = f.magnitudes();
  const unsigned width = source_mantissa - F.mantissa_bits;
  unsigned wrong = 0;
  for (std::size_t i = 0; i + 1 < values.size(); i += stride) {
    for (int s = 0; s < steps; ++s) {
      // steps fractions between the neighbours, exact in f32 for these formats
      const double x = values[i] + (values[i + 1] - values[i]) * s / steps;
      const std::uint32_t up = count_up<F>(static_cast<float>(x), source_mantissa, static_cast<std::uint32_t>(i));
      wrong += up != fraction(x, values[i], values[i + 1], width);
    }
  }
  return wrong;
}

} // namespace

TEST_CASE("numerics: stochastic rounding from f32 to f16 goes up for exactly the dropped fraction of all random values") {
  CHECK(wrong_distributions<kF16>(def::kF16, 23, 1237, 16) == 0);
}

TEST_CASE("numerics: stochastic rounding from f32 to bf16 is exact in every binade tried") {
  CHECK(wrong_distributions<kBf16>(def::kBf16, 23, 4099, 8) == 0);
}

TEST_CASE("numerics: stochastic rounding from f16 uses seven random bits for fp8 and eight for bf8") {
  CHECK(wrong_distributions<kFp8>(def::kFp8, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kBf8>(def::kBf8, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kFp8Fnuz>(def::kFp8Fnuz, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kBf8Fnuz>(def::kBf8Fnuz, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kFp6>(def::kFp6, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kBf6>(def::kBf6, 10, 1, 16) == 0);
  CHECK(wrong_distributions<kFp4>(def::kFp4, 10, 1, 16) == 0);
}

TEST_CASE("numerics: stochastic rounding from bf16 uses four random bits for fp8") {
  CHECK(wrong_distributions<kFp8>(def::kFp8, 7, 1, 4) == 0);
  CHECK(wrong_distributions<kFp4>(def::kFp4, 7, 1, 4) == 0);
}

TEST_CASE("numerics: stochastic rounding from f32 to fp8 uses the top twenty random bits") {
  // 1 + 1/8 * (1/2 + 2^-20): up for 2^19 + 1 of 2^20
  const float x = 1.0f + 0.125f * (0.5f + 0x1p-20f);
  CHECK(count_up<kFp8>(x, 23, fp8::from_float(1.0f).bits) == (1u << 19) + 1);
  CHECK(count_up<kBf8>(1.0f + 0.25f * 0x1p-21f, 23, bf8::from_float(1.0f).bits) == 1);
}

TEST_CASE("numerics: stochastic rounding leaves representable values alone") {
  unsigned wrong = 0;
  for (std::uint32_t code = 0; code < 0x7c00; ++code)
    for (const std::uint32_t random : {0u, 0x80000000u, 0xffffffffu}) wrong += encode_sr<kF16>(f16::from_bits(code).to_float(), random) != code;
  CHECK(wrong == 0);
}

TEST_CASE("numerics: stochastic rounding carries into the exponent and overflows like rounding to nearest") {
  CHECK(encode_sr<kF16>(1.9999999f, 0xffffffffu) == 0x4000u);
  CHECK(encode_sr<kF16>(65519.0f, 0xffffffffu) == 0x7c00u);
  CHECK(encode_sr<kF16>(65519.0f, 0u) == 0x7bffu);
  CHECK(encode_sr<kFp8>(449.0f, 0xffffffffu) == 0x7fu);
  CHECK(encode_sr<kFp8>(449.0f, 0xffffffffu, Overflow::clamp) == 0x7eu);
  CHECK(encode_sr<kFp4>(1e30f, 0u) == 7u);
}

TEST_CASE("numerics: what a subnormal result loses beyond the random bits is truncated first") {
  // fp8: quantum 2^-9, 20 random bits: parts below 2^-29 never matter
  CHECK(encode_sr<kFp8>(0x1.8p-30f, 0xffffffffu) == 0u);
  CHECK(encode_sr<kFp8>(0x1p-29f, 0xffffffffu) == 1u);
  CHECK(encode_sr<kFp8>(-0x1p-29f, 0xffffffffu) == 0x81u);
  CHECK(encode_sr<kFp8>(0x1p-29f, 0xffffefffu) == 0u);
}

TEST_CASE("numerics: stochastic rounding from f64 equals that from f32 for f32 values") {
  unsigned wrong = 0;
  std::uint32_t seed = 1;
  for (int i = 0; i < 200000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const float x = std::bit_cast<float>(seed);
    const std::uint32_t random = seed * 2654435761u;
    if (x != x) continue;
    wrong += encode_sr<kF16>(x, random) != encode_sr<kF16>(static_cast<double>(x), random);
    wrong += encode_sr<kFp8Fnuz>(x, random) != encode_sr<kFp8Fnuz>(static_cast<double>(x), random);
    wrong += encode_sr<kFp4>(x, random) != encode_sr<kFp4>(static_cast<double>(x), random);
  }
  CHECK(wrong == 0);
}
