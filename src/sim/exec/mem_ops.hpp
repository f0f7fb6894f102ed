#pragma once
// What each FLAT, GLOBAL, SCRATCH and MUBUF instruction does at its addresses, read off its mnemonic once, at compile time:
// the four families spell the same operations alike. Thread safety: immutable.

#include <cstdint>
#include <string_view>

#include "sim/isa/op_info.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim {

enum class MemKind : std::uint8_t {
  none, load, store, load_small, store_small, atomic,
  load_lds,     // memory -> LDS, past the registers
  store_lds,    // LDS -> memory (gfx90a)
  load_format, store_format,
  cache,        // write-back, invalidate: no effect without a cache model
};

enum class Half : std::uint8_t { whole, low, high }; // d16: which half of the register

struct MemOp {
  MemKind kind = MemKind::none;
  std::uint8_t bytes = 0;      // of one lane's access
  bool sign = false;           // load_small: sign-extend
  Half half = Half::whole;
  AtomicOp atomic = AtomicOp::swap;
  std::uint8_t components = 0; // formats
  bool d16 = false;            // formats: 16-bit components, packed

  [[nodiscard]] constexpr unsigned dwords() const noexcept { return bytes / 4u; }
  [[nodiscard]] constexpr FaultAccess access() const noexcept {
    switch (kind) {
    case MemKind::store: case MemKind::store_small: case MemKind::store_lds: case MemKind::store_format: return FaultAccess::write;
    case MemKind::atomic: return FaultAccess::atomic;
    default: return FaultAccess::read;
    }
  }
};

// The operation of a mnemonic without its family's prefix: "load_ubyte_d16_hi", "atomic_add_x2".
constexpr MemOp parse_mem_op(std::string_view name) {
  MemOp op;
  const auto eat = [&name](std::string_view prefix) {
    const bool yes = name.starts_with(prefix);
    if (yes) name.remove_prefix(prefix.size());
    return yes;
  };
  if (eat("atomic_")) {
    op.kind = MemKind::atomic;
    op.bytes = 4;
    if (name.ends_with("_x2")) {
      op.bytes = 8;
      name.remove_suffix(3);
    }
    constexpr struct { std::string_view name; AtomicOp op; std::uint8_t bytes; } kAtomics[] = {
        {"swap", AtomicOp::swap, 0}, {"cmpswap", AtomicOp::cmpswap, 0}, {"add", AtomicOp::add, 0}, {"sub", AtomicOp::sub, 0},
        {"smin", AtomicOp::smin, 0}, {"umin", AtomicOp::umin, 0}, {"smax", AtomicOp::smax, 0}, {"umax", AtomicOp::umax, 0},
        {"and", AtomicOp::and_, 0}, {"or", AtomicOp::or_, 0}, {"xor", AtomicOp::xor_, 0}, {"inc", AtomicOp::inc, 0},
        {"dec", AtomicOp::dec, 0}, {"add_f32", AtomicOp::add_f32, 4}, {"pk_add_f16", AtomicOp::pk_add_f16, 4},
        {"pk_add_bf16", AtomicOp::pk_add_bf16, 4}, {"add_f64", AtomicOp::add_f64, 8}, {"min_f64", AtomicOp::min_f64, 8},
        {"max_f64", AtomicOp::max_f64, 8}};
    for (const auto& a : kAtomics) {
      if (name != a.name) continue;
      op.atomic = a.op;
      if (a.bytes != 0) op.bytes = a.bytes;
      return op;
    }
    return {};
  }
  const bool load = eat("load_");
  if (!load && !eat("store_")) {
    if (name == "wbl2" || name == "invl2" || name == "inv" || name == "wbinvl1" || name == "wbinvl1_vol") op.kind = MemKind::cache;
    return op;
  }
  const bool lds = eat("lds_");
  if (eat("format_")) {
    op.kind = load ? MemKind::load_format : MemKind::store_format;
    op.d16 = eat("d16_");
    if (eat("hi_")) op.half = Half::high;
    op.components = static_cast<std::uint8_t>(name.size()); // x, xy, xyz, xyzw
    return op;
  }
  const bool high = name.ends_with("_d16_hi"), low = name.ends_with("_d16");
  if (high || low) name.remove_suffix(high ? 7 : 4);
  op.half = high ? Half::high : low ? Half::low : Half::whole;
  constexpr struct { std::string_view name; std::uint8_t bytes; bool sign; } kTypes[] = {
      {"ubyte", 1, false}, {"sbyte", 1, true}, {"byte", 1, false}, {"ushort", 2, false}, {"sshort", 2, true}, {"short", 2, false},
      {"dword", 4, false}, {"dwordx2", 8, false}, {"dwordx3", 12, false}, {"dwordx4", 16, false}};
  for (const auto& t : kTypes) {
    if (name != t.name) continue;
    op.bytes = t.bytes;
    op.sign = t.sign;
    op.kind = lds ? (load ? MemKind::load_lds : MemKind::store_lds)
                  : t.bytes < 4 ? (load ? MemKind::load_small : MemKind::store_small) : load ? MemKind::load : MemKind::store;
    return op;
  }
  return {};
}

// The operation of a FLAT, GLOBAL, SCRATCH, MUBUF or MTBUF opcode; kind none for others.
[[nodiscard]] const MemOp& mem_op(isa::Op op) noexcept;

} // namespace aql::sim
