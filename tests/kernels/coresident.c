// All groups must be resident together: each adds one and waits for everybody, `rounds` times.
#include "device.h"

KERNEL meet(GLOBAL unsigned *arrived, unsigned groups, unsigned rounds) {
  for (unsigned r = 1; r <= rounds; ++r) {
    if (local_id() == 0) {
      __scoped_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
      while (__scoped_atomic_load_n(arrived, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) < groups * r) __builtin_amdgcn_s_sleep(1);
    }
    group_barrier();
  }
}

// Spins until the host says go; no sleep instruction in the loop.
KERNEL wait_for_host(GLOBAL unsigned *flag, GLOBAL unsigned *out) {
  while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) == 0) {}
  if (local_id() == 0) out[group_id()] = *flag;
}
