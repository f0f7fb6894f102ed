#include "sim/isa/op_info.hpp"

#include <array>

namespace aql::sim::isa {
namespace {

// The vocabulary of the .def files.
namespace sig {
constexpr std::uint8_t all = 7, g90a = 1, g942 = 2, g950 = 4, g94x = 6;
constexpr std::uint16_t plain = 0, e64 = kHasVop3, sdwa = kHasSdwa, dpp = kHasDpp, mai = kMai, atomic = kAtomic, lds = kLds,
                        lds_gfx950 = kLds950, gds_only = kGdsOnly;
#define AQL_SPEC(name) constexpr OperandSpec name{Elem::name, 1, Role::field};
AQL_SPEC(none) AQL_SPEC(b8) AQL_SPEC(i8) AQL_SPEC(u8) AQL_SPEC(i4) AQL_SPEC(u4) AQL_SPEC(fp8) AQL_SPEC(bf8) AQL_SPEC(fp6)
AQL_SPEC(bf6) AQL_SPEC(fp4) AQL_SPEC(f8f6f4) AQL_SPEC(b16) AQL_SPEC(i16) AQL_SPEC(u16) AQL_SPEC(f16) AQL_SPEC(bf16)
AQL_SPEC(b32) AQL_SPEC(i32) AQL_SPEC(u32) AQL_SPEC(f32) AQL_SPEC(xf32) AQL_SPEC(mix32) AQL_SPEC(b64) AQL_SPEC(i64)
AQL_SPEC(u64) AQL_SPEC(f64) AQL_SPEC(mask) AQL_SPEC(addr) AQL_SPEC(simm16) AQL_SPEC(imm)
#undef AQL_SPEC
constexpr OperandSpec operator*(OperandSpec s, int count) { return {s.elem, static_cast<std::uint8_t>(count), s.role}; }
constexpr OperandSpec sgpr(OperandSpec s) { return {s.elem, s.count, Role::sgpr}; }
constexpr OperandSpec acc(OperandSpec s) { return {s.elem, s.count, Role::acc}; }
constexpr OperandSpec tied(OperandSpec s) { return {s.elem, s.count, Role::tied}; }
constexpr OperandSpec swap(OperandSpec s) { return {s.elem, s.count, Role::swap}; }
constexpr OperandSpec k(OperandSpec s) { return {s.elem, s.count, Role::literal}; }

#define AQL_LIST(...) {__VA_ARGS__}
#define OP(code, name, text, targets, dsts, srcs, flags) \
  OpInfo{Op::name, Format::AQL_FORMAT, code, static_cast<std::uint8_t>(targets), static_cast<std::uint16_t>(flags), text, AQL_LIST dsts, AQL_LIST srcs},
constexpr OpInfo kRows[] = {
#define AQL_FORMAT sop2
#include "sim/isa/sop2.def"
#undef AQL_FORMAT
#define AQL_FORMAT sopk
#include "sim/isa/sopk.def"
#undef AQL_FORMAT
#define AQL_FORMAT sop1
#include "sim/isa/sop1.def"
#undef AQL_FORMAT
#define AQL_FORMAT sopc
#include "sim/isa/sopc.def"
#undef AQL_FORMAT
#define AQL_FORMAT sopp
#include "sim/isa/sopp.def"
#undef AQL_FORMAT
#define AQL_FORMAT smem
#include "sim/isa/smem.def"
#undef AQL_FORMAT
#define AQL_FORMAT vop1
#include "sim/isa/vop1.def"
#undef AQL_FORMAT
#define AQL_FORMAT vop2
#include "sim/isa/vop2.def"
#undef AQL_FORMAT
#define AQL_FORMAT vopc
#include "sim/isa/vopc.def"
#undef AQL_FORMAT
#define AQL_FORMAT vop3
#include "sim/isa/vop3.def"
#undef AQL_FORMAT
#define AQL_FORMAT vop3p
#include "sim/isa/vop3p.def"
#undef AQL_FORMAT
#define AQL_FORMAT vop3px
#include "sim/isa/vop3px.def"
#undef AQL_FORMAT
#define AQL_FORMAT ds
#include "sim/isa/ds.def"
#undef AQL_FORMAT
#define AQL_FORMAT flat
#include "sim/isa/flat.def"
#undef AQL_FORMAT
#define AQL_FORMAT global
#include "sim/isa/global.def"
#undef AQL_FORMAT
#define AQL_FORMAT scratch
#include "sim/isa/scratch.def"
#undef AQL_FORMAT
#define AQL_FORMAT mubuf
#include "sim/isa/mubuf.def"
#undef AQL_FORMAT
#define AQL_FORMAT mtbuf
#include "sim/isa/mtbuf.def"
#undef AQL_FORMAT
};
#undef OP
#undef AQL_LIST
} // namespace sig

constexpr std::size_t kRowCount = std::size(sig::kRows);

constexpr unsigned code_bits(Format f) {
  switch (f) {
  case Format::sop2: return 7;
  case Format::sopk: return 5;
  case Format::sopc: case Format::sopp: case Format::vop3p: case Format::vop3px: return 7;
  case Format::sop1: case Format::smem: case Format::vop1: case Format::vopc: case Format::ds: return 8;
  case Format::vop2: return 6;
  case Format::vop3: return 10;
  case Format::flat: case Format::global: case Format::scratch: case Format::mubuf: return 7;
  case Format::mtbuf: return 4;
  case Format::illegal: return 0;
  }
  return 0;
}

// The Format enumerators in order; each has 2^code_bits slots in the lookup table of a target.
constexpr std::size_t kFormats = static_cast<std::size_t>(Format::illegal);

constexpr std::array<std::uint16_t, kFormats + 1> first_slots() {
  std::array<std::uint16_t, kFormats + 1> first{};
  for (std::size_t f = 0; f < kFormats; ++f) {
    first[f + 1] = static_cast<std::uint16_t>(first[f] + (1u << code_bits(static_cast<Format>(f))));
  }
  return first;
}
constexpr auto kFirst = first_slots();
constexpr std::size_t kSlots = kFirst[kFormats];

// slot -> row + 1, 0 = illegal.
struct Lookup {
  std::uint16_t slot[kArchCount][kSlots] = {};

  void put(unsigned arch, Format format, unsigned code, std::size_t row) {
    slot[arch][kFirst[static_cast<std::size_t>(format)] + code] = static_cast<std::uint16_t>(row + 1);
  }
};

const Lookup& lookup() {
  static const Lookup table = [] {
    Lookup t;
    for (unsigned arch = 0; arch < kArchCount; ++arch) {
      for (std::size_t row = 0; row < kRowCount; ++row) {
        const OpInfo& info = sig::kRows[row];
        if (!info.on(static_cast<Arch>(arch))) continue;
        t.put(arch, info.format, info.code, row);
        if (!info.has(kHasVop3)) continue;
        const unsigned offset = info.format == Format::vopc ? 0u : info.format == Format::vop2 ? 256u : 320u;
        t.put(arch, Format::vop3, info.code + offset, row);
      }
    }
    return t;
  }();
  return table;
}

} // namespace

std::span<const OpInfo> all_ops() noexcept { return sig::kRows; }

const OpInfo* find_op(Format format, unsigned code, Arch arch) noexcept {
  if (format >= Format::illegal || code >= (1u << code_bits(format))) return nullptr;
  const unsigned row = lookup().slot[static_cast<unsigned>(arch)][kFirst[static_cast<std::size_t>(format)] + code];
  return row == 0 ? nullptr : &sig::kRows[row - 1];
}

const OpInfo* find_mnemonic(std::string_view name, Arch arch) noexcept {
  for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  for (const OpInfo& info : sig::kRows) {
    if (info.on(arch) && info.mnemonic == name) return &info;
  }
  return nullptr;
}

std::string_view mnemonic(Op op, Arch arch) noexcept {
  for (const OpInfo& info : sig::kRows) {
    if (info.op == op && info.on(arch)) return info.mnemonic;
  }
  return "?";
}

std::string_view to_string(Format format) noexcept {
  constexpr std::string_view names[] = {"SOP2", "SOPK", "SOP1", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOP3PX",
                                        "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "illegal"};
  return names[static_cast<std::size_t>(format)];
}

std::string_view to_string(Arch arch) noexcept {
  constexpr std::string_view names[] = {"gfx90a", "gfx942", "gfx950"};
  return names[static_cast<std::size_t>(arch)];
}

} // namespace aql::sim::isa
