// Operands of a matrix instruction as planes: plane e holds element e of all 64 lanes, widened to 32 bits. A row of A or B that
// one k needs is then a run of lanes inside one plane, so no transposition is ever done. Included like matrix_simd.hpp.

inline constexpr int kMaxElements = 32;                  // a lane
inline constexpr int kMaxK = 128;
inline constexpr std::ptrdiff_t kExponents = kMaxElements * 64; // from a value to its exponent (int32)

struct Planes {
  alignas(64) float data[2 * kMaxElements * 64];         // values, then exponents; left uninitialised on purpose
  int elements;
  bool special;                                          // an infinity or NaN somewhere
  bool extreme;                                          // an exponent outside -50..60: products need their own exponents
};

template <int kExp, int kMan, int kBias>
AQL_INLINE VF widen_small(VI bits) {
  const VI magnitude = bits & ((1 << (kExp + kMan)) - 1);
  const VI sign = (VI)((VU)bits << (31 - kExp - kMan)) & (VI)((VU)set1(1) << 31);
  const VI shifted = magnitude << (23 - kMan);
  const VF normal = as_f(shifted + ((127 - kBias) << 23));
  // With exponent field 1 instead of 0 a subnormal is too large by exactly the smallest normal.
  const float smallest = __builtin_bit_cast(float, (128 - kBias) << 23);
  const VF subnormal = as_f(shifted + ((128 - kBias) << 23)) - smallest;
  return as_f(as_i(select(VI(magnitude < (1 << kMan)), subnormal, normal)) | sign);
}

AQL_INLINE VF widen_fp8_ocp(VI bits) {
  const VF v = widen_small<4, 3, 7>(bits);
  return select(VI((bits & 0x7f) == 0x7f), as_f(set1(0x7fc00000)), v);
}
AQL_INLINE VF widen_bf8_ocp(VI bits) {
  const VF v = widen_small<5, 2, 15>(bits);
  const VI special = (bits & 0x7f) >= 0x7c;
  return as_f(as_i(v) | (special & 0x7f800000));
}
AQL_INLINE VF widen_fp8_fnuz(VI bits) { return select(VI((bits & 0xff) == 0x80), as_f(set1(0x7fc00000)), widen_small<4, 3, 8>(bits)); }
AQL_INLINE VF widen_bf8_fnuz(VI bits) { return select(VI((bits & 0xff) == 0x80), as_f(set1(0x7fc00000)), widen_small<5, 2, 16>(bits)); }
AQL_INLINE VF widen_fp6(VI bits) { return widen_small<2, 3, 1>(bits); }
AQL_INLINE VF widen_bf6(VI bits) { return widen_small<3, 2, 3>(bits); }
AQL_INLINE VF widen_fp4(VI bits) { return widen_small<2, 1, 1>(bits); }
AQL_INLINE VF widen_i8(VI bits) { return as_f(((VI)((VU)bits << 24) >> 24) & 0xffff); } // int16 in the low half, for multiply_pairs
AQL_INLINE VF widen_f32(VI bits) { return as_f(bits); }
AQL_INLINE VF widen_xf32(VI bits) {
  const VI nan = VI(as_f(bits) != as_f(bits));
  return as_f(select(nan, set1(0x7fc00000), bits & ~0x1fff));
}
AQL_INLINE VF widen_bf16(VI bits) { return as_f((VI)((VU)bits << 16)); }
#if AQL_TIER == 2
AQL_INLINE VF widen_f16(VI bits) { return (VF)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)bits)); }
#elif AQL_TIER == 1
AQL_INLINE VF widen_f16(VI bits) {
  const VI low = bits & 0xffff;
  const __m256i packed = _mm256_packus_epi32((__m256i)low, (__m256i)low);
  return (VF)_mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}
#else
AQL_INLINE VF widen_f16(VI bits) {
  const VF v = widen_small<5, 10, 15>(bits);
  const VI special = (bits & 0x7fff) >= 0x7c00;
  return as_f(as_i(v) | (special & 0x7f800000));
}
#endif

template <int kBits, VF (*kWiden)(VI)>
inline void widen(const VReg* regs, int count, float* data) {
  constexpr int per_reg = 32 / kBits;
  for (int r = 0; r < count; ++r) {
    for (int v = 0; v < 64; v += kW) {
      const VI x = load_i(regs[r].lane + v);
#pragma GCC unroll 8
      for (int e = 0; e < per_reg; ++e) store(data + (r * per_reg + e) * 64 + v, kWiden(shift_right_logical(x, e * kBits)));
    }
  }
}

template <VF (*kWiden)(VI)>
inline void widen_six_bits(const VReg* regs, float* data) {
  for (int e = 0; e < 32; ++e) {
    const int r = 6 * e / 32, shift = 6 * e % 32;
    for (int v = 0; v < 64; v += kW) {
      VI x = shift_right_logical(load_i(regs[r].lane + v), shift);
      if (shift > 26) x |= (VI)((VU)load_i(regs[r + 1].lane + v) << (32 - shift));
      store(data + e * 64 + v, kWiden(x));
    }
  }
}

inline void widen_operand(MatrixType type, const VReg* regs, int count, Planes& out) {
  out.elements = count * 32 / static_cast<int>(element_bits(type));
  out.special = out.extreme = false;
  switch (type) {
  case MatrixType::f16: return widen<16, widen_f16>(regs, count, out.data);
  case MatrixType::bf16:
  case MatrixType::bf16x2: return widen<16, widen_bf16>(regs, count, out.data);
  case MatrixType::i8: return widen<8, widen_i8>(regs, count, out.data);
  case MatrixType::xf32: return widen<32, widen_xf32>(regs, count, out.data);
  case MatrixType::fp8_fnuz: return widen<8, widen_fp8_fnuz>(regs, count, out.data);
  case MatrixType::bf8_fnuz: return widen<8, widen_bf8_fnuz>(regs, count, out.data);
  case MatrixType::fp8_ocp: return widen<8, widen_fp8_ocp>(regs, count, out.data);
  case MatrixType::bf8_ocp: return widen<8, widen_bf8_ocp>(regs, count, out.data);
  case MatrixType::fp4: return widen<4, widen_fp4>(regs, count, out.data);
  case MatrixType::fp6: return widen_six_bits<widen_fp6>(regs, out.data);
  case MatrixType::bf6: return widen_six_bits<widen_bf6>(regs, out.data);
  default: return widen<32, widen_f32>(regs, count, out.data);
  }
}

AQL_INLINE int smallest_exponent(MatrixType type) {
  switch (type) {
  case MatrixType::f16: return -14;
  case MatrixType::fp8_fnuz: return -7;
  case MatrixType::bf8_fnuz: return -15;
  case MatrixType::fp8_ocp: return -6;
  case MatrixType::bf8_ocp: return -14;
  case MatrixType::fp6:
  case MatrixType::fp4: return 0;
  case MatrixType::bf6: return -2;
  default: return -126;
  }
}

// Exponents as the fused sums count them: a subnormal keeps its type's smallest, a zero has -126.
inline void add_exponents(MatrixType type, Planes& p) {
  const VI smallest = set1(smallest_exponent(type));
  VI special{}, extreme{};
  for (int i = 0; i < p.elements * 64; i += kW) {
    const VF v = load_f(p.data + i);
    const VI e = exponent_field(v);
    const VI zero = (as_i(v) & 0x7fffffff) == 0;
    const VI counted = select(zero, set1(-126), max(e, smallest));
    store(p.data + kExponents + i, counted);
    special |= e == 128;
    extreme |= ~zero & ((counted < -50) | (counted > 60));
  }
  p.special = any(special);
  p.extreme = any(extreme);
}

// Values become significands (value * 2^-exponent), so that products can neither overflow nor underflow.
inline void keep_significands(Planes& p) {
  for (int i = 0; i < p.elements * 64; i += kW) {
    const VF v = load_f(p.data + i);
    const VI e = exponent_field(v);
    const VF normal = as_f((as_i(v) & (VI)((VU)set1(0) | 0x807fffffu)) | 0x3f800000);
    const VF small = v * 0x1p126f;
    store(p.data + i, select(VI(e == 128), v, select(VI(e == -127), small, normal)));
  }
}

// CDNA2: everything below the smallest normal of its type, and either zero, becomes +0.
inline void flush_inputs(MatrixType type, Planes& p) {
  const VF smallest = set1(type == MatrixType::f16 ? 0x1p-14f : 0x1p-126f);
  for (int i = 0; i < p.elements * 64; i += kW) {
    const VF v = load_f(p.data + i);
    const VI tiny = VI(as_f(as_i(v) & 0x7fffffff) < smallest);
    store(p.data + i, as_f(as_i(v) & ~tiny));
  }
}

// One row pointer per product. Sparse: b[] points at the first of the four candidates.
struct RowPointers {
  const float* a[kMaxK];
  const float* b[kMaxK];
  int count;
};

AQL_INLINE void point_at_rows(const MatrixPlan& plan, const Planes& a, const Planes& b, RowPointers& out) {
  out.count = plan.products;
  for (int n = 0; n < out.count; ++n) {
    out.a[n] = a.data + plan.a_at[n];
    out.b[n] = b.data + plan.b_at[n];
  }
}

// BLGP: lane groups of B are repeated or rotated before the instruction reads them.
inline void permute_lane_groups(unsigned blgp, const VReg* from, int count, VReg* to) {
  static constexpr std::uint8_t kSource[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                                                 {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
  for (int r = 0; r < count; ++r) {
    for (int group = 0; group < 4; ++group) {
      std::memcpy(to[r].lane + 16 * group, from[r].lane + 16 * kSource[blgp & 7][group], 64);
    }
  }
}
