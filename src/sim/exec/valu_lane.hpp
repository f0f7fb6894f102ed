// Lane loops of the vector ALU: templates that run a scalar operation over 64 lanes. Included by the valu_*.tier.cpp files
// only, after AQL_TIER_BEGIN, inside namespace aql::sim::AQL_TIER_NS; no include guard is needed, and no standard header
// may be included from here (tier.hpp says why). How to add an operation: valu_ops.hpp.

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

#define AQL_INLINE [[gnu::always_inline]] static inline
// Lanes are independent: a vector iteration may read and write the same register lane-wise, never across lanes.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" // some loops stay scalar: allowed
#define AQL_LANES _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < kLanes; ++i)
#else
#define AQL_LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < kLanes; ++i)
#endif

struct Half { u16 bits; };                       // f16 or bf16, raw
template <unsigned N> struct Words { u32 w[N]; };
struct Bit { bool set; };                        // this lane's bit of the mask operand
struct LaneId { u32 n; };
template <class T> struct WithBit { T value; u32 bit; }; // 0 or 1: with a bool the compilers keep the pair in one scalar register
using Ctx = LaneIo;                              // MODE, op_sel, imm
struct FirstNan {};                              // tag, see valu_ops.hpp

AQL_INLINE f32 as_f32(u32 v) { return __builtin_bit_cast(f32, v); }
AQL_INLINE u32 as_u32(f32 v) { return __builtin_bit_cast(u32, v); }
AQL_INLINE f64 as_f64(u64 v) { return __builtin_bit_cast(f64, v); }
AQL_INLINE u64 as_u64(f64 v) { return __builtin_bit_cast(u64, v); }
AQL_INLINE f32 quiet(f32 v) { return as_f32(as_u32(v) | 0x00400000u); }
AQL_INLINE f64 quiet(f64 v) { return as_f64(as_u64(v) | 0x0008000000000000u); }

// --- how a C++ type sits in registers
template <class T> struct Lane;
template <> struct Lane<u32> {
  static constexpr Ty ty = Ty::x32; static constexpr u8 rows = 1;
  AQL_INLINE u32 get(const u32* p, unsigned i) { return p[i]; }
  AQL_INLINE void put(u32* p, unsigned i, u32 v) { p[i] = v; }
};
template <> struct Lane<i32> {
  static constexpr Ty ty = Ty::x32; static constexpr u8 rows = 1;
  AQL_INLINE i32 get(const u32* p, unsigned i) { return static_cast<i32>(p[i]); }
  AQL_INLINE void put(u32* p, unsigned i, i32 v) { p[i] = static_cast<u32>(v); }
};
template <> struct Lane<f32> {
  static constexpr Ty ty = Ty::f32; static constexpr u8 rows = 1;
  AQL_INLINE f32 get(const u32* p, unsigned i) { return as_f32(p[i]); }
  AQL_INLINE void put(u32* p, unsigned i, f32 v) { p[i] = as_u32(v); }
};
template <> struct Lane<u64> {
  static constexpr Ty ty = Ty::x64; static constexpr u8 rows = 2;
  AQL_INLINE u64 get(const u32* p, unsigned i) { return p[i] | static_cast<u64>(p[kLanes + i]) << 32; }
  AQL_INLINE void put(u32* p, unsigned i, u64 v) { p[i] = static_cast<u32>(v); p[kLanes + i] = static_cast<u32>(v >> 32); }
};
template <> struct Lane<i64> {
  static constexpr Ty ty = Ty::x64; static constexpr u8 rows = 2;
  AQL_INLINE i64 get(const u32* p, unsigned i) { return static_cast<i64>(Lane<u64>::get(p, i)); }
  AQL_INLINE void put(u32* p, unsigned i, i64 v) { Lane<u64>::put(p, i, static_cast<u64>(v)); }
};
template <> struct Lane<f64> {
  static constexpr Ty ty = Ty::f64; static constexpr u8 rows = 2;
  AQL_INLINE f64 get(const u32* p, unsigned i) { return as_f64(Lane<u64>::get(p, i)); }
  AQL_INLINE void put(u32* p, unsigned i, f64 v) { Lane<u64>::put(p, i, as_u64(v)); }
};
template <> struct Lane<u16> {
  static constexpr Ty ty = Ty::x16; static constexpr u8 rows = 1;
  AQL_INLINE u16 get(const u32* p, unsigned i) { return static_cast<u16>(p[i]); }
  AQL_INLINE void put(u32* p, unsigned i, u16 v) { p[i] = v; }
};
template <> struct Lane<i16> {
  static constexpr Ty ty = Ty::x16; static constexpr u8 rows = 1;
  AQL_INLINE i16 get(const u32* p, unsigned i) { return static_cast<i16>(p[i]); }
  AQL_INLINE void put(u32* p, unsigned i, i16 v) { p[i] = static_cast<u16>(v); }
};
template <> struct Lane<Half> {
  static constexpr Ty ty = Ty::f16; static constexpr u8 rows = 1;
  AQL_INLINE Half get(const u32* p, unsigned i) { return {static_cast<u16>(p[i])}; }
  AQL_INLINE void put(u32* p, unsigned i, Half v) { p[i] = v.bits; }
};
template <unsigned N> struct Lane<Words<N>> {
  static constexpr Ty ty = N == 1 ? Ty::x32 : N == 2 ? Ty::x64 : Ty::words; static constexpr u8 rows = N;
  AQL_INLINE Words<N> get(const u32* p, unsigned i) {
    Words<N> v;
    for (unsigned r = 0; r < N; ++r) v.w[r] = p[r * kLanes + i];
    return v;
  }
  AQL_INLINE void put(u32* p, unsigned i, const Words<N>& v) {
    for (unsigned r = 0; r < N; ++r) p[r * kLanes + i] = v.w[r];
  }
};

// --- masks: 64 bits <-> one dword per lane
AQL_INLINE void expand_mask(u32* flag, u64 mask) { // 0 or 1
  const u32 lo = static_cast<u32>(mask), hi = static_cast<u32>(mask >> 32);
  for (u32 i = 0; i < 32; ++i) flag[i] = (lo >> i) & 1u;
  for (u32 i = 0; i < 32; ++i) flag[32 + i] = (hi >> i) & 1u;
}
AQL_INLINE u64 pack_mask(const u32* flag) { // bit 0 of each dword
  u64 mask = 0;
#if AQL_TIER == 2
  for (unsigned i = 0; i < 4; ++i) {
    mask |= static_cast<u64>(_mm512_test_epi32_mask(_mm512_loadu_si512(flag + 16 * i), _mm512_set1_epi32(1))) << (16 * i);
  }
#elif AQL_TIER == 1
  for (unsigned i = 0; i < 8; ++i) {
    const __m256i v = _mm256_slli_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(flag + 8 * i)), 31);
    mask |= static_cast<u64>(static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(v)))) << (8 * i);
  }
#else
  for (unsigned i = 0; i < 16; ++i) {
    const __m128i v = _mm_slli_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(flag + 4 * i)), 31);
    mask |= static_cast<u64>(static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(v)))) << (4 * i);
  }
#endif
  return mask;
}

// dst = lane enabled ? from : dst, for one row.
AQL_INLINE void blend_row(u32* dst, const u32* from, u64 lanes) {
#if AQL_TIER == 2
  for (unsigned i = 0; i < 4; ++i) {
    const __m512i v = _mm512_mask_mov_epi32(_mm512_loadu_si512(dst + 16 * i), static_cast<__mmask16>(lanes >> (16 * i)),
                                            _mm512_loadu_si512(from + 16 * i));
    _mm512_storeu_si512(dst + 16 * i, v);
  }
#elif AQL_TIER == 1
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (unsigned i = 0; i < 8; ++i) {
    const __m256i byte = _mm256_set1_epi32(static_cast<int>((lanes >> (8 * i)) & 0xffu));
    const __m256i on = _mm256_cmpeq_epi32(_mm256_and_si256(byte, bits), bits);
    auto* d = reinterpret_cast<__m256i*>(dst + 8 * i);
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8 * i));
    _mm256_storeu_si256(d, _mm256_blendv_epi8(_mm256_loadu_si256(d), v, on));
  }
#else
  const __m128i bits = _mm_setr_epi32(1, 2, 4, 8);
  for (unsigned i = 0; i < 16; ++i) {
    const __m128i nibble = _mm_set1_epi32(static_cast<int>((lanes >> (4 * i)) & 0xfu));
    const __m128i on = _mm_cmpeq_epi32(_mm_and_si128(nibble, bits), bits);
    auto* d = reinterpret_cast<__m128i*>(dst + 4 * i);
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 4 * i));
    _mm_storeu_si128(d, _mm_or_si128(_mm_and_si128(on, v), _mm_andnot_si128(on, _mm_loadu_si128(d))));
  }
#endif
}

// Is any of the 64 results a NaN? Unordered compares of pairs: half as many as values.
AQL_INLINE bool any_nan(const f32* r) {
#if AQL_TIER == 2
  const __mmask16 a = _mm512_cmp_ps_mask(_mm512_loadu_ps(r), _mm512_loadu_ps(r + 16), _CMP_UNORD_Q);
  const __mmask16 b = _mm512_cmp_ps_mask(_mm512_loadu_ps(r + 32), _mm512_loadu_ps(r + 48), _CMP_UNORD_Q);
  return (static_cast<unsigned>(a) | static_cast<unsigned>(b)) != 0;
#elif AQL_TIER == 1
  __m256 any = _mm256_setzero_ps();
  for (unsigned i = 0; i < 64; i += 16) any = _mm256_or_ps(any, _mm256_cmp_ps(_mm256_loadu_ps(r + i), _mm256_loadu_ps(r + i + 8), _CMP_UNORD_Q));
  return _mm256_movemask_ps(any) != 0;
#else
  __m128 any = _mm_setzero_ps();
  for (unsigned i = 0; i < 64; i += 8) any = _mm_or_ps(any, _mm_cmpunord_ps(_mm_loadu_ps(r + i), _mm_loadu_ps(r + i + 4)));
  return _mm_movemask_ps(any) != 0;
#endif
}
AQL_INLINE bool any_nan(const f64* r) {
#if AQL_TIER == 2
  unsigned any = 0;
  for (unsigned i = 0; i < 64; i += 16) any |= static_cast<unsigned>(_mm512_cmp_pd_mask(_mm512_loadu_pd(r + i), _mm512_loadu_pd(r + i + 8), _CMP_UNORD_Q));
  return any != 0;
#elif AQL_TIER == 1
  __m256d any = _mm256_setzero_pd();
  for (unsigned i = 0; i < 64; i += 8) any = _mm256_or_pd(any, _mm256_cmp_pd(_mm256_loadu_pd(r + i), _mm256_loadu_pd(r + i + 4), _CMP_UNORD_Q));
  return _mm256_movemask_pd(any) != 0;
#else
  __m128d any = _mm_setzero_pd();
  for (unsigned i = 0; i < 64; i += 4) any = _mm_or_pd(any, _mm_cmpunord_pd(_mm_loadu_pd(r + i), _mm_loadu_pd(r + i + 2)));
  return _mm_movemask_pd(any) != 0;
#endif
}

// --- signatures
template <class T> inline constexpr bool kIsBit = false;
template <> inline constexpr bool kIsBit<Bit> = true;
template <class T> inline constexpr bool kIsCtx = false;
template <> inline constexpr bool kIsCtx<const Ctx&> = true;
template <class T> inline constexpr bool kIsSource = !kIsBit<T> && !kIsCtx<T> && !__is_same(T, LaneId);

template <class T> struct Result { using Value = T; static constexpr bool has_bit = false; static constexpr bool only_bit = false; };
template <> struct Result<bool> { using Value = u32; static constexpr bool has_bit = true; static constexpr bool only_bit = true; };
template <class T> struct Result<WithBit<T>> { using Value = T; static constexpr bool has_bit = true; static constexpr bool only_bit = false; };

template <class F> struct Signature;
template <class R, class... A> struct Signature<R (*)(A...)> {
  using Ret = R;
  static constexpr unsigned sources = (0u + ... + (kIsSource<A> ? 1u : 0u));
  static constexpr bool bit_in = (false || ... || kIsBit<A>);
  static constexpr bool ctx = (false || ... || kIsCtx<A>);
  static constexpr bool bit_out = Result<R>::has_bit;
};

template <class T> AQL_INLINE T from_scalar(u64 v) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, v);
  else if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, static_cast<u32>(v));
  else return __builtin_bit_cast(T, static_cast<u16>(v));
}

// The sources of one instruction: a row pointer, or a scalar that is the same in all lanes (bit in the template's S). With
// kSignMasks the rows are f32 whose bits become (v & keep) ^ flip: abs and neg.
struct Sources {
  const u32* row[3];
  u64 scalar[3];
  u32 keep[3], flip[3];
};
inline constexpr unsigned kSignMasks = 8;

// The I-th parameter's value in lane i. Sources come first in every signature, so parameter I is source I.
template <unsigned S, class A, unsigned I>
AQL_INLINE A argument(const LaneIo& io, const Sources& src, const u32* bit, unsigned i) {
  if constexpr (kIsBit<A>) {
    (void)io; (void)src;
    return Bit{bit[i] != 0};
  } else if constexpr (kIsCtx<A>) {
    (void)src; (void)bit; (void)i;
    return io;
  } else if constexpr (__is_same(A, LaneId)) {
    (void)io; (void)src; (void)bit;
    return LaneId{i};
  } else if constexpr ((S >> I & 1u) != 0) {
    (void)io; (void)bit; (void)i;
    return from_scalar<A>(src.scalar[I]);
  } else if constexpr ((S & kSignMasks) != 0) {
    static_assert(__is_same(A, f32));
    (void)io; (void)bit;
    return as_f32((src.row[I][i] & src.keep[I]) ^ src.flip[I]);
  } else {
    (void)io; (void)bit;
    return Lane<A>::get(src.row[I], i);
  }
}

template <class T> AQL_INLINE void pick_nan(T&, bool&) {}
template <class T, class A, class... B> AQL_INLINE void pick_nan(T& out, bool& found, A a, B... rest) {
  if constexpr (__is_same(A, T)) {
    if (!found && a != a) {
      out = quiet(a);
      found = true;
    }
  }
  pick_nan(out, found, rest...);
}
// A result that is NaN becomes the first NaN source, quieted; with no NaN source the host's default NaN stays.
template <class T, class... A> AQL_INLINE T ordered_nan(T r, A... a) {
  if (r == r) return r;
  bool found = false;
  T out = r;
  pick_nan(out, found, a...);
  return out;
}

// All lanes of results to dst, or those of `exec` only.
template <class V> AQL_INLINE void store_lanes(u32* dst, const V* r, u64 exec) {
  if (exec == ~u64{0}) [[likely]] {
    AQL_LANES Lane<V>::put(dst, i, r[i]);
  } else {
    alignas(64) u32 out[Lane<V>::rows * kLanes];
    AQL_LANES Lane<V>::put(out, i, r[i]);
    for (unsigned row = 0; row < Lane<V>::rows; ++row) blend_row(dst + row * kLanes, out + row * kLanes, exec);
  }
}

// FirstNan operations write only the lanes of `exec`, others all.
template <class Op, auto F, unsigned S, class R, class... A, unsigned... I>
AQL_INLINE void run_lanes(LaneIo& io, const Sources& src, u64 exec, std::integer_sequence<unsigned, I...>) {
  using Res = Result<R>;
  using V = typename Res::Value;
  (void)exec;
  u32* const dst = io.dst;
  [[maybe_unused]] alignas(64) u32 bit[kLanes];
  if constexpr (Signature<R (*)(A...)>::bit_in) expand_mask(bit, io.mask);
  if constexpr (Res::has_bit) {
    alignas(64) u32 out[kLanes];
    AQL_LANES {
      const R r = F(argument<S, A, I>(io, src, bit, i)...);
      if constexpr (Res::only_bit) {
        out[i] = r ? 1u : 0u;
      } else {
        Lane<V>::put(dst, i, r.value);
        out[i] = r.bit ? 1u : 0u;
      }
    }
    io.result = pack_mask(out);
  } else if constexpr (__is_base_of(FirstNan, Op)) {
    alignas(64) V r[kLanes];
    AQL_LANES r[i] = F(argument<S, A, I>(io, src, bit, i)...);
    if (any_nan(r)) [[unlikely]] {
      for (unsigned i = 0; i < kLanes; ++i) r[i] = ordered_nan<V>(r[i], argument<S, A, I>(io, src, bit, i)...);
    }
    store_lanes(dst, r, exec);
  } else {
    AQL_LANES Lane<V>::put(dst, i, F(argument<S, A, I>(io, src, bit, i)...));
  }
}

template <class Op, auto F, unsigned S, class R, class... A>
AQL_INLINE void run_signature(LaneIo& io, const Sources& src, R (*)(A...), u64 exec = ~u64{0}) {
  run_lanes<Op, F, S, R, A...>(io, src, exec, std::make_integer_sequence<unsigned, sizeof...(A)>{});
}

// The 64-lane functions that the tables point to.
template <class Op> static void lanes(LaneIo& io) {
  const Sources src{{io.src[0], io.src[1], io.src[2]}, {}, {}, {}};
  run_signature<Op, &Op::apply, 0>(io, src, &Op::apply);
}
template <class Op> static void lanes_clamped(LaneIo& io) {
  const Sources src{{io.src[0], io.src[1], io.src[2]}, {}, {}, {}};
  run_signature<Op, &Op::clamped, 0>(io, src, &Op::clamped);
}

// Packed 16-bit: a 16-bit scalar operation on both halves.
template <class A> AQL_INLINE A half_of(u32 v, unsigned h) {
  const u16 bits = static_cast<u16>(h == 0 ? v : v >> 16);
  return __builtin_bit_cast(A, bits);
}
template <class A, unsigned I> AQL_INLINE A packed_argument(const LaneIo& io, const Sources& src, unsigned i, unsigned h) {
  if constexpr (kIsCtx<A>) {
    (void)src; (void)i; (void)h;
    return io;
  } else {
    (void)io;
    return half_of<A>(src.row[I][i], h);
  }
}
template <auto F, class R, class... A, unsigned... I>
AQL_INLINE void run_packed(LaneIo& io, const Sources& src, R (*)(A...), std::integer_sequence<unsigned, I...>) {
  u32* const dst = io.dst;
  AQL_LANES {
    const R lo = F(packed_argument<A, I>(io, src, i, 0)...);
    const R hi = F(packed_argument<A, I>(io, src, i, 1)...);
    dst[i] = __builtin_bit_cast(u16, lo) | static_cast<u32>(__builtin_bit_cast(u16, hi)) << 16;
  }
}
template <auto F, class R, class... A> AQL_INLINE void packed_signature(LaneIo& io, R (*f)(A...)) {
  const Sources src{{io.src[0], io.src[1], io.src[2]}, {}, {}, {}};
  run_packed<F>(io, src, f, std::make_integer_sequence<unsigned, sizeof...(A)>{});
}
template <class Op> static void lanes_pk16(LaneIo& io) { packed_signature<&Op::apply>(io, &Op::apply); }
template <class Op> static void lanes_pk16_clamped(LaneIo& io) { packed_signature<&Op::clamped>(io, &Op::clamped); }

// Packed f32: the f32 operation on the low registers, then on the high ones.
template <class Op> static void lanes_pk32(LaneIo& io) {
  u32* const dst = io.dst;
  for (unsigned h = 0; h < 2; ++h) {
    const unsigned at = h * kLanes;
    const Sources src{{io.src[0] + at, io.src[1] != nullptr ? io.src[1] + at : nullptr, io.src[2] != nullptr ? io.src[2] + at : nullptr}, {}, {}, {}};
    io.dst = dst + at;
    run_signature<Op, &Op::apply, 0>(io, src, &Op::apply);
  }
  io.dst = dst;
}

// --- table rows
template <class T> consteval u32 mode_bits_of() { // MODE fields that matter to a type
  if constexpr (__is_same(T, f32)) return 0x33u;
  else if constexpr (__is_same(T, f64) || __is_same(T, Half)) return 0xccu;
  else return 0;
}
template <class R, class... A> consteval void describe(ValuOp& op, R (*)(A...)) {
  using Sig = Signature<R (*)(A...)>;
  u32 modes = 0;
  if constexpr (!Result<R>::only_bit) {
    op.dst = Lane<typename Result<R>::Value>::ty;
    op.dst_rows = Lane<typename Result<R>::Value>::rows;
    modes |= mode_bits_of<typename Result<R>::Value>();
  }
  const auto add = [&]<class T>(T*) {
    if constexpr (kIsSource<T> && !__is_same(T, const Ctx)) {
      op.src[op.nsrc] = Lane<T>::ty;
      op.src_rows[op.nsrc++] = Lane<T>::rows;
      modes |= mode_bits_of<T>();
    }
  };
  (add(static_cast<std::remove_reference_t<A>*>(nullptr)), ...);
  if (Sig::bit_in) op.flags |= kMaskIn;
  if (Sig::bit_out) op.flags |= kMaskOut;
  if (Sig::ctx) op.flags |= kArgIsMode;
  if ((op.flags & kRawFloat) != 0) modes = 0;
  op.mode_mask = modes;
  op.mode_want = modes & 0xf0u;
  if ((op.flags & kFlushAlways) != 0) { // never the fast path
    op.mode_mask = 0;
    op.mode_want = 1;
  }
}
template <class Op> consteval ValuOp make_op(isa::Op code, u32 flags) {
  ValuOp op;
  op.op = code;
  op.flags = flags;
  op.kernel = &lanes<Op>;
  if constexpr (requires { &Op::clamped; }) op.clamped = &lanes_clamped<Op>;
  describe(op, &Op::apply);
  return op;
}
template <class Op> consteval ValuOp make_pk16(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op>(code, flags);
  op.kernel = &lanes_pk16<Op>;
  op.clamped = nullptr;
  if constexpr (requires { &Op::clamped; }) op.clamped = &lanes_pk16_clamped<Op>;
  op.dst = op.dst == Ty::f16 ? Ty::pkf16 : Ty::pk16;
  for (unsigned i = 0; i < op.nsrc; ++i) op.src[i] = op.src[i] == Ty::f16 ? Ty::pkf16 : Ty::pk16;
  return op;
}
template <class Op> consteval ValuOp make_pk32(isa::Op code, u32 flags) {
  ValuOp op = make_op<Op>(code, flags);
  op.kernel = &lanes_pk32<Op>;
  op.dst = Ty::pk32;
  op.dst_rows = 2;
  for (unsigned i = 0; i < op.nsrc; ++i) {
    op.src[i] = Ty::pk32;
    op.src_rows[i] = 2;
  }
  return op;
}
consteval ValuOp make_special(isa::Op code, Handler handler) {
  ValuOp op;
  op.op = code;
  op.special = handler;
  return op;
}
#define AQL_VALU(name) make_op<name>(isa::Op::name, 0)
#define AQL_VALU_FLAGS(name, flags) make_op<name>(isa::Op::name, flags)
#define AQL_VALU_AS(code, name, flags) make_op<name>(isa::Op::code, flags) // another opcode with the same operation
#define AQL_VALU_PK(code, name) make_pk16<name>(isa::Op::code, 0)
#define AQL_VALU_PK_FLAGS(code, name, flags) make_pk16<name>(isa::Op::code, flags)
#define AQL_VALU_PK32(code, name) make_pk32<name>(isa::Op::code, 0)
#define AQL_VALU_SPECIAL(code, handler) make_special(isa::Op::code, handler)
