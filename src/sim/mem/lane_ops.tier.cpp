#include "sim/mem/lane_ops.hpp"

#include <bit>
#include <cstdint>

#include "sim/exec/tier.hpp"

AQL_TIER_BEGIN

namespace aql::sim::AQL_TIER_NS {
namespace {

// Guest data has any alignment and any type.
typedef std::uint16_t GuestU16 __attribute__((may_alias, aligned(1)));
typedef std::uint32_t GuestU32 __attribute__((may_alias, aligned(1)));
typedef std::uint64_t GuestU64 __attribute__((may_alias, aligned(1)));
typedef std::uint32_t V4 __attribute__((vector_size(16)));
typedef std::uint64_t Q2 __attribute__((vector_size(16)));
typedef std::uint32_t V8 __attribute__((vector_size(32)));
typedef std::uint32_t GuestV4 __attribute__((vector_size(16), may_alias, aligned(1)));
typedef std::uint32_t GuestV8 __attribute__((vector_size(32), may_alias, aligned(1)));
typedef std::uint32_t RowV4 __attribute__((vector_size(16), may_alias, aligned(4)));
typedef std::uint32_t RowV8 __attribute__((vector_size(32), may_alias, aligned(4)));

#define AQL_AT(type, where) (*reinterpret_cast<type*>(where))

constexpr std::uint64_t kAll = ~std::uint64_t{0};

bool inside(const std::uint64_t* address, std::uint64_t exec, std::uint64_t begin, std::uint64_t last) {
  std::uint64_t bad = 0;
  if (exec == kAll) {
    for (unsigned l = 0; l < 64; ++l) bad |= address[l] - begin > last ? 1u : 0u;
  } else {
    for (unsigned l = 0; l < 64; ++l) bad |= (address[l] - begin > last ? 1u : 0u) & (exec >> l);
  }
  return (bad & 1u) == 0;
}

std::uint64_t inside_mask(const std::uint64_t* address, std::uint64_t begin, std::uint64_t last) {
  std::uint64_t mask = 0;
  for (unsigned l = 0; l < 64; ++l) mask |= (address[l] - begin <= last ? std::uint64_t{1} : 0) << l;
  return mask;
}

void widen(std::uint64_t base, const std::uint32_t* offset, std::uint64_t* out) {
  for (unsigned l = 0; l < 64; ++l) out[l] = base + offset[l];
}

void join(const std::uint32_t* low, const std::uint32_t* high, std::uint64_t add, std::uint64_t* out) {
  for (unsigned l = 0; l < 64; ++l) out[l] = (low[l] | std::uint64_t{high[l]} << 32) + add;
}

bool inside32(const std::uint32_t* offset, std::uint32_t add, std::uint64_t exec, std::uint32_t begin, std::uint32_t last) {
  const std::uint32_t shift = add - begin;
  std::uint32_t bad = 0;
  if (exec == kAll) {
    for (unsigned l = 0; l < 64; ++l) bad |= offset[l] + shift > last ? 1u : 0u;
  } else {
    for (unsigned half = 0; half < 2; ++half) {
      const auto mask = static_cast<std::uint32_t>(exec >> (32 * half));
      for (unsigned l = 0; l < 32; ++l) bad |= (offset[half * 32 + l] + shift > last ? 1u : 0u) & (mask >> l);
    }
  }
  return (bad & 1u) == 0;
}

bool consecutive(const std::uint64_t* address) {
  if (address[63] - address[0] != 252) return false; // most strided patterns end here
  std::uint64_t differs = 0;
  for (unsigned l = 0; l < 64; ++l) differs |= address[l] ^ (address[0] + std::uint64_t{l} * 4);
  return differs == 0;
}

bool consecutive32(const std::uint32_t* offset) {
  if (offset[63] - offset[0] != 252) return false;
  std::uint32_t differs = 0;
  for (std::uint32_t l = 0; l < 64; ++l) differs |= offset[l] ^ (offset[0] + l * 4);
  return differs == 0;
}

// Where lane l's data is: 64-bit addresses, or 32-bit offsets from a base.
struct Wide {
  const std::uint64_t* address;
  std::uint64_t delta;
  std::uint64_t operator()(unsigned l) const { return address[l] + delta; }
  bool row() const { return consecutive(address); }
};
struct Narrow {
  const std::uint32_t* offset;
  std::uint32_t add;
  std::uint64_t base;
  std::uint64_t operator()(unsigned l) const { return base + static_cast<std::uint32_t>(offset[l] + add); }
  bool row() const { return consecutive32(offset) && static_cast<std::uint32_t>(offset[0] + add) <= 0xffffff00u; }
};

AQL_GUEST_ACCESS void copy_in(std::uint64_t host, std::uint32_t* row) {
  for (unsigned l = 0; l < 64; l += 8) AQL_AT(RowV8, row + l) = AQL_AT(const GuestV8, host + l * 4);
}
AQL_GUEST_ACCESS void copy_out(const std::uint32_t* row, std::uint64_t host) {
  for (unsigned l = 0; l < 64; l += 8) AQL_AT(GuestV8, host + l * 4) = AQL_AT(const RowV8, row + l);
}

// Eight lanes of four dwords: lanes l and l+4 share a 256-bit register, so that the transpose needs no crossing of its halves.
template <class At>
AQL_GUEST_ACCESS void load4_whole(const At& at, std::uint32_t (*rows)[64]) {
  for (unsigned l = 0; l < 64; l += 8) {
#define AQL_PAIR(i) __builtin_shufflevector(AQL_AT(const GuestV4, at(l + i)), AQL_AT(const GuestV4, at(l + i + 4)), 0, 1, 2, 3, 4, 5, 6, 7)
    const V8 v0 = AQL_PAIR(0), v1 = AQL_PAIR(1), v2 = AQL_PAIR(2), v3 = AQL_PAIR(3);
#undef AQL_PAIR
    const V8 t0 = __builtin_shufflevector(v0, v1, 0, 8, 1, 9, 4, 12, 5, 13), t1 = __builtin_shufflevector(v0, v1, 2, 10, 3, 11, 6, 14, 7, 15);
    const V8 t2 = __builtin_shufflevector(v2, v3, 0, 8, 1, 9, 4, 12, 5, 13), t3 = __builtin_shufflevector(v2, v3, 2, 10, 3, 11, 6, 14, 7, 15);
    AQL_AT(RowV8, &rows[0][l]) = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
    AQL_AT(RowV8, &rows[1][l]) = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
    AQL_AT(RowV8, &rows[2][l]) = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
    AQL_AT(RowV8, &rows[3][l]) = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
  }
}

template <class At>
AQL_GUEST_ACCESS void store4_whole(const At& at, const std::uint32_t (*rows)[64]) {
  for (unsigned l = 0; l < 64; l += 8) {
    const V8 r0 = AQL_AT(const RowV8, &rows[0][l]), r1 = AQL_AT(const RowV8, &rows[1][l]);
    const V8 r2 = AQL_AT(const RowV8, &rows[2][l]), r3 = AQL_AT(const RowV8, &rows[3][l]);
    const V8 t0 = __builtin_shufflevector(r0, r1, 0, 8, 1, 9, 4, 12, 5, 13), t1 = __builtin_shufflevector(r0, r1, 2, 10, 3, 11, 6, 14, 7, 15);
    const V8 t2 = __builtin_shufflevector(r2, r3, 0, 8, 1, 9, 4, 12, 5, 13), t3 = __builtin_shufflevector(r2, r3, 2, 10, 3, 11, 6, 14, 7, 15);
    const V8 v0 = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13), v1 = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
    const V8 v2 = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13), v3 = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
#define AQL_LOW(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define AQL_HIGH(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)
    AQL_AT(GuestV4, at(l + 0)) = AQL_LOW(v0);
    AQL_AT(GuestV4, at(l + 1)) = AQL_LOW(v1);
    AQL_AT(GuestV4, at(l + 2)) = AQL_LOW(v2);
    AQL_AT(GuestV4, at(l + 3)) = AQL_LOW(v3);
    AQL_AT(GuestV4, at(l + 4)) = AQL_HIGH(v0);
    AQL_AT(GuestV4, at(l + 5)) = AQL_HIGH(v1);
    AQL_AT(GuestV4, at(l + 6)) = AQL_HIGH(v2);
    AQL_AT(GuestV4, at(l + 7)) = AQL_HIGH(v3);
#undef AQL_LOW
#undef AQL_HIGH
  }
}

// Four lanes of two dwords.
template <class At>
AQL_GUEST_ACCESS void load2_whole(const At& at, std::uint32_t (*rows)[64]) {
  for (unsigned l = 0; l < 64; l += 4) {
    const V4 v0 = reinterpret_cast<V4>(Q2{AQL_AT(const GuestU64, at(l)), AQL_AT(const GuestU64, at(l + 1))});
    const V4 v1 = reinterpret_cast<V4>(Q2{AQL_AT(const GuestU64, at(l + 2)), AQL_AT(const GuestU64, at(l + 3))});
    AQL_AT(RowV4, &rows[0][l]) = __builtin_shufflevector(v0, v1, 0, 2, 4, 6);
    AQL_AT(RowV4, &rows[1][l]) = __builtin_shufflevector(v0, v1, 1, 3, 5, 7);
  }
}

template <class At>
AQL_GUEST_ACCESS void store2_whole(const At& at, const std::uint32_t (*rows)[64]) {
  for (unsigned l = 0; l < 64; l += 4) {
    const V4 r0 = AQL_AT(const RowV4, &rows[0][l]), r1 = AQL_AT(const RowV4, &rows[1][l]);
    const Q2 v0 = reinterpret_cast<Q2>(__builtin_shufflevector(r0, r1, 0, 4, 1, 5)), v1 = reinterpret_cast<Q2>(__builtin_shufflevector(r0, r1, 2, 6, 3, 7));
    AQL_AT(GuestU64, at(l)) = v0[0];
    AQL_AT(GuestU64, at(l + 1)) = v0[1];
    AQL_AT(GuestU64, at(l + 2)) = v1[0];
    AQL_AT(GuestU64, at(l + 3)) = v1[1];
  }
}

template <unsigned kDwords>
AQL_GUEST_ACCESS inline __attribute__((always_inline)) void load_lane(std::uint64_t host, unsigned l, std::uint32_t (*rows)[64]) {
  if constexpr (kDwords == 1) {
    rows[0][l] = AQL_AT(const GuestU32, host);
  } else if constexpr (kDwords == 2 || kDwords == 3) {
    const std::uint64_t low = AQL_AT(const GuestU64, host);
    if constexpr (kDwords == 3) rows[2][l] = AQL_AT(const GuestU32, host + 8);
    rows[0][l] = static_cast<std::uint32_t>(low);
    rows[1][l] = static_cast<std::uint32_t>(low >> 32);
  } else {
    const V4 v = AQL_AT(const GuestV4, host);
    rows[0][l] = v[0];
    rows[1][l] = v[1];
    rows[2][l] = v[2];
    rows[3][l] = v[3];
  }
}

template <unsigned kDwords>
AQL_GUEST_ACCESS inline __attribute__((always_inline)) void store_lane(std::uint64_t host, unsigned l, const std::uint32_t (*rows)[64]) {
  if constexpr (kDwords == 1) {
    AQL_AT(GuestU32, host) = rows[0][l];
  } else if constexpr (kDwords == 2 || kDwords == 3) {
    AQL_AT(GuestU64, host) = rows[0][l] | std::uint64_t{rows[1][l]} << 32;
    if constexpr (kDwords == 3) AQL_AT(GuestU32, host + 8) = rows[2][l];
  } else {
    AQL_AT(GuestV4, host) = V4{rows[0][l], rows[1][l], rows[2][l], rows[3][l]};
  }
}

template <unsigned kDwords, class At>
AQL_GUEST_ACCESS void load_lanes(const At& at, std::uint64_t exec, std::uint32_t (*rows)[64]) {
  if (exec == kAll) {
    for (unsigned l = 0; l < 64; ++l) load_lane<kDwords>(at(l), l, rows);
    return;
  }
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    load_lane<kDwords>(at(l), l, rows);
  }
}

template <unsigned kDwords, class At>
AQL_GUEST_ACCESS void store_lanes(const At& at, std::uint64_t exec, const std::uint32_t (*rows)[64]) {
  if (exec == kAll) {
    for (unsigned l = 0; l < 64; ++l) store_lane<kDwords>(at(l), l, rows);
    return;
  }
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    store_lane<kDwords>(at(l), l, rows);
  }
}

template <class At>
AQL_GUEST_ACCESS void load_at(const At& at, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*rows)[64]) {
  switch (dwords) {
  case 1:
    if (exec == kAll && at.row()) return copy_in(at(0), rows[0]);
    return load_lanes<1>(at, exec, rows);
  case 2:
    if (exec == kAll) return load2_whole(at, rows);
    return load_lanes<2>(at, exec, rows);
  case 3: return load_lanes<3>(at, exec, rows);
  default:
    if (exec == kAll) return load4_whole(at, rows);
    return load_lanes<4>(at, exec, rows);
  }
}

void load(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*rows)[64]) {
  load_at(Wide{address, delta}, exec, dwords, rows);
}

void load32(const std::uint32_t* offset, std::uint32_t add, std::uint64_t base, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*rows)[64]) {
  load_at(Narrow{offset, add, base}, exec, dwords, rows);
}

template <class At>
AQL_GUEST_ACCESS void store_at(const At& at, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*rows)[64]) {
  switch (dwords) {
  case 1:
    if (exec == kAll && at.row()) return copy_out(rows[0], at(0));
    return store_lanes<1>(at, exec, rows);
  case 2:
    if (exec == kAll) return store2_whole(at, rows);
    return store_lanes<2>(at, exec, rows);
  case 3: return store_lanes<3>(at, exec, rows);
  default:
    if (exec == kAll) return store4_whole(at, rows);
    return store_lanes<4>(at, exec, rows);
  }
}

void store(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*rows)[64]) {
  store_at(Wide{address, delta}, exec, dwords, rows);
}

void store32(const std::uint32_t* offset, std::uint32_t add, std::uint64_t base, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*rows)[64]) {
  store_at(Narrow{offset, add, base}, exec, dwords, rows);
}

AQL_GUEST_ACCESS void load_small(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t size_bytes, std::uint32_t* row) {
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    row[l] = size_bytes == 1 ? AQL_AT(const std::uint8_t, address[l] + delta) : AQL_AT(const GuestU16, address[l] + delta);
  }
}

AQL_GUEST_ACCESS void store_small(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t size_bytes, const std::uint32_t* row) {
  for (; exec != 0; exec &= exec - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(exec));
    if (size_bytes == 1) {
      AQL_AT(std::uint8_t, address[l] + delta) = static_cast<std::uint8_t>(row[l]);
    } else {
      AQL_AT(GuestU16, address[l] + delta) = static_cast<std::uint16_t>(row[l]);
    }
  }
}

} // namespace

extern const LaneOps kLaneOps;
const LaneOps kLaneOps = {inside, consecutive, inside_mask, inside32, widen, join, load, store, load32, store32, load_small, store_small};

} // namespace aql::sim::AQL_TIER_NS

AQL_TIER_END
