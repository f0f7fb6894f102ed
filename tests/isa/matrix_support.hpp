#pragma once
// Registers, rows and tiers for the tests of matrix instructions.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/exec/matrix.hpp"
#include "sim/exec/tier.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::test {

using Registers = std::vector<sim::VReg>;

// Everything a matrix instruction reads, by register file contents.
struct MatrixInputs {
  Registers a, b, c;
  sim::VReg index{};
  std::vector<std::uint8_t> scale_a, scale_b; // 64 bytes, or empty
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
};

inline sim::MatrixPlan plan_of(const sim::MatrixRow& row, sim::Arch arch) { return make_matrix_plan(row, arch, row.a, row.b); }

inline Registers run_matrix(const sim::MatrixPlan& plan, const MatrixInputs& in, unsigned tier, sim::MatrixNumerics numerics) {
  Registers d = in.c;
  sim::MatrixJob job;
  job.plan = &plan;
  job.a = in.a.data();
  job.b = in.b.data();
  job.c = d.data();
  job.d = d.data();
  job.index = &in.index;
  if (!in.scale_a.empty()) job.scale_a = in.scale_a.data();
  if (!in.scale_b.empty()) job.scale_b = in.scale_b.data();
  job.cbsz = in.cbsz;
  job.abid = in.abid;
  job.blgp = in.blgp;
  const sim::MatrixKernels kernels = matrix_kernels(plan, tier);
  (numerics == sim::MatrixNumerics::fast ? kernels.fast : kernels.exact)(job);
  return d;
}

inline std::string describe(const sim::MatrixPlan& plan, sim::Arch arch) {
  const auto& r = plan.row;
  return std::string(sim::isa::to_string(arch)) + " opcode " + std::to_string(r.opcode) + (r.sparse ? " sparse " : " ") + std::to_string(r.m) + "x" +
         std::to_string(r.n) + "x" + std::to_string(r.k) + " blocks " + std::to_string(r.blocks);
}

// Index of the first lane (register * 64 + lane) that differs, or -1. NaNs are equal to NaNs: their bits are not specified.
inline int first_difference(const Registers& x, const Registers& y, bool doubles, bool floats) {
  const auto is_nan = [](std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; };
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (unsigned l = 0; l < sim::kLanes; ++l) {
      if (x[r].lane[l] == y[r].lane[l]) continue;
      if (floats && is_nan(x[r].lane[l]) && is_nan(y[r].lane[l])) continue;
      if (doubles) {
        const std::size_t hi = r | 1;
        const auto nan64 = [&](const Registers& z) {
          return ((std::uint64_t{z[hi].lane[l]} << 32 | z[hi - 1].lane[l]) & ~(std::uint64_t{1} << 63)) > 0x7ff0000000000000u;
        };
        if (nan64(x) && nan64(y)) continue;
      }
      return static_cast<int>(r * sim::kLanes + l);
    }
  }
  return -1;
}

} // namespace aql::test
