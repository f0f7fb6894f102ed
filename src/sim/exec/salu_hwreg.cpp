// Hardware registers of s_getreg and s_setreg. Ids and fields: LLVM's AMDGPU operand syntax ("hwreg") and the ISA guides'
// chapters on wave state and access instructions.

#include "sim/exec/salu.hpp"

namespace aql::sim::salu {
namespace {

enum Hwreg : unsigned {
  kMode = 1, kStatus = 2, kTrapsts = 3, kHwId = 4, kGprAlloc = 5, kLdsAlloc = 6, kIbSts = 7, kPcLo = 8, kPcHi = 9,
  kInstDw0 = 10, kInstDw1 = 11, kShMemBases = 15, kTbaLo = 16, kTbaHi = 17, kTmaLo = 18, kTmaHi = 19, kXccId = 20,
};

std::uint32_t status(const Wave& w) {
  constexpr std::uint32_t kExecz = 1u << 9, kVccz = 1u << 10, kInTg = 1u << 11, kValid = 1u << 16;
  std::uint32_t bits = w.status | kValid | (w.scc & 1u);
  if (w.exec() == 0) bits |= kExecz;
  if (w.vcc() == 0) bits |= kVccz;
  if (w.group != nullptr && w.group->wave_count > 1) bits |= kInTg;
  return bits;
}

// Wave slot [3:0], SIMD [5:4], CU [11:8], SE [15:13].
std::uint32_t hw_id(const Wave& w) {
  const std::uint32_t cu = w.group != nullptr ? w.group->cu_id : 0, se = w.group != nullptr ? w.group->se_id : 0;
  return (w.hw_slot & 7u) | ((w.hw_slot >> 3) & 3u) << 4 | (cu & 15u) << 8 | (se & 7u) << 13;
}

// Vector registers in eights, the AccVGPR offset in fours, scalar registers in sixteens, each less one (the fields as Linux's trap
// handler for these targets reads them). The bases are not modelled.
std::uint32_t gpr_alloc(const Wave& w) {
  const std::uint32_t vgprs = w.agpr_count != 0 ? w.agpr_base + w.agpr_count : w.vgpr_count;
  const auto less_one = [](std::uint32_t n, std::uint32_t granule) { return n == 0 ? 0 : (n - 1) / granule; };
  return less_one(vgprs, 8) << 6 | less_one(w.agpr_base, 4) << 12 | less_one(w.sgpr_count, 16) << 24;
}

// Size in units of 64 dwords.
std::uint32_t lds_alloc(const Wave& w) { return w.group != nullptr ? ((w.group->lds_bytes + 255) / 256 & 0x3ffu) << 12 : 0; }

} // namespace

std::uint32_t read_hwreg(const Wave& w, const Inst& inst, unsigned id) {
  switch (id) {
  case kMode: return w.mode.bits;
  case kStatus: return status(w);
  case kTrapsts: return w.trapsts;
  case kHwId: return hw_id(w);
  case kGprAlloc: return gpr_alloc(w);
  case kLdsAlloc: return lds_alloc(w);
  case kIbSts: return 0; // nothing is outstanding: memory completes at issue
  case kPcLo: return static_cast<std::uint32_t>(inst.pc + 4);
  case kPcHi: return static_cast<std::uint32_t>((inst.pc + 4) >> 32);
  case kInstDw0: return inst.words[0];
  case kInstDw1: return inst.words[1];
  case kShMemBases: return static_cast<std::uint32_t>(w.dispatch->private_aperture >> 48) | static_cast<std::uint32_t>(w.dispatch->shared_aperture >> 48) << 16;
  case kXccId: return w.dispatch->arch == Arch::gfx90a || w.group == nullptr ? 0 : w.group->xcc_id & 15u;
  default: return 0; // trap handler addresses and what has no register there
  }
}

bool write_hwreg(Wave& w, unsigned id, std::uint32_t value, std::uint32_t mask) {
  constexpr std::uint32_t kModeDebug = 1u << 11;                 // privileged
  constexpr std::uint32_t kTrapstsUser = 0x1ffu | 0x3fu << 16;   // EXCP, EXCP_CYCLE
  if (id == kMode) {
    mask &= ~kModeDebug;
    w.mode.bits = (w.mode.bits & ~mask) | (value & mask);
    return true;
  }
  if (id == kTrapsts) {
    mask &= kTrapstsUser;
    w.trapsts = (w.trapsts & ~mask) | (value & mask);
    return true;
  }
  return false;
}

} // namespace aql::sim::salu
