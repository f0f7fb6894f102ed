// What a generated program needs, for the host and for the GPU. make_programs.py puts this text in front of the programs.
//
// A program runs in phases of one workgroup: init, a, b, c, with a barrier between them. On the host every phase runs for all
// items of a group, one after the other. Both sides do the same C arithmetic; compile with
// -fwrapv -ffp-contract=off -fno-strict-aliasing, and for the host -ffloat16-excess-precision=none.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef u32 v4u __attribute__((ext_vector_type(4)));
typedef i32 v4i __attribute__((ext_vector_type(4)));
typedef u16 v4h __attribute__((ext_vector_type(4)));
typedef i16 v2s __attribute__((ext_vector_type(2)));
typedef u8 v8b __attribute__((ext_vector_type(8)));
typedef f32 v2f __attribute__((ext_vector_type(2)));
typedef f32 v4f __attribute__((ext_vector_type(4)));
typedef f16 v2e __attribute__((ext_vector_type(2)));

#define NOINLINE static __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline, unused))

enum { group_items = 128, groups = 2, in_words = 32, out_words = 24 };

// Atomics of which only the sum of all effects counts, so that the order of items does not matter. `words` and `longs` are
// updated by the operation that the index names (ATOMIC_OP), `singles` and `doubles` by addition of small whole numbers.
struct shared {
  u32 words[32];
  u64 longs[16];
  f32 singles[8];
  f64 doubles[8];
};
struct group_state {
  u32 first[group_items], second[group_items]; // written in phase a and b by their item, read by all in the next
  u64 wide[group_items];
  u8 bytes[group_items];
  u32 ticket, seen[group_items];
  u32 words[16];
  u64 longs[8];
  f32 singles[8];
  f64 doubles[8];
};

#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#else
#define GLOBAL
#define LOCAL
#endif

#define ADD(p, v, scope) __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, scope)
#define ATOMIC_OP(p, n, v, type, stype, scope)                                                          \
  do {                                                                                                  \
    switch ((n) & 7) {                                                                                  \
    case 0: ADD(p, v, scope); break;                                                                    \
    case 1: __scoped_atomic_fetch_sub(p, v, __ATOMIC_RELAXED, scope); break;                            \
    case 2: __scoped_atomic_fetch_and(p, (v) | (type)0xf0f, __ATOMIC_RELAXED, scope); break;            \
    case 3: __scoped_atomic_fetch_or(p, (v) & (type)0x10f0f0f, __ATOMIC_RELAXED, scope); break;         \
    case 4: __scoped_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, scope); break;                            \
    case 5: __scoped_atomic_fetch_min(p, v, __ATOMIC_RELAXED, scope); break;                            \
    case 6: {                                                                                           \
      type old_ = __scoped_atomic_load_n(p, __ATOMIC_RELAXED, scope);                                   \
      while (!__scoped_atomic_compare_exchange_n(p, &old_, old_ + 2 * (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, scope)) {} \
      break;                                                                                            \
    }                                                                                                   \
    default: __scoped_atomic_fetch_max(p, v, __ATOMIC_ACQ_REL, scope); break;                           \
    }                                                                                                   \
  } while (0)
#define GLOBAL32(n, v) ATOMIC_OP(&shared->words[n], n, v, u32, i32, __MEMORY_SCOPE_DEVICE)
#define GLOBAL64(n, v) ATOMIC_OP(&shared->longs[n], n, v, u64, i64, __MEMORY_SCOPE_SYSTEM)
#define LOCAL32(n, v) ATOMIC_OP(&local->words[n], n, v, u32, i32, __MEMORY_SCOPE_WRKGRP)
#define LOCAL64(n, v) ATOMIC_OP(&local->longs[n], n, v, u64, i64, __MEMORY_SCOPE_WRKGRP)

// Operations with a defined result for every input.
INLINE u32 udiv32(u32 a, u32 b) { return b == 0 ? ~a : a / b; }
INLINE u32 urem32(u32 a, u32 b) { return b == 0 ? a : a % b; }
INLINE i32 sdiv32(i32 a, i32 b) { return b == 0 ? ~a : b == -1 ? -a : a / b; }
INLINE i32 srem32(i32 a, i32 b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
INLINE u64 udiv64(u64 a, u64 b) { return b == 0 ? ~a : a / b; }
INLINE u64 urem64(u64 a, u64 b) { return b == 0 ? a : a % b; }
INLINE i64 sdiv64(i64 a, i64 b) { return b == 0 ? ~a : b == -1 ? -a : a / b; }
INLINE i64 srem64(i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
INLINE u32 clz32(u32 a) { return a == 0 ? 32 : (u32)__builtin_clz(a); }
INLINE u32 ctz32(u32 a) { return a == 0 ? 32 : (u32)__builtin_ctz(a); }
INLINE u32 clz64(u64 a) { return a == 0 ? 64 : (u32)__builtin_clzl(a); }
INLINE u32 ctz64(u64 a) { return a == 0 ? 64 : (u32)__builtin_ctzl(a); }
INLINE u64 mulhi64(u64 a, u64 b) { return (u64)(((unsigned __int128)a * b) >> 64); }
INLINE i64 smulhi64(i64 a, i64 b) { return (i64)(((__int128)a * b) >> 64); }
INLINE u32 mulhi32(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
INLINE u32 add_carry(u32 a, u32 b) { u32 r; return __builtin_add_overflow(a, b, &r) ? ~r : r; }
INLINE i32 add_overflow(i32 a, i32 b) { i32 r; return __builtin_add_overflow(a, b, &r) ? r ^ 0x55 : r; }
INLINE i32 mul_overflow(i32 a, i32 b) { i32 r; return __builtin_mul_overflow(a, b, &r) ? r ^ 0xaa : r; }
INLINE u64 sub_borrow(u64 a, u64 b) { u64 r; return __builtin_sub_overflow(a, b, &r) ? ~r : r; }
INLINE u64 funnel(u64 a, u32 n) { return __builtin_rotateleft64(a, n); }

// Bits of a float, one pattern for all NaNs: neither sign nor payload of a computed NaN is defined by C.
INLINE u32 bits32(f32 x) { u32 b; __builtin_memcpy(&b, &x, 4); return x == x ? b : 0x7fc00000; }
INLINE u64 bits64(f64 x) { u64 b; __builtin_memcpy(&b, &x, 8); return x == x ? b : 0x7ff8000000000000; }
INLINE u32 bits16(f16 x) { u16 b; __builtin_memcpy(&b, &x, 2); return x == x ? b : 0x7e00; }
// HIDE: clang 22 drops the sign extension when it merges a byte's extension into a float instruction (SDWA), so that
// float_of((u32)(signed char)b) is not what C says. The empty assembly keeps the two apart.
#ifdef __AMDGCN__
#define HIDE(b) __asm__("" : "+v"(b))
// SAVE_RETURN: in a function of more than 128 KB (at -O0) that calls nothing, clang 22 takes s[30:31] for its long branches while
// the return address is in it, and the function returns into itself (LLVM issue 224205). The clobber makes it save the address.
#define SAVE_RETURN __asm__ volatile("" ::: "s30", "s31")
#else
#define HIDE(b) (void)0
#define SAVE_RETURN (void)0
#endif
INLINE f32 float_of(u32 b) { HIDE(b); f32 x; __builtin_memcpy(&x, &b, 4); return x == x ? x : 1.5f; }
INLINE f64 double_of(u64 b) { f64 x; __builtin_memcpy(&x, &b, 8); return x == x ? x : 1.5; }
INLINE f16 half_of(u32 b) { HIDE(b); u16 h = (u16)b; f16 x; __builtin_memcpy(&x, &h, 2); return x == x ? x : (f16)1.5f; }
INLINE i32 to_i32(f32 x) { return x > -2.0e9f && x < 2.0e9f ? (i32)x : 77; }
INLINE u32 to_u32(f32 x) { return x > -0.9f && x < 4.0e9f ? (u32)x : 78; }
INLINE i64 to_i64(f64 x) { return x > -9.0e18 && x < 9.0e18 ? (i64)x : 79; }
INLINE u64 to_u64(f64 x) { return x > -0.9 && x < 1.8e19 ? (u64)x : 80; }
INLINE i32 dtoi32(f64 x) { return x > -2147483648.0 && x < 2147483647.0 ? (i32)x : 81; }
INLINE i32 htoi32(f16 x) { return x > (f16)-60000.0f && x < (f16)60000.0f ? (i32)x : 82; }
INLINE f32 pick_min(f32 a, f32 b) { return a < b ? a : b; }
INLINE f32 pick_max(f32 a, f32 b) { return a > b ? a : b; }
INLINE f64 pick_min64(f64 a, f64 b) { return a < b ? a : b; }
INLINE f32 sign_like(f32 a, f32 b) { return __builtin_copysignf(a, b == b ? b : 1.0f); }
INLINE f64 sign_like64(f64 a, f64 b) { return __builtin_copysign(a, b == b ? b : 1.0); }

struct item {
  u32 acc;
  u64 acc64;
  f32 x;
  f64 y;
  u32 array[16];
};

#define INIT_PHASE                                                                       \
  INLINE void init_phase(struct item *it, LOCAL struct group_state *local, u32 id) {     \
    local->seen[id] = 0;                                                                 \
    if (id < 16) local->words[id] = 0x01010101u * id;                                    \
    if (id < 8) local->longs[id] = 0x123456789abcdefu * id, local->singles[id] = 0, local->doubles[id] = 0; \
    if (id == 0) local->ticket = 0;                                                      \
    it->acc = id;                                                                        \
    it->acc64 = ~(u64)id;                                                                \
    it->x = (f32)id;                                                                     \
    it->y = -(f64)id;                                                                    \
    for (u32 n = 0; n < 16; ++n) it->array[n] = n * 0x9e3779b1u ^ id;                    \
  }
INIT_PHASE

#define PHASE_ARGS \
  struct item *it, LOCAL struct group_state *local, GLOBAL struct shared *shared, GLOBAL const u32 *in, GLOBAL u32 *out, u32 id, u32 group

#ifdef __AMDGCN__
static inline void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define PROGRAM(name)                                                                                                              \
  static __attribute__((loader_uninitialized)) LOCAL struct group_state name##_local;                                              \
  __attribute__((amdgpu_kernel, visibility("protected"), amdgpu_flat_work_group_size(group_items, group_items))) void name(        \
      GLOBAL const u32 *in, GLOBAL u32 *out, GLOBAL struct shared *shared) {                                                       \
    const u32 id = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x(), at = group * group_items + id;     \
    struct item it;                                                                                                                \
    init_phase(&it, &name##_local, id);                                                                                            \
    barrier();                                                                                                                     \
    name##_a(&it, &name##_local, shared, in + at * in_words, out + at * out_words, id, group);                                     \
    barrier();                                                                                                                     \
    name##_b(&it, &name##_local, shared, in + at * in_words, out + at * out_words, id, group);                                     \
    barrier();                                                                                                                     \
    name##_c(&it, &name##_local, shared, in + at * in_words, out + at * out_words, id, group);                                     \
  }
#else
#define ALL(phase) \
  for (u32 id = 0; id < group_items; ++id) phase
#define PROGRAM(name)                                                                                                                  \
  void name(const u32 *in, u32 *out, struct shared *shared) {                                                                          \
    static struct group_state local;                                                                                                   \
    static struct item items[group_items];                                                                                             \
    for (u32 group = 0; group < groups; ++group) {                                                                                     \
      const u32 *from = in + group * group_items * in_words;                                                                           \
      u32 *to = out + group * group_items * out_words;                                                                                 \
      ALL(init_phase(&items[id], &local, id));                                                                                         \
      ALL(name##_a(&items[id], &local, shared, from + id * in_words, to + id * out_words, id, group));                                 \
      ALL(name##_b(&items[id], &local, shared, from + id * in_words, to + id * out_words, id, group));                                 \
      ALL(name##_c(&items[id], &local, shared, from + id * in_words, to + id * out_words, id, group));                                 \
    }                                                                                                                                  \
  }
#endif
