// DS: LDS accesses by indexed addresses. CDNA3 ISA guide, "Data Share Operations".
// Out-of-range lanes read 0 and write nothing, element by element.
#include <array>
#include <string>

#include "sim/exec/mem_common.hpp"
#include "sim/exec/mem_ds_ops.hpp"

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

// Byte offsets of the lanes' elements: 32-bit sums that wrap, as a negative base with an offset relies on.
void addresses(Wave& wave, const Inst& inst, std::uint32_t add, std::uint64_t* out) {
  const std::uint32_t* v = rows(wave, inst.src[0])[0];
  for (unsigned l = 0; l < kLanes; ++l) out[l] = static_cast<std::uint32_t>(v[l] + add);
}

const DsOp& op_of(const Inst& inst) noexcept { return *static_cast<const DsOp*>(inst.kernel); }

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
  addresses(wave, inst, inst.imm, address);
  read_element(wave, address, wave.exec(), op_of(inst).mem.bytes, rows(wave, inst.dst));
  return Next::fallthrough;
}

Next write(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  addresses(wave, inst, inst.imm, address);
  write_element(wave, address, wave.exec(), op_of(inst).mem.bytes, rows(wave, inst.src[1]));
  return Next::fallthrough;
}

// Second addresses: each offset counts elements, or 64 of them.
std::uint32_t offset_of(const Inst& inst, unsigned which) noexcept {
  const DsOp& op = op_of(inst);
  return ((inst.imm >> (8 * which)) & 0xffu) * op.mem.bytes * (op.st64 ? 64u : 1u);
}

Next read2(Wave& wave, const Inst& inst) {
  const DsOp& op = op_of(inst);
  alignas(64) std::uint64_t first[kLanes], second[kLanes]; // both before the result may overwrite the address register
  addresses(wave, inst, offset_of(inst, 0), first);
  addresses(wave, inst, offset_of(inst, 1), second);
  const Rows out = rows(wave, inst.dst);
  read_element(wave, first, wave.exec(), op.mem.bytes, out);
  read_element(wave, second, wave.exec(), op.mem.bytes, out + op.mem.dwords());
  return Next::fallthrough;
}

Next write2(Wave& wave, const Inst& inst) {
  const DsOp& op = op_of(inst);
  alignas(64) std::uint64_t address[kLanes];
  addresses(wave, inst, offset_of(inst, 0), address);
  write_element(wave, address, wave.exec(), op.mem.bytes, rows(wave, inst.src[1]));
  addresses(wave, inst, offset_of(inst, 1), address);
  write_element(wave, address, wave.exec(), op.mem.bytes, rows(wave, inst.src[3]));
  return Next::fallthrough;
}

Next read_small(Wave& wave, const Inst& inst) {
  const MemOp& op = op_of(inst).mem;
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t raw[kLanes] = {};
  addresses(wave, inst, inst.imm, address);
  LdsSpace lds{wave, address};
  lds.load_small(lds.in_range(wave.exec(), op.bytes), op.bytes, raw);
  put_small(op, wave.exec(), raw, rows(wave, inst.dst)[0]);
  return Next::fallthrough;
}

Next write_small(Wave& wave, const Inst& inst) {
  const MemOp& op = op_of(inst).mem;
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t data[kLanes];
  const std::uint32_t* in = rows(wave, inst.src[1])[0];
  for (unsigned l = 0; l < kLanes; ++l) data[l] = op.half == Half::high ? in[l] >> 16 : in[l];
  addresses(wave, inst, inst.imm, address);
  LdsSpace lds{wave, address};
  lds.store_small(lds.in_range(wave.exec(), op.bytes), op.bytes, data);
  return Next::fallthrough;
}

Next nop(Wave&, const Inst&) { return Next::fallthrough; }

} // namespace

Handler bind_ds(Inst& inst, Arch) {
  const DsOp& op = kDsOps[static_cast<std::size_t>(inst.op)];
  inst.kernel = &op;
  switch (op.kind) {
  case DsKind::nop: return nop;
  case DsKind::read: return read;
  case DsKind::write: return write;
  case DsKind::read2: return read2;
  case DsKind::write2: return write2;
  case DsKind::read_small: return read_small;
  case DsKind::write_small: return write_small;
  default: return nullptr;
  }
}

} // namespace aql::sim::mem
