// 32-bit floating point: arithmetic, minimum and maximum, rounding to integers, packed f32.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <immintrin.h>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/op_info.hpp"

AQL_TIER_BEGIN
namespace aql::sim::AQL_TIER_NS {
#include "sim/exec/valu_lane.hpp"
#include "sim/exec/valu_fast.hpp"
#include "sim/exec/valu_vector.hpp"
#include "sim/exec/valu_minmax.hpp"
#include "sim/exec/valu_whole.hpp"

namespace {

struct v_add_f32 : FirstNan {
  static f32 apply(f32 a, f32 b) { return a + b; }
  AQL_INLINE Vec vec(Vec a, Vec b) { return a + b; }
};
struct v_sub_f32 : FirstNan {
  static f32 apply(f32 a, f32 b) { return a - b; }
  AQL_INLINE Vec vec(Vec a, Vec b) { return a - b; }
};
struct v_subrev_f32 : FirstNan { static f32 apply(f32 a, f32 b) { return b - a; } };
struct v_mul_f32 : FirstNan {
  static f32 apply(f32 a, f32 b) { return a * b; }
  AQL_INLINE Vec vec(Vec a, Vec b) { return a * b; }
};
struct v_fma_f32 : FirstNan {
  static f32 apply(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
  AQL_INLINE Vec vec(Vec a, Vec b, Vec c) { return vec_fma(a, b, c); }
};
struct v_fmamk_f32 : FirstNan { static f32 apply(f32 a, f32 k, f32 b) { return __builtin_fmaf(a, k, b); } };
// Not fused: two roundings, denormals always flushed.
struct v_mad_f32 : FirstNan { static f32 apply(f32 a, f32 b, f32 c) { return a * b + c; } };
// Zero times anything is zero.
struct v_mul_legacy_f32 : FirstNan { static f32 apply(f32 a, f32 b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; } };
struct v_mad_legacy_f32 {
  static f32 apply(f32 a, f32 b, f32 c) {
    const f32 product = a == 0.0f || b == 0.0f ? 0.0f : ordered_nan(a * b, a, b);
    return ordered_nan(product + c, product, c);
  }
};

// --- to integers
struct v_trunc_f32 : FirstNan { static f32 apply(f32 a) { return whole_trunc(a); } };
struct v_ceil_f32 : FirstNan { static f32 apply(f32 a) { return whole_ceil(a); } };
struct v_floor_f32 : FirstNan { static f32 apply(f32 a) { return whole_floor(a); } };
struct v_rndne_f32 : FirstNan { static f32 apply(f32 a) { return whole_even(a); } };
// Never 1: a tiny negative number gives the largest value below 1.
struct v_fract_f32 : FirstNan {
  static f32 apply(f32 a) {
    const f32 f = a - whole_floor(a);
    return f >= 1.0f ? 0x1.fffffep-1f : f;
  }
};

// --- cube maps: face number, coordinates on the face, twice the major axis
AQL_INLINE f32 magnitude(f32 v) { return as_f32(as_u32(v) & 0x7fffffffu); }
AQL_INLINE f32 flip(f32 v) { return as_f32(as_u32(v) ^ 0x80000000u); }
AQL_INLINE bool major_z(f32 x, f32 y, f32 z) { return magnitude(z) >= magnitude(x) && magnitude(z) >= magnitude(y); }
AQL_INLINE bool major_y(f32 x, f32 y) { return magnitude(y) >= magnitude(x); }
struct v_cubeid_f32 {
  static f32 apply(f32 x, f32 y, f32 z) {
    const f32 fz = z < 0.0f ? 5.0f : 4.0f, fy = y < 0.0f ? 3.0f : 2.0f, fx = x < 0.0f ? 1.0f : 0.0f;
    return major_z(x, y, z) ? fz : major_y(x, y) ? fy : fx;
  }
};
struct v_cubesc_f32 {
  static f32 apply(f32 x, f32 y, f32 z) {
    const f32 fz = z < 0.0f ? flip(x) : x, fx = x < 0.0f ? z : flip(z);
    return major_z(x, y, z) ? fz : major_y(x, y) ? x : fx;
  }
};
struct v_cubetc_f32 {
  static f32 apply(f32 x, f32 y, f32 z) {
    const f32 fy = y < 0.0f ? flip(z) : z;
    return major_z(x, y, z) ? flip(y) : major_y(x, y) ? fy : flip(y);
  }
};
struct v_cubema_f32 {
  static f32 apply(f32 x, f32 y, f32 z) { return (major_z(x, y, z) ? z : major_y(x, y) ? y : x) * 2.0f; }
};

constexpr ValuOp kOps[] = {
  AQL_VALU_DIRECT(v_add_f32), AQL_VALU_DIRECT(v_sub_f32), AQL_VALU(v_subrev_f32), AQL_VALU_DIRECT(v_mul_f32),
  AQL_VALU_DIRECT(v_fma_f32), AQL_VALU_DIRECT_AS(v_fmac_f32, v_fma_f32, kReadsDst),
  AQL_VALU_AS(v_fmamk_f32, v_fmamk_f32, 0), AQL_VALU_AS(v_fmaak_f32, v_fma_f32, 0),
  AQL_VALU_AS(v_mad_f32, v_mad_f32, kFlushAlways), AQL_VALU_AS(v_mac_f32, v_mad_f32, kFlushAlways | kReadsDst),
  AQL_VALU_AS(v_madmk_f32, v_mad_f32, kFlushAlways), AQL_VALU_AS(v_madak_f32, v_mad_f32, kFlushAlways),
  AQL_VALU(v_mul_legacy_f32), AQL_VALU_FLAGS(v_mad_legacy_f32, kFlushAlways),
  AQL_VALU_PK32(v_pk_fma_f32, v_fma_f32), AQL_VALU_PK32(v_pk_mul_f32, v_mul_f32), AQL_VALU_PK32(v_pk_add_f32, v_add_f32),
  AQL_VALU(v_min_f32), AQL_VALU(v_max_f32), AQL_VALU(v_min3_f32), AQL_VALU(v_max3_f32), AQL_VALU(v_med3_f32),
  AQL_VALU(v_minimum3_f32), AQL_VALU(v_maximum3_f32),
  AQL_VALU(v_trunc_f32), AQL_VALU(v_ceil_f32), AQL_VALU(v_floor_f32), AQL_VALU(v_rndne_f32), AQL_VALU(v_fract_f32),
  AQL_VALU(v_cubeid_f32), AQL_VALU(v_cubesc_f32), AQL_VALU(v_cubetc_f32), AQL_VALU(v_cubema_f32),
};

} // namespace

std::span<const ValuOp> valu_f32_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
