#pragma once
// One decoded instruction, as the execution loop wants it: fields extracted once, a handler bound once.
// Thread safety: written once by the decoder, under the code cache's lock, and published with its block (label I: decoded
// instructions -> block entry, release; the loop reads the entry with acquire). Read-only afterwards.

#include <cstdint>

namespace aql::sim {

struct Wave;

enum class Arch : std::uint8_t { gfx90a = 0, gfx942 = 1, gfx950 = 2 };
inline constexpr unsigned kArchCount = 3;
// Bit mask of targets in the opcode tables.
[[nodiscard]] constexpr std::uint8_t arch_bit(Arch a) noexcept { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(a)); }

namespace isa {

enum class Format : std::uint8_t {
  sop2, sopk, sop1, sopc, sopp, smem,
  vop1, vop2, vopc, vop3, vop3p, vop3px,
  ds, flat, global, scratch, mubuf, mtbuf,
  illegal,
};

enum class Op : std::uint16_t; // one per base mnemonic; src/sim/isa/ops.def

// Where an operand comes from. SGPR numbers are the 7-bit encoding space: 0-101 SGPRs, 102/103 flat_scratch,
// 104/105 xnack_mask, 106/107 vcc, 108-123 ttmp, 124 m0, 126/127 exec.
// Written by user code to a trap register: goes here and is never read (Wave::sgpr has these extra entries).
inline constexpr std::uint16_t kSgprSink = 128;
inline constexpr unsigned kSgprFileSize = 128 + 16;

enum class OperandKind : std::uint8_t { none, vgpr, agpr, sgpr, constant, special };

struct Operand {
  OperandKind kind = OperandKind::none;
  std::uint8_t width = 1;    // registers (dwords)
  std::uint16_t index = 0;   // register number, or the raw 9-bit source code for `special` (vccz 251, execz 252, scc 253, apertures 235-238, ...)
  std::uint32_t value = 0;   // constant: low dword. Inline constants are expanded by the type that the opcode row gives its source
  std::uint32_t value_hi = 0;// constant: high dword for 64-bit sources
};

// Per-source and result modifiers, common to VOP3, VOP3P, SDWA and DPP.
struct Modifiers {
  std::uint8_t neg = 0;       // bit per source; VOP3P: neg_lo
  std::uint8_t abs = 0;       // bit per source; VOP3P: neg_hi
  std::uint8_t op_sel = 0;    // bits 0-2 sources, bit 3 destination
  std::uint8_t op_sel_hi = 0; // VOP3P bits 0-2
  std::uint8_t omod = 0;      // 0 none, 1 *2, 2 *4, 3 /2
  bool clamp = false;
};

enum class Extra : std::uint8_t { none, sdwa, dpp };

struct Sdwa {
  std::uint8_t dst_sel = 6, dst_unused = 0, src0_sel = 6, src1_sel = 6; // sel: 0-3 byte, 4-5 word, 6 dword
  bool src0_sext = false, src1_sext = false;
};

struct Dpp {
  std::uint16_t ctrl = 0;     // 9 bits
  std::uint8_t bank_mask = 0xf, row_mask = 0xf;
  bool bound_ctrl = false;    // 1: invalid lanes read 0
};

} // namespace isa

// What a handler tells the loop.
enum class Next : std::uint8_t {
  fallthrough, // go on with the following instruction
  jump,        // wave.pc was set
  yield,       // instruction done (pc must advance); give the slice to another wave: s_sleep, s_setprio ...
  barrier,     // instruction done; wait at the workgroup barrier
  end,         // s_endpgm
  fault,       // wave.fault is filled; pc stays on the instruction
};

struct Inst;
using Handler = Next (*)(Wave&, const Inst&);

namespace isa { struct OpInfo; }

// Three cache lines; what a handler needs first is in front.
struct alignas(64) Inst {
  Handler handler = nullptr;
  const void* kernel = nullptr;       // second-level function of the family (e.g. the 64-lane loop), set by bind()
  const isa::OpInfo* info = nullptr;
  std::uint64_t pc = 0;               // device address of this instruction; what handlers use instead of Wave::pc
  std::uint8_t size_bytes = 0;        // 4, 8, 12 or 16
  isa::Format format = isa::Format::illegal;
  isa::Op op{};
  isa::Extra extra = isa::Extra::none;
  // One past the highest ArchVGPR and AccVGPR this instruction names, and the same for it and all that follow it in its
  // block: a wave with fewer registers must not run them unchecked.
  std::uint16_t vgpr_top = 0, agpr_top = 0, block_vgpr_top = 0, block_agpr_top = 0;
  std::uint8_t aux = 0;               // family-private
  std::uint16_t aux16 = 0;            // family-private
  std::uint32_t imm = 0;              // SOPK/SOPP simm16 (sign-extended), DS offset0 | offset1 << 8 (16 bits), MEM offset (sign-extended as the format says)
  isa::Operand dst, sdst;             // sdst: VOP3B/VOPC scalar result, carry out
  isa::Operand src[4];                // VALU: src0..2 ; MEM: src[0] address, src[1] data, src[2] saddr/resource, src[3] soffset/data2
  isa::Modifiers mod;
  isa::Sdwa sdwa;
  isa::Dpp dpp;
  // Memory instructions: raw cache-policy and addressing bits.
  bool glc = false, slc = false, scc = false;  // gfx942/950: sc0 = glc, nt = slc, sc1 = scc
  bool lds = false, offen = false, idxen = false, sve = false, gds = false;
  // MFMA: cbsz, abid, blgp as encoded (f64 on gfx942: blgp = neg bits)
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  std::uint32_t words[4] = {0, 0, 0, 0};       // raw words for reports and disassembly

  Inst() = default;
};

} // namespace aql::sim
