#include "sim/exec/matrix.hpp"

#include <algorithm>
#include <iterator>

namespace aql::sim {

namespace {

constexpr std::uint8_t k90a = arch_bit(Arch::gfx90a);
constexpr std::uint8_t k942 = arch_bit(Arch::gfx942);
constexpr std::uint8_t k950 = arch_bit(Arch::gfx950);
constexpr std::uint8_t k94x = k942 | k950;
constexpr std::uint8_t kAll = k90a | k94x;

constexpr MatrixRow kRows[] = {
#define MFMA(code, archs, m, n, k, blocks, a, b, d)                                                                                \
  {code, archs, m, n, k, blocks, MatrixType::a, MatrixType::b, MatrixType::d, false},
#define SMFMAC(code, archs, m, n, k, blocks, a, b, d)                                                                              \
  {code, archs, m, n, k, blocks, MatrixType::a, MatrixType::b, MatrixType::d, true},
#include "sim/exec/matrix_rows.def"
#undef MFMA
#undef SMFMAC
};

MatrixType resolve(MatrixType type, Arch arch) noexcept {
  if (type == MatrixType::fp8) return arch == Arch::gfx942 ? MatrixType::fp8_fnuz : MatrixType::fp8_ocp;
  if (type == MatrixType::bf8) return arch == Arch::gfx942 ? MatrixType::bf8_fnuz : MatrixType::bf8_ocp;
  return type;
}

} // namespace

MatrixRowRange matrix_rows() noexcept { return {std::begin(kRows), std::end(kRows)}; }

const MatrixRow* find_matrix_row(unsigned vop3p_opcode, Arch arch) noexcept {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const MatrixRow& r) { return r.opcode == vop3p_opcode && (r.archs & arch_bit(arch)); });
  return found == std::end(kRows) ? nullptr : found;
}

unsigned element_bits(MatrixType type) noexcept {
  switch (type) {
  case MatrixType::f64: return 64;
  case MatrixType::f32:
  case MatrixType::xf32:
  case MatrixType::i32: return 32;
  case MatrixType::f16:
  case MatrixType::bf16:
  case MatrixType::bf16x2: return 16;
  case MatrixType::fp6:
  case MatrixType::bf6: return 6;
  case MatrixType::fp4: return 4;
  default: return 8;
  }
}

namespace {

// Where k lives: run of lanes, and element of the lane.
struct Place {
  unsigned slice, element;
};

Place place_of(unsigned k, unsigned k_total, unsigned per_lane, bool halves) noexcept {
  if (!halves) return {k / per_lane, k % per_lane};
  const unsigned half = k / (k_total / 2), rest = k % (k_total / 2), run = per_lane / 2;
  return {rest / run, half * run + rest % run};
}

void place_products(MatrixPlan& plan) noexcept {
  const MatrixRow& row = plan.row;
  const unsigned lanes = row.m * row.blocks;              // of one slice
  const unsigned per_lane = row.k * lanes / 64;
  plan.products = static_cast<std::uint8_t>(row.sparse ? row.k / 2 : row.k);
  for (unsigned n = 0; n < plan.products; ++n) {
    const unsigned k = row.sparse ? n / 2 * 4 : n;        // sparse: the first of its four
    const Place a = place_of(k, row.k, per_lane, plan.a_halves);
    const Place b = place_of(k, row.k, per_lane, plan.b_halves);
    const unsigned a_element = row.sparse ? a.element / 2 + n % 2 : a.element;
    plan.a_at[n] = static_cast<std::uint16_t>(a_element * 64 + a.slice * lanes);
    plan.b_at[n] = static_cast<std::uint16_t>(b.element * 64 + b.slice * lanes);
    if (row.sparse) plan.index_at[n] = {static_cast<std::uint8_t>(a.slice * lanes), static_cast<std::uint8_t>(2 * a_element)};
  }
}

} // namespace

MatrixPlan make_matrix_plan(const MatrixRow& row, Arch arch, MatrixType a, MatrixType b) noexcept {
  MatrixPlan plan;
  plan.row = row;
  plan.row.a = resolve(a, arch);
  plan.row.b = resolve(b, arch);
  const unsigned slices = 64u / (row.m * row.blocks);           // runs of k over the lanes
  const unsigned per_lane = row.k / slices;
  const unsigned a_elements = row.sparse ? per_lane / 2 : per_lane;
  plan.a_regs = static_cast<std::uint8_t>(a_elements * element_bits(plan.row.a) / 32);
  plan.b_regs = static_cast<std::uint8_t>(per_lane * element_bits(plan.row.b) / 32);
  plan.d_regs = static_cast<std::uint8_t>(row.m * row.n * row.blocks / 64 * (row.d == MatrixType::f64 ? 2 : 1));

  const bool is_f8f6f4 = row.a == MatrixType::f8f6f4;
  plan.negate_by_blgp = row.d == MatrixType::f64 && arch != Arch::gfx90a;
  plan.lane_patterns = !row.sparse && !is_f8f6f4 && !plan.negate_by_blgp;
  if (is_f8f6f4) {
    // 8-bit operands: lanes hold k in two runs of 16; 6- and 4-bit operands: one run of 32.
    plan.a_halves = element_bits(plan.row.a) == 8;
    plan.b_halves = element_bits(plan.row.b) == 8;
  }
  if (row.sparse) {
    // The shapes that gfx950 added are two of the older ones side by side in k.
    plan.b_halves = plan.a_halves = per_lane * element_bits(plan.row.b) == 256;
    plan.index_bits = static_cast<std::uint8_t>(2 * a_elements);
  }

  switch (plan.row.a) {
  case MatrixType::f64:
  case MatrixType::f32: plan.sum = MatrixSum::fma; break;
  case MatrixType::i8: plan.sum = MatrixSum::integer; break;
  case MatrixType::xf32:
    plan.sum = MatrixSum::fused;
    plan.group = 4;
    break;
  case MatrixType::f16:
  case MatrixType::bf16:
  case MatrixType::bf16x2:
    plan.sum = arch == Arch::gfx90a ? MatrixSum::tree : MatrixSum::fused;
    plan.group = arch != Arch::gfx90a ? 8 : row.a == MatrixType::bf16x2 ? 2 : 4;
    break;
  default:
    plan.sum = MatrixSum::fused_f8;
    plan.group = 16;
    break;
  }
  const unsigned products = row.sparse ? row.k / 2u : row.k;
  plan.group = static_cast<std::uint8_t>(std::min<unsigned>(plan.group, products));
  // gfx950 and sparse sums were never characterised: CDNA3's dense rules stand in.
  if ((plan.sum == MatrixSum::fused || plan.sum == MatrixSum::fused_f8) && (arch == Arch::gfx950 || row.sparse)) {
    plan.fidelity = Fidelity::assumed;
  }
  place_products(plan);
  return plan;
}

MatrixKernels matrix_kernels(const MatrixPlan& plan, unsigned tier) noexcept {
  switch (tier) {
  case 0: return tier0::matrix_kernels(plan);
  case 1: return tier1::matrix_kernels(plan);
  default: return tier2::matrix_kernels(plan);
  }
}

} // namespace aql::sim
