// Vectors of one host register for the matrix kernels. Included only by matrix_*.tier.cpp, after AQL_TIER_BEGIN and inside
// namespace aql::sim::AQL_TIER_NS: every tier gets its own copy. No include guard: one tier file includes it once.
//   VF, VI   kW floats, kW ints      VD  the kW doubles that belong to a VF, as two registers

#if AQL_TIER == 2
inline constexpr int kW = 16;
#elif AQL_TIER == 1
inline constexpr int kW = 8;
#else
inline constexpr int kW = 4;
#endif

#define AQL_INLINE __attribute__((always_inline)) inline

typedef float VF __attribute__((vector_size(kW * 4)));
typedef std::int32_t VI __attribute__((vector_size(kW * 4)));
typedef std::uint32_t VU __attribute__((vector_size(kW * 4)));
typedef double VDhalf __attribute__((vector_size(kW * 4)));
typedef std::int64_t VLhalf __attribute__((vector_size(kW * 4)));
struct VD {
  VDhalf lo, hi;
};

// Registers are uint32 in memory: these accesses may alias anything.
typedef VF VFmem __attribute__((may_alias, aligned(4)));
typedef VI VImem __attribute__((may_alias, aligned(4)));

AQL_INLINE VF load_f(const void* p) { return *static_cast<const VFmem*>(p); }
AQL_INLINE VI load_i(const void* p) { return *static_cast<const VImem*>(p); }
AQL_INLINE void store(void* p, VF v) { *static_cast<VFmem*>(p) = v; }
AQL_INLINE void store(void* p, VI v) { *static_cast<VImem*>(p) = v; }
AQL_INLINE VF set1(float x) { return x - VF{}; }
AQL_INLINE VI set1(std::int32_t x) { return x - VI{}; }
AQL_INLINE float scalar_f(const void* p) {
  float x;
  std::memcpy(&x, p, 4);
  return x;
}
AQL_INLINE std::int32_t scalar_i(const void* p) {
  std::int32_t x;
  std::memcpy(&x, p, 4);
  return x;
}
AQL_INLINE VF as_f(VI v) { return (VF)v; }
AQL_INLINE VI as_i(VF v) { return (VI)v; }
AQL_INLINE VI select(VI mask, VI yes, VI no) { return (mask & yes) | (~mask & no); }
AQL_INLINE VF select(VI mask, VF yes, VF no) { return as_f(select(mask, as_i(yes), as_i(no))); }
AQL_INLINE VI add_wrapping(VI a, VI b) { return (VI)((VU)a + (VU)b); }
AQL_INLINE VI shift_right_logical(VI v, int n) { return (VI)((VU)v >> n); }

#if AQL_TIER == 2
AQL_INLINE VI max(VI a, VI b) { return (VI)_mm512_max_epi32((__m512i)a, (__m512i)b); }
AQL_INLINE VI min(VI a, VI b) { return (VI)_mm512_min_epi32((__m512i)a, (__m512i)b); }
AQL_INLINE VI truncate(VF v) { return (VI)_mm512_cvttps_epi32((__m512)v); }
AQL_INLINE VF to_float(VI v) { return (VF)_mm512_cvtepi32_ps((__m512i)v); }
AQL_INLINE VF fma(VF a, VF b, VF c) { return (VF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
AQL_INLINE VD to_double(VI v) {
  return {(VDhalf)_mm512_cvtepi32_pd(_mm512_castsi512_si256((__m512i)v)), (VDhalf)_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64((__m512i)v, 1))};
}
AQL_INLINE VD to_double(VF v) {
  return {(VDhalf)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)), (VDhalf)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1))};
}
AQL_INLINE VF to_float(VD v) {
  return (VF)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)v.lo)), _mm512_cvtpd_ps((__m512d)v.hi), 1);
}
AQL_INLINE VDhalf floor(VDhalf v) { return (VDhalf)_mm512_roundscale_pd((__m512d)v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
// 2^n for n in -1022..1023.
AQL_INLINE VD power_of_two(VI n) {
  const VI biased = n + 1023;
  return {(VDhalf)_mm512_slli_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256((__m512i)biased)), 52),
          (VDhalf)_mm512_slli_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64((__m512i)biased, 1)), 52)};
}
AQL_INLINE bool any(VI mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }
// Sums of products of the two int16 of each lane.
AQL_INLINE VI multiply_pairs(VI a, VI b) { return (VI)_mm512_madd_epi16((__m512i)a, (__m512i)b); }
#elif AQL_TIER == 1
AQL_INLINE VI max(VI a, VI b) { return (VI)_mm256_max_epi32((__m256i)a, (__m256i)b); }
AQL_INLINE VI min(VI a, VI b) { return (VI)_mm256_min_epi32((__m256i)a, (__m256i)b); }
AQL_INLINE VI truncate(VF v) { return (VI)_mm256_cvttps_epi32((__m256)v); }
AQL_INLINE VF to_float(VI v) { return (VF)_mm256_cvtepi32_ps((__m256i)v); }
AQL_INLINE VF fma(VF a, VF b, VF c) { return (VF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
AQL_INLINE VD to_double(VI v) {
  return {(VDhalf)_mm256_cvtepi32_pd(_mm256_castsi256_si128((__m256i)v)), (VDhalf)_mm256_cvtepi32_pd(_mm256_extracti128_si256((__m256i)v, 1))};
}
AQL_INLINE VD to_double(VF v) {
  return {(VDhalf)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)), (VDhalf)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1))};
}
AQL_INLINE VF to_float(VD v) { return (VF)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)v.hi), _mm256_cvtpd_ps((__m256d)v.lo)); }
AQL_INLINE VDhalf floor(VDhalf v) { return (VDhalf)_mm256_round_pd((__m256d)v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
AQL_INLINE VD power_of_two(VI n) {
  const VI biased = n + 1023;
  return {(VDhalf)_mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128((__m256i)biased)), 52),
          (VDhalf)_mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm256_extracti128_si256((__m256i)biased, 1)), 52)};
}
AQL_INLINE bool any(VI mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
AQL_INLINE VI multiply_pairs(VI a, VI b) { return (VI)_mm256_madd_epi16((__m256i)a, (__m256i)b); }
#else
AQL_INLINE VI max(VI a, VI b) { return select(a > b, a, b); }
AQL_INLINE VI min(VI a, VI b) { return select(a < b, a, b); }
AQL_INLINE VI truncate(VF v) { return (VI)_mm_cvttps_epi32((__m128)v); }
AQL_INLINE VF to_float(VI v) { return (VF)_mm_cvtepi32_ps((__m128i)v); }
// SSE2 has no fused multiply-add: the C library's is exact.
AQL_INLINE VF fma(VF a, VF b, VF c) {
  VF r{};
  for (int i = 0; i < kW; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
}
AQL_INLINE VD to_double(VI v) {
  return {(VDhalf)_mm_cvtepi32_pd((__m128i)v), (VDhalf)_mm_cvtepi32_pd(_mm_shuffle_epi32((__m128i)v, 0xee))};
}
AQL_INLINE VD to_double(VF v) { return {(VDhalf)_mm_cvtps_pd((__m128)v), (VDhalf)_mm_cvtps_pd(_mm_movehl_ps((__m128)v, (__m128)v))}; }
AQL_INLINE VF to_float(VD v) { return (VF)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)v.lo), _mm_cvtpd_ps((__m128d)v.hi)); }
// Below 2^51 in magnitude: adding 1.5 * 2^52 rounds to an integer, which is then one too high or right.
AQL_INLINE VDhalf floor(VDhalf v) {
  const VDhalf magic = 0x1.8p52 - VDhalf{};
  const VDhalf rounded = (v + magic) - magic;
  const VLhalf one = (VLhalf)(1.0 - VDhalf{});
  return rounded - (VDhalf)((VLhalf)(rounded > v) & one);
}
AQL_INLINE VD power_of_two(VI n) {
  const __m128i biased = _mm_slli_epi32((__m128i)(n + 1023), 20);
  const __m128i zero = _mm_setzero_si128();
  return {(VDhalf)_mm_unpacklo_epi32(zero, biased), (VDhalf)_mm_unpackhi_epi32(zero, biased)};
}
AQL_INLINE bool any(VI mask) { return _mm_movemask_ps((__m128)mask) != 0; }
AQL_INLINE VI multiply_pairs(VI a, VI b) { return (VI)_mm_madd_epi16((__m128i)a, (__m128i)b); }
#endif

AQL_INLINE VD operator*(VD a, VD b) { return {a.lo * b.lo, a.hi * b.hi}; }
AQL_INLINE VD operator+(VD a, VD b) { return {a.lo + b.lo, a.hi + b.hi}; }
AQL_INLINE VD operator*(VD a, double b) { return {a.lo * b, a.hi * b}; }
AQL_INLINE VD floor(VD v) { return {floor(v.lo), floor(v.hi)}; }
// Arithmetic shift by a count per lane; counts of 31 and more give the sign.
AQL_INLINE VI shift_right(VI v, VI n) { return v >> min(n, set1(31)); }
// Integer of the exponent field: unbiased, -127 for zeros and subnormals.
AQL_INLINE VI exponent_field(VF v) { return shift_right_logical(as_i(v) & 0x7fffffff, 23) - 127; }
AQL_INLINE VI is_not_finite(VF v) { return (as_i(v) & 0x7f800000) == 0x7f800000; }
AQL_INLINE VF quiet(VF v) { return select(VI(v != v), as_f(set1(0x7fc00000)), v); }
AQL_INLINE void store_lane_group(float* p, const float* value) {
  const float x = scalar_f(value);
  for (int i = 0; i < 4; ++i) std::memcpy(p + i, &x, 4);
}
