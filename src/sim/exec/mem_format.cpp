#include "sim/exec/mem_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <aql/numerics.hpp>

namespace aql::sim::mem {

namespace {

constexpr DataFormat kFormats[16] = {
    {},
    {1, 1, {8}},               // 8
    {2, 1, {16}},              // 16
    {2, 2, {8, 8}},            // 8_8
    {4, 1, {32}},              // 32
    {4, 2, {16, 16}},          // 16_16
    {4, 3, {11, 11, 10}},      // 10_11_11
    {4, 3, {10, 11, 11}},      // 11_11_10
    {4, 4, {2, 10, 10, 10}},   // 10_10_10_2
    {4, 4, {10, 10, 10, 2}},   // 2_10_10_10
    {4, 4, {8, 8, 8, 8}},      // 8_8_8_8
    {8, 2, {32, 32}},          // 32_32
    {8, 4, {16, 16, 16, 16}},  // 16_16_16_16
    {12, 3, {32, 32, 32}},     // 32_32_32
    {16, 4, {32, 32, 32, 32}}, // 32_32_32_32
    {},
};

// The unsigned small floats are f16 without its sign and lowest bits.
constexpr num::FloatFormat kFloat11{12, 5, 6, 15, num::Special::ieee}, kFloat10{11, 5, 5, 15, num::Special::ieee};

constexpr std::uint32_t mask(unsigned bits) noexcept { return bits == 32 ? ~0u : (1u << bits) - 1; }

std::int32_t sign_extended(std::uint32_t raw, unsigned bits) noexcept {
  const std::uint32_t sign = 1u << (bits - 1);
  return static_cast<std::int32_t>(((raw & mask(bits)) ^ sign) - sign);
}

std::uint32_t as_bits(float f) noexcept { return std::bit_cast<std::uint32_t>(f); }

// Rounds to an integer in [low, high]; NaN gives 0. In double, so that scaled values are exact before they are rounded.
std::uint32_t integer(double v, double low, double high, bool truncate) noexcept {
  if (std::isnan(v)) return 0;
  const double clamped = std::clamp(v, low, high);
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(truncate ? std::trunc(clamped) : std::nearbyint(clamped)));
}

template <class F>
void for_components(const DataFormat& format, F&& f) {
  unsigned at = 0;
  for (unsigned c = 0; c < format.components; at += format.bits[c], ++c) f(c, at / 32, at % 32, format.bits[c]);
}

} // namespace

const DataFormat& data_format(unsigned number) noexcept { return kFormats[number & 15u]; }

std::uint32_t decode_component(std::uint32_t raw, unsigned bits, NumberFormat number) noexcept {
  if (bits == 32) return raw;
  raw &= mask(bits);
  const auto u = static_cast<float>(raw);
  const auto s = static_cast<float>(sign_extended(raw, bits));
  switch (number) {
  case NumberFormat::unorm: return as_bits(u / static_cast<float>(mask(bits)));
  case NumberFormat::snorm: return as_bits(std::max(s / static_cast<float>(mask(bits - 1)), -1.0f));
  case NumberFormat::snorm_nz: return as_bits((2.0f * s + 1.0f) / static_cast<float>(mask(bits)));
  case NumberFormat::uscaled: return as_bits(u);
  case NumberFormat::sscaled: return as_bits(s);
  case NumberFormat::uint: return raw;
  case NumberFormat::sint: return static_cast<std::uint32_t>(sign_extended(raw, bits));
  case NumberFormat::float_: break;
  }
  switch (bits) {
  case 16: return num::decode_bits<num::kF16>(raw);
  case 11: return num::decode_bits<kFloat11>(raw);
  case 10: return num::decode_bits<kFloat10>(raw);
  default: return raw;
  }
}

std::uint32_t encode_component(std::uint32_t value, unsigned bits, NumberFormat number) noexcept {
  if (bits == 32) return value;
  const auto f = std::bit_cast<float>(value);
  const double v = f, top = mask(bits), half = mask(bits - 1);
  std::uint32_t raw = value;
  switch (number) {
  case NumberFormat::unorm: raw = integer(std::clamp(v, 0.0, 1.0) * top, 0.0, top, false); break;
  case NumberFormat::snorm: raw = integer(std::clamp(v, -1.0, 1.0) * half, -half, half, false); break;
  case NumberFormat::snorm_nz: raw = integer((std::clamp(v, -1.0, 1.0) * top - 1.0) / 2.0, -half - 1.0, half, false); break;
  case NumberFormat::uscaled: raw = integer(v, 0.0, top, true); break;
  case NumberFormat::sscaled: raw = integer(v, -half - 1.0, half, true); break;
  case NumberFormat::uint:
  case NumberFormat::sint: break;
  case NumberFormat::float_:
    if (bits == 16) raw = num::encode<num::kF16>(f);
    if (bits == 11 || bits == 10) {
      const bool negative = std::signbit(f) && !std::isnan(f); // there is no sign: negative numbers become 0
      raw = negative ? 0 : bits == 11 ? num::encode<kFloat11>(f) : num::encode<kFloat10>(f);
    }
    break;
  }
  return raw & mask(bits);
}

std::array<std::uint32_t, 4> decode_element(const std::array<std::uint32_t, 4>& memory, const DataFormat& format, NumberFormat number) noexcept {
  std::array<std::uint32_t, 4> values{};
  for_components(format, [&](unsigned c, unsigned word, unsigned shift, unsigned bits) { values[c] = decode_component(memory[word] >> shift, bits, number); });
  return values;
}

std::array<std::uint32_t, 4> encode_element(const std::array<std::uint32_t, 4>& values, const DataFormat& format, NumberFormat number) noexcept {
  std::array<std::uint32_t, 4> memory{};
  for_components(format, [&](unsigned c, unsigned word, unsigned shift, unsigned bits) { memory[word] |= encode_component(values[c], bits, number) << shift; });
  return memory;
}

std::uint32_t to_d16(std::uint32_t value, NumberFormat number) noexcept {
  return is_integer(number) ? value & 0xffffu : num::encode<num::kF16>(std::bit_cast<float>(value));
}

std::uint32_t from_d16(std::uint32_t half, NumberFormat number) noexcept {
  half &= 0xffffu;
  if (number == NumberFormat::sint) return static_cast<std::uint32_t>(sign_extended(half, 16));
  return number == NumberFormat::uint ? half : num::decode_bits<num::kF16>(half);
}

} // namespace aql::sim::mem
