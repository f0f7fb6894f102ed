#pragma once
// A decoded instruction as assembly text, in LLVM's syntax, for traces, faults and listings.
// Thread safety: pure.

#include <cstdint>
#include <string>

#include "sim/isa/inst.hpp"

namespace aql::sim::isa {

// "v_add_f32_e32 v0, 1.0, v1". `pc`, if not 0, adds the target of a direct branch: "s_branch 4 // 0x7f0000000014".
std::string disassemble(const Inst& inst, Arch arch, std::uint64_t pc = 0);

// One register or tuple: "v[0:1]", "a3", "s[4:7]", "vcc", "exec_lo", "m0"; constants as the assembler writes them.
struct OperandSpec;
std::string operand_text(const Operand& operand, OperandSpec spec);

// "hwreg(HW_REG_MODE, 0, 8)" for the simm16 of s_getreg/s_setreg.
std::string hwreg_text(std::uint32_t simm16, Arch arch);

} // namespace aql::sim::isa
