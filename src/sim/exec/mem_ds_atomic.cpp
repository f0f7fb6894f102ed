// DS read-modify-write instructions. DATA and DATA2 change places between DS and memory atomics: ds_cmpst compares with DATA
// and stores DATA2. Out-of-range lanes change nothing and return 0; a misaligned one is a memory violation.
#include <bit>

#include "sim/exec/mem_ds.hpp"

namespace aql::sim::mem {

namespace {

bool aligned(Wave& wave, const std::uint64_t* address, std::uint64_t exec, std::uint32_t bytes) {
  return refuse_misaligned(wave, address, 0, exec, bytes, "LDS");
}

// Old values into the result registers, 0 where out of range.
void give_back(Rows out, std::uint64_t exec, std::uint64_t good, const std::uint32_t* old) {
  for_lanes(exec, [&](unsigned l) { out[0][l] = ((good >> l) & 1) != 0 ? old[l] : 0; });
}
void give_back(Rows out, std::uint64_t exec, std::uint64_t good, const std::uint64_t* old) {
  for_lanes(exec, [&](unsigned l) {
    const std::uint64_t v = ((good >> l) & 1) != 0 ? old[l] : 0;
    out[0][l] = static_cast<std::uint32_t>(v);
    out[1][l] = static_cast<std::uint32_t>(v >> 32);
  });
}

bool returns(const Inst& inst) noexcept { return inst.dst.kind != isa::OperandKind::none; }

// One atomic at `address`; data2 may be null.
void apply(Wave& wave, const DsOp& op, AtomicOp what, const std::uint64_t* address, std::uint64_t exec, Rows data, Rows data2, Rows out) {
  LdsSpace lds{wave, address};
  const std::uint64_t good = lds.in_range(exec, op.mem.bytes);
  const bool swapped = what == AtomicOp::cmpswap || what == AtomicOp::cmpswap_f || what == AtomicOp::mskor;
  const Rows value = swapped ? data2 : data, compare = swapped ? data : nullptr;
  if (op.mem.bytes == 4) {
    std::uint32_t old[kLanes];
    lds.atomic32(what, good, value[0], compare != nullptr ? compare[0] : nullptr, old);
    if (out != nullptr) give_back(out, exec, good, old);
    return;
  }
  std::uint64_t value64[kLanes], compare64[kLanes], old[kLanes];
  lane_ops().join(value[0], value[1], 0, value64);
  if (compare != nullptr) lane_ops().join(compare[0], compare[1], 0, compare64);
  lds.atomic64(what, good, value64, compare != nullptr ? compare64 : nullptr, old);
  if (out != nullptr) give_back(out, exec, good, old);
}

} // namespace

Next ds_atomic(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  if (!aligned(wave, address, wave.exec(), op.mem.bytes)) return raise_memory_fault(wave, inst);
  const Rows data2 = inst.src[3].kind != isa::OperandKind::none ? rows(wave, inst.src[3]) : nullptr;
  apply(wave, op, op.mem.atomic, address, wave.exec(), rows(wave, inst.src[1]), data2, returns(inst) ? rows(wave, inst.dst) : nullptr);
  return Next::fallthrough;
}

// Both old values are read before either location is written.
Next ds_exchange2(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  const std::uint64_t exec = wave.exec();
  const unsigned dwords = op.mem.dwords();
  alignas(64) std::uint64_t address[2][kLanes];
  alignas(64) std::uint32_t old[2][2][kLanes] = {};
  for (unsigned n = 0; n < 2; ++n) {
    ds_addresses(wave, inst, ds_offset(inst, n), address[n]);
    if (!aligned(wave, address[n], exec, op.mem.bytes)) return raise_memory_fault(wave, inst);
  }
  // Lane by lane, as an atomic: a later lane sees what an earlier one wrote.
  LdsSpace first{wave, address[0]}, second{wave, address[1]};
  const std::uint64_t good0 = first.in_range(exec, op.mem.bytes), good1 = second.in_range(exec, op.mem.bytes);
  const Rows data = rows(wave, inst.src[1]), data2 = rows(wave, inst.src[3]);
  for_lanes(exec, [&](unsigned l) {
    const std::uint64_t lane = std::uint64_t{1} << l;
    first.load(good0 & lane, dwords, old[0]);
    second.load(good1 & lane, dwords, old[1]);
    first.store(good0 & lane, dwords, data);
    second.store(good1 & lane, dwords, data2);
  });
  const Rows out = rows(wave, inst.dst);
  for (unsigned d = 0; d < dwords; ++d) {
    for_lanes(exec, [&](unsigned l) {
      out[d][l] = old[0][d][l];
      out[dwords + d][l] = old[1][d][l];
    });
  }
  return Next::fallthrough;
}

Next ds_wrap(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  const std::uint64_t exec = wave.exec();
  if (!aligned(wave, address, exec, 4)) return raise_memory_fault(wave, inst);
  LdsSpace lds{wave, address};
  const std::uint64_t good = lds.in_range(exec, 4);
  const std::uint32_t *data = rows(wave, inst.src[1])[0], *data2 = rows(wave, inst.src[3])[0];
  std::uint32_t old[1][kLanes], fresh[1][kLanes];
  for_lanes(good, [&](unsigned l) {
    const std::uint64_t lane = std::uint64_t{1} << l;
    lds.load(lane, 1, old);
    fresh[0][l] = old[0][l] >= data[l] ? old[0][l] - data[l] : old[0][l] + data2[l];
    lds.store(lane, 1, fresh);
  });
  give_back(rows(wave, inst.dst), exec, good, old[0]);
  return Next::fallthrough;
}

// Two dwords at an address forced to a multiple of 8; each is exchanged only if the data's bit 31 is set, which is not stored.
Next ds_condxchg32(Wave& wave, const Inst& inst) {
  alignas(64) std::uint64_t address[kLanes];
  ds_addresses(wave, inst, inst.imm, address);
  const std::uint32_t mask = wave.dispatch->arch == Arch::gfx950 ? 0x3fff8u : 0xfff8u; // as wide as the target's LDS
  for (auto& a : address) a &= mask;
  const std::uint64_t exec = wave.exec();
  LdsSpace lds{wave, address};
  const std::uint64_t good = lds.in_range(exec, 8);
  const Rows data = rows(wave, inst.src[1]);
  alignas(64) std::uint32_t old[2][kLanes] = {}, fresh[2][kLanes];
  for_lanes(good, [&](unsigned l) {
    const std::uint64_t lane = std::uint64_t{1} << l;
    lds.load(lane, 2, old);
    for (unsigned d = 0; d < 2; ++d) fresh[d][l] = (data[d][l] >> 31) != 0 ? data[d][l] & 0x7fffffffu : old[d][l];
    lds.store(lane, 2, fresh);
  });
  const Rows out = rows(wave, inst.dst);
  for_lanes(exec, [&](unsigned l) {
    out[0][l] = old[0][l];
    out[1][l] = old[1][l];
  });
  return Next::fallthrough;
}

// One counter for the wave, at M0 + offset. The guide names only the offset for LDS; compilers pass the pointer in M0.
Next ds_append(Wave& wave, const Inst& inst) {
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return Next::fallthrough;
  const unsigned l = first_lane(exec);
  alignas(64) std::uint64_t address[kLanes];
  address[l] = m0_lds_address(wave) + inst.imm;
  const std::uint64_t lane = std::uint64_t{1} << l;
  if (!aligned(wave, address, lane, 4)) return raise_memory_fault(wave, inst);
  LdsSpace lds{wave, address};
  std::uint32_t old[kLanes] = {}, count[kLanes];
  count[l] = static_cast<std::uint32_t>(std::popcount(exec));
  const auto what = ds_op(inst).kind == DsKind::append ? AtomicOp::add : AtomicOp::sub;
  lds.atomic32(what, lds.in_range(lane, 4), count, nullptr, old);
  std::uint32_t* out = rows(wave, inst.dst)[0];
  for_lanes(exec, [&](unsigned n) { out[n] = old[l]; });
  return Next::fallthrough;
}

} // namespace aql::sim::mem
