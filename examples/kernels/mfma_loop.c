// The smallest MFMA kernel: every lane loads the same a[k], b[k]; out[r] = sum over k of 2 * dot4(a[k], b[k]) for every r.
// It does not compile for gfx1250: that target has no MFMA (its matrix instructions are WMMA, for waves of 32).
#include "device.h"

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));

KERNEL GROUP_SIZE(256, 256) gemm_tile(GLOBAL f32x16 *out, GLOBAL f16x4 *a, GLOBAL f16x4 *b, int n) {
  f32x16 acc = {0};
  for (int k = 0; k < n; ++k) acc = __builtin_amdgcn_mfma_f32_32x32x8f16(a[k], b[k], acc, 0, 0, 0);
  out[0] = acc;
}
