// Vector operations that are not lane loops: they cross lanes, or name a single lane.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/operand.hpp"
#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

Next v_nop(Wave&, const Inst&) { return Next::fallthrough; }

Next v_clrexcp(Wave& w, const Inst&) {
  w.trapsts &= ~0x1ffu; // EXCP
  return Next::fallthrough;
}

// Reads that ignore EXEC; a register outside the allocation reads v0.
const u32* row_or_v0(Wave& w, const isa::Operand& o) {
  static constexpr u32 kZero[kLanes] = {};
  if (o.kind == isa::OperandKind::agpr) return o.index < w.agpr_count ? w.a(o.index).lane : kZero;
  if (o.index < w.vgpr_count) return w.v(o.index).lane;
  return w.vgpr_count != 0 ? w.v(0).lane : kZero;
}
u32* row_or_null(Wave& w, const isa::Operand& o) { return o.index < w.vgpr_count ? w.v(o.index).lane : nullptr; }

// With EXEC = 0 lane 0 is read.
Next v_readfirstlane_b32(Wave& w, const Inst& in) {
  const u64 exec = w.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(__builtin_ctzll(exec));
  w.sgpr[in.dst.index] = row_or_v0(w, in.src[0])[lane];
  return Next::fallthrough;
}

// The lane number counts modulo 64; EXEC does not matter.
Next v_readlane_b32(Wave& w, const Inst& in) {
  const unsigned lane = scalar32(w, in.src[1]) & 63u;
  w.sgpr[in.dst.index] = row_or_v0(w, in.src[0])[lane];
  return Next::fallthrough;
}

Next v_writelane_b32(Wave& w, const Inst& in) {
  const u32 value = scalar32(w, in.src[0]);
  const unsigned lane = scalar32(w, in.src[1]) & 63u;
  if (u32* const dst = row_or_null(w, in.dst)) dst[lane] = value;
  return Next::fallthrough;
}

Next v_swap_b32(Wave& w, const Inst& in) {
  u32* const a = row_or_null(w, in.dst);
  u32* const b = row_or_null(w, in.src[0]);
  if (a == nullptr || b == nullptr || a == b) return Next::fallthrough;
  alignas(64) u32 old[kLanes];
  AQL_LANES old[i] = a[i];
  blend_row(a, b, w.exec());
  blend_row(b, old, w.exec());
  return Next::fallthrough;
}

// gfx950: half of the lanes of one register change places with the other half of the other register. A lane is written if EXEC
// has it; a source lane that EXEC lacks is read only with fi (op_sel[0]), else it reads 0 with bound_ctrl (op_sel[1]) and
// without that the lane keeps its value. (The guide tells only of whole waves; fi and bound_ctrl as on gfx10: assumed.)
template <unsigned Span> Next permlane_swap(Wave& w, const Inst& in) {
  u32* const d = row_or_null(w, in.dst);
  u32* const s = row_or_null(w, in.src[0]);
  if (d == nullptr || s == nullptr) return Next::fallthrough;
  u32 old_d[kLanes], old_s[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) {
    old_d[i] = d[i];
    old_s[i] = s[i];
  }
  const u64 exec = w.exec();
  const bool fetch_inactive = (in.mod.op_sel & 1u) != 0, zero = (in.mod.op_sel & 2u) != 0;
  const auto on = [exec](unsigned lane) { return (exec >> lane & 1u) != 0; };
  for (unsigned i = 0; i < kLanes; ++i) {
    if (!on(i)) continue;
    const bool upper = (i & Span) != 0;        // upper lanes of vdst take src0's lower ones
    const unsigned from = i ^ Span;
    const bool readable = fetch_inactive || on(from);
    if (!readable && !zero) continue;
    if (upper) d[i] = readable ? old_s[from] : 0;
    else s[i] = readable ? old_d[from] : 0;
  }
  return Next::fallthrough;
}

Next v_accvgpr_mov_b32(Wave& w, const Inst& in) {
  if (in.dst.index >= w.agpr_count) return Next::fallthrough;
  alignas(64) u32 value[kLanes];
  const u32* const from = row_or_v0(w, in.src[0]);
  AQL_LANES value[i] = from[i];
  blend_row(w.a(in.dst.index).lane, value, w.exec());
  return Next::fallthrough;
}

constexpr ValuOp kOps[] = {
  AQL_VALU_SPECIAL(v_nop, v_nop), AQL_VALU_SPECIAL(v_clrexcp, v_clrexcp),
  AQL_VALU_SPECIAL(v_readfirstlane_b32, v_readfirstlane_b32), AQL_VALU_SPECIAL(v_readlane_b32, v_readlane_b32),
  AQL_VALU_SPECIAL(v_writelane_b32, v_writelane_b32), AQL_VALU_SPECIAL(v_swap_b32, v_swap_b32),
  AQL_VALU_SPECIAL(v_permlane16_swap_b32, permlane_swap<16>), AQL_VALU_SPECIAL(v_permlane32_swap_b32, permlane_swap<32>),
  AQL_VALU_SPECIAL(v_accvgpr_mov_b32, v_accvgpr_mov_b32),
};

} // namespace

std::span<const ValuOp> valu_special_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
