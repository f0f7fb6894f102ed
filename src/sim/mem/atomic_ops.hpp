#pragma once
// What each read-modify-write operation makes of the old value: scalar functions, used for global memory (real atomics), LDS
// and GWS-free DS instructions alike. CDNA3 ISA guide, "DS instructions" and "FLAT, scratch and global instructions".
// Thread safety: pure functions.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "sim/mem/port.hpp"

namespace aql::sim::atomics {

// Denormals that a floating-point operation treats as zero: MODE's fields for LDS; the L2 of gfx90a flushes f32.
struct Denormals {
  bool flush_in = false, flush_out = false;
};

template <class F>
inline F flush(F v) noexcept { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(F{0}, v) : v; }

inline float half_to_float(std::uint16_t h) noexcept {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float value = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

// Round to nearest even. The sum of two f16 is exact in f32, so converting it once is correct rounding.
inline std::uint16_t float_to_half(float f) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) { // result is subnormal or zero: let the f32 adder round at bit 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bf16_to_float(std::uint16_t h) noexcept { return std::bit_cast<float>(std::uint32_t{h} << 16); }

inline std::uint16_t float_to_bf16(float f) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <class F>
inline F min_number(F a, F b) noexcept { // a: memory, b: data; a number wins over NaN, -0 is below +0
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}

template <class F>
inline F max_number(F a, F b) noexcept {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return b > a ? b : a;
}

template <class F>
inline F quiet(F v) noexcept { return std::isnan(v) ? v + v : v; }

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
  else if constexpr (kOp == AtomicOp::cmpswap_f) return f(old) == f(compare) ? data : old;
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
  else if constexpr (kOp == AtomicOp::add_f32 || kOp == AtomicOp::add_f64) return bits(f(old) + f(data));
  else if constexpr (kOp == AtomicOp::min_f32 || kOp == AtomicOp::min_f64) return bits(quiet(min_number(f(old), f(data))));
  else if constexpr (kOp == AtomicOp::max_f32 || kOp == AtomicOp::max_f64) return bits(quiet(max_number(f(old), f(data))));
  else if constexpr (kOp == AtomicOp::pk_add_f16) {
    const auto half = [](T v, unsigned shift) { return half_to_float(static_cast<std::uint16_t>(v >> shift)); };
    const T low = float_to_half(half(old, 0) + half(data, 0)), high = float_to_half(half(old, 16) + half(data, 16));
    return low | high << 16;
  } else {
    static_assert(kOp == AtomicOp::pk_add_bf16);
    const auto half = [](T v, unsigned shift) { return bf16_to_float(static_cast<std::uint16_t>(v >> shift)); };
    const T low = float_to_bf16(half(old, 0) + half(data, 0)), high = float_to_bf16(half(old, 16) + half(data, 16));
    return low | high << 16;
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
