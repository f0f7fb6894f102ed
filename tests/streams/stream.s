// The frame of a random instruction stream: state from memory into registers, room for the stream, state to memory.
// Kernel arguments: where the state goes (kDumpBytes a group), the arena (64 KiB a group), where it comes from (kInitBytes a group).
//
// Registers that a stream must leave alone (frame.hpp): s0-s23, v1-v15. It may use v0, v16-v127, a0-a127, s24-s95, VCC, EXEC.
//   s[0:1] dump   s[2:3] middle of the arena   s[4:7], s[8:11] buffer resources   s12 small multiple of 16   s13 0..8
//   s14 loop counter   s[22:23] return address   s18 offset in private memory
//   v[2:3] address in the arena   v4 offset   v5 LDS address   v[6:7] flat address in LDS   v[8:9] flat address in private memory
//   v10 offset in private memory   v[12:13] index and offset in a buffer   v14 offset in a buffer
  .text
  .globl stream
  .p2align 8
  .type stream,@function
stream:
.if .amdgcn.gfx_generation_minor == 0
  s_add_u32 flat_scratch_lo, s6, s9
  s_addc_u32 flat_scratch_hi, s7, 0
  s_mov_b32 s20, s8
  s_mov_b64 s[18:19], s[4:5]
.else
  s_mov_b32 s20, s2
  s_mov_b64 s[18:19], s[0:1]
.endif
  s_load_dwordx2 s[0:1], s[18:19], 0x0
  s_load_dwordx2 s[2:3], s[18:19], 0x8
  s_load_dwordx2 s[16:17], s[18:19], 0x10
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s21, s20, 0x18000
  s_add_u32 s0, s0, s21
  s_addc_u32 s1, s1, 0
  s_add_u32 s16, s16, s21
  s_addc_u32 s17, s17, 0
  s_lshl_b32 s21, s20, 16
  s_add_u32 s2, s2, s21
  s_addc_u32 s3, s3, 0
  v_lshlrev_b32 v1, 2, v0
// private memory
  v_mov_b32 v15, 0
  v_mov_b32 v16, 0
  v_mov_b32 v17, 1
  v_mov_b32 v18, v0
  v_mov_b32 v19, -1
.set n, 0
.rept 256
  scratch_store_dwordx4 v15, v[16:19], off offset:n
  .set n, n + 16
.endr
// v1 stays the lane's place; v2-v14 offsets, v0 and v16-v127 values
.set n, 2
.rept 126
  global_load_dword v[n], v1, s[16:17]
  s_add_u32 s16, s16, 0x100
  s_addc_u32 s17, s17, 0
  .set n, n + 1
.endr
  global_load_dword v0, v1, s[16:17]
  s_add_u32 s16, s16, 0x100
  s_addc_u32 s17, s17, 0
.set n, 0
.rept 128
  global_load_dword a[n], v1, s[16:17]
  s_add_u32 s16, s16, 0x100
  s_addc_u32 s17, s17, 0
  .set n, n + 1
.endr
.set n, 0
.rept 64
  global_load_dword v15, v1, s[16:17]
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v15 offset:n * 256
  s_add_u32 s16, s16, 0x100
  s_addc_u32 s17, s17, 0
  .set n, n + 1
.endr
.set n, 24
.rept 9
  s_load_dwordx8 s[n:n+7], s[16:17], (n - 24) * 4
  .set n, n + 8
.endr
  s_load_dwordx8 s[4:11], s[16:17], 0x200
  s_load_dwordx2 s[12:13], s[16:17], 0x220
  s_load_dword s18, s[16:17], 0x228
  s_load_dwordx2 vcc, s[16:17], 0x230
  s_load_dwordx2 s[22:23], s[16:17], 0x238
  s_load_dword s19, s[16:17], 0x240
  s_waitcnt vmcnt(0) lgkmcnt(0)
  // resources: base 16 KiB into the arena, the other fields as given
  s_add_u32 s4, s2, 0x4000
  s_addc_u32 s21, s3, 0
  s_or_b32 s5, s5, s21
  s_mov_b32 s8, s4
  s_or_b32 s9, s9, s21
  s_add_u32 s2, s2, 0x8000
  s_addc_u32 s3, s3, 0
  // addresses
  v_mov_b32 v3, s3
  v_add_co_u32 v2, s[20:21], s2, v2
  v_addc_co_u32 v3, s[20:21], 0, v3, s[20:21]
  s_mov_b64 s[20:21], src_shared_base
  v_mov_b32 v7, s21
  s_mov_b64 s[20:21], src_private_base
  v_mov_b32 v9, s21
  s_mov_b32 m0, 4
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s19
  s_mov_b64 exec, s[22:23]
  s_mov_b32 s21, 0x5eedface
  .fill 6144, 4, 0xbf800000
  s_cselect_b32 s21, 1, 0
  s_mov_b32 s20, m0
  s_set_gpr_idx_off
  s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x3f0
  s_mov_b64 s[22:23], exec
  s_mov_b64 exec, -1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mbcnt_lo_u32_b32 v1, -1, 0
  v_mbcnt_hi_u32_b32 v1, -1, v1
  v_lshlrev_b32 v1, 2, v1
.macro put register
  global_store_dword v1, \register, s[0:1]
  s_add_u32 s0, s0, 0x100
  s_addc_u32 s1, s1, 0
.endm
  put v0
.set n, 16
.rept 112
  put v[n]
  .set n, n + 1
.endr
.set n, 0
.rept 128
  put a[n]
  .set n, n + 1
.endr
.set n, 24
.rept 72
  v_mov_b32 v15, s[n]
  put v15
  .set n, n + 1
.endr
  v_mov_b32 v15, vcc_lo
  put v15
  v_mov_b32 v15, vcc_hi
  put v15
  v_mov_b32 v15, s20
  put v15
  v_mov_b32 v15, s21
  put v15
  v_mov_b32 v15, s22
  put v15
  v_mov_b32 v15, s23
  put v15
.set n, 0
.rept 64
  ds_read_b32 v15, v1 offset:n * 256
  s_waitcnt lgkmcnt(0)
  put v15
  .set n, n + 1
.endr
  s_endpgm
  .size stream, .-stream
  .section .rodata
  .p2align 6
.if .amdgcn.gfx_generation_minor == 0
  .amdhsa_kernel stream
    .amdhsa_user_sgpr_private_segment_buffer 1
    .amdhsa_user_sgpr_flat_scratch_init 1
    .amdhsa_system_sgpr_private_segment_wavefront_offset 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_private_segment_fixed_size 4096
    .amdhsa_group_segment_fixed_size 16384
    .amdhsa_next_free_vgpr 256
    .amdhsa_accum_offset 128
    .amdhsa_next_free_sgpr 96
    .amdhsa_kernarg_size 24
  .end_amdhsa_kernel
.else
  .amdhsa_kernel stream
    .amdhsa_enable_private_segment 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_private_segment_fixed_size 4096
    .amdhsa_group_segment_fixed_size 16384
    .amdhsa_next_free_vgpr 256
    .amdhsa_accum_offset 128
    .amdhsa_next_free_sgpr 96
    .amdhsa_kernarg_size 24
  .end_amdhsa_kernel
.endif

.amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: stream
    .symbol: stream.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 16384
    .private_segment_fixed_size: 4096
    .wavefront_size: 64
    .sgpr_count: 102
    .vgpr_count: 256
    .agpr_count: 128
    .max_flat_workgroup_size: 64
    .args:
      - { .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
      - { .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global }
      - { .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global }
...
.end_amdgpu_metadata
