// Kernels of the conformance suite.
#include "device.h"

#define SYSTEM_LOAD(p) __scoped_atomic_load_n(p, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM)
#define SYSTEM_STORE(p, v) __scoped_atomic_store_n(p, v, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM)
#define SYSTEM_ADD(p, v) __scoped_atomic_fetch_add(p, v, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_SYSTEM)

// log[n] is the id of the n-th dispatch that came here; `count` is n.
struct journal {
  unsigned count, entry[1023];
};
static inline void enter(GLOBAL struct journal *log, unsigned id) {
  const unsigned at = SYSTEM_ADD(&log->count, 1u);
  if (at < 1023) SYSTEM_STORE(&log->entry[at], id);
}

KERNEL note(GLOBAL struct journal *log, unsigned id) {
  if (local_id() == 0) enter(log, id);
}
// Waits for the host first.
KERNEL held(GLOBAL struct journal *log, unsigned id, GLOBAL unsigned *gate) {
  if (local_id() != 0) return;
  while (SYSTEM_LOAD(gate) == 0) __builtin_amdgcn_s_sleep(4);
  enter(log, id);
}

KERNEL add_one(GLOBAL unsigned *counter) {
  if (global_id() == 0) SYSTEM_ADD(counter, 1u);
}
// x = x * 3 + c: the order of dispatches shows in the result. Not atomic: two at once would lose one.
KERNEL step(GLOBAL unsigned *x, unsigned c) {
  if (global_id() == 0) *x = *x * 3 + c;
}
// Every work-item of the grid counts itself.
KERNEL visit(GLOBAL unsigned *visits, unsigned width, unsigned height, unsigned gx, unsigned gy, unsigned gz) {
  const unsigned x = __builtin_amdgcn_workgroup_id_x() * gx + __builtin_amdgcn_workitem_id_x();
  const unsigned y = __builtin_amdgcn_workgroup_id_y() * gy + __builtin_amdgcn_workitem_id_y();
  const unsigned z = __builtin_amdgcn_workgroup_id_z() * gz + __builtin_amdgcn_workitem_id_z();
  __scoped_atomic_fetch_add(&visits[(z * height + y) * width + x], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
KERNEL copy_words(GLOBAL const unsigned *from, GLOBAL unsigned *to, unsigned words) {
  for (unsigned i = global_id(); i < words; i += 1024) to[i] = from[i];
}
// The smaller of its two inputs plus one: a node of a dependency graph.
KERNEL node(GLOBAL unsigned *values, unsigned self, unsigned a, unsigned b) {
  if (global_id() != 0) return;
  const unsigned x = values[a], y = values[b];
  values[self] = (x > y ? x : y) + 1;
}

// Answers the host `rounds` times: waits for turn 2k+1, squares the value, gives turn 2k+2.
struct table {
  unsigned turn, value;
};
KERNEL answer(GLOBAL struct table *t, unsigned rounds) {
  if (local_id() != 0) return;
  for (unsigned k = 0; k < rounds; ++k) {
    while (SYSTEM_LOAD(&t->turn) != 2 * k + 1) __builtin_amdgcn_s_sleep(1);
    t->value = t->value * t->value;
    SYSTEM_STORE(&t->turn, 2 * k + 2);
  }
}

// Private memory: each work-item fills its own, and counts what is not its own afterwards.
#define CHECK_PRIVATE(name, words)                                                   \
  KERNEL name(GLOBAL unsigned *errors) {                                             \
    volatile unsigned mine[words];                                                   \
    const unsigned id = global_id() * 2654435761u;                                   \
    for (unsigned i = 0; i < words; ++i) mine[i] = id + i;                           \
    group_barrier();                                                                 \
    unsigned wrong = 0;                                                              \
    for (unsigned i = 0; i < words; ++i) wrong += mine[i] != id + i;                 \
    if (wrong) SYSTEM_ADD(errors, wrong);                                            \
  }
CHECK_PRIVATE(private_16, 16)
CHECK_PRIVATE(private_256, 256)
CHECK_PRIVATE(private_1024, 1024)

static LDS_VARIABLE(unsigned, shared_words[256]);
KERNEL GROUP_SIZE(256, 256) reverse(GLOBAL unsigned *data) {
  shared_words[255 - local_id()] = data[global_id()];
  group_barrier();
  data[global_id()] = shared_words[local_id()];
}

KERNEL spin(void) {
  while (1) __builtin_amdgcn_s_sleep(1);
}
KERNEL store_at(GLOBAL unsigned *where, unsigned value) {
  if (local_id() == 0) *(volatile GLOBAL unsigned *)where = value;
}
KERNEL load_at(GLOBAL unsigned *where, GLOBAL unsigned *out) {
  if (local_id() == 0) *out = *(volatile GLOBAL unsigned *)where;
}
KERNEL trap(void) { __builtin_trap(); }

GLOBAL __attribute__((visibility("protected"))) unsigned conformance_global = 1234;
KERNEL add_to_global(unsigned value) {
  if (global_id() == 0) conformance_global += value;
}
