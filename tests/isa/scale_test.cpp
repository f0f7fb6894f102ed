// gfx950's scaled conversions, against the formats' definitions.
#include "isa/num_f16.hpp"
#include "isa/num_harness.hpp"
#include "unit/numerics/definition.hpp"

using namespace reference;

namespace {

const harness::AsmCases kCases{
#include "isa/scale_cases.inc"
};

enum class Wide { f32, f16, bf16 };
int mantissa(Wide w) { return w == Wide::f32 ? 23 : w == Wide::f16 ? 10 : 7; }

// NaN as a flag and a sign; else the value.
struct Number {
  double value = 0;
  bool nan = false, negative = false;
};
Number read(Wide w, std::uint32_t v) {
  Number n;
  if (w == Wide::f16) {
    n.nan = f16_nan(v & 0xffff);
    n.negative = (v & 0x8000) != 0;
    n.value = n.nan ? 0 : f16_value(v & 0xffff);
  } else {
    const std::uint32_t bits = w == Wide::bf16 ? v << 16 : v;
    n.nan = f32_nan(bits);
    n.negative = bits >> 31 != 0;
    n.value = n.nan ? 0 : static_cast<double>(f32_of(bits));
  }
  return n;
}
std::uint32_t write(Wide w, Number n) {
  const std::uint32_t sign16 = n.negative ? 0x8000u : 0u;
  const int e = w == Wide::f16 ? 5 : 8, m = mantissa(w), bias = w == Wide::f16 ? 15 : 127;
  const std::uint32_t infinity = ((1u << e) - 1) << m, sign = w == Wide::f32 ? sign16 << 16 : sign16;
  if (n.nan) return sign | infinity | 1u << (m - 1);
  if (std::isinf(n.value)) return sign | infinity;
  const Rounded r = round_exact(static_cast<f128>(std::fabs(n.value)), n.negative, e, m, bias, 0);
  return sign | (r.beyond ? infinity : static_cast<std::uint32_t>(r.code));
}

struct Scale { int exponent; bool nan; };
Scale scale_of(std::uint32_t operand) {
  const int field = static_cast<int>(operand >> 23 & 255);
  return {field - 127, field == 255};
}

struct Small { const definition::Format* format; const definition::Rounder* rounder; };
const Small& small(const char* name) {
  static const definition::Format* const formats[] = {&definition::kFp8, &definition::kBf8, &definition::kFp6, &definition::kBf6, &definition::kFp4};
  static std::map<std::string, definition::Rounder> rounders;
  static std::map<std::string, Small> table = [] {
    std::map<std::string, Small> t;
    for (const auto* f : formats) t[f->name] = {f, &rounders.try_emplace(f->name, *f).first->second};
    return t;
  }();
  return table.at(name);
}
std::uint32_t nan_code(const Small& s, bool negative) {
  const std::uint32_t magnitude = s.format->nan == definition::Nan::ieee ? 0x7eu : s.format->sign_bit() - 1; // the largest value if there is no NaN
  return magnitude | (negative ? s.format->sign_bit() : 0u);
}
std::uint32_t encode(const Call& c, const Small& s, Wide w, std::uint32_t v, Scale scale) {
  const Number n = read(w, v);
  if (n.nan || scale.nan) return nan_code(s, n.negative);
  const double x = std::ldexp(n.value, -scale.exponent);
  const auto beyond = c.mode.fp16_ovfl() ? definition::Beyond::clamp : definition::Beyond::infinity;
  const std::uint32_t code = (*s.rounder)(std::copysign(x, n.negative ? -1.0 : 1.0), definition::Rounding::nearest_even, beyond);
  return code == definition::Rounder::kNan ? nan_code(s, n.negative) : code;
}
std::uint32_t encode_sr(const Call& c, const Small& s, Wide w, std::uint32_t v, std::uint32_t random, Scale scale) {
  const Number n = read(w, v);
  if (n.nan || scale.nan) return nan_code(s, n.negative);
  const double x = std::fabs(std::ldexp(n.value, -scale.exponent));
  const auto& values = s.rounder->with_next();
  const std::size_t top = values.size() - 1;
  std::size_t index = top;
  if (x < values.back()) {
    index = static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), x) - values.begin()) - 1;
    const int used = mantissa(w) - s.format->mantissa_bits;
    const double fraction = std::floor(std::ldexp((x - values[index]) / (values[index + 1] - values[index]), used));
    if (fraction + (random >> (32 - used)) >= std::ldexp(1.0, used)) ++index;
  }
  const auto beyond = c.mode.fp16_ovfl() ? definition::Beyond::clamp : definition::Beyond::infinity;
  const std::uint32_t code = s.rounder->finish(index, top, n.negative, std::isinf(x), false, beyond);
  return code == definition::Rounder::kNan ? nan_code(s, n.negative) : code;
}
std::uint32_t decode(const Small& s, Wide w, std::uint32_t code, Scale scale) {
  Number n;
  n.negative = (code & s.format->sign_bit()) != 0;
  n.nan = s.format->is_nan(code) || scale.nan;
  if (!n.nan) n.value = std::ldexp(s.format->value(code), scale.exponent);
  return write(w, n);
}
std::uint32_t step(std::uint32_t r) { return r << 1 ^ (r >> 31 != 0 ? 197u : 0u); }

// An operation's parts by its name: v_cvt_scalef32_[sr_][pk_|pk32_|2xpk16_]TO_FROM.
struct Parts {
  bool sr = false, widens = false;
  unsigned count = 1;
  std::string narrow;
  Wide wide = Wide::f32;
};
Parts parts_of(std::string name) {
  Parts p;
  const auto strip = [&](const char* prefix) {
    const std::string s(prefix);
    if (name.rfind(s, 0) != 0) return false;
    name.erase(0, s.size());
    return true;
  };
  strip("v_cvt_scalef32_");
  p.sr = strip("sr_");
  if (strip("pk_")) p.count = 2;
  else if (strip("pk32_")) p.count = 32;
  else if (strip("2xpk16_")) p.count = 16;
  const auto bar = name.find('_');
  const std::string to = name.substr(0, bar), from = name.substr(bar + 1);
  const auto wide_of = [](const std::string& s) { return s == "f32" ? Wide::f32 : s == "f16" ? Wide::f16 : Wide::bf16; };
  p.widens = to == "f32" || to == "f16" || to == "bf16";
  p.narrow = p.widens ? from : to;
  p.wide = wide_of(p.widens ? to : from);
  return p;
}

void put_bits(std::vector<std::uint32_t>& out, unsigned at, unsigned bits, std::uint32_t v) {
  for (unsigned b = 0; b < bits; ++b) out[(at + b) / 32] |= (v >> b & 1u) << ((at + b) % 32);
}
std::uint32_t get_bits(const std::vector<std::uint32_t>& in, unsigned at, unsigned bits) {
  std::uint32_t v = 0;
  for (unsigned b = 0; b < bits; ++b) v |= (in[(at + b) / 32] >> ((at + b) % 32) & 1u) << b;
  return v;
}
std::vector<std::uint32_t> source(const Call& c, unsigned n) {
  if (!c.words[n].empty()) return c.words[n];
  return {c.u(n), static_cast<std::uint32_t>(c.s[n] >> 32)};
}

void convert(Call& c) {
  const Parts p = parts_of(std::string(c.inst->info->mnemonic));
  const Small& s = small(p.narrow.c_str());
  const unsigned bits = static_cast<unsigned>(s.format->bits()), wide_bits = p.wide == Wide::f32 ? 32 : 16;
  const unsigned op_sel = c.inst->mod.op_sel;
  const auto a = source(c, 0);
  unsigned scale_at = 1;
  while (scale_at < 2 && c.inst->info->src[scale_at + 1].used()) ++scale_at;
  const Scale scale = scale_of(c.u(scale_at));
  if (p.widens) {
    const unsigned from = p.count > 2 ? 0 : bits == 8 && p.count == 2 ? (op_sel & 1u) * 16 : (op_sel & 3u) * 8;
    c.out.assign((p.count * wide_bits + 31) / 32, 0);
    for (unsigned k = 0; k < p.count; ++k) put_bits(c.out, k * wide_bits, wide_bits, decode(s, p.wide, get_bits(a, from + k * bits, bits), scale));
    return;
  }
  if (p.count >= 16) {
    c.out.assign(6, 0);
    std::uint32_t random = c.u(1);
    for (unsigned k = 0; k < 32; ++k) {
      const std::uint32_t v = p.count == 16 ? source(c, k % 2)[k / 2] : get_bits(a, k * wide_bits, wide_bits);
      put_bits(c.out, k * bits, bits, p.sr ? encode_sr(c, s, p.wide, v, random, scale) : encode(c, s, p.wide, v, scale));
      random = step(random);
    }
    return;
  }
  std::uint32_t value = 0, random = c.u(1);
  for (unsigned k = 0; k < p.count; ++k) {
    // two f32: of one source pair when stochastic, else of src0 and src1
    const std::uint32_t v = p.wide != Wide::f32 ? a[0] >> (16 * k) : p.count == 2 && !p.sr ? c.u(k) : a[k];
    value |= (p.sr ? encode_sr(c, s, p.wide, v, random, scale) : encode(c, s, p.wide, v, scale)) << (bits * k);
    random = step(random);
  }
  if (bits * p.count == 16) return c.result(value); // a word: placed by op_sel[3]
  const unsigned at = (op_sel >> 2 & 3u) * 8;
  c.result((c.old[0] & ~(0xffu << at)) | value << at);
}

// Which of them write a whole register (or registers), and which a half.
Operations operations() {
  Operations all;
  for (const auto& info : sim::isa::all_ops()) {
    const std::string name(info.mnemonic);
    if (name.rfind("v_cvt_scalef32", 0) != 0) continue;
    const unsigned bits = bits_of(info.dst[0].elem) * info.dst[0].count;
    unsigned flags = kOwnSourceDenorm | kOwnResultDenorm;
    if (bits == 16) flags |= kKeepHigh;
    if (bits == 8 || info.dst[0].elem == sim::isa::Elem::bf16) flags |= kWhole;
    all[name] = {convert, flags};
  }
  return all;
}

} // namespace

TEST_CASE("scale: every scaled conversion agrees with the formats' definitions, in every mode and host tier", "[isa]") { harness::check(kCases, operations()); }
