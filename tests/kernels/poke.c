// Kernels that touch the address they are told, from the lanes they are told.
#include "device.h"

static inline int active(unsigned long lanes) { return (lanes >> local_id()) & 1; }

KERNEL GROUP_SIZE(64, 64) load_at(GLOBAL unsigned *where, GLOBAL unsigned *out, unsigned long lanes) {
  if (active(lanes)) out[local_id()] = *(volatile GLOBAL unsigned *)where;
}
KERNEL GROUP_SIZE(64, 64) store_at(GLOBAL unsigned *where, unsigned value, unsigned long lanes) {
  if (active(lanes)) *(volatile GLOBAL unsigned *)where = value;
}
KERNEL GROUP_SIZE(64, 64) atomic_at(GLOBAL unsigned *where, unsigned value, unsigned long lanes) {
  if (active(lanes)) __scoped_atomic_fetch_add(where, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
KERNEL GROUP_SIZE(64, 64) store_flat(unsigned *where, unsigned value, unsigned long lanes) {
  if (active(lanes)) *(volatile unsigned *)where = value;
}
KERNEL GROUP_SIZE(64, 64) call_at(void (*function)(void)) { function(); }
KERNEL GROUP_SIZE(64, 64) trap(void) { __builtin_trap(); }
