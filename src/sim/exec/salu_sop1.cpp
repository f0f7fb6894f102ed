// SOP1: one scalar source. Spec: CDNA3 and CDNA4 ISA guides, chapter 12.3.

#include <bit>

#include "sim/exec/salu.hpp"

namespace aql::sim::salu {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr u32 bit(bool b) { return b ? 1u : 0u; }

template <class T> T mov(T a, u32&) { return a; }
template <class T> T not_(T a, u32& scc) {
  scc = bit(static_cast<T>(~a) != 0);
  return static_cast<T>(~a);
}

// Every lane of a quad that has a lane set.
template <class T>
T wqm(T a, u32& scc) {
  constexpr T kFirst = static_cast<T>(0x1111111111111111ull);
  T any = a | (a >> 1);
  any |= any >> 2;
  const T result = static_cast<T>((any & kFirst) * 15);
  scc = bit(result != 0);
  return result;
}
// One bit for each quad.
template <class T>
T quadmask(T a, u32& scc) {
  T result = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad) result |= static_cast<T>(((a >> (quad * 4)) & 15) != 0) << quad;
  scc = bit(result != 0);
  return result;
}
template <class T>
T brev(T a, u32&) {
  T result = 0;
  for (unsigned n = 0; n < sizeof(T) * 8; ++n) result |= ((a >> n) & 1) << (sizeof(T) * 8 - 1 - n);
  return result;
}
template <class T> u32 bcnt0(T a, u32& scc) {
  const auto n = static_cast<u32>(std::popcount(static_cast<T>(~a)));
  scc = bit(n != 0);
  return n;
}
template <class T> u32 bcnt1(T a, u32& scc) {
  const auto n = static_cast<u32>(std::popcount(a));
  scc = bit(n != 0);
  return n;
}
template <class T> u32 ff1(T a, u32&) { return a == 0 ? ~0u : static_cast<u32>(std::countr_zero(a)); }
template <class T> u32 ff0(T a, u32& scc) { return ff1<T>(static_cast<T>(~a), scc); }
template <class T> u32 flbit(T a, u32&) { return a == 0 ? ~0u : static_cast<u32>(std::countl_zero(a)); }
// Leading bits equal to the sign, the sign included; -1 if all are.
template <class T, class S> u32 flbit_signed(T a, u32& scc) {
  return flbit<T>(static_cast<T>(a ^ static_cast<T>(static_cast<S>(a) >> (sizeof(T) * 8 - 1))), scc);
}
u32 flbit_i32(u32 a, u32& scc) { return flbit_signed<u32, i32>(a, scc); }
u32 flbit_i64(u64 a, u32& scc) { return flbit_signed<u64, i64>(a, scc); }
u32 sext8(u32 a, u32&) { return static_cast<u32>(static_cast<i32>(static_cast<std::int8_t>(a))); }
u32 sext16(u32 a, u32&) { return static_cast<u32>(static_cast<i32>(static_cast<std::int16_t>(a))); }
u32 abs_i32(u32 a, u32& scc) {
  const u32 result = (a >> 31) != 0 ? 0u - a : a;
  scc = bit(result != 0);
  return result;
}
u64 bitreplicate(u32 a, u32&) {
  u64 result = 0;
  for (unsigned n = 0; n < 32; ++n) result |= u64{((a >> n) & 1u) * 3u} << (2 * n);
  return result;
}

template <class T>
Next cmov(Wave& w, const Inst& i) {
  if (w.scc != 0) write<T>(w, i.dst, read<T, Read::any>(w, i.src[0]));
  return Next::fallthrough;
}

template <class T, bool Value>
Next bitset(Wave& w, const Inst& i) {
  const T mask = T{1} << (scalar32(w, i.src[0]) & (sizeof(T) * 8 - 1));
  const T old = read<T, Read::sgpr>(w, i.dst);
  write<T>(w, i.dst, Value ? old | mask : old & ~mask);
  return Next::fallthrough;
}

Next getpc(Wave& w, const Inst& i) {
  w.set_sgpr64(i.dst.index, i.pc + 4);
  return Next::fallthrough;
}
Next setpc(Wave& w, const Inst& i) {
  w.pc = scalar64(w, i.src[0]);
  return Next::jump;
}
Next swappc(Wave& w, const Inst& i) {
  const u64 target = scalar64(w, i.src[0]);
  w.set_sgpr64(i.dst.index, i.pc + i.size_bytes);
  w.pc = target;
  return Next::jump;
}
Next rfe(Wave& w, const Inst& i) { return raise_fault(w, i, Errc::illegal_instruction, "s_rfe_b64 outside a trap handler"); }

// (source, exec) -> new exec. saveexec: the old one goes to the destination; wrexec: the new one.
template <auto F, bool SaveOld>
Next exec_op(Wave& w, const Inst& i) {
  const u64 source = scalar64(w, i.src[0]), old = w.exec(), now = F(source, old);
  w.set_sgpr64(i.dst.index, SaveOld ? old : now);
  w.set_exec(now);
  w.scc = bit(now != 0);
  return Next::fallthrough;
}
u64 and_x(u64 s, u64 e) { return s & e; }
u64 or_x(u64 s, u64 e) { return s | e; }
u64 xor_x(u64 s, u64 e) { return s ^ e; }
u64 andn1_x(u64 s, u64 e) { return ~s & e; }
u64 andn2_x(u64 s, u64 e) { return s & ~e; }
u64 orn1_x(u64 s, u64 e) { return ~s | e; }
u64 orn2_x(u64 s, u64 e) { return s | ~e; }
u64 nand_x(u64 s, u64 e) { return ~(s & e); }
u64 nor_x(u64 s, u64 e) { return ~(s | e); }
u64 xnor_x(u64 s, u64 e) { return ~(s ^ e); }

// Relative moves: M0 is added to the register number. Beyond the wave's SGPRs a source reads s0 and a destination is dropped.
template <class T>
Next movrels(Wave& w, const Inst& i) {
  u64 index = u64{i.src[0].index} + w.sgpr[kM0];
  if constexpr (sizeof(T) == 8) index &= ~u64{1};
  if (index + sizeof(T) / 4 > w.sgpr_count) index = 0;
  isa::Operand o = i.src[0];
  o.index = static_cast<std::uint16_t>(index);
  write<T>(w, i.dst, read<T, Read::sgpr>(w, o));
  return Next::fallthrough;
}
template <class T>
Next movreld(Wave& w, const Inst& i) {
  u64 index = u64{i.dst.index} + w.sgpr[kM0];
  if constexpr (sizeof(T) == 8) index &= ~u64{1};
  const T value = read<T, Read::any>(w, i.src[0]);
  if (index + sizeof(T) / 4 > w.sgpr_count) return Next::fallthrough;
  isa::Operand o = i.dst;
  o.index = static_cast<std::uint16_t>(index);
  write<T>(w, o, value);
  return Next::fallthrough;
}

Next set_gpr_idx_idx(Wave& w, const Inst& i) {
  w.sgpr[kM0] = (w.sgpr[kM0] & ~0xffu) | (scalar32(w, i.src[0]) & 0xffu);
  return Next::fallthrough;
}

Next cbranch_join(Wave& w, const Inst& i) { return join(w, i, scalar32(w, i.src[0])); }

} // namespace

Handler bind_sop1(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_mov_b32: return sop1<mov<u32>>(i);
  case Op::s_mov_b64: return sop1<mov<u64>>(i);
  case Op::s_cmov_b32: return cmov<u32>;
  case Op::s_cmov_b64: return cmov<u64>;
  case Op::s_not_b32: return sop1<not_<u32>>(i);
  case Op::s_not_b64: return sop1<not_<u64>>(i);
  case Op::s_wqm_b32: return sop1<wqm<u32>>(i);
  case Op::s_wqm_b64: return sop1<wqm<u64>>(i);
  case Op::s_brev_b32: return sop1<brev<u32>>(i);
  case Op::s_brev_b64: return sop1<brev<u64>>(i);
  case Op::s_bcnt0_i32_b32: return sop1<bcnt0<u32>>(i);
  case Op::s_bcnt0_i32_b64: return sop1<bcnt0<u64>>(i);
  case Op::s_bcnt1_i32_b32: return sop1<bcnt1<u32>>(i);
  case Op::s_bcnt1_i32_b64: return sop1<bcnt1<u64>>(i);
  case Op::s_ff0_i32_b32: return sop1<ff0<u32>>(i);
  case Op::s_ff0_i32_b64: return sop1<ff0<u64>>(i);
  case Op::s_ff1_i32_b32: return sop1<ff1<u32>>(i);
  case Op::s_ff1_i32_b64: return sop1<ff1<u64>>(i);
  case Op::s_flbit_i32_b32: return sop1<flbit<u32>>(i);
  case Op::s_flbit_i32_b64: return sop1<flbit<u64>>(i);
  case Op::s_flbit_i32: return sop1<flbit_i32>(i);
  case Op::s_flbit_i32_i64: return sop1<flbit_i64>(i);
  case Op::s_sext_i32_i8: return sop1<sext8>(i);
  case Op::s_sext_i32_i16: return sop1<sext16>(i);
  case Op::s_bitset0_b32: return bitset<u32, false>;
  case Op::s_bitset0_b64: return bitset<u64, false>;
  case Op::s_bitset1_b32: return bitset<u32, true>;
  case Op::s_bitset1_b64: return bitset<u64, true>;
  case Op::s_getpc_b64: return getpc;
  case Op::s_setpc_b64: return setpc;
  case Op::s_swappc_b64: return swappc;
  case Op::s_rfe_b64: return rfe;
  case Op::s_and_saveexec_b64: return exec_op<and_x, true>;
  case Op::s_or_saveexec_b64: return exec_op<or_x, true>;
  case Op::s_xor_saveexec_b64: return exec_op<xor_x, true>;
  case Op::s_andn2_saveexec_b64: return exec_op<andn2_x, true>;
  case Op::s_orn2_saveexec_b64: return exec_op<orn2_x, true>;
  case Op::s_nand_saveexec_b64: return exec_op<nand_x, true>;
  case Op::s_nor_saveexec_b64: return exec_op<nor_x, true>;
  case Op::s_xnor_saveexec_b64: return exec_op<xnor_x, true>;
  case Op::s_andn1_saveexec_b64: return exec_op<andn1_x, true>;
  case Op::s_orn1_saveexec_b64: return exec_op<orn1_x, true>;
  case Op::s_andn1_wrexec_b64: return exec_op<andn1_x, false>;
  case Op::s_andn2_wrexec_b64: return exec_op<andn2_x, false>;
  case Op::s_quadmask_b32: return sop1<quadmask<u32>>(i);
  case Op::s_quadmask_b64: return sop1<quadmask<u64>>(i);
  case Op::s_movrels_b32: return movrels<u32>;
  case Op::s_movrels_b64: return movrels<u64>;
  case Op::s_movreld_b32: return movreld<u32>;
  case Op::s_movreld_b64: return movreld<u64>;
  case Op::s_cbranch_join: return cbranch_join;
  case Op::s_abs_i32: return sop1<abs_i32>(i);
  case Op::s_set_gpr_idx_idx: return set_gpr_idx_idx;
  case Op::s_bitreplicate_b64_b32: return sop1<bitreplicate>(i);
  default: return nullptr;
  }
}

} // namespace aql::sim::salu
