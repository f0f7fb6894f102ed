// Rounding to whole numbers, the same in every rounding mode of the host. Included like valu_lane.hpp.
// Without SSE4.1 the compilers' own expansions of floor and its like add and subtract 2^52 and assume round to nearest.

#if AQL_TIER > 0
AQL_INLINE f32 whole_trunc(f32 a) { return __builtin_truncf(a); }
AQL_INLINE f32 whole_floor(f32 a) { return __builtin_floorf(a); }
AQL_INLINE f32 whole_ceil(f32 a) { return __builtin_ceilf(a); }
AQL_INLINE f32 whole_even(f32 a) { return __builtin_roundevenf(a); }
AQL_INLINE f64 whole_trunc(f64 a) { return __builtin_trunc(a); }
AQL_INLINE f64 whole_floor(f64 a) { return __builtin_floor(a); }
AQL_INLINE f64 whole_ceil(f64 a) { return __builtin_ceil(a); }
AQL_INLINE f64 whole_even(f64 a) { return __builtin_roundeven(a); }
#else
AQL_INLINE f32 whole_trunc(f32 a) {
  const u32 v = as_u32(a), e = (v >> 23) & 0xffu;
  const u32 fraction = e < 127 ? 0x7fffffffu : e < 150 ? 0x7fffffu >> (e - 127) : 0;
  const f32 t = as_f32(v & ~fraction);
  return a == a ? t : quiet(a);
}
AQL_INLINE f64 whole_trunc(f64 a) {
  const u64 v = as_u64(a), e = (v >> 52) & 0x7ffu;
  const u64 fraction = e < 1023 ? 0x7fffffffffffffffu : e < 1075 ? 0xfffffffffffffu >> (e - 1023) : 0;
  const f64 t = as_f64(v & ~fraction);
  return a == a ? t : quiet(a);
}
// Whole numbers below 2^23 (2^52) are exact, so are their neighbours.
template <class T> AQL_INLINE T whole_floor(T a) {
  const T t = whole_trunc(a);
  return a < t ? t - T{1} : t;
}
template <class T> AQL_INLINE T whole_ceil(T a) {
  const T t = whole_trunc(a);
  return a > t ? t + T{1} : t;
}
template <class T> AQL_INLINE T whole_even(T a) {
  const T t = whole_trunc(a), rest = a > t ? a - t : a < t ? t - a : T{0};
  const T half = t * T{0.5};
  const bool odd = whole_trunc(half) != half;
  const bool away = rest > T{0.5} || (rest == T{0.5} && odd);
  return !away ? t : a < T{0} ? t - T{1} : t + T{1};
}
#endif
