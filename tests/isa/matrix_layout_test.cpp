// Register layouts: a single 1 in A meets a single 1 in B and must give a single 1 in D, at coordinates that
// tests/data/matrix_layout.txt samples from the ISA guides' formulas.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "isa/matrix_support.hpp"
#include "support/catch.hpp"

namespace {

using namespace aql;
using sim::Arch;
using sim::MatrixType;

struct Sample {
  std::string line, target, type_a, type_b, index;
  unsigned opcode = 0, block = 0, i = 0, j = 0, k = 0;
  unsigned a_reg = 0, a_lane = 0, a_bit = 0, b_reg = 0, b_lane = 0, b_bit = 0, d_item = 0, d_lane = 0;
};

std::vector<Sample> samples() {
  std::vector<Sample> all;
  std::ifstream file(std::string(AQL_TEST_DATA_DIR) + "/matrix_layout.txt");
  for (std::string line; std::getline(file, line);) {
    Sample s;
    s.line = line;
    std::istringstream in(line);
    if (line[0] != '#' && in >> s.target >> s.opcode >> s.type_a >> s.type_b >> s.block >> s.i >> s.j >> s.k >> s.a_reg >> s.a_lane >> s.a_bit >> s.b_reg >>
                              s.b_lane >> s.b_bit >> s.index >> s.d_item >> s.d_lane) {
      all.push_back(s);
    }
  }
  return all;
}

struct NamedType {
  const char* name;
  MatrixType type;
  std::uint64_t one, one_fnuz;
};
constexpr NamedType kTypes[] = {
    {"f64", MatrixType::f64, 0x3ff0000000000000, 0}, {"f32", MatrixType::f32, 0x3f800000, 0}, {"xf32", MatrixType::xf32, 0x3f800000, 0},
    {"f16", MatrixType::f16, 0x3c00, 0},             {"bf16", MatrixType::bf16, 0x3f80, 0},   {"bf16x2", MatrixType::bf16x2, 0x3f80, 0},
    {"i8", MatrixType::i8, 1, 0},                    {"fp8", MatrixType::fp8, 0x38, 0x40},    {"bf8", MatrixType::bf8, 0x3c, 0x40},
    {"fp6", MatrixType::fp6, 0x08, 0},               {"bf6", MatrixType::bf6, 0x0c, 0},       {"fp4", MatrixType::fp4, 0x2, 0},
};

const NamedType& type_named(const std::string& name) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NamedType& t) { return name == t.name; });
}

Arch arch_named(const std::string& name) { return name == "gfx90a" ? Arch::gfx90a : name == "gfx942" ? Arch::gfx942 : Arch::gfx950; }

// An item may cross into the next register (6 bits) or fill two (64 bits).
void put_one(test::Registers& regs, const NamedType& type, Arch arch, unsigned reg, unsigned lane, unsigned bit) {
  const std::uint64_t one = arch == Arch::gfx942 && type.one_fnuz != 0 ? type.one_fnuz : type.one;
  regs[reg].lane[lane] |= static_cast<std::uint32_t>(one << bit);
  if (const std::uint64_t rest = bit == 0 ? one >> 32 : one >> (32 - bit); rest != 0) regs[reg + 1].lane[lane] |= static_cast<std::uint32_t>(rest);
}

} // namespace

TEST_CASE("matrix layout: sampled elements of A, B and D lie where the formulas say") {
  const auto all = samples();
  REQUIRE(all.size() > 500);
  for (const Sample& s : all) {
    INFO(s.line);
    const Arch arch = arch_named(s.target);
    const auto* row = sim::find_matrix_row(s.opcode, arch);
    REQUIRE(row != nullptr);
    const NamedType &a = type_named(s.type_a), &b = type_named(s.type_b);
    const sim::MatrixPlan plan = make_matrix_plan(*row, arch, a.type, b.type);
    test::MatrixInputs in;
    in.a.resize(plan.a_regs + 1u); // room for the rest of an item, which is 0
    in.b.resize(plan.b_regs + 1u);
    in.c.resize(plan.d_regs);
    put_one(in.a, a, arch, s.a_reg, s.a_lane, s.a_bit);
    put_one(in.b, b, arch, s.b_reg, s.b_lane, s.b_bit);
    if (unsigned lane = 0, bit = 0, value = 0; std::sscanf(s.index.c_str(), "%u:%u:%u", &lane, &bit, &value) == 3) in.index.lane[lane] = value << bit;

    const bool f64 = row->d == MatrixType::f64;
    test::Registers expected(plan.d_regs);
    const unsigned last = f64 ? 2 * s.d_item + 1 : s.d_item; // of a double the high half
    expected[last].lane[s.d_lane] = f64 ? 0x3ff00000u : row->d == MatrixType::i32 ? 1u : 0x3f800000u;
    for (const auto numerics : {sim::MatrixNumerics::exact, sim::MatrixNumerics::fast}) {
      CHECK(test::first_difference(test::run_matrix(plan, in, sim::host_tier(), numerics), expected, false, false) == -1);
    }
  }
}
