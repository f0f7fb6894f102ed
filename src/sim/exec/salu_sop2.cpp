// SOP2: two scalar sources. Spec: CDNA3 and CDNA4 ISA guides, chapter 12.1 (scalar instructions).

#include <bit>

#include "sim/exec/salu.hpp"

namespace aql::sim::salu {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr u32 to_u(i32 v) { return static_cast<u32>(v); }
constexpr i32 to_i(u32 v) { return static_cast<i32>(v); }
constexpr u32 bit(bool b) { return b ? 1u : 0u; }

template <unsigned Shift>
u32 shift_add(u32 a, u32 b, u32& scc) {
  const u64 sum = (u64{a} << Shift) + b;
  scc = bit(sum >> 32 != 0);
  return static_cast<u32>(sum);
}

u32 add_u32(u32 a, u32 b, u32& scc) { return shift_add<0>(a, b, scc); }
u32 sub_u32(u32 a, u32 b, u32& scc) {
  scc = bit(b > a);
  return a - b;
}
u32 add_i32(u32 a, u32 b, u32& scc) {
  const u32 sum = a + b;
  scc = (~(a ^ b) & (a ^ sum)) >> 31; // signed overflow
  return sum;
}
u32 sub_i32(u32 a, u32 b, u32& scc) {
  const u32 difference = a - b;
  scc = ((a ^ b) & (a ^ difference)) >> 31;
  return difference;
}
u32 addc_u32(u32 a, u32 b, u32& scc) {
  const u64 sum = u64{a} + b + scc;
  scc = bit(sum >> 32 != 0);
  return static_cast<u32>(sum);
}
u32 subb_u32(u32 a, u32 b, u32& scc) {
  const u32 borrow = scc;
  scc = bit(u64{b} + borrow > a);
  return a - b - borrow;
}

// SCC says that the first source was taken. With equal sources the guides of CDNA3 and later print ">=" for max, the older
// ones ">"; silicon of the same lineage was seen to clear SCC, so it is ">" here.
u32 min_i32(i32 a, i32 b, u32& scc) {
  scc = bit(a < b);
  return to_u(a < b ? a : b);
}
u32 min_u32(u32 a, u32 b, u32& scc) {
  scc = bit(a < b);
  return a < b ? a : b;
}
u32 max_i32(i32 a, i32 b, u32& scc) {
  scc = bit(a > b);
  return to_u(a > b ? a : b);
}
u32 max_u32(u32 a, u32 b, u32& scc) {
  scc = bit(a > b);
  return a > b ? a : b;
}

template <class T>
T select(T a, T b, u32& scc) { return scc != 0 ? a : b; }

// Results whose SCC is "not zero".
template <class T, auto F, class A = T, class B = T>
T nonzero(A a, B b, u32& scc) {
  const T result = F(a, b);
  scc = bit(result != 0);
  return result;
}
template <class T> T and_(T a, T b) { return a & b; }
template <class T> T or_(T a, T b) { return a | b; }
template <class T> T xor_(T a, T b) { return a ^ b; }
template <class T> T andn2(T a, T b) { return a & ~b; }
template <class T> T orn2(T a, T b) { return a | ~b; }
template <class T> T nand(T a, T b) { return ~(a & b); }
template <class T> T nor(T a, T b) { return ~(a | b); }
template <class T> T xnor(T a, T b) { return ~(a ^ b); }

template <class T> constexpr u32 kShiftMask = sizeof(T) * 8 - 1;
template <class T> T lshl(T a, u32 b) { return a << (b & kShiftMask<T>); }
template <class T> T lshr(T a, u32 b) { return a >> (b & kShiftMask<T>); }
u32 ashr32(u32 a, u32 b) { return to_u(to_i(a) >> (b & 31)); }
u64 ashr64(u64 a, u32 b) { return static_cast<u64>(static_cast<i64>(a) >> (b & 63)); }

// b: offset in the low bits, size in [22:16]; sizes past the width take everything.
template <class T>
T bfe_u(T a, u32 b) {
  const u32 size = (b >> 16) & 0x7f;
  const T value = a >> (b & kShiftMask<T>);
  return size >= sizeof(T) * 8 ? value : value & ((T{1} << size) - 1);
}
template <class T, class S>
T bfe_i(T a, u32 b) {
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 size = (b >> 16) & 0x7f;
  const S value = static_cast<S>(a) >> (b & kShiftMask<T>);
  if (size == 0) return 0;
  if (size >= kBits) return static_cast<T>(value);
  return static_cast<T>(static_cast<S>(static_cast<T>(value) << (kBits - size)) >> (kBits - size));
}
u32 bfe_i32(u32 a, u32 b) { return bfe_i<u32, i32>(a, b); }
u64 bfe_i64(u64 a, u32 b) { return bfe_i<u64, i64>(a, b); }

u32 bfm_b32(u32 a, u32 b, u32&) { return ((1u << (a & 31)) - 1u) << (b & 31); }
u64 bfm_b64(u32 a, u32 b, u32&) { return ((u64{1} << (a & 63)) - 1u) << (b & 63); }
u32 mul_i32(u32 a, u32 b, u32&) { return a * b; }
u32 mul_hi_u32(u32 a, u32 b, u32&) { return static_cast<u32>((u64{a} * b) >> 32); }
u32 mul_hi_i32(i32 a, i32 b, u32&) { return static_cast<u32>(static_cast<u64>(i64{a} * b) >> 32); }
u32 absdiff_i32(u32 a, u32 b, u32& scc) { // of the wrapped difference
  const u32 difference = a - b;
  const u32 result = (difference >> 31) != 0 ? 0u - difference : difference;
  scc = bit(result != 0);
  return result;
}
u32 pack_ll(u32 a, u32 b, u32&) { return (b << 16) | (a & 0xffff); }
u32 pack_lh(u32 a, u32 b, u32&) { return (b & 0xffff0000u) | (a & 0xffff); }
u32 pack_hh(u32 a, u32 b, u32&) { return (b & 0xffff0000u) | (a >> 16); }

// Fork on a mask: the smaller half runs later, its state is pushed on a stack in the SGPRs (MODE.CSP counts the entries).
Next cbranch_g_fork(Wave& w, const Inst& i) { return fork(w, i, scalar64(w, i.src[0]), scalar64(w, i.src[1])); }

Next rfe_restore(Wave& w, const Inst& i) {
  return raise_fault(w, i, Errc::illegal_instruction, "s_rfe_restore_b64 outside a trap handler");
}

} // namespace

Handler bind_sop2(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_add_u32: return sop2<add_u32>(i);
  case Op::s_sub_u32: return sop2<sub_u32>(i);
  case Op::s_add_i32: return sop2<add_i32>(i);
  case Op::s_sub_i32: return sop2<sub_i32>(i);
  case Op::s_addc_u32: return sop2<addc_u32>(i);
  case Op::s_subb_u32: return sop2<subb_u32>(i);
  case Op::s_min_i32: return sop2<min_i32>(i);
  case Op::s_min_u32: return sop2<min_u32>(i);
  case Op::s_max_i32: return sop2<max_i32>(i);
  case Op::s_max_u32: return sop2<max_u32>(i);
  case Op::s_cselect_b32: return sop2<select<u32>>(i);
  case Op::s_cselect_b64: return sop2<select<u64>>(i);
  case Op::s_and_b32: return sop2<nonzero<u32, and_<u32>>>(i);
  case Op::s_and_b64: return sop2<nonzero<u64, and_<u64>>>(i);
  case Op::s_or_b32: return sop2<nonzero<u32, or_<u32>>>(i);
  case Op::s_or_b64: return sop2<nonzero<u64, or_<u64>>>(i);
  case Op::s_xor_b32: return sop2<nonzero<u32, xor_<u32>>>(i);
  case Op::s_xor_b64: return sop2<nonzero<u64, xor_<u64>>>(i);
  case Op::s_andn2_b32: return sop2<nonzero<u32, andn2<u32>>>(i);
  case Op::s_andn2_b64: return sop2<nonzero<u64, andn2<u64>>>(i);
  case Op::s_orn2_b32: return sop2<nonzero<u32, orn2<u32>>>(i);
  case Op::s_orn2_b64: return sop2<nonzero<u64, orn2<u64>>>(i);
  case Op::s_nand_b32: return sop2<nonzero<u32, nand<u32>>>(i);
  case Op::s_nand_b64: return sop2<nonzero<u64, nand<u64>>>(i);
  case Op::s_nor_b32: return sop2<nonzero<u32, nor<u32>>>(i);
  case Op::s_nor_b64: return sop2<nonzero<u64, nor<u64>>>(i);
  case Op::s_xnor_b32: return sop2<nonzero<u32, xnor<u32>>>(i);
  case Op::s_xnor_b64: return sop2<nonzero<u64, xnor<u64>>>(i);
  case Op::s_lshl_b32: return sop2<nonzero<u32, lshl<u32>, u32, u32>>(i);
  case Op::s_lshl_b64: return sop2<nonzero<u64, lshl<u64>, u64, u32>>(i);
  case Op::s_lshr_b32: return sop2<nonzero<u32, lshr<u32>, u32, u32>>(i);
  case Op::s_lshr_b64: return sop2<nonzero<u64, lshr<u64>, u64, u32>>(i);
  case Op::s_ashr_i32: return sop2<nonzero<u32, ashr32, u32, u32>>(i);
  case Op::s_ashr_i64: return sop2<nonzero<u64, ashr64, u64, u32>>(i);
  case Op::s_bfm_b32: return sop2<bfm_b32>(i);
  case Op::s_bfm_b64: return sop2<bfm_b64>(i);
  case Op::s_mul_i32: return sop2<mul_i32>(i);
  case Op::s_bfe_u32: return sop2<nonzero<u32, bfe_u<u32>, u32, u32>>(i);
  case Op::s_bfe_i32: return sop2<nonzero<u32, bfe_i32, u32, u32>>(i);
  case Op::s_bfe_u64: return sop2<nonzero<u64, bfe_u<u64>, u64, u32>>(i);
  case Op::s_bfe_i64: return sop2<nonzero<u64, bfe_i64, u64, u32>>(i);
  case Op::s_cbranch_g_fork: return cbranch_g_fork;
  case Op::s_absdiff_i32: return sop2<absdiff_i32>(i);
  case Op::s_rfe_restore_b64: return rfe_restore;
  case Op::s_mul_hi_u32: return sop2<mul_hi_u32>(i);
  case Op::s_mul_hi_i32: return sop2<mul_hi_i32>(i);
  case Op::s_lshl1_add_u32: return sop2<shift_add<1>>(i);
  case Op::s_lshl2_add_u32: return sop2<shift_add<2>>(i);
  case Op::s_lshl3_add_u32: return sop2<shift_add<3>>(i);
  case Op::s_lshl4_add_u32: return sop2<shift_add<4>>(i);
  case Op::s_pack_ll_b32_b16: return sop2<pack_ll>(i);
  case Op::s_pack_lh_b32_b16: return sop2<pack_lh>(i);
  case Op::s_pack_hh_b32_b16: return sop2<pack_hh>(i);
  default: return nullptr;
  }
}

} // namespace aql::sim::salu
