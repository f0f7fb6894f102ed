// What every kernel here uses: address spaces, ids, and the kernel attribute. Plain C for clang's amdgcn target.
#pragma once

#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
// LDS has no initial contents: `static LDS_VARIABLE(int, partial[64]);`
#define LDS_VARIABLE(type, name) __attribute__((loader_uninitialized)) LDS type name
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GROUP_SIZE(min, max) __attribute__((amdgpu_flat_work_group_size(min, max)))

static inline unsigned local_id(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline unsigned group_id(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline unsigned global_id(void) { return group_id() * __builtin_amdgcn_workgroup_size_x() + local_id(); }
static inline void group_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
