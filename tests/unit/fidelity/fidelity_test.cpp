#include "sim/exec/fidelity.hpp"

#include "support/catch.hpp"

using namespace aql::sim;
using isa::Op;

TEST_CASE("fidelity: integer and IEEE arithmetic is exact") {
  for (const Arch a : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    CHECK(fidelity_of(Op::v_add_u32, a) == Fidelity::exact);
    CHECK(fidelity_of(Op::v_fma_f32, a) == Fidelity::exact);
    CHECK(fidelity_of(Op::v_pk_fma_f16, a) == Fidelity::exact);
    CHECK(fidelity_of(Op::s_endpgm, a) == Fidelity::exact);
  }
}

TEST_CASE("fidelity: operations with tables in the hardware are approximated") {
  for (const Op op : {Op::v_exp_f32, Op::v_log_f16, Op::v_rcp_f32, Op::v_rcp_iflag_f32, Op::v_rsq_f64, Op::v_sqrt_f32, Op::v_sin_f32, Op::v_cos_f16})
    CHECK(fidelity_of(op, Arch::gfx942) == Fidelity::approximated);
}

TEST_CASE("fidelity: what the documents leave open is assumed, with a reason") {
  for (const Op op : {Op::v_dot2_f32_f16, Op::v_mad_f16, Op::v_cvt_rpi_i32_f32, Op::v_cvt_scalef32_pk_fp4_f32, Op::v_cvt_sr_fp8_f32}) {
    const FidelityNote note = fidelity_note(op, Arch::gfx950);
    CHECK(note.fidelity == Fidelity::assumed);
    CHECK_FALSE(note.reason.empty());
  }
}

TEST_CASE("fidelity: matrix operations say it themselves, per target and numerics") {
  CHECK(fidelity_of(Op::v_mfma_f32_32x32x8_f16, Arch::gfx942) == Fidelity::exact);
  CHECK(fidelity_of(Op::v_mfma_f32_32x32x8_f16, Arch::gfx950) == Fidelity::assumed);
  CHECK(fidelity_of(Op::v_mfma_f32_32x32x8_f16, Arch::gfx942, MatrixNumerics::fast) == Fidelity::approximated);
  CHECK(fidelity_of(Op::v_mfma_f32_32x32x2_f32, Arch::gfx950) == Fidelity::exact);
}

TEST_CASE("fidelity: every note that is not exact has a reason, on every target") {
  unsigned bare = 0;
  for (const Arch a : {Arch::gfx90a, Arch::gfx942, Arch::gfx950})
    for (std::size_t n = 0; n < isa::kOpCount; ++n)
      for (const MatrixNumerics m : {MatrixNumerics::exact, MatrixNumerics::fast}) {
        const FidelityNote note = fidelity_note(static_cast<Op>(n), a, m);
        bare += (note.fidelity == Fidelity::exact) != note.reason.empty();
      }
  CHECK(bare == 0);
}
