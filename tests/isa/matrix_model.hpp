#pragma once
// A slow model of the matrix instructions, kept apart from src/: operands by the ISA guides' lane and item formulas, every number
// as an integer significand and an exponent, sums in exact fixed point.

#include "isa/matrix_support.hpp"

namespace aql::test {

// What the instruction gives in exact numerics.
[[nodiscard]] Registers model_matrix(const sim::MatrixRow& row, sim::Arch arch, sim::MatrixType a, sim::MatrixType b, const MatrixInputs& in);

} // namespace aql::test
