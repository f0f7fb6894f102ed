#pragma once
// Reading and writing scalar operands, for every family that takes SGPRs, constants and special registers.

#include <cstdint>

#include "sim/exec/wave.hpp"

namespace aql::sim {

// Special sources by their 9-bit code. Apertures are 64-bit values whose low half is 0 (base) or all ones (limit); a 32-bit
// read sees the low half only.
[[nodiscard]] inline std::uint64_t read_special(const Wave& w, unsigned code) noexcept {
  switch (code) {
  case 235: return w.dispatch->shared_aperture;
  case 236: return w.dispatch->shared_aperture | 0xffffffffu;
  case 237: return w.dispatch->private_aperture;
  case 238: return w.dispatch->private_aperture | 0xffffffffu;
  case 251: return w.vcc() == 0 ? 1 : 0;
  case 252: return w.exec() == 0 ? 1 : 0;
  case 253: return w.scc;
  default: return 0; // 239, pops_exiting_wave_id: graphics
  }
}

// A scalar source (kind sgpr, constant or special), 32 and 64 bits.
[[nodiscard]] inline std::uint32_t scalar32(const Wave& w, const isa::Operand& o) noexcept {
  if (o.kind == isa::OperandKind::sgpr) return w.sgpr[o.index];
  if (o.kind == isa::OperandKind::constant) return o.value;
  return static_cast<std::uint32_t>(read_special(w, o.index));
}

[[nodiscard]] inline std::uint64_t scalar64(const Wave& w, const isa::Operand& o) noexcept {
  if (o.kind == isa::OperandKind::sgpr) return w.sgpr64(o.index);
  if (o.kind == isa::OperandKind::constant) return o.value | static_cast<std::uint64_t>(o.value_hi) << 32;
  return read_special(w, o.index);
}

[[nodiscard]] constexpr bool is_scalar(const isa::Operand& o) noexcept {
  return o.kind == isa::OperandKind::sgpr || o.kind == isa::OperandKind::constant || o.kind == isa::OperandKind::special;
}

} // namespace aql::sim
