// Kernels that do something wrong, for the error-handling example and tests.
#include "device.h"

KERNEL store_at(GLOBAL unsigned *where, unsigned offset, unsigned value) {
  if (local_id() == 63) where[offset] = value;
}

KERNEL endless(GLOBAL volatile unsigned *flag) {
  while (*flag == 0) {}
}
