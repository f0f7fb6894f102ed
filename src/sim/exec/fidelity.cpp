#include "sim/exec/fidelity.hpp"

#include <array>

#include "sim/exec/matrix.hpp"

namespace aql::sim {
namespace {

constexpr std::uint8_t kAll = 7; // bits by Arch

// The first rule that fits an opcode's name decides. `name` may end in '*': any name that begins so.
struct Rule {
  std::string_view name;
  std::uint8_t archs;
  Fidelity fidelity;
  std::string_view reason;
};

constexpr Rule kRules[] = {
  // --- approximated
  {"v_exp_f32", kAll, Fidelity::approximated, "2^x rounded from a series; the hardware (1 ulp) has a table"},
  {"v_exp_legacy_f32", kAll, Fidelity::approximated, "as v_exp_f32"},
  {"v_exp_f16", kAll, Fidelity::approximated, "2^x correctly rounded; the hardware (1 ulp) has a table"},
  {"v_log_f32", kAll, Fidelity::approximated, "log2 rounded from a series; the hardware (1 ulp) has a table"},
  {"v_log_legacy_f32", kAll, Fidelity::approximated, "as v_log_f32"},
  {"v_log_f16", kAll, Fidelity::approximated, "log2 correctly rounded; the hardware (1 ulp) has a table"},
  {"v_rcp_f64", kAll, Fidelity::approximated, "correctly rounded; the hardware gives about 24 good bits, to be refined by the program"},
  {"v_rsq_f64", kAll, Fidelity::approximated, "within 1 ulp; the hardware gives about 24 good bits, to be refined by the program"},
  {"v_sqrt_f64", kAll, Fidelity::approximated, "correctly rounded; the hardware gives about 24 good bits, to be refined by the program"},
  {"v_rcp_*", kAll, Fidelity::approximated, "correctly rounded; the hardware is within 1 ulp"},
  {"v_rsq_*", kAll, Fidelity::approximated, "correctly rounded but for rare cases; the hardware is within 1 ulp"},
  {"v_sqrt_*", kAll, Fidelity::approximated, "correctly rounded; the hardware is within 1 ulp"},
  {"v_sin_*", kAll, Fidelity::approximated, "from a series; the hardware's table and the treatment of large arguments are not public"},
  {"v_cos_*", kAll, Fidelity::approximated, "from a series; the hardware's table and the treatment of large arguments are not public"},

  // --- assumed: floating-point vector operations
  {"v_mad_f16", kAll, Fidelity::assumed, "product rounded before the sum, subnormals flushed: inferred from the compiler's use"},
  {"v_mad_legacy_f16", kAll, Fidelity::assumed, "as v_mad_f16"},
  {"v_mac_f16", kAll, Fidelity::assumed, "as v_mad_f16"},
  {"v_madmk_f16", kAll, Fidelity::assumed, "as v_mad_f16"},
  {"v_madak_f16", kAll, Fidelity::assumed, "as v_mad_f16"},
  {"v_pack_b32_f16", kAll, Fidelity::assumed, "subnormals flushed as MODE says, NaNs passed unchanged"},
  {"v_mad_f32", kAll, Fidelity::assumed, "product rounded as MODE says before the sum, subnormals flushed"},
  {"v_mad_legacy_f32", kAll, Fidelity::assumed, "as v_mad_f32"},
  {"v_mac_f32", kAll, Fidelity::assumed, "as v_mad_f32"},
  {"v_madmk_f32", kAll, Fidelity::assumed, "as v_mad_f32"},
  {"v_madak_f32", kAll, Fidelity::assumed, "as v_mad_f32"},
  {"v_div_scale_*", kAll, Fidelity::assumed, "scaled so that quotients come out right, where the guide's text would not"},
  {"v_div_fmas_*", kAll, Fidelity::assumed, "scaled by the exponent of the third source, rounded once"},
  {"v_div_fixup_f32", kAll, Fidelity::assumed, "a quotient that is NaN of operands that are numbers is an overflow"},
  {"v_div_fixup_f64", kAll, Fidelity::assumed, "as v_div_fixup_f32"},
  {"v_permlane*", kAll, Fidelity::assumed, "fi and bound_ctrl as on later chips"},
  {"v_fract_*", kAll, Fidelity::assumed, "infinity gives the default NaN and whole numbers +0, as measured on a later chip"},
  {"v_dot2_f32_f16", kAll, Fidelity::assumed, "order and rounding of the two additions as in the guide's text; gfx942 keeps f16 subnormals as gfx950 does"},
  {"v_dot2c_f32_f16", kAll, Fidelity::assumed, "as v_dot2_f32_f16"},
  {"v_dot2_f32_bf16", kAll, Fidelity::assumed, "order and rounding of the two additions as in the guide's text; no subnormal is flushed"},
  {"v_dot2c_f32_bf16", kAll, Fidelity::assumed, "as v_dot2_f32_bf16"},
  {"v_pk_minimum3_f16", kAll, Fidelity::assumed, "which NaN of several is the result"},
  {"v_pk_maximum3_f16", kAll, Fidelity::assumed, "which NaN of several is the result"},

  // --- assumed: conversions
  {"v_cvt_rpi_i32_f32", kAll, Fidelity::assumed, "a NaN saturates by its sign, as measured on a later chip"},
  {"v_cvt_flr_i32_f32", kAll, Fidelity::assumed, "a NaN saturates by its sign, as measured on a later chip"},
  {"v_cvt_pknorm_*", kAll, Fidelity::assumed, "nearest even of the exact product"},
  {"v_cvt_norm_*", kAll, Fidelity::assumed, "nearest even of the exact product"},
  {"v_cvt_pk_u8_f32", kAll, Fidelity::assumed, "rounded as MODE says, NaN gives 0"},
  {"v_cvt_pkaccum_u8_f32", kAll, Fidelity::assumed, "as v_cvt_pk_u8_f32"},
  {"v_cvt_pk_f16_f32", kAll, Fidelity::assumed, "MODE.FP16_OVFL and the f16 denormal field apply"},
  {"v_cvt_pk_bf16_f32", kAll, Fidelity::assumed, "f32 denormal field applies to the sources"},
  {"v_cvt_sr_*", kAll, Fidelity::assumed, "random bits aligned below the last kept bit, the sum truncated; MODE.FP16_OVFL clamps"},
  {"v_cvt_pk_fp8_f32", kAll, Fidelity::assumed, "infinities and NaN as the format has them; MODE.FP16_OVFL clamps"},
  {"v_cvt_pk_bf8_f32", kAll, Fidelity::assumed, "infinities and NaN as the format has them; MODE.FP16_OVFL clamps"},
  {"v_cvt_scalef32_*", kAll, Fidelity::assumed, "scale is the exponent field of the f32 operand; overflow, NaN codes and random numbers as AMD's host library and the guide's text have them"},
};

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.empty() && pattern.back() == '*') return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}
// Matrix operations know by themselves what their arithmetic rests on.
FidelityNote matrix_note(const isa::OpInfo& info, Arch arch, MatrixNumerics numerics) {
  Inst inst;
  inst.info = &info;
  inst.op = info.op;
  inst.format = info.format;
  switch (matrix_fidelity(inst, arch, numerics)) {
  case Fidelity::exact: return {};
  case Fidelity::assumed: return {Fidelity::assumed, "arithmetic or layout not characterised on silicon: that of CDNA3 is taken"};
  case Fidelity::approximated: return {Fidelity::approximated, "fast matrix numerics: f32 multiply-adds instead of the hardware's summation"};
  }
  return {};
}

using Table = std::array<std::array<FidelityNote, isa::kOpCount>, kArchCount>;

Table build(MatrixNumerics numerics) {
  Table table{};
  for (unsigned a = 0; a < kArchCount; ++a) {
    for (std::size_t op = 0; op < isa::kOpCount; ++op) {
      const std::string_view name = isa::mnemonic(static_cast<isa::Op>(op), static_cast<Arch>(a));
      for (const Rule& rule : kRules) {
        if ((rule.archs >> a & 1u) == 0 || !fits(rule.name, name)) continue;
        table[a][op] = {rule.fidelity, rule.reason};
        break;
      }
      const isa::OpInfo* info = isa::find_mnemonic(name, static_cast<Arch>(a));
      if (info != nullptr && info->has(isa::kMai)) table[a][op] = matrix_note(*info, static_cast<Arch>(a), numerics);
    }
  }
  return table;
}

} // namespace

FidelityNote fidelity_note(isa::Op op, Arch arch, MatrixNumerics numerics) {
  static const Table exact = build(MatrixNumerics::exact), fast = build(MatrixNumerics::fast);
  const Table& table = numerics == MatrixNumerics::fast ? fast : exact;
  return table[static_cast<unsigned>(arch)][static_cast<std::size_t>(op)];
}

std::string_view to_string(Fidelity f) noexcept {
  switch (f) {
  case Fidelity::exact: return "exact";
  case Fidelity::assumed: return "assumed";
  case Fidelity::approximated: return "approximated";
  }
  return "?";
}

} // namespace aql::sim
