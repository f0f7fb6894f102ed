#pragma once
// Reference for vector instructions on small and packed numbers: everything around the operation (operand fetch, SDWA, op_sel, neg
// and abs, denormal flush, clamp, omod, placement), one lane at a time, from the decoded fields and the operand types of the
// opcode tables. Written apart from src/sim/exec; arithmetic is exact (128-bit float or integers) and rounded once by search of
// the quantum. A family's test gives the operations: a function from source values to a result.

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"
#include "sim/isa/op_info.hpp"

namespace reference {

using namespace aql;
using sim::Arch;
using sim::Inst;
using sim::Mode;
using sim::isa::Elem;
__extension__ typedef __float128 f128;

// --- numbers ---------------------------------------------------------------------------------------------------------

inline double f16_value(std::uint32_t h) { // no NaN
  const int e = static_cast<int>(h >> 10 & 31), m = static_cast<int>(h & 1023);
  const double v = e == 31 ? HUGE_VAL : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}
inline bool f16_nan(std::uint32_t h) { return (h & 0x7fff) > 0x7c00; }
inline bool f16_snan(std::uint32_t h) { return f16_nan(h) && (h & 0x200) == 0; }
inline bool f16_inf(std::uint32_t h) { return (h & 0x7fff) == 0x7c00; }
inline float f32_of(std::uint32_t v) { return std::bit_cast<float>(v); }
inline std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }
inline bool f32_nan(std::uint32_t v) { return (v & 0x7fffffff) > 0x7f800000; }

// |x| as integer * 2^scale, floor and whether something is left.
struct Quotient { unsigned long long whole; int half; }; // half: -1 below, 0 at, 1 above the midpoint; -2 exact
inline Quotient divide(f128 magnitude, int quantum_exponent) {
  f128 q = 1;
  for (int i = 0; i < quantum_exponent; ++i) q *= 2;
  for (int i = 0; i > quantum_exponent; --i) q /= 2;
  const f128 n = magnitude / q; // exact: a power of two
  const auto whole = static_cast<unsigned long long>(n);
  const f128 rest = n - static_cast<f128>(whole), middle = static_cast<f128>(0.5);
  return {whole, rest == 0 ? -2 : rest < middle ? -1 : rest == middle ? 0 : 1};
}
// Rounds an exact finite value to a format of e exponent and m mantissa bits; the code without sign, "beyond" if it overflows.
struct Rounded { std::uint64_t code; bool beyond; };
inline Rounded round_exact(f128 x, bool negative, int ebits, int mbits, int bias, unsigned mode) {
  const f128 a = x < 0 ? -x : x;
  int e = 1 - bias; // exponent of the binade, not below the smallest normal
  f128 two = 1;
  for (int i = 0; i < e; ++i) two *= 2;
  for (int i = 0; i > e; --i) two /= 2;
  while (a >= two * 2 && e < 20000) { two *= 2; ++e; }
  const Quotient q = divide(a, e - mbits);
  unsigned long long n = q.whole;
  if (q.half != -2) {
    if (mode == 0) n += q.half > 0 || (q.half == 0 && (n & 1) != 0) ? 1 : 0;
    if (mode == 1) n += negative ? 0 : 1;
    if (mode == 2) n += negative ? 1 : 0;
  }
  // n counts quanta: below 2^m subnormal; the carry to the next binade is the plain sum
  const std::uint64_t code = n < (1ull << mbits) ? n : (static_cast<std::uint64_t>(e + bias - 1) << mbits) + n;
  const std::uint64_t top = (1ull << ebits) - 1;
  return {code, code >= top << mbits};
}
// To f16 with MODE's rounding and FP16_OVFL. `x` finite.
inline std::uint32_t to_f16(f128 x, Mode mode, bool negative_zero = false) {
  const bool negative = x < 0 || (x == 0 && negative_zero);
  const Rounded r = round_exact(x, negative, 5, 10, 15, mode.round16_64());
  const std::uint32_t sign = negative ? 0x8000u : 0u;
  if (!r.beyond) return sign | static_cast<std::uint32_t>(r.code);
  const unsigned m = mode.round16_64();
  const bool outward = m == 0 || m == (negative ? 2u : 1u);
  return sign | (outward && !mode.fp16_ovfl() ? 0x7c00u : 0x7bffu);
}
inline std::uint32_t f16_flushed(std::uint32_t h) { return (h & 0x7c00) == 0 ? h & 0x8000 : h; }
inline std::uint32_t f32_flushed(std::uint32_t v) { return (v & 0x7f800000) == 0 ? v & 0x80000000 : v; }

// Host arithmetic in a MODE's f32 rounding.
class HostRounding {
public:
  explicit HostRounding(unsigned mode) : saved_(std::fegetround()) {
    constexpr int kHost[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(kHost[mode]);
  }
  ~HostRounding() { std::fesetround(saved_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

private:
  int saved_;
};

// --- an operation ----------------------------------------------------------------------------------------------------

struct Call {
  Arch arch{};
  Mode mode{};
  const Inst* inst = nullptr;
  std::uint64_t s[4] = {};                  // sources, modified and flushed; 16-bit ones in the low half
  std::vector<std::uint32_t> words[3];      // sources of more than two registers, as they are
  std::vector<std::uint32_t> old;           // destination before
  std::vector<std::uint32_t> out;           // destination after (before placement)
  [[nodiscard]] std::uint32_t u(unsigned n) const { return static_cast<std::uint32_t>(s[n]); }
  [[nodiscard]] std::uint32_t h(unsigned n, unsigned half) const { return u(n) >> (16 * half) & 0xffffu; }
  [[nodiscard]] float f(unsigned n) const { return f32_of(u(n)); }
  [[nodiscard]] double d(unsigned n) const { return std::bit_cast<double>(s[n]); }
  [[nodiscard]] bool clamp() const { return inst->mod.clamp; }
  void result(std::uint64_t v) { out.assign({static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(v >> 32)}); }
};

enum Flags : unsigned {
  kKeepHigh = 1,        // the other half of the destination stays
  kOwnSourceDenorm = 2, // the operation flushes or keeps sources by itself
  kOwnResultDenorm = 4,
  kRawModifiers = 8,    // source modifiers mean something else: the operation looks at inst.mod
  kWhole = 16,          // out is the whole destination register; no float post-processing
  kHighResult = 32,     // result goes to the high half, the low half stays
};
struct Operation {
  std::function<void(Call&)> apply;
  unsigned flags = 0;
};
using Operations = std::map<std::string, Operation>;

enum class Kind { integer, f16, f32, f64, pair_f16, pair_int, pair_f32, wide };
inline Kind kind_of(const sim::isa::OperandSpec& s) {
  if (s.count == 1) {
    switch (s.elem) {
    case Elem::f16: return Kind::f16;
    case Elem::f32: return Kind::f32;
    case Elem::f64: return Kind::f64;
    default: return Kind::integer;
    }
  }
  if (s.count == 2 && (s.elem == Elem::f16 || s.elem == Elem::bf16)) return Kind::pair_f16;
  if (s.count == 2 && bits_of(s.elem) == 16) return Kind::pair_int;
  if (s.count == 2 && s.elem == Elem::f32) return Kind::pair_f32;
  return s.dwords() > 2 ? Kind::wide : Kind::integer;
}

// What the instruction leaves in its destination registers, one lane.
class Machine {
public:
  Machine(const Inst& inst, const Operation& op, Arch arch, const sim::Wave& before) : in_(inst), op_(op), arch_(arch), w_(before) {}

  // Registers of the destination after the instruction in `lane`.
  std::vector<std::uint32_t> run(unsigned lane, const std::vector<sim::VReg>& before) const {
    Call c;
    c.arch = arch_;
    c.mode = w_.mode;
    c.inst = &in_;
    const auto& dst = in_.info->dst[0];
    const unsigned rows = dst.dwords();
    for (unsigned r = 0; r < rows; ++r) c.old.push_back(before[in_.dst.index + r].lane[lane]);
    for (unsigned n = 0; n < 3; ++n)
      if (in_.info->src[n].used()) fetch(c, n, lane, before);
    op_.apply(c);
    std::vector<std::uint32_t> out(c.out.begin(), c.out.begin() + static_cast<long>(std::min<std::size_t>(rows, c.out.size())));
    if ((op_.flags & kWhole) != 0) return out;
    finish(out, kind_of(dst));
    place(out, c.old, dst);
    return out;
  }

private:
  void fetch(Call& c, unsigned n, unsigned lane, const std::vector<sim::VReg>& before) const {
    const auto& spec = in_.info->src[n];
    const auto& o = in_.src[n];
    const unsigned rows = spec.dwords();
    std::vector<std::uint32_t> v;
    unsigned from = lane;
    if (n == 0 && in_.extra == sim::isa::Extra::dpp) { // quad_perm, or row_newbcast (the one that 64-bit operations have)
      const unsigned ctrl = in_.dpp.ctrl;
      from = ctrl < 0x100 ? (lane & ~3u) | (ctrl >> (2 * (lane & 3)) & 3u) : (lane & ~15u) | (ctrl & 15u);
    }
    for (unsigned r = 0; r < rows; ++r) {
      if (o.kind == sim::isa::OperandKind::vgpr) v.push_back(before[o.index + r].lane[from]);
      else if (o.kind == sim::isa::OperandKind::constant) v.push_back(r == 0 ? o.value : o.value_hi);
      else v.push_back(w_.sgpr[o.index + r]);
    }
    const Kind k = kind_of(spec);
    if (k == Kind::wide) {
      c.words[n] = v;
      return;
    }
    std::uint64_t value = v[0] | (rows == 2 ? std::uint64_t{v[1]} << 32 : 0);
    const auto& m = in_.mod;
    const bool raw = (op_.flags & kRawModifiers) != 0;
    const bool lo_high = (m.op_sel >> n & 1) != 0, hi_high = (m.op_sel_hi >> n & 1) != 0;
    const bool neg = (m.neg >> n & 1) != 0, abs = (m.abs >> n & 1) != 0;
    if (!raw && in_.format == sim::isa::Format::vop3p && k != Kind::integer && k != Kind::f32) {
      if (k == Kind::pair_f32) {
        const std::uint32_t lo = v[lo_high] ^ (neg ? 0x80000000u : 0u), hi = v[hi_high] ^ (abs ? 0x80000000u : 0u);
        value = lo | std::uint64_t{hi} << 32;
      } else {
        std::uint32_t lo = v[0] >> (lo_high ? 16 : 0) & 0xffffu, hi = v[0] >> (hi_high ? 16 : 0) & 0xffffu;
        if (k == Kind::pair_f16) lo ^= neg ? 0x8000u : 0u, hi ^= abs ? 0x8000u : 0u;
        value = lo | hi << 16;
      }
    } else if (!raw) {
      const bool sixteen = spec.count == 1 && bits_of(spec.elem) == 16;
      if (in_.extra == sim::isa::Extra::sdwa && n < 2) {
        const unsigned sel = n == 0 ? in_.sdwa.src0_sel : in_.sdwa.src1_sel;
        const unsigned bits = sel < 4 ? 8 : sel < 6 ? 16 : 32, at = sel < 4 ? 8 * sel : sel < 6 ? 16 * (sel - 4) : 0;
        value = value >> at & ((std::uint64_t{1} << bits) - 1);
        const bool sext = n == 0 ? in_.sdwa.src0_sext : in_.sdwa.src1_sext;
        if (sext && bits < 32 && (value >> (bits - 1) & 1) != 0) value |= 0xffffffffull << bits & 0xffffffffull;
      }
      if (sixteen) value = value >> (lo_high ? 16 : 0) & 0xffffu;
      const std::uint64_t sign = k == Kind::pair_f16 ? 0x80008000u : k == Kind::f16 || spec.elem == Elem::bf16 ? 0x8000u : k == Kind::f32 ? 0x80000000u : k == Kind::f64 ? 1ull << 63 : 0;
      if (abs) value &= ~sign;
      if (neg) value ^= sign;
    }
    if ((op_.flags & kOwnSourceDenorm) == 0) value = flush(value, k, spec.elem, 1);
    c.s[n] = value;
  }

  std::uint64_t flush(std::uint64_t v, Kind k, Elem elem, unsigned which) const {
    if (elem == Elem::bf16) return v;
    const bool keep32 = (w_.mode.denorm32() & which) != 0, keep16 = (w_.mode.denorm16_64() & which) != 0;
    const auto lo = static_cast<std::uint32_t>(v), hi = static_cast<std::uint32_t>(v >> 32);
    switch (k) {
    case Kind::f32: return keep32 ? v : f32_flushed(lo);
    case Kind::pair_f32: return keep32 ? v : f32_flushed(lo) | std::uint64_t{f32_flushed(hi)} << 32;
    case Kind::f16: return keep16 ? v : f16_flushed(lo);
    case Kind::pair_f16: return keep16 ? v : f16_flushed(lo & 0xffff) | f16_flushed(lo >> 16) << 16;
    case Kind::f64: return !keep16 && (hi & 0x7ff00000) == 0 ? v & 1ull << 63 : v;
    default: return v;
    }
  }

  std::uint32_t clamp16(std::uint32_t h) const {
    if (!in_.mod.clamp) return h;
    if (f16_nan(h)) return w_.mode.dx10_clamp() ? 0 : h;
    const double v = f16_value(h);
    return v < 0 ? 0 : v > 1 ? 0x3c00 : h;
  }
  std::uint32_t clamp32(std::uint32_t v) const {
    if (!in_.mod.clamp) return v;
    if (f32_nan(v)) return w_.mode.dx10_clamp() ? 0 : v;
    return f32_of(v) < 0 ? 0 : f32_of(v) > 1 ? 0x3f800000 : v;
  }
  // omod works only where result denormals are flushed and IEEE is off; zero of either sign gives +0, and so does what becomes subnormal
  // by halving.
  template <int M, std::uint64_t Top> std::uint64_t scaled(std::uint64_t v, std::uint64_t sign) const {
    const std::uint64_t e = (v & ~sign) >> M;
    if (e == Top) return v;
    if (e == 0) return 0;
    const std::uint64_t s = v & sign, m = v & ((1ull << M) - 1);
    const std::uint64_t to = in_.mod.omod == 3 ? e - 1 : e + in_.mod.omod;
    return to == 0 ? 0 : to >= Top ? s | Top << M : s | to << M | m;
  }
  void finish(std::vector<std::uint32_t>& out, Kind k) const {
    std::uint64_t v = out[0] | (out.size() > 1 ? std::uint64_t{out[1]} << 32 : 0);
    if ((op_.flags & kOwnResultDenorm) == 0) v = flush(v, k, Elem::f32, 2);
    const bool half_class = k == Kind::f16 || k == Kind::f64 || k == Kind::pair_f16;
    const bool keeps = ((half_class ? w_.mode.denorm16_64() : w_.mode.denorm32()) & 2) != 0;
    if (in_.mod.omod != 0 && !keeps && !w_.mode.ieee()) {
      if (k == Kind::f16) v = scaled<10, 31>(v, 0x8000u);
      if (k == Kind::f32) v = scaled<23, 255>(v, 0x80000000u);
      if (k == Kind::f64) v = scaled<52, 2047>(v, 1ull << 63);
      if (k == Kind::pair_f32)
        v = scaled<23, 255>(v & 0xffffffffu, 0x80000000u) | scaled<23, 255>(v >> 32, 0x80000000u) << 32;
    }
    const auto lo = static_cast<std::uint32_t>(v), hi = static_cast<std::uint32_t>(v >> 32);
    if (k == Kind::f16) v = clamp16(lo);
    if (k == Kind::pair_f16) v = clamp16(lo & 0xffff) | clamp16(lo >> 16) << 16;
    if (k == Kind::f32) v = clamp32(lo);
    if (k == Kind::pair_f32) v = clamp32(lo) | std::uint64_t{clamp32(hi)} << 32;
    if (k == Kind::f64 && in_.mod.clamp) {
      const double d = std::bit_cast<double>(v);
      v = d != d ? (w_.mode.dx10_clamp() ? 0 : v) : d < 0 ? 0 : d > 1 ? std::bit_cast<std::uint64_t>(1.0) : v;
    }
    if (k == Kind::wide) return;
    out[0] = static_cast<std::uint32_t>(v);
    if (out.size() > 1) out[1] = static_cast<std::uint32_t>(v >> 32);
  }
  void place(std::vector<std::uint32_t>& out, const std::vector<std::uint32_t>& old, const sim::isa::OperandSpec& dst) const {
    const bool sixteen = bits_of(dst.elem) * dst.count == 16;
    if (sixteen) {
      const std::uint32_t h = out[0] & 0xffff;
      if ((op_.flags & kHighResult) != 0 || (in_.mod.op_sel & 8) != 0) out[0] = h << 16 | (old[0] & 0xffff);
      else out[0] = (op_.flags & kKeepHigh) != 0 ? (old[0] & 0xffff0000) | h : h;
    }
    if (in_.extra != sim::isa::Extra::sdwa || in_.sdwa.dst_sel > 5) return;
    const unsigned bits = in_.sdwa.dst_sel < 4 ? 8 : 16, at = in_.sdwa.dst_sel < 4 ? 8 * in_.sdwa.dst_sel : 16 * (in_.sdwa.dst_sel - 4u);
    const std::uint32_t mask = ((1u << bits) - 1) << at, field = out[0] << at & mask;
    if (in_.sdwa.dst_unused == 0) out[0] = field;
    if (in_.sdwa.dst_unused == 1) out[0] = static_cast<std::uint32_t>(static_cast<std::int32_t>(field << (32 - bits - at)) >> (32 - bits - at));
    if (in_.sdwa.dst_unused == 2) out[0] = (old[0] & ~mask) | field;
  }

  const Inst& in_;
  const Operation& op_;
  Arch arch_;
  const sim::Wave& w_;
};

} // namespace reference
