#include "inst_trace.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "sim/exec/wave.hpp"
#include "sim/isa/disasm.hpp"

namespace aql::tool {
namespace {

using sim::isa::OperandKind;

// Registers as they were before the instruction of this thread.
struct Snapshot {
  std::array<std::uint32_t, sizeof(sim::Wave::sgpr) / sizeof(std::uint32_t)> sgpr;
  std::uint32_t scc;
  std::uint64_t pc;
};
thread_local Snapshot t_before;

constexpr unsigned kLanesShown = 4;

std::string sgpr_name(unsigned i) {
  switch (i) {
  case sim::kFlatScratchLo: return "flat_scratch_lo";
  case sim::kFlatScratchHi: return "flat_scratch_hi";
  case sim::kXnackMaskLo: return "xnack_mask_lo";
  case sim::kXnackMaskHi: return "xnack_mask_hi";
  case sim::kM0: return "m0";
  default: return i < sim::kFlatScratchLo ? fmt::format("s{}", i) : fmt::format("ttmp{}", i - sim::kTtmp0);
  }
}

void append_vgprs(std::string& line, const sim::Wave& wave, const sim::isa::Operand& dst) {
  const bool acc = dst.kind == OperandKind::agpr;
  const unsigned limit = acc ? wave.agpr_count : wave.vgpr_count;
  for (unsigned r = 0; r < dst.width && dst.index + r < limit; ++r) {
    if (r == 4) { // MFMA results: the rest is more of the same
      line += fmt::format("  ... {}{}", acc ? 'a' : 'v', dst.index + dst.width - 1);
      return;
    }
    const auto& reg = wave.vgpr[(acc ? wave.agpr_base : 0) + dst.index + r];
    line += fmt::format("  {}{} =", acc ? 'a' : 'v', dst.index + r);
    unsigned shown = 0;
    for (unsigned lane = 0; lane < sim::kLanes && shown < kLanesShown; ++lane) {
      if (((wave.exec() >> lane) & 1) == 0) continue;
      line += fmt::format(" {:#x}", reg.lane[lane]);
      ++shown;
    }
    if (static_cast<unsigned>(std::popcount(wave.exec())) > shown) line += " ...";
  }
}

} // namespace

void InstTrace::before(const sim::Wave& wave, const sim::Inst&) {
  std::memcpy(t_before.sgpr.data(), wave.sgpr, sizeof wave.sgpr);
  t_before.scc = wave.scc;
  t_before.pc = wave.pc;
}

void InstTrace::after(const sim::Wave& wave, const sim::Inst& inst, sim::Next next) {
  const auto& id = wave.group->id;
  std::string line = fmt::format("({},{},{}).{} {:x}  {:<48}", id[0], id[1], id[2], wave.index_in_group, t_before.pc, sim::isa::disassemble(inst, wave.dispatch->arch, t_before.pc));
  const bool was_full = t_before.sgpr[sim::kExecLo] != 0 || t_before.sgpr[sim::kExecHi] != 0;
  if (was_full && (inst.dst.kind == OperandKind::vgpr || inst.dst.kind == OperandKind::agpr)) append_vgprs(line, wave, inst.dst);
  for (unsigned i = 0; i < 128; ++i) {
    const bool pair = i == sim::kVccLo || i == sim::kExecLo;
    if (pair) {
      std::uint64_t old = 0;
      std::memcpy(&old, &t_before.sgpr[i], 8);
      if (old != wave.sgpr64(i)) line += fmt::format("  {} = {:#x}", i == sim::kVccLo ? "vcc" : "exec", wave.sgpr64(i));
      ++i;
      continue;
    }
    if (t_before.sgpr[i] != wave.sgpr[i]) line += fmt::format("  {} = {:#x}", sgpr_name(i), wave.sgpr[i]);
  }
  if (t_before.scc != wave.scc) line += fmt::format("  scc = {}", wave.scc);
  if (next == sim::Next::fault) line += "  FAULT";
  line += '\n';
  const std::lock_guard lock{mutex_};
  std::fwrite(line.data(), 1, line.size(), out_);
}

} // namespace aql::tool
