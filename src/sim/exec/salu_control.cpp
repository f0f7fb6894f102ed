// SOPP: branches, waits, messages, traps, and the end of the program. Spec: CDNA3 and CDNA4 ISA guides, chapter 12.5.
// Waits are no-ops because memory completes at issue; messages and performance counters have no listener here.

#include <bit>

#include "sim/exec/code_cache.hpp"
#include "sim/exec/salu.hpp"

namespace aql::sim::salu {
namespace {

constexpr std::uint32_t kGprIdxEn = 1u << 27;

Next nop(Wave&, const Inst&) { return Next::fallthrough; }
Next endpgm(Wave&, const Inst&) { return Next::end; }
Next jump(Wave& w, const Inst& i) { return branch(w, i); }

enum class When { scc0, scc1, vccz, vccnz, execz, execnz };
template <When Condition>
Next cbranch(Wave& w, const Inst& i) {
  bool taken = false;
  if constexpr (Condition == When::scc0) taken = w.scc == 0;
  if constexpr (Condition == When::scc1) taken = w.scc != 0;
  if constexpr (Condition == When::vccz) taken = w.vcc() == 0;
  if constexpr (Condition == When::vccnz) taken = w.vcc() != 0;
  if constexpr (Condition == When::execz) taken = w.exec() == 0;
  if constexpr (Condition == When::execnz) taken = w.exec() != 0;
  return taken ? branch(w, i) : Next::fallthrough;
}

// Debug conditions are STATUS bits 20 (user) and 21 (system); only a debugger sets them.
template <bool User, bool System, bool Both>
Next cbranch_cdbg(Wave& w, const Inst& i) {
  const bool user = ((w.status >> 20) & 1u) != 0, system = ((w.status >> 21) & 1u) != 0;
  const bool taken = Both ? user && system : (User && user) || (System && system);
  return taken ? branch(w, i) : Next::fallthrough;
}

Next barrier(Wave&, const Inst&) { return Next::barrier; }

Next sleep(Wave& w, const Inst& i) {
  w.sleep_hint = i.imm & 0x7fu;
  return Next::yield;
}

Next setkill(Wave&, const Inst& i) { return (i.imm & 1u) != 0 ? Next::end : Next::fallthrough; }

Next sethalt(Wave& w, const Inst& i) {
  if ((i.imm & 1u) == 0) return Next::fallthrough;
  return raise_fault(w, i, Errc::exception, "s_sethalt: the wave halted itself, and there is no debugger to let it go on");
}

Next setprio(Wave& w, const Inst& i) {
  w.status = (w.status & ~0x18u) | (i.imm & 3u) << 3; // STATUS.USER_PRIO
  return Next::fallthrough;
}

// Other messages are for graphics, debuggers and trap handlers.
Next sendmsg(Wave& w, const Inst& i) {
  constexpr std::uint32_t kMsgInterrupt = 1;
  if ((i.imm & 0xfu) == kMsgInterrupt && w.dispatch->interrupt != nullptr) w.dispatch->interrupt(w.dispatch->interrupt_arg);
  return Next::fallthrough;
}

Next sendmsghalt(Wave& w, const Inst& i) {
  return raise_fault(w, i, Errc::exception, "s_sendmsghalt: the wave halted itself, and there is no debugger to let it go on");
}

// Trap ids of the HSA ABI: 2 llvm.trap, 3 llvm.debugtrap (passed over when no debugger is attached).
Next trap(Wave& w, const Inst& i) {
  const unsigned id = i.imm & 0xffu;
  if (id == 3) return Next::fallthrough;
  std::string reason = "s_trap " + std::to_string(id);
  if (id == 2) reason += ": the program gave up (llvm.trap, abort or a failed assertion)";
  else if (id == 0) reason += ": reserved for the hardware";
  else reason += ": no trap handler takes this trap";
  return raise_fault(w, i, Errc::exception, std::move(reason));
}

Next icache_inv(Wave& w, const Inst& i) {
  w.code_generation = w.code->begin_dispatch();
  return reload(w, i);
}

Next set_gpr_idx_off(Wave& w, const Inst& i) {
  w.mode.bits &= ~kGprIdxEn;
  return reload(w, i);
}

Next set_gpr_idx_mode(Wave& w, const Inst& i) {
  w.sgpr[kM0] = (w.sgpr[kM0] & ~0xf000u) | (i.imm & 15u) << 12;
  return Next::fallthrough;
}

Next not_compute(Wave& w, const Inst& i) {
  return raise_fault(w, i, Errc::unsupported, std::string(i.info->mnemonic) + " is not part of compute: it ends a pixel shader");
}

// MODE.CSP, bits 31:29: entries of 4 SGPRs on the branch stack, { exec, pc } each.
unsigned depth(const Wave& w) { return w.mode.bits >> 29; }
void set_depth(Wave& w, unsigned n) { w.mode.bits = (w.mode.bits & 0x1fffffffu) | n << 29; }

} // namespace

Next fork(Wave& w, const Inst& i, std::uint64_t mask, std::uint64_t target) {
  const std::uint64_t exec = w.exec(), pass = mask & exec, fail = ~mask & exec, next = i.pc + i.size_bytes;
  if (pass == exec) {
    w.pc = target;
    return Next::jump;
  }
  if (fail == exec) return Next::fallthrough;
  const unsigned at = depth(w) * 4;
  const bool run_fail_first = std::popcount(fail) < std::popcount(pass);
  w.set_exec(run_fail_first ? fail : pass);
  w.set_sgpr64(at, run_fail_first ? pass : fail);
  w.set_sgpr64(at + 2, run_fail_first ? target : next);
  set_depth(w, (depth(w) + 1) & 7u);
  w.pc = run_fail_first ? next : target;
  return Next::jump;
}

Next join(Wave& w, const Inst&, std::uint32_t saved_depth) {
  if (depth(w) == saved_depth) return Next::fallthrough; // both halves have been here
  set_depth(w, (depth(w) - 1) & 7u);
  const unsigned at = depth(w) * 4;
  w.set_exec(w.sgpr64(at));
  w.pc = w.sgpr64(at + 2);
  return Next::jump;
}

Handler bind_sopp(const Inst& i) {
  using isa::Op;
  switch (i.op) {
  case Op::s_nop: return nop;
  case Op::s_endpgm: return endpgm;
  case Op::s_branch: return jump;
  case Op::s_wakeup: return nop; // sleeping waves are woken by the scheduler anyway
  case Op::s_cbranch_scc0: return cbranch<When::scc0>;
  case Op::s_cbranch_scc1: return cbranch<When::scc1>;
  case Op::s_cbranch_vccz: return cbranch<When::vccz>;
  case Op::s_cbranch_vccnz: return cbranch<When::vccnz>;
  case Op::s_cbranch_execz: return cbranch<When::execz>;
  case Op::s_cbranch_execnz: return cbranch<When::execnz>;
  case Op::s_barrier: return barrier;
  case Op::s_setkill: return setkill;
  case Op::s_waitcnt: return nop;
  case Op::s_sethalt: return sethalt;
  case Op::s_sleep: return sleep;
  case Op::s_setprio: return setprio;
  case Op::s_sendmsg: return sendmsg;
  case Op::s_sendmsghalt: return sendmsghalt;
  case Op::s_trap: return trap;
  case Op::s_icache_inv: return icache_inv;
  case Op::s_incperflevel: case Op::s_decperflevel: case Op::s_ttracedata: return nop;
  case Op::s_cbranch_cdbgsys: return cbranch_cdbg<false, true, false>;
  case Op::s_cbranch_cdbguser: return cbranch_cdbg<true, false, false>;
  case Op::s_cbranch_cdbgsys_or_user: return cbranch_cdbg<true, true, false>;
  case Op::s_cbranch_cdbgsys_and_user: return cbranch_cdbg<true, true, true>;
  case Op::s_endpgm_saved: return endpgm;
  case Op::s_set_gpr_idx_off: return set_gpr_idx_off;
  case Op::s_set_gpr_idx_mode: return set_gpr_idx_mode;
  case Op::s_endpgm_ordered_ps_done: return not_compute;
  default: return nullptr;
  }
}

} // namespace aql::sim::salu
