// f16 arithmetic and 16-bit integers with one result a lane.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"

using namespace reference;

namespace {

const harness::AsmCases kCases{
#include "isa/f16_cases.inc"
};

void add(Call& c, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t nan = nan_of(c, 2);
  c.result(nan != 0 ? nan : fused(a, 0x3c00, b, c.mode));
}
void mul_f16(Call& c) {
  const std::uint32_t nan = nan_of(c, 2);
  c.result(nan != 0 ? nan : product(c.u(0), c.u(1), c.mode));
}
void fma_f16(Call& c) {
  const std::uint32_t nan = nan_of(c, 3);
  c.result(nan != 0 ? nan : fused(c.u(0), c.u(1), c.u(2), c.mode));
}
void mad_f16(Call& c) { // two roundings, everything flushed
  const std::uint32_t nan = nan_of(c, 3);
  if (nan != 0) return c.result(nan);
  const std::uint32_t p = product(f16_flushed(c.u(0)), f16_flushed(c.u(1)), c.mode);
  if (f16_nan(p)) return c.result(kDefaultNan);
  c.result(f16_flushed(fused(f16_flushed(p), 0x3c00, f16_flushed(c.u(2)), c.mode)));
}

template <bool Max> void pick2(Call& c) { c.result(pick(c.u(0), c.u(1), Max, c.mode.ieee())); }
template <bool Max> std::uint32_t pick3(const Call& c) { return pick(pick(c.u(0), c.u(1), Max, c.mode.ieee()), c.u(2), Max, c.mode.ieee()); }
void med3(Call& c) {
  if (f16_nan(c.u(0)) || f16_nan(c.u(1)) || f16_nan(c.u(2))) return c.result(pick3<false>(c));
  const double top = f16_value(pick3<true>(c));
  const unsigned out = top == f16_value(c.u(0)) ? 0 : top == f16_value(c.u(1)) ? 1 : 2;
  c.result(pick(c.u(out == 0 ? 1 : 0), c.u(out == 2 ? 1 : 2), true, c.mode.ieee()));
}

void ldexp_f16(Call& c) {
  const std::uint32_t a = c.u(0), nan = nan_of(c, 1);
  if (nan != 0 || f16_inf(a)) return c.result(nan != 0 ? nan : a);
  int n = static_cast<std::int16_t>(c.u(1));
  n = std::max(-200, std::min(200, n));
  c.result(to_f16(static_cast<f128>(std::ldexp(f16_value(a), n)), c.mode, (a & 0x8000) != 0));
}
void frexp_mant(Call& c) {
  const std::uint32_t a = c.u(0);
  int e = 0;
  if (f16_nan(a)) return c.result(a | 0x200);
  c.result(f16_inf(a) || (a & 0x7fff) == 0 ? a : to_f16(static_cast<f128>(std::frexp(f16_value(a), &e)), Mode{0xf0}));
}
void frexp_exp(Call& c) {
  const std::uint32_t a = c.u(0);
  int e = 0;
  if (!f16_nan(a) && !f16_inf(a)) (void)std::frexp(f16_value(a), &e);
  c.result(static_cast<std::uint16_t>(e));
}
template <double (*F)(double)> void whole(Call& c) {
  const std::uint32_t a = c.u(0), nan = nan_of(c, 1);
  if (nan != 0 || f16_inf(a)) return c.result(nan != 0 ? nan : a);
  c.result(to_f16(static_cast<f128>(F(f16_value(a))), Mode{0xf0}, (a & 0x8000) != 0));
}
double nearest_even(double v) {
  const double f = std::floor(v), rest = v - f;
  return rest > 0.5 || (rest == 0.5 && std::fmod(f, 2.0) != 0.0) ? f + 1 : f;
}
double up(double v) { return std::ceil(v); }
double down(double v) { return std::floor(v); }
double toward_zero(double v) { return std::trunc(v); }
void fract(Call& c) {
  const std::uint32_t a = c.u(0), nan = nan_of(c, 1);
  if (nan != 0 || f16_inf(a)) return c.result(nan != 0 ? nan : kDefaultNan);
  const double v = f16_value(a), f = v - std::floor(v);
  c.result(f == 0 ? 0 : std::min(to_f16(static_cast<f128>(f), c.mode), 0x3bffu));
}
void div_fixup(Call& c) {
  const std::uint32_t q = c.u(0), d = c.u(1), n = c.u(2), sign = (d ^ n) & 0x8000;
  const bool dz = (d & 0x7fff) == 0, nz = (n & 0x7fff) == 0;
  std::uint32_t r = sign | (q & 0x7fff);
  if (f16_nan(n)) r = n | 0x200;
  else if (f16_nan(d)) r = d | 0x200;
  else if ((dz && nz) || (f16_inf(d) && f16_inf(n))) r = kDefaultNan;
  else if (dz || f16_inf(n)) r = sign | 0x7c00;
  else if (f16_inf(d) || nz) r = sign;
  c.result(r);
}

// --- integers
int signed16(std::uint32_t v) { return static_cast<std::int16_t>(v); }
void u16_result(Call& c, long v) { c.result(static_cast<std::uint16_t>(c.clamp() ? std::max(0L, std::min(0xffffL, v)) : v)); }
void i16_result(Call& c, long v) { c.result(static_cast<std::uint16_t>(c.clamp() ? std::max(-0x8000L, std::min(0x7fffL, v)) : v)); }
long u16_of(const Call& c, unsigned n) { return c.u(n) & 0xffff; }
long i16_of(const Call& c, unsigned n) { return signed16(c.u(n)); }
template <long (*Get)(const Call&, unsigned)> void low(Call& c) { c.result(static_cast<std::uint16_t>(std::min(Get(c, 0), Get(c, 1)))); }
template <long (*Get)(const Call&, unsigned)> void high(Call& c) { c.result(static_cast<std::uint16_t>(std::max(Get(c, 0), Get(c, 1)))); }
template <long (*Get)(const Call&, unsigned), int Which> void ranked(Call& c) {
  long v[3] = {Get(c, 0), Get(c, 1), Get(c, 2)};
  std::sort(v, v + 3);
  c.result(static_cast<std::uint16_t>(v[Which]));
}

const Operations kOperations{
    {"v_add_f16", {[](Call& c) { add(c, c.u(0), c.u(1)); }}},
    {"v_sub_f16", {[](Call& c) { add(c, c.u(0), c.u(1) ^ 0x8000); }}},
    {"v_subrev_f16", {[](Call& c) {
       const std::uint32_t nan = nan_of(c, 2);
       c.result(nan != 0 ? nan : fused(c.u(1), 0x3c00, c.u(0) ^ 0x8000, c.mode));
     }}},
    {"v_mul_f16", {mul_f16}},
    {"v_fma_f16", {fma_f16, kKeepHigh}},
    {"v_fma_legacy_f16", {fma_f16}},
    {"v_mad_f16", {mad_f16, kKeepHigh}},
    {"v_mad_legacy_f16", {mad_f16}},
    {"v_mac_f16", {mad_f16}},
    {"v_madmk_f16", {mad_f16}},
    {"v_madak_f16", {mad_f16}},
    {"v_min_f16", {pick2<false>}},
    {"v_max_f16", {pick2<true>}},
    {"v_min3_f16", {[](Call& c) { c.result(pick3<false>(c)); }, kKeepHigh}},
    {"v_max3_f16", {[](Call& c) { c.result(pick3<true>(c)); }, kKeepHigh}},
    {"v_med3_f16", {med3, kKeepHigh}},
    {"v_ldexp_f16", {ldexp_f16}},
    {"v_frexp_mant_f16", {frexp_mant}},
    {"v_frexp_exp_i16_f16", {frexp_exp}},
    {"v_floor_f16", {whole<down>}},
    {"v_ceil_f16", {whole<up>}},
    {"v_trunc_f16", {whole<toward_zero>}},
    {"v_rndne_f16", {whole<nearest_even>}},
    {"v_fract_f16", {fract}},
    {"v_div_fixup_f16", {div_fixup, kKeepHigh}},
    {"v_div_fixup_legacy_f16", {div_fixup}},
    {"v_pack_b32_f16", {[](Call& c) { c.result(c.u(0) | c.u(1) << 16); }}},
    {"v_add_u16", {[](Call& c) { u16_result(c, u16_of(c, 0) + u16_of(c, 1)); }}},
    {"v_sub_u16", {[](Call& c) { u16_result(c, u16_of(c, 0) - u16_of(c, 1)); }}},
    {"v_subrev_u16", {[](Call& c) { u16_result(c, u16_of(c, 1) - u16_of(c, 0)); }}},
    {"v_add_i16", {[](Call& c) { i16_result(c, i16_of(c, 0) + i16_of(c, 1)); }, kKeepHigh}},
    {"v_sub_i16", {[](Call& c) { i16_result(c, i16_of(c, 0) - i16_of(c, 1)); }, kKeepHigh}},
    {"v_mul_lo_u16", {[](Call& c) { c.result(static_cast<std::uint16_t>(u16_of(c, 0) * u16_of(c, 1))); }}},
    {"v_mad_u16", {[](Call& c) { u16_result(c, u16_of(c, 0) * u16_of(c, 1) + u16_of(c, 2)); }, kKeepHigh}},
    {"v_mad_i16", {[](Call& c) { i16_result(c, i16_of(c, 0) * i16_of(c, 1) + i16_of(c, 2)); }, kKeepHigh}},
    {"v_mad_legacy_u16", {[](Call& c) { u16_result(c, u16_of(c, 0) * u16_of(c, 1) + u16_of(c, 2)); }}},
    {"v_mad_legacy_i16", {[](Call& c) { i16_result(c, i16_of(c, 0) * i16_of(c, 1) + i16_of(c, 2)); }}},
    {"v_mad_u32_u16", {[](Call& c) {
       const long r = u16_of(c, 0) * u16_of(c, 1) + static_cast<long>(c.u(2));
       c.result(static_cast<std::uint32_t>(c.clamp() ? std::min(r, 0xffffffffL) : r));
     }}},
    {"v_mad_i32_i16", {[](Call& c) {
       const long r = i16_of(c, 0) * i16_of(c, 1) + static_cast<std::int32_t>(c.u(2));
       c.result(static_cast<std::uint32_t>(c.clamp() ? std::max(-0x80000000L, std::min(0x7fffffffL, r)) : r));
     }}},
    {"v_lshlrev_b16", {[](Call& c) { c.result((c.u(1) << (c.u(0) & 15)) & 0xffff); }}},
    {"v_lshrrev_b16", {[](Call& c) { c.result((c.u(1) & 0xffff) >> (c.u(0) & 15)); }}},
    {"v_ashrrev_i16", {[](Call& c) { c.result(static_cast<std::uint16_t>(signed16(c.u(1)) >> (c.u(0) & 15))); }}},
    {"v_min_u16", {low<u16_of>}},
    {"v_max_u16", {high<u16_of>}},
    {"v_min_i16", {low<i16_of>}},
    {"v_max_i16", {high<i16_of>}},
    {"v_min3_u16", {ranked<u16_of, 0>, kKeepHigh}},
    {"v_med3_u16", {ranked<u16_of, 1>, kKeepHigh}},
    {"v_max3_u16", {ranked<u16_of, 2>, kKeepHigh}},
    {"v_min3_i16", {ranked<i16_of, 0>, kKeepHigh}},
    {"v_med3_i16", {ranked<i16_of, 1>, kKeepHigh}},
    {"v_max3_i16", {ranked<i16_of, 2>, kKeepHigh}},
    {"v_bitop3_b16", {[](Call& c) {
       const auto& m = c.inst->mod;
       const unsigned table = m.omod << 6 | m.abs << 3 | m.neg;
       std::uint32_t r = 0;
       for (unsigned b = 0; b < 16; ++b) {
         const unsigned row = (c.u(0) >> b & 1) << 2 | (c.u(1) >> b & 1) << 1 | (c.u(2) >> b & 1);
         r |= (table >> row & 1) << b;
       }
       c.result(r);
     }, kKeepHigh}},
};

} // namespace

TEST_CASE("f16: every instruction agrees with the reference in every encoding, mode and host tier", "[isa]") { harness::check(kCases, kOperations); }
