#pragma once
// A slow model of memory instructions, one lane at a time and byte by byte, written from the ISA guides' pseudocode and apart
// from the library's code: nothing of it is included here.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace aql::test::model {

using ByteAt = std::function<std::uint8_t&(std::uint32_t)>; // byte n of the lane's access

inline std::uint64_t get(const ByteAt& at, std::uint32_t from, std::uint32_t bytes) {
  std::uint64_t v = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) v |= std::uint64_t{at(from + i)} << (8 * i);
  return v;
}
inline void put(const ByteAt& at, std::uint32_t from, std::uint32_t bytes, std::uint64_t v) {
  for (std::uint32_t i = 0; i < bytes; ++i) at(from + i) = static_cast<std::uint8_t>(v >> (8 * i));
}

struct FloatRules {
  bool flush_in = false, flush_out = false;
};

// --- floating point by its bits: e exponent bits, m mantissa bits
struct Layout {
  int e, m;
  [[nodiscard]] std::uint64_t sign() const { return std::uint64_t{1} << (e + m); }
  [[nodiscard]] std::uint64_t top() const { return ((std::uint64_t{1} << e) - 1) << m; }
  [[nodiscard]] bool nan(std::uint64_t v) const { return (v & ~sign()) > top(); }
  [[nodiscard]] bool snan(std::uint64_t v) const { return nan(v) && ((v >> (m - 1)) & 1) == 0; }
  [[nodiscard]] std::uint64_t quiet(std::uint64_t v) const { return v | std::uint64_t{1} << (m - 1); }
  [[nodiscard]] bool denormal(std::uint64_t v) const { return (v & top()) == 0; }
  [[nodiscard]] std::uint64_t flushed(std::uint64_t v) const { return denormal(v) ? v & sign() : v; }
  // Order of numbers as an integer, -0 below +0.
  [[nodiscard]] std::int64_t rank(std::uint64_t v) const {
    const auto magnitude = static_cast<std::int64_t>(v & ~sign());
    return (v & sign()) != 0 ? -magnitude - 1 : magnitude;
  }
  [[nodiscard]] long double value(std::uint64_t v) const {
    const auto fraction = static_cast<long double>(v & ((std::uint64_t{1} << m) - 1));
    const int exponent = static_cast<int>((v & top()) >> m), bias = (1 << (e - 1)) - 1;
    const long double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - m) : std::ldexp(fraction + std::ldexp(1.0L, m), exponent - bias - m);
    return (v & sign()) != 0 ? -magnitude : magnitude;
  }
};
inline constexpr Layout kF16{5, 10}, kBf16{8, 7}, kF32{8, 23}, kF64{11, 52};

inline std::uint64_t add(const Layout& f, std::uint64_t a, std::uint64_t b, FloatRules rules) {
  if (rules.flush_in) {
    a = f.flushed(a);
    b = f.flushed(b);
  }
  if (f.nan(a)) return f.quiet(a);
  if (f.nan(b)) return f.quiet(b);
  const bool a_inf = (a & ~f.sign()) == f.top(), b_inf = (b & ~f.sign()) == f.top();
  if (a_inf && b_inf) return a == b ? a : f.quiet(f.top());
  if (a_inf) return a;
  if (b_inf) return b;
  std::uint64_t result = 0;
  if (f.m == 52) { // wider than any type that could hold the exact sum: the host's own addition
    double x, y;
    std::memcpy(&x, &a, 8);
    std::memcpy(&y, &b, 8);
    const volatile double sum = x + y;
    const double copy = sum;
    std::memcpy(&result, &copy, 8);
  } else {
    // The nearest representable number of the exact sum, ties to even: found by bisection over the magnitudes.
    const long double sum = f.value(a) + f.value(b); // exact, or far more precise than a tie needs
    const long double magnitude = std::fabs(sum);
    std::uint64_t low = 0, high = f.top();
    while (low + 1 < high) {
      const std::uint64_t mid = (low + high) / 2;
      (f.value(mid) <= magnitude ? low : high) = mid;
    }
    const long double below = f.value(low);
    const long double above = high == f.top() ? std::ldexp(1.0L, 1 << (f.e - 1)) : f.value(high);
    const long double middle = (below + above) / 2;
    const std::uint64_t nearest = magnitude > middle || (magnitude == middle && (low & 1) != 0) ? high : low;
    const bool zero_negative = (a & f.sign()) != 0 && (b & f.sign()) != 0;
    const bool negative = sum < 0 || (sum == 0 && zero_negative);
    result = nearest | (negative ? f.sign() : 0);
  }
  return rules.flush_out ? f.flushed(result) : result;
}

inline std::uint64_t extreme(const Layout& f, std::uint64_t a, std::uint64_t b, bool max, FloatRules rules) {
  if (f.snan(a)) return f.quiet(a);
  if (f.snan(b)) return f.quiet(b);
  if (f.nan(a)) return b;
  if (f.nan(b)) return a;
  const std::int64_t x = f.rank(rules.flush_in ? f.flushed(a) : a), y = f.rank(rules.flush_in ? f.flushed(b) : b);
  return (max ? y > x : y < x) ? b : a; // MEM = src > tmp ? src : tmp
}

inline std::uint64_t compare_swap(const Layout& f, std::uint64_t old, std::uint64_t compare, std::uint64_t fresh, FloatRules rules) {
  const auto in = [&](std::uint64_t v) { return rules.flush_in ? f.flushed(v) : v; };
  if (f.nan(old) || f.nan(compare)) return old;
  const std::uint64_t x = in(old), y = in(compare);
  const bool equal = x == y || ((x | y) & ~f.sign()) == 0;
  return equal ? in(fresh) : old;
}

inline std::uint64_t packed(const Layout& f, std::uint64_t a, std::uint64_t b, FloatRules rules) {
  return add(f, a & 0xffff, b & 0xffff, rules) | add(f, a >> 16, b >> 16, rules) << 16;
}

// New value of an integer or float atomic. `kind` is the operation's name with its type ("add_f32", "smin", "inc").
// `other`: comparand of cmpswap, mask of mskor.
inline std::uint64_t atomic(const std::string& kind, unsigned bytes, std::uint64_t old, std::uint64_t data, std::uint64_t other, FloatRules rules) {
  const std::uint64_t mask = bytes == 4 ? 0xffffffffull : ~0ull;
  const auto s = [&](std::uint64_t v) { return bytes == 4 ? std::int64_t{static_cast<std::int32_t>(v)} : static_cast<std::int64_t>(v); };
  if (kind == "swap") return data;
  if (kind == "cmpswap") return old == other ? data : old;
  if (kind == "add") return (old + data) & mask;
  if (kind == "sub") return (old - data) & mask;
  if (kind == "rsub") return (data - old) & mask;
  if (kind == "inc") return old >= data ? 0 : old + 1;
  if (kind == "dec") return old == 0 || old > data ? data : old - 1;
  if (kind == "smin") return s(old) < s(data) ? old : data;
  if (kind == "smax") return s(old) > s(data) ? old : data;
  if (kind == "umin") return old < data ? old : data;
  if (kind == "umax") return old > data ? old : data;
  if (kind == "and") return old & data;
  if (kind == "or") return old | data;
  if (kind == "xor") return old ^ data;
  if (kind == "mskor") return (old & ~other) | data;
  if (kind == "add_f32") return add(kF32, old, data, rules);
  if (kind == "add_f64") return add(kF64, old, data, rules);
  if (kind == "pk_add_f16") return packed(kF16, old, data, rules);
  if (kind == "pk_add_bf16") return packed(kBf16, old, data, rules);
  if (kind == "min_f32") return extreme(kF32, old, data, false, rules);
  if (kind == "max_f32") return extreme(kF32, old, data, true, rules);
  if (kind == "min_f64") return extreme(kF64, old, data, false, rules);
  if (kind == "max_f64") return extreme(kF64, old, data, true, rules);
  if (kind == "cmpst_f32") return compare_swap(kF32, old, other, data, rules);
  if (kind == "cmpst_f64") return compare_swap(kF64, old, other, data, rules);
  std::abort();
}

using Regs = std::array<std::uint32_t, 4>;

inline std::uint64_t pair(const Regs& r, unsigned first) { return r[first] | std::uint64_t{r[first + 1]} << 32; }

// A byte or half as its load leaves it in a register that held `before`.
inline std::uint32_t small_result(std::uint32_t raw, unsigned bytes, bool sign, const std::string& half, std::uint32_t before, bool ecc) {
  std::uint32_t v = raw;
  const std::uint32_t top = 1u << (bytes * 8 - 1);
  if (sign && (raw & top) != 0) v |= ~(top * 2 - 1);
  if (half == "low") return (ecc ? 0 : before & 0xffff0000u) | (v & 0xffff);
  if (half == "high") return v << 16 | (ecc ? 0 : before & 0xffff);
  return v;
}

// Name of a small access: bytes, signedness, half. False: not one.
inline bool parse_small(std::string name, unsigned& bytes, bool& sign, std::string& half) {
  half = "";
  if (name.size() > 7 && name.substr(name.size() - 7) == "_d16_hi") half = "high";
  else if (name.size() > 4 && name.substr(name.size() - 4) == "_d16") half = "low";
  name = name.substr(0, name.find("_d16"));
  sign = name == "sbyte" || name == "sshort";
  if (name == "ubyte" || name == "sbyte" || name == "byte") bytes = 1;
  else if (name == "ushort" || name == "sshort" || name == "short") bytes = 2;
  else return false;
  return true;
}

struct LaneState {
  Regs data{};    // source registers
  Regs result{};  // result registers: before, then after
  FloatRules f32, f64;
  bool ecc = true;
};

inline unsigned dwords_of(const std::string& name) { // "..dword", "..dwordx3"
  const auto x = name.find("dwordx");
  return x == std::string::npos ? 1 : static_cast<unsigned>(name[x + 6] - '0');
}

inline unsigned access_bytes(const std::string& name) {
  unsigned bytes;
  bool sign;
  std::string half;
  if (name.rfind("atomic_", 0) == 0) return name.find("_x2") != std::string::npos || name.find("f64") != std::string::npos ? 8 : 4;
  const std::string rest = name.substr(name.find('_') + 1);
  if (parse_small(rest, bytes, sign, half)) return bytes;
  return dwords_of(name) * 4;
}

// One lane of a FLAT, GLOBAL, SCRATCH or MUBUF instruction (name without the family's prefix).
inline void access(const std::string& name, bool returns, const ByteAt& at, LaneState& lane) {
  unsigned bytes;
  bool sign;
  std::string half;
  if (name.rfind("atomic_", 0) == 0) {
    std::string kind = name.substr(7);
    bytes = access_bytes(name);
    if (const auto x2 = kind.find("_x2"); x2 != std::string::npos) kind = kind.substr(0, x2);
    const std::uint64_t old = get(at, 0, bytes);
    const std::uint64_t data = bytes == 4 ? lane.data[0] : pair(lane.data, 0), compare = bytes == 4 ? lane.data[1] : pair(lane.data, 2);
    put(at, 0, bytes, atomic(kind, bytes, old, data, compare, bytes == 4 ? lane.f32 : lane.f64));
    if (returns) {
      lane.result[0] = static_cast<std::uint32_t>(old);
      if (bytes == 8) lane.result[1] = static_cast<std::uint32_t>(old >> 32);
    }
    return;
  }
  const bool load = name.rfind("load_", 0) == 0;
  const std::string rest = name.substr(name.find('_') + 1);
  if (parse_small(rest, bytes, sign, half)) {
    if (load) lane.result[0] = small_result(static_cast<std::uint32_t>(get(at, 0, bytes)), bytes, sign, half, lane.result[0], lane.ecc);
    else put(at, 0, bytes, half == "high" ? lane.data[0] >> 16 : lane.data[0]);
    return;
  }
  for (unsigned d = 0; d < dwords_of(name); ++d) {
    if (load) lane.result[d] = static_cast<std::uint32_t>(get(at, d * 4, 4));
    else put(at, d * 4, 4, lane.data[d]);
  }
}

// Values that arithmetic is most often wrong about, and random ones.
template <class Random>
std::uint32_t interesting(Random& random) {
  static constexpr std::uint32_t kEdges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                             0x7fc00000, 0x7f800001, 0xffc12345, 0x007fffff, 0x00800000, 0x80000003, 0x7ff00000, 0xfff00000, 0x7ff80000,
                                             0x3c003c00, 0x7c00fc00, 0x80000400, 0x00010001, 0x7e007c01, 0x3f803f80, 0x7f80ff80, 0x00407fc1};
  const auto r = random();
  return r % 3 == 0 ? kEdges[(r >> 8) % (sizeof kEdges / 4)] : static_cast<std::uint32_t>(r >> 16);
}

} // namespace aql::test::model
