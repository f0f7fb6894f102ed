// Sum of an array: one partial sum a group through LDS, then one atomic add.
#include "device.h"

#define GROUP 256
static LDS_VARIABLE(int, partial[GROUP]);

KERNEL GROUP_SIZE(GROUP, GROUP) sum(GLOBAL const int *in, GLOBAL int *out, unsigned n) {
  const unsigned lane = local_id();
  int mine = 0;
  for (unsigned i = global_id(); i < n; i += GROUP * 4) mine += in[i];
  partial[lane] = mine;
  group_barrier();
  for (unsigned step = GROUP / 2; step > 0; step /= 2) {
    if (lane < step) partial[lane] += partial[lane + step];
    group_barrier();
  }
  if (lane == 0) __atomic_fetch_add(out, partial[0], __ATOMIC_RELAXED);
}
