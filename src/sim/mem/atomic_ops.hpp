#pragma once
// What each read-modify-write operation makes of the old value: scalar functions, used for global memory (real atomics), LDS
// and GWS-free DS instructions alike. CDNA3 ISA guide, "DS instructions" and "FLAT, scratch and global instructions".
// Thread safety: pure functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <aql/numerics.hpp>

#include "sim/mem/port.hpp"

namespace aql::sim::atomics {

// Denormals that a floating-point operation treats as zero: MODE's fields for LDS; the L2 of gfx90a flushes f32.
struct Denormals {
  bool flush_in = false, flush_out = false;
};

template <class F>
inline F flush(F v) noexcept { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(F{0}, v) : v; }

template <class F>
using BitsOf = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
template <class F>
inline constexpr BitsOf<F> kQuietBit = BitsOf<F>{1} << (sizeof(F) == 4 ? 22 : 51);

template <class F>
inline bool signalling(F v) noexcept { return std::isnan(v) && (std::bit_cast<BitsOf<F>>(v) & kQuietBit<F>) == 0; }
template <class F>
inline F quiet(F v) noexcept { return std::bit_cast<F>(static_cast<BitsOf<F>>(std::bit_cast<BitsOf<F>>(v) | kQuietBit<F>)); }

// Round to nearest even; a NaN operand is returned quiet, the first before the second; inf - inf is the positive quiet NaN.
template <class F>
inline F add(F a, F b) noexcept {
  if (std::isnan(a)) return quiet(a);
  if (std::isnan(b)) return quiet(b);
  const F sum = a + b;
  return std::isnan(sum) ? std::fabs(sum) : sum;
}

// A signalling NaN is the result, made quiet; a quiet one loses against every number; -0 is below +0. Denormals that count as
// zero do so in the comparison only: the result is one of the operands, unchanged.
template <class F, bool kMax>
inline F extreme(F a, F b, bool flush_in) noexcept {
  if (signalling(a)) return quiet(a);
  if (signalling(b)) return quiet(b);
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const F x = flush_in ? flush(a) : a, y = flush_in ? flush(b) : b;
  const auto less = [](F p, F q) { return p < q || (p == q && std::signbit(p) && !std::signbit(q)); };
  return (kMax ? less(x, y) : less(y, x)) ? b : a; // memory keeps its value when they are equal
}

// Packed 16-bit sums. The f32 sum of two such numbers, rounded again, is the correctly rounded sum.
template <num::FloatFormat F16>
inline std::uint32_t packed_add(std::uint32_t old, std::uint32_t data, Denormals denormals) noexcept {
  std::uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    const auto operand = [&](std::uint32_t v) {
      const std::uint32_t code = (v >> shift) & 0xffffu;
      const bool subnormal = (code & F16.infinity()) == 0;
      return num::decode<F16>(denormals.flush_in && subnormal ? code & F16.sign_mask() : code);
    };
    std::uint32_t sum = num::encode<F16>(add(operand(old), operand(data)));
    if (denormals.flush_out && (sum & F16.infinity()) == 0) sum &= F16.sign_mask();
    result |= sum << shift;
  }
  return result;
}

// New memory value. `compare` is the comparand of cmpswap, the clear mask of mskor.
template <AtomicOp kOp, class T>
inline T combine(T old, T data, T compare, Denormals denormals) noexcept {
  using Signed = std::make_signed_t<T>;
  using Float = std::conditional_t<sizeof(T) == 4, float, double>;
  const auto f = [&](T v) {
    const auto value = std::bit_cast<Float>(v);
    return denormals.flush_in ? flush(value) : value;
  };
  const auto bits = [&](Float v) { return std::bit_cast<T>(denormals.flush_out ? flush(v) : v); };
  if constexpr (kOp == AtomicOp::swap) return data;
  else if constexpr (kOp == AtomicOp::cmpswap) return old == compare ? data : old;
  else if constexpr (kOp == AtomicOp::cmpswap_f) return f(old) == f(compare) ? (denormals.flush_in ? std::bit_cast<T>(flush(std::bit_cast<Float>(data))) : data) : old;
  else if constexpr (kOp == AtomicOp::add) return old + data;
  else if constexpr (kOp == AtomicOp::sub) return old - data;
  else if constexpr (kOp == AtomicOp::rsub) return data - old;
  else if constexpr (kOp == AtomicOp::inc) return old >= data ? T{0} : old + 1;
  else if constexpr (kOp == AtomicOp::dec) return old == 0 || old > data ? data : old - 1;
  else if constexpr (kOp == AtomicOp::smin) return static_cast<Signed>(data) < static_cast<Signed>(old) ? data : old;
  else if constexpr (kOp == AtomicOp::umin) return data < old ? data : old;
  else if constexpr (kOp == AtomicOp::smax) return static_cast<Signed>(data) > static_cast<Signed>(old) ? data : old;
  else if constexpr (kOp == AtomicOp::umax) return data > old ? data : old;
  else if constexpr (kOp == AtomicOp::and_) return old & data;
  else if constexpr (kOp == AtomicOp::or_) return old | data;
  else if constexpr (kOp == AtomicOp::xor_) return old ^ data;
  else if constexpr (kOp == AtomicOp::mskor) return (old & ~compare) | data;
  else if constexpr (kOp == AtomicOp::add_f32 || kOp == AtomicOp::add_f64) return bits(add(f(old), f(data)));
  else if constexpr (kOp == AtomicOp::min_f32 || kOp == AtomicOp::min_f64)
    return std::bit_cast<T>(extreme<Float, false>(std::bit_cast<Float>(old), std::bit_cast<Float>(data), denormals.flush_in));
  else if constexpr (kOp == AtomicOp::max_f32 || kOp == AtomicOp::max_f64)
    return std::bit_cast<T>(extreme<Float, true>(std::bit_cast<Float>(old), std::bit_cast<Float>(data), denormals.flush_in));
  else if constexpr (kOp == AtomicOp::pk_add_f16) return packed_add<num::kF16>(old, data, denormals);
  else {
    static_assert(kOp == AtomicOp::pk_add_bf16);
    return packed_add<num::kBf16>(old, data, denormals);
  }
}

// Calls f.template operator()<op>() for an operation that exists on 32 or 64 bits; false if there is none.
template <class T, class F>
inline bool dispatch(AtomicOp op, F&& f) {
  switch (op) {
#define AQL_ATOMIC(name) case AtomicOp::name: f.template operator()<AtomicOp::name>(); return true
    AQL_ATOMIC(swap); AQL_ATOMIC(cmpswap); AQL_ATOMIC(cmpswap_f); AQL_ATOMIC(add); AQL_ATOMIC(sub); AQL_ATOMIC(rsub); AQL_ATOMIC(inc); AQL_ATOMIC(dec);
    AQL_ATOMIC(smin); AQL_ATOMIC(umin); AQL_ATOMIC(smax); AQL_ATOMIC(umax); AQL_ATOMIC(and_); AQL_ATOMIC(or_); AQL_ATOMIC(xor_); AQL_ATOMIC(mskor);
  default: break;
  }
  if constexpr (sizeof(T) == 4) {
    switch (op) {
      AQL_ATOMIC(add_f32); AQL_ATOMIC(min_f32); AQL_ATOMIC(max_f32); AQL_ATOMIC(pk_add_f16); AQL_ATOMIC(pk_add_bf16);
    default: return false;
    }
  } else {
    switch (op) {
      AQL_ATOMIC(add_f64); AQL_ATOMIC(min_f64); AQL_ATOMIC(max_f64);
    default: return false;
    }
  }
#undef AQL_ATOMIC
}

} // namespace aql::sim::atomics
