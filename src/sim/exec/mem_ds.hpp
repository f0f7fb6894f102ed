#pragma once
// What the parts of the DS family share. Thread safety: as Wave.

#include <cstdint>

#include "sim/exec/mem_common.hpp"
#include "sim/exec/mem_ds_ops.hpp"

namespace aql::sim::mem {

[[nodiscard]] inline const DsOp& ds_op(const Inst& inst) noexcept { return *static_cast<const DsOp*>(inst.kernel); }

// Byte offsets of the lanes' elements: 32-bit sums that wrap, as a negative base with an offset relies on.
inline void ds_addresses(Wave& wave, const Inst& inst, std::uint32_t add, std::uint64_t* out) {
  const std::uint32_t* v = rows(wave, inst.src[0])[0];
  for (unsigned l = 0; l < kLanes; ++l) out[l] = static_cast<std::uint32_t>(v[l] + add);
}

// Two-address forms: each offset counts elements, or 64 of them.
[[nodiscard]] inline std::uint32_t ds_offset(const Inst& inst, unsigned which) noexcept {
  const DsOp& op = ds_op(inst);
  return ((inst.imm >> (8 * which)) & 0xffu) * op.mem.bytes * (op.st64 ? 64u : 1u);
}

// Handlers of mem_ds_atomic.cpp and mem_ds_lanes.cpp.
Next ds_atomic(Wave& wave, const Inst& inst);
Next ds_exchange2(Wave& wave, const Inst& inst);
Next ds_wrap(Wave& wave, const Inst& inst);
Next ds_condxchg32(Wave& wave, const Inst& inst);
Next ds_append(Wave& wave, const Inst& inst); // and consume
Next ds_swizzle(Wave& wave, const Inst& inst);
Next ds_permute(Wave& wave, const Inst& inst);
Next ds_bpermute(Wave& wave, const Inst& inst);
Next ds_transpose(Wave& wave, const Inst& inst);

} // namespace aql::sim::mem
