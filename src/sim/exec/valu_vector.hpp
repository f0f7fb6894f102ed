// The hottest f32 operations with their 64 lanes held in vector registers from load to store. Included after valu_fast.hpp, in the same
// way. The lane loops keep the results in memory between the arithmetic and the look for NaNs, which costs as much as the arithmetic.
// Where a result is NaN nothing is stored, and the fused handler does the instruction again. Same conditions, same bits as fused<>.

#if AQL_TIER > 0
#if AQL_TIER == 2
using Vec = __m512;
AQL_INLINE Vec vec_load(const f32* p) { return _mm512_loadu_ps(p); }
AQL_INLINE Vec vec_of(f32 v) { return _mm512_set1_ps(v); }
AQL_INLINE void vec_store(f32* p, Vec v) { _mm512_storeu_ps(p, v); }
AQL_INLINE Vec vec_fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
AQL_INLINE u32 vec_unordered(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
AQL_INLINE Vec vec_blend(Vec old, Vec v, u64 lanes) { return _mm512_mask_mov_ps(old, static_cast<__mmask16>(lanes), v); }
#else
using Vec = __m256;
AQL_INLINE Vec vec_load(const f32* p) { return _mm256_loadu_ps(p); }
AQL_INLINE Vec vec_of(f32 v) { return _mm256_set1_ps(v); }
AQL_INLINE void vec_store(f32* p, Vec v) { _mm256_storeu_ps(p, v); }
AQL_INLINE Vec vec_fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
AQL_INLINE u32 vec_unordered(Vec a, Vec b) { return static_cast<u32>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q))); }
AQL_INLINE Vec vec_blend(Vec old, Vec v, u64 lanes) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i on = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes & 0xffu)), bits), bits);
  return _mm256_blendv_ps(old, v, _mm256_castsi256_ps(on));
}
#endif
inline constexpr unsigned kVecLanes = sizeof(Vec) / sizeof(f32), kVecs = kLanes / kVecLanes;

template <class Op, unsigned N> AQL_INLINE Vec vec_apply(const Vec* v) {
  if constexpr (N == 2) return Op::vec(v[0], v[1]);
  else return Op::vec(v[0], v[1], v[2]);
}

template <class Op, u32 Flags, unsigned S> static Next direct(Wave& w, const Inst& in) {
  constexpr ValuOp row = make_op<Op>(isa::Op{}, Flags);
  if (!fast_ok(w, in, row.mode_mask, row.mode_want)) [[unlikely]] return valu_general(w, in);
  const f32* p[row.nsrc];
  Vec same[row.nsrc];
  for (unsigned i = 0; i < row.nsrc; ++i) {
    if ((S >> i & 1u) != 0) same[i] = vec_of(as_f32(static_cast<u32>(scalar_source(w, in.src[i], 1))));
    else p[i] = reinterpret_cast<const f32*>(w.vgpr[in.src[i].index].lane);
  }
  Vec r[kVecs];
#pragma GCC unroll 8
  for (unsigned k = 0; k < kVecs; ++k) {
    Vec v[row.nsrc];
    for (unsigned i = 0; i < row.nsrc; ++i) v[i] = (S >> i & 1u) != 0 ? same[i] : vec_load(p[i] + k * kVecLanes);
    r[k] = vec_apply<Op, row.nsrc>(v);
  }
  u32 nan = 0;
#pragma GCC unroll 8
  for (unsigned k = 0; k < kVecs; k += 2) nan |= vec_unordered(r[k], r[k + 1]);
  if (nan != 0) [[unlikely]] return fused<Op, Flags, S>(w, in);
  f32* const dst = reinterpret_cast<f32*>(w.vgpr[in.dst.index].lane);
  const u64 exec = w.exec();
  if (exec == ~u64{0}) [[likely]] {
#pragma GCC unroll 8
    for (unsigned k = 0; k < kVecs; ++k) vec_store(dst + k * kVecLanes, r[k]);
  } else {
#pragma GCC unroll 8
    for (unsigned k = 0; k < kVecs; ++k) {
      f32* const at = dst + k * kVecLanes;
      vec_store(at, vec_blend(vec_load(at), r[k], exec >> (k * kVecLanes)));
    }
  }
  return Next::fallthrough;
}

template <class Op, u32 Flags> consteval FusedHandlers direct_handlers() {
  FusedHandlers all = fused_handlers<Op, Flags>();
  all[0] = &direct<Op, Flags, 0>;
  all[1] = &direct<Op, Flags, 1>;
  all[2] = &direct<Op, Flags, 2>;
  if constexpr (make_op<Op>(isa::Op{}, Flags).nsrc > 2 && (Flags & kReadsDst) == 0) all[4] = &direct<Op, Flags, 4>;
  return all;
}
template <class Op, u32 Flags> inline constexpr FusedHandlers kDirect = direct_handlers<Op, Flags>();
#else
using Vec = f32; // never called
AQL_INLINE Vec vec_fma(Vec a, Vec b, Vec c) { return __builtin_fmaf(a, b, c); }
template <class Op, u32 Flags> inline constexpr FusedHandlers kDirect = fused_handlers<Op, Flags>();
#endif

template <class Op, u32 Flags> consteval ValuOp make_direct(isa::Op code) {
  ValuOp op = make_op<Op>(code, Flags);
  op.fused = &kDirect<Op, Flags>;
  return op;
}
#define AQL_VALU_DIRECT(name) make_direct<name, 0>(isa::Op::name)
#define AQL_VALU_DIRECT_AS(code, name, flags) make_direct<name, (flags)>(isa::Op::code)
