#pragma once
// What the scalar-ALU files share: the binder of each format, and handlers made from one scalar function per operation.
//
// An operation is a function (sources..., std::uint32_t& scc) -> result. Sop<F> makes a handler of it: operands by the
// function's parameter types, SCC by reference so that an operation that leaves SCC alone does not mention it.

#include <cstdint>

#include "sim/exec/exec.hpp"
#include "sim/exec/operand.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim::salu {

Handler bind_sop2(const Inst& inst);
Handler bind_sop1(const Inst& inst);
Handler bind_sopc(const Inst& inst);
Handler bind_sopk(const Inst& inst);
Handler bind_sopp(const Inst& inst);
Handler bind_smem(const Inst& inst);

// s_getreg / s_setreg: the hardware register named by simm16 (id [5:0], offset [10:6], size - 1 [15:11]).
std::uint32_t read_hwreg(const Wave& wave, const Inst& inst, unsigned id);
// False: the register cannot be written by user code (the write is then ignored, as hardware does).
bool write_hwreg(Wave& wave, unsigned id, std::uint32_t value, std::uint32_t mask);

// MODE changes that other instructions depend on leave the fast loop (see run.cpp): go on at the next instruction by a jump.
inline Next reload(Wave& wave, const Inst& inst) {
  wave.pc = inst.pc + inst.size_bytes;
  return Next::jump;
}

inline Next branch(Wave& wave, const Inst& inst) {
  wave.pc = inst.pc + 4 + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(inst.imm)) * 4);
  return Next::jump;
}

// The branch stack of s_cbranch_*_fork and s_cbranch_join: where half of the lanes goes on later (salu_control.cpp).
Next fork(Wave& wave, const Inst& inst, std::uint64_t mask, std::uint64_t target);
Next join(Wave& wave, const Inst& inst, std::uint32_t saved_depth);

// How a source is read: a plain SGPR needs no look at its kind.
enum class Read { sgpr, any };

template <class T, Read R>
inline T read(const Wave& w, const isa::Operand& o) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(R == Read::sgpr ? w.sgpr64(o.index) : scalar64(w, o));
  } else {
    return static_cast<T>(R == Read::sgpr ? w.sgpr[o.index] : scalar32(w, o));
  }
}

template <class T>
inline void write(Wave& w, const isa::Operand& o, T value) {
  if constexpr (sizeof(T) == 8) w.set_sgpr64(o.index, static_cast<std::uint64_t>(value));
  else w.sgpr[o.index] = static_cast<std::uint32_t>(value);
}

template <auto F, Read R0, Read R1, class D, class A, class B>
Next run2(Wave& w, const Inst& i, D (*)(A, B, std::uint32_t&)) {
  const A a = read<A, R0>(w, i.src[0]);
  const B b = read<B, R1>(w, i.src[1]);
  write<D>(w, i.dst, F(a, b, w.scc));
  return Next::fallthrough;
}
template <auto F, Read R0, Read R1>
Next sop2_handler(Wave& w, const Inst& i) {
  return run2<F, R0, R1>(w, i, F);
}
template <auto F>
Handler sop2(const Inst& i) {
  const bool s0 = i.src[0].kind == isa::OperandKind::sgpr, s1 = i.src[1].kind == isa::OperandKind::sgpr;
  if (s0 && s1) return sop2_handler<F, Read::sgpr, Read::sgpr>;
  if (s0) return sop2_handler<F, Read::sgpr, Read::any>;
  return sop2_handler<F, Read::any, Read::any>;
}

template <auto F, Read R0, class D, class A>
Next run1(Wave& w, const Inst& i, D (*)(A, std::uint32_t&)) {
  write<D>(w, i.dst, F(read<A, R0>(w, i.src[0]), w.scc));
  return Next::fallthrough;
}
template <auto F, Read R0>
Next sop1_handler(Wave& w, const Inst& i) {
  return run1<F, R0>(w, i, F);
}
template <auto F>
Handler sop1(const Inst& i) {
  return i.src[0].kind == isa::OperandKind::sgpr ? sop1_handler<F, Read::sgpr> : sop1_handler<F, Read::any>;
}

// Compares: (a, b) -> bool into SCC.
template <auto F, Read R0, Read R1, class A, class B>
Next runc(Wave& w, const Inst& i, bool (*)(A, B)) {
  w.scc = F(read<A, R0>(w, i.src[0]), read<B, R1>(w, i.src[1])) ? 1 : 0;
  return Next::fallthrough;
}
template <auto F, Read R0, Read R1>
Next sopc_handler(Wave& w, const Inst& i) {
  return runc<F, R0, R1>(w, i, F);
}
template <auto F>
Handler sopc(const Inst& i) {
  const bool s0 = i.src[0].kind == isa::OperandKind::sgpr, s1 = i.src[1].kind == isa::OperandKind::sgpr;
  if (s0 && s1) return sopc_handler<F, Read::sgpr, Read::sgpr>;
  if (s0) return sopc_handler<F, Read::sgpr, Read::any>;
  return sopc_handler<F, Read::any, Read::any>;
}

} // namespace aql::sim::salu
