#pragma once
// Kernels that several loader tests use.

#include <string_view>

namespace aql::test {

inline constexpr std::string_view kGemmTile = R"(
#define G __attribute__((address_space(1)))
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256)))
void gemm_tile(G f32x16 *out, G f16x4 *a, G f16x4 *b, int n) {
  f32x16 acc = 0;
  for (int k = 0; k < n; ++k) acc = __builtin_amdgcn_mfma_f32_32x32x8f16(a[k], b[k], acc, 0, 0, 0);
  out[0] = acc;
}
)";

// Kernels a, aa and b, a device function, a 64-byte constant that could be taken for a descriptor, and other globals.
inline constexpr std::string_view kSeveralKernels = R"(
#define G __attribute__((address_space(1)))
#define C __attribute__((address_space(4)))
__attribute__((visibility("default"))) G int counter = 7;
__attribute__((visibility("default"))) G int zeros[100];
__attribute__((visibility("default"))) extern C const int table[16];
__attribute__((visibility("default"))) C const int table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__attribute__((visibility("default"))) G int *G pointer = &zeros[3];
__attribute__((noinline, visibility("default"))) int helper(int x) { __asm__ volatile("s_nop 0"); return x * 3; }
__attribute__((amdgpu_kernel)) void a(G int *out) { out[0] = 1; }
__attribute__((amdgpu_kernel)) void aa(G int *out) { out[0] = helper(counter) + table[counter & 15]; }
__attribute__((amdgpu_kernel)) void b(G int *out) { out[0] = 3 + pointer[0]; }
)";

} // namespace aql::test
