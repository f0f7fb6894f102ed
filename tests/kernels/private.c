// Private arrays: each work-item fills its own with its id, waits for its group, and checks that nobody else wrote there.
#include "device.h"

#define CHECK_PRIVATE(name, words)                                                   \
  KERNEL name(GLOBAL unsigned *errors, unsigned seed) {                              \
    volatile unsigned mine[words];                                                   \
    const unsigned id = global_id() * 2654435761u + seed;                            \
    for (unsigned i = 0; i < words; ++i) mine[i] = id + i;                           \
    group_barrier();                                                                 \
    unsigned wrong = 0;                                                              \
    for (unsigned i = 0; i < words; ++i) wrong += mine[i] != id + i;                 \
    if (wrong) __atomic_fetch_add(errors, wrong, __ATOMIC_RELAXED);                  \
  }

CHECK_PRIVATE(private_small, 16)
CHECK_PRIVATE(private_large, 1024)

// Touches only the ends of a very large private array.
KERNEL private_huge(GLOBAL unsigned *errors, unsigned seed) {
  volatile unsigned mine[32000];
  const unsigned id = global_id() + seed;
  mine[0] = id;
  mine[31999] = ~id;
  group_barrier();
  if (mine[0] != id || mine[31999] != ~id) __atomic_fetch_add(errors, 1u, __ATOMIC_RELAXED);
}

// Fills 64 words of its array, waits for the host, checks. Two sizes.
#define HELD_PRIVATE(name, words)                                                                                   \
  KERNEL name(GLOBAL unsigned *gate, GLOBAL unsigned *errors, GLOBAL unsigned *started, unsigned seed) {            \
    volatile unsigned mine[words];                                                                                  \
    const unsigned id = global_id() * 2654435761u + seed;                                                           \
    for (unsigned i = 0; i < words; i += words / 64) mine[i] = id + i;                                              \
    __scoped_atomic_fetch_add(started, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);                                \
    while (__scoped_atomic_load_n(gate, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(4); \
    unsigned wrong = 0;                                                                                             \
    for (unsigned i = 0; i < words; i += words / 64) wrong += mine[i] != id + i;                                    \
    if (wrong) __scoped_atomic_fetch_add(errors, wrong, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);                   \
  }

HELD_PRIVATE(private_held, 128)
HELD_PRIVATE(private_held_large, 4096)
