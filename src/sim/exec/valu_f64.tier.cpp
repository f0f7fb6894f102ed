// 64-bit floating point: arithmetic, minimum and maximum, rounding to integers.
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
#include "sim/exec/valu_minmax.hpp"
#include "sim/exec/valu_whole.hpp"

namespace {

struct v_add_f64 : FirstNan { static f64 apply(f64 a, f64 b) { return a + b; } };
struct v_mul_f64 : FirstNan { static f64 apply(f64 a, f64 b) { return a * b; } };
struct v_fma_f64 : FirstNan { static f64 apply(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); } };
struct v_trunc_f64 : FirstNan { static f64 apply(f64 a) { return whole_trunc(a); } };
struct v_ceil_f64 : FirstNan { static f64 apply(f64 a) { return whole_ceil(a); } };
struct v_floor_f64 : FirstNan { static f64 apply(f64 a) { return whole_floor(a); } };
struct v_rndne_f64 : FirstNan { static f64 apply(f64 a) { return whole_even(a); } };
struct v_fract_f64 : FirstNan {
  static f64 apply(f64 a) {
    const f64 f = a - whole_floor(a);
    return f >= 1.0 ? 0x1.fffffffffffffp-1 : f;
  }
};

constexpr ValuOp kOps[] = {
  AQL_VALU_HOT(v_add_f64), AQL_VALU_HOT(v_mul_f64), AQL_VALU_HOT(v_fma_f64), AQL_VALU_HOT_AS(v_fmac_f64, v_fma_f64, kReadsDst),
  AQL_VALU(v_min_f64), AQL_VALU(v_max_f64),
  AQL_VALU(v_trunc_f64), AQL_VALU(v_ceil_f64), AQL_VALU(v_floor_f64), AQL_VALU(v_rndne_f64), AQL_VALU(v_fract_f64),
};

} // namespace

std::span<const ValuOp> valu_f64_ops() noexcept { return kOps; }

} // namespace aql::sim::AQL_TIER_NS
AQL_TIER_END
