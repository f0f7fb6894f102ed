// Packed 16-bit operations, v_pk_mov_b32, and the fma with mixed f16 and f32 sources.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"

using namespace reference;

namespace {

const harness::AsmCases kCases{
#include "isa/packed_cases.inc"
};

// Both halves of a 16-bit operation on f16 bits.
template <unsigned Sources, class F> void halves(Call& c, F f) {
  std::uint32_t out = 0;
  for (unsigned k = 0; k < 2; ++k) {
    const std::uint32_t a = c.h(0, k), b = c.h(1, k), d = Sources == 3 ? c.h(2, k) : 0;
    out |= (f(a, b, d) & 0xffffu) << (16 * k);
  }
  c.result(out);
}
std::uint32_t first_nan(std::uint32_t a, std::uint32_t b, std::uint32_t d = 0) { return f16_nan(a) ? a | 0x200 : f16_nan(b) ? b | 0x200 : f16_nan(d) ? d | 0x200 : 0; }
void pk_add(Call& c) {
  halves<2>(c, [&](auto a, auto b, auto) { return first_nan(a, b) != 0 ? first_nan(a, b) : fused(a, 0x3c00, b, c.mode); });
}
void pk_mul(Call& c) {
  halves<2>(c, [&](auto a, auto b, auto) { return first_nan(a, b) != 0 ? first_nan(a, b) : product(a, b, c.mode); });
}
void pk_fma(Call& c) {
  halves<3>(c, [&](auto a, auto b, auto d) { return first_nan(a, b, d) != 0 ? first_nan(a, b, d) : fused(a, b, d, c.mode); });
}
template <bool Max> void pk_pick(Call& c) {
  halves<2>(c, [&](auto a, auto b, auto) { return pick(a, b, Max, c.mode.ieee()); });
}
template <bool Max> void pk_pick3(Call& c) { // any NaN wins
  halves<3>(c, [&](auto a, auto b, auto d) {
    if (first_nan(a, b, d) != 0) return first_nan(a, b, d);
    const std::uint32_t ab = less(a, b) != Max ? a : b;
    return less(ab, d) != Max ? ab : d;
  });
}

long u16(std::uint32_t v) { return static_cast<long>(v & 0xffff); }
long s16(std::uint32_t v) { return static_cast<std::int16_t>(v); }
template <unsigned Sources, long (*Get)(std::uint32_t), class F> void integers(Call& c, F f) {
  const bool is_signed = Get(0xffff) < 0;
  const long low = is_signed ? -0x8000 : 0, high = is_signed ? 0x7fff : 0xffff;
  halves<Sources>(c, [&](auto a, auto b, auto d) {
    const long v = f(Get(a), Get(b), Get(d));
    return static_cast<std::uint32_t>(c.clamp() ? std::max(low, std::min(high, v)) : v);
  });
}
template <class F> void shifts(Call& c, F f) { // never saturate
  halves<2>(c, [&](auto n, auto v, auto) { return static_cast<std::uint32_t>(f(n & 15, v)); });
}

// --- mixed fma: the modifiers are those of the instruction words
float mixed(const Call& c, unsigned n) {
  const auto& m = c.inst->mod;
  std::uint32_t v = c.u(n);
  if ((m.op_sel_hi >> n & 1) != 0) {
    std::uint32_t h = c.h(n, m.op_sel >> n & 1);
    if ((c.mode.denorm16_64() & 1) == 0) h = f16_flushed(h);
    v = f16_nan(h) ? (h & 0x8000) << 16 | 0x7f800000 | (h & 0x3ff) << 13 : bits_of(static_cast<float>(f16_value(h)));
  } else if ((c.mode.denorm32() & 1) == 0) {
    v = f32_flushed(v);
  }
  if ((m.abs >> n & 1) != 0) v &= 0x7fffffff;
  if ((m.neg >> n & 1) != 0) v ^= 0x80000000;
  return f32_of(v);
}
std::uint32_t mixed_fma(const Call& c) {
  float x[3];
  for (unsigned n = 0; n < 3; ++n) x[n] = mixed(c, n);
  for (const float v : x)
    if (v != v) return bits_of(v) | 0x400000;
  const HostRounding rounding(c.mode.round32());
  volatile float a = x[0], b = x[1], d = x[2];
  volatile float r = std::fma(a, b, d);
  return r != r ? 0xffc00000 : bits_of(r);
}
void mix_f32(Call& c) { c.result(mixed_fma(c)); }
void mix_f16(Call& c) {
  const std::uint32_t v = mixed_fma(c), sign = v >> 16 & 0x8000;
  if (f32_nan(v)) return c.result(sign | 0x7e00 | (v >> 13 & 0x3ff));
  if ((v & 0x7fffffff) == 0x7f800000) return c.result(sign | 0x7c00);
  c.result(to_f16(static_cast<f128>(f32_of(v)), c.mode, sign != 0));
}

const Operations kOperations{
    {"v_pk_add_f16", {pk_add}},
    {"v_pk_mul_f16", {pk_mul}},
    {"v_pk_fma_f16", {pk_fma}},
    {"v_pk_fmac_f16", {pk_fma}},
    {"v_pk_min_f16", {pk_pick<false>}},
    {"v_pk_max_f16", {pk_pick<true>}},
    {"v_pk_minimum3_f16", {pk_pick3<false>}},
    {"v_pk_maximum3_f16", {pk_pick3<true>}},
    {"v_pk_add_u16", {[](Call& c) { integers<2, u16>(c, [](long a, long b, long) { return a + b; }); }}},
    {"v_pk_sub_u16", {[](Call& c) { integers<2, u16>(c, [](long a, long b, long) { return a - b; }); }}},
    {"v_pk_add_i16", {[](Call& c) { integers<2, s16>(c, [](long a, long b, long) { return a + b; }); }}},
    {"v_pk_sub_i16", {[](Call& c) { integers<2, s16>(c, [](long a, long b, long) { return a - b; }); }}},
    {"v_pk_mul_lo_u16", {[](Call& c) { integers<2, u16>(c, [](long a, long b, long) { return a * b; }); }}},
    {"v_pk_mad_u16", {[](Call& c) { integers<3, u16>(c, [](long a, long b, long d) { return a * b + d; }); }}},
    {"v_pk_mad_i16", {[](Call& c) { integers<3, s16>(c, [](long a, long b, long d) { return a * b + d; }); }}},
    {"v_pk_min_u16", {[](Call& c) { integers<2, u16>(c, [](long a, long b, long) { return std::min(a, b); }); }}},
    {"v_pk_max_u16", {[](Call& c) { integers<2, u16>(c, [](long a, long b, long) { return std::max(a, b); }); }}},
    {"v_pk_min_i16", {[](Call& c) { integers<2, s16>(c, [](long a, long b, long) { return std::min(a, b); }); }}},
    {"v_pk_max_i16", {[](Call& c) { integers<2, s16>(c, [](long a, long b, long) { return std::max(a, b); }); }}},
    {"v_pk_lshlrev_b16", {[](Call& c) { shifts(c, [](auto n, auto v) { return v << n; }); }}},
    {"v_pk_lshrrev_b16", {[](Call& c) { shifts(c, [](auto n, auto v) { return v >> n; }); }}},
    {"v_pk_ashrrev_i16", {[](Call& c) { shifts(c, [](auto n, auto v) { return s16(v) >> n; }); }}},
    {"v_pk_mov_b32", {[](Call& c) {
       const auto& m = c.inst->mod;
       const auto lo = static_cast<std::uint32_t>((m.op_sel & 1) != 0 ? c.s[0] >> 32 : c.s[0]);
       const auto hi = static_cast<std::uint32_t>((m.op_sel & 2) != 0 ? c.s[1] >> 32 : c.s[1]);
       c.result(lo | std::uint64_t{hi} << 32);
     }, kRawModifiers | kWhole}},
    {"v_fma_mix_f32", {mix_f32, kRawModifiers | kOwnSourceDenorm}},
    {"v_fma_mixlo_f16", {mix_f16, kRawModifiers | kOwnSourceDenorm | kKeepHigh}},
    {"v_fma_mixhi_f16", {mix_f16, kRawModifiers | kOwnSourceDenorm | kHighResult}},
};

} // namespace

TEST_CASE("packed: every instruction agrees with the reference in every encoding, mode and host tier", "[isa]") { harness::check(kCases, kOperations); }
