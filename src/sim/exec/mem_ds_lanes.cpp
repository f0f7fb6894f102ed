// DS instructions that move data between lanes: swizzle and the permutes, which touch no memory, and gfx950's matrix transpose
// loads. CDNA4 ISA guide, "DS_SWIZZLE_B32" to "DS_BPERMUTE_B32" and "MFMA Transpose Load from LDS".
#include <bit>

#include "sim/exec/mem_ds.hpp"

namespace aql::sim::mem {

namespace {

unsigned reverse5(unsigned v) noexcept { return (v & 1) << 4 | (v & 2) << 2 | (v & 4) | (v & 8) >> 2 | (v & 16) >> 4; }

// The lane that lane `i` reads, for a 16-bit swizzle pattern.
unsigned swizzle_source(unsigned pattern, unsigned i) noexcept {
  const unsigned group = i & 0x20u, n = i & 0x1fu, mask = pattern & 0x1fu;
  if (pattern >= 0xe000) return group | (reverse5(n) >> std::popcount(mask)) | (n & mask);
  if (pattern >= 0xc000) {
    const unsigned amount = (pattern >> 5) & 0x1fu, turned = ((pattern >> 10) & 1u) != 0 ? n - amount : n + amount;
    return group | (n & mask) | (turned & ~mask & 0x1fu);
  }
  if (pattern >= 0x8000) return (i & ~3u) | ((pattern >> (2 * (i & 3u))) & 3u);
  const unsigned or_mask = (pattern >> 5) & 0x1fu, xor_mask = (pattern >> 10) & 0x1fu;
  return group | (((n & mask) | or_mask) ^ xor_mask);
}

// Lane l gets the data of lane source(l): 0 if that lane is inactive.
template <class F>
void gather(std::uint64_t exec, const std::uint32_t* data, std::uint32_t* out, F&& source) {
  std::uint32_t result[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned from = source(l);
    result[l] = ((exec >> from) & 1) != 0 ? data[from] : 0;
  }
  for_lanes(exec, [&](unsigned l) { out[l] = result[l]; });
}

} // namespace

Next ds_swizzle(Wave& wave, const Inst& inst) {
  gather(wave.exec(), rows(wave, inst.src[0])[0], rows(wave, inst.dst)[0], [&](unsigned l) { return swizzle_source(inst.imm, l); });
  return Next::fallthrough;
}

Next ds_bpermute(Wave& wave, const Inst& inst) {
  const std::uint32_t* address = rows(wave, inst.src[0])[0];
  gather(wave.exec(), rows(wave, inst.src[1])[0], rows(wave, inst.dst)[0], [&](unsigned l) { return (address[l] + inst.imm) / 4 % kLanes; });
  return Next::fallthrough;
}

Next ds_permute(Wave& wave, const Inst& inst) {
  const std::uint64_t exec = wave.exec();
  const std::uint32_t *address = rows(wave, inst.src[0])[0], *data = rows(wave, inst.src[1])[0];
  std::uint32_t result[kLanes] = {};
  for_lanes(exec, [&](unsigned l) { result[(address[l] + inst.imm) / 4 % kLanes] = data[l]; }); // the highest lane wins
  std::uint32_t* out = rows(wave, inst.dst)[0];
  for_lanes(exec, [&](unsigned l) { out[l] = result[l]; });
  return Next::fallthrough;
}

// Each group of 16 lanes holds a matrix of 16 columns: lane by lane, `row` after `row`. Column i of it goes to lane i of the
// group, element e being row e. Rows are spread over 16 / elements-a-lane lanes. EXEC must be all ones (an inactive source
// lane gives zeros here, as for the permutes).
Next ds_transpose(Wave& wave, const Inst& inst) {
  const DsOp& op = ds_op(inst);
  const std::uint64_t exec = wave.exec();
  const unsigned dwords = op.mem.dwords(), bits = op.element_bits, elements = dwords * 32 / bits, lanes_a_row = 16 / elements;
  alignas(64) std::uint64_t address[kLanes];
  alignas(64) std::uint32_t data[4][kLanes] = {};
  ds_addresses(wave, inst, inst.imm, address);
  LdsSpace lds{wave, address};
  lds.load(lds.in_range(exec, op.mem.bytes), dwords, data);
  const auto element = [&](unsigned lane, unsigned n) {
    const unsigned at = n * bits, d = at / 32, shift = at % 32;
    const std::uint64_t pair = data[d][lane] | std::uint64_t{data[d + 1][lane]} << 32; // 6-bit elements cross dwords
    return (pair >> shift) & ((std::uint64_t{1} << bits) - 1);
  };
  const Rows out = rows(wave, inst.dst);
  for_lanes(exec, [&](unsigned l) {
    const unsigned group = l & ~15u, column = l & 15u;
    std::uint32_t result[3] = {};
    for (unsigned e = 0; e < elements; ++e) {
      const std::uint64_t v = element(group + e * lanes_a_row + column / elements, column % elements);
      const unsigned at = e * bits, shift = at % 32;
      result[at / 32] |= static_cast<std::uint32_t>(v << shift);
      if (shift + bits > 32) result[at / 32 + 1] |= static_cast<std::uint32_t>(v >> (32 - shift));
    }
    for (unsigned d = 0; d < dwords; ++d) out[d][l] = result[d];
  });
  return Next::fallthrough;
}

} // namespace aql::sim::mem
