// Compares of all types (v_cmp_*, v_cmpx_*, class) and v_cndmask.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"

namespace {

// Integer order of an f16's value; NaN is handled apart. -0 and +0 are both 0.
AQL_INLINE i32 half_order(Half h) {
  const i32 magnitude = h.bits & 0x7fff;
  return (h.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
AQL_INLINE bool half_nan(Half h) { return (h.bits & 0x7fff) > 0x7c00; }

template <class T> AQL_INLINE bool less(T a, T b) { return a < b; }
template <class T> AQL_INLINE bool equal(T a, T b) { return a == b; }
template <class T> AQL_INLINE bool ordered(T a, T b) { return a == a && b == b; }
AQL_INLINE bool ordered(Half a, Half b) { return !half_nan(a) && !half_nan(b); }
AQL_INLINE bool less(Half a, Half b) { return ordered(a, b) && half_order(a) < half_order(b); }
AQL_INLINE bool equal(Half a, Half b) { return ordered(a, b) && half_order(a) == half_order(b); }

AQL_INLINE bool either(bool a, bool b) { return (static_cast<unsigned>(a) | static_cast<unsigned>(b)) != 0; }

// The condition is a mask of LT 1, EQ 2, GT 4, and for floats unordered 8.
template <class T, unsigned Cond> struct Compare {
  static bool apply(T a, T b) {
    if constexpr (Cond == 0) return false;
    else if constexpr (Cond == 15) return true;
    else if constexpr (Cond == 1) return less(a, b);
    else if constexpr (Cond == 2) return equal(a, b);
    else if constexpr (Cond == 3) return either(less(a, b), equal(a, b));
    else if constexpr (Cond == 4) return less(b, a);
    else if constexpr (Cond == 5) return either(less(a, b), less(b, a));
    else if constexpr (Cond == 6) return either(less(b, a), equal(a, b));
    else if constexpr (Cond == 7) return ordered(a, b);
    else return !Compare<T, 15 - Cond>::apply(a, b);
  }
};
template <class T, unsigned Cond> struct CompareInt {
  static bool apply(T a, T b) {
    if constexpr (Cond == 0) return false;
    else if constexpr (Cond == 1) return a < b;
    else if constexpr (Cond == 2) return a == b;
    else if constexpr (Cond == 3) return a <= b;
    else if constexpr (Cond == 4) return a > b;
    else if constexpr (Cond == 5) return a != b;
    else if constexpr (Cond == 6) return a >= b;
    else return true;
  }
};

// By bits: conditional expressions become branches, and the loops scalar.
AQL_INLINE u32 pick(bool c, u32 yes, u32 no) {
  const u32 m = 0u - static_cast<u32>(c);
  return (yes & m) | (no & ~m);
}
// Class bits: sNaN 1, qNaN 2, -inf 4, -normal 8, -denormal 16, -0 32, +0 64, +denormal 128, +normal 256, +inf 512.
AQL_INLINE bool class_of(u32 wanted, bool negative, bool max_exponent, bool zero_exponent, bool zero_mantissa, bool quiet_bit) {
  const u32 nan = pick(quiet_bit, 2, 1), inf = pick(negative, 4, 512), normal = pick(negative, 8, 256);
  const u32 denormal = pick(negative, 16, 128), zero = pick(negative, 32, 64);
  const u32 is = pick(max_exponent, pick(zero_mantissa, inf, nan), pick(zero_exponent, pick(zero_mantissa, zero, denormal), normal));
  return (wanted & is) != 0;
}
struct ClassF32 {
  static bool apply(f32 a, u32 wanted) {
    const u32 v = as_u32(a), e = v & 0x7f800000u;
    return class_of(wanted, v >> 31 != 0, e == 0x7f800000u, e == 0, (v & 0x7fffffu) == 0, (v & 0x400000u) != 0);
  }
};
struct ClassF64 {
  static bool apply(f64 a, u32 wanted) {
    const u64 v = as_u64(a), e = v & 0x7ff0000000000000u;
    return class_of(wanted, v >> 63 != 0, e == 0x7ff0000000000000u, e == 0, (v & 0xfffffffffffffu) == 0, (v & 0x8000000000000u) != 0);
  }
};
struct ClassF16 {
  static bool apply(Half a, u32 wanted) {
    const u32 v = a.bits, e = v & 0x7c00u;
    return class_of(wanted, v >> 15 != 0, e == 0x7c00u, e == 0, (v & 0x3ffu) == 0, (v & 0x200u) != 0);
  }
};

// neg and abs apply to the selected values as to f32.
struct v_cndmask_b32 { static f32 apply(f32 a, f32 b, Bit s) { return s.set ? b : a; } };

#define AQL_CMP(name, type, cond) make_op<Compare<type, cond>>(isa::Op::v_cmp_##name, 0), make_op<Compare<type, cond>>(isa::Op::v_cmpx_##name, kCmpx)
#define AQL_CMP_FLOAT(suffix, type)                                                                                      \
  AQL_CMP(f_##suffix, type, 0), AQL_CMP(lt_##suffix, type, 1), AQL_CMP(eq_##suffix, type, 2), AQL_CMP(le_##suffix, type, 3),      \
  AQL_CMP(gt_##suffix, type, 4), AQL_CMP(lg_##suffix, type, 5), AQL_CMP(ge_##suffix, type, 6), AQL_CMP(o_##suffix, type, 7),      \
  AQL_CMP(u_##suffix, type, 8), AQL_CMP(nge_##suffix, type, 9), AQL_CMP(nlg_##suffix, type, 10), AQL_CMP(ngt_##suffix, type, 11), \
  AQL_CMP(nle_##suffix, type, 12), AQL_CMP(neq_##suffix, type, 13), AQL_CMP(nlt_##suffix, type, 14), AQL_CMP(tru_##suffix, type, 15)
#define AQL_CMPI(name, type, cond) make_op<CompareInt<type, cond>>(isa::Op::v_cmp_##name, 0), make_op<CompareInt<type, cond>>(isa::Op::v_cmpx_##name, kCmpx)
#define AQL_CMP_INT(suffix, type)                                                                                            \
  AQL_CMPI(f_##suffix, type, 0), AQL_CMPI(lt_##suffix, type, 1), AQL_CMPI(eq_##suffix, type, 2), AQL_CMPI(le_##suffix, type, 3), \
  AQL_CMPI(gt_##suffix, type, 4), AQL_CMPI(ne_##suffix, type, 5), AQL_CMPI(ge_##suffix, type, 6), AQL_CMPI(t_##suffix, type, 7)
#define AQL_CLASS(name, op) make_op<op>(isa::Op::v_cmp_##name, kRawFloat), make_op<op>(isa::Op::v_cmpx_##name, kRawFloat | kCmpx)

constexpr ValuOp kOps[] = {
  AQL_VALU_HOT_AS(v_cndmask_b32, v_cndmask_b32, kRawFloat),
  AQL_CMP_FLOAT(f16, Half), AQL_CMP_FLOAT(f32, f32), AQL_CMP_FLOAT(f64, f64),
  AQL_CMP_INT(i16, i16), AQL_CMP_INT(u16, u16), AQL_CMP_INT(i32, i32), AQL_CMP_INT(u32, u32), AQL_CMP_INT(i64, i64), AQL_CMP_INT(u64, u64),
  AQL_CLASS(class_f32, ClassF32), AQL_CLASS(class_f64, ClassF64), AQL_CLASS(class_f16, ClassF16),
};

} // namespace

std::span<const ValuOp> valu_cmp_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
