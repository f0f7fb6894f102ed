// MUBUF and MTBUF: resources, addresses, range checking.
// CDNA3 and CDNA4 ISA guides, "Vector Memory Buffer Instructions": range checking depends on the kind of buffer:
//   private     add_tid and no index: none (what is unmapped still faults)
//   raw         no index, or no stride: the access has to end within num_records bytes, soffset counted and nothing swizzled
//   structured  index and stride: index against num_records
// Loads and stores of several dwords are checked dword by dword; formats and atomics all or nothing. That soffset counts (the
// guides compare with num_records - sgpr_offset; LLVM's description of the intrinsics excludes it) and that the last byte
// decides is what AMD's emulator rocjitsu does after gfx950 hardware (ROCm/rocm-systems #10928).
// An unaligned access to a swizzled buffer goes on in the next row: swizzling is of offsets, byte by byte, before base and soffset
// come in. LLVM builds on that for private memory (its feature unaligned-scratch-access, on for all of gfx9).
#include "sim/exec/mem_buffer.hpp"

#include <algorithm>
#include <array>

#include "sim/exec/mem_common.hpp"
#include "sim/exec/mem_format.hpp"
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
  std::uint64_t base = 0, soffset = 0; // base: with soffset
  bool structured = false, checked = true;
  alignas(64) std::uint32_t index[kLanes];
  alignas(64) std::uint32_t offset[kLanes];

  Access(Wave& wave, const Inst& inst, bool tid_stride) : resource(BufferResource::from(&wave.sgpr[inst.src[2].index], tid_stride)) {
    soffset = scalar32(wave, inst.src[3]);
    base = resource.base + soffset;
    structured = inst.idxen && resource.stride != 0;
    if (inst.format == isa::Format::mtbuf) resource.unbound = false; // the format comes from the instruction
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

  // Lanes of `exec` of whose access `bytes` from byte `add` on are inside the buffer, and where they lie.
  std::uint64_t place(std::uint64_t exec, std::uint32_t add, std::uint32_t bytes, std::uint64_t* address) const {
    std::uint64_t good = 0;
    const std::uint64_t end = soffset + add + bytes;
    if (!resource.swizzle && !resource.add_tid && !structured) { // raw, the common case
      const std::uint64_t stride = resource.stride;
      for (unsigned l = 0; l < kLanes; ++l) {
        address[l] = base + index[l] * stride + offset[l] + add;
        good |= std::uint64_t{offset[l] + end <= resource.num_records ? 1u : 0u} << l;
      }
      return exec & good;
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      address[l] = base + resource.place(index[l], offset[l] + add);
      const bool in = !checked || (structured ? index[l] < resource.num_records : offset[l] + end <= resource.num_records);
      good |= std::uint64_t{in ? 1u : 0u} << l;
    }
    return exec & good;
  }

  // Dwords of one lane lie together.
  [[nodiscard]] bool contiguous() const noexcept { return !resource.swizzle; }
  // A piece of `bytes`, at most a dword, crosses from one row of a swizzled buffer to the next.
  [[nodiscard]] bool torn(std::uint64_t exec, std::uint32_t bytes) const noexcept {
    if (!resource.swizzle || bytes == 1) return false;
    std::uint32_t low = 0;
    for (unsigned l = 0; l < kLanes; ++l) low |= offset[l];
    if (low % 4 == 0) return false;
    bool found = false;
    for_lanes(exec, [&](unsigned l) { found = found || offset[l] % 4 + bytes > 4; });
    return found;
  }
  // No two lanes touch the same byte: swizzled private memory of whole waves.
  [[nodiscard]] bool lanes_apart() const noexcept { return resource.swizzle && resource.add_tid && !structured && resource.index_stride == kLanes; }
};

constexpr MemOp kOneDword{.kind = MemKind::load, .bytes = 4};

// Dwords of lanes at addresses of their own. Where lanes may overlap the highest one is last, with all its dwords.
bool pieces(Wave& wave, const Inst& inst, const Access& access, bool is_load, unsigned words, const std::uint64_t (*address)[kLanes], const std::uint64_t* good, Rows data) {
  const FaultAccess kind = is_load ? FaultAccess::read : FaultAccess::write;
  for (unsigned w = 0; w < words; ++w) {
    if (!wave.port->check(address[w], good[w], 4, kind, *wave.fault)) return false;
  }
  if (is_load || access.lanes_apart()) {
    for (unsigned w = 0; w < words; ++w) {
      GlobalSpace space{wave, inst, address[w]};
      if (!(is_load ? space.load(good[w], 1, data + w) : space.store(good[w], 1, data + w))) return false;
    }
    return true;
  }
  for (std::uint64_t lane = 1; lane != 0; lane <<= 1) {
    for (unsigned w = 0; w < words; ++w) {
      GlobalSpace space{wave, inst, address[w]};
      if ((good[w] & lane) != 0 && !space.store(lane, 1, data + w)) return false;
    }
  }
  return true;
}

// The same byte by byte, for torn accesses. `good`: by dword.
bool torn_pieces(Wave& wave, const Inst& inst, const Access& access, bool is_load, unsigned bytes, const std::uint64_t* good, Rows data) {
  alignas(64) std::uint64_t address[16][kLanes];
  alignas(64) std::uint32_t byte[kLanes];
  for (unsigned n = 0; n < bytes; ++n) {
    access.place(good[n / 4], n, 1, address[n]);
    if (!wave.port->check(address[n], good[n / 4], 1, is_load ? FaultAccess::read : FaultAccess::write, *wave.fault)) return false;
  }
  if (is_load) {
    for (unsigned n = 0; n < bytes; ++n) {
      GlobalSpace space{wave, inst, address[n]};
      if (!space.load_small(good[n / 4], 1, byte)) return false;
      for_lanes(good[n / 4], [&](unsigned l) { data[n / 4][l] = (n % 4 == 0 ? 0 : data[n / 4][l]) | byte[l] << (n % 4 * 8); });
    }
    return true;
  }
  const auto store = [&](std::uint64_t lanes) {
    for (unsigned n = 0; n < bytes; ++n) {
      for (unsigned l = 0; l < kLanes; ++l) byte[l] = data[n / 4][l] >> (n % 4 * 8);
      GlobalSpace space{wave, inst, address[n]};
      if ((good[n / 4] & lanes) != 0 && !space.store_small(good[n / 4] & lanes, 1, byte)) return false;
    }
    return true;
  };
  if (access.lanes_apart()) return store(~std::uint64_t{0});
  for (std::uint64_t lane = 1; lane != 0; lane <<= 1) {
    if (!store(lane)) return false;
  }
  return true;
}

// Dwords of a lane may be in or out of range one by one, or scattered by swizzling.
bool dwords(Wave& wave, const Inst& inst, const MemOp& op, const Access& access, std::uint64_t exec, Rows data) {
  const bool is_load = op.kind != MemKind::store;
  const unsigned n = op.dwords();
  alignas(64) std::uint64_t address[4][kLanes];
  std::uint64_t good[4];
  bool together = access.contiguous();
  for (unsigned d = 0; d < n; ++d) {
    good[d] = access.place(exec, d * 4, 4, address[d]);
    together = together && good[d] == good[0];
  }
  if (access.torn(exec, 4)) {
    if (!torn_pieces(wave, inst, access, is_load, op.bytes, good, data)) return false;
  } else if (together) {
    GlobalSpace space{wave, inst, address[0]};
    if (!(is_load ? space.load(good[0], n, data) : space.store(good[0], n, data))) return false;
  } else if (!pieces(wave, inst, access, is_load, n, address, good, data)) {
    return false;
  }
  if (is_load) {
    for (unsigned d = 0; d < n; ++d) for_lanes(exec & ~good[d], [&](unsigned l) { data[d][l] = 0; });
  }
  return true;
}

bool small_load(Wave& wave, const Inst& inst, const MemOp& op, const Access& access, std::uint64_t exec, std::uint32_t* out) {
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t raw[kLanes] = {};
  const std::uint64_t good = access.place(exec, 0, op.bytes, address);
  GlobalSpace space{wave, inst, address};
  if (!(access.torn(exec, op.bytes) ? torn_pieces(wave, inst, access, true, op.bytes, &good, &raw) : space.load_small(good, op.bytes, raw))) return false;
  put_small(wave, op, exec, raw, out);
  return true;
}

// Typed elements. In or out of range as a whole; a swizzled element is in pieces of a dword.
bool typed(Wave& wave, const Inst& inst, const MemOp& op, const Access& access, std::uint64_t exec) {
  const bool from_instruction = inst.format == isa::Format::mtbuf;
  const DataFormat& format = data_format(from_instruction ? inst.aux16 & 15u : access.resource.data_format);
  const auto number = static_cast<NumberFormat>(from_instruction ? (inst.aux16 >> 4) & 7u : access.resource.number_format);
  const bool is_load = op.kind == MemKind::load_format, small = format.bytes < 4;
  const unsigned words = (format.bytes + 3u) / 4;
  alignas(64) std::uint64_t address[4][kLanes];
  alignas(64) std::uint32_t memory[4][kLanes] = {};
  // MTBUF takes components as they are; MUBUF selects them as the resource says.
  std::uint8_t select[4] = {4, 5, 6, 7};
  if (!from_instruction) std::copy_n(access.resource.select, 4, select);

  // In range as a whole, or not at all.
  std::uint64_t good = exec;
  const bool torn = access.torn(exec, std::min<std::uint32_t>(4, format.bytes));
  for (unsigned w = 0; w < words; ++w) good &= access.place(exec, w * 4, std::min(4u, format.bytes - w * 4u), address[w]);
  if (words == 0) good = 0;
  const std::uint64_t all_good[4] = {good, good, good, good};
  GlobalSpace space{wave, inst, address[0]};
  const auto transfer = [&] {
    if (good == 0) return true;
    if (torn) return torn_pieces(wave, inst, access, is_load, format.bytes, all_good, memory);
    if (small) return is_load ? space.load_small(good, format.bytes, memory[0]) : space.store_small(good, format.bytes, memory[0]);
    if (access.contiguous()) return is_load ? space.load(good, words, memory) : space.store(good, words, memory);
    return pieces(wave, inst, access, is_load, words, address, all_good, memory);
  };

  if (is_load) {
    if (!transfer()) return false;
    alignas(64) std::uint32_t lds_data[4][kLanes];
    const Rows out = inst.lds ? lds_data : rows(wave, inst.dst);
    const std::uint32_t kept = wave.dispatch->sramecc ? 0 : 0xffffffffu;
    for_lanes(exec, [&](unsigned l) {
      const auto values = decode_element({memory[0][l], memory[1][l], memory[2][l], memory[3][l]}, format, number);
      const bool in = ((good >> l) & 1) != 0;
      for (unsigned c = 0; c < op.components; ++c) {
        const std::uint32_t one = is_integer(number) ? 1u : 0x3f800000u;
        std::uint32_t v = select[c] >= 4 ? (in ? values[select[c] - 4u] : 0) : select[c] == 1 ? one : 0;
        if (!op.d16) {
          out[c][l] = v;
          continue;
        }
        v = to_d16(v, number);
        std::uint32_t& reg = out[c / 2][l];
        const bool high = op.half == Half::high || (c & 1u) != 0;
        const std::uint32_t other = (c & 1u) != 0 ? 0xffffffffu : kept; // the odd component joins the even one before it
        reg = high ? (reg & other & 0xffffu) | v << 16 : (reg & other & 0xffff0000u) | v;
      }
    });
    return !inst.lds || load_to_lds(wave, inst, kOneDword, exec, lds_data);
  }

  const Rows in = rows(wave, inst.src[1]);
  for_lanes(good, [&](unsigned l) {
    std::array<std::uint32_t, 4> values{};
    for (unsigned c = 0; c < op.components; ++c) {
      if (select[c] < 4) continue; // a constant takes nothing from the register
      std::uint32_t v = in[op.d16 ? c / 2 : c][l];
      if (op.d16) v = from_d16(op.half == Half::high || (c & 1u) != 0 ? v >> 16 : v, number);
      values[select[c] - 4u] = v;
    }
    const auto element = encode_element(values, format, number);
    for (unsigned w = 0; w < words; ++w) memory[w][l] = element[w];
  });
  return transfer();
}

// LDS -> memory (gfx90a). Lanes whose LDS address is out of range do nothing.
bool store_lds(Wave& wave, const Inst& inst, const Access& access, std::uint64_t exec) {
  alignas(64) std::uint64_t from[kLanes], address[kLanes];
  alignas(64) std::uint32_t data[1][kLanes];
  lds_dma_addresses(wave, inst, 1, from);
  LdsSpace lds{wave, from};
  const std::uint64_t good = lds.in_range(access.place(exec, 0, 4, address), 4);
  lds.load(good, 1, data);
  if (access.torn(exec, 4)) return torn_pieces(wave, inst, access, false, 4, &good, data);
  GlobalSpace space{wave, inst, address};
  return space.store(good, 1, data);
}

bool run(Wave& wave, const Inst& inst, const MemOp& op, std::uint64_t exec) {
  const bool is_typed = op.kind == MemKind::load_format || op.kind == MemKind::store_format;
  const Access access(wave, inst, !is_typed);
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
  case MemKind::load_format:
  case MemKind::store_format: return typed(wave, inst, op, access, exec);
  case MemKind::store_lds: return store_lds(wave, inst, access, exec);
  case MemKind::store: return dwords(wave, inst, op, access, exec, rows(wave, inst.src[1]));
  case MemKind::store_small:
  case MemKind::atomic: {
    alignas(64) std::uint64_t address[kLanes];
    const std::uint64_t good = access.place(exec, 0, op.bytes, address);
    GlobalSpace space{wave, inst, address};
    if (op.kind == MemKind::store_small && access.torn(exec, op.bytes)) { // halves
      alignas(64) std::uint32_t half[1][kLanes];
      const std::uint32_t* in = rows(wave, inst.src[1])[0];
      for (unsigned l = 0; l < kLanes; ++l) half[0][l] = op.half == Half::high ? in[l] >> 16 : in[l];
      return torn_pieces(wave, inst, access, false, op.bytes, &good, half);
    }
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
