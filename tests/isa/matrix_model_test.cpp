// Every matrix instruction against the slow model (matrix_model.cpp), on every host tier.

#include "isa/matrix_inputs.hpp"
#include "isa/matrix_model.hpp"
#include "support/catch.hpp"

namespace {

using namespace aql;
using sim::Arch;
using sim::MatrixNumerics;
using sim::MatrixType;

constexpr Arch kArchs[] = {Arch::gfx90a, Arch::gfx942, Arch::gfx950};
constexpr MatrixType kSmallFloats[] = {MatrixType::fp8, MatrixType::bf8, MatrixType::fp6, MatrixType::bf6, MatrixType::fp4};

void check_against_model(const sim::MatrixRow& row, Arch arch, MatrixType a, MatrixType b, const test::MatrixInputs& in) {
  const sim::MatrixPlan plan = make_matrix_plan(row, arch, a, b);
  const test::Registers expected = test::model_matrix(row, arch, a, b, in);
  for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
    const test::Registers d = test::run_matrix(plan, in, tier, MatrixNumerics::exact);
    const int at = test::first_difference(d, expected, row.d == MatrixType::f64, row.d == MatrixType::f32);
    const auto lane = [&](const test::Registers& regs) { return at < 0 ? 0u : regs[static_cast<std::size_t>(at / 64)].lane[at % 64]; };
    INFO("tier " << tier << " register " << at / 64 << " lane " << at % 64 << std::hex << ": got 0x" << lane(d) << ", the model has 0x" << lane(expected));
    CHECK(at == -1);
  }
}

template <class Body>
void for_each_row(Body body) {
  for (const Arch arch : kArchs) {
    for (const sim::MatrixRow& row : sim::matrix_rows()) {
      if ((row.archs & arch_bit(arch)) != 0) body(row, arch);
    }
  }
}

} // namespace

TEST_CASE("matrix model: every row gives the model's bits on every kind of input") {
  std::mt19937 random(20240817);
  for_each_row([&](const sim::MatrixRow& row, Arch arch) {
    if (row.a == MatrixType::f8f6f4) return;
    const sim::MatrixPlan plan = test::plan_of(row, arch);
    for (const test::InputKind kind : test::kInputKinds) {
      INFO(test::describe(plan, arch) << ", " << test::to_string(kind));
      check_against_model(row, arch, row.a, row.b, test::make_inputs(plan, kind, random, false));
    }
  });
}

TEST_CASE("matrix model: CBSZ, ABID and BLGP broadcast, permute, negate or select as the model says") {
  std::mt19937 random(7);
  for_each_row([&](const sim::MatrixRow& row, Arch arch) {
    if (row.a == MatrixType::f8f6f4) return;
    const sim::MatrixPlan plan = test::plan_of(row, arch);
    for (int round = 0; round < 8; ++round) {
      const test::MatrixInputs in = test::make_inputs(plan, test::InputKind::ordinary, random, true);
      INFO(test::describe(plan, arch) << ", cbsz " << int{in.cbsz} << " abid " << int{in.abid} << " blgp " << int{in.blgp});
      check_against_model(row, arch, row.a, row.b, in);
    }
  });
}

TEST_CASE("matrix model: f8f6f4 takes every pair of formats, with and without scales") {
  std::mt19937 random(42);
  for_each_row([&](const sim::MatrixRow& row, Arch arch) {
    if (row.a != MatrixType::f8f6f4) return;
    for (const MatrixType a : kSmallFloats) {
      for (const MatrixType b : kSmallFloats) {
        const sim::MatrixPlan plan = make_matrix_plan(row, arch, a, b);
        for (const test::InputKind kind : {test::InputKind::any_bits, test::InputKind::wide, test::InputKind::sparse_zeros}) {
          test::MatrixInputs in = test::make_inputs(plan, kind, random, false);
          INFO(test::describe(plan, arch) << ", types " << int(a) << " " << int(b) << ", " << test::to_string(kind));
          check_against_model(row, arch, a, b, in);
          const bool extreme = kind == test::InputKind::any_bits;
          for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
            in.scale_a.push_back(static_cast<std::uint8_t>(extreme ? random() : 124 + random() % 7));
            in.scale_b.push_back(static_cast<std::uint8_t>(extreme ? random() : 124 + random() % 7));
          }
          if (kind == test::InputKind::wide) in.scale_a[random() % 64] = 255;
          check_against_model(row, arch, a, b, in);
        }
      }
    }
  });
}

TEST_CASE("matrix model: fast numerics stay within the rounding of a double-precision sum") {
  std::mt19937 random(11);
  for_each_row([&](const sim::MatrixRow& row, Arch arch) {
    if (row.a == MatrixType::f8f6f4 || row.d != MatrixType::f32) return;
    const sim::MatrixPlan plan = test::plan_of(row, arch);
    const test::MatrixInputs in = test::make_inputs(plan, test::InputKind::ordinary, random, true);
    const test::Registers exact = test::run_matrix(plan, in, 0, MatrixNumerics::exact);
    for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
      const test::Registers fast = test::run_matrix(plan, in, tier, MatrixNumerics::fast);
      INFO(test::describe(plan, arch) << ", tier " << tier);
      double worst = 0;
      for (std::size_t r = 0; r < exact.size(); ++r) {
        for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
          const double x = std::bit_cast<float>(exact[r].lane[lane]), y = std::bit_cast<float>(fast[r].lane[lane]);
          worst = std::max(worst, std::abs(x - y));
        }
      }
      CHECK(worst <= 0x1p-10); // values below 2^4, at most 64 products
    }
  });
}
