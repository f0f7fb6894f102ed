// SMEM: scalar loads, stores, atomics, cache control and clocks. Spec: CDNA3 and CDNA4 ISA guides, chapters 8 and 12.6.
// The two low bits of every address component are ignored. Dwords of a buffer access that lie outside of the buffer are not
// accessed: loads return 0 for them.

#include <chrono>
#include <cstring>

#include "sim/exec/salu.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim::salu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 kDwordMask = ~u64{3};

u64 register_offset(const Wave& w, const Inst& i) { return i.src[3].kind == isa::OperandKind::sgpr ? w.sgpr[i.src[3].index] & ~3u : 0u; }
u64 immediate(const Inst& i) { return static_cast<u64>(static_cast<std::int64_t>(static_cast<std::int32_t>(i.imm))) & kDwordMask; }

// Base and size of what an instruction may touch.
struct Range {
  u64 address = 0;        // of the first dword
  u64 dwords = ~u64{0};   // of these are inside the buffer
};

enum class Space { flat, scratch, buffer };

template <Space S>
Range range(const Wave& w, const Inst& i) {
  if constexpr (S == Space::flat) return {(w.sgpr64(i.src[0].index) & kDwordMask) + immediate(i) + register_offset(w, i)};
  if constexpr (S == Space::scratch) return {(w.sgpr64(i.src[0].index) & kDwordMask) + immediate(i) + register_offset(w, i) * 64};
  const unsigned v = i.src[0].index;
  const u64 base = (w.sgpr64(v) & 0xffffffffffffull) & kDwordMask;
  const u64 stride = (w.sgpr[v + 1] >> 16) & 0x3fffu, records = w.sgpr[v + 2];
  const u64 size = stride == 0 ? records : records * stride;
  const u64 offset = immediate(i) + register_offset(w, i);
  return {base + offset, offset >= size ? 0 : (size - offset) / 4};
}

template <Space S, unsigned Dwords>
Next load(Wave& w, const Inst& i) {
  const Range r = range<S>(w, i);
  u32 data[Dwords] = {};
  const u32 inside = r.dwords < Dwords ? static_cast<u32>(r.dwords) : Dwords;
  if (inside != 0 && !w.port->read(r.address, data, inside * 4, *w.fault)) return raise_memory_fault(w, i);
  std::memcpy(&w.sgpr[i.dst.index], data, sizeof data);
  return Next::fallthrough;
}

template <Space S, unsigned Dwords>
Next store(Wave& w, const Inst& i) {
  const Range r = range<S>(w, i);
  const u32 inside = r.dwords < Dwords ? static_cast<u32>(r.dwords) : Dwords;
  if (inside != 0 && !w.port->write(r.address, &w.sgpr[i.src[1].index], inside * 4, *w.fault)) return raise_memory_fault(w, i);
  return Next::fallthrough;
}

// One lane of the vector atomics. cmpswap: data is { new, compare }.
template <Space S, AtomicOp O, class T>
Next atomic(Wave& w, const Inst& i) {
  Range r = range<S>(w, i);
  r.address &= ~u64{sizeof(T) - 1};
  if (r.dwords < sizeof(T) / 4) return Next::fallthrough;
  const u64 address[kLanes] = {r.address};
  T data[kLanes] = {}, compare[kLanes] = {}, old[kLanes] = {};
  std::memcpy(data, &w.sgpr[i.src[1].index], sizeof(T));
  if constexpr (O == AtomicOp::cmpswap) std::memcpy(compare, &w.sgpr[i.src[1].index + sizeof(T) / 4], sizeof(T));
  bool done = false;
  if constexpr (sizeof(T) == 4) done = w.port->atomic32(O, address, 1, data, compare, old, {}, *w.fault);
  else done = w.port->atomic64(O, address, 1, data, compare, old, {}, *w.fault);
  if (!done) return raise_memory_fault(w, i);
  if (i.glc) std::memcpy(&w.sgpr[i.dst.index], old, sizeof(T));
  return Next::fallthrough;
}

Next nop(Wave&, const Inst&) { return Next::fallthrough; }

u64 ticks(const Wave& w) {
  if (w.dispatch->clock != nullptr) return w.dispatch->clock(w.dispatch->clock_arg);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) / 10;
}

Next memrealtime(Wave& w, const Inst& i) {
  w.set_sgpr64(i.dst.index, ticks(w));
  return Next::fallthrough;
}
Next memtime(Wave& w, const Inst& i) {
  w.set_sgpr64(i.dst.index, ticks(w) * w.dispatch->core_clocks_per_tick);
  return Next::fallthrough;
}

template <Space S, class T>
Handler bind_atomic(unsigned code) { // position inside the block of 13 opcodes
  switch (code) {
  case 0: return atomic<S, AtomicOp::swap, T>;
  case 1: return atomic<S, AtomicOp::cmpswap, T>;
  case 2: return atomic<S, AtomicOp::add, T>;
  case 3: return atomic<S, AtomicOp::sub, T>;
  case 4: return atomic<S, AtomicOp::smin, T>;
  case 5: return atomic<S, AtomicOp::umin, T>;
  case 6: return atomic<S, AtomicOp::smax, T>;
  case 7: return atomic<S, AtomicOp::umax, T>;
  case 8: return atomic<S, AtomicOp::and_, T>;
  case 9: return atomic<S, AtomicOp::or_, T>;
  case 10: return atomic<S, AtomicOp::xor_, T>;
  case 11: return atomic<S, AtomicOp::inc, T>;
  case 12: return atomic<S, AtomicOp::dec, T>;
  default: return nullptr;
  }
}

} // namespace

Handler bind_smem(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_load_dword: return load<Space::flat, 1>;
  case Op::s_load_dwordx2: return load<Space::flat, 2>;
  case Op::s_load_dwordx4: return load<Space::flat, 4>;
  case Op::s_load_dwordx8: return load<Space::flat, 8>;
  case Op::s_load_dwordx16: return load<Space::flat, 16>;
  case Op::s_scratch_load_dword: return load<Space::scratch, 1>;
  case Op::s_scratch_load_dwordx2: return load<Space::scratch, 2>;
  case Op::s_scratch_load_dwordx4: return load<Space::scratch, 4>;
  case Op::s_buffer_load_dword: return load<Space::buffer, 1>;
  case Op::s_buffer_load_dwordx2: return load<Space::buffer, 2>;
  case Op::s_buffer_load_dwordx4: return load<Space::buffer, 4>;
  case Op::s_buffer_load_dwordx8: return load<Space::buffer, 8>;
  case Op::s_buffer_load_dwordx16: return load<Space::buffer, 16>;
  case Op::s_store_dword: return store<Space::flat, 1>;
  case Op::s_store_dwordx2: return store<Space::flat, 2>;
  case Op::s_store_dwordx4: return store<Space::flat, 4>;
  case Op::s_scratch_store_dword: return store<Space::scratch, 1>;
  case Op::s_scratch_store_dwordx2: return store<Space::scratch, 2>;
  case Op::s_scratch_store_dwordx4: return store<Space::scratch, 4>;
  case Op::s_buffer_store_dword: return store<Space::buffer, 1>;
  case Op::s_buffer_store_dwordx2: return store<Space::buffer, 2>;
  case Op::s_buffer_store_dwordx4: return store<Space::buffer, 4>;
  case Op::s_dcache_inv: case Op::s_dcache_wb: case Op::s_dcache_inv_vol: case Op::s_dcache_wb_vol:
  case Op::s_dcache_discard: case Op::s_dcache_discard_x2: // stores go to memory at once: nothing dirty to drop
  case Op::s_atc_probe: case Op::s_atc_probe_buffer: return nop;
  case Op::s_memtime: return memtime;
  case Op::s_memrealtime: return memrealtime;
  default: break;
  }
  const unsigned code = i.info->code;
  if (code >= 64 && code <= 76) return bind_atomic<Space::buffer, u32>(code - 64);
  if (code >= 96 && code <= 108) return bind_atomic<Space::buffer, u64>(code - 96);
  if (code >= 128 && code <= 140) return bind_atomic<Space::flat, u32>(code - 128);
  if (code >= 160 && code <= 172) return bind_atomic<Space::flat, u64>(code - 160);
  return nullptr;
}

} // namespace aql::sim::salu
