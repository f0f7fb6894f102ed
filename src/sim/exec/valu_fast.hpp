// Fast handlers of the vector ALU: handler and lane loop in one function, for operations listed with AQL_VALU_HOT.
// Included after valu_lane.hpp, in the same way.
//
// They apply when bind_valu found no modifier, no DPP or SDWA, and only VGPRs, SGPRs and constants as sources; at run time
// the MODE fields that matter must be the plain ones (round to nearest even, denormals kept) and the
// registers must be inside the wave's allocation. Otherwise the general handler does the instruction.
//
// Inst fields set by bind_valu: aux16 = number of ArchVGPRs the instruction needs; aux = SGPR pair of the mask result;
// sdst = the mask result; imm as the operation wants it; kernel = the ValuOp.

// Only VGPR 0 upwards, inside the allocation: what the fast path may touch.
AQL_INLINE bool fast_ok(const Wave& w, const Inst& in, u32 mask, u32 want) {
  return (w.mode.bits & mask) == want && in.aux16 <= w.vgpr_count;
}

AQL_INLINE u64 scalar_source(const Wave& w, const isa::Operand& o, unsigned rows) {
  if (o.kind == isa::OperandKind::constant) return o.value | static_cast<u64>(o.value_hi) << 32;
  const unsigned at = o.index & 127u;
  u64 v = w.sgpr[at];
  if (rows == 2) v |= static_cast<u64>(w.sgpr[(at + 1u) & 127u]) << 32;
  return v;
}

AQL_INLINE u64 mask_source(const Wave& w, const isa::Operand& o) { return scalar_source(w, o, 2); }

AQL_INLINE void broadcast(u32* p, u64 v, unsigned rows) {
  const u32 lo = static_cast<u32>(v), hi = static_cast<u32>(v >> 32);
  AQL_LANES p[i] = lo;
  if (rows == 2) {
    u32* const q = p + kLanes;
    AQL_LANES q[i] = hi;
  }
}

template <class Op, u32 Flags, unsigned S> static Next fused(Wave& w, const Inst& in) {
  constexpr ValuOp row = make_op<Op>(isa::Op{}, Flags);
  if (!fast_ok(w, in, row.mode_mask, row.mode_want)) [[unlikely]] return valu_general(w, in);
  Sources src{};
  [[maybe_unused]] alignas(64) u32 spread[S == kSignMasks ? 3 : 1][kLanes];
  for (unsigned i = 0; i < row.nsrc; ++i) {
    if constexpr (S == kSignMasks) {
      if (in.src[i].kind == isa::OperandKind::vgpr) {
        src.row[i] = w.vgpr[in.src[i].index].lane;
      } else {
        broadcast(spread[i], scalar_source(w, in.src[i], 1), 1);
        src.row[i] = spread[i];
      }
      src.keep[i] = (in.mod.abs >> i & 1u) != 0 ? 0x7fffffffu : ~0u;
      src.flip[i] = static_cast<u32>(in.mod.neg >> i & 1u) << 31;
    } else if ((S >> i & 1u) != 0) {
      src.scalar[i] = scalar_source(w, in.src[i], row.src_rows[i]);
    } else {
      src.row[i] = w.vgpr[in.src[i].index].lane;
    }
  }
  LaneIo io;
  if constexpr ((row.flags & kMaskIn) != 0) io.mask = mask_source(w, in.src[row.nsrc]);
  if constexpr ((row.flags & kArgIsMode) != 0) {
    io.mode = w.mode;
    io.imm = in.imm;
  }
  const u64 exec = w.exec();
  u32* const dst = w.vgpr[in.dst.index].lane;
  if constexpr (__is_base_of(FirstNan, Op)) {
    io.dst = dst;
    run_signature<Op, &Op::apply, S>(io, src, &Op::apply, exec);
  } else if (exec == ~u64{0}) [[likely]] {
    io.dst = dst;
    run_signature<Op, &Op::apply, S>(io, src, &Op::apply);
  } else {
    alignas(64) u32 out[row.dst_rows * kLanes];
    io.dst = out;
    run_signature<Op, &Op::apply, S>(io, src, &Op::apply);
    for (unsigned r = 0; r < row.dst_rows; ++r) blend_row(dst + r * kLanes, out + r * kLanes, exec);
  }
  if constexpr ((row.flags & kMaskOut) != 0) w.set_sgpr64(in.aux, io.result & exec);
  return Next::fallthrough;
}

// Fused handlers exist for no or one scalar source, and for f32 sources with neg and abs; what they lack the plain and the
// general handler do.
template <class Op, u32 Flags> consteval FusedHandlers fused_handlers() {
  constexpr ValuOp row = make_op<Op>(isa::Op{}, Flags);
  FusedHandlers all{};
  all[0] = &fused<Op, Flags, 0>;
  all[1] = &fused<Op, Flags, 1>;
  if constexpr (row.nsrc > 1) all[2] = &fused<Op, Flags, 2>;
  if constexpr (row.nsrc > 2 && (Flags & kReadsDst) == 0) all[4] = &fused<Op, Flags, 4>;
  if constexpr (__is_base_of(FirstNan, Op) && row.dst == Ty::f32) all[kSignMasks] = &fused<Op, Flags, kSignMasks>;
  return all;
}
template <class Op, u32 Flags> inline constexpr FusedHandlers kFused = fused_handlers<Op, Flags>();

template <class Op, u32 Flags> consteval ValuOp make_hot(isa::Op code) {
  ValuOp op = make_op<Op>(code, Flags);
  op.fused = &kFused<Op, Flags>;
  return op;
}
#define AQL_VALU_HOT(name) make_hot<name, 0>(isa::Op::name)
#define AQL_VALU_HOT_AS(code, name, flags) make_hot<name, (flags)>(isa::Op::code)
