// Integer, bit, compare and select operations of the reference, and the list of all.

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "valu_reference.hpp"
#include "valu_reference_float.hpp"

namespace aql::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

u32 u(const RefIn& in, unsigned n) { return static_cast<u32>(in.s[n]); }
i32 i(const RefIn& in, unsigned n) { return static_cast<i32>(in.s[n]); }
i32 i24(const RefIn& in, unsigned n) {
  const u32 v = u(in, n) & 0xffffffu;
  return static_cast<i32>(v) - ((v >> 23) != 0 ? 0x1000000 : 0);
}
Wide u24(const RefIn& in, unsigned n) { return u(in, n) & 0xffffffu; }
unsigned shift5(const RefIn& in, unsigned n) { return u(in, n) & 31u; }
unsigned shift6(const RefIn& in, unsigned n) { return u(in, n) & 63u; }
u32 byte(u64 v, unsigned n) { return static_cast<u32>(v >> (8 * n)) & 0xffu; }
u32 apart(u32 a, u32 b) { return std::max(a, b) - std::min(a, b); }

void saturating(RefOut& out, Wide v) {
  out.exact = v;
  out.saturates = true;
}

#define OP(name, body) {#name, {[]([[maybe_unused]] const RefIn& in, RefOut& out) { body; }, 0}}
#define OPF(name, flags, body) {#name, {[]([[maybe_unused]] const RefIn& in, RefOut& out) { body; }, flags}}
#define VALUE(name, expression) OP(name, out.d = static_cast<u64>(expression))
#define VALUE32(name, expression) OP(name, out.d = static_cast<u32>(expression))

Wide sad8(u32 a, u32 b) {
  Wide sum = 0;
  for (unsigned n = 0; n < 4; ++n) sum += apart(byte(a, n), byte(b, n));
  return sum;
}
Wide msad8(u32 a, u32 b) {
  Wide sum = 0;
  for (unsigned n = 0; n < 4; ++n) sum += byte(b, n) == 0 ? 0 : apart(byte(a, n), byte(b, n));
  return sum;
}
Wide sad16(u32 a, u32 b) { return Wide{apart(a & 0xffffu, b & 0xffffu)} + apart(a >> 16, b >> 16); }

u32 bits_set(u32 v) {
  u32 count = 0;
  for (; v != 0; v &= v - 1) ++count;
  return count;
}
u32 first_from_top(u32 v) {
  for (u32 n = 0; n < 32; ++n) {
    if (((v >> (31 - n)) & 1u) != 0) return n;
  }
  return ~0u;
}
u32 first_from_bottom(u32 v) {
  for (u32 n = 0; n < 32; ++n) {
    if (((v >> n) & 1u) != 0) return n;
  }
  return ~0u;
}
u32 first_unlike_sign(u32 v) {
  for (u32 n = 1; n < 32; ++n) {
    if (((v >> (31 - n)) & 1u) != v >> 31) return n;
  }
  return ~0u;
}
u32 reversed(u32 v) {
  u32 r = 0;
  for (unsigned n = 0; n < 32; ++n) r |= ((v >> n) & 1u) << (31 - n);
  return r;
}
u32 extracted(const RefIn& in, bool is_signed) {
  const unsigned at = shift5(in, 1), width = shift5(in, 2);
  u32 r = 0;
  for (unsigned n = 0; n < width; ++n) {
    const unsigned from = at + n;
    const u32 bit = from < 32 ? (u(in, 0) >> from) & 1u : is_signed ? u(in, 0) >> 31 : 0;
    r |= bit << n;
  }
  if (is_signed && width != 0 && ((r >> (width - 1)) & 1u) != 0) r |= ~0u << (width - 1);
  return r;
}
u32 permuted(u64 data, u32 selectors) {
  u32 r = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const u32 sel = byte(selectors, n);
    u32 v = 0xff;
    if (sel < 8) v = byte(data, sel);
    else if (sel < 12) v = (byte(data, (sel - 8) * 2 + 1) & 0x80u) != 0 ? 0xff : 0;
    else if (sel == 12) v = 0;
    r |= v << (8 * n);
  }
  return r;
}
u32 averaged(const RefIn& in) {
  u32 r = 0;
  for (unsigned n = 0; n < 4; ++n) r |= ((byte(u(in, 0), n) + byte(u(in, 1), n) + (byte(u(in, 2), n) & 1u)) / 2) << (8 * n);
  return r;
}
u32 table_lookup(const RefIn& in, unsigned bits) {
  u32 r = 0;
  for (unsigned n = 0; n < bits; ++n) {
    const u32 row = ((u(in, 0) >> n) & 1u) * 4 + ((u(in, 1) >> n) & 1u) * 2 + ((u(in, 2) >> n) & 1u);
    r |= ((in.table >> row) & 1u) << n;
  }
  return r;
}
u32 packed_bytes(const RefIn& in, i32 low, i32 high) {
  const unsigned n = shift5(in, 2);
  const u32 a = static_cast<u32>(std::clamp(i(in, 0) >> n, low, high)) & 0xffu, b = static_cast<u32>(std::clamp(i(in, 1) >> n, low, high)) & 0xffu;
  return a | b << 8;
}
void carry(RefOut& out, Wide exact) {
  saturating(out, exact);
  out.bit = exact < 0 || (exact >> 32) != 0;
}
void quad_sad(const RefIn& in, RefOut& out, Wide (*sad)(u32, u32)) {
  for (unsigned n = 0; n < 4; ++n) {
    const auto sum = static_cast<u64>(sad(static_cast<u32>(in.s[0] >> (8 * n)), u(in, 1)) + static_cast<Wide>((in.s[2] >> (16 * n)) & 0xffffu));
    out.d |= (in.clamp ? std::min<u64>(sum, 0xffff) : sum & 0xffffu) << (16 * n);
  }
}
void quad_sums(const RefIn& in, RefOut& out) {
  for (unsigned n = 0; n < 4; ++n) {
    const auto sum = static_cast<u64>(msad8(static_cast<u32>(in.s[0] >> (8 * n)), u(in, 1))) + in.quad[n];
    out.quad[n] = static_cast<u32>(in.clamp ? std::min<u64>(sum, 0xffffffffu) : sum);
  }
}
template <class T> T median(T a, T b, T c) {
  T v[3] = {a, b, c};
  std::sort(v, v + 3);
  return v[1];
}

// The guide's table, row by row.
constexpr const char* kScreenRows[16] = {
  "137f5fff7fffffff", "f26efafffbffffff", "df4cff5fffdfffff", "9bf8fffafffeffff",
  "ffff4cdf6fffefff", "fffff89bf99ffdff", "ffff7f13ff9fffbf", "ffff6ef26ff6fff7",
  "bfffffff23bfafff", "f7fffffff19df5ff", "ffefffffef8cffaf", "fffdffff67f4fff5",
  "9fffdfffffff8cef", "f66ffefffffff467", "ff6fff7fffffbf23", "9ff9fffbffff9df1",
};
u32 screen_partition(u32 v) {
  const char digit = kScreenRows[(v >> 4) % 16][v % 16];
  return static_cast<u32>(digit >= 'a' ? digit - 'a' + 10 : digit - '0');
}

std::map<std::string, RefOp, std::less<>> build() {
  std::map<std::string, RefOp, std::less<>> all{
    OPF(v_mov_b32, kRefRaw, out.d = in.s[0]), OPF(v_mov_b64, kRefRaw, out.d = in.s[0]),
    OPF(v_cndmask_b32, kRefRaw, out.d = in.bit ? in.s[1] : in.s[0]),
    VALUE32(v_not_b32, ~u(in, 0)), VALUE32(v_and_b32, u(in, 0) & u(in, 1)), VALUE32(v_or_b32, u(in, 0) | u(in, 1)),
    VALUE32(v_xor_b32, u(in, 0) ^ u(in, 1)), VALUE32(v_xnor_b32, ~(u(in, 0) ^ u(in, 1))),
    VALUE32(v_or3_b32, u(in, 0) | u(in, 1) | u(in, 2)), VALUE32(v_and_or_b32, (u(in, 0) & u(in, 1)) | u(in, 2)),
    VALUE32(v_bfi_b32, (u(in, 0) & u(in, 1)) | (~u(in, 0) & u(in, 2))),
    VALUE32(v_lshlrev_b32, u(in, 1) << shift5(in, 0)), VALUE32(v_lshrrev_b32, u(in, 1) >> shift5(in, 0)),
    VALUE32(v_ashrrev_i32, i(in, 1) >> shift5(in, 0)), VALUE(v_lshlrev_b64, in.s[1] << shift6(in, 0)),
    VALUE(v_lshrrev_b64, in.s[1] >> shift6(in, 0)), VALUE(v_ashrrev_i64, static_cast<i64>(in.s[1]) >> shift6(in, 0)),
    VALUE32(v_lshl_add_u32, (u(in, 0) << shift5(in, 1)) + u(in, 2)), VALUE32(v_add_lshl_u32, (u(in, 0) + u(in, 1)) << shift5(in, 2)),
    VALUE32(v_lshl_or_b32, (u(in, 0) << shift5(in, 1)) | u(in, 2)), VALUE32(v_add3_u32, u(in, 0) + u(in, 1) + u(in, 2)),
    VALUE32(v_xad_u32, (u(in, 0) ^ u(in, 1)) + u(in, 2)),
    VALUE(v_lshl_add_u64, (in.s[0] << ((u(in, 1) & 7u) <= 4 ? u(in, 1) & 7u : 0)) + in.s[2]),

    OP(v_add_u32, saturating(out, Wide{u(in, 0)} + u(in, 1))), OP(v_sub_u32, saturating(out, Wide{u(in, 0)} - u(in, 1))),
    OP(v_subrev_u32, saturating(out, Wide{u(in, 1)} - u(in, 0))), OP(v_add_i32, saturating(out, Wide{i(in, 0)} + i(in, 1))),
    OP(v_sub_i32, saturating(out, Wide{i(in, 0)} - i(in, 1))),
    OP(v_add_co_u32, carry(out, Wide{u(in, 0)} + u(in, 1))), OP(v_sub_co_u32, carry(out, Wide{u(in, 0)} - u(in, 1))),
    OP(v_subrev_co_u32, carry(out, Wide{u(in, 1)} - u(in, 0))), OP(v_addc_co_u32, carry(out, Wide{u(in, 0)} + u(in, 1) + in.bit)),
    OP(v_subb_co_u32, carry(out, Wide{u(in, 0)} - u(in, 1) - in.bit)), OP(v_subbrev_co_u32, carry(out, Wide{u(in, 1)} - u(in, 0) - in.bit)),
    VALUE32(v_mul_lo_u32, u64{u(in, 0)} * u(in, 1)), VALUE32(v_mul_hi_u32, (u64{u(in, 0)} * u(in, 1)) >> 32),
    VALUE32(v_mul_hi_i32, (i64{i(in, 0)} * i(in, 1)) >> 32), OP(v_mul_u32_u24, saturating(out, u24(in, 0) * u24(in, 1))),
    OP(v_mul_i32_i24, saturating(out, Wide{i24(in, 0)} * i24(in, 1))), VALUE32(v_mul_hi_u32_u24, (u24(in, 0) * u24(in, 1)) >> 32),
    VALUE32(v_mul_hi_i32_i24, (Wide{i24(in, 0)} * i24(in, 1)) >> 32), OP(v_mad_u32_u24, saturating(out, u24(in, 0) * u24(in, 1) + u(in, 2))),
    OP(v_mad_i32_i24, saturating(out, Wide{i24(in, 0)} * i24(in, 1) + i(in, 2))),
    OP(v_mad_u64_u32, saturating(out, Wide{u(in, 0)} * u(in, 1) + in.s[2]); out.bit = (out.exact >> 64) != 0),
    OP(v_mad_i64_i32, saturating(out, Wide{i(in, 0)} * i(in, 1) + static_cast<i64>(in.s[2])); out.bit = out.exact < 0),

    VALUE32(v_min_i32, std::min(i(in, 0), i(in, 1))), VALUE32(v_max_i32, std::max(i(in, 0), i(in, 1))),
    VALUE32(v_min_u32, std::min(u(in, 0), u(in, 1))), VALUE32(v_max_u32, std::max(u(in, 0), u(in, 1))),
    VALUE32(v_min3_i32, std::min({i(in, 0), i(in, 1), i(in, 2)})), VALUE32(v_max3_i32, std::max({i(in, 0), i(in, 1), i(in, 2)})),
    VALUE32(v_min3_u32, std::min({u(in, 0), u(in, 1), u(in, 2)})), VALUE32(v_max3_u32, std::max({u(in, 0), u(in, 1), u(in, 2)})),
    VALUE32(v_med3_i32, median(i(in, 0), i(in, 1), i(in, 2))), VALUE32(v_med3_u32, median(u(in, 0), u(in, 1), u(in, 2))),

    VALUE32(v_bfe_u32, extracted(in, false)), VALUE32(v_bfe_i32, extracted(in, true)),
    VALUE32(v_bfm_b32, ((u64{1} << shift5(in, 0)) - 1) << shift5(in, 1)), VALUE32(v_bfrev_b32, reversed(u(in, 0))),
    VALUE32(v_bcnt_u32_b32, bits_set(u(in, 0)) + u(in, 1)), VALUE32(v_ffbh_u32, first_from_top(u(in, 0))),
    VALUE32(v_ffbl_b32, first_from_bottom(u(in, 0))), VALUE32(v_ffbh_i32, first_unlike_sign(u(in, 0))),
    VALUE32(v_mbcnt_lo_u32_b32, bits_set(u(in, 0) & static_cast<u32>((u64{1} << in.lane) - 1)) + u(in, 1)),
    VALUE32(v_mbcnt_hi_u32_b32, bits_set(u(in, 0) & static_cast<u32>(((u64{1} << in.lane) - 1) >> 32)) + u(in, 1)),
    OPF(v_bitop3_b32, kRefTable, out.d = table_lookup(in, 32)), OPF(v_bitop3_b16, kRefTable | kRefKeepHigh, out.d = table_lookup(in, 16)),
    VALUE32(v_prng_b32, (u(in, 0) << 1) ^ ((u(in, 0) >> 31) * 197u)),

    VALUE32(v_screen_partition_4se_b32, screen_partition(u(in, 0))),
    VALUE32(v_alignbit_b32, (u64{u(in, 0)} << 32 | u(in, 1)) >> shift5(in, 2)),
    VALUE32(v_alignbyte_b32, (u64{u(in, 0)} << 32 | u(in, 1)) >> (8 * (u(in, 2) & 3u))),
    VALUE32(v_perm_b32, permuted(u64{u(in, 0)} << 32 | u(in, 1), u(in, 2))), VALUE32(v_lerp_u8, averaged(in)),
    OP(v_sad_u8, saturating(out, sad8(u(in, 0), u(in, 1)) + u(in, 2))),
    OP(v_sad_hi_u8, saturating(out, sad8(u(in, 0), u(in, 1)) * 65536 + u(in, 2))),
    OP(v_sad_u16, saturating(out, sad16(u(in, 0), u(in, 1)) + u(in, 2))), OP(v_sad_u32, saturating(out, Wide{apart(u(in, 0), u(in, 1))} + u(in, 2))),
    OP(v_msad_u8, saturating(out, msad8(u(in, 0), u(in, 1)) + u(in, 2))),
    OP(v_qsad_pk_u16_u8, quad_sad(in, out, sad8)), OP(v_mqsad_pk_u16_u8, quad_sad(in, out, msad8)),
    OP(v_mqsad_u32_u8, quad_sums(in, out)),
    OP(v_sat_pk_u8_i16, for (unsigned n = 0; n < 2; ++n) out.d |= static_cast<u64>(std::clamp<int>(static_cast<std::int16_t>(u(in, 0) >> (16 * n)), 0, 255)) << (8 * n)),
    OPF(v_ashr_pk_i8_i32, kRefKeepHigh, out.d = packed_bytes(in, -128, 127)), OPF(v_ashr_pk_u8_i32, kRefKeepHigh, out.d = packed_bytes(in, 0, 255)),
  };
  add_float_references(all);
  return all;
}

} // namespace

RefOp find_reference(std::string_view mnemonic) {
  static const auto all = build();
  if (const auto found = all.find(mnemonic); found != all.end()) return found->second;
  return find_compare_reference(mnemonic);
}

} // namespace aql::test
