#pragma once
// The assembled memory instructions of tests/isa/cases as data.

#include <cstdint>
#include <string>
#include <vector>

#include "support/isa_bench.hpp"

namespace aql::test {

enum class MemForm {
  vector,            // address in VGPRs
  scalar_base,       // plus an SGPR; scratch: the SGPR alone
  immediate,         // the offset alone
  vector_and_scalar, // scratch
  none, offen, idxen, both, // buffers
};

struct MemCase {
  std::string name;
  MemForm form;
  std::int32_t imm;
  bool acc, returns;
  AsmCase code;
  [[nodiscard]] bool on(Arch arch) const { return (code.targets & sim::arch_bit(arch)) != 0; }
};

// Registers its AsmCases, so that the assembler checks them.
class MemCases {
public:
  explicit MemCases(std::vector<MemCase> cases) : cases_(std::move(cases)), registered_(codes(cases_)) {}
  [[nodiscard]] auto begin() const { return cases_.begin(); }
  [[nodiscard]] auto end() const { return cases_.end(); }

private:
  static std::vector<AsmCase> codes(const std::vector<MemCase>& cases) {
    std::vector<AsmCase> all;
    for (const MemCase& c : cases) all.push_back(c.code);
    return all;
  }
  std::vector<MemCase> cases_;
  AsmCases registered_;
};

// Used between the braces of a std::vector<MemCase>.
#define AQL_MEM_WORDS(...) {__VA_ARGS__}
#define MEM_CASE(name, form, imm, acc, returns, text, words, targets) \
  {name, MemForm::form, imm, acc, returns, AsmCase{text, AQL_MEM_WORDS words, targets}},

} // namespace aql::test
