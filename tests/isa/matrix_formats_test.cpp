// Every code of every operand format, seen through a matrix instruction, is the value that aql/numerics.hpp gives it.

#include <aql/numerics.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

#include "isa/matrix_support.hpp"
#include "support/catch.hpp"

namespace {

using namespace aql;
using namespace aql::num;
using sim::Arch;
using sim::MatrixType;

// A (32 x K, type `a`) holds codes in column k = 0, B ones in row k = 0: D[i][j] = A[i][0] for every j.
struct Lens {
  Arch arch;
  unsigned opcode; // a 32x32 shape
  MatrixType a, b;
  std::uint32_t one; // in B's type
};

test::Registers look(const Lens& lens, std::uint32_t first_code, unsigned tier, sim::MatrixNumerics numerics) {
  const auto& row = *sim::find_matrix_row(lens.opcode, lens.arch);
  const sim::MatrixPlan plan = make_matrix_plan(row, lens.arch, lens.a, lens.b);
  test::MatrixInputs in;
  in.a.resize(plan.a_regs);
  in.b.resize(plan.b_regs);
  in.c.resize(plan.d_regs);
  for (std::uint32_t i = 0; i < 32; ++i) {
    in.a[0].lane[i] = first_code + i; // k = 0 is item 0 of lanes 0-31
    in.b[0].lane[i] = lens.one;
  }
  return test::run_matrix(plan, in, tier, numerics);
}

template <FloatFormat kFormat>
void check_codes(const Lens& lens, sim::MatrixNumerics numerics) {
  for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
    unsigned wrong = 0;
    for (std::uint32_t first = 0; first < 1u << kFormat.bits; first += 32) {
      const test::Registers d = look(lens, first, tier, numerics);
      for (std::uint32_t i = 0; i < 32 && first + i < 1u << kFormat.bits; ++i) {
        const float got = std::bit_cast<float>(d[4 * (i / 8) + i % 4].lane[32 * (i / 4 % 2) + 5]);
        const float expected = SmallFloat<kFormat>::from_bits(first + i).to_float();
        wrong += !(got == expected || (std::isnan(got) && std::isnan(expected)));
      }
    }
    INFO("tier " << tier);
    CHECK(wrong == 0);
  }
}

constexpr unsigned kFp8Shape = 119, kF16Shape = 76, kBf16Shape = 96, kF8f6f4Shape = 46; // 32x32x16, 32x32x8, 32x32x8, 32x32x64

} // namespace

TEST_CASE("matrix formats: fp8 and bf8 are FNUZ on gfx942") {
  for (const auto numerics : {sim::MatrixNumerics::exact, sim::MatrixNumerics::fast}) {
    check_codes<kFp8Fnuz>({Arch::gfx942, kFp8Shape, MatrixType::fp8, MatrixType::fp8, 0x40}, numerics);
    check_codes<kBf8Fnuz>({Arch::gfx942, kFp8Shape, MatrixType::bf8, MatrixType::bf8, 0x40}, numerics);
  }
}

TEST_CASE("matrix formats: fp8 and bf8 are OCP on gfx950") {
  for (const auto numerics : {sim::MatrixNumerics::exact, sim::MatrixNumerics::fast}) {
    check_codes<kFp8>({Arch::gfx950, kFp8Shape, MatrixType::fp8, MatrixType::fp8, 0x38}, numerics);
    check_codes<kBf8>({Arch::gfx950, kFp8Shape, MatrixType::bf8, MatrixType::bf8, 0x3c}, numerics);
  }
}

TEST_CASE("matrix formats: fp6, bf6 and fp4 of f8f6f4") {
  for (const auto numerics : {sim::MatrixNumerics::exact, sim::MatrixNumerics::fast}) {
    check_codes<kFp6>({Arch::gfx950, kF8f6f4Shape, MatrixType::fp6, MatrixType::fp4, 0x2}, numerics);
    check_codes<kBf6>({Arch::gfx950, kF8f6f4Shape, MatrixType::bf6, MatrixType::fp4, 0x2}, numerics);
    check_codes<kFp4>({Arch::gfx950, kF8f6f4Shape, MatrixType::fp4, MatrixType::fp4, 0x2}, numerics);
  }
}

TEST_CASE("matrix formats: f16 and bf16 with their subnormals") {
  check_codes<kF16>({Arch::gfx942, kF16Shape, MatrixType::f16, MatrixType::f16, 0x3c00}, sim::MatrixNumerics::fast);
  check_codes<kBf16>({Arch::gfx942, kBf16Shape, MatrixType::bf16, MatrixType::bf16, 0x3f80}, sim::MatrixNumerics::fast);
}
