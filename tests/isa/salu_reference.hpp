#pragma once
// What each scalar operation computes, written down a second time: from the ISA guides' wording, bit by bit or in wider
// arithmetic, apart from src/sim/exec.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace aql::test::salu {

struct Outcome {
  std::uint64_t value = 0;
  bool scc = false;
};

// (first source, second source, SCC before) -> result and SCC after. Sources come with all 64 bits of their registers.
using Reference = std::function<Outcome(std::uint64_t, std::uint64_t, bool)>;

constexpr std::uint64_t low(std::uint64_t v, std::uint64_t bits) { return bits == 64 ? v : v & ((std::uint64_t{1} << bits) - 1); }
constexpr std::int64_t sign(std::uint64_t v, unsigned bits) {
  const std::uint64_t m = low(v, bits), top = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((m ^ top) - top);
}
constexpr bool bit(std::uint64_t v, std::uint64_t n) { return ((v >> n) & 1u) != 0; }

inline Outcome nonzero(std::uint64_t v, unsigned bits) { return {low(v, bits), low(v, bits) != 0}; }

// Bit by bit from a truth function.
inline std::uint64_t bitwise(std::uint64_t a, std::uint64_t b, unsigned bits, const std::function<bool(bool, bool)>& f) {
  std::uint64_t r = 0;
  for (unsigned n = 0; n < bits; ++n) r |= std::uint64_t{f(bit(a, n), bit(b, n))} << n;
  return r;
}

inline Outcome signed_sum(std::int64_t wide) {
  return {low(static_cast<std::uint64_t>(wide), 32), wide != sign(static_cast<std::uint64_t>(wide), 32)};
}

// Field of `size` bits at `offset` of a value that goes on for ever with `fill`.
inline std::uint64_t extract(std::uint64_t v, unsigned width, std::uint64_t offset, std::uint64_t size, bool is_signed) {
  std::uint64_t r = 0;
  const bool fill = is_signed && bit(v, width - 1);
  bool top = false;
  for (unsigned n = 0; n < size && n < width; ++n) {
    top = offset + n < width ? bit(v, static_cast<unsigned>(offset) + n) : fill;
    r |= std::uint64_t{top} << n;
  }
  if (is_signed && size != 0) {
    for (unsigned n = static_cast<unsigned>(size); n < width; ++n) r |= std::uint64_t{top} << n;
  }
  return r;
}

inline const std::map<std::string, Reference>& sop2() {
  using u64 = std::uint64_t;
  static const std::map<std::string, Reference> table = [] {
    std::map<std::string, Reference> t;
    t["s_add_u32"] = [](u64 a, u64 b, bool) { const u64 s = low(a, 32) + low(b, 32); return Outcome{low(s, 32), s > 0xffffffff}; };
    t["s_sub_u32"] = [](u64 a, u64 b, bool) { return Outcome{low(a - b, 32), low(b, 32) > low(a, 32)}; };
    t["s_add_i32"] = [](u64 a, u64 b, bool) { return signed_sum(sign(a, 32) + sign(b, 32)); };
    t["s_sub_i32"] = [](u64 a, u64 b, bool) { return signed_sum(sign(a, 32) - sign(b, 32)); };
    t["s_addc_u32"] = [](u64 a, u64 b, bool c) { const u64 s = low(a, 32) + low(b, 32) + c; return Outcome{low(s, 32), s > 0xffffffff}; };
    t["s_subb_u32"] = [](u64 a, u64 b, bool c) { return Outcome{low(a - b - c, 32), low(b, 32) + c > low(a, 32)}; };
    t["s_min_i32"] = [](u64 a, u64 b, bool) { const bool first = sign(a, 32) < sign(b, 32); return Outcome{low(first ? a : b, 32), first}; };
    t["s_max_i32"] = [](u64 a, u64 b, bool) { const bool first = sign(a, 32) > sign(b, 32); return Outcome{low(first ? a : b, 32), first}; };
    t["s_min_u32"] = [](u64 a, u64 b, bool) { const bool first = low(a, 32) < low(b, 32); return Outcome{low(first ? a : b, 32), first}; };
    t["s_max_u32"] = [](u64 a, u64 b, bool) { const bool first = low(a, 32) > low(b, 32); return Outcome{low(first ? a : b, 32), first}; };
    for (const unsigned bits : {32u, 64u}) {
      const std::string b = "_b" + std::to_string(bits), u = std::to_string(bits);
      t["s_cselect" + b] = [bits](u64 x, u64 y, bool c) { return Outcome{low(c ? x : y, bits), c}; };
      const auto logic = [&](const std::string& name, bool (*f)(bool, bool)) {
        t[name + b] = [bits, f](u64 x, u64 y, bool) { return nonzero(bitwise(x, y, bits, f), bits); };
      };
      logic("s_and", [](bool x, bool y) { return x && y; });
      logic("s_or", [](bool x, bool y) { return x || y; });
      logic("s_xor", [](bool x, bool y) { return x != y; });
      logic("s_andn2", [](bool x, bool y) { return x && !y; });
      logic("s_orn2", [](bool x, bool y) { return x || !y; });
      logic("s_nand", [](bool x, bool y) { return !(x && y); });
      logic("s_nor", [](bool x, bool y) { return !(x || y); });
      logic("s_xnor", [](bool x, bool y) { return x == y; });
      t["s_lshl" + b] = [bits](u64 x, u64 y, bool) { return nonzero(x << (y % bits), bits); };
      t["s_lshr" + b] = [bits](u64 x, u64 y, bool) { return nonzero(low(x, bits) >> (y % bits), bits); };
      t["s_ashr_i" + u] = [bits](u64 x, u64 y, bool) { return nonzero(extract(x, bits, y % bits, bits, true), bits); };
      t["s_bfm" + b] = [bits](u64 x, u64 y, bool c) { return Outcome{low(low(~u64{0}, x % bits) << (y % bits), bits), c}; };
      t["s_bfe_u" + u] = [bits](u64 x, u64 y, bool) { return nonzero(extract(x, bits, y % bits, (y >> 16) & 127, false), bits); };
      t["s_bfe_i" + u] = [bits](u64 x, u64 y, bool) { return nonzero(extract(x, bits, y % bits, (y >> 16) & 127, true), bits); };
    }
    t["s_mul_i32"] = [](u64 a, u64 b, bool c) { return Outcome{low(static_cast<u64>(sign(a, 32) * sign(b, 32)), 32), c}; };
    t["s_mul_hi_u32"] = [](u64 a, u64 b, bool c) { return Outcome{(low(a, 32) * low(b, 32)) >> 32, c}; };
    t["s_mul_hi_i32"] = [](u64 a, u64 b, bool c) { return Outcome{low(static_cast<u64>((sign(a, 32) * sign(b, 32)) >> 32), 32), c}; };
    t["s_absdiff_i32"] = [](u64 a, u64 b, bool) { const auto d = sign(a - b, 32); return nonzero(static_cast<u64>(d < 0 ? -d : d), 32); };
    for (const unsigned n : {1u, 2u, 3u, 4u}) {
      t["s_lshl" + std::to_string(n) + "_add_u32"] = [n](u64 a, u64 b, bool) { const u64 s = low(a, 32) * (1u << n) + low(b, 32); return Outcome{low(s, 32), s > 0xffffffff}; };
    }
    t["s_pack_ll_b32_b16"] = [](u64 a, u64 b, bool c) { return Outcome{(a & 0xffff) | (b & 0xffff) << 16, c}; };
    t["s_pack_lh_b32_b16"] = [](u64 a, u64 b, bool c) { return Outcome{(a & 0xffff) | ((b >> 16) & 0xffff) << 16, c}; };
    t["s_pack_hh_b32_b16"] = [](u64 a, u64 b, bool c) { return Outcome{((a >> 16) & 0xffff) | ((b >> 16) & 0xffff) << 16, c}; };
    return t;
  }();
  return table;
}

inline std::uint64_t first_bit(std::uint64_t v, unsigned bits, bool wanted, bool from_top) {
  for (unsigned n = 0; n < bits; ++n) {
    if (bit(v, from_top ? bits - 1 - n : n) == wanted) return n;
  }
  return 0xffffffff;
}
inline std::uint64_t sign_run(std::uint64_t v, unsigned bits) {
  for (unsigned n = 1; n < bits; ++n) {
    if (bit(v, bits - 1 - n) != bit(v, bits - 1)) return n;
  }
  return 0xffffffff;
}
inline std::uint64_t count(std::uint64_t v, unsigned bits, bool wanted) {
  std::uint64_t n = 0;
  for (unsigned i = 0; i < bits; ++i) n += bit(v, i) == wanted;
  return n;
}

// (source, destination's old value, SCC). Those that leave SCC alone return it.
inline const std::map<std::string, Reference>& sop1() {
  using u64 = std::uint64_t;
  static const std::map<std::string, Reference> table = [] {
    std::map<std::string, Reference> t;
    for (const unsigned bits : {32u, 64u}) {
      const std::string b = "_b" + std::to_string(bits);
      t["s_mov" + b] = [bits](u64 a, u64, bool c) { return Outcome{low(a, bits), c}; };
      t["s_cmov" + b] = [bits](u64 a, u64 d, bool c) { return Outcome{low(c ? a : d, bits), c}; };
      t["s_not" + b] = [bits](u64 a, u64, bool) { return nonzero(~a, bits); };
      t["s_wqm" + b] = [bits](u64 a, u64, bool) {
        u64 r = 0;
        for (unsigned n = 0; n < bits; ++n) r |= u64{((a >> (n & ~3u)) & 15) != 0} << n;
        return nonzero(r, bits);
      };
      t["s_quadmask" + b] = [bits](u64 a, u64, bool) {
        u64 r = 0;
        for (unsigned n = 0; n < bits; ++n) r |= u64{bit(a, n)} << (n / 4);
        return nonzero(r, bits);
      };
      t["s_brev" + b] = [bits](u64 a, u64, bool c) {
        u64 r = 0;
        for (unsigned n = 0; n < bits; ++n) r = r << 1 | u64{bit(a, n)};
        return Outcome{r, c};
      };
      t["s_bcnt0_i32" + b] = [bits](u64 a, u64, bool) { return nonzero(count(a, bits, false), 32); };
      t["s_bcnt1_i32" + b] = [bits](u64 a, u64, bool) { return nonzero(count(a, bits, true), 32); };
      t["s_ff0_i32" + b] = [bits](u64 a, u64, bool c) { return Outcome{first_bit(a, bits, false, false), c}; };
      t["s_ff1_i32" + b] = [bits](u64 a, u64, bool c) { return Outcome{first_bit(a, bits, true, false), c}; };
      t["s_flbit_i32" + b] = [bits](u64 a, u64, bool c) { return Outcome{first_bit(a, bits, true, true), c}; };
      t["s_bitset0" + b] = [bits](u64 a, u64 d, bool c) { return Outcome{low(d & ~(u64{1} << (a % bits)), bits), c}; };
      t["s_bitset1" + b] = [bits](u64 a, u64 d, bool c) { return Outcome{low(d | (u64{1} << (a % bits)), bits), c}; };
    }
    t["s_flbit_i32"] = [](u64 a, u64, bool c) { return Outcome{sign_run(a, 32), c}; };
    t["s_flbit_i32_i64"] = [](u64 a, u64, bool c) { return Outcome{sign_run(a, 64), c}; };
    t["s_sext_i32_i8"] = [](u64 a, u64, bool c) { return Outcome{low(static_cast<u64>(sign(a, 8)), 32), c}; };
    t["s_sext_i32_i16"] = [](u64 a, u64, bool c) { return Outcome{low(static_cast<u64>(sign(a, 16)), 32), c}; };
    t["s_abs_i32"] = [](u64 a, u64, bool) { const auto v = sign(a, 32); return nonzero(static_cast<u64>(v < 0 ? -v : v), 32); };
    t["s_bitreplicate_b64_b32"] = [](u64 a, u64, bool c) {
      u64 r = 0;
      for (unsigned n = 0; n < 64; ++n) r |= u64{bit(a, n / 2)} << n;
      return Outcome{r, c};
    };
    return t;
  }();
  return table;
}

// SOPC and, with a 16-bit immediate as second operand, SOPK compares: SCC after.
inline const std::map<std::string, std::function<bool(std::uint64_t, std::uint64_t)>>& compares() {
  using u64 = std::uint64_t;
  static const std::map<std::string, std::function<bool(u64, u64)>> table = [] {
    std::map<std::string, std::function<bool(u64, u64)>> t;
    t["eq_i32"] = [](u64 a, u64 b) { return sign(a, 32) == sign(b, 32); };
    t["lg_i32"] = [](u64 a, u64 b) { return sign(a, 32) != sign(b, 32); };
    t["gt_i32"] = [](u64 a, u64 b) { return sign(a, 32) > sign(b, 32); };
    t["ge_i32"] = [](u64 a, u64 b) { return sign(a, 32) >= sign(b, 32); };
    t["lt_i32"] = [](u64 a, u64 b) { return sign(a, 32) < sign(b, 32); };
    t["le_i32"] = [](u64 a, u64 b) { return sign(a, 32) <= sign(b, 32); };
    t["eq_u32"] = [](u64 a, u64 b) { return low(a, 32) == low(b, 32); };
    t["lg_u32"] = [](u64 a, u64 b) { return low(a, 32) != low(b, 32); };
    t["gt_u32"] = [](u64 a, u64 b) { return low(a, 32) > low(b, 32); };
    t["ge_u32"] = [](u64 a, u64 b) { return low(a, 32) >= low(b, 32); };
    t["lt_u32"] = [](u64 a, u64 b) { return low(a, 32) < low(b, 32); };
    t["le_u32"] = [](u64 a, u64 b) { return low(a, 32) <= low(b, 32); };
    t["eq_u64"] = [](u64 a, u64 b) { return a == b; };
    t["lg_u64"] = [](u64 a, u64 b) { return a != b; };
    t["bitcmp0_b32"] = [](u64 a, u64 b) { return !bit(a, b & 31); };
    t["bitcmp1_b32"] = [](u64 a, u64 b) { return bit(a, b & 31); };
    t["bitcmp0_b64"] = [](u64 a, u64 b) { return !bit(a, b & 63); };
    t["bitcmp1_b64"] = [](u64 a, u64 b) { return bit(a, b & 63); };
    return t;
  }();
  return table;
}

} // namespace aql::test::salu
