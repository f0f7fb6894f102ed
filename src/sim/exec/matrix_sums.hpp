// The arithmetic of one output (a vector of outputs): how products are summed. Included like matrix_simd.hpp.
// A Row gives the operands of one vector of outputs: either one value of A for all of them, or a vector of A (4x4 shapes).

template <bool kVectorA>
struct Row {
  const float* const* a; // per product; element `ai` (and the kW after it, if A is a vector)
  const float* const* b; // per product; elements bj..bj+kW-1
  int ai, bj;
  AQL_INLINE VF va(int k) const {
    if constexpr (kVectorA) return load_f(a[k] + ai);
    return set1(scalar_f(a[k] + ai));
  }
  AQL_INLINE VI ea(int k) const {
    if constexpr (kVectorA) return load_i(a[k] + kExponents + ai);
    return set1(scalar_i(a[k] + kExponents + ai));
  }
  AQL_INLINE VF vb(int k) const { return load_f(b[k] + bj); }
  AQL_INLINE VI eb(int k) const { return load_i(b[k] + kExponents + bj); }
  AQL_INLINE float a_lane(int k, int lane) const { return scalar_f(a[k] + ai + (kVectorA ? lane : 0)); }
  AQL_INLINE int ea_lane(int k, int lane) const { return scalar_i(a[k] + kExponents + ai + (kVectorA ? lane : 0)); }
  AQL_INLINE float b_lane(int k, int lane) const { return scalar_f(b[k] + bj + lane); }
  AQL_INLINE int eb_lane(int k, int lane) const { return scalar_i(b[k] + kExponents + bj + lane); }
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
  static AQL_INLINE VI mac(VI a, VI b, VI c) { return (VI)((VU)multiply_pairs(a, b) + (VU)c); }
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
  template <class R>
  static AQL_INLINE VF product(const R& row, int k) {
    const VF a = row.va(k), b = row.vb(k);
    if constexpr (kNoTinyResults) return a * b;
#if AQL_TIER == 0
    const VF p = a * b; // not every zero: an underflowing product keeps its sign, and 0 * infinity is a NaN
    return flush_result(select(VI(((a == 0.0f) | (b == 0.0f)) & (p == 0.0f)), VF{}, p));
#else
    return flush_result(fma(a, b, VF{})); // adding +0 makes an exactly zero product +0 and leaves an underflowing one its sign
#endif
  }
  template <class R>
  static AQL_INLINE VF run(const R& row, int count, VF c) {
    VF sum = as_f(as_i(c) & ~VI((as_i(c) & 0x7f800000) == 0));
    for (int k = 0; k < count; k += kGroup) {
      VF s = flush(product(row, k) + product(row, k + 1));
      if constexpr (kGroup == 4) s = flush(s + flush(product(row, k + 2) + product(row, k + 3)));
      sum = flush(sum + s);
    }
    return quiet(sum);
  }
};

// --- CDNA3: products truncated against the largest exponent of their group, one rounding a group

// E8M0 exponents of the group that is being summed: one for the row of A, one a column of B.
struct GroupScale {
  const int* a = nullptr;      // exponent by lane of the scale register
  const int* b = nullptr;
};

// One output of one group by the same rules, with the special values: infinities, NaNs, products of 2^128 and more.
template <class R>
[[gnu::noinline]] float fused_lane(const R& row, int first, int group, bool odd_even, bool significands, int scale, int lane, float c) {
  double plain = static_cast<double>(c);
  double sums[2] = {0.0, 0.0};
  int largest[2] = {-1000, -1000};
  bool plus = false, minus = false;
  for (int k = first; k < first + group; ++k) {
    const int e = row.ea_lane(k, lane) + row.eb_lane(k, lane);
    if (const int part = odd_even ? (k - first) & 1 : 0; e > largest[part]) largest[part] = e;
  }
  for (int k = first; k < first + group; ++k) {
    const int e = row.ea_lane(k, lane) + row.eb_lane(k, lane);
    double product = static_cast<double>(row.a_lane(k, lane)) * static_cast<double>(row.b_lane(k, lane));
    const int part = odd_even ? (k - first) & 1 : 0;
    const bool finite = __builtin_isfinite(product);
    if (significands && finite && product != 0.0) product = std::ldexp(product, e);
    const double scaled = finite ? std::ldexp(product, scale) : product;
    plain += scaled;
    plus |= scaled >= 0x1p128;
    minus |= scaled <= -0x1p128;
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

template <int kGroup, bool kOddEven, bool kSignificands>
struct FusedSum {
  // Products of every kStep-th k from `first`: their largest exponent and the sum of their truncations in units of 2^(e-24).
  template <int kCount, int kStep, class R>
  static AQL_INLINE VI truncated(const R& row, int first, VI& e) {
    VI exponents[kSignificands ? kCount : 1];
    e = row.ea(first) + row.eb(first);
    if constexpr (kSignificands) exponents[0] = e;
#pragma GCC unroll 8
    for (int i = 1; i < kCount; ++i) {
      const VI sum = row.ea(first + i * kStep) + row.eb(first + i * kStep);
      if constexpr (kSignificands) exponents[i] = sum;
      e = max(e, sum);
    }
    VI s{};
    if constexpr (kSignificands) {
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        const VI below = max(exponents[i] - e, set1(-64)); // 2^-40 and less truncates to 0
        s += truncate(row.va(first + i * kStep) * row.vb(first + i * kStep) * as_f((below + (127 + 24)) << 23));
      }
    } else {
      // A largest exponent below -102 belongs to zeros only: any scale does.
      const VF scale = as_f((VI)((VU)(127 + 24 - max(e, set1(-102))) << 23));
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) s += truncate(row.va(first + i * kStep) * row.vb(first + i * kStep) * scale);
    }
    return s;
  }

  template <class R>
  static AQL_INLINE VF step(const R& row, int first, VF c, VI scale, bool any_special) {
    VI e, s;
    if constexpr (kOddEven) {
      VI e0, e1;
      const VI s0 = truncated<kGroup / 2, 2>(row, first, e0);
      const VI s1 = truncated<kGroup / 2, 2>(row, first + 1, e1);
      e = max(e0, e1);
      s = shift_right(s0, e - e0) + shift_right(s1, e - e1);
    } else {
      s = truncated<kGroup, 1>(row, first, e);
    }
    e += scale;
    const VI ec = max(exponent_field(c), set1(-126));
    const VI m = max(e, ec);
    VF addend = c;
    if constexpr (kOddEven) addend = as_f(as_i(c) & ~VI(ec < m - 25));
    const VD products = floor(to_double(s) * power_of_two(e - m + 7));
    const VD accumulated = floor(to_double(addend) * power_of_two(24 - m));
    VF result = to_float((products + accumulated * 128.0) * power_of_two(m - 31));
    // e >= 127: a product may have reached 2^128.
    const VI odd = is_not_finite(c) | (e >= 127) | (any_special ? set1(-1) : VI{});
    if (__builtin_expect(any(odd), 0)) {
      for (int lane = 0; lane < kW; ++lane) {
        if (odd[lane]) result[lane] = fused_lane(row, first, kGroup, kOddEven, kSignificands, scale[lane], lane, c[lane]);
      }
    }
    return result;
  }
};
