// Matrix instructions against checked-in vectors: tests/data/mfma_golden/index.txt says how they are laid out.

#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/matrix_support.hpp"
#include "support/catch.hpp"

namespace {

using namespace aql;

struct GoldenCase {
  std::string target, mnemonic;
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  std::ifstream index(std::string(AQL_TEST_DATA_DIR) + "/mfma_golden/index.txt");
  for (std::string line; std::getline(index, line);) {
    std::istringstream fields(line);
    GoldenCase c;
    if (line.rfind("gfx", 0) == 0 && fields >> c.target >> c.mnemonic) cases.push_back(c);
  }
  return cases;
}

std::vector<std::uint32_t> read_words(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint32_t> words(std::filesystem::file_size(path) / 4);
  file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  return words;
}

// Files hold the registers of lane 0, then those of lane 1, ...
test::Registers take_registers(const std::uint32_t*& words, unsigned count) {
  test::Registers regs(count);
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    for (unsigned r = 0; r < count; ++r) regs[r].lane[lane] = *words++;
  }
  return regs;
}

constexpr unsigned kWaves = 6;

} // namespace

TEST_CASE("matrix golden: the index lists 49 instructions of gfx90a and gfx942") { CHECK(golden_cases().size() == 49); }

TEST_CASE("matrix golden: exact numerics give the checked-in results bit for bit on every host tier") {
  for (const GoldenCase& c : golden_cases()) {
    const sim::Arch arch = c.target == "gfx90a" ? sim::Arch::gfx90a : sim::Arch::gfx942;
    const auto* info = sim::isa::find_mnemonic(c.mnemonic, arch);
    REQUIRE(info != nullptr);
    const auto* row = sim::find_matrix_row(info->code, arch);
    REQUIRE(row != nullptr);
    const sim::MatrixPlan plan = test::plan_of(*row, arch);
    const auto words = read_words(std::string(AQL_TEST_DATA_DIR) + "/mfma_golden/" + c.target + "." + c.mnemonic.substr(2) + ".bin");
    REQUIRE(words.size() == kWaves * sim::kLanes * (plan.a_regs + plan.b_regs + 2u * plan.d_regs));
    const std::uint32_t* next = words.data();
    for (unsigned wave = 0; wave < kWaves; ++wave) {
      test::MatrixInputs in;
      in.a = take_registers(next, plan.a_regs);
      in.b = take_registers(next, plan.b_regs);
      in.c = take_registers(next, plan.d_regs);
      const test::Registers expected = take_registers(next, plan.d_regs);
      for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
        INFO(c.target << " " << c.mnemonic << " wave " << wave << " tier " << tier);
        const auto d = test::run_matrix(plan, in, tier, sim::MatrixNumerics::exact);
        const int at = test::first_difference(d, expected, false, false);
        INFO("register " << at / 64 << " lane " << at % 64);
        CHECK(at == -1);
      }
    }
  }
}
