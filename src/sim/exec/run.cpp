// The loop that runs one wave, and faults raised by instructions.

#include <algorithm>
#include <cstring>

#include "sim/exec/code_cache.hpp"
#include "sim/exec/exec.hpp"
#include "sim/exec/trace.hpp"
#include "sim/isa/disasm.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {
namespace {

// MODE bits that change what other instructions do: such waves run on the slow loop.
constexpr std::uint32_t kModeVskip = 1u << 28, kModeGprIdx = 1u << 27;
constexpr std::uint32_t kModeSlow = kModeVskip | kModeGprIdx;

bool is_vector(const Inst& inst) { return inst.format >= isa::Format::vop1 && inst.format <= isa::Format::mtbuf; }
bool is_valu(const Inst& inst) { return inst.format >= isa::Format::vop1 && inst.format <= isa::Format::vop3px; }

Fault& storage(Wave& wave) {
  static thread_local Fault unwanted;
  return wave.fault != nullptr ? *wave.fault : unwanted;
}

Next fetch_fault(Wave& wave) {
  Fault& fault = storage(wave);
  fault.pc = wave.pc;
  fault.word_count = 0;
  if (fault.nearest.empty() && wave.port != nullptr) fault.nearest = wave.port->map().describe(fault.address);
  return Next::fault;
}

// Some instruction from here to the end of the block names registers that the wave does not have.
bool needs_care(const Wave& wave, const Inst& inst) { return inst.block_vgpr_top > wave.vgpr_count || inst.block_agpr_top > wave.agpr_count; }

bool has_registers(const Wave& wave, const Inst& inst) { return inst.vgpr_top <= wave.vgpr_count && inst.agpr_top <= wave.agpr_count; }

// Hardware would read v0 for a source and drop the instruction for a destination; nobody wants that.
Next register_fault(Wave& wave, const Inst& inst) {
  const bool acc = inst.vgpr_top <= wave.vgpr_count;
  return raise_fault(wave, inst, Errc::illegal_instruction,
                     std::string(acc ? "a" : "v") + std::to_string((acc ? inst.agpr_top : inst.vgpr_top) - 1) + " is named, but the wave has only " +
                         std::to_string(acc ? wave.agpr_count : wave.vgpr_count) + (acc ? " accumulation" : " vector") + " registers");
}

// GPR-index mode: M0[7:0] is added to vector register numbers, M0[15:12] says to which (src0, src1, src2, dst).
Next run_indexed(Wave& wave, const Inst& inst) {
  Inst moved = inst;
  const std::uint32_t m0 = wave.sgpr[kM0], offset = m0 & 0xff, enable = m0 >> 12;
  const auto shift = [&](isa::Operand& o, unsigned bit) {
    if (o.kind != isa::OperandKind::vgpr) return true;
    if (((enable >> bit) & 1u) != 0) o.index = static_cast<std::uint16_t>(o.index + offset);
    return o.index + o.width <= wave.vgpr_count;
  };
  const isa::OpInfo& info = *inst.info;
  for (unsigned n = 0; n < 3; ++n) {
    if (info.src[n].role != isa::Role::tied && !shift(moved.src[n], n)) moved.src[n].index = 0; // an out-of-range source reads v0
  }
  if (!shift(moved.dst, 3)) return Next::fallthrough; // an out-of-range destination: nothing is written
  for (unsigned n = 0; n < 4; ++n) {
    if (info.src[n].role == isa::Role::tied) moved.src[n] = moved.dst;
  }
  bind(moved, wave.dispatch->arch);
  return moved.handler(wave, moved);
}

// One instruction at a time, with everything that may be switched on. Next::jump: nothing of that is needed any more.
Next run_slow(Wave& wave, CodeCache::Page*& page, std::uint64_t& generation, std::uint32_t& left) {
  TraceSink* trace = wave.dispatch->trace;
  FidelityCounters* fidelity = wave.dispatch->fidelity;
  for (; left != 0; --left) {
    const Inst* inst = wave.code->find(page, wave.pc, generation, storage(wave));
    if (inst == nullptr) return fetch_fault(wave);
    const std::uint32_t mode = wave.mode.bits & kModeSlow;
    if (trace == nullptr && fidelity == nullptr && mode == 0 && !needs_care(wave, *inst)) return Next::jump;
    if (trace != nullptr) trace->before(wave, *inst);
    Next next;
    if ((mode & kModeVskip) != 0 && is_vector(*inst)) next = Next::fallthrough;
    else if ((mode & kModeGprIdx) != 0 && is_valu(*inst)) next = run_indexed(wave, *inst);
    else if (!has_registers(wave, *inst)) next = register_fault(wave, *inst);
    else next = inst->handler(wave, *inst);
    if (next == Next::fault) {
      wave.pc = inst->pc;
    } else {
      ++wave.instructions;
      if (fidelity != nullptr && inst->info != nullptr) fidelity->count[static_cast<std::size_t>(inst->op)].fetch_add(1, std::memory_order_relaxed);
      if (next == Next::end) wave.pc = inst->pc;
      else if (next != Next::jump) wave.pc = inst->pc + inst->size_bytes;
    }
    if (trace != nullptr) trace->after(wave, *inst, next);
    if (next != Next::fallthrough && next != Next::jump) return next;
    if (wave.code_generation > generation) {
      generation = wave.code_generation;
      page = nullptr;
    }
  }
  return Next::fallthrough;
}

} // namespace

Next raise_fault(Wave& wave, const Inst& inst, Errc code, std::string reason) {
  Fault& fault = storage(wave);
  fault.code = code;
  fault.reason = std::move(reason);
  return raise_memory_fault(wave, inst);
}

Next raise_memory_fault(Wave& wave, const Inst& inst) {
  Fault& fault = storage(wave);
  fault.pc = inst.pc;
  std::memcpy(fault.words, inst.words, sizeof fault.words);
  fault.word_count = inst.size_bytes / 4u;
  fault.instruction = isa::disassemble(inst, wave.dispatch->arch, inst.pc);
  return Next::fault;
}

Next run_wave(Wave& wave, std::uint32_t budget) {
  const CodeCache::Reader reading(*wave.code);
  CodeCache& code = *wave.code;
  CodeCache::Page* page = nullptr;
  std::uint64_t generation = std::max(wave.dispatch->code_generation, wave.code_generation);
  const bool watched = wave.dispatch->trace != nullptr || wave.dispatch->fidelity != nullptr;
  std::uint32_t left = budget;
  for (;;) {
    if (left == 0) return Next::fallthrough;
    const Inst* inst = code.find(page, wave.pc, generation, storage(wave));
    if (inst == nullptr) return fetch_fault(wave);
    if (watched || (wave.mode.bits & kModeSlow) != 0 || needs_care(wave, *inst)) {
      const Next next = run_slow(wave, page, generation, left);
      if (next != Next::jump) return next;
      continue;
    }

    const std::uint32_t start = left;
    Next next = Next::fallthrough;
    do {
      next = inst->handler(wave, *inst);
      if (next == Next::fallthrough) [[likely]] {
        ++inst;
        --left;
        continue;
      }
      if (next != Next::jump) break;
      --left;
      if ((wave.mode.bits & kModeSlow) != 0) break;
      if (wave.code_generation > generation) { // s_icache_inv
        generation = wave.code_generation;
        page = nullptr;
      }
      inst = code.find(page, wave.pc, generation, storage(wave));
      if (inst == nullptr) {
        wave.instructions += start - left;
        return fetch_fault(wave);
      }
      if (needs_care(wave, *inst)) break;
    } while (left != 0);
    wave.instructions += start - left;

    switch (next) {
    case Next::fallthrough: // budget used up
      wave.pc = inst->pc;
      return next;
    case Next::jump: // budget used up after a jump, or something that needs the slow loop
      if (left == 0) return Next::fallthrough;
      break;
    case Next::fault:
      wave.pc = inst->pc;
      return next;
    case Next::end:
      ++wave.instructions;
      wave.pc = inst->pc;
      return next;
    case Next::yield:
    case Next::barrier:
      ++wave.instructions;
      wave.pc = inst->pc + inst->size_bytes;
      return next;
    }
  }
}

} // namespace aql::sim
