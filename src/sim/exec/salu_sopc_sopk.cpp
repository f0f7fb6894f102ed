// SOPC: compares into SCC. SOPK: a 16-bit immediate. Spec: CDNA3 and CDNA4 ISA guides, chapters 12.4 and 12.2.

#include "sim/exec/salu.hpp"

namespace aql::sim::salu {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;

template <class T> bool eq(T a, T b) { return a == b; }
template <class T> bool lg(T a, T b) { return a != b; }
template <class T> bool gt(T a, T b) { return a > b; }
template <class T> bool ge(T a, T b) { return a >= b; }
template <class T> bool lt(T a, T b) { return a < b; }
template <class T> bool le(T a, T b) { return a <= b; }
template <class T> bool bit_at(T a, u32 b) { return ((a >> (b & (sizeof(T) * 8 - 1))) & 1) != 0; }
template <class T> bool bitcmp0(T a, u32 b) { return !bit_at<T>(a, b); }
template <class T> bool bitcmp1(T a, u32 b) { return bit_at<T>(a, b); }

constexpr u32 kVskip = 1u << 28, kGprIdxEn = 1u << 27;

Next setvskip(Wave& w, const Inst& i) {
  const bool on = bit_at<u32>(scalar32(w, i.src[0]), scalar32(w, i.src[1]));
  w.mode.bits = on ? w.mode.bits | kVskip : w.mode.bits & ~kVskip;
  return reload(w, i);
}

Next set_gpr_idx_on(Wave& w, const Inst& i) {
  w.mode.bits |= kGprIdxEn;
  w.sgpr[kM0] = (w.sgpr[kM0] & ~0xf0ffu) | (scalar32(w, i.src[0]) & 0xffu) | (i.imm & 15u) << 12;
  return reload(w, i);
}

// SOPK compares: the immediate is sign-extended for signed, zero-extended for unsigned ones.
template <auto F>
Next cmpk_i32(Wave& w, const Inst& i) {
  w.scc = F(static_cast<i32>(w.sgpr[i.src[0].index]), static_cast<i32>(i.imm)) ? 1 : 0;
  return Next::fallthrough;
}
template <auto F>
Next cmpk_u32(Wave& w, const Inst& i) {
  w.scc = F(w.sgpr[i.src[0].index], i.imm & 0xffffu) ? 1 : 0;
  return Next::fallthrough;
}

Next movk(Wave& w, const Inst& i) {
  w.sgpr[i.dst.index] = i.imm;
  return Next::fallthrough;
}
Next cmovk(Wave& w, const Inst& i) {
  if (w.scc != 0) w.sgpr[i.dst.index] = i.imm;
  return Next::fallthrough;
}
Next addk(Wave& w, const Inst& i) {
  const u32 a = w.sgpr[i.src[0].index], sum = a + i.imm;
  w.scc = (~(a ^ i.imm) & (a ^ sum)) >> 31;
  w.sgpr[i.dst.index] = sum;
  return Next::fallthrough;
}
Next mulk(Wave& w, const Inst& i) {
  w.sgpr[i.dst.index] = w.sgpr[i.src[0].index] * i.imm;
  return Next::fallthrough;
}

Next cbranch_i_fork(Wave& w, const Inst& i) {
  const u64 target = i.pc + 4 + static_cast<u64>(static_cast<std::int64_t>(static_cast<i32>(i.imm)) * 4);
  return fork(w, i, w.sgpr64(i.src[0].index), target);
}

Next call(Wave& w, const Inst& i) {
  w.set_sgpr64(i.dst.index, i.pc + 4);
  return branch(w, i);
}

struct HwregField {
  unsigned id, offset, size;
};
HwregField hwreg_field(u32 simm16) { return {simm16 & 63u, (simm16 >> 6) & 31u, ((simm16 >> 11) & 31u) + 1u}; }
u32 low_bits(unsigned n) { return n >= 32 ? ~0u : (1u << n) - 1u; }

Next getreg(Wave& w, const Inst& i) {
  const auto f = hwreg_field(i.imm);
  w.sgpr[i.dst.index] = (read_hwreg(w, i, f.id) >> f.offset) & low_bits(f.size);
  return Next::fallthrough;
}

template <bool Imm32>
Next setreg(Wave& w, const Inst& i) {
  const auto f = hwreg_field(i.imm);
  const u32 value = Imm32 ? i.src[0].value : w.sgpr[i.src[0].index];
  const u32 before = w.mode.bits;
  write_hwreg(w, f.id, value << f.offset, low_bits(f.size) << f.offset);
  return ((before ^ w.mode.bits) & (kVskip | kGprIdxEn)) != 0 ? reload(w, i) : Next::fallthrough;
}

} // namespace

Handler bind_sopc(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_cmp_eq_i32: return sopc<eq<i32>>(i);
  case Op::s_cmp_lg_i32: return sopc<lg<i32>>(i);
  case Op::s_cmp_gt_i32: return sopc<gt<i32>>(i);
  case Op::s_cmp_ge_i32: return sopc<ge<i32>>(i);
  case Op::s_cmp_lt_i32: return sopc<lt<i32>>(i);
  case Op::s_cmp_le_i32: return sopc<le<i32>>(i);
  case Op::s_cmp_eq_u32: return sopc<eq<u32>>(i);
  case Op::s_cmp_lg_u32: return sopc<lg<u32>>(i);
  case Op::s_cmp_gt_u32: return sopc<gt<u32>>(i);
  case Op::s_cmp_ge_u32: return sopc<ge<u32>>(i);
  case Op::s_cmp_lt_u32: return sopc<lt<u32>>(i);
  case Op::s_cmp_le_u32: return sopc<le<u32>>(i);
  case Op::s_bitcmp0_b32: return sopc<bitcmp0<u32>>(i);
  case Op::s_bitcmp1_b32: return sopc<bitcmp1<u32>>(i);
  case Op::s_bitcmp0_b64: return sopc<bitcmp0<u64>>(i);
  case Op::s_bitcmp1_b64: return sopc<bitcmp1<u64>>(i);
  case Op::s_setvskip: return setvskip;
  case Op::s_set_gpr_idx_on: return set_gpr_idx_on;
  case Op::s_cmp_eq_u64: return sopc<eq<u64>>(i);
  case Op::s_cmp_lg_u64: return sopc<lg<u64>>(i);
  default: return nullptr;
  }
}

Handler bind_sopk(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_movk_i32: return movk;
  case Op::s_cmovk_i32: return cmovk;
  case Op::s_cmpk_eq_i32: return cmpk_i32<eq<i32>>;
  case Op::s_cmpk_lg_i32: return cmpk_i32<lg<i32>>;
  case Op::s_cmpk_gt_i32: return cmpk_i32<gt<i32>>;
  case Op::s_cmpk_ge_i32: return cmpk_i32<ge<i32>>;
  case Op::s_cmpk_lt_i32: return cmpk_i32<lt<i32>>;
  case Op::s_cmpk_le_i32: return cmpk_i32<le<i32>>;
  case Op::s_cmpk_eq_u32: return cmpk_u32<eq<u32>>;
  case Op::s_cmpk_lg_u32: return cmpk_u32<lg<u32>>;
  case Op::s_cmpk_gt_u32: return cmpk_u32<gt<u32>>;
  case Op::s_cmpk_ge_u32: return cmpk_u32<ge<u32>>;
  case Op::s_cmpk_lt_u32: return cmpk_u32<lt<u32>>;
  case Op::s_cmpk_le_u32: return cmpk_u32<le<u32>>;
  case Op::s_addk_i32: return addk;
  case Op::s_mulk_i32: return mulk;
  case Op::s_cbranch_i_fork: return cbranch_i_fork;
  case Op::s_getreg_b32: return getreg;
  case Op::s_setreg_b32: return setreg<false>;
  case Op::s_setreg_imm32_b32: return setreg<true>;
  case Op::s_call_b64: return call;
  default: return nullptr;
  }
}

} // namespace aql::sim::salu
