#pragma once
// Matrix instructions (MFMA, SMFMAC): one row a shape, one arithmetic a rule set, run on whole registers.
// Layouts: ISA guides, "Matrix Arithmetic Instructions"; arithmetic: matrix_sums.hpp.
// Thread safety: rows and plans are immutable after their first use; jobs belong to one wave.

#include <cstdint>

#include "sim/exec/trace.hpp"
#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"

namespace aql::sim {

enum class MatrixType : std::uint8_t {
  f64, f32, xf32, f16, bf16, bf16x2, i8, i32,
  fp8, bf8,                   // FNUZ on gfx942, OCP on gfx950: resolved at binding to one of the next lines
  f8f6f4,                     // chosen per operand by CBSZ and BLGP: resolved at binding
  fp8_fnuz, bf8_fnuz, fp8_ocp, bf8_ocp, fp6, bf6, fp4,
};

struct MatrixRow {
  std::uint8_t opcode;        // VOP3P opcode
  std::uint8_t archs;         // arch_bit mask
  std::uint8_t m, n, k, blocks;
  MatrixType a, b, d;
  bool sparse;                // SMFMAC: A holds two of every four k
};

[[nodiscard]] const MatrixRow* find_matrix_row(unsigned vop3p_opcode, Arch arch) noexcept;
struct MatrixRowRange {
  const MatrixRow* first;
  const MatrixRow* last;
  [[nodiscard]] const MatrixRow* begin() const noexcept { return first; }
  [[nodiscard]] const MatrixRow* end() const noexcept { return last; }
};
[[nodiscard]] MatrixRowRange matrix_rows() noexcept;

[[nodiscard]] unsigned element_bits(MatrixType type) noexcept;

// How the products of one output are summed.
enum class MatrixSum : std::uint8_t {
  fma,       // one fused multiply-add per k, ascending
  integer,   // int32, wrapping
  tree,      // CDNA2: groups of 2 or 4 rounded products, balanced tree, flushing
  fused,     // CDNA3: groups of up to 8, truncated against the largest exponent
  fused_f8,  // CDNA3: groups of 16, even and odd k apart
};

// A row with everything that depends on target and operand formats settled.
struct MatrixPlan {
  MatrixRow row{};
  MatrixSum sum = MatrixSum::fma;
  std::uint8_t group = 1;          // products a group
  std::uint8_t a_regs = 0, b_regs = 0, d_regs = 0;
  bool a_halves = false, b_halves = false; // a lane's elements are two runs of k, half of K apart (see k_of)
  bool negate_by_blgp = false;     // f64 on gfx942 and gfx950: BLGP negates A, B, C
  bool lane_patterns = false;      // CBSZ/ABID broadcast blocks of A, BLGP permutes the lanes of B
  std::uint8_t index_bits = 0;     // SMFMAC: bits of one index set (8, 16 or 32)
  Fidelity fidelity = Fidelity::exact; // of exact numerics
  // Product n of an output, in ascending k: where its rows of A and B begin, as element * 64 + lane of block 0.
  // Sparse: B's entry is the first of the four candidates, and index_at says which two bits choose.
  std::uint8_t products = 0;
  std::uint16_t a_at[128] = {};
  std::uint16_t b_at[128] = {};
  struct IndexPlace {
    std::uint8_t lane, shift;      // lane of row 0; shift inside the set
  };
  IndexPlace index_at[64] = {};
};

[[nodiscard]] MatrixPlan make_matrix_plan(const MatrixRow& row, Arch arch, MatrixType a, MatrixType b) noexcept;

// One execution. A, B and D are register runs of the plan's sizes; c has d_regs registers and is either d itself or does not
// overlap d. A and B may overlap anything.
struct MatrixJob {
  const MatrixPlan* plan = nullptr;
  const VReg* a = nullptr;
  const VReg* b = nullptr;
  const VReg* c = nullptr;
  VReg* d = nullptr;
  const VReg* index = nullptr;         // SMFMAC
  const std::uint8_t* scale_a = nullptr; // 64 E8M0 exponents, one a lane, or null: all 1.0
  const std::uint8_t* scale_b = nullptr;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
};

using MatrixFn = void (*)(const MatrixJob&);
struct MatrixKernels {
  MatrixFn exact = nullptr;
  MatrixFn fast = nullptr;
};
namespace tier0 { [[nodiscard]] MatrixKernels matrix_kernels(const MatrixPlan& plan) noexcept; }
namespace tier1 { [[nodiscard]] MatrixKernels matrix_kernels(const MatrixPlan& plan) noexcept; }
namespace tier2 { [[nodiscard]] MatrixKernels matrix_kernels(const MatrixPlan& plan) noexcept; }
[[nodiscard]] MatrixKernels matrix_kernels(const MatrixPlan& plan, unsigned tier) noexcept;

// What exact numerics rest on for this instruction; `fast` approximates everything but f32, f64 and i8.
[[nodiscard]] Fidelity matrix_fidelity(const Inst& inst, Arch arch, MatrixNumerics numerics) noexcept;

} // namespace aql::sim
