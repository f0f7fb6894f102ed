// Transcendental operations: special values exact, others within a bound of the function.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"

using namespace reference;
using test::IsaBench;

namespace {

const harness::AsmCases kCases{
#include "isa/trans_cases.inc"
};

long double two_pi() { return 2 * std::acos(-1.0L); }
// Folded to a quarter turn before pi comes in, so that zeros are exact. The guides' examples: -0 keeps its sign, other whole turns give +0.
long double turn_sine(long double x) {
  if (x == 0) return x;
  const long double r = x - std::nearbyint(x), folded = r > 0.25L ? 0.5L - r : r < -0.25L ? -0.5L - r : r;
  return folded == 0 ? 0 : std::sin(folded * two_pi());
}
long double turn_cosine(long double x) {
  const long double r = 0.25L - std::fabs(x - std::nearbyint(x));
  return r == 0 ? 0 : std::sin(r * two_pi());
}
long double reciprocal(long double x) { return 1 / x; }
long double root(long double x) { return std::sqrt(x); }
long double reciprocal_root(long double x) { return x == 0 ? 1 / x : 1 / std::sqrt(x); }
long double power(long double x) { return std::exp2(std::isinf(x) ? x : std::max(-16000.0L, std::min(16000.0L, x))); } // finite stays finite
long double logarithm(long double x) { return x == 0 ? -HUGE_VALL : std::log2(x); }

using Function = long double (*)(long double);

// f32: NaN sources pass, quieted; a NaN made from numbers is the default one.
template <Function F, bool Flush> void single(Call& c) {
  const std::uint32_t a = c.u(0);
  if (f32_nan(a)) return c.result(a | 0x400000);
  const float x = f32_of(Flush ? f32_flushed(a) : a);
  const bool trig = F == turn_sine || F == turn_cosine;
  if (trig && std::isinf(x)) return c.result(0xffc00000);
  const long double r = F(static_cast<long double>(x));
  if (r != r) return c.result(0xffc00000);
  const std::uint32_t bits = bits_of(static_cast<float>(r));
  c.result(Flush ? f32_flushed(bits) : bits);
}
template <Function F> void half(Call& c) {
  const std::uint32_t a = c.u(0), nan = nan_of(c, 1);
  if (nan != 0) return c.result(nan);
  if ((F == turn_sine || F == turn_cosine) && f16_inf(a)) return c.result(kDefaultNan);
  const long double r = F(static_cast<long double>(f16_value(a)));
  if (r != r) return c.result(kDefaultNan);
  if (std::isinf(r)) return c.result(r < 0 ? 0xfc00 : 0x7c00);
  c.result(to_f16(static_cast<f128>(r), Mode{c.mode.bits & ~0xfu}, std::signbit(r))); // MODE's rounding does not matter
}
template <Function F> void real(Call& c) {
  const double x = c.d(0);
  if (x != x) return c.result(c.s[0] | 0x0008ull << 48);
  const long double r = F(static_cast<long double>(x));
  c.result(r != r ? 0xfff8ull << 48 : std::bit_cast<std::uint64_t>(static_cast<double>(r)));
}

constexpr unsigned kOwn = kOwnSourceDenorm | kOwnResultDenorm;
const Operations kOperations{
    {"v_rcp_f32", {single<reciprocal, true>, kOwn}},
    {"v_rcp_iflag_f32", {single<reciprocal, true>, kOwn}},
    {"v_rsq_f32", {single<reciprocal_root, true>, kOwn}},
    {"v_sqrt_f32", {single<root, true>, kOwn}},
    {"v_exp_f32", {single<power, true>, kOwn}},
    {"v_exp_legacy_f32", {single<power, true>, kOwn}},
    {"v_log_f32", {single<logarithm, true>, kOwn}},
    {"v_log_legacy_f32", {single<logarithm, true>, kOwn}},
    {"v_sin_f32", {single<turn_sine, false>}},
    {"v_cos_f32", {single<turn_cosine, false>}},
    {"v_rcp_f16", {half<reciprocal>}},
    {"v_rsq_f16", {half<reciprocal_root>}},
    {"v_sqrt_f16", {half<root>}},
    {"v_exp_f16", {half<power>}},
    {"v_log_f16", {half<logarithm>}},
    {"v_sin_f16", {half<turn_sine>}},
    {"v_cos_f16", {half<turn_cosine>}},
    {"v_rcp_f64", {real<reciprocal>}},
    {"v_rsq_f64", {real<reciprocal_root>}},
    {"v_sqrt_f64", {real<root>}},
};

// Zeros, infinities and NaNs must be the very same; numbers may differ by one unit in the last place of the destination, sine and cosine
// by 2^-18 absolute, f16 results not at all.
bool near_enough(const sim::Inst& inst, std::uint64_t got, std::uint64_t want) {
  const auto elem = inst.info->dst[0].elem;
  const bool trig = inst.info->mnemonic.find("sin") != std::string_view::npos || inst.info->mnemonic.find("cos") != std::string_view::npos;
  if (elem == sim::isa::Elem::f32) {
    const float g = f32_of(static_cast<std::uint32_t>(got)), w = f32_of(static_cast<std::uint32_t>(want));
    if (!std::isfinite(g) || !std::isfinite(w)) return false;
    if (trig) return std::fabs(g - w) <= 0x1p-18f;
    return (got >> 31) == (want >> 31) && (got > want ? got - want : want - got) <= 1;
  }
  if (elem == sim::isa::Elem::f64) {
    const double g = std::bit_cast<double>(got), w = std::bit_cast<double>(want);
    return std::isfinite(g) && std::isfinite(w) && (got >> 63) == (want >> 63) && (got > want ? got - want : want - got) <= 1;
  }
  return false; // f16: computed so closely that the rounded results are the same
}

} // namespace

TEST_CASE("trans: special values are exact and the others close, in every encoding, mode and host tier", "[isa]") { harness::check(kCases, kOperations, near_enough); }

TEST_CASE("trans: every f16 source gives the rounded function value, on every tier", "[isa]") {
  IsaBench b(Arch::gfx942);
  for (const test::AsmCase& c : kCases) {
    if (c.text.find("_f16_e32 v2, v4") == std::string::npos) continue;
    INFO(c.text);
    sim::Inst inst;
    REQUIRE(sim::isa::decode(c.words, Arch::gfx942, inst) == sim::isa::DecodeStatus::ok);
    const Operation& op = kOperations.at(std::string(inst.info->mnemonic));
    for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
      REQUIRE(sim::bind_valu_tier(inst, Arch::gfx942, tier));
      unsigned wrong = 0;
      for (std::uint32_t base = 0; base < 0x10000; base += 64) {
        for (std::uint32_t lane = 0; lane < 64; ++lane) b.v(4, lane) = base + lane;
        REQUIRE(inst.handler(b.wave, inst) == sim::Next::fallthrough);
        for (std::uint32_t lane = 0; lane < 64; ++lane) {
          Call call;
          call.arch = Arch::gfx942;
          call.mode = b.wave.mode;
          call.inst = &inst;
          call.s[0] = base + lane;
          op.apply(call);
          wrong += b.v(2, lane) != call.out[0];
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("trans: f32 results stay within 0.51 units in the last place of the function", "[isa]") {
  struct Function32 { const char* name; long double (*f)(long double); float low, high; };
  const Function32 functions[] = {{"v_rcp_f32", reciprocal, 0x1p-120f, 0x1p120f}, {"v_rsq_f32", reciprocal_root, 0x1p-120f, 0x1p120f},
                                  {"v_sqrt_f32", root, 0x1p-120f, 0x1p120f}, {"v_exp_f32", power, -125.0f, 127.0f}, {"v_log_f32", logarithm, 0x1p-120f, 0x1p120f}};
  IsaBench b(Arch::gfx950);
  for (const Function32& f : functions) {
    INFO(f.name);
    const auto c = std::find_if(kCases.begin(), kCases.end(), [&](const test::AsmCase& k) { return k.text == std::string(f.name) + "_e32 v2, v4"; });
    REQUIRE(c != kCases.end());
    sim::Inst inst;
    REQUIRE(sim::isa::decode(c->words, Arch::gfx950, inst) == sim::isa::DecodeStatus::ok);
    REQUIRE(sim::bind_valu_tier(inst, Arch::gfx950, sim::host_tier()));
    harness::Operands random(7);
    long double worst = 0;
    for (unsigned wave = 0; wave < 2000; ++wave) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        const float unit = static_cast<float>(random.bits()) * 0x1p-32f;
        const bool linear = f.low < 0;
        b.v(4, lane) = bits_of(linear ? f.low + unit * (f.high - f.low) : std::exp2(unit * 240.0f - 120.0f));
      }
      REQUIRE(inst.handler(b.wave, inst) == sim::Next::fallthrough);
      for (unsigned lane = 0; lane < 64; ++lane) {
        const long double want = f.f(static_cast<long double>(f32_of(b.v(4, lane)))), got = static_cast<long double>(f32_of(b.v(2, lane)));
        if (want == 0) continue;
        const long double ulp = std::ldexp(1.0L, std::ilogb(want) - 23);
        worst = std::max(worst, std::fabs(got - want) / ulp);
      }
    }
    CHECK(worst < 0.51L);
  }
}
