// C[m][n] (f32) = A[m][k] * B[n][k] (fp8 e4m3, OCP), dense and row-major, any sizes: a tiled product for gfx950.
//
// A group of 256 work-items (4 waves, 2 x 2) makes 256 x 128 of C; a wave makes 128 x 64 as 4 x 2 accumulators of 32 x 32, with
// v_mfma_f32_32x32x64_f8f6f4. 64 steps of k at a time go through LDS, both operands by rows, so that a lane fetches its 32 values
// with two 128-bit reads. Which k they are does not matter as long as A and B agree: there are no block scales.
// Grid: ceil(n / 128) * 256 x ceil(m / 256) work-items. Compile: clang --target=amdgcn-amd-amdhsa -mcpu=gfx950 -O3 -nogpulib.

#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define UNROLL _Pragma("unroll")

typedef unsigned char fp8;
typedef unsigned char bytes16 __attribute__((ext_vector_type(16), aligned(16)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));

enum { tile_m = 256, tile_n = 128, tile_k = 64, stride = tile_k + 16 };

static LOCAL __attribute__((loader_uninitialized)) fp8 rows_of_a[tile_m * stride];
static LOCAL __attribute__((loader_uninitialized)) fp8 rows_of_b[tile_n * stride];

struct pieces { // what a work-item carries from global memory to LDS: 16 k of a row each
  bytes16 a[4], b[2];
};

static inline bytes16 load_piece(const GLOBAL fp8* p, int row, int at_k, int rows, int k) {
  if (row < rows && at_k + 16 <= k && k % 16 == 0) return *(const GLOBAL bytes16*)(p + (long)row * k + at_k);
  bytes16 piece = 0;
  UNROLL for (int e = 0; e < 16; ++e) {
    if (row < rows && at_k + e < k) piece[e] = p[(long)row * k + at_k + e];
  }
  return piece;
}

static inline struct pieces fetch(const GLOBAL fp8* a, const GLOBAL fp8* b, int m, int n, int k, int m0, int n0, int k0, int item) {
  struct pieces p;
  const int row = item / 4, at_k = k0 + item % 4 * 16;
  UNROLL for (int i = 0; i < 4; ++i) p.a[i] = load_piece(a, m0 + row + 64 * i, at_k, m, k);
  UNROLL for (int i = 0; i < 2; ++i) p.b[i] = load_piece(b, n0 + row + 64 * i, at_k, n, k);
  return p;
}

static inline int8v fragment(const LOCAL fp8* at) {
  const int4v low = *(const LOCAL int4v*)at, high = *(const LOCAL int4v*)(at + 16);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256))) void gemm_fp8_lds(GLOBAL float* c, const GLOBAL fp8* a, const GLOBAL fp8* b, int m,
                                                                                        int n, int k) {
  const int item = __builtin_amdgcn_workitem_id_x();
  const int n0 = __builtin_amdgcn_workgroup_id_x() * tile_n, m0 = __builtin_amdgcn_workgroup_id_y() * tile_m;
  const int wave = item / 64, lane = item % 64;
  const int wave_m = wave / 2 * 128, wave_n = wave % 2 * 64;
  const int place = lane % 32 * stride + lane / 32 * 32;

  float16 sum[4][2] = {};
  struct pieces next = fetch(a, b, m, n, k, m0, n0, 0, item);
  for (int k0 = 0; k0 < k; k0 += tile_k) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier(); // the last step's fragments have been read
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    UNROLL for (int i = 0; i < 4; ++i) *(LOCAL bytes16*)&rows_of_a[(item / 4 + 64 * i) * stride + item % 4 * 16] = next.a[i];
    UNROLL for (int i = 0; i < 2; ++i) *(LOCAL bytes16*)&rows_of_b[(item / 4 + 64 * i) * stride + item % 4 * 16] = next.b[i];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (k0 + tile_k < k) next = fetch(a, b, m, n, k, m0, n0, k0 + tile_k, item);
    int8v fb[2];
    UNROLL for (int j = 0; j < 2; ++j) fb[j] = fragment(&rows_of_b[(wave_n + 32 * j) * stride + place]);
    UNROLL for (int i = 0; i < 4; ++i) {
      const int8v fa = fragment(&rows_of_a[(wave_m + 32 * i) * stride + place]);
      // Scale operands of 0 ask for the form without scales.
      UNROLL for (int j = 0; j < 2; ++j) sum[i][j] = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(fa, fb[j], sum[i][j], 0, 0, 0, 0, 0, 0);
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
