// Vector ALU through the interpreter, beside a hand-written floor in the same run (valu_loop.hpp). One item is one wave64 instruction.
//
// bench_isa_valu --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>

#include "valu_loop.hpp"

namespace {

using aql::bench::FmaFloor;
using aql::bench::ValuLoop;

void floor_avx2(benchmark::State& state) {
  if (!FmaFloor::possible()) return state.SkipWithError("no AVX2");
  FmaFloor floor;
  for (auto _ : state) floor.run(1000);
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(floor_avx2);

constexpr std::uint32_t kLoops = 100;

void run(benchmark::State& state, const std::vector<std::uint32_t>& body, std::uint64_t exec) {
  ValuLoop loop(body);
  for (auto _ : state) {
    if (!loop.run(kLoops, exec)) return state.SkipWithError("the program did not end");
  }
  state.SetItemsProcessed(state.iterations() * kLoops * ValuLoop::kUnrolled);
}

// Results are those of the last instruction of the loop: checked once after timing.
void fma_loop(benchmark::State& state, std::uint64_t exec) {
  ValuLoop loop({0xd1cb0003, 0x040a0300}); // v_fma_f32 v3, v0, v1, v2
  for (auto _ : state) {
    if (!loop.run(kLoops, exec)) return state.SkipWithError("the program did not end");
  }
  state.SetItemsProcessed(state.iterations() * kLoops * ValuLoop::kUnrolled);
  if (!loop.fma_is_right(exec)) return state.SkipWithError("wrong result");
}
constexpr std::uint64_t kWhole = ~std::uint64_t{0}, kPartial = 0x5a3c96f00ff03c5au;
BENCHMARK_CAPTURE(fma_loop, whole, kWhole);
BENCHMARK_CAPTURE(fma_loop, partial, kPartial);

// v_fmac_f32 v3, v0, v1: the accumulator is a source.
BENCHMARK_CAPTURE(run, fmac, std::vector<std::uint32_t>{0x76060300}, kWhole);
BENCHMARK_CAPTURE(run, fma_scalar, std::vector<std::uint32_t>{0xd1cb0003, 0x04080300}, kWhole);          // v_fma_f32 v3, v0, s1, v2
BENCHMARK_CAPTURE(run, fma_negated, std::vector<std::uint32_t>{0xd1cb0003, 0x240a0300}, kWhole);         // v_fma_f32 v3, -v0, v1, v2
BENCHMARK_CAPTURE(run, add_u32, std::vector<std::uint32_t>{0x68060300}, kWhole);                         // v_add_u32 v3, v0, v1
BENCHMARK_CAPTURE(run, lshlrev_constant, std::vector<std::uint32_t>{0x24060282}, kWhole);                // v_lshlrev_b32 v3, 2, v1
BENCHMARK_CAPTURE(run, min_f32, std::vector<std::uint32_t>{0x14060300}, kWhole);
BENCHMARK_CAPTURE(run, cmp_lt_f32, std::vector<std::uint32_t>{0x7c820300}, kWhole);
BENCHMARK_CAPTURE(run, cndmask, std::vector<std::uint32_t>{0x00060300}, kWhole);
BENCHMARK_CAPTURE(run, addc, std::vector<std::uint32_t>{0x38060300}, kWhole);
BENCHMARK_CAPTURE(run, fma_f64, std::vector<std::uint32_t>{0xd1cc0008, 0x04120500}, kWhole);             // v_fma_f64 v[8:9], v[0:1], v[2:3], v[4:5]
BENCHMARK_CAPTURE(run, pk_fma_f32, std::vector<std::uint32_t>{0xd3b04008, 0x1c120500}, kWhole);
BENCHMARK_CAPTURE(run, bfe_u32, std::vector<std::uint32_t>{0xd1c80003, 0x040a0300}, kWhole);

} // namespace

BENCHMARK_MAIN();
