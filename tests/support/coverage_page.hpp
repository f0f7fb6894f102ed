#pragma once
// docs/isa_coverage.md: the rows of the opcode tables against the records that instruction tests left (IsaBench::agreed).

#include <set>
#include <string>

#include "support/isa_bench.hpp"
#include "support/isa_rows.hpp"

namespace aql::test {

struct Coverage {
  unsigned rows = 0, decoded = 0, executed = 0, refused = 0; // refused: faults as not part of compute, by its mnemonic
  std::set<std::string> missing, refused_names, undecoded;
  // Of the rows that compute code can meet.
  [[nodiscard]] double executed_percent() const { return rows == refused ? 100.0 : 100.0 * executed / (rows - refused); }
};

// "gfx942<tab>VOP2_SDWA<tab>v_add_f32": one that ran in a test and agreed with its reference.
using Records = std::set<std::string>;
[[nodiscard]] std::string record_of(Arch arch, const std::string& format, const std::string& mnemonic);
// The records of this build directory.
[[nodiscard]] Records read_records();

// All families, or one.
[[nodiscard]] Coverage coverage(Arch arch, const Records& records, const std::string& format = {});
[[nodiscard]] std::string coverage_page(const Records& records);

} // namespace aql::test
