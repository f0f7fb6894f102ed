// MUBUF and MTBUF: resources, addresses, range checking.
// CDNA3 and CDNA4 ISA guides, "Vector Memory Buffer Instructions": range checking depends on the kind of buffer:
//   private     add_tid and no index: none (what is unmapped still faults)
//   raw         no index, or no stride: byte offset without soffset against num_records
//   structured  index and stride: index against num_records
// Loads of several dwords are checked dword by dword; formats and atomics all or nothing.
#include "sim/exec/mem_buffer.hpp"

#include "sim/exec/mem_common.hpp"
#include "sim/exec/operand.hpp"

namespace aql::sim::mem {

BufferResource BufferResource::from(const std::uint32_t* words, bool tid_stride) noexcept {
  BufferResource r;
  r.base = words[0] | std::uint64_t{words[1] & 0xffffu} << 32;
  r.stride = (words[1] >> 16) & 0x3fffu;
  r.swizzle = words[1] >> 31 != 0;
  r.num_records = words[2];
  for (unsigned c = 0; c < 4; ++c) r.select[c] = static_cast<std::uint8_t>((words[3] >> (3 * c)) & 7u);
  r.number_format = static_cast<std::uint8_t>((words[3] >> 12) & 7u);
  r.data_format = static_cast<std::uint8_t>((words[3] >> 15) & 15u);
  r.index_stride = 8u << ((words[3] >> 21) & 3u);
  r.add_tid = ((words[3] >> 23) & 1u) != 0;
  // With add_tid the data format of an untyped access holds stride bits 17-14.
  if (r.add_tid && tid_stride) r.stride |= static_cast<std::uint32_t>(r.data_format) << 14;
  r.unbound = r.data_format == 0 && !(r.add_tid && tid_stride);
  return r;
}

std::uint64_t BufferResource::place(std::uint32_t index, std::uint32_t offset) const noexcept {
  if (!swizzle) return std::uint64_t{index} * stride + offset;
  constexpr std::uint64_t kElement = 4;
  const std::uint64_t index_high = index / index_stride, index_low = index % index_stride;
  const std::uint64_t offset_high = offset / kElement, offset_low = offset % kElement;
  return (index_high * stride + offset_high * kElement) * index_stride + index_low * kElement + offset_low;
}

namespace {

// One instruction's view of its buffer: every lane's index and offset.
struct Access {
  BufferResource resource;
  std::uint64_t base = 0; // with soffset
  bool structured = false, checked = true;
  alignas(64) std::uint32_t index[kLanes];
  alignas(64) std::uint32_t offset[kLanes];

  Access(Wave& wave, const Inst& inst, bool tid_stride) : resource(BufferResource::from(&wave.sgpr[inst.src[2].index], tid_stride)) {
    base = resource.base + scalar32(wave, inst.src[3]);
    structured = inst.idxen && resource.stride != 0;
    checked = resource.unbound || !(resource.add_tid && !inst.idxen);
    if (resource.unbound) resource.num_records = 0; // everything is out of range
    const Rows v = inst.offen || inst.idxen ? rows(wave, inst.src[0]) : nullptr;
    const std::uint32_t* vindex = inst.idxen ? v[0] : nullptr;
    const std::uint32_t* voffset = inst.offen ? v[inst.idxen ? 1 : 0] : nullptr;
    for (std::uint32_t l = 0; l < kLanes; ++l) {
      index[l] = (vindex != nullptr ? vindex[l] : 0u) + (resource.add_tid ? l : 0u);
      offset[l] = (voffset != nullptr ? voffset[l] : 0u) + inst.imm;
    }
  }

  // Lanes of `exec` whose byte `add` of the access is inside the buffer, and where it lies.
  std::uint64_t place(std::uint64_t exec, std::uint32_t add, std::uint64_t* address) const {
    std::uint64_t good = 0;
    if (!resource.swizzle && !resource.add_tid && !structured) { // raw, the common case
      const std::uint64_t stride = resource.stride;
      for (unsigned l = 0; l < kLanes; ++l) {
        const std::uint64_t at = index[l] * stride + offset[l] + add;
        address[l] = base + at;
        good |= std::uint64_t{at < resource.num_records ? 1u : 0u} << l;
      }
      return exec & good;
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint64_t at = resource.place(index[l], offset[l] + add);
      address[l] = base + at;
      const bool in = !checked || (structured ? index[l] < resource.num_records : at < resource.num_records);
      good |= std::uint64_t{in ? 1u : 0u} << l;
    }
    return exec & good;
  }

  // Dwords of one lane lie together.
  [[nodiscard]] bool contiguous() const noexcept { return !resource.swizzle; }
};

// Dwords of a lane may be in or out of range one by one, or scattered by swizzling.
bool dwords(Wave& wave, const Inst& inst, const MemOp& op, const Access& access, std::uint64_t exec, Rows data) {
  const bool is_load = op.kind != MemKind::store;
  const unsigned n = op.dwords();
  alignas(64) std::uint64_t address[4][kLanes];
  std::uint64_t good[4];
  bool together = access.contiguous();
  for (unsigned d = 0; d < n; ++d) {
    good[d] = access.place(exec, d * 4, address[d]);
    together = together && good[d] == good[0];
  }
  if (together) {
    GlobalSpace space{wave, inst, address[0]};
    if (!(is_load ? space.load(good[0], n, data) : space.store(good[0], n, data))) return false;
  } else {
    for (unsigned d = 0; d < n; ++d) {
      if (!wave.port->check(address[d], good[d], 4, op.access(), *wave.fault)) return false;
    }
    for (unsigned d = 0; d < n; ++d) {
      GlobalSpace space{wave, inst, address[d]};
      if (!(is_load ? space.load(good[d], 1, data + d) : space.store(good[d], 1, data + d))) return false;
    }
  }
  if (is_load) {
    for (unsigned d = 0; d < n; ++d) for_lanes(exec & ~good[d], [&](unsigned l) { data[d][l] = 0; });
  }
  return true;
}

bool small_load(Wave& wave, const Inst& inst, const MemOp& op, const Access& access, std::uint64_t exec, std::uint32_t* out) {
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t raw[kLanes] = {};
  const std::uint64_t good = access.place(exec, 0, address);
  GlobalSpace space{wave, inst, address};
  if (!space.load_small(good, op.bytes, raw)) return false;
  put_small(op, exec, raw, out);
  return true;
}

bool run(Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec) {
  const bool typed = op.kind == MemKind::load_format || op.kind == MemKind::store_format;
  const Access access(wave, inst, !typed);
  switch (op.kind) {
  case MemKind::load:
  case MemKind::load_small: {
    if (!inst.lds) {
      const Rows out = rows(wave, inst.dst);
      return op.kind == MemKind::load ? dwords(wave, inst, op, access, exec, out) : small_load(wave, inst, op, access, exec, out[0]);
    }
    alignas(64) std::uint32_t data[4][kLanes] = {};
    if (!(op.kind == MemKind::load ? dwords(wave, inst, op, access, exec, data) : small_load(wave, inst, op, access, exec, data[0]))) return false;
    return load_to_lds(wave, inst, op, exec, data);
  }
  case MemKind::store: return dwords(wave, inst, op, access, exec, rows(wave, inst.src[1]));
  case MemKind::store_small:
  case MemKind::atomic: {
    alignas(64) std::uint64_t address[kLanes];
    const std::uint64_t good = access.place(exec, 0, address);
    GlobalSpace space{wave, inst, address};
    if (good != 0 && !perform(space, wave, inst, op, good)) return false;
    if (op.kind == MemKind::atomic && inst.dst.kind != isa::OperandKind::none) {
      const Rows out = rows(wave, inst.dst);
      for (unsigned d = 0; d < op.dwords(); ++d) for_lanes(exec & ~good, [&](unsigned l) { out[d][l] = 0; });
    }
    return true;
  }
  default: return false;
  }
}

} // namespace

Next buffer(Wave& wave, const Inst& inst) {
  const std::uint64_t exec = wave.exec();
  if (exec == 0) return Next::fallthrough;
  return run(wave, inst, *static_cast<const MemOp*>(inst.kernel), exec) ? Next::fallthrough : raise_memory_fault(wave, inst);
}

} // namespace aql::sim::mem
