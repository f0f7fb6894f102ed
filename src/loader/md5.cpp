#include "loader/md5.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace aql::loader {
namespace {

constexpr std::array<std::array<int, 4>, 4> kShifts{{{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

// RFC 1321, section 3.4: the integer part of 2^32 * |sin(i + 1)|.
const std::array<std::uint32_t, 64>& sines() noexcept {
  static const auto table = [] {
    std::array<std::uint32_t, 64> t{};
    for (std::size_t i = 0; i < t.size(); ++i)
      t[i] = static_cast<std::uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    return t;
  }();
  return table;
}

void block(std::array<std::uint32_t, 4>& state, const std::byte* data) noexcept {
  std::uint32_t m[16];
  std::memcpy(m, data, sizeof m);
  auto [a, b, c, d] = state;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t f = 0, word = 0;
    switch (i / 16) {
    case 0: f = (b & c) | (~b & d), word = i; break;
    case 1: f = (d & b) | (~d & c), word = 5 * i + 1; break;
    case 2: f = b ^ c ^ d, word = 3 * i + 5; break;
    default: f = c ^ (b | ~d), word = 7 * i; break;
    }
    const std::uint32_t turned = std::rotl(a + f + sines()[i] + m[word % 16], kShifts[i / 16][i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

} // namespace

std::array<std::uint8_t, 16> md5(std::span<const std::byte> data) noexcept {
  std::array<std::uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const std::size_t whole = data.size() / 64 * 64;
  for (std::size_t at = 0; at < whole; at += 64) block(state, data.data() + at);
  // The tail: one 1 bit, zeros, and the length in bits.
  std::array<std::byte, 128> tail{};
  const std::size_t rest = data.size() - whole;
  if (rest != 0) std::memcpy(tail.data(), data.data() + whole, rest);
  tail[rest] = std::byte{0x80};
  const std::size_t tail_size = rest < 56 ? 64 : 128;
  const std::uint64_t bits = std::uint64_t{data.size()} * 8;
  std::memcpy(tail.data() + tail_size - 8, &bits, 8);
  for (std::size_t at = 0; at < tail_size; at += 64) block(state, tail.data() + at);
  std::array<std::uint8_t, 16> out{};
  std::memcpy(out.data(), state.data(), out.size());
  return out;
}

} // namespace aql::loader
