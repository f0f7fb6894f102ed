// Dot products.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"

using namespace reference;

namespace {

const harness::AsmCases kCases{
#include "isa/dot_cases.inc"
};

float half_as_float(std::uint32_t h) { return f16_nan(h) ? f32_of((h & 0x8000) << 16 | 0x7f800000 | (h & 0x3ff) << 13) : static_cast<float>(f16_value(h)); }

void finish(Call& c, const float (&factors)[4], float acc, float r, bool flush) {
  for (const float v : {factors[0], factors[1], factors[2], factors[3], acc})
    if (v != v) return c.result(bits_of(v) | 0x400000);
  c.result(r != r ? 0xffc00000 : flush ? f32_flushed(bits_of(r)) : bits_of(r));
}
// ((acc + a0 b0) + a1 b1), each addition rounded to f32.
void dot2_f16(Call& c) {
  float f[4];
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint32_t h = c.h(k % 2, k / 2); // a0 b0 a1 b1
    f[k] = half_as_float(c.arch == Arch::gfx90a ? f16_flushed(h) : h);
  }
  const HostRounding rounding(c.mode.round32());
  volatile float p = f[0] * f[1], q = f[2] * f[3], acc = f32_of(f32_flushed(c.u(2)));
  volatile float first = acc + p;
  volatile float r = first + q;
  finish(c, f, c.f(2), r, true);
}
// ((a0 b0 + a1 b1) + acc)
void dot2_bf16(Call& c) {
  const float f[4] = {f32_of(c.h(0, 0) << 16), f32_of(c.h(1, 0) << 16), f32_of(c.h(0, 1) << 16), f32_of(c.h(1, 1) << 16)};
  const HostRounding rounding(c.mode.round32());
  volatile float a = f[0], b = f[1], d = f[2], e = f[3], acc = c.f(2);
  volatile float p = a * b, q = d * e;
  volatile float both = p + q;
  volatile float r = both + acc;
  finish(c, f, c.f(2), r, false);
}

template <unsigned Bits, bool Signed> void integers(Call& c) {
  f128 sum = Signed ? static_cast<f128>(static_cast<std::int32_t>(c.u(2))) : static_cast<f128>(c.u(2));
  for (unsigned k = 0; k < 32 / Bits; ++k) {
    long v[2];
    for (unsigned n = 0; n < 2; ++n) {
      v[n] = static_cast<long>(c.u(n) >> (Bits * k) & ((1ull << Bits) - 1));
      if (Signed && v[n] >= 1l << (Bits - 1)) v[n] -= 1l << Bits;
    }
    sum += static_cast<f128>(v[0] * v[1]);
  }
  __extension__ using Wide = __int128;
  const auto exact = static_cast<Wide>(sum);
  const Wide low = Signed ? -0x80000000ll : 0, high = Signed ? 0x7fffffffll : 0xffffffffll;
  c.result(static_cast<std::uint32_t>(c.clamp() ? (exact < low ? low : exact > high ? high : exact) : exact));
}

constexpr unsigned kOwn = kOwnSourceDenorm | kOwnResultDenorm;
const Operations kOperations{
    {"v_dot2_f32_f16", {dot2_f16, kOwn}},
    {"v_dot2c_f32_f16", {dot2_f16, kOwn}},
    {"v_dot2_f32_bf16", {dot2_bf16, kOwn}},
    {"v_dot2c_f32_bf16", {dot2_bf16, kOwn}},
    {"v_dot2_i32_i16", {integers<16, true>}},
    {"v_dot2c_i32_i16", {integers<16, true>}},
    {"v_dot2_u32_u16", {integers<16, false>}},
    {"v_dot4_i32_i8", {integers<8, true>}},
    {"v_dot4c_i32_i8", {integers<8, true>}},
    {"v_dot4_u32_u8", {integers<8, false>}},
    {"v_dot8_i32_i4", {integers<4, true>}},
    {"v_dot8c_i32_i4", {integers<4, true>}},
    {"v_dot8_u32_u4", {integers<4, false>}},
};

} // namespace

TEST_CASE("dot: every dot product agrees with the reference in every encoding, mode and host tier", "[isa]") { harness::check(kCases, kOperations); }
