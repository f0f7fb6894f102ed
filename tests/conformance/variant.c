// One kernel, compiled for every state of xnack and sramecc.
__attribute__((amdgpu_kernel)) void answer(__attribute__((address_space(1))) unsigned* out) { out[__builtin_amdgcn_workitem_id_x()] = 42; }
