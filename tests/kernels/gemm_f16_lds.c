// C[m][n] (f32) = A[m][k] * B[k][n] (f16), all row-major and dense, any sizes: a tiled matrix product on the matrix cores.
//
// A group of 256 work-items (4 waves, 2 x 2) makes 256 x 128 of C; a wave makes 128 x 64 as 4 x 2 accumulators of 32 x 32.
// 32 steps of k at a time go through LDS, A by rows, B by columns, so that a lane fetches its 8 consecutive k with one 128-bit
// read. An MFMA may take any set of k as long as A and B agree, so the 8 are used as two operands of 4.
// Grid: ceil(n / 128) * 256 x ceil(m / 256) work-items. Compile: clang --target=amdgcn-amd-amdhsa -mcpu=... -O3 -nogpulib.

#define GLOBAL __attribute__((address_space(1)))
#define UNROLL _Pragma("unroll")
#define LOCAL __attribute__((address_space(3), loader_uninitialized))

typedef _Float16 half;
typedef half half4 __attribute__((ext_vector_type(4)));
typedef half half8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));

enum { tile_m = 256, tile_n = 128, tile_k = 32, stride = tile_k + 8 }; // 8 halves apart: no two rows on the same banks

static LOCAL half rows_of_a[tile_m * stride];
static LOCAL half columns_of_b[tile_n * stride];

// What a work-item carries from global memory to LDS: 4 pieces of 8 k for A, a 4 x 4 block for B.
struct pieces {
  half8 a[4];
  half4 b[4]; // one column each
};

static inline half load_or_zero(const GLOBAL half* p, int row, int column, int rows, int columns) {
  return row < rows && column < columns ? p[(long)row * columns + column] : (half)0;
}

static inline struct pieces fetch(const GLOBAL half* a, const GLOBAL half* b, int m, int n, int k, int m0, int n0, int k0, int item) {
  struct pieces p;
  const int a_row = m0 + item / 4, a_k = k0 + item % 4 * 8;  // 64 rows a piece
  const int b_k = k0 + item / 32 * 4, b_column = n0 + item % 32 * 4;
  if (m0 + tile_m <= m && n0 + tile_n <= n && k0 + tile_k <= k && k % 8 == 0 && n % 4 == 0) {
    UNROLL for (int i = 0; i < 4; ++i) p.a[i] = *(const GLOBAL half8*)(a + (long)(a_row + 64 * i) * k + a_k);
    half4 row[4];
    UNROLL for (int i = 0; i < 4; ++i) row[i] = *(const GLOBAL half4*)(b + (long)(b_k + i) * n + b_column);
    UNROLL for (int i = 0; i < 4; ++i) p.b[i] = (half4){row[0][i], row[1][i], row[2][i], row[3][i]};
  } else {
    UNROLL for (int i = 0; i < 4; ++i) {
      UNROLL for (int e = 0; e < 8; ++e) p.a[i][e] = load_or_zero(a, a_row + 64 * i, a_k + e, m, k);
      UNROLL for (int e = 0; e < 4; ++e) p.b[i][e] = load_or_zero(b, b_k + e, b_column + i, k, n);
    }
  }
  return p;
}

static inline float16 multiply(half8 a, half8 b, float16 c) {
#if defined(__gfx950__)
  return __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0);
#else
  c = __builtin_amdgcn_mfma_f32_32x32x8f16(a.lo, b.lo, c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_32x32x8f16(a.hi, b.hi, c, 0, 0, 0);
#endif
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void gemm_f16_lds(GLOBAL float* c, const GLOBAL half* a, const GLOBAL half* b, int m,
                                                                                        int n, int k) {
  const int item = __builtin_amdgcn_workitem_id_x();
  const int n0 = __builtin_amdgcn_workgroup_id_x() * tile_n, m0 = __builtin_amdgcn_workgroup_id_y() * tile_m;
  const int wave = item / 64, lane = item % 64;
  const int wave_m = wave / 2 * 128, wave_n = wave % 2 * 64;
  const int place = lane % 32 * stride + lane / 32 * 8;     // of a lane's 8 k in a fragment of 32 rows

  float16 sum[4][2] = {};
  struct pieces next = fetch(a, b, m, n, k, m0, n0, 0, item);
  for (int k0 = 0; k0 < k; k0 += tile_k) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();                           // the last step's fragments have been read
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    UNROLL for (int i = 0; i < 4; ++i) *(__attribute__((address_space(3))) half8*)&rows_of_a[(item / 4 + 64 * i) * stride + item % 4 * 8] = next.a[i];
    UNROLL for (int i = 0; i < 4; ++i) *(__attribute__((address_space(3))) half4*)&columns_of_b[(item % 32 * 4 + i) * stride + item / 32 * 4] = next.b[i];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (k0 + tile_k < k) next = fetch(a, b, m, n, k, m0, n0, k0 + tile_k, item);
    UNROLL for (int step = 0; step < tile_k; step += 16) {
      half8 fa[4], fb[2];
      UNROLL for (int i = 0; i < 4; ++i) fa[i] = *(const __attribute__((address_space(3))) half8*)&rows_of_a[(wave_m + 32 * i) * stride + place + step];
      UNROLL for (int j = 0; j < 2; ++j) fb[j] = *(const __attribute__((address_space(3))) half8*)&columns_of_b[(wave_n + 32 * j) * stride + place + step];
      UNROLL for (int i = 0; i < 4; ++i) {
        UNROLL for (int j = 0; j < 2; ++j) sum[i][j] = multiply(fa[i], fb[j], sum[i][j]);
      }
    }
  }

  UNROLL for (int i = 0; i < 4; ++i) {
    UNROLL for (int j = 0; j < 2; ++j) {
      const int column = n0 + wave_n + 32 * j + lane % 32;
      UNROLL for (int r = 0; r < 16; ++r) {
        const int row = m0 + wave_m + 32 * i + 8 * (r / 4) + 4 * (lane / 32) + r % 4;
        if (row < m && column < n) c[(long)row * n + column] = sum[i][j][r];
      }
    }
  }
}
