// Conversions between number formats.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"
#include "unit/numerics/definition.hpp"

using namespace reference;

namespace {

const harness::AsmCases kCases{
#include "isa/cvt_cases.inc"
};

// --- to f32 and f64
std::uint32_t round_f32(f128 x, bool negative, unsigned mode) {
  const Rounded r = round_exact(x, negative, 8, 23, 127, mode);
  const std::uint32_t sign = negative ? 0x80000000u : 0u;
  if (!r.beyond) return sign | static_cast<std::uint32_t>(r.code);
  return sign | (mode == 0 || mode == (negative ? 2u : 1u) ? 0x7f800000u : 0x7f7fffffu);
}
void int_to_f32(Call& c, long v) { c.result(round_f32(static_cast<f128>(v), v < 0, c.mode.round32())); }
void f32_from_f64(Call& c) {
  const double d = c.d(0);
  const auto hi = static_cast<std::uint32_t>(c.s[0] >> 32);
  if (d != d) return c.result((hi & 0x80000000) | 0x7fc00000 | static_cast<std::uint32_t>(c.s[0] >> 29 & 0x7fffff));
  if (std::isinf(d)) return c.result((hi & 0x80000000) | 0x7f800000);
  c.result(round_f32(static_cast<f128>(d), hi >> 31 != 0, c.mode.round16_64())); // LLVM sets that field for it
}
void f64_from_f32(Call& c) {
  const std::uint32_t v = c.u(0);
  if (f32_nan(v)) return c.result(std::uint64_t{v & 0x80000000} << 32 | 0x7ff8ull << 48 | std::uint64_t{v & 0x7fffff} << 29);
  c.result(std::bit_cast<std::uint64_t>(static_cast<double>(c.f(0))));
}
void f32_from_f16(Call& c) {
  const std::uint32_t h = c.u(0);
  c.result(f16_nan(h) ? (h & 0x8000) << 16 | 0x7fc00000 | (h & 0x3ff) << 13 : bits_of(static_cast<float>(f16_value(h))));
}
// --- f32 to f16
std::uint32_t narrow(std::uint32_t v, Mode mode) {
  const std::uint32_t sign = v >> 16 & 0x8000;
  if (f32_nan(v)) return sign | 0x7e00 | (v >> 13 & 0x3ff);
  if ((v & 0x7fffffff) == 0x7f800000) return sign | 0x7c00;
  return to_f16(static_cast<f128>(f32_of(v)), mode, sign != 0);
}
Mode with_round(Mode m, unsigned round, bool ovfl) { return Mode{(m.bits & ~0x80000cu) | round << 2 | (ovfl ? 0x800000u : 0u)}; }
std::uint32_t bf16(std::uint32_t v) { // nearest even by the neighbours
  if (f32_nan(v)) return v >> 16 | 0x40;
  const std::uint32_t low = v & 0xffff, top = v >> 16;
  return top + (low > 0x8000 || (low == 0x8000 && (top & 1) != 0) ? 1 : 0);
}
// Stochastic rounding as the numerics test has it: the dropped fraction of the magnitude against the top random bits.
std::uint32_t sr_f16(std::uint32_t v, std::uint32_t random, bool ovfl) {
  const std::uint32_t sign = v >> 16 & 0x8000;
  if (f32_nan(v)) return sign | 0x7e00 | (v >> 13 & 0x3ff);
  if ((v & 0x7fffffff) == 0x7f800000) return sign | 0x7c00;
  const double x = std::fabs(static_cast<double>(f32_of(v)));
  const std::uint32_t low = std::min(0x7bffu, to_f16(static_cast<f128>(x), Mode{0xfc})); // toward zero
  const double step = std::ldexp(1.0, std::max(static_cast<int>(low >> 10), 1) - 25);
  const double fraction = std::floor((x - f16_value(low)) / step * 8192.0);
  const std::uint32_t code = fraction >= 8192.0 ? 0x7c00 : low + (fraction + (random >> 19) >= 8192.0 ? 1 : 0);
  return sign | (code >= 0x7c00 ? (ovfl ? 0x7bff : 0x7c00) : code);
}
std::uint32_t sr_bf16(std::uint32_t v, std::uint32_t random) {
  if (f32_nan(v)) return v >> 16 | 0x40;
  if ((v & 0x7fffffff) == 0x7f800000) return v >> 16;
  return (v >> 16) + ((v & 0xffff) + (random >> 16) >= 0x10000 ? 1 : 0);
}

// --- fp8 and bf8 by the definition of the formats
const definition::Format& format_of(const Call& c, bool bf8) {
  if (c.arch == Arch::gfx942) return bf8 ? definition::kBf8Fnuz : definition::kFp8Fnuz;
  return bf8 ? definition::kBf8 : definition::kFp8;
}
const definition::Rounder& rounder_of(const Call& c, bool bf8) {
  static const definition::Rounder fnuz[2] = {definition::Rounder(definition::kFp8Fnuz), definition::Rounder(definition::kBf8Fnuz)};
  static const definition::Rounder ocp[2] = {definition::Rounder(definition::kFp8), definition::Rounder(definition::kBf8)};
  return c.arch == Arch::gfx942 ? fnuz[bf8] : ocp[bf8];
}
std::uint32_t nan8(const Call& c, bool bf8, bool negative) {
  if (c.arch == Arch::gfx942) return 0x80;
  return (bf8 ? 0x7e : 0x7f) | (negative ? 0x80 : 0);
}
std::uint32_t eight(const Call& c, std::uint32_t v, bool bf8) {
  const bool negative = v >> 31 != 0;
  if (f32_nan(v)) return nan8(c, bf8, negative);
  const std::uint32_t code = rounder_of(c, bf8)(static_cast<double>(f32_of(v)), definition::Rounding::nearest_even,
                                                c.mode.fp16_ovfl() ? definition::Beyond::clamp : definition::Beyond::infinity);
  return code == definition::Rounder::kNan ? nan8(c, bf8, negative) : code;
}
template <bool Bf8> void pk_eight(Call& c) { c.result(eight(c, c.u(0), Bf8) | eight(c, c.u(1), Bf8) << 8); }
template <bool Bf8> void sr_eight(Call& c) {
  const std::uint32_t v = c.u(0), at = (c.inst->mod.op_sel >> 2 & 3u) * 8;
  const definition::Format& f = format_of(c, Bf8);
  std::uint32_t code;
  if (f32_nan(v)) {
    code = nan8(c, Bf8, v >> 31 != 0);
  } else {
    const double x = std::fabs(static_cast<double>(f32_of(v)));
    const auto& values = rounder_of(c, Bf8).with_next();
    const std::size_t top = values.size() - 1;
    std::size_t index = top;
    if (x < values.back()) {
      index = static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), x) - values.begin()) - 1;
      const int used = 23 - f.mantissa_bits;
      const double fraction = std::floor(std::ldexp((x - values[index]) / (values[index + 1] - values[index]), used));
      if (fraction + (c.u(1) >> (32 - used)) >= std::ldexp(1.0, used)) ++index;
    }
    code = rounder_of(c, Bf8).finish(index, top, v >> 31 != 0, std::isinf(x), false, c.mode.fp16_ovfl() ? definition::Beyond::clamp : definition::Beyond::infinity);
    if (code == definition::Rounder::kNan) code = nan8(c, Bf8, v >> 31 != 0);
  }
  c.result((c.old[0] & ~(0xffu << at)) | code << at);
}
std::uint32_t from_eight(const Call& c, std::uint32_t code, bool bf8) {
  const double v = format_of(c, bf8).value(code & 0xff);
  if (v == v) return bits_of(static_cast<float>(v));
  const std::uint32_t payload = c.arch == Arch::gfx950 && bf8 ? 0x7fc00000 | (code & 3) << 21 : 0x7fc00000; // bf8 keeps its two bits
  return payload | (c.arch == Arch::gfx950 && (code & 0x80) != 0 ? 0x80000000 : 0);
}
template <bool Bf8> void f32_from_eight(Call& c) { c.result(from_eight(c, c.u(0), Bf8)); }
template <bool Bf8> void pair_from_eight(Call& c) { c.result(from_eight(c, c.u(0), Bf8) | std::uint64_t{from_eight(c, c.u(0) >> 8, Bf8)} << 32); }

// --- to integers
void saturated(Call& c, double v, double low, double high) { // v whole, or NaN
  const double r = v != v ? 0.0 : std::max(low, std::min(high, v));
  c.result(static_cast<std::uint32_t>(static_cast<long>(r)));
}
void by_sign(Call& c, double v) {
  if (f32_nan(c.u(0))) return c.result(c.u(0) >> 31 != 0 ? 0x80000000 : 0x7fffffff);
  saturated(c, v, -2147483648.0, 2147483647.0);
}
double f16_or_nan(std::uint32_t h) { return f16_nan(h) ? std::nan("") : f16_value(h); }
double nearest_even(double v) {
  const double f = std::floor(v), rest = v - f;
  return rest > 0.5 || (rest == 0.5 && std::fmod(f, 2.0) != 0.0) ? f + 1 : f;
}
std::uint32_t normalised(double v, bool is_signed) {
  if (v != v) return 0;
  const double top = is_signed ? 32767.0 : 65535.0, r = std::isinf(v) ? v : nearest_even(v * top);
  return static_cast<std::uint32_t>(static_cast<long>(std::max(is_signed ? -top : 0.0, std::min(top, r)))) & 0xffff;
}
std::uint32_t byte_of(const Call& c, std::uint32_t v) {
  if (f32_nan(v)) return 0;
  const double x = static_cast<double>(f32_of(v)), down = std::floor(x), up = std::ceil(x);
  const unsigned mode = c.mode.round32();
  const double r = std::isinf(x) ? x : mode == 0 ? nearest_even(x) : mode == 1 ? up : mode == 2 ? down : std::trunc(x);
  return static_cast<std::uint32_t>(std::max(0.0, std::min(255.0, r)));
}
void put_byte(Call& c, std::uint32_t old) {
  const std::uint32_t at = (c.u(1) & 3) * 8;
  c.result((old & ~(0xffu << at)) | byte_of(c, c.u(0)) << at);
}
std::uint32_t cap(long v, long low, long high) { return static_cast<std::uint32_t>(std::max(low, std::min(high, v))); }
long s32(const Call& c, unsigned n) { return static_cast<std::int32_t>(c.u(n)); }

const Operations kOperations{
    {"v_cvt_f16_f32", {[](Call& c) { c.result(narrow(c.u(0), c.mode)); }}},
    {"v_cvt_f32_f16", {f32_from_f16}},
    {"v_cvt_f32_f64", {f32_from_f64}},
    {"v_cvt_f64_f32", {f64_from_f32}},
    {"v_cvt_f32_bf16", {[](Call& c) { c.result(c.u(0) << 16); }}},
    {"v_cvt_pkrtz_f16_f32", {[](Call& c) { c.result(narrow(c.u(0), with_round(c.mode, 3, false)) | narrow(c.u(1), with_round(c.mode, 3, false)) << 16); }}},
    {"v_cvt_pk_f16_f32", {[](Call& c) {
       const Mode m = with_round(c.mode, 0, c.mode.fp16_ovfl());
       c.result(narrow(c.u(0), m) | narrow(c.u(1), m) << 16);
     }}},
    {"v_cvt_pk_bf16_f32", {[](Call& c) { c.result(bf16(c.u(0)) | bf16(c.u(1)) << 16); }, kWhole}},
    {"v_cvt_sr_f16_f32", {[](Call& c) { c.result(sr_f16(c.u(0), c.u(1), c.mode.fp16_ovfl())); }, kKeepHigh}},
    {"v_cvt_sr_bf16_f32", {[](Call& c) { c.result(sr_bf16(c.u(0), c.u(1))); }, kKeepHigh}},
    {"v_cvt_pk_fp8_f32", {pk_eight<false>, kKeepHigh}},
    {"v_cvt_pk_bf8_f32", {pk_eight<true>, kKeepHigh}},
    {"v_cvt_sr_fp8_f32", {sr_eight<false>, kWhole}},
    {"v_cvt_sr_bf8_f32", {sr_eight<true>, kWhole}},
    {"v_cvt_f32_fp8", {f32_from_eight<false>}},
    {"v_cvt_f32_bf8", {f32_from_eight<true>}},
    {"v_cvt_pk_f32_fp8", {pair_from_eight<false>}},
    {"v_cvt_pk_f32_bf8", {pair_from_eight<true>}},
    {"v_cvt_f32_i32", {[](Call& c) { int_to_f32(c, s32(c, 0)); }}},
    {"v_cvt_f32_u32", {[](Call& c) { int_to_f32(c, c.u(0)); }}},
    {"v_cvt_f64_i32", {[](Call& c) { c.result(std::bit_cast<std::uint64_t>(static_cast<double>(s32(c, 0)))); }}},
    {"v_cvt_f64_u32", {[](Call& c) { c.result(std::bit_cast<std::uint64_t>(static_cast<double>(c.u(0)))); }}},
    {"v_cvt_f32_ubyte0", {[](Call& c) { int_to_f32(c, c.u(0) & 0xff); }}},
    {"v_cvt_f32_ubyte1", {[](Call& c) { int_to_f32(c, c.u(0) >> 8 & 0xff); }}},
    {"v_cvt_f32_ubyte2", {[](Call& c) { int_to_f32(c, c.u(0) >> 16 & 0xff); }}},
    {"v_cvt_f32_ubyte3", {[](Call& c) { int_to_f32(c, c.u(0) >> 24); }}},
    {"v_cvt_f16_i16", {[](Call& c) {
       const long v = static_cast<std::int16_t>(c.u(0));
       c.result(to_f16(static_cast<f128>(v), c.mode));
     }}},
    {"v_cvt_f16_u16", {[](Call& c) { c.result(to_f16(static_cast<f128>(c.u(0) & 0xffff), c.mode)); }}},
    {"v_cvt_off_f32_i4", {[](Call& c) {
       const int v = static_cast<int>(c.u(0) & 15);
       c.result(bits_of(static_cast<float>(v >= 8 ? v - 16 : v) / 16));
     }}},
    {"v_cvt_i32_f32", {[](Call& c) { saturated(c, std::trunc(static_cast<double>(c.f(0))), -2147483648.0, 2147483647.0); }}},
    {"v_cvt_u32_f32", {[](Call& c) { saturated(c, std::trunc(static_cast<double>(c.f(0))), 0, 4294967295.0); }}},
    {"v_cvt_i32_f64", {[](Call& c) { saturated(c, std::trunc(c.d(0)), -2147483648.0, 2147483647.0); }}},
    {"v_cvt_u32_f64", {[](Call& c) { saturated(c, std::trunc(c.d(0)), 0, 4294967295.0); }}},
    {"v_cvt_rpi_i32_f32", {[](Call& c) { by_sign(c, std::floor(static_cast<double>(c.f(0)) + 0.5)); }}},
    {"v_cvt_flr_i32_f32", {[](Call& c) { by_sign(c, std::floor(static_cast<double>(c.f(0)))); }}},
    {"v_cvt_i16_f16", {[](Call& c) { saturated(c, std::trunc(f16_or_nan(c.u(0))), -32768, 32767); }}},
    {"v_cvt_u16_f16", {[](Call& c) { saturated(c, std::trunc(f16_or_nan(c.u(0))), 0, 65535); }}},
    {"v_cvt_norm_i16_f16", {[](Call& c) { c.result(normalised(f16_or_nan(c.u(0)), true)); }}},
    {"v_cvt_norm_u16_f16", {[](Call& c) { c.result(normalised(f16_or_nan(c.u(0)), false)); }}},
    {"v_cvt_pknorm_i16_f16", {[](Call& c) { c.result(normalised(f16_or_nan(c.u(0)), true) | normalised(f16_or_nan(c.u(1)), true) << 16); }}},
    {"v_cvt_pknorm_u16_f16", {[](Call& c) { c.result(normalised(f16_or_nan(c.u(0)), false) | normalised(f16_or_nan(c.u(1)), false) << 16); }}},
    {"v_cvt_pknorm_i16_f32", {[](Call& c) { c.result(normalised(static_cast<double>(c.f(0)), true) | normalised(static_cast<double>(c.f(1)), true) << 16); }}},
    {"v_cvt_pknorm_u16_f32", {[](Call& c) { c.result(normalised(static_cast<double>(c.f(0)), false) | normalised(static_cast<double>(c.f(1)), false) << 16); }}},
    {"v_cvt_pk_u16_u32", {[](Call& c) { c.result(cap(c.u(0), 0, 0xffff) | cap(c.u(1), 0, 0xffff) << 16); }}},
    {"v_cvt_pk_i16_i32", {[](Call& c) { c.result((cap(s32(c, 0), -0x8000, 0x7fff) & 0xffff) | cap(s32(c, 1), -0x8000, 0x7fff) << 16); }}},
    {"v_cvt_pk_u8_f32", {[](Call& c) { put_byte(c, c.u(2)); }, kWhole}},
    {"v_cvt_pkaccum_u8_f32", {[](Call& c) { put_byte(c, c.old[0]); }, kWhole}},
    {"v_ashr_pk_i8_i32", {[](Call& c) {
       const auto n = c.u(2) & 31;
       c.result((cap(s32(c, 0) >> n, -128, 127) & 0xff) | (cap(s32(c, 1) >> n, -128, 127) & 0xff) << 8);
     }, kKeepHigh}},
    {"v_ashr_pk_u8_i32", {[](Call& c) {
       const auto n = c.u(2) & 31;
       c.result(cap(s32(c, 0) >> n, 0, 255) | cap(s32(c, 1) >> n, 0, 255) << 8);
     }, kKeepHigh}},
    {"v_prng_b32", {[](Call& c) { c.result((std::uint64_t{c.u(0)} * 2 & 0xffffffff) ^ (c.u(0) >> 31) * 197); }}},
};

} // namespace

TEST_CASE("cvt: every conversion agrees with the reference in every encoding, mode and host tier", "[isa]") { harness::check(kCases, kOperations); }
