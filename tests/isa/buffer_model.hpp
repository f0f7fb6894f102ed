#pragma once
// The slow model of buffer instructions: resources, addresses, range checking, typed elements. From the CDNA3/CDNA4 ISA guides'
// chapter on vector memory buffer instructions; apart from the library's code.

#include "isa/mem_model.hpp"

namespace aql::test::model {

struct Resource {
  std::uint64_t base = 0;
  std::uint32_t stride = 0, records = 0xffffffff;
  unsigned select[4] = {4, 5, 6, 7};
  unsigned number = 7, data = 4, index_stride_code = 0;
  bool swizzle = false, add_tid = false;

  [[nodiscard]] std::array<std::uint32_t, 4> words() const {
    std::uint32_t w3 = number << 12 | data << 15 | index_stride_code << 21 | (add_tid ? 1u << 23 : 0);
    for (unsigned c = 0; c < 4; ++c) w3 |= select[c] << (3 * c);
    return {static_cast<std::uint32_t>(base), static_cast<std::uint32_t>(base >> 32) | stride << 16 | (swizzle ? 1u << 31 : 0), records, w3};
  }
};

struct BufferLane {
  std::uint32_t index = 0, offset = 0; // VGPR parts, where the instruction has them
  bool idxen = false, offen = false;
  std::uint32_t imm = 0, soffset = 0;
  unsigned lane = 0;
};

// Offset from base + soffset of byte `add` of the access.
inline std::uint64_t position(const Resource& r, const BufferLane& l, std::uint32_t stride, std::uint32_t add) {
  const std::uint64_t index = (l.idxen ? l.index : 0u) + (r.add_tid ? l.lane : 0u);
  const std::uint64_t offset = (l.offen ? l.offset : 0u) + l.imm + add;
  if (!r.swizzle) return index * stride + offset;
  const std::uint64_t run = 8u << r.index_stride_code;
  return (index / run * stride + offset / 4 * 4) * run + index % run * 4 + offset % 4;
}

// Are all bytes of the piece [add, add + bytes) in range?
inline bool in_range(const Resource& r, const BufferLane& l, std::uint32_t stride, std::uint32_t add, std::uint32_t bytes) {
  if (r.add_tid && !l.idxen) return true; // private
  if (l.idxen && stride != 0) return (l.index + (r.add_tid ? l.lane : 0u)) < r.records;
  const std::uint64_t last = std::uint64_t{(l.offen ? l.offset : 0u) + l.imm} + l.soffset + add + bytes - 1;
  return last < r.records;
}

// --- typed elements
struct Format {
  unsigned bits[4];
  unsigned count, bytes;
};
inline const Format& format(unsigned data) {
  static const Format kNone{{}, 0, 0};
  static const Format kAll[] = {{{8}, 1, 1}, {{16}, 1, 2}, {{8, 8}, 2, 2}, {{32}, 1, 4}, {{16, 16}, 2, 4}, {{11, 11, 10}, 3, 4}, {{10, 11, 11}, 3, 4},
                                {{2, 10, 10, 10}, 4, 4}, {{10, 10, 10, 2}, 4, 4}, {{8, 8, 8, 8}, 4, 4}, {{32, 32}, 2, 8}, {{16, 16, 16, 16}, 4, 8},
                                {{32, 32, 32}, 3, 12}, {{32, 32, 32, 32}, 4, 16}};
  return data >= 1 && data <= 14 ? kAll[data - 1] : kNone;
}

inline std::uint32_t f32_bits(double v) {
  const auto f = static_cast<float>(v);
  std::uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}
inline float f32_of(std::uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

// Bits of a float format (with a sign bit on top, if it has one) -> f32.
inline std::uint32_t widen_float(const Layout& f, std::uint64_t v) {
  if (f.nan(v) || (v & f.top()) == f.top()) {
    const auto fraction = static_cast<std::uint32_t>(v & ((1u << f.m) - 1));
    return ((v & f.sign()) != 0 ? 0x80000000u : 0u) | 0x7f800000u | fraction << (23 - f.m);
  }
  return f32_bits(static_cast<double>(f.value(v))) | ((v & f.sign()) != 0 ? 0x80000000u : 0u);
}

// Nearest number of a small format, ties to even, overflow to infinity; NaN: the quiet one with the payload's top bits.
inline std::uint64_t narrow_float(const Layout& f, std::uint32_t bits) {
  const std::uint64_t sign = (bits >> 31) != 0 ? f.sign() : 0;
  if (kF32.nan(bits)) return sign | f.top() | std::uint64_t{1} << (f.m - 1) | ((bits & 0x7fffff) >> (23 - f.m));
  const double magnitude = std::fabs(static_cast<double>(f32_of(bits)));
  std::uint64_t best = 0;
  for (std::uint64_t low = 0, high = f.top(); low <= high;) { // last code that is not above
    const std::uint64_t mid = (low + high) / 2;
    const long double value = mid == f.top() ? std::ldexp(1.0L, 1 << (f.e - 1)) : f.value(mid);
    if (value <= magnitude) {
      best = mid;
      low = mid + 1;
    } else {
      high = mid - 1;
    }
  }
  if (best == f.top()) return sign | best;
  const long double below = f.value(best), above = best + 1 == f.top() ? std::ldexp(1.0L, 1 << (f.e - 1)) : f.value(best + 1);
  const long double to_low = magnitude - below, to_high = above - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && (best & 1) != 0);
  return sign | (best + (up ? 1 : 0));
}

inline const Layout& small_float(unsigned bits) {
  static const Layout k11{5, 6}, k10{5, 5};
  return bits == 16 ? kF16 : bits == 11 ? k11 : k10;
}

inline std::uint32_t decode(std::uint32_t raw, unsigned bits, unsigned number) {
  if (bits == 32) return raw;
  const auto all = static_cast<double>((1u << bits) - 1), half = static_cast<double>((1u << (bits - 1)) - 1);
  const std::int32_t s = static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits);
  switch (number) {
  case 0: return f32_bits(raw / all);
  case 1: return f32_bits(s < -half ? -1.0 : s / half);
  case 2: return f32_bits(raw);
  case 3: return f32_bits(s);
  case 4: return raw;
  case 5: return static_cast<std::uint32_t>(s);
  case 6: return f32_bits((2.0 * s + 1.0) / all);
  default: return bits == 16 || bits == 11 || bits == 10 ? widen_float(small_float(bits), raw) : raw;
  }
}

inline std::uint32_t encode(std::uint32_t v, unsigned bits, unsigned number) {
  if (bits == 32) return v;
  const std::uint32_t mask = (1u << bits) - 1;
  const auto all = static_cast<double>(mask), half = static_cast<double>(mask / 2);
  const double d = kF32.nan(v) ? 0.0 : static_cast<double>(f32_of(v));
  const auto within = [](double x, double low, double high) { return x < low ? low : x > high ? high : x; };
  const auto even = [](double x) { // nearest integer, ties to even
    const double down = std::floor(x), rest = x - down;
    return rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0) ? down + 1 : down;
  };
  const auto toward_zero = [](double x) { return x < 0 ? std::ceil(x) : std::floor(x); };
  double result = 0;
  switch (number) {
  case 0: result = even(within(d, 0, 1) * all); break;
  case 1: result = even(within(d, -1, 1) * half); break;
  case 2: result = toward_zero(within(d, 0, all)); break;
  case 3: result = toward_zero(within(d, -half - 1, half)); break;
  case 6: result = kF32.nan(v) ? 0 : within(even((within(d, -1, 1) * all - 1) / 2), -half - 1, half); break;
  case 7:
    if (bits == 16) return static_cast<std::uint32_t>(narrow_float(kF16, v));
    if (bits != 11 && bits != 10) return v & mask;
    if ((v >> 31) != 0 && !kF32.nan(v)) return 0;
    if (kF32.nan(v)) return static_cast<std::uint32_t>(small_float(bits).quiet(small_float(bits).top())); // no room for a payload
    return static_cast<std::uint32_t>(narrow_float(small_float(bits), v)) & mask;
  default: return v & mask;
  }
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(result)) & mask;
}

inline bool integer_format(unsigned number) { return number == 4 || number == 5; }

} // namespace aql::test::model
