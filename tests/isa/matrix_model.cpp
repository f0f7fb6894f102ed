#include "isa/matrix_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "isa/matrix_fixed.hpp"

namespace aql::test {

namespace {

using sim::Arch;
using sim::MatrixRow;
using sim::MatrixType;
using Sum = Fixed<20>;   // f32 results, scales included
using Sum64 = Fixed<80>; // f64

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

enum class Kind { finite, infinite, nan };

// (-1)^negative * significand * 2^exponent; `counted` is the exponent as the fused sums see it.
struct Number {
  Kind kind = Kind::finite;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int counted = 0;

  [[nodiscard]] bool zero() const { return kind == Kind::finite && significand == 0; }
  [[nodiscard]] double value() const {
    double v = kind == Kind::nan ? std::nan("") : kind == Kind::infinite ? HUGE_VAL : std::ldexp(static_cast<double>(significand), exponent);
    return negative ? -v : v;
  }
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  enum { ieee, fnuz, top_is_nan, finite_only } special;
};

Format format_of(MatrixType type, Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  switch (type) {
  case MatrixType::f64: return {11, 52, 1023, Format::ieee};
  case MatrixType::f16: return {5, 10, 15, Format::ieee};
  case MatrixType::bf16:
  case MatrixType::bf16x2: return {8, 7, 127, Format::ieee};
  case MatrixType::fp8: return fnuz ? Format{4, 3, 8, Format::fnuz} : Format{4, 3, 7, Format::top_is_nan};
  case MatrixType::bf8: return fnuz ? Format{5, 2, 16, Format::fnuz} : Format{5, 2, 15, Format::ieee};
  case MatrixType::fp6: return {2, 3, 1, Format::finite_only};
  case MatrixType::bf6: return {3, 2, 3, Format::finite_only};
  case MatrixType::fp4: return {2, 1, 1, Format::finite_only};
  default: return {8, 23, 127, Format::ieee};
  }
}

Number decode(std::uint64_t bits, const Format& f) {
  Number n;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << f.mantissa_bits) - 1);
  const int field = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  n.negative = ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
  const bool top = field == (1 << f.exponent_bits) - 1;
  if (f.special == Format::ieee && top) n.kind = mantissa != 0 ? Kind::nan : Kind::infinite;
  if (f.special == Format::top_is_nan && top && mantissa == (std::uint64_t{1} << f.mantissa_bits) - 1) n.kind = Kind::nan;
  if (f.special == Format::fnuz && n.negative && field == 0 && mantissa == 0) n.kind = Kind::nan;
  n.significand = field == 0 ? mantissa : mantissa | std::uint64_t{1} << f.mantissa_bits;
  const int e = (field == 0 ? 1 : field) - f.bias;
  n.exponent = e - f.mantissa_bits;
  n.counted = n.zero() ? -126 : e;
  return n;
}

Number decode_f32(float x) { return decode(std::bit_cast<std::uint32_t>(x), {8, 23, 127, Format::ieee}); }

float f32(bool negative, std::uint64_t magnitude) { return std::bit_cast<float>(static_cast<std::uint32_t>(magnitude) | (negative ? 0x80000000u : 0u)); }

// --- operands: item and lane of A[b,i,k] and B[b,k,j]

struct Operand {
  const Registers* regs;
  MatrixType type;
  unsigned bits, per_lane, blocks, rows, k;
  bool two_runs;

  [[nodiscard]] std::uint64_t at(unsigned block, unsigned i, unsigned kk, unsigned blgp) const {
    unsigned item = kk % per_lane, slice = kk / per_lane;
    if (two_runs) { // the first half of k over all lanes, then the second half in the upper registers
      const unsigned run = per_lane / 2;
      item = kk % run + (kk >= k / 2 ? run : 0);
      slice = kk % (k / 2) / run;
    }
    unsigned lane = i + rows * (block + blocks * slice);
    switch (blgp) {
    case 0: break;
    case 1: lane = lane % 32; break;
    case 2: lane = lane % 32 + 32; break;
    case 3: lane = (lane + 16) % 64; break;
    default: lane = lane % 16 + 16 * (blgp - 4); break;
    }
    std::uint64_t value = 0;
    for (unsigned bit = 0; bit < bits; ++bit) { // bit by bit: 6-bit items cross registers
      const unsigned position = item * bits + bit;
      value |= std::uint64_t{((*regs)[position / 32].lane[lane] >> (position % 32)) & 1u} << bit;
    }
    return value;
  }
};

unsigned bits_of(MatrixType t) {
  switch (t) {
  case MatrixType::f64: return 64;
  case MatrixType::f32:
  case MatrixType::xf32: return 32;
  case MatrixType::f16:
  case MatrixType::bf16:
  case MatrixType::bf16x2: return 16;
  case MatrixType::fp6:
  case MatrixType::bf6: return 6;
  case MatrixType::fp4: return 4;
  default: return 8;
  }
}

struct Slot {
  unsigned reg, lane;
};

Slot place_of_d(const MatrixRow& row, unsigned b, unsigned i, unsigned j) {
  if (row.d == MatrixType::f64) return row.n == 16 ? Slot{i / 4, j + 16 * (i % 4)} : Slot{0, j + 4 * b + 16 * i};
  if (row.n == 32) return {16 * b + 4 * (i / 8) + i % 4, j + 32 * (i / 4 % 2)};
  if (row.n == 16) return {4 * b + i % 4, j + 16 * (i / 4)};
  return {i, 4 * b + j};
}

// --- arithmetic

struct Product {
  Number a, b;
  int scale = 0; // of A and B together
  [[nodiscard]] bool negative() const { return a.negative != b.negative; }
  [[nodiscard]] bool finite() const { return a.kind == Kind::finite && b.kind == Kind::finite; }
  [[nodiscard]] Uint128 significand() const { return static_cast<Uint128>(a.significand) * b.significand; }
  [[nodiscard]] int exponent() const { return a.exponent + b.exponent; }
  [[nodiscard]] int counted() const { return a.counted + b.counted; }
};

float fma_f32(const Product& p, float c) {
  const Number nc = decode_f32(c);
  if (!p.finite() || nc.kind != Kind::finite) return static_cast<float>(std::fma(p.a.value(), p.b.value(), static_cast<double>(c)));
  Sum s;
  s.add(p.negative(), p.significand(), p.exponent());
  s.add(nc.negative, nc.significand, nc.exponent);
  if (s.is_zero()) return p.negative() && nc.negative ? -0.0f : 0.0f;
  return f32(s.is_negative(), s.round(23, 8));
}

double fma_f64(const Product& p, double c) {
  const Number nc = decode(std::bit_cast<std::uint64_t>(c), {11, 52, 1023, Format::ieee});
  if (!p.finite() || nc.kind != Kind::finite) return std::fma(p.a.value(), p.b.value(), c);
  Sum64 s;
  s.add(p.negative(), p.significand(), p.exponent());
  s.add(nc.negative, nc.significand, nc.exponent);
  if (s.is_zero()) return p.negative() && nc.negative ? -0.0 : 0.0;
  return std::bit_cast<double>(s.round(52, 11) | (s.is_negative() ? std::uint64_t{1} << 63 : 0));
}

// CDNA2.
float flush(float x) { return std::isnan(x) || std::fabs(x) >= 0x1p-126f ? x : std::copysign(0.0f, x); }

float add_rounded(float x, float y) {
  const Number nx = decode_f32(x), ny = decode_f32(y);
  if (nx.kind != Kind::finite || ny.kind != Kind::finite) return x + y;
  Sum s;
  s.add(nx.negative, nx.significand, nx.exponent);
  s.add(ny.negative, ny.significand, ny.exponent);
  if (s.is_zero()) return nx.negative && ny.negative ? -0.0f : 0.0f;
  return flush(f32(s.is_negative(), s.round(23, 8)));
}

float multiply_rounded(const Product& p) {
  if (!p.finite()) return static_cast<float>(p.a.value() * p.b.value());
  if (p.a.zero() || p.b.zero()) return 0.0f;
  Sum s;
  s.add(p.negative(), p.significand(), p.exponent());
  return flush(f32(p.negative(), s.round(23, 8)));
}

Number flush_input(Number n, double smallest_normal) {
  if (n.kind == Kind::finite && std::fabs(n.value()) < smallest_normal) return decode_f32(0.0f);
  return n;
}

float tree_sum(const std::vector<Product>& products, unsigned group, float c) {
  float acc = std::fabs(c) < 0x1p-126f ? 0.0f : c;
  for (std::size_t k = 0; k < products.size(); k += group) {
    float sum = add_rounded(multiply_rounded(products[k]), multiply_rounded(products[k + 1]));
    if (group == 4) sum = add_rounded(sum, add_rounded(multiply_rounded(products[k + 2]), multiply_rounded(products[k + 3])));
    acc = add_rounded(acc, sum);
  }
  return acc;
}

// CDNA3: one group of products[first, first + group) into c.
float fused_group(const std::vector<Product>& products, std::size_t first, unsigned group, bool odd_even, float c) {
  const Number nc = decode_f32(c);
  double plain = static_cast<double>(c);
  bool all_finite = nc.kind == Kind::finite, plus = false, minus = false;
  for (std::size_t k = first; k < first + group; ++k) {
    const Product& p = products[k];
    all_finite = all_finite && p.finite();
    const double value = std::ldexp(p.a.value() * p.b.value(), p.scale);
    plain += value;
    plus = plus || value >= 0x1p128;
    minus = minus || value <= -0x1p128;
  }
  if (!all_finite) return static_cast<float>(plain);
  if (plus || minus) return plus && minus ? kNan : plus ? kInfinity : -kInfinity;

  const unsigned parts = odd_even ? 2 : 1;
  Sum sums[2];
  int largest = std::numeric_limits<int>::min();
  for (unsigned part = 0; part < parts; ++part) {
    int e = std::numeric_limits<int>::min();
    for (std::size_t k = first + part; k < first + group; k += parts) e = std::max(e, products[k].counted() + products[k].scale);
    for (std::size_t k = first + part; k < first + group; k += parts) {
      const Product& p = products[k];
      const int unit = e - 24, exponent = p.exponent() + p.scale;
      Uint128 s = p.significand();
      if (exponent < unit) s = unit - exponent > 100 ? 0 : s >> (unit - exponent) << (unit - exponent); // toward zero
      if (s != 0) sums[part].add(p.negative(), s, exponent);
    }
    largest = std::max(largest, e);
  }
  Sum total = sums[0];
  if (odd_even) {
    total.floor_at(largest - 24);
    sums[1].floor_at(largest - 24);
    total.add(sums[1]);
  }
  const int ec = nc.zero() ? -126 : nc.counted;
  const int m = std::max(largest, ec);
  total.floor_at(m - 31);
  Sum aligned;
  if (!(odd_even && ec < m - 25)) aligned.add(nc.negative, nc.significand, nc.exponent);
  aligned.floor_at(m - 24);
  total.add(aligned);
  if (total.is_zero()) return 0.0f;
  return f32(total.is_negative(), total.round(23, 8));
}

float sum_f32(const MatrixRow& row, Arch arch, const std::vector<Product>& products, float c) {
  if (row.a == MatrixType::f32) {
    for (const Product& p : products) c = fma_f32(p, c);
    return c;
  }
  if (arch == Arch::gfx90a) return tree_sum(products, row.a == MatrixType::bf16x2 ? 2 : 4, c);
  const bool is_f8 = row.a == MatrixType::fp8 || row.a == MatrixType::bf8 || row.a == MatrixType::f8f6f4;
  const unsigned most = is_f8 ? 16 : row.a == MatrixType::xf32 ? 4 : 8;
  const unsigned group = std::min<unsigned>(most, static_cast<unsigned>(products.size()));
  for (std::size_t k = 0; k < products.size(); k += group) c = fused_group(products, k, group, is_f8, c);
  return c;
}

} // namespace

Registers model_matrix(const MatrixRow& row, Arch arch, MatrixType type_a, MatrixType type_b, const MatrixInputs& in) {
  const unsigned slices = 64u / (row.m * row.blocks);
  const bool scaled = row.a == MatrixType::f8f6f4;
  const bool wide_sparse = row.sparse && row.k / slices * bits_of(type_b) == 256;
  Operand a{&in.a, type_a, bits_of(type_a), row.k / slices, row.blocks, row.m, row.k, scaled && bits_of(type_a) == 8};
  const Operand b{&in.b, type_b, bits_of(type_b), row.k / slices, row.blocks, row.n, row.k, (scaled && bits_of(type_b) == 8) || wide_sparse};
  if (row.sparse) { // A as if its k were the kept ones
    a.per_lane /= 2;
    a.k /= 2;
    a.two_runs = wide_sparse;
  }
  const Format fa = format_of(type_a, arch), fb = format_of(type_b, arch);
  const bool doubles = row.d == MatrixType::f64, negates = doubles && arch != Arch::gfx90a;
  const unsigned blgp = negates || row.sparse || scaled ? 0 : in.blgp;
  const bool broadcast = !negates && !row.sparse && !scaled;

  const auto number = [&](const Operand& o, const Format& f, std::uint64_t bits, const std::vector<std::uint8_t>& scale, unsigned i, unsigned k) {
    if (o.type == MatrixType::xf32 && !std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))) bits &= ~std::uint64_t{0x1fff};
    Number n = decode(bits, f);
    if (arch == Arch::gfx90a && o.type == MatrixType::f16) n = flush_input(n, 0x1p-14);
    if (arch == Arch::gfx90a && (o.type == MatrixType::bf16 || o.type == MatrixType::bf16x2)) n = flush_input(n, 0x1p-126);
    if (!scale.empty() && scale[i + o.rows * (k / 32)] == 255) n.kind = Kind::nan;
    return n;
  };

  Registers d = in.c;
  for (unsigned block = 0; block < row.blocks; ++block) {
    const unsigned group = broadcast ? std::min(1u << in.cbsz, unsigned{row.blocks}) : 1;
    const unsigned block_a = group > 1 ? block / group * group + in.abid % group : block;
    for (unsigned i = 0; i < row.m; ++i) {
      for (unsigned j = 0; j < row.n; ++j) {
        std::vector<Product> products;
        std::uint32_t integer = 0;
        for (unsigned kept = 0; kept < (row.sparse ? row.k / 2u : row.k); ++kept) {
          unsigned k = kept;
          if (row.sparse) {
            // Index: 2 bits for each item of the lane that holds A's element, in the set that ABID selects.
            const unsigned items = a.per_lane, set_bits = 2 * items, run = a.two_runs ? items / 2 : items;
            const unsigned slice = a.two_runs ? kept % (a.k / 2) / run : kept / run;
            const unsigned item = kept % run + (a.two_runs && kept >= a.k / 2 ? run : 0);
            const unsigned set = in.cbsz == 0 ? in.abid % (32 / set_bits) : 0;
            const std::uint32_t word = in.index.lane[i + row.m * slice];
            k = kept / 2 * 4 + ((word >> (set * set_bits + 2 * item)) & 3u);
          }
          const std::uint64_t bits_a = a.at(block_a, i, kept, 0), bits_b = b.at(block, j, k, blgp);
          if (row.d == MatrixType::i32) {
            integer += static_cast<std::uint32_t>(int{static_cast<std::int8_t>(bits_a)} * int{static_cast<std::int8_t>(bits_b)});
            continue;
          }
          Product p{number(a, fa, bits_a, in.scale_a, i, k), number(b, fb, bits_b, in.scale_b, j, k)};
          if (negates && (in.blgp & 1)) p.a.negative = !p.a.negative;
          if (negates && (in.blgp & 2)) p.b.negative = !p.b.negative;
          if (!in.scale_a.empty()) p.scale += in.scale_a[i + row.m * (k / 32)] - 127;
          if (!in.scale_b.empty()) p.scale += in.scale_b[j + row.n * (k / 32)] - 127;
          products.push_back(p);
        }
        const Slot at = place_of_d(row, block, i, j);
        if (row.d == MatrixType::i32) {
          d[at.reg].lane[at.lane] = in.c[at.reg].lane[at.lane] + integer;
        } else if (doubles) {
          double c = std::bit_cast<double>(std::uint64_t{in.c[2 * at.reg + 1].lane[at.lane]} << 32 | in.c[2 * at.reg].lane[at.lane]);
          if (negates && (in.blgp & 4)) c = -c;
          for (const Product& p : products) c = fma_f64(p, c);
          const auto bits = std::bit_cast<std::uint64_t>(c);
          d[2 * at.reg].lane[at.lane] = static_cast<std::uint32_t>(bits);
          d[2 * at.reg + 1].lane[at.lane] = static_cast<std::uint32_t>(bits >> 32);
        } else {
          const float c = std::bit_cast<float>(in.c[at.reg].lane[at.lane]);
          d[at.reg].lane[at.lane] = std::bit_cast<std::uint32_t>(sum_f32(row, arch, products, c));
        }
      }
    }
  }
  return d;
}

} // namespace aql::test
