// Every row of the opcode tables, as an assembler knows them, against the decoder and the disassembler.
#include "support/catch.hpp"

#include <bit>
#include <map>
#include <random>

#include "sim/isa/decode.hpp"
#include "sim/isa/disasm.hpp"
#include "sim/isa/op_info.hpp"
#include "support/isa_bench.hpp"
#include "support/isa_rows.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::sim::isa;
using namespace aql::test;

TEST_CASE("decode rows: every row of every target decodes to its mnemonic, opcode and size", "[isa]") {
  std::size_t checked[kArchCount] = {};
  for (const IsaRow& row : isa_rows()) {
    for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
      if ((row.targets & arch_bit(arch)) == 0) continue;
      INFO(to_string(arch) << ' ' << row.format << ' ' << row.example);
      Inst inst;
      REQUIRE(decode(row.words, arch, inst) == DecodeStatus::ok);
      CHECK(inst.info->mnemonic == base_mnemonic(row.mnemonic));
      CHECK(inst.size_bytes == row.words.size() * 4);
      CHECK(row_format(inst) == row.format);
      ++checked[static_cast<unsigned>(arch)];
    }
  }
  CHECK(checked[0] == 1820); // 1,819 and s_nop
  CHECK(checked[1] == 1873);
  CHECK(checked[2] == 1981);
}

TEST_CASE("decode rows: no opcode decodes that the tables do not have", "[isa]") {
  std::map<std::string, unsigned> known; // format + opcode -> targets
  for (const IsaRow& row : isa_rows()) known[row.format + ' ' + std::to_string(row.opcode)] |= row.targets;
  for (unsigned f = 0; f < static_cast<unsigned>(Format::illegal); ++f) {
    for (unsigned code = 0; code < 1024; ++code) {
      for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
        const OpInfo* info = find_op(static_cast<Format>(f), code, arch);
        const auto row = known.find(std::string(to_string(static_cast<Format>(f))) + ' ' + std::to_string(code));
        const bool expected = row != known.end() && (row->second & arch_bit(arch)) != 0;
        INFO(to_string(arch) << ' ' << to_string(static_cast<Format>(f)) << ' ' << code);
        CHECK((info != nullptr) == expected);
      }
    }
  }
}

TEST_CASE("decode rows: each example prints as LLVM prints it", "[isa]") {
  for (const IsaRow& row : isa_rows()) {
    for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
      if ((row.targets & arch_bit(arch)) == 0) continue;
      Inst inst;
      REQUIRE(decode(row.words, arch, inst) == DecodeStatus::ok);
      CHECK(disassemble(inst, arch) == row.example);
    }
  }
}

TEST_CASE("decode rows: an instruction cut short is truncated", "[isa]") {
  for (const IsaRow& row : isa_rows()) {
    if (row.words.size() == 1) continue;
    Inst inst;
    const auto arch = static_cast<Arch>(std::countr_zero(static_cast<unsigned>(row.targets)));
    INFO(row.example);
    CHECK(decode(std::span(row.words).first(row.words.size() - 1), arch, inst) == DecodeStatus::truncated);
  }
}

TEST_CASE("decode rows: random changes of any instruction decode, or do not, but never crash, and print", "[isa]") {
  std::mt19937 random(20240611); // NOLINT: the same words every run
  std::size_t legal = 0;
  for (unsigned n = 0; n < 200000; ++n) {
    const auto& rows = isa_rows();
    auto words = rows[random() % rows.size()].words;
    words.resize(4, 0xbf800000);
    for (unsigned flips = random() % 8 + 1; flips != 0; --flips) {
      const unsigned bit = random() % 128;
      words[bit / 32] ^= 1u << (bit % 32);
    }
    const auto arch = static_cast<Arch>(n % kArchCount);
    Inst inst;
    if (decode(words, arch, inst) != DecodeStatus::ok) continue;
    ++legal;
    REQUIRE((inst.size_bytes == 4 || inst.size_bytes == 8 || inst.size_bytes == 12 || inst.size_bytes == 16));
    REQUIRE_FALSE(disassemble(inst, arch, 0x1000).empty());
  }
  CHECK(legal > 100000);
}
