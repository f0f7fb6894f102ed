// to[i] = from[i], 16 bytes at a time: a wave copies 64 KiB, 1 KiB with each instruction.
typedef unsigned uint4v __attribute__((ext_vector_type(4)));
#define GLOBAL __attribute__((address_space(1)))

enum { group = 256, wave = 64, each = 64 };

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(group, group))) void copy_dwordx4(GLOBAL uint4v* to, const GLOBAL uint4v* from) {
  const unsigned item = __builtin_amdgcn_workitem_id_x(), lane = item % wave;
  const unsigned long at = ((unsigned long)__builtin_amdgcn_workgroup_id_x() * (group / wave) + __builtin_amdgcn_readfirstlane(item / wave)) * wave * each;
  to += at;
  from += at;
#pragma unroll 4
  for (unsigned n = 0; n < each; ++n) to[lane + n * wave] = from[lane + n * wave];
}
