#pragma once
// The assembled memory instructions of tests/isa/cases as data.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

// A line of tests/isa/cases, plain data: a thousand strings and vectors take the compiler minutes.
struct MemLine {
  const char* name;
  MemForm form;
  std::int32_t imm;
  bool acc, returns;
  const char* text;
  std::uint32_t words[2];
  std::uint8_t word_count, targets;
};

// Registers its AsmCases, so that the assembler checks them.
class MemCases {
public:
  template <std::size_t kLines>
  explicit MemCases(const MemLine (&lines)[kLines]) : cases_(convert(lines, kLines)), registered_(codes(cases_)) {}
  [[nodiscard]] auto begin() const { return cases_.begin(); }
  [[nodiscard]] auto end() const { return cases_.end(); }

private:
  static std::vector<MemCase> convert(const MemLine* lines, std::size_t count) {
    std::vector<MemCase> all;
    for (const MemLine* l = lines; l != lines + count; ++l) {
      all.push_back({l->name, l->form, l->imm, l->acc, l->returns, AsmCase{l->text, {l->words, l->words + l->word_count}, l->targets}});
    }
    return all;
  }
  static std::vector<AsmCase> codes(const std::vector<MemCase>& cases) {
    std::vector<AsmCase> all;
    for (const MemCase& c : cases) all.push_back(c.code);
    return all;
  }
  std::vector<MemCase> cases_;
  AsmCases registered_;
};

// Used between the braces of a constexpr MemLine[].
#define AQL_MEM_WORDS(...) {__VA_ARGS__}
#define AQL_MEM_COUNT(...) static_cast<std::uint8_t>(std::initializer_list<std::uint32_t>{__VA_ARGS__}.size())
#define MEM_CASE(name, form, imm, acc, returns, text, words, targets) \
  {name, MemForm::form, imm, acc, returns, text, AQL_MEM_WORDS words, AQL_MEM_COUNT words, targets},

} // namespace aql::test
