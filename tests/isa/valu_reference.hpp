#pragma once
// Scalar reference of vector ALU instructions, lane by lane, written from the ISA guide and kept apart from src/sim/exec: it shares
// the decoder's Inst and the opcode table's operand types with it, nothing else. No host floating point rounds anything here.

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/exec/wave.hpp"
#include "sim/isa/inst.hpp"

namespace aql::test {

__extension__ using Wide = __int128;

// One lane's operands after all source modifiers, as raw bits.
struct RefIn {
  std::uint64_t s[3] = {0, 0, 0};
  std::uint32_t quad[4] = {0, 0, 0, 0}; // a 128-bit third source
  bool bit = false;                     // mask operand
  unsigned lane = 0;
  sim::Mode mode;
  std::uint32_t table = 0;              // v_bitop3
  bool clamp = false;                   // for results with several saturated parts
};
struct RefOut {
  std::uint64_t d = 0;
  std::uint32_t quad[4] = {0, 0, 0, 0};
  bool bit = false;
  Wide exact = 0;         // of a saturating operation: the result before it is cut to its type
  bool saturates = false; // then `exact` counts and d does not
};
using RefFunction = void (*)(const RefIn&, RefOut&);

enum RefFlags : unsigned {
  kRefRaw = 1,           // float modifiers, but no denormal flush, omod or clamp
  kRefFlushAlways = 2,   // f32 denormals are flushed in every mode
  kRefKeepSources = 4,   // sources are not flushed
  kRefKeepHigh = 8,      // a 16-bit result keeps the other half of the register
  kRefTable = 16,        // the neg, abs and omod fields are an operand
};
struct RefOp {
  RefFunction run = nullptr;
  unsigned flags = 0;
};

// Null run: this reference does not have the instruction.
[[nodiscard]] RefOp find_reference(std::string_view mnemonic);

// Registers of a wave, as far as the vector ALU sees them.
struct RefState {
  std::vector<sim::VReg> vgpr; // ArchVGPRs, as many as are allocated
  std::vector<sim::VReg> agpr;
  std::uint32_t sgpr[sim::isa::kSgprFileSize] = {};
  std::uint32_t scc = 0;
  sim::Mode mode;
  std::uint64_t shared_aperture = 0, private_aperture = 0;

  [[nodiscard]] std::uint64_t pair(unsigned n) const { return sgpr[n] | std::uint64_t{sgpr[n + 1]} << 32; }
  void set_pair(unsigned n, std::uint64_t v) {
    sgpr[n] = static_cast<std::uint32_t>(v);
    sgpr[n + 1] = static_cast<std::uint32_t>(v >> 32);
  }
};

// Executes a decoded instruction. False: not in the reference.
bool run_reference(const sim::Inst& inst, RefState& state);

} // namespace aql::test
