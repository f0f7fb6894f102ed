// A kernel that stays: it takes work from a mailbox in fine-grained host memory until it is told to stop.
#include "device.h"

// Written by the host: sequence (work number, or ~0 to stop), value. Written by the kernel: done, result.
struct mailbox {
  unsigned sequence, value, done, result;
};

KERNEL GROUP_SIZE(64, 64) serve(GLOBAL struct mailbox *box) {
  if (local_id() != 0) return;
  unsigned next = 1;
  while (1) {
    unsigned seen;
    while ((seen = __scoped_atomic_load_n(&box->sequence, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM)) < next) __builtin_amdgcn_s_sleep(1);
    if (seen == ~0u) return;
    box->result = box->value * box->value;
    __scoped_atomic_store_n(&box->done, next, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
    ++next;
  }
}

// Eight groups hand a token round: group g waits for token g, so all must be resident together.
KERNEL GROUP_SIZE(64, 64) ring(GLOBAL unsigned *token, unsigned groups, unsigned rounds) {
  if (local_id() != 0) return;
  for (unsigned r = 0; r < rounds; ++r) {
    while (__scoped_atomic_load_n(token, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != r * groups + group_id()) __builtin_amdgcn_s_sleep(1);
    __scoped_atomic_store_n(token, r * groups + group_id() + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
}
