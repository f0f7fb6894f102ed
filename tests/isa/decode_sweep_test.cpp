// All 65,536 upper half-words of a first word: is there an instruction that begins so? Under each upper half-word the low half
// and the following words are those of a list of templates, made so that every opcode of the tables has one in which its
// unused fields are 0 and its operands are good; the half-word is legal if it is under one of them.
//
// tests/data/isa/legal_<target>.txt holds LLVM's answer as ranges of legal half-words. With AQL_LONG_TESTS=1 the answer is
// taken from llvm-mc again; with AQL_UPDATE_TEST_DATA=1 besides, it is written.
#include "support/catch.hpp"

#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sim/isa/decode.hpp"
#include "sim/isa/op_info.hpp"
#include "support/isa_bench.hpp"
#include "support/skip.hpp"
#include "support/tools.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

using Uppers = std::bitset<65536>;

// Where a template belongs: upper half-words with `bits` on top, `width` of them.
struct Family {
  std::uint32_t bits;
  unsigned width;
  [[nodiscard]] constexpr bool has(std::uint32_t upper) const { return upper >> (16 - width) == bits; }
};
constexpr Family kAny{0, 0}, kScalar{2, 2}, kVectorShort{0, 1}, kSmem{0x30, 6}, kVop3{0x34, 6}, kDs{0x36, 6}, kFlat{0x37, 6}, kMubuf{0x38, 6}, kMtbuf{0x3a, 6};

struct Template {
  Family family;
  std::uint32_t low, word1, word2, word3;
};
constexpr Template kTemplates[] = {
    {kAny, 0x0000, 0, 0, 0},
    {kAny, 0x2010, 0x00002010, 0, 0},
    {kScalar, 0x0001, 0, 0, 0},
    {kScalar, 0x0004, 0x12345678, 0, 0},                                               // SOPK with a literal
    {kScalar, 0x2030, 0, 0, 0},                                                        // SOP2, SOPC
    {kScalar, 0x0020, 0, 0, 0}, {kScalar, 0x1c00, 0, 0, 0}, {kScalar, 0x0120, 0, 0, 0}, // SOP1: s_mov_b32, s_getpc, s_mov_b64
    {kSmem, 0x0008, 0x20, 0, 0}, {kSmem, 0x0808, 0x20, 0, 0}, {kSmem, 0x0800, 0, 0, 0},
    {kVectorShort, 0x0330, 0, 0, 0}, {kVectorShort, 0xad31, 0, 0, 0}, {kVectorShort, 0xa530, 0, 0, 0}, // VOP1: v_mov_b32, f64, v_accvgpr_mov
    {kVectorShort, 0x4130, 0x3f123456, 0, 0},                                          // VOP2, VOPC, literal of madmk
    {kVop3, 0x0010, 0x05024130, 0, 0}, {kVop3, 0x0010, 0x00024130, 0, 0}, {kVop3, 0x0010, 0x00000130, 0, 0},
    {kVop3, 0x0010, 0x00120b30, 0, 0}, {kVop3, 0x0010, 0x00000c06, 0, 0},              // lane masks and lane numbers in SGPRs
    {kVop3, 0x4080, 0x05024110, 0, 0}, {kVop3, 0x4080, 0x00024110, 0, 0}, {kVop3, 0x8080, 0x05024110, 0, 0}, // VOP3P
    {kVop3, 0x4080, 0x18000110, 0, 0}, {kVop3, 0x4080, 0x1d024110, 0, 0},
    {kVop3, 0x0000, 0x0002c560, 0xd3ad0880, 0x05024110},                               // scaled MFMA
    {kDs, 0x0000, 0x00000010, 0, 0}, {kDs, 0x0000, 0x40302010, 0, 0}, {kDs, 0x0000, 0x40000010, 0, 0}, {kDs, 0x0000, 0x40000000, 0, 0},
    {kDs, 0x0000, 0x00302010, 0, 0}, {kDs, 0x0000, 0x00002000, 0, 0}, {kDs, 0x0000, 0x40002010, 0, 0},
    {kFlat, 0x0000, 0x30000010, 0, 0}, {kFlat, 0x0000, 0x00002010, 0, 0},
    {kFlat, 0x8000, 0x007f2010, 0, 0}, {kFlat, 0x8000, 0x007f0010, 0, 0}, {kFlat, 0x8000, 0x307f0010, 0, 0}, // global
    {kFlat, 0x4000, 0x007f2000, 0, 0}, {kFlat, 0x4000, 0x307f0010, 0, 0}, {kFlat, 0x4000, 0x007f0000, 0, 0}, // scratch
    {kFlat, 0x4000, 0x307f0000, 0, 0}, {kFlat, 0x4000, 0x007f2010, 0, 0},
    {kMubuf, 0x1010, 0x10042010, 0, 0}, {kMubuf, 0x0010, 0x10040000, 0, 0}, {kMubuf, 0x1010, 0x10040010, 0, 0},
    {kMtbuf, 0x1010, 0x10042010, 0, 0}, {kMtbuf, 0x9010, 0x10042010, 0, 0},
};

std::string data_file(Arch arch) { return std::string(AQL_TEST_DATA_DIR) + "/isa/legal_" + std::string(isa::to_string(arch)) + ".txt"; }

Uppers ours(Arch arch) {
  Uppers legal;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const Template& t : kTemplates) {
      if (!t.family.has(upper)) continue;
      const std::uint32_t words[4] = {upper << 16 | t.low, t.word1, t.word2, t.word3};
      Inst inst;
      if (isa::decode(words, arch, inst) != isa::DecodeStatus::ok) continue;
      legal.set(upper);
      break;
    }
  }
  return legal;
}

Uppers recorded(Arch arch) {
  Uppers legal;
  std::ifstream file(data_file(arch));
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    unsigned first = 0, last = 0;
    const int fields = std::sscanf(line.c_str(), "%x-%x", &first, &last);
    if (fields == 1) last = first;
    for (unsigned upper = first; upper <= last && upper < 65536; ++upper) legal.set(upper);
  }
  return legal;
}

// llvm-mc takes each bracket as one try and stops inside it at the first word it does not know, so a try that prints anything
// but a refused operand began with an instruction. s_nop with numbers that no template has mark where tries begin.
Uppers llvm(Arch arch) {
  const auto tool = find_tool("llvm-mc");
  Uppers legal;
  if (!tool) return legal;
  const TempDir work;
  for (std::uint32_t begin = 0; begin < 65536; begin += 4096) {
    {
      std::ofstream input(work.file("in"));
      const auto put = [&](std::initializer_list<std::uint32_t> words) {
        input << '[';
        for (const std::uint32_t word : words) {
          char text[64];
          std::snprintf(text, sizeof text, "0x%02x 0x%02x 0x%02x 0x%02x ", word & 255, word >> 8 & 255, word >> 16 & 255, word >> 24);
          input << text;
        }
        input << "]\n";
      };
      for (std::uint32_t upper = begin; upper < begin + 4096; ++upper) {
        put({0xbf807abc}); // the next instruction is s_branch <upper>
        put({0xbf820000u | upper});
        for (const Template& t : kTemplates) {
          if (!t.family.has(upper)) continue;
          put({upper << 16 | t.low, t.word1, t.word2, t.word3});
          put({0xbf807abd}); // a try is over
        }
      }
    }
    // In parentheses: run_command takes standard error, too, and a warning in the middle of a line would pass for an instruction.
    const auto run = run_command("(" + *tool + " --disassemble -triple=amdgcn-amd-amdhsa -mcpu=" + std::string(isa::to_string(arch)) + " " + work.file("in") + " 2>/dev/null)");
    std::stringstream lines(run.output);
    std::uint32_t upper = 0;
    bool number = false, fresh = false;
    for (std::string line; std::getline(lines, line);) {
      const auto text = line.find_first_not_of(" \t");
      if (text == std::string::npos || line[text] == '.') continue;
      const std::string_view instruction = std::string_view(line).substr(text);
      if (instruction.starts_with("s_nop 0x7abc")) {
        number = true;
      } else if (number) {
        upper = static_cast<std::uint32_t>(std::strtoul(line.c_str() + text + 9, nullptr, 10)) & 0xffffu;
        number = false;
        fresh = true;
      } else if (instruction.starts_with("s_nop 0x7abd")) {
        fresh = true;
      } else {
        if (fresh && instruction.find("/*Invalid") == std::string_view::npos) legal.set(upper);
        fresh = false;
      }
    }
  }
  return legal;
}

void write(Arch arch, const Uppers& legal) {
  std::ofstream file(data_file(arch));
  file << "# Upper half-words of a first word with which some instruction of " << isa::to_string(arch) << " begins, as llvm-mc has it.\n"
       << "# Written by isa_decode_sweep with AQL_LONG_TESTS=1 AQL_UPDATE_TEST_DATA=1; do not edit.\n";
  for (unsigned first = 0; first < 65536; ++first) {
    if (!legal[first]) continue;
    unsigned last = first;
    while (last + 1 < 65536 && legal[last + 1]) ++last;
    char text[32];
    std::snprintf(text, sizeof text, first == last ? "%04x\n" : "%04x-%04x\n", first, last);
    file << text;
    first = last;
  }
}

// Where we differ from LLVM on purpose.
bool excused(std::uint32_t upper, bool legal_here, const Uppers& theirs) {
  if (upper >> 10 == 0x3c) return true;                                                   // its disassembler knows image instructions that CDNA does not have
  if (upper >> 14 == 2 && (upper & 0x7f) == 0x7d) return !legal_here;                     // and the null register of later targets
  constexpr std::uint32_t kModifiers = 0x203; // cache, gds, lds and acc bits of memory formats: ignored where an instruction has no use for them
  return upper >> 14 == 3 && upper >> 10 != 0x34 && legal_here && (theirs[upper & ~kModifiers] || theirs[(upper & ~kModifiers) | 1]);
}

void compare(Arch arch, const Uppers& theirs) {
  const Uppers mine = ours(arch);
  std::string differences;
  unsigned count = 0;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    if (mine[upper] == theirs[upper] || excused(upper, mine[upper], theirs)) continue;
    if (++count > 40) break;
    char text[64];
    std::snprintf(text, sizeof text, "%04x is %s here, %s for LLVM\n", upper, mine[upper] ? "legal" : "illegal", theirs[upper] ? "legal" : "illegal");
    differences += text;
  }
  INFO(isa::to_string(arch));
  CHECK(differences == "");
}

bool flag(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '1';
}

} // namespace

TEST_CASE("decode sweep: legality of every upper half-word is what the assembler says, as recorded", "[isa]") {
  for (const Arch arch : kAllArchs) {
    const Uppers theirs = recorded(arch);
    REQUIRE(theirs.count() > 30000);
    compare(arch, theirs);
  }
}

TEST_CASE("decode sweep: the record is what the assembler of this machine says", "[isa]") {
  if (!flag("AQL_LONG_TESTS")) AQL_SKIP("takes minutes; AQL_LONG_TESTS=1 runs it");
  if (!find_tool("llvm-mc")) AQL_SKIP("no llvm-mc in PATH");
  for (const Arch arch : kAllArchs) {
    const Uppers now = llvm(arch);
    if (flag("AQL_UPDATE_TEST_DATA")) write(arch, now);
    INFO(isa::to_string(arch));
    CHECK(now == recorded(arch));
  }
}
