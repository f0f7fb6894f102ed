#pragma once
// Opcode tables: one OpInfo per (format, opcode, targets), read from the *.def files, and the lookup by encoding.
// Spec: the ISA guides' "Microcode Formats" (CDNA2, CDNA3, CDNA4). Thread safety: immutable after the first call.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/isa/inst.hpp"

namespace aql::sim::isa {

enum class Op : std::uint16_t {
#define AQL_ISA_OP(name) name,
#include "sim/isa/ops.def"
#undef AQL_ISA_OP
  count_,
};
inline constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::count_);

// What one element of an operand is. It decides how an inline constant is expanded and how a value prints.
enum class Elem : std::uint8_t {
  none,
  b8, i8, u8, i4, u4, fp8, bf8, fp6, bf6, fp4, f8f6f4, // f8f6f4: chosen by cbsz/blgp
  b16, i16, u16, f16, bf16,
  b32, i32, u32, f32, xf32,
  mix32, // v_fma_mix: f32, or f16 by op_sel_hi; inline constants are f32 values
  b64, i64, u64, f64,
  mask,   // a bit per lane in an SGPR pair; implicit VCC in VOP2, VOPC
  addr,   // memory address: width and class follow from format and addressing bits
  simm16, // SOPK/SOPP immediate, in Inst::imm
  imm,    // small immediate in a register field
};

[[nodiscard]] constexpr unsigned bits_of(Elem e) noexcept {
  switch (e) {
  case Elem::i4: case Elem::u4: case Elem::fp4: return 4;
  case Elem::fp6: case Elem::bf6: return 6;
  case Elem::b8: case Elem::i8: case Elem::u8: case Elem::fp8: case Elem::bf8: case Elem::f8f6f4: return 8;
  case Elem::b16: case Elem::i16: case Elem::u16: case Elem::f16: case Elem::bf16: return 16;
  case Elem::b32: case Elem::i32: case Elem::u32: case Elem::f32: case Elem::xf32: case Elem::mix32: return 32;
  case Elem::b64: case Elem::i64: case Elem::u64: case Elem::f64: case Elem::mask: return 64;
  default: return 0;
  }
}

// Restriction or special source of an operand beyond what its encoding field says.
enum class Role : std::uint8_t {
  field,   // as the format's field says
  sgpr,    // scalar although the field or format is vector
  acc,     // AccVGPR
  tied,    // the destination register is also read: no field of its own
  swap,    // also written
  literal, // the 32-bit literal of madmk/madak/fmamk/fmaak/setreg_imm32
};

struct OperandSpec {
  Elem elem = Elem::none;
  std::uint8_t count = 1;
  Role role = Role::field;

  [[nodiscard]] constexpr unsigned dwords() const noexcept { return (bits_of(elem) * count + 31) / 32; }
  [[nodiscard]] constexpr bool used() const noexcept { return elem != Elem::none; }
};

enum OpFlags : std::uint16_t {
  kHasVop3 = 1,    // VOP1/VOP2/VOPC: a 64-bit form exists at the format's opcode offset
  kHasSdwa = 2,
  kHasDpp = 4,
  kMai = 8,        // matrix encoding: acc bits, cbsz, abid, blgp
  kAtomic = 16,    // result only with glc
  kLds = 32,       // MUBUF: the LDS bit is legal
  kLds950 = 64,    // ... on gfx950 only
  kGdsOnly = 128,  // needs GDS hardware (global wave sync)
};

struct OpInfo {
  Op op{};
  Format format = Format::illegal; // of the base encoding; a VOP3 form of a VOP2 opcode still says vop2 here
  std::uint16_t code = 0;
  std::uint8_t arch_mask = 0;      // bits by arch_bit()
  std::uint16_t flags = 0;
  std::string_view mnemonic;       // without _e32/_e64/_sdwa/_dpp
  OperandSpec dst[2];              // second: a lane mask (carry, VOP3B)
  OperandSpec src[4];

  [[nodiscard]] constexpr bool on(Arch a) const noexcept { return (arch_mask & arch_bit(a)) != 0; }
  [[nodiscard]] constexpr bool has(OpFlags f) const noexcept { return (flags & f) != 0; }
  // The lane-mask result (VOPC, carry out, div_scale), or null.
  [[nodiscard]] constexpr const OperandSpec* mask_dst() const noexcept {
    return dst[0].elem == Elem::mask ? &dst[0] : dst[1].elem == Elem::mask ? &dst[1] : nullptr;
  }
};

// All rows, in the order of the .def files.
[[nodiscard]] std::span<const OpInfo> all_ops() noexcept;

// The row for an encoding, or null if illegal on `arch`. For Format::vop3 all 10 bits of opcode are looked up, the derived
// 64-bit forms of VOPC (0-255), VOP2 (256-319) and VOP1 (320-447) included.
[[nodiscard]] const OpInfo* find_op(Format format, unsigned code, Arch arch) noexcept;

// First row with this mnemonic (any suffix removed) on `arch`, or null. Slow; for tools and tests.
[[nodiscard]] const OpInfo* find_mnemonic(std::string_view mnemonic, Arch arch) noexcept;

// Mnemonic of an Op on a target ("?" if it does not exist there).
[[nodiscard]] std::string_view mnemonic(Op op, Arch arch) noexcept;

[[nodiscard]] std::string_view to_string(Format format) noexcept;
[[nodiscard]] std::string_view to_string(Arch arch) noexcept; // "gfx942"

} // namespace aql::sim::isa
