// The coverage page against the opcode tables and the records of the instruction tests (which CTest runs first).

#include <fstream>
#include <sstream>

#include "support/catch.hpp"
#include "support/coverage_page.hpp"

namespace aql::test {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Records all_rows_of(Arch arch) {
  Records all;
  for (const IsaRow& row : isa_rows()) {
    if ((row.targets & sim::arch_bit(arch)) != 0) all.insert(record_of(arch, row.format, row.mnemonic));
  }
  return all;
}

TEST_CASE("coverage: docs/isa_coverage.md says what the records of the instruction tests say") {
  const Records records = read_records();
  REQUIRE_FALSE(records.empty());
  const std::string fresh = coverage_page(records), path = std::string(AQL_TEST_BIN_DIR) + "/../isa_coverage.md";
  std::ofstream(path, std::ios::binary) << fresh;
  INFO("The page as it should be is " << path << "; scripts/make_isa_coverage.sh puts it in place.");
  CHECK(fresh == file_text(AQL_SOURCE_DIR "/docs/isa_coverage.md"));
}

TEST_CASE("coverage: every row decodes, and at least 98 percent of those that compute code can meet agree with a reference") {
  const Records records = read_records();
  for (const Arch arch : kAllArchs) {
    const Coverage c = coverage(arch, records);
    INFO(sim::isa::to_string(arch));
    CHECK(c.undecoded == std::set<std::string>{});
    CHECK(c.executed_percent() >= 98.0);
  }
}

TEST_CASE("coverage: a row without a record is missing by name") {
  Records records = all_rows_of(Arch::gfx942);
  const Coverage before = coverage(Arch::gfx942, records, "VOP2_SDWA");
  REQUIRE(records.erase(record_of(Arch::gfx942, "VOP2_SDWA", "v_add_f32_sdwa")) == 1);
  const Coverage after = coverage(Arch::gfx942, records, "VOP2_SDWA");
  CHECK(before.missing.empty());
  CHECK(after.missing == std::set<std::string>{"v_add_f32"});
  CHECK(after.executed == before.executed - 1);
}

TEST_CASE("coverage: a record of one encoding or target does not count for another") {
  const Records records{record_of(Arch::gfx942, "VOP2", "v_add_f32_e32")};
  CHECK(coverage(Arch::gfx942, records, "VOP2").executed == 1);
  CHECK(coverage(Arch::gfx942, records, "VOP3").executed == 0);
  CHECK(coverage(Arch::gfx950, records, "VOP2").executed == 0);
}

TEST_CASE("coverage: global wave sync is refused, by running it") {
  const Coverage c = coverage(Arch::gfx90a, {}, "DS");
  CHECK(c.refused == 6);
  CHECK(c.refused_names.contains("ds_gws_barrier"));
}

} // namespace
} // namespace aql::test
