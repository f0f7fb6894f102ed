#pragma once
// The first 1201 bits of 2/pi after its binary point, most significant first; zero beyond (ISA guide, V_TRIG_PREOP_F64).

#include <cstdint>

namespace aql::sim {

inline constexpr std::uint64_t kTwoOverPi[] = {
  0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u,
  0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u,
  0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
  0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b0000u,
};
inline constexpr std::uint32_t kTwoOverPiWords = sizeof kTwoOverPi / sizeof kTwoOverPi[0];

// 53 bits from bit `shift` on.
[[nodiscard]] inline std::uint64_t two_over_pi_bits(std::uint32_t shift) noexcept {
  const std::uint32_t word = shift / 64, bit = shift % 64;
  if (word >= kTwoOverPiWords) return 0;
  std::uint64_t v = kTwoOverPi[word] << bit;
  if (bit != 0 && word + 1 < kTwoOverPiWords) v |= kTwoOverPi[word + 1] >> (64 - bit);
  return v >> 11;
}

} // namespace aql::sim
