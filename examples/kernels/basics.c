// Small kernels for the first examples.
#include "device.h"

// Stores `value` once: the smallest kernel whose effect can be seen.
KERNEL store_value(GLOBAL unsigned *out, unsigned value) {
  if (global_id() == 0) out[0] = value;
}

KERNEL vector_add(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *c, unsigned n) {
  const unsigned i = global_id();
  if (i < n) c[i] = a[i] + b[i];
}

// x = x * factor + 1, slowly: `rounds` times over.
KERNEL scale_add(GLOBAL unsigned *x, unsigned n, unsigned factor, unsigned rounds) {
  const unsigned i = global_id();
  if (i >= n) return;
  unsigned v = x[i];
  for (unsigned r = 0; r < rounds; ++r) v = v * factor + 1;
  x[i] = v;
}

// Counts every dispatch exactly once.
KERNEL count(GLOBAL unsigned *counter) {
  if (local_id() == 0) __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED);
}
