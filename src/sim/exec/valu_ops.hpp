#pragma once
// Vector ALU: what one operation is to the framework, and the tables that list them.
//
// An operation is a struct named after the assembler mnemonic with one static function on scalars. Templates (valu_lane.hpp)
// run it over 64 lanes; the handlers (valu_general.tier.cpp, valu_fast.hpp) do everything else once for all operations: operand
// fetch, DPP, SDWA, op_sel, neg/abs, denormal flush, rounding mode, omod, clamp, 16-bit merge, EXEC blend, scalar results.
//
// How to add an operation, in five steps:
//  1. Pick a file valu_<family>.tier.cpp (every such file is compiled once per host tier; look at valu_int.tier.cpp).
//  2. Write the scalar:     struct v_foo_u32 { static u32 apply(u32 a, u32 b) { return a + 2 * b; } };
//     The C++ types say all about the operands: u32 i32 u64 i64 u16 i16 f32 f64, Half (raw f16 or bf16 bits),
//     Words<N> (N registers), PkF32 (two f32).
//     Extra parameters, in any place after the sources: `Bit` = this lane's bit of the mask operand (carry-in, select);
//     `const Ctx&` = MODE, op_sel, immediate; `LaneId` = the lane's number. Result: a type as above; `bool` = a mask result (VOPC);
//     `WithBit<T>` = a vector result and a mask result (carry-out).
//     Floating-point operations see sources already flushed, negated...; they return the plain rounded result under the
//     host's rounding mode, which the handler has set to the MODE field of the result's class. Derive from FirstNan if the
//     host's arithmetic makes the NaN: the framework then picks the first NaN source, quieted, whatever the compiler did.
//     Integer saturation under the clamp bit: a second function `clamped` with the same parameters.
//  3. List it in the file's table: AQL_VALU(v_foo_u32), or AQL_VALU_FLAGS(v_foo_u32, kReadsDst | ...), or
//     AQL_VALU_PK(v_pk_foo_u16, v_foo_u16) for a packed form that applies a 16-bit scalar operation to both halves.
//     Hot operation: AQL_VALU_HOT instead (handler and lanes fused; costs code size).
//  4. A new file is declared in valu_tables.def.
//  5. Test it: an AsmCase in tests/isa/ and an independent scalar in tests/isa/reference_*.
//
// Thread safety: tables are constant; everything else is on the caller's stack.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/exec/exec.hpp"
#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"

namespace aql::sim {

// Operand classes as the modifiers see them.
enum class Ty : std::uint8_t {
  none,
  x16,   // low half of a register; op_sel picks the half
  x32,
  x64,   // two registers, even-aligned
  words, // more registers; passed as Words<N>
  f16,
  f32,
  f64,
  pk16,  // two 16-bit integers; op_sel / op_sel_hi pick the halves, no neg
  pkf16, // two f16; also neg_lo / neg_hi
  pk32,  // two f32 in a register pair; op_sel / op_sel_hi pick the registers
};

inline constexpr unsigned kMaxValuRows = 32;

// What the 64-lane function works on. Rows are 64 dwords; a 64-bit operand is two rows, low dwords first.
struct LaneIo {
  std::uint32_t* dst = nullptr;
  const std::uint32_t* src[3] = {nullptr, nullptr, nullptr};
  std::uint64_t mask = 0;   // in: bit per lane (carry-in, select)
  std::uint64_t result = 0; // out: bit per lane, all lanes computed; the handler ANDs it with EXEC
  Mode mode;
  std::uint32_t imm = 0;    // family-private: truth table, rounding seed ...
  std::uint8_t op_sel = 0;
};
using LaneKernel = void (*)(LaneIo&);

enum ValuFlags : std::uint32_t {
  kReadsDst = 1u << 0,     // the last source is the old destination (mac, fmac, dot2c): never encoded
  kMaskIn = 1u << 1,       // set by the templates: reads a mask (VCC, or src2 of the VOP3 form)
  kMaskOut = 1u << 2,      // set by the templates: writes a mask (VCC or sdst)
  kCmpx = 1u << 3,         // the mask also replaces EXEC
  kRawFloat = 1u << 4,     // float-typed for neg/abs only: no denormal flush, no quieting (cndmask, class, mov)
  kFlushAlways = 1u << 5,  // f32 denormals are flushed whatever MODE says (legacy mad/mac)
  kKeepHigh = 1u << 6,     // 16-bit result leaves the other half alone (otherwise the high half becomes 0)
  kRoundBySource = 1u << 7,// rounding class is that of src0, not of the result
  kNoOmod = 1u << 8,       // result is not a float although typed so, or the guide says omod does not apply
  kKeepSourceDenorm = 1u << 9, // sources are not flushed
  kKeepResultDenorm = 1u << 10,// result is not flushed
  kReadsOldDst = 1u << 11, // LaneIo::dst holds the old destination on entry (partial writes: byte or half inserts)
  kArgIsMode = 1u << 12,   // set by the templates: reads MODE or other context
  kOwnSigns = 1u << 13,    // the neg, abs and omod fields mean something else; bind_valu packs them into imm
  kOwnSelect = 1u << 14,   // so do op_sel and op_sel_hi; implies kOwnSigns
  kHighHalf = 1u << 15,    // the 16-bit result goes to the high half (mixhi)
  kRoundNearest = 1u << 16,// MODE's rounding does not matter (transcendentals)
};

// By the set of scalar sources (bits 0-2); the last for neg and abs on f32 sources. Null where there is none.
using FusedHandlers = std::array<Handler, 9>;

struct ValuOp {
  isa::Op op{};
  LaneKernel kernel = nullptr;
  LaneKernel clamped = nullptr;       // integer result with clamp set; null: clamp is float clamp, or ignored for integers
  const FusedHandlers* fused = nullptr; // null: generic handlers
  Ty dst = Ty::none;
  Ty src[3] = {Ty::none, Ty::none, Ty::none};
  std::uint8_t dst_rows = 0;          // registers
  std::uint8_t src_rows[3] = {0, 0, 0};
  std::uint8_t nsrc = 0;
  std::uint32_t flags = 0;
  std::uint32_t mode_mask = 0;        // MODE bits that must equal mode_want for the fast path
  std::uint32_t mode_want = 0;
  Handler special = nullptr;          // not a lane operation: this handler does it all
  std::uint8_t archs = 7;             // arch_bit mask
};

// Tables of one tier.
#define AQL_VALU_TABLE(name) std::span<const ValuOp> valu_##name##_ops() noexcept;
namespace tier0 {
#include "sim/exec/valu_tables.def"
Next valu_general(Wave&, const Inst&);
extern const Handler kValuPlain[4];
} // namespace tier0
namespace tier1 {
#include "sim/exec/valu_tables.def"
Next valu_general(Wave&, const Inst&);
extern const Handler kValuPlain[4];
} // namespace tier1
namespace tier2 {
#include "sim/exec/valu_tables.def"
Next valu_general(Wave&, const Inst&);
extern const Handler kValuPlain[4];
} // namespace tier2
#undef AQL_VALU_TABLE

// The row for an opcode, or null. `tier` 0-2.
[[nodiscard]] const ValuOp* find_valu_op(isa::Op op, Arch arch, unsigned tier);

// bind_valu with a given tier; tests compare tiers with it. The tier must not exceed the host's.
bool bind_valu_tier(Inst& inst, Arch arch, unsigned tier);

} // namespace aql::sim
