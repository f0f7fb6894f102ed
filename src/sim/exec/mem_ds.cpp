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

Next read(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  read_element(wave, address, wave.exec(), ds_op(inst).mem.bytes, rows(wave, inst.dst));
  return Next::fallthrough;
}

Next write(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  write_element(wave, address, wave.exec(), ds_op(inst).mem.bytes, rows(wave, inst.src[1]));
  return Next::fallthrough;
}

Next read2(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  alignas(64) std::uint64_t first[kLanes], second[kLanes]; // both before the result may overwrite the address register
  ds_addresses(wave, inst, ds_offset(inst, 0), first);
  ds_addresses(wave, inst, ds_offset(inst, 1), second);
  const Rows out = rows(wave, inst.dst);
  read_element(wave, first, wave.exec(), op.mem.bytes, out);
  read_element(wave, second, wave.exec(), op.mem.bytes, out + op.mem.dwords());
  return Next::fallthrough;
}

Next write2(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, ds_offset(inst, 0), address);
  write_element(wave, address, wave.exec(), op.mem.bytes, rows(wave, inst.src[1]));
  ds_addresses(wave, inst, ds_offset(inst, 1), address);
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

// Addressed by the lane's number: offset + M0[15:0] + lane * 4.
void lane_addresses(const Wave& wave, const Inst& inst, std::uint64_t* out) {
  const std::uint32_t base = (wave.sgpr[kM0] & 0xffffu) + inst.imm;
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

// Global data share and global wave sync: no compute queue has them.
Next not_compute(Wave& wave, const Inst& inst) {
  return raise_fault(wave, inst, Errc::unsupported,
                     std::string(inst.info->mnemonic) + (inst.gds && ds_op(inst).kind != DsKind::gws ? " with gds" : "") + " is not part of compute");
}

} // namespace

Handler bind_ds(Inst& inst, Arch) {
  const DsOp& op = kDsOps[static_cast<std::size_t>(inst.op)];
  inst.kernel = &op;
  if (inst.gds) return not_compute;
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
