// Matrix instructions as programs meet them: words through decoder, binding and handler, on the register files of a wave.

#include <algorithm>
#include <string>

#include "isa/matrix_inputs.hpp"
#include "isa/matrix_model.hpp"
#include "support/catch.hpp"
#include "support/isa_bench.hpp"

namespace {

using namespace aql;
using test::Arch;
using test::AsmCase;
using test::IsaBench;
using sim::MatrixType;

enum class Form { vgpr, agpr, mixed, accumulate, constant }; // files of A, B and C/D; C = D; C an inline constant

struct Place {
  char file;
  unsigned first;
};

struct Instruction {
  AsmCase code;
  Arch arch{};
  const sim::MatrixRow* row = nullptr;
  MatrixType a{}, b{};
  Form form{};
  Place at_a{}, at_b{}, at_c{}, at_d{}, at_index{};
};

std::string text_of(Place place, unsigned count) {
  const std::string first = std::to_string(place.first);
  if (count == 1) return place.file + first;
  return std::string(1, place.file) + "[" + first + ":" + std::to_string(place.first + count - 1) + "]";
}

constexpr std::uint32_t kInlineOne = 242, kInlineMinusThree = 195;

// Fields of the matrix encoding: VOP3P with ACC bits, CBSZ, ABID and BLGP.
std::vector<std::uint32_t> encode(unsigned opcode, Place d, Place a, Place b, std::uint32_t source_c, const test::MatrixInputs& in) {
  const std::uint32_t w0 = 0xd3800000u | opcode << 16 | (d.file == 'a' ? 0x8000u : 0) | std::uint32_t{in.abid} << 11 | std::uint32_t{in.cbsz} << 8 | d.first;
  const std::uint32_t w1 = (a.first | 0x100u) | (b.first | 0x100u) << 9 | source_c << 18 | (a.file == 'a' ? 1u << 27 : 0) | (b.file == 'a' ? 1u << 28 : 0) |
                           std::uint32_t{in.blgp} << 29;
  return {w0, w1};
}

std::string modifiers(const sim::MatrixPlan& plan, const test::MatrixInputs& in) {
  std::string text;
  if (in.cbsz != 0) text += " cbsz:" + std::to_string(in.cbsz);
  if (in.abid != 0) text += " abid:" + std::to_string(in.abid);
  if (in.blgp == 0) return text;
  if (!plan.negate_by_blgp) return text + " blgp:" + std::to_string(in.blgp);
  return text + " neg:[" + std::to_string(in.blgp & 1) + "," + std::to_string(in.blgp >> 1 & 1) + "," + std::to_string(in.blgp >> 2 & 1) + "]";
}

Instruction make_instruction(const sim::isa::OpInfo& info, Arch arch, Form form, MatrixType a, MatrixType b, const test::MatrixInputs& in) {
  Instruction x;
  x.arch = arch;
  x.row = sim::find_matrix_row(info.code, arch);
  x.a = a;
  x.b = b;
  x.form = form;
  const sim::MatrixPlan plan = make_matrix_plan(*x.row, arch, a, b);
  const char acc = form == Form::agpr || form == Form::mixed ? 'a' : 'v';
  x.at_a = {form == Form::agpr ? 'a' : 'v', 16};
  x.at_b = {acc, 32};
  x.at_c = {acc, 64};
  x.at_d = x.row->sparse || form == Form::accumulate ? x.at_c : Place{acc, 128};
  x.at_index = {'v', 5};
  std::string c = text_of(x.at_c, plan.d_regs);
  std::uint32_t source_c = x.at_c.first | 0x100u;
  if (x.row->sparse) {
    c = text_of(x.at_index, 1);
    source_c = x.at_index.first | 0x100u;
  } else if (form == Form::constant) {
    const bool integer = x.row->d == MatrixType::i32;
    c = integer ? "-3" : "1.0";
    source_c = integer ? kInlineMinusThree : kInlineOne;
  }
  x.code.text = std::string(info.mnemonic) + " " + text_of(x.at_d, plan.d_regs) + ", " + text_of(x.at_a, plan.a_regs) + ", " +
                text_of(x.at_b, plan.b_regs) + ", " + c + modifiers(plan, in);
  x.code.words = encode(info.code, x.at_d, x.at_a, x.at_b, source_c, in);
  x.code.targets = sim::arch_bit(arch);
  return x;
}

bool is_mfma(const sim::isa::OpInfo& info) {
  return info.format == sim::isa::Format::vop3p && (info.mnemonic.starts_with("v_mfma") || info.mnemonic.starts_with("v_smfmac"));
}

// Every row of every target in every form.
std::vector<Instruction> all_instructions() {
  std::vector<Instruction> list;
  for (const Arch arch : test::kAllArchs) {
    for (const auto& info : sim::isa::all_ops()) {
      if (!info.on(arch) || !is_mfma(info)) continue;
      const auto* row = sim::find_matrix_row(info.code, arch);
      if (row == nullptr) continue; // the table test complains
      const bool f8f6f4 = row->a == MatrixType::f8f6f4;
      for (const Form form : {Form::vgpr, Form::agpr, Form::mixed, Form::accumulate, Form::constant}) {
        list.push_back(make_instruction(info, arch, form, f8f6f4 ? MatrixType::fp8 : row->a, f8f6f4 ? MatrixType::fp8 : row->b, {}));
      }
    }
  }
  return list;
}

std::vector<AsmCase> code_of(const std::vector<Instruction>& list) {
  std::vector<AsmCase> cases;
  for (const Instruction& x : list) cases.push_back(x.code);
  return cases;
}

const std::vector<Instruction> kInstructions = all_instructions();
const test::AsmCases kAllCode(code_of(kInstructions));

sim::VReg* registers(IsaBench& bench, Place place) { return place.file == 'a' ? &bench.wave.a(place.first) : &bench.wave.v(place.first); }

void put(IsaBench& bench, Place place, const test::Registers& regs) { std::copy(regs.begin(), regs.end(), registers(bench, place)); }

test::Registers take(IsaBench& bench, Place place, std::size_t count) {
  const sim::VReg* first = registers(bench, place);
  return {first, first + count};
}

// Inputs with what the form makes of C.
test::MatrixInputs inputs_for(const Instruction& x, std::mt19937& random) {
  const sim::MatrixPlan plan = make_matrix_plan(*x.row, x.arch, x.a, x.b);
  test::MatrixInputs in = test::make_inputs(plan, test::InputKind::ordinary, random, false);
  if (x.form != Form::constant || x.row->sparse) return in;
  const std::uint32_t low = x.row->d == MatrixType::f64 ? 0 : x.row->d == MatrixType::i32 ? 0xfffffffdu : 0x3f800000u;
  const std::uint32_t high = x.row->d == MatrixType::f64 ? 0x3ff00000u : low;
  for (std::size_t r = 0; r < in.c.size(); ++r) std::fill_n(in.c[r].lane, sim::kLanes, r % 2 == 0 ? low : high);
  return in;
}

void load(IsaBench& bench, const Instruction& x, const test::MatrixInputs& in) {
  put(bench, x.at_a, in.a);
  put(bench, x.at_b, in.b);
  if (x.form != Form::constant || x.row->sparse) put(bench, x.at_c, in.c);
  if (x.row->sparse) put(bench, x.at_index, {in.index});
}

void check_result(IsaBench& bench, const Instruction& x, const test::MatrixInputs& in) {
  const test::Registers expected = test::model_matrix(*x.row, x.arch, x.a, x.b, in);
  const test::Registers d = take(bench, x.at_d, expected.size());
  CHECK(test::first_difference(d, expected, x.row->d == MatrixType::f64, x.row->d == MatrixType::f32) == -1);
}

const Instruction& find_instruction(Arch arch, std::string_view mnemonic, Form form) {
  return *std::find_if(kInstructions.begin(), kInstructions.end(), [&](const Instruction& x) {
    return x.arch == arch && x.form == form && x.code.text.starts_with(std::string(mnemonic) + " ");
  });
}

} // namespace

TEST_CASE("matrix rows: shape and types of each row are those of the opcode table's mnemonic") {
  for (const Arch arch : test::kAllArchs) {
    for (const auto& info : sim::isa::all_ops()) {
      if (!info.on(arch) || !is_mfma(info)) continue;
      INFO(sim::isa::to_string(arch) << " " << info.mnemonic);
      const auto* row = sim::find_matrix_row(info.code, arch);
      REQUIRE(row != nullptr);
      const sim::MatrixPlan plan = test::plan_of(*row, arch);
      const std::string shape = std::to_string(row->m) + "x" + std::to_string(row->n) + "x" + std::to_string(row->k);
      CHECK(info.mnemonic.find(shape) != std::string_view::npos);
      CHECK(row->sparse == info.mnemonic.starts_with("v_smfmac"));
      if (row->a == MatrixType::f8f6f4) continue; // widths follow CBSZ and BLGP
      CHECK(unsigned{plan.a_regs} == info.src[0].dwords());
      CHECK(unsigned{plan.b_regs} == info.src[1].dwords());
      CHECK(unsigned{plan.d_regs} == info.dst[0].dwords());
    }
  }
}

TEST_CASE("matrix rows: no row without an opcode of its target") {
  for (const auto& row : sim::matrix_rows()) {
    for (const Arch arch : test::kAllArchs) {
      if ((row.archs & sim::arch_bit(arch)) == 0) continue;
      INFO(sim::isa::to_string(arch) << " opcode " << int{row.opcode});
      CHECK(sim::isa::find_op(sim::isa::Format::vop3p, row.opcode, arch) != nullptr);
      CHECK(sim::find_matrix_row(row.opcode, arch) == &row);
    }
  }
}

TEST_CASE("matrix instruction: every opcode in every form of its operands gives the model's registers") {
  std::mt19937 random(99);
  for (const Instruction& x : kInstructions) {
    INFO(sim::isa::to_string(x.arch) << " " << x.code.text);
    IsaBench bench(x.arch);
    const test::MatrixInputs in = inputs_for(x, random);
    load(bench, x, in);
    REQUIRE(bench.run(x.code));
    check_result(bench, x, in);
    bench.agreed();
  }
}

TEST_CASE("matrix instruction: EXEC does not matter") {
  std::mt19937 random(5);
  for (const char* mnemonic : {"v_mfma_f32_32x32x8_f16", "v_mfma_f64_16x16x4_f64", "v_smfmac_i32_16x16x64_i8"}) {
    const Instruction& x = find_instruction(Arch::gfx942, mnemonic, Form::vgpr);
    IsaBench bench(x.arch);
    const test::MatrixInputs in = inputs_for(x, random);
    load(bench, x, in);
    bench.wave.set_exec(0x0123456789abcdef);
    REQUIRE(bench.run(x.code));
    check_result(bench, x, in);
  }
}

TEST_CASE("matrix instruction: fast numerics are taken from the dispatch") {
  std::mt19937 random(6);
  const Instruction& x = find_instruction(Arch::gfx942, "v_mfma_f32_32x32x8_f16", Form::vgpr);
  IsaBench bench(x.arch);
  bench.dispatch.numerics = sim::MatrixNumerics::fast;
  const sim::MatrixPlan plan = test::plan_of(*x.row, x.arch);
  const test::MatrixInputs in = test::make_inputs(plan, test::InputKind::wide, random, false);
  load(bench, x, in);
  REQUIRE(bench.run(x.code));
  const test::Registers fast = test::run_matrix(plan, in, sim::host_tier(), sim::MatrixNumerics::fast);
  const test::Registers exact = test::run_matrix(plan, in, sim::host_tier(), sim::MatrixNumerics::exact);
  CHECK(test::first_difference(take(bench, x.at_d, fast.size()), fast, false, true) == -1);
  CHECK(test::first_difference(fast, exact, false, true) != -1);
}

TEST_CASE("matrix instruction: D may lie over A, B, the index or any part of C") {
  std::mt19937 random(8);
  for (const Instruction& original : kInstructions) {
    if (original.form != Form::vgpr || original.a == MatrixType::f64) continue;
    for (const int shift : {-2, 2}) { // C two registers before or after D, A and B inside both
      Instruction x = original;
      const sim::MatrixPlan plan = make_matrix_plan(*x.row, x.arch, x.a, x.b);
      const test::MatrixInputs start = test::make_inputs(plan, test::InputKind::ordinary, random, false);
      x.at_d = {'v', 64};
      x.at_a = {'v', 64};
      x.at_b = {'v', 64};
      x.at_c = x.row->sparse ? x.at_d : Place{'v', static_cast<unsigned>(64 + shift)};
      x.at_index = {'v', 65};
      INFO(sim::isa::to_string(x.arch) << " " << x.code.text << " shift " << shift);
      IsaBench bench(x.arch);
      put(bench, x.at_c, start.c);
      put(bench, x.at_b, start.b);
      test::MatrixInputs in = start; // what the registers really hold now
      in.a = take(bench, x.at_a, in.a.size());
      in.b = take(bench, x.at_b, in.b.size());
      in.c = take(bench, x.at_c, in.c.size());
      in.index = bench.wave.v(65);
      const std::uint32_t source_c = 0x100u | (x.row->sparse ? x.at_index.first : x.at_c.first);
      REQUIRE(bench.run(encode(x.row->opcode, x.at_d, x.at_a, x.at_b, source_c, {})));
      check_result(bench, x, in);
    }
  }
}

TEST_CASE("matrix instruction: registers that the wave does not have are refused and nothing is written") {
  std::mt19937 random(9);
  const Instruction& x = find_instruction(Arch::gfx942, "v_mfma_f32_32x32x8_f16", Form::vgpr);
  IsaBench bench(x.arch, {.vgprs = 96, .agprs = 0});
  const test::MatrixInputs in = inputs_for(x, random);
  load(bench, x, in);
  const test::Registers before(bench.wave.vgpr, bench.wave.vgpr + 96);
  CHECK_FALSE(bench.run(x.code)); // D = v[128:143]
  CHECK(bench.fault.code == Errc::illegal_instruction);
  CHECK(test::first_difference({bench.wave.vgpr, bench.wave.vgpr + 96}, before, false, false) == -1);
}
