// Minimum, maximum and median of f32 and f64. Included like valu_lane.hpp. Written on bits and without branches, so that the lane
// loops vectorise.
//
// With MODE.IEEE a signalling NaN source makes the result that NaN, quieted (first source first); otherwise a NaN loses
// against a number, and of two NaNs the second source is the result. -0 is below +0.

template <class B> struct FloatBits;
template <> struct FloatBits<u32> {
  using Signed = i32;
  static constexpr unsigned kTop = 31;
  static constexpr u32 kInfinity = 0x7f800000u, kQuiet = 0x00400000u;
};
template <> struct FloatBits<u64> {
  using Signed = i64;
  static constexpr unsigned kTop = 63;
  static constexpr u64 kInfinity = 0x7ff0000000000000u, kQuiet = 0x0008000000000000u;
};
// All ones or zero.
template <class B> AQL_INLINE B mask_if(bool c) { return c ? static_cast<B>(~B{0}) : B{0}; }
template <class B> AQL_INLINE B choose(B mask, B yes, B no) { return (mask & yes) | (~mask & no); }
template <class B> AQL_INLINE B nan_mask(B v) { return mask_if<B>((v << 1) > (FloatBits<B>::kInfinity << 1)); }
template <class B> AQL_INLINE B signalling_mask(B v) { return nan_mask(v) & mask_if<B>((v & FloatBits<B>::kQuiet) == 0); }
// Signed integers in the order of the values, -0 below +0.
template <class B> AQL_INLINE auto order_key(B v) {
  using S = typename FloatBits<B>::Signed;
  const S s = static_cast<S>(v);
  return static_cast<S>(s ^ static_cast<S>(static_cast<B>(s >> FloatBits<B>::kTop) >> 1));
}

// `ieee`: all ones or zero.
template <class B> AQL_INLINE B bits_min(B a, B b, B ieee) {
  const B number = order_key(a) <= order_key(b) ? a : b;
  const B r = choose(nan_mask(a), b, choose(nan_mask(b), a, number));
  const B sa = signalling_mask(a) & ieee, sb = signalling_mask(b) & ieee;
  return choose(sa, a | FloatBits<B>::kQuiet, choose(sb, b | FloatBits<B>::kQuiet, r));
}
template <class B> AQL_INLINE B bits_max(B a, B b, B ieee) {
  const B number = order_key(a) >= order_key(b) ? a : b;
  const B r = choose(nan_mask(a), b, choose(nan_mask(b), a, number));
  const B sa = signalling_mask(a) & ieee, sb = signalling_mask(b) & ieee;
  return choose(sa, a | FloatBits<B>::kQuiet, choose(sb, b | FloatBits<B>::kQuiet, r));
}
// Any NaN: as min3. Otherwise the largest is dropped (the first of equal ones; zeros are equal) and the larger of the others stays.
template <class B> AQL_INLINE B bits_med3(B a, B b, B c, B ieee) {
  const B min3 = bits_min(bits_min(a, b, ieee), c, ieee);
  const B max3 = bits_max(bits_max(a, b, ieee), c, ieee);
  const B is_a = mask_if<B>(max3 == a) | mask_if<B>(((max3 | a) << 1) == 0);
  const B is_b = mask_if<B>(max3 == b) | mask_if<B>(((max3 | b) << 1) == 0);
  const B med = choose(is_a, bits_max(b, c, ieee), choose(is_b, bits_max(a, c, ieee), bits_max(a, b, ieee)));
  return choose(nan_mask(a) | nan_mask(b) | nan_mask(c), min3, med);
}
// IEEE 754-2019 minimum and maximum: any NaN wins, signalling ones first, always quieted.
template <class B> AQL_INLINE B winning_nan(B a, B b, B number) {
  const B quiet_bit = FloatBits<B>::kQuiet;
  const B quiet_wins = choose(nan_mask(a), a, choose(nan_mask(b), b, number));
  return choose(signalling_mask(a), a | quiet_bit, choose(signalling_mask(b), b | quiet_bit, quiet_wins));
}
template <class B> AQL_INLINE B bits_minimum(B a, B b) { return winning_nan(a, b, order_key(a) <= order_key(b) ? a : b); }
template <class B> AQL_INLINE B bits_maximum(B a, B b) { return winning_nan(a, b, order_key(a) >= order_key(b) ? a : b); }

AQL_INLINE u32 ieee32(const Ctx& x) { return mask_if<u32>(x.mode.ieee()); }
AQL_INLINE u64 ieee64(const Ctx& x) { return mask_if<u64>(x.mode.ieee()); }
struct v_min_f32 { static f32 apply(f32 a, f32 b, const Ctx& x) { return as_f32(bits_min(as_u32(a), as_u32(b), ieee32(x))); } };
struct v_max_f32 { static f32 apply(f32 a, f32 b, const Ctx& x) { return as_f32(bits_max(as_u32(a), as_u32(b), ieee32(x))); } };
struct v_min3_f32 {
  static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return as_f32(bits_min(bits_min(as_u32(a), as_u32(b), ieee32(x)), as_u32(c), ieee32(x))); }
};
struct v_max3_f32 {
  static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return as_f32(bits_max(bits_max(as_u32(a), as_u32(b), ieee32(x)), as_u32(c), ieee32(x))); }
};
struct v_med3_f32 {
  static f32 apply(f32 a, f32 b, f32 c, const Ctx& x) { return as_f32(bits_med3(as_u32(a), as_u32(b), as_u32(c), ieee32(x))); }
};
struct v_minimum3_f32 { static f32 apply(f32 a, f32 b, f32 c) { return as_f32(bits_minimum(bits_minimum(as_u32(a), as_u32(b)), as_u32(c))); } };
struct v_maximum3_f32 { static f32 apply(f32 a, f32 b, f32 c) { return as_f32(bits_maximum(bits_maximum(as_u32(a), as_u32(b)), as_u32(c))); } };
struct v_min_f64 { static f64 apply(f64 a, f64 b, const Ctx& x) { return as_f64(bits_min(as_u64(a), as_u64(b), ieee64(x))); } };
struct v_max_f64 { static f64 apply(f64 a, f64 b, const Ctx& x) { return as_f64(bits_max(as_u64(a), as_u64(b), ieee64(x))); } };
