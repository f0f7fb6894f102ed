#pragma once
// Random streams of legal instructions, for the frame in stream.s: words, and the state they start from.
// A stream uses only registers that the frame gives it, aims memory operands at the arena, LDS and private memory, branches
// forward, loops a bounded number of times, and ends at its last instruction. It reads nothing that differs from run to run:
// no address, no clock. What it does not pick at random, and why: left_out().

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/isa/inst.hpp"

namespace aql::test {

inline constexpr std::uint32_t kStreamGroups = 4, kArenaBytes = 0x10000, kStateBytes = 0x18000, kBodyWords = 6144;
inline constexpr std::uint32_t kBodyMarker = 0x5eedface; // the body follows this word

struct Stream {
  std::vector<std::uint32_t> words;
  std::vector<std::string> families;   // row_format() of what is in it, each once
  std::vector<std::uint32_t> state;    // kStreamGroups * kStateBytes: what the frame loads
  std::vector<std::uint32_t> arena;    // kStreamGroups * kArenaBytes
};

[[nodiscard]] Stream make_stream(sim::Arch arch, std::uint32_t seed);

struct LeftOut {
  std::string_view mnemonic, why;
};
[[nodiscard]] std::span<const LeftOut> left_out();

// Rows that are not left out, and of which a stream still never gets an instruction: should be none.
[[nodiscard]] std::vector<std::string> rows_never_made(sim::Arch arch);

// Every row_format() that a target has.
[[nodiscard]] std::vector<std::string> families_of(sim::Arch arch);

} // namespace aql::test
