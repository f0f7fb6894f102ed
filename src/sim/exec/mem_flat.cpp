// FLAT, GLOBAL and SCRATCH: addresses, and the choice of address space.
// CDNA3 ISA guide, chapter "Flat Memory Instructions".
#include "sim/exec/mem_common.hpp"

namespace aql::sim::mem {

namespace {

constexpr std::uint64_t kApertureLast = 0xffffffffu; // apertures are 2^32 bytes

bool load_lds_from(Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec, auto& space) {
  alignas(64) std::uint32_t data[4][kLanes];
  if (op.bytes >= 4) return space.load(exec, op.dwords(), data) && load_to_lds(wave, inst, op, exec, data);
  std::uint32_t raw[kLanes];
  if (!space.load_small(exec, op.bytes, raw)) return false;
  put_small(wave, op, exec, raw, data[0]);
  return load_to_lds(wave, inst, op, exec, data);
}

} // namespace

void lds_dma_addresses(const Wave& wave, const Inst& inst, unsigned dwords, std::uint64_t* address) {
  const std::uint32_t m0 = m0_lds_address(wave) & ~3u;
  const std::uint32_t stride = dwords > 2 ? 16 : 4;
  for (std::uint32_t l = 0; l < kLanes; ++l) address[l] = static_cast<std::uint32_t>(m0 + inst.imm + l * stride);
}

bool load_to_lds(Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec, const std::uint32_t (*data)[kLanes]) {
  const unsigned dwords = op.bytes < 4 ? 1 : op.dwords();
  std::uint64_t address[kLanes];
  lds_dma_addresses(wave, inst, dwords, address);
  LdsSpace lds{wave, address};
  if (const auto good = lds.in_range(exec, dwords * 4); good != 0) lane_ops().store(address, lds.delta(), good, dwords, data);
  return true;
}

Next global(Wave& wave, const Inst& inst) {
  const MemOp& op = *static_cast<const MemOp*>(inst.kernel);
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return Next::fallthrough;
  const Rows v = rows(wave, inst.src[0]);
  const auto offset = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(inst.imm)});
  const bool has_base = inst.src[2].kind != isa::OperandKind::none;
  const std::uint64_t base = has_base ? wave.sgpr64(inst.src[2].index) + offset : 0;
  if (has_base && (op.kind == MemKind::load || op.kind == MemKind::store)) { // the commonest, without 64-bit addresses
    MemoryPort& port = *wave.port;
    const bool good = op.kind == MemKind::load ? port.load_dwords(base, v[0], exec, op.dwords(), rows(wave, inst.dst), policy(inst), *wave.fault)
                                               : port.store_dwords(base, v[0], exec, op.dwords(), rows(wave, inst.src[1]), policy(inst), *wave.fault);
    return good ? Next::fallthrough : raise_memory_fault(wave, inst);
  }
  alignas(64) std::uint64_t address[kLanes];
  if (has_base) lane_ops().widen(base, v[0], address);
  else lane_ops().join(v[0], v[1], offset, address);
  GlobalSpace space{wave, inst, address};
  const bool good = op.kind == MemKind::load_lds ? load_lds_from(wave, inst, op, exec, space) : perform(space, wave, inst, op, exec);
  return good ? Next::fallthrough : raise_memory_fault(wave, inst);
}

Next scratch(Wave& wave, const Inst& inst) {
  const MemOp& op = *static_cast<const MemOp*>(inst.kernel);
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return Next::fallthrough;
  alignas(64) std::uint64_t offset[kLanes];
  auto base = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(inst.imm)});
  if (inst.src[2].kind != isa::OperandKind::none) base += wave.sgpr[inst.src[2].index];
  if (inst.src[0].kind != isa::OperandKind::none) {
    lane_ops().widen(base, rows(wave, inst.src[0])[0], offset);
  } else {
    for (auto& o : offset) o = base;
  }
  ScratchSpace space(wave, inst, offset);
  const bool good = space.check(exec, op.bytes, op.access()) &&
                    (op.kind == MemKind::load_lds ? load_lds_from(wave, inst, op, exec, space) : perform(space, wave, inst, op, exec));
  return good ? Next::fallthrough : raise_memory_fault(wave, inst);
}

Next flat(Wave& wave, const Inst& inst) {
  const MemOp& op = *static_cast<const MemOp*>(inst.kernel);
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return Next::fallthrough;
  // The address registers alone choose the space; the offset is added within it (LLVM's selection of offsets says so).
  alignas(64) std::uint64_t base[kLanes], with_offset[kLanes];
  const Rows v = rows(wave, inst.src[0]);
  lane_ops().join(v[0], v[1], 0, base);
  if (inst.imm != 0) lane_ops().join(v[0], v[1], inst.imm, with_offset);
  const std::uint64_t* address = inst.imm != 0 ? with_offset : base;
  const std::uint64_t shared = wave.dispatch->shared_aperture, priv = wave.dispatch->private_aperture;
  // "No lane in the aperture" is again one range: everything but the aperture, around the end of the address space.
  const auto none_in = [&](std::uint64_t aperture) { return aperture == 0 || lane_ops().inside(base, exec, aperture + kApertureLast + 1, ~kApertureLast - 1); };
  GlobalSpace global_space{wave, inst, address};
  if (none_in(shared) && none_in(priv)) {
    return perform(global_space, wave, inst, op, exec) ? Next::fallthrough : raise_memory_fault(wave, inst);
  }
  const std::uint64_t in_lds = shared == 0 ? 0 : exec & lane_ops().inside_mask(base, shared, kApertureLast);
  const std::uint64_t in_private = priv == 0 ? 0 : exec & lane_ops().inside_mask(base, priv, kApertureLast);
  const std::uint64_t in_global = exec & ~in_lds & ~in_private;
  alignas(64) std::uint64_t offset[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) offset[l] = (base[l] & kApertureLast) + inst.imm;
  LdsSpace lds{wave, offset};
  ScratchSpace private_space(wave, inst, offset);
  const FaultAccess access = op.access();
  // All lanes are checked before the first is performed.
  const bool good = (in_global == 0 || global_space.check(in_global, op.bytes, access)) && (in_lds == 0 || lds.check(in_lds, op.bytes, access)) &&
                    (in_private == 0 || private_space.check(in_private, op.bytes, access)) &&
                    (in_global == 0 || perform(global_space, wave, inst, op, in_global)) && (in_lds == 0 || perform(lds, wave, inst, op, in_lds)) &&
                    (in_private == 0 || perform(private_space, wave, inst, op, in_private));
  return good ? Next::fallthrough : raise_memory_fault(wave, inst);
}

} // namespace aql::sim::mem
