// Minimum, maximum and median of f32 and f64. Included like valu_lane.hpp.
//
// With MODE.IEEE a signalling NaN source makes the result that NaN, quieted (first source first); otherwise a NaN loses
// against a number, and of two NaNs the second source is the result. -0 is below +0.

AQL_INLINE bool is_signalling(f32 v) { return v != v && (as_u32(v) & 0x00400000u) == 0; }
AQL_INLINE bool is_signalling(f64 v) { return v != v && (as_u64(v) & 0x0008000000000000u) == 0; }
AQL_INLINE bool sign_of(f32 v) { return as_u32(v) >> 31 != 0; }
AQL_INLINE bool sign_of(f64 v) { return as_u64(v) >> 63 != 0; }

template <class T> AQL_INLINE T float_min(T a, T b, bool ieee) {
  const T low = a < b || (a == b && sign_of(a)) ? a : b;
  const T r = a != a ? b : b != b ? a : low;
  return ieee && is_signalling(a) ? quiet(a) : ieee && is_signalling(b) ? quiet(b) : r;
}
template <class T> AQL_INLINE T float_max(T a, T b, bool ieee) {
  const T high = a > b || (a == b && !sign_of(a)) ? a : b;
  const T r = a != a ? b : b != b ? a : high;
  return ieee && is_signalling(a) ? quiet(a) : ieee && is_signalling(b) ? quiet(b) : r;
}
// Any NaN: as min3. Otherwise the largest is dropped and the larger of the others is the result.
template <class T> AQL_INLINE T float_med3(T a, T b, T c, bool ieee) {
  const T min3 = float_min(float_min(a, b, ieee), c, ieee);
  const T max3 = float_max(float_max(a, b, ieee), c, ieee);
  const T med = max3 == a ? float_max(b, c, ieee) : max3 == b ? float_max(a, c, ieee) : float_max(a, b, ieee);
  return a != a || b != b || c != c ? min3 : med;
}

// IEEE 754-2019 minimum and maximum: any NaN wins, signalling ones first, always quieted.
template <class T> AQL_INLINE T propagated_nan(T a, T b, T number) {
  return is_signalling(a) ? quiet(a) : is_signalling(b) ? quiet(b) : a != a ? a : b != b ? b : number;
}
template <class T> AQL_INLINE T float_minimum(T a, T b) { return propagated_nan(a, b, a < b || (a == b && sign_of(a)) ? a : b); }
template <class T> AQL_INLINE T float_maximum(T a, T b) { return propagated_nan(a, b, a > b || (a == b && !sign_of(a)) ? a : b); }
struct v_minimum3_f32 { static f32 apply(f32 a, f32 b, f32 c) { return float_minimum(float_minimum(a, b), c); } };
struct v_maximum3_f32 { static f32 apply(f32 a, f32 b, f32 c) { return float_maximum(float_maximum(a, b), c); } };

struct v_min_f32 { static f32 apply(f32 a, f32 b, const Ctx& x) { return float_min(a, b, x.mode.ieee()); } };
struct v_max_f32 { static f32 apply(f32 a, f32 b, const Ctx& x) { return float_max(a, b, x.mode.ieee()); } };
struct v_min3_f32 {
  static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return float_min(float_min(a, b, x.mode.ieee()), c, x.mode.ieee()); }
};
struct v_max3_f32 {
  static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return float_max(float_max(a, b, x.mode.ieee()), c, x.mode.ieee()); }
};
struct v_med3_f32 { static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return float_med3(a, b, c, x.mode.ieee()); } };
struct v_min_f64 { static f64 apply(f64 a, f64 b, const Ctx& x) { return float_min(a, b, x.mode.ieee()); } };
struct v_max_f64 { static f64 apply(f64 a, f64 b, const Ctx& x) { return float_max(a, b, x.mode.ieee()); } };
