// Choice of handler and operation for one vector ALU instruction.

#include <algorithm>
#include <array>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {
namespace {

using isa::Operand;
using isa::OperandKind;

struct Tables {
  std::array<const ValuOp*, isa::kOpCount> row[kArchCount] = {};

  void add(std::span<const ValuOp> ops) {
    for (const ValuOp& op : ops) {
      for (unsigned a = 0; a < kArchCount; ++a) {
        if ((op.archs >> a & 1u) != 0) row[a][static_cast<std::size_t>(op.op)] = &op;
      }
    }
  }
};

Tables build(unsigned tier) {
  Tables t;
#define AQL_VALU_TABLE(name) \
  t.add(tier == 0 ? tier0::valu_##name##_ops() : tier == 1 ? tier1::valu_##name##_ops() : tier2::valu_##name##_ops());
#include "sim/exec/valu_tables.def"
#undef AQL_VALU_TABLE
  return t;
}

// Each is built when it is first asked for: a process needs one.
template <unsigned Tier> const Tables& tables_of() {
  static const Tables t = build(Tier);
  return t;
}

const Tables& tables(unsigned tier) { return tier == 0 ? tables_of<0>() : tier == 1 ? tables_of<1>() : tables_of<2>(); }

bool is_scalar(const Operand& o) { return o.kind == OperandKind::sgpr || o.kind == OperandKind::constant; }

// Registers that must be allocated for the fast handlers.
unsigned needed(const Operand& o, unsigned rows) { return o.kind == OperandKind::vgpr ? o.index + rows : 0; }

bool default_op_sel(const Inst& inst, const ValuOp& op) {
  const auto packed = [](Ty t) { return t == Ty::pk16 || t == Ty::pkf16 || t == Ty::pk32; };
  if (inst.mod.op_sel != 0) return false;
  for (unsigned n = 0; n < op.nsrc; ++n) {
    if (packed(op.src[n]) && (inst.mod.op_sel_hi >> n & 1u) == 0) return false;
  }
  return true;
}

// Nothing but VGPRs, SGPRs and constants in, a VGPR or a mask out; neg and abs are the caller's to look at.
bool is_plain(const Inst& inst, const ValuOp& op) {
  if (inst.extra != isa::Extra::none || inst.mod.clamp || (op.flags & (kKeepHigh | kHighHalf | kReadsOldDst)) != 0) return false;
  if ((op.flags & kOwnSigns) == 0 && inst.mod.omod != 0) return false;
  if ((op.flags & kOwnSelect) == 0 && !default_op_sel(inst, op)) return false;
  for (unsigned n = 0; n < op.nsrc; ++n) {
    if (inst.src[n].kind != OperandKind::vgpr && (!is_scalar(inst.src[n]) || op.src_rows[n] > 2)) return false;
  }
  if ((op.flags & kMaskIn) != 0 && !is_scalar(inst.src[op.nsrc])) return false;
  return op.dst_rows <= 4 && (op.dst_rows == 0 || inst.dst.kind == OperandKind::vgpr);
}

} // namespace

const ValuOp* find_valu_op(isa::Op op, Arch arch, unsigned tier) {
  return tables(tier).row[static_cast<unsigned>(arch)][static_cast<std::size_t>(op)];
}

bool bind_valu_tier(Inst& inst, Arch arch, unsigned tier) {
  const ValuOp* op = find_valu_op(inst.op, arch, tier);
  if (op == nullptr) return false;
  inst.kernel = op;
  if (op->special != nullptr) {
    inst.handler = op->special;
    return true;
  }
  const isa::Modifiers& m = inst.mod;
  if ((op->flags & kOwnSelect) != 0) { // fma_mix: op_sel_hi chooses the format of a source, neg_hi is its absolute value
    inst.imm = static_cast<std::uint32_t>((m.op_sel & 7u) | (m.op_sel_hi & 7u) << 3 | (m.neg & 7u) << 6 | (m.abs & 7u) << 9);
  } else if ((op->flags & kOwnSigns) != 0) { // bitop3: the truth table
    inst.imm = static_cast<std::uint32_t>((m.omod & 3u) << 6 | (m.abs & 7u) << 3 | (m.neg & 7u));
  }
  if ((op->flags & kMaskIn) != 0 && inst.src[op->nsrc].kind == OperandKind::none) { // div_fmas: VCC without being encoded
    inst.src[op->nsrc] = Operand{OperandKind::sgpr, 2, kVccLo, 0, 0};
  }
  if ((op->flags & kMaskOut) != 0) inst.aux = static_cast<std::uint8_t>(inst.sdst.index);
  unsigned registers = needed(inst.dst, op->dst_rows);
  unsigned scalars = 0;
  for (unsigned n = 0; n < op->nsrc; ++n) {
    registers = std::max(registers, needed(inst.src[n], op->src_rows[n]));
    if (is_scalar(inst.src[n])) scalars |= 1u << n;
  }
  inst.aux16 = static_cast<std::uint16_t>(registers);
  inst.handler = tier == 0 ? tier0::valu_general : tier == 1 ? tier1::valu_general : tier2::valu_general;
  if (!is_plain(inst, *op)) return true;
  const bool signs = (op->flags & kOwnSigns) == 0 && (m.neg | m.abs) != 0;
  const Handler fused = op->fused == nullptr ? nullptr : (*op->fused)[signs ? 8 : scalars];
  if (fused != nullptr) inst.handler = fused;
  else if (!signs) inst.handler = (tier == 0 ? tier0::kValuPlain : tier == 1 ? tier1::kValuPlain : tier2::kValuPlain)[op->nsrc];
  return true;
}

bool bind_valu(Inst& inst, Arch arch) { return bind_valu_tier(inst, arch, host_tier()); }

} // namespace aql::sim
