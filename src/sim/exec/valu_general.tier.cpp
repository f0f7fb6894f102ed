// The general handler of the vector ALU: every operand kind and modifier, every MODE setting, in the order of the hardware:
//   fetch (VGPR, scalar, DPP, SDWA select) -> op_sel -> abs -> neg -> SDWA sign extension -> source denormals -> operation under
//   the MODE rounding -> result denormals -> omod -> clamp -> SDWA / 16-bit placement -> EXEC (and DPP) blend -> masks.
// And the plain handler: no modifiers, any VGPR and scalar sources, for operations without a fused handler of their own.
//
// Registers outside the wave's allocation: as a source VGPR 0 is read instead, as a destination the write is dropped.
// Assumed: a DPP source lane that EXEC disables counts as out of range; lanes that DPP does not let be written give 0 in a mask
// result.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/operand.hpp"
#include "sim/exec/tier.hpp"
#include "sim/exec/valu_dpp.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

using isa::Extra;
using isa::Operand;
using isa::OperandKind;

struct alignas(64) Rows {
  u32 row[4 * kLanes];
};

// --- fetch

alignas(64) constexpr u32 kZeroRows[kMaxValuRows * kLanes] = {};

const u32* vector_row(Wave& w, const Operand& o, unsigned rows) {
  if (o.kind == OperandKind::agpr) {
    if (o.index + rows <= w.agpr_count) return w.a(o.index).lane;
    return kZeroRows;
  }
  if (o.index + rows <= w.vgpr_count) return w.v(o.index).lane;
  return rows <= w.vgpr_count ? w.v(0).lane : kZeroRows;
}

u32* result_row(Wave& w, const Operand& o, unsigned rows) {
  if (o.kind == OperandKind::agpr) return o.index + rows <= w.agpr_count ? w.a(o.index).lane : nullptr;
  return o.index + rows <= w.vgpr_count ? w.v(o.index).lane : nullptr;
}

void copy_rows(u32* to, const u32* from, unsigned rows) {
  for (unsigned r = 0; r < rows; ++r) {
    u32* const t = to + r * kLanes;
    const u32* const f = from + r * kLanes;
    AQL_LANES t[i] = f[i];
  }
}

// --- source modifiers, in place

// SDWA: the selected byte or word moves to the bottom, zero-extended.
void select_field(u32* p, unsigned sel) {
  const u32 shift = sel < 4 ? 8 * sel : sel < 6 ? 16 * (sel - 4) : 0;
  const u32 mask = sel < 4 ? 0xffu : sel < 6 ? 0xffffu : ~0u;
  AQL_LANES p[i] = (p[i] >> shift) & mask;
}
void sign_extend(u32* p, unsigned sel) {
  const u32 shift = sel < 4 ? 24 : sel < 6 ? 16 : 0;
  AQL_LANES p[i] = static_cast<u32>(static_cast<i32>(p[i] << shift) >> shift);
}

void and_xor(u32* p, u32 keep, u32 flip) {
  AQL_LANES p[i] = (p[i] & keep) ^ flip;
}

// abs and neg of a float source; integers have none. Assumed: outside VOP3P, those of a packed source act on both halves.
void sign_modifiers(u32* p, Ty ty, bool abs, bool neg) {
  if (!abs && !neg) return;
  const u32 sign = ty == Ty::pkf16 ? 0x80008000u : ty == Ty::f16 ? 0x8000u : 0x80000000u;
  if (ty == Ty::f32 || ty == Ty::f16 || ty == Ty::pkf16) and_xor(p, abs ? ~sign : ~0u, neg ? sign : 0u);
  if (ty == Ty::f64) and_xor(p + kLanes, abs ? ~sign : ~0u, neg ? sign : 0u);
}

// Denormals become zeros of their sign.
void flush_denormals(u32* p, Ty ty) {
  switch (ty) {
  case Ty::f32:
    AQL_LANES p[i] = (p[i] & 0x7f800000u) == 0 ? p[i] & 0x80000000u : p[i];
    break;
  case Ty::pk32:
    flush_denormals(p, Ty::f32);
    flush_denormals(p + kLanes, Ty::f32);
    break;
  case Ty::f64: {
    u32* const hi = p + kLanes;
    AQL_LANES {
      const bool tiny = (hi[i] & 0x7ff00000u) == 0;
      p[i] = tiny ? 0u : p[i];
      hi[i] = tiny ? hi[i] & 0x80000000u : hi[i];
    }
    break;
  }
  case Ty::f16:
  case Ty::pkf16:
    AQL_LANES {
      const u32 v = p[i];
      const u32 lo = (v & 0x7c00u) == 0 ? v & 0x8000u : v & 0xffffu;
      const u32 hi = (v & 0x7c000000u) == 0 ? v & 0x80000000u : v & 0xffff0000u;
      p[i] = lo | hi;
    }
    break;
  default: break;
  }
}

u32 packed_half(u32 v, bool high, bool neg) { return ((high ? v >> 16 : v & 0xffffu) ^ (neg ? 0x8000u : 0u)); }

void packed_select(u32* p, const u32* from, const isa::Modifiers& m, unsigned n, Ty ty) {
  const bool lo_high = (m.op_sel >> n & 1u) != 0, hi_high = (m.op_sel_hi >> n & 1u) != 0;
  if (ty == Ty::pk32) {
    const u32* const lo = from + (lo_high ? kLanes : 0);
    const u32* const hi = from + (hi_high ? kLanes : 0);
    const u32 neg_lo = (m.neg >> n & 1u) << 31, neg_hi = (m.abs >> n & 1u) << 31;
    AQL_LANES {
      const u32 l = lo[i] ^ neg_lo, h = hi[i] ^ neg_hi;
      p[i] = l;
      p[kLanes + i] = h;
    }
    return;
  }
  const bool neg_lo = ty == Ty::pkf16 && (m.neg >> n & 1u) != 0, neg_hi = ty == Ty::pkf16 && (m.abs >> n & 1u) != 0;
  AQL_LANES p[i] = packed_half(from[i], lo_high, neg_lo) | packed_half(from[i], hi_high, neg_hi) << 16;
}

bool keeps_denormals(Mode mode, Ty ty, unsigned which) { // which: 1 sources, 2 results
  const unsigned field = ty == Ty::f32 || ty == Ty::pk32 ? mode.denorm32() : mode.denorm16_64();
  return (field & which) != 0;
}

// Source n as the operation sees it: rows that stay valid while `own` lives, or the register itself if nothing changes it.
const u32* source_rows(Wave& w, const Inst& in, const ValuOp& op, const isa::Modifiers& m, unsigned n, Rows& own, const isa::DppPattern* dpp) {
  const Operand& o = in.src[n];
  const Ty ty = op.src[n];
  const unsigned rows = op.src_rows[n];
  const u32* p = own.row;
  if (rows > 4 && o.kind != OperandKind::vgpr) return kZeroRows; // no encoding of the assembler's
  const bool tied = (op.flags & kReadsDst) != 0 && n + 1u == op.nsrc;
  switch (o.kind) {
  case OperandKind::vgpr:
  case OperandKind::agpr: p = vector_row(w, o, rows); break;
  case OperandKind::special:
    broadcast(own.row, read_special(w, o.index), rows < 2 ? rows : 2);
    for (unsigned r = 2; r < rows; ++r) broadcast(own.row + r * kLanes, 0, 1);
    break;
  case OperandKind::none: broadcast(own.row, 0, rows); break;
  default:
    broadcast(own.row, scalar_source(w, o, rows), rows < 2 ? rows : 2);
    // Wider than a pair: no encoding of the assembler's, but the decoder may let one through.
    for (unsigned r = 2; r < rows; r += 1) broadcast(own.row + r * kLanes, o.kind == OperandKind::sgpr ? w.sgpr[(o.index + r) & 127u] : 0, 1);
    break;
  }
  if (ty == Ty::words) return p; // no modifiers exist for these
  if (dpp != nullptr && n == 0) {
    for (unsigned r = 0; r < rows; ++r) isa::dpp_permute(own.row + r * kLanes, p + r * kLanes, *dpp, w.exec());
    p = own.row;
  }
  const auto ours = [&] {
    if (p != own.row) copy_rows(own.row, p, rows);
    p = own.row;
  };
  const bool flush = (op.flags & kFlushAlways) != 0 ||
                     ((op.flags & (kRawFloat | kKeepSourceDenorm)) == 0 && !keeps_denormals(w.mode, ty, 1));
  const bool is_float = ty == Ty::f16 || ty == Ty::f32 || ty == Ty::f64 || ty == Ty::pk32 || ty == Ty::pkf16;
  if (in.format == isa::Format::vop3p && (ty == Ty::pk16 || ty == Ty::pkf16 || ty == Ty::pk32)) {
    packed_select(own.row, p, m, n, ty);
    p = own.row;
  } else {
    const unsigned sel = n == 0 ? in.sdwa.src0_sel : in.sdwa.src1_sel;
    const bool sdwa = in.extra == Extra::sdwa && n < 2 && !tied && sel < 6;
    const bool sext = sdwa && (n == 0 ? in.sdwa.src0_sext : in.sdwa.src1_sext);
    const bool abs = (m.abs >> n & 1u) != 0, neg = (m.neg >> n & 1u) != 0;
    const bool high = (ty == Ty::x16 || ty == Ty::f16) && (m.op_sel >> n & 1u) != 0;
    if (sdwa) {
      ours();
      select_field(own.row, sel);
    }
    if (high) {
      ours();
      select_field(own.row, 5);
    }
    if (is_float && (abs || neg)) {
      ours();
      sign_modifiers(own.row, ty, abs, neg);
    }
    if (sext) sign_extend(own.row, sel);
  }
  if (is_float && flush) {
    ours();
    flush_denormals(own.row, ty);
  }
  return p;
}

// --- result modifiers, in place

// omod: *2, *4, /2 on the rounded result, by its exponent; only where MODE flushes result denormals and IEEE is off. Zeros and what
// would be denormal become +0, infinities and NaNs stay as they are.
// Assumed: the sign of a result that becomes denormal only here, and that overflow gives infinity in every rounding mode.
template <unsigned Mantissa, u32 Top> AQL_INLINE u32 exponent_moved(u32 v, u32 sign_bit, u32 to) { // of the (high) dword
  const u32 exponent = (v >> Mantissa) & Top, e = exponent + to;
  const u32 moved = e >= Top ? (v & sign_bit) | Top << Mantissa : (v & ~(Top << Mantissa)) | e << Mantissa; // overflow: infinity
  return exponent == Top ? v : exponent == 0 || e == 0 ? 0 : moved;
}
void output_multiply(u32* p, Ty ty, unsigned omod) {
  const u32 to = omod == 3 ? ~0u : omod;
  switch (ty) {
  case Ty::f16:
    AQL_LANES p[i] = exponent_moved<10, 31>(p[i] & 0xffffu, 0x8000u, to);
    break;
  case Ty::pk32:
  case Ty::f32:
    for (unsigned r = 0; r < (ty == Ty::pk32 ? 2u : 1u); ++r) {
      u32* const q = p + r * kLanes;
      AQL_LANES q[i] = exponent_moved<23, 255>(q[i], 0x80000000u, to);
    }
    break;
  case Ty::f64: {
    u32* const hi = p + kLanes;
    AQL_LANES {
      const u32 old = hi[i], now = exponent_moved<20, 2047>(old, 0x80000000u, to);
      const bool number = (old & 0x7ff00000u) != 0x7ff00000u, leaves = (now & 0x7ff00000u) == 0x7ff00000u || (now & 0x7ff00000u) == 0;
      p[i] = number && leaves ? 0 : p[i];
      hi[i] = now;
    }
    break;
  }
  default: break;
  }
}

// Clamp to [0, 1]; a NaN becomes 0 under DX10_CLAMP.
void clamp_float(u32* p, Ty ty, bool nan_to_zero) {
  switch (ty) {
  case Ty::f64:
    AQL_LANES {
      const f64 v = Lane<f64>::get(p, i);
      const f64 c = v < 0.0 ? 0.0 : v > 1.0 ? 1.0 : v;
      Lane<f64>::put(p, i, nan_to_zero && v != v ? 0.0 : c);
    }
    break;
  case Ty::f32:
    AQL_LANES {
      const f32 v = as_f32(p[i]);
      const f32 c = v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
      p[i] = nan_to_zero && v != v ? 0u : as_u32(c);
    }
    break;
  case Ty::pk32:
    clamp_float(p, Ty::f32, nan_to_zero);
    clamp_float(p + kLanes, Ty::f32, nan_to_zero);
    break;
  case Ty::f16:
  case Ty::pkf16:
    AQL_LANES {
      u32 out = 0;
      for (u32 s = 0; s < 32; s += 16) {
        const u32 h = (p[i] >> s) & 0xffffu;
        const bool nan = (h & 0x7fffu) > 0x7c00u;
        const u32 c = nan ? (nan_to_zero ? 0u : h) : h > 0x8000u ? 0u : h != 0x8000u && h > 0x3c00u ? 0x3c00u : h;
        out |= c << s;
      }
      p[i] = out;
    }
    break;
  default: break;
  }
}

void finish_float(const Wave& w, const isa::Modifiers& m, const ValuOp& op, u32* p) {
  if ((op.flags & kRawFloat) != 0) return; // moves: neither omod nor clamp
  const bool is_float = op.dst == Ty::f16 || op.dst == Ty::f32 || op.dst == Ty::f64 || op.dst == Ty::pk32 || op.dst == Ty::pkf16;
  if (!is_float) return;
  const bool keep = keeps_denormals(w.mode, op.dst, 2);
  if ((op.flags & kFlushAlways) != 0 || (!keep && (op.flags & kKeepResultDenorm) == 0)) flush_denormals(p, op.dst);
  if (m.omod != 0 && !keep && !w.mode.ieee() && (op.flags & kNoOmod) == 0) {
    output_multiply(p, op.dst, m.omod);
  }
  if (m.clamp) clamp_float(p, op.dst, w.mode.dx10_clamp());
}

// SDWA: the low bits of the result go to the selected field; the rest is zero, the field's sign, or the old register.
void place_sdwa(u32* p, const u32* old, unsigned sel, unsigned unused) {
  if (sel >= 6) return;
  const u32 width = sel < 4 ? 8 : 16, shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
  const u32 low = (1u << width) - 1u, field = low << shift;
  if (unused == 2) {
    AQL_LANES p[i] = (old[i] & ~field) | (p[i] & low) << shift;
  } else if (unused == 1) { // sign above the field, zero below
    const u32 above = 32 - width;
    AQL_LANES p[i] = static_cast<u32>(static_cast<i32>(p[i] << above) >> above) << shift;
  } else {
    AQL_LANES p[i] = (p[i] & low) << shift;
  }
}

// 16-bit result in the low half, or in the high half with op_sel[3]; the other half is kept or becomes 0.
void place_half(u32* p, const u32* old, bool high, bool keep) {
  if (high) {
    AQL_LANES p[i] = (old[i] & 0xffffu) | p[i] << 16;
  } else if (keep) {
    AQL_LANES p[i] = (old[i] & 0xffff0000u) | (p[i] & 0xffffu);
  } else {
    AQL_LANES p[i] = p[i] & 0xffffu;
  }
}

constexpr unsigned kCsrRound[4] = {0, 2u << 13, 1u << 13, 3u << 13}; // MODE 0 nearest, 1 up, 2 down, 3 zero -> MXCSR RC

unsigned round_field(const Wave& w, const ValuOp& op) {
  if ((op.flags & kRoundNearest) != 0) return 0;
  const Ty by = (op.flags & kRoundBySource) != 0 ? op.src[0] : op.dst;
  if (by == Ty::f32 || by == Ty::pk32) return w.mode.round32();
  if (by == Ty::f64 || by == Ty::f16 || by == Ty::pkf16) return w.mode.round16_64();
  return 0;
}

void run_rounded(const ValuOp& op, LaneKernel kernel, const Wave& w, LaneIo& io) {
  const unsigned round = round_field(w, op);
  if (round == 0) return kernel(io);
  const unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | kCsrRound[round]);
  kernel(io);
  _mm_setcsr(saved);
}

} // namespace

Next valu_general(Wave& w, const Inst& in) {
  const ValuOp& op = *static_cast<const ValuOp*>(in.kernel);
  const bool is_dpp = in.extra == Extra::dpp;
  const isa::DppPattern* dpp = is_dpp ? &isa::dpp_pattern(in.dpp.ctrl) : nullptr;
  u64 lanes_on = w.exec();
  if (is_dpp) lanes_on &= isa::dpp_write_lanes(in.dpp, *dpp, w.exec());

  isa::Modifiers m = in.mod;
  if ((op.flags & kOwnSigns) != 0) m.neg = m.abs = m.omod = 0;
  if ((op.flags & kOwnSelect) != 0) m.op_sel = m.op_sel_hi = 0;
  if ((op.flags & kHighHalf) != 0) m.op_sel = 8;

  Rows own[3];
  alignas(64) u32 out[kMaxValuRows * kLanes];
  LaneIo io;
  io.dst = out;
  io.mode = w.mode;
  if ((op.flags & kRoundNearest) != 0) io.mode.bits &= ~0xfu;
  io.imm = in.imm;
  io.op_sel = in.mod.op_sel;
  for (unsigned n = 0; n < op.nsrc; ++n) io.src[n] = source_rows(w, in, op, m, n, own[n], dpp);
  if ((op.flags & kMaskIn) != 0) {
    const Operand& o = in.src[op.nsrc];
    io.mask = o.kind == OperandKind::special ? read_special(w, o.index) : mask_source(w, o);
  }

  u32* const dst = op.dst_rows == 0 ? nullptr : result_row(w, in.dst, op.dst_rows);
  if ((op.flags & kReadsOldDst) != 0) copy_rows(out, dst != nullptr ? dst : kZeroRows, op.dst_rows);
  run_rounded(op, m.clamp && op.clamped != nullptr ? op.clamped : op.kernel, w, io);

  if (dst != nullptr) {
    finish_float(w, m, op, out);
    if (op.dst == Ty::x16 || op.dst == Ty::f16) place_half(out, dst, (m.op_sel & 8u) != 0, (op.flags & kKeepHigh) != 0);
    if (in.extra == Extra::sdwa) place_sdwa(out, dst, in.sdwa.dst_sel, in.sdwa.dst_unused);
    for (unsigned r = 0; r < op.dst_rows; ++r) blend_row(dst + r * kLanes, out + r * kLanes, lanes_on);
  }
  if ((op.flags & kMaskOut) != 0) {
    const u64 result = io.result & lanes_on;
    w.set_sgpr64(in.aux, result);
    if ((op.flags & kCmpx) != 0) w.set_exec(result);
  }
  return Next::fallthrough;
}

namespace {

template <unsigned N> Next plain(Wave& w, const Inst& in) {
  const ValuOp& op = *static_cast<const ValuOp*>(in.kernel);
  if (!fast_ok(w, in, op.mode_mask, op.mode_want)) [[unlikely]] return valu_general(w, in);
  alignas(64) u32 scalar[N == 0 ? 1 : N][2 * kLanes];
  LaneIo io;
  io.mode = w.mode;
  io.imm = in.imm;
  for (unsigned n = 0; n < N; ++n) {
    if (in.src[n].kind == OperandKind::vgpr) {
      io.src[n] = w.vgpr[in.src[n].index].lane;
    } else {
      broadcast(scalar[n], scalar_source(w, in.src[n], op.src_rows[n]), op.src_rows[n]);
      io.src[n] = scalar[n];
    }
  }
  if ((op.flags & kMaskIn) != 0) io.mask = mask_source(w, in.src[N]);
  const u64 exec = w.exec();
  if (op.dst_rows != 0) {
    u32* const dst = w.vgpr[in.dst.index].lane;
    if (exec == ~u64{0}) [[likely]] {
      io.dst = dst;
      op.kernel(io);
    } else {
      alignas(64) u32 out[4 * kLanes];
      io.dst = out;
      op.kernel(io);
      for (unsigned r = 0; r < op.dst_rows; ++r) blend_row(dst + r * kLanes, out + r * kLanes, exec);
    }
  } else {
    op.kernel(io);
  }
  if ((op.flags & kMaskOut) != 0) {
    const u64 result = io.result & exec;
    w.set_sgpr64(in.aux, result);
    if ((op.flags & kCmpx) != 0) w.set_exec(result);
  }
  return Next::fallthrough;
}

} // namespace

const Handler kValuPlain[4] = {&plain<0>, &plain<1>, &plain<2>, &plain<3>};

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
