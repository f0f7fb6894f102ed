#pragma once
// tests/data/isa/rows.tsv: every (format, opcode) row of each target with an example and its words.

#include <cstdint>
#include <string>
#include <vector>

namespace aql::test {

struct IsaRow {
  std::uint8_t targets = 0; // arch_bit()s
  std::string format;       // "VOP2", "VOP2_SDWA", ...
  unsigned opcode = 0;
  std::string mnemonic;     // with its _e32, _e64, _sdwa or _dpp
  std::string example;      // LLVM's text
  std::vector<std::uint32_t> words;
};

[[nodiscard]] const std::vector<IsaRow>& isa_rows();
[[nodiscard]] std::string base_mnemonic(std::string name); // without _e32 ...

} // namespace aql::test
