// C = A * B with f16 inputs and f32 accumulation on the matrix cores, tiled through LDS, any size.
//   A: m x k, row-major. B: given transposed, n x k, row-major. C: m x n, row-major.
// A group of 256 work-items (4 waves) computes a 128 x 128 tile of C; a wave a 64 x 64 quarter of it, as 2 x 2 MFMA tiles.
// v_mfma_f32_32x32x8_f16, lane l: A row l % 32, B column l % 32, both k = 4 * (l / 32) + 0..3;
// D element r: row 8 * (r / 4) + 4 * (l / 32) + r % 4, column l % 32.
#include "device.h"

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));

#define TILE 128      // of C, rows and columns
#define STEP 32       // of k
#define PITCH 36      // halves in a row of LDS: STEP and 4 more, so that rows start in different banks
static LDS_VARIABLE(_Float16, tile_a[TILE * PITCH]);
static LDS_VARIABLE(_Float16, tile_b[TILE * PITCH]);

// Eight halves of row `row` from column `column` on; zero outside rows x k.
static inline f16x8 load8(GLOBAL const _Float16 *m, unsigned rows, unsigned k, unsigned row, unsigned column) {
  f16x8 v = {0};
  if (row < rows) {
    GLOBAL const _Float16 *p = m + (unsigned long)row * k + column;
    if (column + 8 <= k && k % 8 == 0) {
      v = *(GLOBAL const f16x8 *)p;
    } else {
      for (unsigned i = 0; i < 8; ++i)
        if (column + i < k) v[i] = p[i];
    }
  }
  return v;
}

static inline void put8(LDS _Float16 *tile, unsigned row, unsigned column, f16x8 v) {
  LDS f16x4 *p = (LDS f16x4 *)(tile + row * PITCH + column);
  p[0] = v.lo;
  p[1] = v.hi;
}

KERNEL GROUP_SIZE(256, 256) gemm_f16(GLOBAL const _Float16 *a, GLOBAL const _Float16 *b, GLOBAL float *c, unsigned m, unsigned n, unsigned k) {
  const unsigned id = local_id(), wave = id / 64, lane = id % 64;
  const unsigned row0 = __builtin_amdgcn_workgroup_id_y() * TILE, col0 = group_id() * TILE;
  const unsigned wave_row = wave / 2 * 64, wave_col = wave % 2 * 64;
  const unsigned in_row = lane % 32, in_k = lane / 32 * 4;
  f32x16 acc00 = {0}, acc01 = {0}, acc10 = {0}, acc11 = {0};

  for (unsigned k0 = 0; k0 < k; k0 += STEP) {
    for (unsigned part = 0; part < 2; ++part) { // 128 rows of 32 halves: 512 pieces of 8, two a work-item
      const unsigned piece = part * 256 + id, row = piece / 4, column = piece % 4 * 8;
      put8(tile_a, row, column, load8(a, m, k, row0 + row, k0 + column));
      put8(tile_b, row, column, load8(b, n, k, col0 + row, k0 + column));
    }
    group_barrier();
    for (unsigned s = 0; s < STEP; s += 8) {
      const f16x4 a0 = *(LDS const f16x4 *)(tile_a + (wave_row + in_row) * PITCH + s + in_k);
      const f16x4 a1 = *(LDS const f16x4 *)(tile_a + (wave_row + 32 + in_row) * PITCH + s + in_k);
      const f16x4 b0 = *(LDS const f16x4 *)(tile_b + (wave_col + in_row) * PITCH + s + in_k);
      const f16x4 b1 = *(LDS const f16x4 *)(tile_b + (wave_col + 32 + in_row) * PITCH + s + in_k);
      acc00 = __builtin_amdgcn_mfma_f32_32x32x8f16(a0, b0, acc00, 0, 0, 0);
      acc01 = __builtin_amdgcn_mfma_f32_32x32x8f16(a0, b1, acc01, 0, 0, 0);
      acc10 = __builtin_amdgcn_mfma_f32_32x32x8f16(a1, b0, acc10, 0, 0, 0);
      acc11 = __builtin_amdgcn_mfma_f32_32x32x8f16(a1, b1, acc11, 0, 0, 0);
    }
    group_barrier();
  }
  for (unsigned r = 0; r < 16; ++r) {
    const unsigned row = row0 + wave_row + 8 * (r / 4) + 4 * (lane / 32) + r % 4, col = col0 + wave_col + in_row;
    if (row < m && col < n) c[(unsigned long)row * n + col] = acc00[r];
    if (row < m && col + 32 < n) c[(unsigned long)row * n + col + 32] = acc01[r];
    if (row + 32 < m && col < n) c[(unsigned long)(row + 32) * n + col] = acc10[r];
    if (row + 32 < m && col + 32 < n) c[(unsigned long)(row + 32) * n + col + 32] = acc11[r];
  }
}
