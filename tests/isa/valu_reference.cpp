// Operands, modifiers and results of the reference; the operations are in valu_reference_ops*.cpp.

#include "valu_reference.hpp"

#include <algorithm>
#include <optional>

#include "sim/isa/op_info.hpp"
#include "valu_exact.hpp"

namespace aql::test {
namespace {

using sim::isa::Elem;
using sim::isa::Extra;
using sim::isa::Operand;
using sim::isa::OperandKind;
using sim::isa::OperandSpec;

constexpr std::uint64_t kSign32 = 0x80000000u, kSign64 = std::uint64_t{1} << 63;

// Where lane n's first source comes from; empty: out of range.
std::optional<unsigned> dpp_source(unsigned ctrl, unsigned n) {
  const unsigned count = ctrl & 15u, row = n & 0x30u, in_row = n & 15u;
  if (ctrl < 0x100) return (n & 0x3cu) + ((ctrl >> ((n % 4) * 2)) & 3u);
  switch (ctrl & 0x1f0u) {
  case 0x100: return in_row < 16 - count ? std::optional(n + count) : std::nullopt;
  case 0x110: return in_row >= count ? std::optional(n - count) : std::nullopt;
  case 0x120: return in_row >= count ? n - count : n + 16 - count;
  case 0x150: return row + count;
  default: break;
  }
  switch (ctrl) {
  case 0x130: return n < 63 ? std::optional(n + 1) : std::nullopt;
  case 0x134: return n < 63 ? n + 1 : 0;
  case 0x138: return n > 0 ? std::optional(n - 1) : std::nullopt;
  case 0x13c: return n > 0 ? n - 1 : 63;
  case 0x140: return row + 15 - in_row;
  case 0x141: return (n & 0x38u) + 7 - (n & 7u);
  case 0x142: return n > 15 ? row - 1 : n;
  case 0x143: return n > 31 ? 31 : n;
  default: return n;
  }
}

bool is_float(Elem e) { return e == Elem::f16 || e == Elem::f32 || e == Elem::f64; }
bool is_signed(Elem e) { return e == Elem::i8 || e == Elem::i16 || e == Elem::i32 || e == Elem::i64; }

std::uint64_t flush(std::uint64_t v, Elem e) {
  switch (e) {
  case Elem::f16: return (v & 0x7c00u) == 0 ? v & 0x8000u : v;
  case Elem::f32: return (v & 0x7f800000u) == 0 ? v & kSign32 : v;
  case Elem::f64: return (v & 0x7ff0000000000000u) == 0 ? v & kSign64 : v;
  default: return v;
  }
}

// MODE: bit 0 of the field keeps source denormals, bit 1 result denormals.
bool keeps(sim::Mode mode, Elem e, unsigned bit) {
  const unsigned field = e == Elem::f32 ? (mode.bits >> 4) & 3u : (mode.bits >> 6) & 3u;
  return ((field >> bit) & 1u) != 0;
}

class Instruction {
public:
  Instruction(const sim::Inst& inst, const RefState& before, RefOp op) : in_(inst), info_(*inst.info), before_(before), op_(op) {}

  void run(RefState& after) {
    const std::uint64_t exec = before_.pair(sim::kExecLo);
    std::uint64_t mask = 0;
    const bool writes_mask = info_.mask_dst() != nullptr;
    for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
      lane_ = lane;
      if (((exec >> lane) & 1u) == 0 || !written_by_dpp(exec)) continue;
      RefIn in;
      in.lane = lane;
      in.mode = before_.mode;
      in.clamp = in_.mod.clamp;
      if ((op_.flags & kRefTable) != 0) in.table = static_cast<std::uint32_t>(in_.mod.omod << 6 | in_.mod.abs << 3 | in_.mod.neg);
      unsigned n = 0;
      for (; n < 3 && info_.src[n].used() && info_.src[n].elem != Elem::mask; ++n) source(n, in);
      if (n < 4 && info_.src[n].elem == Elem::mask) in.bit = ((scalar(in_.src[n], true) >> lane) & 1u) != 0;
      else if (info_.mnemonic.starts_with("v_div_fmas")) in.bit = ((before_.pair(sim::kVccLo) >> lane) & 1u) != 0;
      RefOut out;
      if (packed32()) packed(in, out);
      else op_.run(in, out);
      if (out.bit) mask |= std::uint64_t{1} << lane;
      if (info_.dst[0].elem != Elem::mask) result(out, after);
    }
    if (writes_mask) {
      after.set_pair(in_.sdst.index, mask);
      if (info_.mnemonic.starts_with("v_cmpx")) after.set_pair(sim::kExecLo, mask);
    }
  }

private:
  bool written_by_dpp(std::uint64_t exec) const {
    if (in_.extra != Extra::dpp) return true;
    if (((in_.dpp.row_mask >> (lane_ / 16)) & 1u) == 0 || ((in_.dpp.bank_mask >> (lane_ / 4 % 4)) & 1u) == 0) return false;
    const auto from = dpp_source(in_.dpp.ctrl, lane_);
    return in_.dpp.bound_ctrl || (from && ((exec >> *from) & 1u) != 0);
  }

  std::uint32_t vector(const Operand& o, unsigned row, unsigned width, unsigned lane) const {
    const auto& file = o.kind == OperandKind::agpr ? before_.agpr : before_.vgpr;
    const unsigned base = o.index + width <= file.size() ? o.index : 0; // outside the allocation: v0
    return file[base + row].lane[lane];
  }

  std::uint64_t scalar(const Operand& o, bool wide) const {
    switch (o.kind) {
    case OperandKind::sgpr: return wide ? before_.pair(o.index) : before_.sgpr[o.index];
    case OperandKind::constant: return o.value | std::uint64_t{o.value_hi} << 32;
    case OperandKind::special: break;
    default: return 0;
    }
    std::uint64_t v = 0;
    switch (o.index) {
    case 235: v = before_.shared_aperture; break;
    case 236: v = before_.shared_aperture + 0xffffffffu; break;
    case 237: v = before_.private_aperture; break;
    case 238: v = before_.private_aperture + 0xffffffffu; break;
    case 251: v = before_.pair(sim::kVccLo) == 0; break;
    case 252: v = before_.pair(sim::kExecLo) == 0; break;
    case 253: v = before_.scc; break;
    default: break;
    }
    return wide ? v : v & 0xffffffffu;
  }

  void source(unsigned n, RefIn& in) const {
    const Operand& o = in_.src[n];
    const OperandSpec& spec = info_.src[n];
    const unsigned width = spec.dwords();
    const bool in_register = o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr;
    unsigned lane = lane_;
    bool zero = false;
    if (in_.extra == Extra::dpp && n == 0) {
      const auto from = dpp_source(in_.dpp.ctrl, lane_);
      zero = !from || ((before_.pair(sim::kExecLo) >> *from) & 1u) == 0;
      if (!zero) lane = *from;
    }
    if (width > 2) {
      for (unsigned r = 0; r < 4; ++r) in.quad[r] = vector(o, r, width, lane);
      return;
    }
    std::uint64_t v = 0;
    if (!in_register) v = scalar(o, width == 2);
    else if (!zero) {
      v = vector(o, 0, width, lane);
      if (width == 2) v |= std::uint64_t{vector(o, 1, width, lane)} << 32;
    }
    in.s[n] = packed32() ? v : modified(v, n, spec);
  }

  // Two f32 operations: op_sel picks the registers of the low one, op_sel_hi those of the high one; neg (neg_lo) and abs (neg_hi)
  // negate them.
  void packed(const RefIn& in, RefOut& out) const {
    const sim::isa::Modifiers& m = in_.mod;
    for (unsigned half = 0; half < 2; ++half) {
      RefIn one = in;
      for (unsigned n = 0; n < 3; ++n) {
        const unsigned high = ((half == 0 ? m.op_sel : m.op_sel_hi) >> n) & 1u, negate = ((half == 0 ? m.neg : m.abs) >> n) & 1u;
        std::uint64_t v = high != 0 ? in.s[n] >> 32 : in.s[n] & 0xffffffffu;
        if (negate != 0) v ^= kSign32;
        one.s[n] = keeps(before_.mode, Elem::f32, 0) ? v : flush(v, Elem::f32);
      }
      RefOut r;
      op_.run(one, r);
      out.d |= r.d << (32 * half);
    }
  }

  bool packed32() const { return info_.dst[0].count == 2 && info_.dst[0].elem == Elem::f32; }

  std::uint64_t modified(std::uint64_t v, unsigned n, const OperandSpec& spec) const {
    const sim::isa::Modifiers& m = in_.mod;
    // Moves and selects are untyped in the table, but take float modifiers.
    Elem e = spec.elem;
    if ((op_.flags & kRefRaw) != 0 && e == Elem::b32 && n < 2 && !info_.mnemonic.starts_with("v_cmp")) e = Elem::f32;
    if ((op_.flags & kRefRaw) != 0 && e == Elem::b64) e = Elem::f64;
    const bool tied = spec.role == sim::isa::Role::tied;
    unsigned sext_bits = 0;
    if (in_.extra == Extra::sdwa && n < 2 && !tied) {
      const unsigned sel = n == 0 ? in_.sdwa.src0_sel : in_.sdwa.src1_sel;
      const bool sext = n == 0 ? in_.sdwa.src0_sext : in_.sdwa.src1_sext;
      if (sel < 4) v = (v >> (8 * sel)) & 0xffu;
      else if (sel < 6) v = (v >> (16 * (sel - 4))) & 0xffffu;
      if (sext && sel < 6) sext_bits = sel < 4 ? 8 : 16;
    }
    if (bits_of(spec.elem) == 16 && spec.count == 1 && ((m.op_sel >> n) & 1u) != 0) v >>= 16;
    if (is_float(e) && (op_.flags & kRefTable) == 0) {
      const std::uint64_t sign = e == Elem::f16 ? 0x8000u : e == Elem::f32 ? kSign32 : kSign64;
      if (((m.abs >> n) & 1u) != 0) v &= ~sign;
      if (((m.neg >> n) & 1u) != 0) v ^= sign;
    }
    if (sext_bits != 0) {
      const std::uint64_t top = std::uint64_t{1} << (sext_bits - 1);
      v &= (top << 1) - 1;
      if ((v & top) != 0) v |= 0xffffffffu & ~((top << 1) - 1);
    }
    if (is_float(spec.elem)) {
      const bool raw = (op_.flags & (kRefRaw | kRefKeepSources)) != 0;
      if ((op_.flags & kRefFlushAlways) != 0 || (!raw && !keeps(before_.mode, spec.elem, 0))) v = flush(v, spec.elem);
    }
    if (bits_of(spec.elem) * spec.count == 16) v &= 0xffffu;
    if (spec.dwords() == 1) v &= 0xffffffffu;
    return v;
  }

  // -0 and denormals become +0; half of a number below twice the smallest normal is denormal, however it would round.
  static std::uint64_t multiplied(std::uint64_t v, Elem e, unsigned omod) {
    const int by = omod == 3 ? -1 : static_cast<int>(omod);
    if (e == Elem::f32) {
      const std::uint64_t field = v >> 23 & 255u;
      if (field == 255) return v;
      if (field == 0 || (field == 1 && by < 0)) return 0;
      return Exact::of_f32(static_cast<std::uint32_t>(v)).scaled(by).to_f32(Rounding::nearest_even);
    }
    const std::uint64_t field = v >> 52 & 2047u;
    if (field == 2047) return v;
    if (field == 0 || (field == 1 && by < 0)) return 0;
    return Exact::of_f64(v).scaled(by).to_f64(Rounding::nearest_even);
  }

  std::uint64_t clamped(std::uint64_t v, Elem e) const {
    const std::uint64_t sign = e == Elem::f32 ? kSign32 : kSign64, infinity = e == Elem::f32 ? 0x7f800000u : 0x7ff0000000000000u;
    const std::uint64_t one = e == Elem::f32 ? 0x3f800000u : 0x3ff0000000000000u;
    if ((v & ~sign) > infinity) return before_.mode.dx10_clamp() ? 0 : v;
    if ((v & sign) != 0) return v == sign ? v : 0;
    return v > one ? one : v;
  }

  std::uint64_t float_result(std::uint64_t v, Elem e) const {
    if ((op_.flags & kRefRaw) != 0) return v;
    const bool keep = (op_.flags & kRefFlushAlways) == 0 && keeps(before_.mode, e, 1);
    if (!keep) v = flush(v, e);
    // The mode decides about omod, whatever the instruction forces.
    const unsigned omod = (op_.flags & kRefTable) != 0 ? 0 : in_.mod.omod;
    if (omod != 0 && !keeps(before_.mode, e, 1) && !before_.mode.ieee()) v = multiplied(v, e, omod);
    return in_.mod.clamp ? clamped(v, e) : v;
  }

  void result(const RefOut& out, RefState& after) {
    const OperandSpec& spec = info_.dst[0];
    const unsigned width = spec.dwords();
    auto& file = in_.dst.kind == OperandKind::agpr ? after.agpr : after.vgpr;
    if (in_.dst.index + width > file.size()) return;
    const auto put = [&](unsigned row, std::uint32_t v) { file[in_.dst.index + row].lane[lane_] = v; };
    if (width == 4) {
      for (unsigned r = 0; r < 4; ++r) put(r, out.quad[r]);
      return;
    }
    std::uint64_t v = out.d;
    if (out.saturates) v = cut(out.exact, spec);
    if (packed32()) {
      const std::uint64_t lo = float_result(v & 0xffffffffu, Elem::f32), hi = float_result(v >> 32, Elem::f32);
      v = lo | hi << 32;
    } else if (is_float(spec.elem)) {
      v = float_result(v, spec.elem);
    }
    const std::uint32_t old = file[in_.dst.index].lane[lane_];
    if (bits_of(spec.elem) * spec.count == 16) {
      const auto half = static_cast<std::uint32_t>(v & 0xffffu);
      if ((in_.mod.op_sel & 8u) != 0) v = (old & 0xffffu) | half << 16;
      else v = (op_.flags & kRefKeepHigh) != 0 ? (old & 0xffff0000u) | half : half;
    }
    if (in_.extra == Extra::sdwa) v = placed(static_cast<std::uint32_t>(v), old);
    put(0, static_cast<std::uint32_t>(v));
    if (width == 2) put(1, static_cast<std::uint32_t>(v >> 32));
  }

  // A saturating result: cut to the type, or with clamp to the nearest value of the type.
  std::uint64_t cut(Wide exact, const OperandSpec& spec) const {
    const unsigned bits = bits_of(spec.elem);
    if (in_.mod.clamp) {
      const Wide one = 1;
      const Wide low = is_signed(spec.elem) ? -(one << (bits - 1)) : 0;
      const Wide high = is_signed(spec.elem) ? (one << (bits - 1)) - 1 : (one << bits) - 1;
      exact = std::clamp(exact, low, high);
    }
    const auto v = static_cast<std::uint64_t>(exact);
    return bits == 64 ? v : v & ((std::uint64_t{1} << bits) - 1);
  }

  std::uint32_t placed(std::uint32_t v, std::uint32_t old) const {
    const unsigned sel = in_.sdwa.dst_sel;
    if (sel >= 6) return v;
    const unsigned bits = sel < 4 ? 8 : 16, at = sel < 4 ? 8 * sel : 16 * (sel - 4);
    const std::uint32_t low = v & ((1u << bits) - 1), field = ((1u << bits) - 1) << at;
    switch (in_.sdwa.dst_unused) {
    case 2: return (old & ~field) | low << at;
    case 1: { // sign above, zero below
      const bool negative = ((v >> (bits - 1)) & 1u) != 0;
      const std::uint32_t above = at + bits == 32 ? 0 : ~0u << (at + bits);
      return low << at | (negative ? above : 0);
    }
    default: return low << at;
    }
  }

  const sim::Inst& in_;
  const sim::isa::OpInfo& info_;
  const RefState& before_;
  RefOp op_;
  unsigned lane_ = 0;
};

} // namespace

bool run_reference(const sim::Inst& inst, RefState& state) {
  const RefOp op = find_reference(inst.info->mnemonic);
  if (op.run == nullptr) return false;
  const RefState before = state;
  Instruction(inst, before, op).run(state);
  return true;
}

} // namespace aql::test
