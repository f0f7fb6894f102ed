// Random operands, modifiers and modes for every opcode of the reference, in every encoding it has. The number of cases an encoding
// is small by default; AQL_FUZZ_CASES=n runs n, AQL_FUZZ_SEED=n starts elsewhere, AQL_FUZZ_ONLY=name runs one mnemonic.

#include <cstdlib>

#include "support/catch.hpp"
#include "valu_harness.hpp"

namespace aql::test {
namespace {

using sim::isa::Format;
using sim::isa::OpInfo;

unsigned setting(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : otherwise;
}

enum class Form { base, vop3, sdwa, dpp };

class Encoder {
public:
  Encoder(Random& random, const OpInfo& op) : random_(random), op_(op) {}

  std::vector<std::uint32_t> encode(Form form) {
    words_.clear();
    literal_ = false;
    switch (form) {
    case Form::base: base(source9(), 0); break;
    case Form::vop3: op_.format == Format::vop3p ? vop3p() : vop3(); break;
    case Form::sdwa: base(249, sdwa()); break;
    case Form::dpp: base(250, dpp()); break;
    }
    if (literal_ || needs_literal()) words_.push_back(edge_value(random_));
    return words_;
  }

private:
  std::uint32_t any(std::uint32_t n) { return random_() % n; }
  bool needs_literal() const { return op_.src[1].role == sim::isa::Role::literal || op_.src[2].role == sim::isa::Role::literal; }

  // Few registers, so that sources and results meet.
  std::uint32_t vgpr() { return any(16); }
  std::uint32_t scalar() {
    switch (any(6)) {
    case 0: return 128 + any(81);
    case 1: return 240 + any(9);
    case 2: {
      constexpr std::uint32_t kSpecial[] = {106, 107, 124, 126, 127, 235, 236, 237, 238, 251, 252, 253};
      return kSpecial[any(std::size(kSpecial))];
    }
    default: return any(32);
    }
  }
  std::uint32_t source9() {
    if (any(3) != 0) return 256 + vgpr();
    if (any(6) == 0 && !needs_literal()) {
      literal_ = true;
      return 255;
    }
    return scalar();
  }
  std::uint32_t source9_no_literal() { return any(3) != 0 ? 256 + vgpr() : scalar(); }

  void base(std::uint32_t src0, std::uint32_t extra) {
    const std::uint32_t code = op_.code;
    // The second source of an SDWA word may be scalar.
    const std::uint32_t src1 = src0 == 249 && (extra >> 31) != 0 ? scalar() & 0xffu : vgpr();
    if (op_.format == Format::vop1) words_.push_back(0x7e000000u | vgpr() << 17 | code << 9 | src0);
    else if (op_.format == Format::vop2) words_.push_back(code << 25 | vgpr() << 17 | src1 << 9 | src0);
    else words_.push_back(0x7c000000u | code << 17 | src1 << 9 | src0);
    if (src0 == 249 || src0 == 250) words_.push_back(extra);
  }

  std::uint32_t modifiers(std::uint32_t bits) { return any(2) == 0 ? 0 : any(1u << bits); }

  void vop3() {
    const std::uint32_t code = op_.code + (op_.format == Format::vop2 ? 256u : op_.format == Format::vop1 ? 320u : 0u);
    std::uint32_t w0 = 0xd0000000u | code << 16 | any(4) / 3 << 15;
    const bool to_mask = op_.format == Format::vopc;
    const bool table = op_.mnemonic.starts_with("v_bitop3");
    if (op_.mask_dst() != nullptr && !to_mask) w0 |= 2 * any(16) << 8 | vgpr();
    else {
      w0 |= (to_mask ? 2 * any(16) : vgpr()) | (table ? any(8) : modifiers(3)) << 8;
      if (uses_halves()) w0 |= modifiers(4) << 11;
    }
    std::uint32_t w1 = source9_no_literal();
    if (op_.src[1].used() && op_.src[1].role != sim::isa::Role::tied) w1 |= source1() << 9;
    if (op_.src[2].used() && op_.src[2].role != sim::isa::Role::tied) w1 |= source2() << 18;
    w1 |= (table ? any(4) : modifiers(2)) << 27 | (table ? any(8) : modifiers(3)) << 29;
    words_ = {w0, w1};
  }
  std::uint32_t source1() { return source9_no_literal(); }
  std::uint32_t source2() {
    if (op_.src[2].elem == sim::isa::Elem::mask) return 2 * any(16);
    return op_.src[2].dwords() > 2 ? 256 + 2 * any(8) : source9_no_literal(); // quads are vector registers
  }
  bool uses_halves() const {
    for (const auto& spec : op_.src) {
      if (spec.used() && bits_of(spec.elem) * spec.count == 16) return true;
    }
    return op_.dst[0].used() && op_.dst[0].elem != sim::isa::Elem::mask && bits_of(op_.dst[0].elem) * op_.dst[0].count == 16;
  }

  void vop3p() {
    const std::uint32_t sel_hi = any(2) == 0 ? 7 : any(8);
    words_ = {0xd3800000u | op_.code << 16u | vgpr() | modifiers(3) << 8 | modifiers(3) << 11 | (sel_hi >> 2) << 14 | any(4) / 3 << 15,
              source9_no_literal() | source9_no_literal() << 9 | (op_.src[2].used() ? source9_no_literal() << 18 : 0) | (sel_hi & 3u) << 27 | modifiers(3) << 29};
  }

  std::uint32_t select() { return any(7); }
  std::uint32_t sdwa() {
    const bool scalar0 = any(5) == 0, scalar1 = any(5) == 0;
    std::uint32_t w = scalar0 ? any(32) | 1u << 23 : vgpr();
    if (op_.format == Format::vopc) w |= any(2) == 0 ? 0 : (0x80u | 2 * any(16)) << 8;
    else w |= select() << 8 | any(3) << 11 | any(4) / 3 << 13 | modifiers(2) << 14;
    w |= select() << 16 | modifiers(1) << 19 | modifiers(2) << 20 | select() << 24 | modifiers(1) << 27 | modifiers(2) << 28;
    return w | (scalar1 ? 1u << 31 : 0u);
  }
  std::uint32_t dpp() {
    constexpr std::uint32_t kControls[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
    std::uint32_t ctrl = 0;
    switch (any(6)) {
    case 0: ctrl = any(256); break;
    case 1: ctrl = 0x101 + any(15); break;
    case 2: ctrl = 0x111 + any(15); break;
    case 3: ctrl = 0x121 + any(15); break;
    case 4: ctrl = 0x150 + any(16); break;
    default: ctrl = kControls[any(std::size(kControls))]; break;
    }
    bool wide = false; // 64-bit operands: only row_newbcast
    for (const auto& spec : op_.src) wide = wide || (spec.used() && spec.elem != sim::isa::Elem::mask && spec.dwords() == 2);
    wide = wide || (op_.dst[0].used() && op_.dst[0].dwords() == 2);
    if (wide) ctrl = 0x150 + any(16);
    const std::uint32_t masks = any(2) == 0 ? 0xffu : any(256);
    return vgpr() | ctrl << 8 | any(2) << 19 | modifiers(4) << 20 | masks << 24;
  }

  Random& random_;
  const OpInfo& op_;
  std::vector<std::uint32_t> words_;
  bool literal_ = false;
};

std::vector<Form> forms_of(const OpInfo& op) {
  switch (op.format) {
  case Format::vop3: case Format::vop3p: return {Form::vop3};
  case Format::vop1: case Format::vop2: case Format::vopc: break;
  default: return {};
  }
  std::vector<Form> forms{Form::base};
  if (op.has(sim::isa::kHasVop3)) forms.push_back(Form::vop3);
  if (op.has(sim::isa::kHasSdwa)) forms.push_back(Form::sdwa);
  if (op.has(sim::isa::kHasDpp)) forms.push_back(Form::dpp);
  return forms;
}

// The first disagreement of each mnemonic and encoding.
std::string fuzz(Arch arch, unsigned cases, std::uint32_t seed) {
  const char* only = std::getenv("AQL_FUZZ_ONLY");
  ValuHarness harness(arch);
  std::string differences;
  for (const OpInfo& op : sim::isa::all_ops()) {
    if (!op.on(arch) || find_reference(op.mnemonic).run == nullptr || (only != nullptr && op.mnemonic != only)) continue;
    Random random(seed + static_cast<std::uint32_t>(op.op) * 7919u);
    Encoder encoder(random, op);
    for (const Form form : forms_of(op)) {
      for (unsigned n = 0; n < cases; ++n) {
        std::vector<std::uint32_t> words;
        sim::Inst inst;
        unsigned tries = 0;
        do {
          words = encoder.encode(form);
          inst = {};
        } while (!ValuHarness::decodes(arch, words, inst) && ++tries < 1000);
        if (tries == 1000) return std::string(op.mnemonic) + " has no legal encoding in form " + std::to_string(static_cast<int>(form));
        harness.randomize(random);
        if (const auto difference = harness.check(words); !difference.empty()) {
          differences += difference + '\n';
          break;
        }
      }
    }
  }
  return differences;
}

void fuzz_target(Arch arch) { CHECK(fuzz(arch, setting("AQL_FUZZ_CASES", 6), setting("AQL_FUZZ_SEED", 1)) == ""); }

TEST_CASE("valu: random operands and modifiers agree with the reference on gfx90a") { fuzz_target(Arch::gfx90a); }
TEST_CASE("valu: random operands and modifiers agree with the reference on gfx942") { fuzz_target(Arch::gfx942); }
TEST_CASE("valu: random operands and modifiers agree with the reference on gfx950") { fuzz_target(Arch::gfx950); }

} // namespace
} // namespace aql::test
