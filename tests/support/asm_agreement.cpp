// Linked into every instruction test: the words of its AsmCases are what the distribution's assembler makes of the text.
#include "support/catch.hpp"

#include "support/isa_bench.hpp"
#include "support/skip.hpp"

using namespace aql;
using namespace aql::test;

TEST_CASE("asm: the words of every case are those of the assembler", "[isa]") {
  if (!have_assembler()) AQL_SKIP("no llvm-mc in PATH");
  for (const Arch arch : kAllArchs) {
    std::vector<std::string> texts;
    std::vector<const AsmCase*> cases;
    for (const AsmCase* c : registered_asm_cases()) {
      if ((c->targets & sim::arch_bit(arch)) == 0) continue;
      texts.push_back(c->text);
      cases.push_back(c);
    }
    if (texts.empty()) continue;
    std::string errors;
    const auto words = assemble_each(arch, texts, &errors);
    INFO(errors);
    for (std::size_t n = 0; n < cases.size(); ++n) {
      INFO(sim::isa::to_string(arch) << ": " << texts[n]);
      CHECK(words[n] == cases[n]->words);
    }
  }
}
