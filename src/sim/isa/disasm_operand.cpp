// Operands as text: registers, constants, hardware registers.

#include <cstdio>

#include "sim/isa/disasm.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim::isa {
namespace {

std::string hex(std::uint32_t v) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", v);
  return text;
}

std::string tuple(const char* prefix, unsigned index, unsigned width) {
  std::string text(prefix);
  if (width <= 1) return text + std::to_string(index);
  return text + '[' + std::to_string(index) + ':' + std::to_string(index + width - 1) + ']';
}

std::string sgpr_text(unsigned index, unsigned width) {
  constexpr const char* kLow[] = {"flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi", "vcc_lo", "vcc_hi"};
  constexpr const char* kPair[] = {"flat_scratch", "xnack_mask", "vcc"};
  if (index == kSgprSink) return tuple("ttmp", 0, width); // which one is lost: see destination_text
  if (index >= 102 && index < 108) {
    if (width == 1) return kLow[index - 102];
    if (width == 2) return kPair[(index - 102) / 2];
  }
  if (index >= 108 && index < 124) return tuple("ttmp", index - 108, width);
  if (index == 124) return "m0";
  if (index == 126) return width == 2 ? "exec" : "exec_lo";
  if (index == 127) return "exec_hi";
  return tuple("s", index, width);
}

std::string special_text(unsigned code) {
  switch (code) {
  case 235: return "src_shared_base";
  case 236: return "src_shared_limit";
  case 237: return "src_private_base";
  case 238: return "src_private_limit";
  case 239: return "src_pops_exiting_wave_id";
  case 251: return "src_vccz";
  case 252: return "src_execz";
  case 253: return "src_scc";
  default: return "?";
  }
}

std::string constant_text(const Operand& o, OperandSpec spec) {
  constexpr unsigned kLiteral = 255;
  if (o.index == kLiteral) return hex(spec.elem == Elem::f64 ? o.value_hi : bits_of(spec.elem) == 16 ? o.value & 0xffffu : o.value);
  const unsigned code = o.index;
  if (code >= 128 && code <= 192) return std::to_string(code - 128);
  if (code >= 193 && code <= 208) return std::to_string(192 - static_cast<int>(code));
  constexpr const char* kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (code >= 240 && code < 248) return kFloats[code - 240];
  if (code == 248) return bits_of(spec.elem) == 64 ? "0.15915494309189532" : "0.15915494";
  return std::to_string(o.value);
}

} // namespace

std::string operand_text(const Operand& o, OperandSpec spec) {
  switch (o.kind) {
  case OperandKind::none: return "off";
  case OperandKind::vgpr: return tuple("v", o.index, o.width);
  case OperandKind::agpr: return tuple("a", o.index, o.width);
  case OperandKind::sgpr: return sgpr_text(o.index, o.width);
  case OperandKind::special: return special_text(o.index);
  case OperandKind::constant: return constant_text(o, spec);
  }
  return "?";
}

std::string hwreg_text(std::uint32_t simm16, Arch arch) {
  const unsigned id = simm16 & 63u, offset = (simm16 >> 6) & 31u, size = ((simm16 >> 11) & 31u) + 1;
  constexpr const char* kNames[] = {nullptr, "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_TRAPSTS", "HW_REG_HW_ID", "HW_REG_GPR_ALLOC",
                                    "HW_REG_LDS_ALLOC", "HW_REG_IB_STS", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    "HW_REG_SH_MEM_BASES", "HW_REG_TBA_LO", "HW_REG_TBA_HI", "HW_REG_TMA_LO", "HW_REG_TMA_HI", "HW_REG_XCC_ID",
                                    "HW_REG_SQ_PERF_SNAPSHOT_DATA", "HW_REG_SQ_PERF_SNAPSHOT_DATA1", "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                    "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
  const unsigned known = arch == Arch::gfx90a ? 20u : 25u;
  std::string text = "hwreg(";
  text += id < known && kNames[id] != nullptr ? kNames[id] : std::to_string(id);
  if (offset != 0 || size != 32) text += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return text + ')';
}

} // namespace aql::sim::isa
