// The matrix instructions of one host tier: operands to planes, then one loop nest per kind of sum. See matrix.hpp.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // g++ 12 warns inside its own AVX-512 header
#endif
#include <immintrin.h>

#include "sim/exec/matrix.hpp"
#include "sim/exec/tier.hpp"

AQL_TIER_BEGIN

namespace aql::sim::AQL_TIER_NS {

namespace {

#include "sim/exec/matrix_simd.hpp"
#include "sim/exec/matrix_planes.hpp"
#include "sim/exec/matrix_sums.hpp"

// Block of A that block b multiplies.
AQL_INLINE int block_of_a(const MatrixJob& job, int b) {
  const int blocks = job.plan->row.blocks;
  const int group = (1 << job.cbsz) < blocks ? 1 << job.cbsz : blocks;
  return job.plan->lane_patterns ? (b & ~(group - 1)) + (job.abid & (group - 1)) : b;
}

// B after BLGP; `storage` holds it when anything moves.
AQL_INLINE const VReg* source_b(const MatrixJob& job, VReg* storage) {
  if (!job.plan->lane_patterns || job.blgp == 0) return job.b;
  permute_lane_groups(job.blgp, job.b, job.plan->b_regs, storage);
  return storage;
}

// 4x4 shapes have as many blocks as the wave has lane groups: rows of A become vectors, value i of block b in lanes 4b..4b+3.
// Product k of row i lies at out.data + (4 * k + i) * 64.
void spread_rows(const MatrixJob& job, const Planes& a, bool with_exponents, Planes& out) {
  const int count = job.plan->row.k;
  for (int part = 0; part <= (with_exponents ? 1 : 0); ++part) {
    const std::ptrdiff_t offset = part * kExponents;
    for (int k = 0; k < count; ++k) {
      for (int b = 0; b < 16; ++b) {
        const float* from = a.data + offset + k * 64 + 4 * block_of_a(job, b);
        for (int i = 0; i < 4; ++i) store_lane_group(out.data + offset + (4 * k + i) * 64 + 4 * b, from + i);
      }
    }
  }
}

// --- dense plain sums: register tiles of 4 registers x kColumns vectors

template <class Mac, int kN>
AQL_INLINE void dense_block(const RowPointers& rows, int a_offset, int b_offset, const VReg* c, VReg* d) {
  constexpr int kSegments = 64 / kN;                       // rows in one register
  constexpr int kColumns = kW == 16 ? 4 : 2;
  constexpr int kQuads = kN / (4 * kSegments);
  for (int q = 0; q < kQuads; ++q) {
#pragma GCC unroll 1
    for (int v0 = 0; v0 < 64 / kW; v0 += kColumns) {
      typename Mac::Vector acc[4][kColumns];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kColumns; ++v) acc[r][v] = Mac::load(c[4 * q + r].lane + (v0 + v) * kW);
      }
      const int ai = a_offset + 4 * kSegments * q;
#pragma GCC unroll 1
      for (int k = 0; k < rows.count; ++k) {
        const float* a = rows.a[k] + ai;
        const float* b = rows.b[k] + b_offset;
#pragma GCC unroll 4
        for (int v = 0; v < kColumns; ++v) {
          const int lane = (v0 + v) * kW;
          const auto vb = Mac::load(b + lane % kN);
#pragma GCC unroll 4
          for (int r = 0; r < 4; ++r) acc[r][v] = Mac::mac(Mac::broadcast(a + 4 * (lane / kN) + r), vb, acc[r][v]);
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kColumns; ++v) store(d[4 * q + r].lane + (v0 + v) * kW, Mac::result(acc[r][v]));
      }
    }
  }
}

template <class Mac>
void dense_4x4(const MatrixJob& job, const Planes& a, const Planes& b) {
  Planes spread;
  spread_rows(job, a, false, spread);
  for (int r = 0; r < 4; ++r) {
    for (int lane = 0; lane < 64; lane += kW) {
      auto acc = Mac::load(job.c[r].lane + lane);
      for (int k = 0; k < job.plan->row.k; ++k) {
        acc = Mac::mac(Mac::load(spread.data + (4 * k + r) * 64 + lane), Mac::load(b.data + k * 64 + lane), acc);
      }
      store(job.d[r].lane + lane, Mac::result(acc));
    }
  }
}

void apply_scales(const MatrixPlan& plan, bool is_a, const std::uint8_t* scale, Planes& p);

template <class Mac>
void run_dense(const MatrixJob& job) {
  const MatrixPlan& plan = *job.plan;
  VReg moved[8];
  Planes a, b;
  widen_operand(plan.row.a, job.a, plan.a_regs, a);
  widen_operand(plan.row.b, source_b(job, moved), plan.b_regs, b);
  if (job.scale_a != nullptr) apply_scales(plan, true, job.scale_a, a);
  if (job.scale_b != nullptr) apply_scales(plan, false, job.scale_b, b);
  if (plan.row.n == 4) return dense_4x4<Mac>(job, a, b);
  RowPointers rows;
  point_at_rows(plan, a, b, rows);
  const int regs = plan.row.m * plan.row.n / 64;
  for (int block = 0; block < plan.row.blocks; ++block) {
    const int a_offset = block_of_a(job, block) * plan.row.m, b_offset = block * plan.row.n;
    if (plan.row.n == 32) {
      dense_block<Mac, 32>(rows, a_offset, b_offset, job.c + block * regs, job.d + block * regs);
    } else {
      dense_block<Mac, 16>(rows, a_offset, b_offset, job.c + block * regs, job.d + block * regs);
    }
  }
}

// --- rows one at a time: sparse shapes, where every row picks its own B, and the exact sums

// Calls body(row of the block, register, first lane) for every run of n lanes that is one row of D.
#define AQL_FOR_EACH_ROW(plan_row)                                                                                                 \
  for (int segments = 64 / (plan_row).n, reg = 0; reg < (plan_row).m * (plan_row).n / 64; ++reg)                                   \
    for (int segment = 0, i = 0; segment < segments && (i = 4 * (segment + segments * (reg / 4)) + reg % 4, true); ++segment)

// The rows of B that row i of a sparse A multiplies.
AQL_INLINE void pick_sparse_rows(const MatrixJob& job, const VReg& index, const RowPointers& rows, int i, const float** picked) {
  const MatrixPlan& plan = *job.plan;
  const int sets = 32 / plan.index_bits;
  const int set_shift = job.cbsz == 0 ? (job.abid & (sets - 1)) * plan.index_bits : 0;
  for (int n = 0; n < rows.count; ++n) {
    const MatrixPlan::IndexPlace at = plan.index_at[n];
    picked[n] = rows.b[n] + 64 * ((index.lane[at.lane + i] >> (set_shift + at.shift)) & 3u);
  }
}

template <class Mac>
void run_sparse(const MatrixJob& job) {
  const MatrixPlan& plan = *job.plan;
  Planes a, b;
  widen_operand(plan.row.a, job.a, plan.a_regs, a);
  widen_operand(plan.row.b, job.b, plan.b_regs, b);
  RowPointers rows;
  point_at_rows(plan, a, b, rows);
  const float* picked[kMaxK];
  const VReg index = *job.index;                          // D may lie over it
  AQL_FOR_EACH_ROW(plan.row) {
    pick_sparse_rows(job, index, rows, i, picked);
    for (int j = 0; j < plan.row.n; j += kW) {
      std::uint32_t* out = job.d[reg].lane + segment * plan.row.n + j;
      auto acc = Mac::load(job.c[reg].lane + segment * plan.row.n + j);
      for (int k = 0; k < rows.count; ++k) acc = Mac::mac(Mac::broadcast(rows.a[k] + i), Mac::load(picked[k] + j), acc);
      store(out, Mac::result(acc));
    }
  }
}

// --- exact sums

template <int kGroup, bool kNoTinyResults>
void run_tree(const MatrixJob& job) {
  using Sum = TreeSum<kGroup, kNoTinyResults>;
  const MatrixPlan& plan = *job.plan;
  VReg moved[8];
  Planes a, b;
  widen_operand(plan.row.a, job.a, plan.a_regs, a);
  widen_operand(plan.row.b, source_b(job, moved), plan.b_regs, b);
  flush_inputs(plan.row.a, a);
  flush_inputs(plan.row.b, b);
  RowPointers rows;
  if (plan.row.n == 4) {
    Planes spread;
    spread_rows(job, a, false, spread);
    rows.count = plan.row.k;
    for (int r = 0; r < 4; ++r) {
      for (int k = 0; k < rows.count; ++k) {
        rows.a[k] = spread.data + (4 * k + r) * 64;
        rows.b[k] = b.data + k * 64;
      }
      for (int lane = 0; lane < 64; lane += kW) {
        store(job.d[r].lane + lane, Sum::run(Tile<true, 1, 1>{rows.a, rows.b, lane, 0, lane}, rows.count, load_f(job.c[r].lane + lane)));
      }
    }
    return;
  }
  point_at_rows(plan, a, b, rows);
  const int regs = plan.row.m * plan.row.n / 64;
  for (int block = 0; block < plan.row.blocks; ++block) {
    const int a_offset = block_of_a(job, block) * plan.row.m, b_offset = block * plan.row.n;
    AQL_FOR_EACH_ROW(plan.row) {
      for (int j = 0; j < plan.row.n; j += kW) {
        const int lane = segment * plan.row.n + j;
        const Tile<false, 1, 1> tile{rows.a, rows.b, a_offset + i, 1, b_offset + j};
        store(job.d[block * regs + reg].lane + lane, Sum::run(tile, rows.count, load_f(job.c[block * regs + reg].lane + lane)));
      }
    }
  }
}

// Scales of one k block of 32: exponents by lane of the scale register, minus the bias.
struct Scales {
  alignas(64) std::int32_t a[64];
  alignas(64) std::int32_t b[64];
  bool present;
};

// A NaN scale makes its row (or column) of the block NaN.
void poison_by_scale(const MatrixPlan& plan, bool is_a, const std::uint8_t* scale, Planes& p) {
  const int m = plan.row.m;
  for (int lane = 0; lane < 64; ++lane) {
    if (scale[lane] != 0xff) continue;
    for (int k = lane / m * 32, end = k + 32; k < end; ++k) p.data[(is_a ? plan.a_at : plan.b_at)[k] + lane % m] = __builtin_nanf("");
  }
}

void apply_scales(const MatrixPlan& plan, bool is_a, const std::uint8_t* scale, Planes& p) {
  const int m = plan.row.m;
  for (int k = 0; k < plan.row.k; ++k) {
    float* row = p.data + (is_a ? plan.a_at : plan.b_at)[k];
    for (int i = 0; i < m; ++i) row[i] *= std::ldexp(1.0f, scale[i + m * (k / 32)] - 127);
  }
  poison_by_scale(plan, is_a, scale, p);
}

// Accumulators of a tile: registers reg, reg + 1 ... at one lane.
template <class Sum, int kGroup, bool kVectorA, int kRows, int kColumns>
AQL_INLINE void fused_tile(const Tile<kVectorA, kRows, kColumns>& tile, int count, const VReg* c, VReg* d, int lane, const Scales* scales, int i, int j,
                           int m, bool special) {
  VF sum[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kColumns; ++v) sum[r][v] = load_f(c[r].lane + lane + v * kW);
  }
  for (int k = 0; k < count; k += kGroup) {
    VI scale[kRows][kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kColumns; ++v) {
        scale[r][v] = VI{};
        if (scales != nullptr) scale[r][v] = set1(scales->a[i + r + m * (k / 32)]) + load_i(scales->b + j + v * kW + m * (k / 32));
      }
    }
    Sum::step(tile, k, sum, scale, special);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kColumns; ++v) store(d[r].lane + lane + v * kW, quiet(sum[r][v]));
  }
}

template <class Sum, int kGroup>
void fused_4x4(const MatrixJob& job, const Planes& a, const Planes& b, bool special) {
  Planes spread;
  spread_rows(job, a, true, spread);
  RowPointers rows;
  rows.count = job.plan->row.k;
  for (int k = 0; k < rows.count; ++k) {
    rows.a[k] = spread.data + 4 * k * 64;
    rows.b[k] = b.data + k * 64;
  }
  for (int r = 0; r < 4; r += 2) {
    for (int lane = 0; lane < 64; lane += kW) {
      const Tile<true, 2, 1> tile{rows.a, rows.b, r * 64 + lane, 64, lane};
      fused_tile<Sum, kGroup>(tile, rows.count, job.c + r, job.d + r, lane, nullptr, 0, 0, 4, special);
    }
  }
}

template <class Sum, int kGroup>
void fused_sparse(const MatrixJob& job, const Planes& a, const Planes& b, bool special) {
  const MatrixPlan& plan = *job.plan;
  RowPointers rows;
  point_at_rows(plan, a, b, rows);
  const float* picked[kMaxK];
  const VReg index = *job.index;                          // D may lie over it
  AQL_FOR_EACH_ROW(plan.row) {
    pick_sparse_rows(job, index, rows, i, picked);
    for (int j = 0; j < plan.row.n; j += kW) {
      const Tile<false, 1, 1> tile{rows.a, picked, i, 0, j};
      fused_tile<Sum, kGroup>(tile, rows.count, job.c + reg, job.d + reg, segment * plan.row.n + j, nullptr, i, j, plan.row.m, special);
    }
  }
}

template <class Sum, int kGroup, int kN>
void fused_dense(const MatrixJob& job, const Planes& a, const Planes& b, bool special, const Scales* scales) {
  constexpr int kColumns = kN == kW ? 1 : 2, kRows = kN == kW ? 4 : 2;
  const MatrixPlan& plan = *job.plan;
  RowPointers rows;
  point_at_rows(plan, a, b, rows);
  constexpr int kRegs = kN * kN / 64, kSegments = 64 / kN;
  for (int block = 0; block < plan.row.blocks; ++block) {
    const int a_offset = block_of_a(job, block) * kN, b_offset = block * kN;
    for (int reg = 0; reg < kRegs; reg += kRows) {
      for (int segment = 0; segment < kSegments; ++segment) {
        const int i = 4 * (segment + kSegments * (reg / 4)) + reg % 4;
        for (int j = 0; j < kN; j += kColumns * kW) {
          const Tile<false, kRows, kColumns> tile{rows.a, rows.b, a_offset + i, 1, b_offset + j};
          const int at = block * kRegs + reg;
          fused_tile<Sum, kGroup>(tile, rows.count, job.c + at, job.d + at, segment * kN + j, scales, i, j, kN, special);
        }
      }
    }
  }
}

template <class Sum, int kGroup>
void run_fused(const MatrixJob& job, const Planes& a, const Planes& b, bool special, const Scales* scales) {
  const MatrixRow& row = job.plan->row;
  if (row.n == 4) return fused_4x4<Sum, kGroup>(job, a, b, special);
  if (row.sparse) return fused_sparse<Sum, kGroup>(job, a, b, special);
  if (row.n == 32) return fused_dense<Sum, kGroup, 32>(job, a, b, special, scales);
  return fused_dense<Sum, kGroup, 16>(job, a, b, special, scales);
}

template <int kGroup, bool kOddEven, bool kCanBeExtreme>
void start_fused(const MatrixJob& job) {
  const MatrixPlan& plan = *job.plan;
  VReg moved[8];
  Planes a, b;
  widen_operand(plan.row.a, job.a, plan.a_regs, a);
  widen_operand(plan.row.b, source_b(job, moved), plan.b_regs, b);
  Scales scales;
  scales.present = job.scale_a != nullptr;
  if (scales.present) {
    for (int lane = 0; lane < 64; ++lane) {
      scales.a[lane] = job.scale_a[lane] - 127;
      scales.b[lane] = job.scale_b[lane] - 127;
    }
    poison_by_scale(plan, true, job.scale_a, a);
    poison_by_scale(plan, false, job.scale_b, b);
  }
  add_exponents(plan.row.a, a);
  add_exponents(plan.row.b, b);
  const bool special = a.special || b.special;
  if constexpr (kCanBeExtreme) {
    if (a.extreme || b.extreme) {
      keep_significands(a);
      keep_significands(b);
      return run_fused<FusedSum<kGroup, kOddEven, true>, kGroup>(job, a, b, special, nullptr);
    }
  }
  run_fused<FusedSum<kGroup, kOddEven, false>, kGroup>(job, a, b, special, scales.present ? &scales : nullptr);
}

// --- f64: low and high halves in consecutive registers, one element of A and B a lane, rows of D in ascending lanes

AQL_INLINE void join_doubles(const VReg* regs, double* out, bool negate) {
  const std::uint64_t flip = negate ? std::uint64_t{1} << 63 : 0;
  for (int lane = 0; lane < 64; ++lane) {
    const std::uint64_t bits = (std::uint64_t{regs[1].lane[lane]} << 32 | regs[0].lane[lane]) ^ flip;
    std::memcpy(out + lane, &bits, 8);
  }
}

void run_f64(const MatrixJob& job) {
  const MatrixPlan& plan = *job.plan;
  const unsigned negate = plan.negate_by_blgp ? job.blgp : 0;
  VReg moved[2];
  alignas(64) double a[64], b[64], acc[64];
  join_doubles(job.a, a, negate & 1);
  join_doubles(source_b(job, moved), b, negate & 2);
  const bool small = plan.row.n == 4;
  for (int item = 0; item < plan.d_regs / 2; ++item) {
    join_doubles(job.c + 2 * item, acc, negate & 4);
    for (int k = 0; k < 4; ++k) {
      for (int lane = 0; lane < 64; ++lane) {
        // 16x16x4: i = 4 * item + lane / 16, j = lane % 16. 4x4x4: i = lane / 16, block = lane / 4 % 4, j = lane % 4.
        const int row = small ? 4 * block_of_a(job, lane / 4 % 4) + lane / 16 : 4 * item + lane / 16;
        acc[lane] = __builtin_fma(a[16 * k + row], b[16 * k + lane % 16], acc[lane]);
      }
    }
    for (int lane = 0; lane < 64; ++lane) {
      std::uint64_t bits;
      std::memcpy(&bits, acc + lane, 8);
      if (acc[lane] != acc[lane]) bits = 0x7ff8000000000000u;
      job.d[2 * item].lane[lane] = static_cast<std::uint32_t>(bits);
      job.d[2 * item + 1].lane[lane] = static_cast<std::uint32_t>(bits >> 32);
    }
  }
}

} // namespace

MatrixKernels matrix_kernels(const MatrixPlan& plan) noexcept {
  const MatrixType a = plan.row.a;
  if (a == MatrixType::f64) return {run_f64, run_f64};
  if (a == MatrixType::f32) return {run_dense<QuietFloatMac>, run_dense<FloatMac>};
  if (plan.sum == MatrixSum::integer) {
    const MatrixFn run = plan.row.sparse ? run_sparse<IntegerMac> : run_dense<IntegerMac>;
    return {run, run};
  }
  const bool exact_products = a == MatrixType::f16 || plan.sum == MatrixSum::fused_f8;
  MatrixKernels kernels;
  if (plan.row.sparse) {
    kernels.fast = exact_products ? run_sparse<ExactProductMac> : run_sparse<FloatMac>;
  } else {
    kernels.fast = exact_products ? run_dense<ExactProductMac> : run_dense<FloatMac>;
  }
  const bool is_f16 = a == MatrixType::f16;
  if (plan.sum == MatrixSum::tree) {
    kernels.exact = plan.group == 2 ? run_tree<2, false> : is_f16 ? run_tree<4, true> : run_tree<4, false>;
  } else if (plan.sum == MatrixSum::fused_f8) {
    kernels.exact = start_fused<16, true, false>;
  } else if (is_f16) {
    kernels.exact = plan.group == 4 ? start_fused<4, false, false> : start_fused<8, false, false>;
  } else {
    kernels.exact = plan.group == 4 ? start_fused<4, false, true> : start_fused<8, false, true>;
  }
  return kernels;
}

} // namespace aql::sim::AQL_TIER_NS

AQL_TIER_END
