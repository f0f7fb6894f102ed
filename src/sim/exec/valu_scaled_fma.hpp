#pragma once
// (a * b + c) * 2^scale with one rounding, in integers: the exact form of v_div_fmas. Rare, so not vectorised.
// Thread safety: pure functions.

namespace aql::sim {

// round: 0 nearest even, 1 toward +infinity, 2 toward -infinity, 3 toward zero. A NaN result is the host's default NaN or some
// quieted source.
[[nodiscard]] float scaled_fma(float a, float b, float c, int scale, unsigned round) noexcept;
[[nodiscard]] double scaled_fma(double a, double b, double c, int scale, unsigned round) noexcept;

} // namespace aql::sim
