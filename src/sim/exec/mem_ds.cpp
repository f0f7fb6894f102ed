// DS: LDS accesses by indexed addresses. CDNA3 ISA guide, "Data Share Operations".
// Out-of-range lanes read 0 and write nothing, element by element.
#include <array>
#include <string>

#include "sim/exec/mem_ds.hpp"

namespace aql::sim::mem {

namespace {

constexpr auto make_table() {
  std::array<DsOp, isa::kOpCount> table{};
#define OP(code, name, text, targets, dsts, srcs, flags) table[static_cast<std::size_t>(isa::Op::name)] = parse_ds_op(std::string_view(text).substr(3));
#include "sim/isa/ds.def"
#undef OP
  return table;
}
constexpr auto kDsOps = make_table();

constexpr bool complete() {
  bool all = true;
#define OP(code, name, text, targets, dsts, srcs, flags) all = all && kDsOps[static_cast<std::size_t>(isa::Op::name)].kind != DsKind::none;
#include "sim/isa/ds.def"
#undef OP
  return all;
}
static_assert(complete(), "every row of the DS table has an operation");

void zero(Rows out, unsigned dwords, std::uint64_t lanes) {
  for (unsigned d = 0; d < dwords; ++d) for_lanes(lanes, [&](unsigned l) { out[d][l] = 0; });
}

void read_element(Wave& wave, const std::uint64_t* address, std::uint64_t exec, std::uint32_t bytes, Rows out) {
  LdsSpace lds{wave, address};
  const std::uint64_t good = lds.in_range(exec, bytes);
  lds.load(good, bytes / 4, out);
  if (good != exec) zero(out, bytes / 4, exec & ~good);
}

void write_element(Wave& wave, const std::uint64_t* address, std::uint64_t exec, std::uint32_t bytes, Rows in) {
  LdsSpace lds{wave, address};
  lds.store(lds.in_range(exec, bytes), bytes / 4, in);
}

// Every active lane's element is inside: the offsets in the address register can be used as they are.
bool all_inside(const Wave& wave, const std::uint32_t* v, std::uint32_t add, std::uint32_t bytes) {
  const std::uint32_t limit = wave.group->lds_bytes;
  return bytes <= limit && lane_ops().inside32(v, add, wave.exec(), 0, limit - bytes);
}

Next read(Wave& wave, const Inst& inst) {
  const MemOp& op = ds_op(inst).mem;
  if (const std::uint32_t* v = rows(wave, inst.src[0])[0]; all_inside(wave, v, inst.imm, op.bytes)) {
    lane_ops().load32(v, inst.imm, reinterpret_cast<std::uint64_t>(wave.group->lds), wave.exec(), op.dwords(), rows(wave, inst.dst));
    return Next::fallthrough;
  }
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  read_element(wave, address, wave.exec(), ds_op(inst).mem.bytes, rows(wave, inst.dst));
  return Next::fallthrough;
}

Next write(Wave& wave, const Inst& inst) {
  const MemOp& op = ds_op(inst).mem;
  if (const std::uint32_t* v = rows(wave, inst.src[0])[0]; all_inside(wave, v, inst.imm, op.bytes)) {
    lane_ops().store32(v, inst.imm, reinterpret_cast<std::uint64_t>(wave.group->lds), wave.exec(), op.dwords(), rows(wave, inst.src[1]));
    return Next::fallthrough;
  }
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  write_element(wave, address, wave.exec(), ds_op(inst).mem.bytes, rows(wave, inst.src[1]));
  return Next::fallthrough;
}

Next read2(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  const std::uint32_t *v = rows(wave, inst.src[0])[0], add0 = ds_offset(inst, 0), add1 = ds_offset(inst, 1);
  const Rows result = rows(wave, inst.dst);
  const bool overwrites = v >= result[0] && v < result[0] + inst.dst.width * kLanes; // its own address, between the two reads
  if (!overwrites && all_inside(wave, v, add0, op.mem.bytes) && all_inside(wave, v, add1, op.mem.bytes)) {
    const auto base = reinterpret_cast<std::uint64_t>(wave.group->lds);
    lane_ops().load32(v, add0, base, wave.exec(), op.mem.dwords(), result);
    lane_ops().load32(v, add1, base, wave.exec(), op.mem.dwords(), result + op.mem.dwords());
    return Next::fallthrough;
  }
  alignas(64) std::uint64_t first[kLanes], second[kLanes]; // both before the result may overwrite the address register
  ds_addresses(wave, inst, add0, first);
  ds_addresses(wave, inst, add1, second);
  read_element(wave, first, wave.exec(), op.mem.bytes, result);
  read_element(wave, second, wave.exec(), op.mem.bytes, result + op.mem.dwords());
  return Next::fallthrough;
}

Next write2(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  const std::uint32_t *v = rows(wave, inst.src[0])[0], add0 = ds_offset(inst, 0), add1 = ds_offset(inst, 1);
  if (all_inside(wave, v, add0, op.mem.bytes) && all_inside(wave, v, add1, op.mem.bytes)) {
    const auto base = reinterpret_cast<std::uint64_t>(wave.group->lds);
    lane_ops().store32(v, add0, base, wave.exec(), op.mem.dwords(), rows(wave, inst.src[1]));
    lane_ops().store32(v, add1, base, wave.exec(), op.mem.dwords(), rows(wave, inst.src[3]));
    return Next::fallthrough;
  }
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, add0, address);
  write_element(wave, address, wave.exec(), op.mem.bytes, rows(wave, inst.src[1]));
  ds_addresses(wave, inst, add1, address);
  write_element(wave, address, wave.exec(), op.mem.bytes, rows(wave, inst.src[3]));
  return Next::fallthrough;
}

Next read_small(Wave& wave, const Inst& inst) {
  const MemOp& op = ds_op(inst).mem;
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t raw[kLanes] = {};
  ds_addresses(wave, inst, inst.imm, address);
  LdsSpace lds{wave, address};
  lds.load_small(lds.in_range(wave.exec(), op.bytes), op.bytes, raw);
  put_small(wave, op, wave.exec(), raw, rows(wave, inst.dst)[0]);
  return Next::fallthrough;
}

Next write_small(Wave& wave, const Inst& inst) {
  const MemOp& op = ds_op(inst).mem;
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t data[kLanes];
  const std::uint32_t* in = rows(wave, inst.src[1])[0];
  for (unsigned l = 0; l < kLanes; ++l) data[l] = op.half == Half::high ? in[l] >> 16 : in[l];
  ds_addresses(wave, inst, inst.imm, address);
  LdsSpace lds{wave, address};
  lds.store_small(lds.in_range(wave.exec(), op.bytes), op.bytes, data);
  return Next::fallthrough;
}

// Addressed by the lane's number: offset + M0 + lane * 4.
void lane_addresses(const Wave& wave, const Inst& inst, std::uint64_t* out) {
  const std::uint32_t base = m0_lds_address(wave) + inst.imm;
  for (std::uint32_t l = 0; l < kLanes; ++l) out[l] = base + l * 4;
}

Next read_addtid(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  lane_addresses(wave, inst, address);
  read_element(wave, address, wave.exec(), 4, rows(wave, inst.dst));
  return Next::fallthrough;
}

Next write_addtid(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  lane_addresses(wave, inst, address);
  write_element(wave, address, wave.exec(), 4, rows(wave, inst.src[1]));
  return Next::fallthrough;
}

Next nop(Wave&, const Inst&) { return Next::fallthrough; }

// Global wave sync: no compute queue has it.
Next not_compute(Wave& wave, const Inst& inst) {
  return raise_fault(wave, inst, Errc::unsupported, std::string(inst.info->mnemonic) + " is not part of compute");
}

} // namespace

Handler bind_ds(Inst& inst, Arch) {
  const DsOp& op = kDsOps[static_cast<std::size_t>(inst.op)];
  inst.kernel = &op;
  switch (op.kind) {
  case DsKind::gws: return not_compute;
  case DsKind::nop: return nop;
  case DsKind::read: return read;
  case DsKind::write: return write;
  case DsKind::read2: return read2;
  case DsKind::write2: return write2;
  case DsKind::read_small: return read_small;
  case DsKind::write_small: return write_small;
  case DsKind::read_addtid: return read_addtid;
  case DsKind::write_addtid: return write_addtid;
  case DsKind::exchange2: return ds_exchange2;
  case DsKind::atomic: return ds_atomic;
  case DsKind::wrap: return ds_wrap;
  case DsKind::condxchg32: return ds_condxchg32;
  case DsKind::append:
  case DsKind::consume: return ds_append;
  case DsKind::swizzle: return ds_swizzle;
  case DsKind::permute: return ds_permute;
  case DsKind::bpermute: return ds_bpermute;
  case DsKind::transpose: return ds_transpose;
  case DsKind::none: break;
  }
  return nullptr;
}

} // namespace aql::sim::mem
