#pragma once
// What each DS instruction does, read off its mnemonic at compile time. Thread safety: immutable.

#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/exec/mem_ops.hpp"

namespace aql::sim {

enum class DsKind : std::uint8_t {
  none, nop, read, write, read_small, write_small,
  read2, write2, exchange2,  // two addresses
  atomic, wrap, condxchg32,
  append, consume, read_addtid, write_addtid,
  swizzle, permute, bpermute,
  transpose,                 // gfx950: matrix transpose loads
  gws,                       // global wave sync: no part of compute
};

struct DsOp {
  DsKind kind = DsKind::none;
  MemOp mem;                   // bytes, sign, half, atomic; of one element for two-address forms
  bool st64 = false;           // two addresses: offsets in units of 64 elements
  std::uint8_t element_bits = 0; // transpose
};

// `name` without "ds_".
constexpr DsOp parse_ds_op(std::string_view name) {
  DsOp op;
  const auto eat = [&name](std::string_view prefix) {
    const bool yes = name.starts_with(prefix);
    if (yes) name.remove_prefix(prefix.size());
    return yes;
  };
  const auto eat_tail = [&name](std::string_view suffix) {
    const bool yes = name.ends_with(suffix);
    if (yes) name.remove_suffix(suffix.size());
    return yes;
  };
  constexpr struct { std::string_view name; DsKind kind; } kWhole[] = {
      {"nop", DsKind::nop}, {"swizzle_b32", DsKind::swizzle}, {"permute_b32", DsKind::permute}, {"bpermute_b32", DsKind::bpermute},
      {"append", DsKind::append}, {"consume", DsKind::consume}, {"read_addtid_b32", DsKind::read_addtid}, {"write_addtid_b32", DsKind::write_addtid},
      {"wrap_rtn_b32", DsKind::wrap}, {"condxchg32_rtn_b64", DsKind::condxchg32}};
  for (const auto& w : kWhole) {
    if (name != w.name) continue;
    op.kind = w.kind;
    op.mem.bytes = w.kind == DsKind::condxchg32 ? 8 : 4;
    return op;
  }
  if (name.starts_with("gws_")) {
    op.kind = DsKind::gws;
    return op;
  }
  for (const auto& [text, bits] : {std::pair<std::string_view, std::uint8_t>{"_tr_b4", 4}, {"_tr_b6", 6}, {"_tr_b8", 8}, {"_tr_b16", 16}}) {
    if (!eat_tail(text)) continue;
    op.kind = DsKind::transpose;
    op.element_bits = bits;
    op.mem.bytes = name == "read_b96" ? 12 : 8;
    return op;
  }
  op.mem.half = eat_tail("_d16_hi") ? Half::high : eat_tail("_d16") ? Half::low : Half::whole;
  if (name.starts_with("read") || name.starts_with("write") || name.starts_with("wrxchg2")) {
    const bool is_read = name.starts_with("read"), is_exchange = name.starts_with("wrx");
    if (!is_exchange && !eat(is_read ? "read" : "write")) return {};
    if (is_exchange && !eat("wrxchg")) return {};
    const bool two = eat("2");
    op.st64 = eat("st64");
    if (is_exchange && !eat("_rtn")) return {};
    constexpr struct { std::string_view name; std::uint8_t bytes; bool sign; } kTypes[] = {
        {"_b8", 1, false}, {"_u8", 1, false}, {"_i8", 1, true}, {"_b16", 2, false}, {"_u16", 2, false}, {"_i16", 2, true},
        {"_b32", 4, false}, {"_b64", 8, false}, {"_b96", 12, false}, {"_b128", 16, false}};
    for (const auto& t : kTypes) {
      if (name != t.name) continue;
      op.mem.bytes = t.bytes;
      op.mem.sign = t.sign;
      op.kind = is_exchange ? DsKind::exchange2 : two ? (is_read ? DsKind::read2 : DsKind::write2)
              : t.bytes < 4 ? (is_read ? DsKind::read_small : DsKind::write_small) : is_read ? DsKind::read : DsKind::write;
      return op;
    }
    return {};
  }
  constexpr struct { std::string_view name; AtomicOp any, f32, f64, i, u; } kAtomics[] = {
      {"add", AtomicOp::add, AtomicOp::add_f32, AtomicOp::add_f64, AtomicOp::add, AtomicOp::add},
      {"sub", AtomicOp::sub, AtomicOp::sub, AtomicOp::sub, AtomicOp::sub, AtomicOp::sub},
      {"rsub", AtomicOp::rsub, AtomicOp::rsub, AtomicOp::rsub, AtomicOp::rsub, AtomicOp::rsub},
      {"inc", AtomicOp::inc, AtomicOp::inc, AtomicOp::inc, AtomicOp::inc, AtomicOp::inc},
      {"dec", AtomicOp::dec, AtomicOp::dec, AtomicOp::dec, AtomicOp::dec, AtomicOp::dec},
      {"min", AtomicOp::umin, AtomicOp::min_f32, AtomicOp::min_f64, AtomicOp::smin, AtomicOp::umin},
      {"max", AtomicOp::umax, AtomicOp::max_f32, AtomicOp::max_f64, AtomicOp::smax, AtomicOp::umax},
      {"and", AtomicOp::and_, AtomicOp::and_, AtomicOp::and_, AtomicOp::and_, AtomicOp::and_},
      {"or", AtomicOp::or_, AtomicOp::or_, AtomicOp::or_, AtomicOp::or_, AtomicOp::or_},
      {"xor", AtomicOp::xor_, AtomicOp::xor_, AtomicOp::xor_, AtomicOp::xor_, AtomicOp::xor_},
      {"mskor", AtomicOp::mskor, AtomicOp::mskor, AtomicOp::mskor, AtomicOp::mskor, AtomicOp::mskor},
      {"wrxchg", AtomicOp::swap, AtomicOp::swap, AtomicOp::swap, AtomicOp::swap, AtomicOp::swap},
      {"cmpst", AtomicOp::cmpswap, AtomicOp::cmpswap_f, AtomicOp::cmpswap_f, AtomicOp::cmpswap, AtomicOp::cmpswap}};
  op.kind = DsKind::atomic;
  op.mem.kind = MemKind::atomic;
  if (name == "pk_add_f16" || name == "pk_add_rtn_f16" || name == "pk_add_bf16" || name == "pk_add_rtn_bf16") {
    op.mem.bytes = 4;
    op.mem.atomic = name.ends_with("bf16") ? AtomicOp::pk_add_bf16 : AtomicOp::pk_add_f16;
    return op;
  }
  const bool wide = name.ends_with("64");
  if (!wide && !name.ends_with("32")) return {};
  op.mem.bytes = wide ? 8 : 4;
  const char type = name[name.size() - 3];
  name.remove_suffix(4);
  eat_tail("_rtn");
  for (const auto& a : kAtomics) {
    if (name != a.name) continue;
    op.mem.atomic = type == 'f' ? (wide ? a.f64 : a.f32) : type == 'i' ? a.i : type == 'u' ? a.u : a.any;
    return op;
  }
  return {};
}

} // namespace aql::sim
