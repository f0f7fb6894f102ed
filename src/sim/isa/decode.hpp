#pragma once
// Words -> Inst: the family from the top 9 bits of the first word, the row from table[format][opcode], then the fields.
// Spec: "Microcode Formats" of the CDNA2, CDNA3 and CDNA4 ISA guides. Bits that an instruction does not use are ignored.
// Thread safety: pure.

#include <cstdint>
#include <span>

#include "sim/isa/inst.hpp"

namespace aql::sim::isa {

enum class DecodeStatus : std::uint8_t {
  ok,
  illegal,   // no such instruction on this target, or an operand it cannot have
  truncated, // legal so far, but more words are needed than were given
};

// Fills everything but handler and kernel. Up to four words are looked at. On `illegal` and `truncated` only `words` and
// size_bytes (of the encoding family, for reports) are meaningful.
//
// Where operands land:
//   VALU     dst; sdst = lane mask (VOPC, carry out, div_scale; VCC when implicit); src[0..2]. An implicit VCC source, the
//            accumulator of mac/fmac/dot2c/smfmac (Role::tied) and the literal of madmk/madak are ordinary sources.
//   SALU     dst, src[0..1], imm (simm16, sign-extended). s_set_gpr_idx_on: imm = its 4 mode bits.
//   SMEM     dst (loads, atomics with glc), src[0] base or resource, src[1] data, src[3] soffset (kind none: absent), imm.
//   DS       dst, src[0] address, src[1] data0, src[3] data1, imm = offset0 | offset1 << 8, gds.
//   FLAT...  dst, src[0] address (none: off), src[1] data, src[2] saddr (none: off), imm = offset.
//   MUBUF... dst, src[0] vaddr (none, or two registers: index, offset), src[1] data, src[2] resource, src[3] soffset, imm;
//            MTBUF: aux16 = dfmt | nfmt << 4.
//   MFMA     dst, src[0..2] = A, B, C; smfmac: src[2] = index register, src[3] = accumulator (tied).
//            Scaled (16 bytes): src[3] = scale of A, sdst = scale of B, the byte of each by bit 0/1 of
//            mod.op_sel + 2 * mod.op_sel_hi. f8f6f4: the widths of A and B follow cbsz and blgp.
//   Trap registers (ttmp) cannot be written by user code: such a destination becomes kSgprSink.
DecodeStatus decode(std::span<const std::uint32_t> words, Arch arch, Inst& out);

// Encoding family of a first word (Format::flat also for global and scratch, vop3 also for vop3p).
[[nodiscard]] Format family_of(std::uint32_t word) noexcept;

// Value of a scalar inline constant (source codes 128-208 and 240-248) for an operand type; false if `code` is none.
struct OperandSpec;
bool expand_inline_constant(unsigned code, OperandSpec spec, Operand& out) noexcept;

} // namespace aql::sim::isa
