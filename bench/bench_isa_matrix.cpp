// Matrix instructions of the software GPU, one thread: time of one instruction through its handler, and of a register-level GEMM
// step (the 8 MFMA on 4 accumulators of a 64x64 tile's k step), in both numerics modes and on every host tier.
// "flops" counts 2 * M * N * K * blocks.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/exec/exec.hpp"
#include "sim/exec/matrix.hpp"
#include "sim/exec/tier.hpp"
#include "sim/isa/op_info.hpp"

namespace {

using namespace aql::sim;

// Random values of ordinary size for any operand type: bytes, halves and words with small exponents.
void fill_random(std::vector<VReg>& regs, MatrixType type, std::mt19937& random) {
  for (VReg& reg : regs) {
    for (std::uint32_t& lane : reg.lane) {
      const std::uint32_t bits = static_cast<std::uint32_t>(random());
      switch (type) {
      case MatrixType::f16: lane = (bits & 0x8fff8fffu) | 0x30003000u; break;
      case MatrixType::bf16:
      case MatrixType::bf16x2: lane = (bits & 0x83ff83ffu) | 0x3c003c00u; break;
      case MatrixType::f32:
      case MatrixType::xf32:
      case MatrixType::f64: lane = (bits & 0x83ffffffu) | 0x3c000000u; break;
      default: lane = bits & 0x3f3f3f3fu; break;
      }
    }
  }
}

struct Case {
  const char* name;
  Arch arch;
  const char* mnemonic;
  MatrixType a, b; // for f8f6f4
};

constexpr Case kCases[] = {
    {"32x32x8_f16", Arch::gfx942, "v_mfma_f32_32x32x8_f16", MatrixType::f16, MatrixType::f16},
    {"16x16x16_f16", Arch::gfx942, "v_mfma_f32_16x16x16_f16", MatrixType::f16, MatrixType::f16},
    {"4x4x4_16b_f16", Arch::gfx942, "v_mfma_f32_4x4x4_16b_f16", MatrixType::f16, MatrixType::f16},
    {"32x32x8_bf16", Arch::gfx942, "v_mfma_f32_32x32x8_bf16", MatrixType::bf16, MatrixType::bf16},
    {"32x32x2_f32", Arch::gfx942, "v_mfma_f32_32x32x2_f32", MatrixType::f32, MatrixType::f32},
    {"16x16x4_f64", Arch::gfx942, "v_mfma_f64_16x16x4_f64", MatrixType::f64, MatrixType::f64},
    {"32x32x4_xf32", Arch::gfx942, "v_mfma_f32_32x32x4_xf32", MatrixType::xf32, MatrixType::xf32},
    {"32x32x16_i8", Arch::gfx942, "v_mfma_i32_32x32x16_i8", MatrixType::i8, MatrixType::i8},
    {"32x32x16_fp8", Arch::gfx942, "v_mfma_f32_32x32x16_fp8_fp8", MatrixType::fp8, MatrixType::fp8},
    {"smfmac_32x32x16_f16", Arch::gfx942, "v_smfmac_f32_32x32x16_f16", MatrixType::f16, MatrixType::f16},
    {"32x32x8_f16", Arch::gfx90a, "v_mfma_f32_32x32x8f16", MatrixType::f16, MatrixType::f16},
    {"32x32x8_bf16", Arch::gfx90a, "v_mfma_f32_32x32x8bf16_1k", MatrixType::bf16, MatrixType::bf16},
    {"32x32x16_f16", Arch::gfx950, "v_mfma_f32_32x32x16_f16", MatrixType::f16, MatrixType::f16},
    {"32x32x16_fp8", Arch::gfx950, "v_mfma_f32_32x32x16_fp8_fp8", MatrixType::fp8, MatrixType::fp8},
    {"32x32x64_f8f6f4_fp8", Arch::gfx950, "v_mfma_f32_32x32x64_f8f6f4", MatrixType::fp8, MatrixType::fp8},
    {"32x32x64_f8f6f4_fp4", Arch::gfx950, "v_mfma_f32_32x32x64_f8f6f4", MatrixType::fp4, MatrixType::fp4},
};

struct Operands {
  std::vector<VReg> a{8}, b{8}, c{32};
  MatrixJob job;

  Operands(const MatrixPlan& plan) {
    std::mt19937 random{std::random_device{}()};
    fill_random(a, plan.row.a, random);
    fill_random(b, plan.row.b, random);
    job.plan = &plan;
    job.a = a.data();
    job.b = b.data();
    job.c = job.d = c.data();
    job.index = b.data();
  }
};

void one_instruction(benchmark::State& state, const Case& c, unsigned tier, MatrixNumerics numerics) {
  const auto* info = isa::find_mnemonic(c.mnemonic, c.arch);
  const MatrixPlan plan = make_matrix_plan(*find_matrix_row(info->code, c.arch), c.arch, c.a, c.b);
  const MatrixKernels kernels = matrix_kernels(plan, tier);
  const MatrixFn run = numerics == MatrixNumerics::fast ? kernels.fast : kernels.exact;
  Operands operands(plan);
  for (auto _ : state) {
    run(operands.job);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * plan.row.m * plan.row.n * plan.row.k * plan.row.blocks;
  state.counters["flops"] = benchmark::Counter(flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[8:9], a[0:15] and its seven neighbours, through decoder, binding and handler.
void gemm_step(benchmark::State& state, MatrixNumerics numerics) {
  DispatchContext dispatch;
  dispatch.arch = Arch::gfx942;
  dispatch.numerics = numerics;
  std::vector<VReg> file(512);
  std::mt19937 random{std::random_device{}()};
  std::vector<VReg> values(16);
  fill_random(values, MatrixType::f16, random);
  for (std::size_t r = 0; r < values.size(); ++r) file[r] = values[r];
  auto wave = std::make_unique<Wave>();
  wave->vgpr = file.data();
  wave->vgpr_count = 256;
  wave->agpr_base = 256;
  wave->agpr_count = 256;
  wave->dispatch = &dispatch;
  wave->set_exec(~std::uint64_t{0});
  std::vector<Inst> program(8);
  for (unsigned n = 0; n < 8; ++n) {
    Inst& inst = program[n];
    const unsigned acc = n % 4, k = n / 4;
    inst.info = isa::find_mnemonic("v_mfma_f32_32x32x8_f16", Arch::gfx942);
    inst.op = inst.info->op;
    inst.format = isa::Format::vop3p;
    const auto operand = [](isa::OperandKind kind, unsigned width, unsigned index) {
      return isa::Operand{kind, static_cast<std::uint8_t>(width), static_cast<std::uint16_t>(index), 0, 0};
    };
    inst.dst = inst.src[2] = operand(isa::OperandKind::agpr, 16, 16 * acc);
    inst.src[0] = operand(isa::OperandKind::vgpr, 2, 4 * k + 2 * (acc / 2));
    inst.src[1] = operand(isa::OperandKind::vgpr, 2, 8 + 4 * k + 2 * (acc % 2));
    bind_matrix(inst, Arch::gfx942);
  }
  for (auto _ : state) {
    for (const Inst& inst : program) inst.handler(*wave, inst);
    benchmark::ClobberMemory();
  }
  state.counters["flops"] = benchmark::Counter(8.0 * 2 * 32 * 32 * 8 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["ns_per_mfma"] =
      benchmark::Counter(8.0 * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

} // namespace

int main(int argc, char** argv) {
  for (const auto numerics : {MatrixNumerics::fast, MatrixNumerics::exact}) {
    const std::string mode = numerics == MatrixNumerics::fast ? "fast" : "exact";
    for (const Case& c : kCases) {
      for (unsigned tier = 0; tier <= host_tier(); ++tier) {
        const std::string name = "mfma/" + std::string(isa::to_string(c.arch)) + "/" + c.name + "/" + mode + "/tier" + std::to_string(tier);
        benchmark::RegisterBenchmark(name.c_str(), one_instruction, c, tier, numerics);
      }
    }
    benchmark::RegisterBenchmark(("gemm_step/gfx942/32x32x8_f16/" + mode).c_str(), gemm_step, numerics);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
