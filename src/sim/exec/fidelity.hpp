#pragma once
// How close each instruction is to the hardware: exact (specified completely, or characterised on silicon), assumed (a point that the
// public documents leave open was decided by us), approximated (the hardware's result comes from tables that are not public).
// Behind `aql run --fidelity`. Thread safety: immutable after the first call.

#include <string_view>

#include "sim/exec/trace.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {

struct FidelityNote {
  Fidelity fidelity = Fidelity::exact;
  std::string_view reason; // empty for exact
};

[[nodiscard]] FidelityNote fidelity_note(isa::Op op, Arch arch, MatrixNumerics numerics = MatrixNumerics::exact);
[[nodiscard]] inline Fidelity fidelity_of(isa::Op op, Arch arch, MatrixNumerics numerics = MatrixNumerics::exact) {
  return fidelity_note(op, arch, numerics).fidelity;
}

[[nodiscard]] std::string_view to_string(Fidelity f) noexcept;

} // namespace aql::sim
