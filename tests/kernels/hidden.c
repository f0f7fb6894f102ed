// Shows what a kernel sees of its launch: ids, sizes, and the hidden arguments by their code object V5 offsets.
#include "device.h"

struct launch_view {
  unsigned block_count[3];
  unsigned short group_size[3], remainder[3], grid_dims;
  unsigned long global_offset[3];
};

struct services_view {
  unsigned long printf_buffer, hostcall, multigrid, heap;
};

// V5 and V6: straight from the hidden block. V4 has another block: not read there.
KERNEL show_hidden(GLOBAL struct launch_view *out) {
  const __attribute__((address_space(4))) char *p = __builtin_amdgcn_implicitarg_ptr();
  if (global_id() != 0 || __builtin_amdgcn_workgroup_id_y() != 0 || __builtin_amdgcn_workgroup_id_z() != 0 || __builtin_amdgcn_workitem_id_y() != 0 ||
      __builtin_amdgcn_workitem_id_z() != 0)
    return;
#define U32(at) (*(const __attribute__((address_space(4))) unsigned *)(p + (at)))
#define U16(at) (*(const __attribute__((address_space(4))) unsigned short *)(p + (at)))
#define U64(at) (*(const __attribute__((address_space(4))) unsigned long *)(p + (at)))
  for (int i = 0; i < 3; ++i) {
    out->block_count[i] = U32(4 * i);
    out->group_size[i] = U16(12 + 2 * i);
    out->remainder[i] = U16(18 + 2 * i);
    out->global_offset[i] = U64(40 + 8 * i);
  }
  out->grid_dims = U16(64);
}

// Reads the pointers to host services. Optimised, its metadata asks for them; without optimisation everything is listed anyway.
KERNEL show_services(GLOBAL struct services_view *out) {
  const __attribute__((address_space(4))) char *p = __builtin_amdgcn_implicitarg_ptr();
  out->printf_buffer = U64(72);
  out->hostcall = U64(80);
  out->multigrid = U64(88);
  out->heap = U64(96);
}

// LDS behind the kernel's own: the size is in the hidden argument, and all of it can be used.
extern LDS unsigned dynamic_memory[];
KERNEL use_dynamic_lds(GLOBAL unsigned *out) {
  const __attribute__((address_space(4))) char *p = __builtin_amdgcn_implicitarg_ptr();
  const unsigned words = U32(120) / 4;
  for (unsigned i = local_id(); i < words; i += 64) dynamic_memory[i] = i * 3;
  group_barrier();
  unsigned sum = 0;
  for (unsigned i = 0; i < words; ++i) sum += dynamic_memory[i];
  if (local_id() == 0) {
    out[0] = words * 4;
    out[1] = sum;
  }
}

// Every work-item records its place: id x, y, z of item and group, and the size of its own group as the hardware says.
struct place {
  unsigned item[3], group[3], size[3];
};
KERNEL show_ids(GLOBAL struct place *out, unsigned width, unsigned height) {
  const unsigned ix = __builtin_amdgcn_workitem_id_x(), iy = __builtin_amdgcn_workitem_id_y(), iz = __builtin_amdgcn_workitem_id_z();
  const unsigned gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(), gz = __builtin_amdgcn_workgroup_id_z();
  const unsigned sx = __builtin_amdgcn_workgroup_size_x(), sy = __builtin_amdgcn_workgroup_size_y(), sz = __builtin_amdgcn_workgroup_size_z();
  const unsigned full_x = 4, full_y = 4, full_z = 2; // the tests launch groups of 4 x 4 x 2
  const unsigned x = gx * full_x + ix, y = gy * full_y + iy, z = gz * full_z + iz;
  GLOBAL struct place *p = out + ((unsigned long)z * height + y) * width + x;
  p->item[0] = ix; p->item[1] = iy; p->item[2] = iz;
  p->group[0] = gx; p->group[1] = gy; p->group[2] = gz;
  p->size[0] = sx; p->size[1] = sy; p->size[2] = sz;
}

// 24 bytes of explicit arguments; out gets the first 80 bytes of the kernarg segment behind them as they are.
KERNEL show_kernarg(GLOBAL unsigned char *out, unsigned long a, unsigned long b) {
  const __attribute__((address_space(4))) unsigned char *p = __builtin_amdgcn_implicitarg_ptr();
  const unsigned i = local_id();
  if (i < 80) out[i] = p[i];
  if (i == 80) out[80] = (unsigned char)(a + b);
}

struct big { unsigned word[768]; }; // 3 KiB by value
KERNEL sum_big(GLOBAL unsigned *out, struct big value) {
  unsigned sum = 0;
  for (int i = 0; i < 768; ++i) sum += value.word[i] * (i + 1);
  if (global_id() == 0) out[0] = sum;
}

KERNEL no_arguments(void) {}
