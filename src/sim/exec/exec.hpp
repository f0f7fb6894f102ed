#pragma once
// Execution: code cache, binding of decoded instructions to handlers, and the loop that runs one wave.
// Thread safety: CodeCache may be used by several workers; decoding takes a lock, running takes none.

#include <cstdint>
#include <string>

#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"

namespace aql::sim {

// --- binding: each family fills handler and kernel of a decoded instruction. false: not mine / not implemented.
bool bind_salu(Inst& inst, Arch arch);     // SOP1 SOP2 SOPK SOPC SOPP SMEM   (src/sim/exec/salu_*.cpp, smem.cpp)
bool bind_valu(Inst& inst, Arch arch);     // VOP1 VOP2 VOPC VOP3 VOP3P except matrix ops (valu_*.cpp)
bool bind_memory(Inst& inst, Arch arch);   // FLAT GLOBAL SCRATCH MUBUF MTBUF DS          (mem_*.cpp)
bool bind_matrix(Inst& inst, Arch arch);   // MFMA, SMFMAC, v_accvgpr_*                  (matrix_*.cpp)

// Calls the binder of the instruction's family; an unimplemented opcode gets a handler that faults by name. Sets inst.handler.
void bind(Inst& inst, Arch arch);

// Fills wave.fault (code, reason, pc, words) and returns Next::fault. For handlers.
Next raise_fault(Wave& wave, const Inst& inst, Errc code, std::string reason);
// The same after a memory port has filled address, access, lane and reason of *wave.fault.
Next raise_memory_fault(Wave& wave, const Inst& inst);

// Runs at most `budget` instructions from wave.pc. Returns why it stopped, with wave.pc exact:
//   fallthrough = budget used up; yield / barrier = pc already advanced past the instruction; end; fault.
// Contract for handlers: the address of the running instruction is inst.pc, the next one's inst.pc + inst.size_bytes;
// wave.pc is not kept up to date inside the loop and is written only together with returning Next::jump.
Next run_wave(Wave& wave, std::uint32_t budget);

} // namespace aql::sim
