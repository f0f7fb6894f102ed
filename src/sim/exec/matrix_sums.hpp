// The arithmetic of outputs: how products are summed. Included like matrix_simd.hpp.

// Operands of a tile of kRows x kColumns vectors of outputs. A gives one value a row, or a vector of them (4x4 shapes).
template <bool kVectorA, int kRows, int kColumns>
struct Tile {
  const float* const* a; // per product; row r begins at ai + r * a_step
  const float* const* b; // per product; the tile's columns begin at bj
  int ai, a_step, bj;
  AQL_INLINE const float* at_a(int k, int r, int c) const { return a[k] + ai + r * a_step + (kVectorA ? c * kW : 0); }
  AQL_INLINE const float* at_b(int k, int c) const { return b[k] + bj + c * kW; }
  AQL_INLINE VF va(int k, int r, int c) const {
    if constexpr (kVectorA) return load_f(at_a(k, r, c));
    return set1(scalar_f(at_a(k, r, c)));
  }
  AQL_INLINE VI ea(int k, int r, int c) const {
    if constexpr (kVectorA) return load_i(at_a(k, r, c) + kExponents);
    return set1(scalar_i(at_a(k, r, c) + kExponents));
  }
  AQL_INLINE VF vb(int k, int c) const { return load_f(at_b(k, c)); }
  AQL_INLINE VI eb(int k, int c) const { return load_i(at_b(k, c) + kExponents); }
};

// --- plain: one fused multiply-add per product

struct FloatMac {
  using Vector = VF;
  static AQL_INLINE VF load(const void* p) { return load_f(p); }
  static AQL_INLINE VF broadcast(const void* p) { return set1(scalar_f(p)); }
  static AQL_INLINE VF mac(VF a, VF b, VF c) { return fma(a, b, c); }
  static AQL_INLINE VF result(VF v) { return v; }
};
// NaN bits are unspecified: one NaN for all hosts.
struct QuietFloatMac : FloatMac {
  static AQL_INLINE VF result(VF v) { return quiet(v); }
};
// Factors whose product is exact in f32 (f16, fp8 ...): hosts without a fused multiply-add need none.
struct ExactProductMac : FloatMac {
#if AQL_TIER == 0
  static AQL_INLINE VF mac(VF a, VF b, VF c) { return a * b + c; }
#endif
};
struct IntegerMac {
  using Vector = VI;
  static AQL_INLINE VI load(const void* p) { return load_i(p); }
  static AQL_INLINE VI broadcast(const void* p) { return set1(scalar_i(p)); }
  static AQL_INLINE VI mac(VI a, VI b, VI c) { return add_wrapping(multiply_pairs(a, b), c); }
  static AQL_INLINE VI result(VI v) { return v; }
};

// --- CDNA2: rounded products in a balanced tree, everything below 2^-126 flushed to a zero of its sign

AQL_INLINE VF flush_result(VF v) {
  const VI tiny = (as_i(v) & 0x7f800000) == 0;
  return as_f(as_i(v) & ~(tiny & 0x7fffffff));
}

template <int kGroup, bool kNoTinyResults>
struct TreeSum {
  static AQL_INLINE VF flush(VF v) {
    // Sums of f16 products are multiples of 2^-48: nothing to flush, and zeros of either sign behave alike.
    if constexpr (kNoTinyResults) return v;
    return flush_result(v);
  }
  template <class T>
  static AQL_INLINE VF product(const T& tile, int k) {
    const VF a = tile.va(k, 0, 0), b = tile.vb(k, 0);
    if constexpr (kNoTinyResults) return a * b;
#if AQL_TIER == 0
    const VF p = a * b; // not every zero: an underflowing product keeps its sign, and 0 * infinity is a NaN
    return flush_result(select(VI(((a == 0.0f) | (b == 0.0f)) & (p == 0.0f)), VF{}, p));
#else
    return flush_result(fma(a, b, VF{})); // adding +0 makes an exactly zero product +0 and leaves an underflowing one its sign
#endif
  }
  template <class T>
  static AQL_INLINE VF run(const T& tile, int count, VF c) {
    VF sum = as_f(as_i(c) & ~VI((as_i(c) & 0x7f800000) == 0));
    for (int k = 0; k < count; k += kGroup) {
      VF s = flush(product(tile, k) + product(tile, k + 1));
      if constexpr (kGroup == 4) s = flush(s + flush(product(tile, k + 2) + product(tile, k + 3)));
      sum = flush(sum + s);
    }
    return quiet(sum);
  }
};

// --- CDNA3: products truncated against the largest exponent of their group, one rounding a group

// One output of one group by the same rules, with the special values: infinities, NaNs, products of 2^128 and more.
// a and b point at the output's value of each product, exponents behind them.
[[gnu::noinline, gnu::cold]] float fused_lane(const float* const* a, const float* const* b, int group, bool odd_even, bool significands, int scale, float c) {
  double plain = static_cast<double>(c);
  double sums[2] = {0.0, 0.0};
  int largest[2] = {-1000, -1000};
  bool plus = false, minus = false;
  for (int k = 0; k < group; ++k) {
    const int e = scalar_i(a[k] + kExponents) + scalar_i(b[k] + kExponents);
    if (const int part = odd_even ? k & 1 : 0; e > largest[part]) largest[part] = e;
  }
  for (int k = 0; k < group; ++k) {
    const int e = scalar_i(a[k] + kExponents) + scalar_i(b[k] + kExponents);
    double product = static_cast<double>(*a[k]) * static_cast<double>(*b[k]);
    const bool finite = __builtin_isfinite(product);
    if (significands && finite && product != 0.0) product = std::ldexp(product, e);
    const double scaled = finite ? std::ldexp(product, scale) : product;
    plain += scaled;
    plus |= scaled >= 0x1p128;
    minus |= scaled <= -0x1p128;
    const int part = odd_even ? k & 1 : 0;
    if (finite) sums[part] += std::trunc(std::ldexp(product, 24 - largest[part]));
  }
  constexpr float infinity = __builtin_inff();
  if (!__builtin_isfinite(plain)) return static_cast<float>(plain);
  if (plus || minus) return plus && minus ? __builtin_nanf("") : plus ? infinity : -infinity;
  int e = largest[0];
  double sum = sums[0];
  if (odd_even) {
    e = largest[0] > largest[1] ? largest[0] : largest[1];
    sum = std::floor(std::ldexp(sums[0], largest[0] - e)) + std::floor(std::ldexp(sums[1], largest[1] - e));
  }
  e += scale;
  const int field = static_cast<int>((__builtin_bit_cast(std::uint32_t, c) >> 23) & 0xff) - 127;
  const int ec = field < -126 ? -126 : field;
  const int m = e > ec ? e : ec;
  double aligned_c = std::floor(std::ldexp(static_cast<double>(c), 24 - m));
  if (odd_even && ec < m - 25) aligned_c = 0.0;
  const double total = std::floor(std::ldexp(sum, e - m + 7)) + aligned_c * 128.0;
  return static_cast<float>(std::ldexp(total, m - 31));
}

// Where a vector's lanes that need fused_lane begin.
struct OddLanes {
  const float* a[16];
  const float* b[16];
  bool vector_a;
};
[[gnu::noinline, gnu::cold]] VF fuse_odd_lanes(const OddLanes& from, int group, bool odd_even, bool significands, VI scale, VF c, VI odd, VF result) {
  alignas(64) std::int32_t scales[kW], mask[kW];
  alignas(64) float accumulator[kW], out[kW];
  store(scales, scale);
  store(mask, odd);
  store(accumulator, c);
  store(out, result);
  for (int lane = 0; lane < kW; ++lane) {
    if (mask[lane] == 0) continue;
    const float *a[16], *b[16];
    for (int k = 0; k < group; ++k) {
      a[k] = from.a[k] + (from.vector_a ? lane : 0);
      b[k] = from.b[k] + lane;
    }
    out[lane] = fused_lane(a, b, group, odd_even, significands, scales[lane], accumulator[lane]);
  }
  return load_f(out);
}

template <int kGroup, bool kOddEven, bool kSignificands>
struct FusedSum {
  // Products of every kStep-th k from `first`: their largest exponent and the sum of their truncations in units of 2^(e-24).
  template <int kCount, int kStep, bool kVectorA, int kRows, int kColumns>
  static AQL_INLINE void truncated(const Tile<kVectorA, kRows, kColumns>& tile, int first, VI (&e)[kRows][kColumns], VI (&s)[kRows][kColumns]) {
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      const int k = first + n * kStep;
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const VI eb = tile.eb(k, c);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          const VI sum = tile.ea(k, r, c) + eb;
          e[r][c] = n == 0 ? sum : max(e[r][c], sum);
        }
      }
    }
    // A largest exponent below -102 belongs to zeros only: any scale does.
    VF scale[kRows][kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        scale[r][c] = as_f((VI)((VU)(127 + 24 - max(e[r][c], set1(-102))) << 23));
        s[r][c] = VI{};
      }
    }
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      const int k = first + n * kStep;
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const VF vb = tile.vb(k, c);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          VF factor = scale[r][c];
          if constexpr (kSignificands) { // 2^(product's exponent - largest + 24); 2^-40 and less truncates to 0
            const VI below = max(tile.ea(k, r, c) + tile.eb(k, c) - e[r][c], set1(-64));
            factor = as_f((below + (127 + 24)) << 23);
          }
          s[r][c] = add_wrapping(s[r][c], truncate(tile.va(k, r, c) * vb * factor)); // NaN lanes overflow; they are done again
        }
      }
    }
  }

  // Adds the products from `first` on to `sum`; `scale` is the exponent that block scales add.
  template <bool kVectorA, int kRows, int kColumns>
  static AQL_INLINE void step(const Tile<kVectorA, kRows, kColumns>& tile, int first, VF (&sum)[kRows][kColumns], const VI (&scale)[kRows][kColumns],
                              bool any_special) {
    VI e[kRows][kColumns], s[kRows][kColumns];
    if constexpr (kOddEven) {
      VI e1[kRows][kColumns], s1[kRows][kColumns];
      truncated<kGroup / 2, 2>(tile, first, e, s);
      truncated<kGroup / 2, 2>(tile, first + 1, e1, s1);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) {
          const VI larger = max(e[r][c], e1[r][c]);
          s[r][c] = add_wrapping(shift_right(s[r][c], larger - e[r][c]), shift_right(s1[r][c], larger - e1[r][c]));
          e[r][c] = larger;
        }
      }
    } else {
      truncated<kGroup, 1>(tile, first, e, s);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const VF result = add_group(s[r][c], e[r][c] + scale[r][c], sum[r][c]);
        // e >= 127: a product may have reached 2^128.
        const VI odd = is_not_finite(sum[r][c]) | (e[r][c] + scale[r][c] >= 127) | (any_special ? set1(-1) : VI{});
        if (__builtin_expect(any(odd), 0)) {
          OddLanes lanes;
          lanes.vector_a = kVectorA;
          for (int k = 0; k < kGroup; ++k) {
            lanes.a[k] = tile.at_a(first + k, r, c);
            lanes.b[k] = tile.at_b(first + k, c);
          }
          sum[r][c] = fuse_odd_lanes(lanes, kGroup, kOddEven, kSignificands, scale[r][c], sum[r][c], odd, result);
        } else {
          sum[r][c] = result;
        }
      }
    }
  }

  // The group's sum s * 2^(e-24) and the accumulator, each cut to the bits that the adder keeps, added and rounded once.
  static AQL_INLINE VF add_group(VI s, VI e, VF accumulator) {
    const VI ec = max(exponent_field(accumulator), set1(-126));
    const VI m = max(e, ec);
    if constexpr (kOddEven) accumulator = as_f(as_i(accumulator) & ~VI(ec < m - 25));
    const VD products = floor(to_double(s) * power_of_two(e - m + 7));
    const VD accumulated = floor(to_double(accumulator) * power_of_two(24 - m));
    return to_float((products + accumulated * 128.0) * power_of_two(m - 31));
  }
};
