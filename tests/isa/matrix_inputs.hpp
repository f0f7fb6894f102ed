#pragma once
// Inputs that are hard on matrix arithmetic: one kind of trouble at a time, seeded.

#include <random>
#include <span>
#include <string_view>

#include "isa/matrix_support.hpp"

namespace aql::test {

enum class InputKind {
  any_bits,     // every bit pattern: infinities and NaNs wherever the format has them
  ordinary,     // finite, exponents close together
  wide,         // finite, exponents over the whole range
  tiny,         // zeros of both signs, subnormals, smallest normals
  cancelling,   // pairs that cancel, C of opposite sign
  huge,         // largest finite values: overflow of products and sums
  sparse_zeros, // mostly zeros between ordinary values: exponents of zero products matter
  rare_special, // ordinary with an infinity or NaN here and there
};

inline constexpr InputKind kInputKinds[] = {InputKind::any_bits, InputKind::ordinary, InputKind::wide,         InputKind::tiny,
                                            InputKind::cancelling, InputKind::huge, InputKind::sparse_zeros, InputKind::rare_special};

[[nodiscard]] std::string_view to_string(InputKind kind);

// A, B, C, index and modifier fields for a plan; the modifiers stay 0 unless `modifiers`.
[[nodiscard]] MatrixInputs make_inputs(const sim::MatrixPlan& plan, InputKind kind, std::mt19937& random, bool modifiers);

} // namespace aql::test
