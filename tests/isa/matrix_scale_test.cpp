// The scaled forms of gfx950 (16 bytes), and moves between the register files.

#include <cstring>

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

// OP_SEL is the low bit of the scale's byte, OP_SEL_HI the high one.
const test::AsmCases kScaled{
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[128:131], v[16:23], v[32:39], v[64:67], v96, v98 op_sel_hi:[0,0,0]",
     {0xd3ac0000, 0x0002c560, 0xd3ad0880, 0x05024110}, 4},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[128:131], v[16:23], v[32:39], v[64:67], v96, v98 op_sel:[1,0,0] op_sel_hi:[0,1,0]",
     {0xd3ac0800, 0x1002c560, 0xd3ad0880, 0x05024110}, 4},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 v[128:131], v[16:19], v[32:37], v[64:67], v96, v98 op_sel:[0,1,0] op_sel_hi:[1,1,0] cbsz:4 blgp:2",
     {0xd3ac1000, 0x1802c560, 0xd3ad0c80, 0x45024110}, 4},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 v[128:143], v[16:23], v[32:39], v[64:79], v96, v98 op_sel_hi:[0,0,0]",
     {0xd3ac0000, 0x0002c560, 0xd3ae0880, 0x05024110}, 4},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 v[128:143], v[16:21], v[32:39], v[64:79], v96, v98 op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:3 blgp:1",
     {0xd3ac1800, 0x0002c560, 0xd3ae0b80, 0x25024110}, 4},
};
struct Meaning {
  unsigned opcode;
  MatrixType a, b;
  unsigned byte_a, byte_b;
};
constexpr Meaning kMeanings[] = {{45, MatrixType::fp8, MatrixType::fp8, 0, 0},
                                 {45, MatrixType::fp8, MatrixType::fp8, 1, 2},
                                 {45, MatrixType::fp4, MatrixType::fp6, 2, 3},
                                 {46, MatrixType::fp8, MatrixType::fp8, 0, 0},
                                 {46, MatrixType::bf6, MatrixType::bf8, 1, 1}};

const test::AsmCases kMoves{
    {"v_accvgpr_read_b32 v3, a5", {0xd3d84003, 0x18000105}, 7},
    {"v_accvgpr_write_b32 a3, v5", {0xd3d94003, 0x18000105}, 7},
    {"v_accvgpr_write_b32 a3, 1.0", {0xd3d94003, 0x180000f2}, 7},
    {"v_accvgpr_write_b32 a3, s4", {0xd3d94003, 0x18000004}, 6},
};

struct Prepared {
  test::MatrixInputs in;
  sim::VReg scale_a{}, scale_b{};
};

Prepared prepare(const Meaning& m, std::mt19937& random) {
  const auto& row = *sim::find_matrix_row(m.opcode, Arch::gfx950);
  Prepared p;
  p.in = test::make_inputs(make_matrix_plan(row, Arch::gfx950, m.a, m.b), test::InputKind::ordinary, random, false);
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    p.scale_a.lane[lane] = 0x78787878u + static_cast<std::uint32_t>(random() & 0x07070707u);
    p.scale_b.lane[lane] = 0x78787878u + static_cast<std::uint32_t>(random() & 0x07070707u);
    p.in.scale_a.push_back(static_cast<std::uint8_t>(p.scale_a.lane[lane] >> (8 * m.byte_a)));
    p.in.scale_b.push_back(static_cast<std::uint8_t>(p.scale_b.lane[lane] >> (8 * m.byte_b)));
  }
  return p;
}

void load(IsaBench& bench, const Prepared& p) {
  std::copy(p.in.a.begin(), p.in.a.end(), &bench.wave.v(16));
  std::copy(p.in.b.begin(), p.in.b.end(), &bench.wave.v(32));
  std::copy(p.in.c.begin(), p.in.c.end(), &bench.wave.v(64));
  bench.wave.v(96) = p.scale_a;
  bench.wave.v(98) = p.scale_b;
}

void check_result(IsaBench& bench, const Meaning& m, const test::MatrixInputs& in) {
  const auto& row = *sim::find_matrix_row(m.opcode, Arch::gfx950);
  const test::Registers expected = test::model_matrix(row, Arch::gfx950, m.a, m.b, in);
  CHECK(test::first_difference({&bench.wave.v(128), &bench.wave.v(128) + expected.size()}, expected, false, true) == -1);
}

} // namespace

TEST_CASE("matrix scale: the byte that OP_SEL names scales every 32 values of k") {
  std::mt19937 random(31);
  for (std::size_t n = 0; n < kScaled.size(); ++n) {
    INFO(kScaled[n].text);
    IsaBench bench(Arch::gfx950);
    const Prepared p = prepare(kMeanings[n], random);
    load(bench, p);
    REQUIRE(bench.run(kScaled[n]));
    check_result(bench, kMeanings[n], p.in);
    bench.agreed();
  }
}

TEST_CASE("matrix scale: a second half with ABID 0 is no scaled instruction, as for LLVM") {
  IsaBench bench(Arch::gfx950);
  CHECK_FALSE(bench.run({0xd3ac0000, 0x0002c560, 0xd3ad0080, 0x05024110}));
  CHECK(bench.fault.code == Errc::illegal_instruction);
}

TEST_CASE("matrix scale: fast numerics scale too") {
  std::mt19937 random(33);
  IsaBench bench(Arch::gfx950);
  bench.dispatch.numerics = sim::MatrixNumerics::fast;
  const Prepared p = prepare(kMeanings[3], random);
  load(bench, p);
  REQUIRE(bench.run(kScaled[3]));
  const auto& row = *sim::find_matrix_row(46, Arch::gfx950);
  const test::Registers exact = test::model_matrix(row, Arch::gfx950, MatrixType::fp8, MatrixType::fp8, p.in);
  double worst = 0;
  for (std::size_t r = 0; r < exact.size(); ++r) {
    for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
      worst = std::max(worst, std::abs(double{std::bit_cast<float>(exact[r].lane[lane])} - double{std::bit_cast<float>(bench.v(128 + static_cast<unsigned>(r), lane))}));
    }
  }
  CHECK(worst <= 0x1p-10);
}

TEST_CASE("accvgpr: read and write move the lanes that EXEC enables") {
  for (const Arch arch : test::kAllArchs) {
    IsaBench bench(arch);
    bench.wave.set_exec(0xfffffffffffffffd);
    for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
      bench.a(5, lane) = 1000 + lane;
      bench.v(5, lane) = 2000 + lane;
    }
    REQUIRE(bench.run(kMoves[0]));
    CHECK(bench.v(3, 0) == 1000);
    CHECK(bench.v(3, 1) == 0);
    CHECK(bench.v(3, 63) == 1063);
    REQUIRE(bench.run(kMoves[1]));
    CHECK(bench.a(3, 0) == 2000);
    CHECK(bench.a(3, 1) == 0);
    REQUIRE(bench.run(kMoves[2]));
    CHECK(bench.a(3, 63) == 0x3f800000);
    CHECK(bench.a(3, 1) == 0);
    bench.wave.set_exec(~0ull);
    REQUIRE(bench.run(kMoves[1]));
    CHECK(bench.a(3, 1) == 2001);
    bench.agreed();
  }
}

TEST_CASE("accvgpr: write takes an SGPR") {
  IsaBench bench(Arch::gfx942);
  bench.s(4) = 77;
  REQUIRE(bench.run(kMoves[3]));
  CHECK(bench.a(3, 9) == 77);
}
