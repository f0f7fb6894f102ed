#pragma once
// What the memory families share: register rows, faults, and the register side of an access to any address space.
// Thread safety: as Wave.

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/exec/exec.hpp"
#include "sim/exec/mem_ops.hpp"
#include "sim/exec/wave.hpp"
#include "sim/mem/lane_ops.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim::mem {

using Rows = std::uint32_t (*)[kLanes];

// The registers of a data or address operand, as rows of 64 lanes.
[[nodiscard]] inline Rows rows(Wave& wave, const isa::Operand& operand) noexcept {
  const unsigned first = operand.kind == isa::OperandKind::agpr ? wave.agpr_base + operand.index : operand.index;
  return &wave.vgpr[first].lane;
}

[[nodiscard]] inline CachePolicy policy(const Inst& inst) noexcept { return {.sc0 = inst.glc, .sc1 = inst.scc, .nt = inst.slc}; }

inline bool refuse(Fault& fault, Errc code, std::string reason, FaultAccess access, std::uint64_t address, std::uint32_t size_bytes, unsigned lane, std::string nearest) {
  fault.code = code;
  fault.reason = std::move(reason);
  fault.access = access;
  fault.address = address;
  fault.size_bytes = size_bytes;
  fault.lane = lane;
  fault.nearest = std::move(nearest);
  return false;
}

// M0 as an LDS address: as many bits as the LDS of the target needs (the guides of 64 KiB targets say M0[15:0]).
[[nodiscard]] inline std::uint32_t m0_lds_address(const Wave& wave) noexcept {
  return wave.sgpr[kM0] & (wave.dispatch->arch == Arch::gfx950 ? 0x3ffffu : 0xffffu);
}

[[nodiscard]] inline unsigned first_lane(std::uint64_t exec) noexcept { return static_cast<unsigned>(std::countr_zero(exec)); }

template <class F>
inline void for_lanes(std::uint64_t exec, F&& f) {
  for (; exec != 0; exec &= exec - 1) f(first_lane(exec));
}

// A loaded byte or half, zero-extended in `raw`, into its register. With SRAM ECC a load of half a register clears the other half.
inline void put_small(const Wave& wave, const MemOp& op, std::uint64_t exec, const std::uint32_t* raw, std::uint32_t* out) {
  const std::uint32_t kept = wave.dispatch->sramecc ? 0 : 0xffffffffu;
  for_lanes(exec, [&](unsigned l) {
    std::uint32_t v = raw[l];
    if (op.sign) v = static_cast<std::uint32_t>(op.bytes == 1 ? std::int32_t{static_cast<std::int8_t>(v)} : std::int32_t{static_cast<std::int16_t>(v)});
    if (op.half == Half::low) v = (out[l] & kept & 0xffff0000u) | (v & 0xffffu);
    if (op.half == Half::high) v = (out[l] & kept & 0xffffu) | v << 16;
    out[l] = v;
  });
}

// A whole access of the lanes in `exec`, all of them good addresses of `space`, which offers
//   bool load(exec, dwords, rows), store, load_small(exec, bytes, row), store_small,
//   bool atomic32(op, exec, data, compare, old), atomic64.
// They return false with the fault filled.
template <class Space>
bool perform(Space& space, Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec) {
  switch (op.kind) {
  case MemKind::load: return space.load(exec, op.dwords(), rows(wave, inst.dst));
  case MemKind::store: return space.store(exec, op.dwords(), rows(wave, inst.src[1]));
  case MemKind::load_small: {
    std::uint32_t raw[kLanes];
    if (!space.load_small(exec, op.bytes, raw)) return false;
    put_small(wave, op, exec, raw, rows(wave, inst.dst)[0]);
    return true;
  }
  case MemKind::store_small: {
    const std::uint32_t* data = rows(wave, inst.src[1])[0];
    if (op.half != Half::high) return space.store_small(exec, op.bytes, data);
    std::uint32_t shifted[kLanes];
    for (unsigned l = 0; l < kLanes; ++l) shifted[l] = data[l] >> 16;
    return space.store_small(exec, op.bytes, shifted);
  }
  case MemKind::atomic: {
    const Rows data = rows(wave, inst.src[1]);
    const bool returns = inst.dst.kind != isa::OperandKind::none;
    const bool compares = op.atomic == AtomicOp::cmpswap;
    if (op.bytes == 4) {
      std::uint32_t old[kLanes];
      if (!space.atomic32(op.atomic, exec, data[0], compares ? data[1] : nullptr, returns ? old : nullptr)) return false;
      if (returns) {
        std::uint32_t* out = rows(wave, inst.dst)[0];
        for_lanes(exec, [&](unsigned l) { out[l] = old[l]; });
      }
      return true;
    }
    std::uint64_t wide[kLanes], compare[kLanes], old[kLanes];
    lane_ops().join(data[0], data[1], 0, wide);
    if (compares) lane_ops().join(data[2], data[3], 0, compare);
    if (!space.atomic64(op.atomic, exec, wide, compares ? compare : nullptr, returns ? old : nullptr)) return false;
    if (returns) {
      const Rows out = rows(wave, inst.dst);
      for_lanes(exec, [&](unsigned l) {
        out[0][l] = static_cast<std::uint32_t>(old[l]);
        out[1][l] = static_cast<std::uint32_t>(old[l] >> 32);
      });
    }
    return true;
  }
  default: return true;
  }
}

// The L2 of gfx90a adds f32 with denormals flushed; later targets keep them (LLVM: MemoryAtomicFAddF32DenormalSupport), as all
// do with packed and f64 numbers.
[[nodiscard]] inline bool l2_flushes(const Wave& wave, AtomicOp op) noexcept { return wave.dispatch->arch == Arch::gfx90a && op == AtomicOp::add_f32; }

// Global memory: addresses of the map.
struct GlobalSpace {
  Wave& wave;
  const Inst& inst;
  const std::uint64_t* address;

  bool check(std::uint64_t exec, std::uint32_t bytes, FaultAccess access) { return wave.port->check(address, exec, bytes, access, *wave.fault); }
  bool load(std::uint64_t exec, unsigned dwords, Rows out) { return wave.port->load_dwords(address, exec, dwords, out, policy(inst), *wave.fault); }
  bool store(std::uint64_t exec, unsigned dwords, Rows in) { return wave.port->store_dwords(address, exec, dwords, in, policy(inst), *wave.fault); }
  bool load_small(std::uint64_t exec, unsigned bytes, std::uint32_t* out) { return wave.port->load_small(address, exec, bytes, out, policy(inst), *wave.fault); }
  bool store_small(std::uint64_t exec, unsigned bytes, const std::uint32_t* in) { return wave.port->store_small(address, exec, bytes, in, policy(inst), *wave.fault); }
  bool atomic32(AtomicOp op, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old) {
    return wave.port->atomic32(op, address, exec, data, compare, old, policy(inst), *wave.fault, l2_flushes(wave, op));
  }
  bool atomic64(AtomicOp op, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old) {
    return wave.port->atomic64(op, address, exec, data, compare, old, policy(inst), *wave.fault);
  }
};

// LDS: byte offsets into the workgroup's allocation. All waves of a group run on one worker: nothing here is shared.
struct LdsSpace {
  Wave& wave;
  const std::uint64_t* address;

  [[nodiscard]] std::uint64_t delta() const noexcept { return reinterpret_cast<std::uint64_t>(wave.group->lds); }
  // Lanes whose `bytes` lie inside the allocation.
  [[nodiscard]] std::uint64_t in_range(std::uint64_t exec, std::uint32_t bytes) const noexcept;
  // For flat accesses: out of range is an aperture violation.
  bool check(std::uint64_t exec, std::uint32_t bytes, FaultAccess access);
  bool load(std::uint64_t exec, unsigned dwords, Rows out);
  bool store(std::uint64_t exec, unsigned dwords, Rows in);
  bool load_small(std::uint64_t exec, unsigned bytes, std::uint32_t* out);
  bool store_small(std::uint64_t exec, unsigned bytes, const std::uint32_t* in);
  bool atomic32(AtomicOp op, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old);
  bool atomic64(AtomicOp op, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old);
};

// Private memory: byte offsets into each lane's segment, interleaved by dword over the wave's backing memory.
struct ScratchSpace {
  Wave& wave;
  const Inst& inst;
  const std::uint64_t* address; // offset in the lane's segment
  std::uint64_t base = 0;       // of the wave's backing memory

  ScratchSpace(Wave& w, const Inst& i, const std::uint64_t* offsets);
  bool check(std::uint64_t exec, std::uint32_t bytes, FaultAccess access);
  bool load(std::uint64_t exec, unsigned dwords, Rows out);
  bool store(std::uint64_t exec, unsigned dwords, Rows in);
  bool load_small(std::uint64_t exec, unsigned bytes, std::uint32_t* out);
  bool store_small(std::uint64_t exec, unsigned bytes, const std::uint32_t* in);
  bool atomic32(AtomicOp op, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old);
  bool atomic64(AtomicOp op, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old);

private:
  // Backing addresses of byte `add` of every lane's access.
  void backing(std::uint64_t add, std::uint64_t* out) const;
  [[nodiscard]] bool dword_aligned(std::uint64_t exec) const;
};

// Fills the fault and returns false if a lane's offset is not a multiple of the atomic's size (4 or 8).
bool refuse_misaligned(Wave& wave, const std::uint64_t* address, std::uint64_t base, std::uint64_t exec, std::uint32_t bytes, const char* where);

// Memory -> LDS without registers: lane l's data goes to M0 + offset + l * 4, or l * 16 for three and four dwords.
bool load_to_lds(Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec, const std::uint32_t (*data)[kLanes]);
// Where that is. Bytes and halves take a dword.
void lds_dma_addresses(const Wave& wave, const Inst& inst, unsigned dwords, std::uint64_t* address);

// Handlers by family.
Next flat(Wave& wave, const Inst& inst);
Next global(Wave& wave, const Inst& inst);
Next scratch(Wave& wave, const Inst& inst);
Next buffer(Wave& wave, const Inst& inst);
Next cache_control(Wave& wave, const Inst& inst);
Handler bind_ds(Inst& inst, Arch arch); // null: not implemented

} // namespace aql::sim::mem
