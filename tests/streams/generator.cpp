#include "generator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string_view>

#include "sim/isa/decode.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::test {
namespace {

using namespace sim;
using isa::Elem;
using isa::Extra;
using isa::Format;
using isa::Op;
using isa::OperandKind;
using isa::OpInfo;
using isa::Role;

constexpr std::string_view kPattern = "only in a pattern that keeps the stream together", kStops = "ends, stops or interrupts the wave",
                           kFork = "needs a stack of branches that the stream unwinds", kTime = "differs from run to run", kGws = "no part of compute";
constexpr LeftOut kLeftOut[] = {
    {"s_branch", kPattern}, {"s_cbranch_scc0", kPattern}, {"s_cbranch_scc1", kPattern}, {"s_cbranch_vccz", kPattern}, {"s_cbranch_vccnz", kPattern},
    {"s_cbranch_execz", kPattern}, {"s_cbranch_execnz", kPattern}, {"s_cbranch_cdbgsys", kPattern}, {"s_cbranch_cdbguser", kPattern},
    {"s_cbranch_cdbgsys_or_user", kPattern}, {"s_cbranch_cdbgsys_and_user", kPattern}, {"s_getpc_b64", kPattern}, {"s_setpc_b64", kPattern},
    {"s_swappc_b64", kPattern}, {"s_call_b64", kPattern}, {"s_getreg_b32", kPattern}, {"s_setreg_b32", kPattern}, {"s_setreg_imm32_b32", kPattern},
    {"s_set_gpr_idx_on", kPattern}, {"s_set_gpr_idx_mode", kPattern}, {"s_set_gpr_idx_idx", kPattern}, {"s_set_gpr_idx_off", kPattern}, {"s_setvskip", kPattern},
    {"s_endpgm", kStops}, {"s_endpgm_saved", kStops}, {"s_endpgm_ordered_ps_done", kStops}, {"s_setkill", kStops}, {"s_sethalt", kStops}, {"s_sendmsg", kStops},
    {"s_sendmsghalt", kStops}, {"s_trap", kStops}, {"s_rfe_b64", kStops}, {"s_rfe_restore_b64", kStops},
    {"s_cbranch_g_fork", kFork}, {"s_cbranch_i_fork", kFork}, {"s_cbranch_join", kFork},
    {"s_memtime", kTime}, {"s_memrealtime", kTime},
    {"ds_gws_init", kGws}, {"ds_gws_sema_v", kGws}, {"ds_gws_sema_br", kGws}, {"ds_gws_sema_p", kGws}, {"ds_gws_sema_release_all", kGws}, {"ds_gws_barrier", kGws},
};

bool is_left_out(const OpInfo& info) {
  return std::ranges::any_of(kLeftOut, [&](const LeftOut& l) { return l.mnemonic == info.mnemonic; });
}

struct Choice {
  const OpInfo* info;
  Format format;   // encoding
  Extra extra;
  unsigned code;
};

std::string family_name(const Choice& c) {
  return std::string(isa::to_string(c.format)) + (c.extra == Extra::sdwa ? "_SDWA" : c.extra == Extra::dpp ? "_DPP" : "") +
         (c.info->has(isa::kMai) ? "_MAI" : "");
}

// By family, so that small families are as frequent as large ones.
const std::map<std::string, std::vector<Choice>>& choices(Arch arch) {
  static const auto all = [] {
    std::array<std::map<std::string, std::vector<Choice>>, kArchCount> made;
    for (const OpInfo& info : isa::all_ops()) {
      if (is_left_out(info)) continue;
      for (unsigned a = 0; a < kArchCount; ++a) {
        if (!info.on(static_cast<Arch>(a))) continue;
        const auto add = [&](Format format, Extra extra, unsigned code) {
          const Choice c{&info, format, extra, code};
          made[a][family_name(c)].push_back(c);
        };
        add(info.format, Extra::none, info.code);
        const unsigned base = info.format == Format::vopc ? 0 : info.format == Format::vop2 ? 256 : 320;
        if (info.has(isa::kHasVop3)) add(Format::vop3, Extra::none, base + info.code);
        if (info.has(isa::kHasSdwa)) add(info.format, Extra::sdwa, info.code);
        if (info.has(isa::kHasDpp)) add(info.format, Extra::dpp, info.code);
      }
    }
    return made;
  }();
  return all[static_cast<unsigned>(arch)];
}

constexpr unsigned kVccLoCode = 106, kM0Code = 124, kExecLoCode = 126, kLiteral = 255;

class Maker {
public:
  Maker(Arch arch, std::uint32_t seed) : arch_(arch), random_(seed * 2654435761u + static_cast<unsigned>(arch)) {}

  // Encodes one instruction of a row. false: no random fields gave one that a stream may hold.
  bool instruction_of(const Choice& c) {
    for (unsigned tries = 0; tries < 200; ++tries) {
      std::uint32_t w[4] = {0, word(), word(), word()};
      encode(c, w);
      Inst inst;
      if (isa::decode(std::span<const std::uint32_t>(w), arch_, inst) != isa::DecodeStatus::ok) continue;
      if (inst.info != c.info || inst.extra != c.extra || !acceptable(inst)) continue;
      words_.insert(words_.end(), w, w + inst.size_bytes / 4);
      return true;
    }
    return false;
  }

  Stream make() {
    Stream s;
    state(s);
    const unsigned wanted = 280 + below(120);
    unsigned loop_from = 0, loop_end = 0; // in instructions; 0: none open
    for (unsigned n = 0; n < wanted; ++n) {
      if (n % 12 == 0) set_exec();
      if (n % 40 == 20) set_mode();
      if (loop_end == 0 && chance(20)) {
        emit({0xbe8e0080u + 2 + below(3)}); // s_mov_b32 s14, 2..4
        loop_from = static_cast<unsigned>(words_.size());
        loop_end = n + 4 + below(8);
      }
      if (chance(30)) skip_forward();
      else if (chance(60)) call_next();
      else if (chance(60)) index_mode();
      else if (chance(120)) skip_vectors();
      else instruction();
      if (loop_end != 0 && n >= loop_end) close_loop(loop_from), loop_end = 0;
    }
    if (loop_end != 0) close_loop(loop_from);
    s.words = words_;
    s.families.assign(seen_.begin(), seen_.end());
    return s;
  }

private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned one_in) { return below(one_in) == 0; }
  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }
  void emit(std::initializer_list<std::uint32_t> words) { words_.insert(words_.end(), words); }

  // Values of all kinds: bits, floats of ordinary size, edges.
  std::uint32_t value() {
    constexpr std::uint32_t kEdges[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 1, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0xffffffff, 0x7fffffff,
                                        0x7c007c00, 0x3c003c00, 0x00010001, 0x80008000, 0x7ff00000, 0xfff00000, 0x4f000000, 0xcf000000};
    switch (below(8)) {
    case 0: return kEdges[below(std::size(kEdges))];
    case 1: return below(256);
    case 2: return 0x3c003c00u ^ (word() & 0x83ff83ffu);
    case 3: case 4: return (word() & 0x83ffffffu) | 0x3c000000u;
    default: return word();
    }
  }

  // The order of stream.s.
  void state(Stream& s) {
    s.state.resize(kStreamGroups * kStateBytes / 4);
    s.arena.resize(kStreamGroups * kArenaBytes / 4);
    for (std::uint32_t& w : s.arena) w = value();
    // One of each for all groups of a stream.
    const std::uint32_t mode = 0x300u * below(2) + (chance(2) ? 0xf0u : below(256)), stride_b = 8 * (1 + below(2)), swizzle = below(2), tid = chance(4) ? 1u : 0u;
    const std::uint64_t exec = chance(3) ? random_() : ~std::uint64_t{0};
    const std::uint32_t soffset = 16 * below(16), index = below(9), scratch = 16 * below(32);
    for (std::uint32_t g = 0; g < kStreamGroups; ++g) {
      std::uint32_t* at = s.state.data() + g * kStateBytes / 4;
      for (unsigned n = 2; n < 128 + 1; ++n) {
        for (unsigned lane = 0; lane < 64; ++lane) *at++ = n < 15 ? place(n, lane) : value();
      }
      for (unsigned n = 0; n < (128 + 64) * 64; ++n) *at++ = value();
      for (unsigned n = 24; n < 96; ++n) at[n - 24] = value();
      at += 0x200 / 4;
      const std::uint32_t last = 0x00027fac; // a 32-bit float format, as a buffer is usually described
      at[0] = 0, at[1] = 0, at[2] = 0x7000, at[3] = last;
      at[4] = 0, at[5] = stride_b << 16 | swizzle << 31, at[6] = 0x300, at[7] = (tid != 0 ? last & ~0x78000u : last) | below(4) << 21 | tid << 23; // with ADD_TID the format is part of the stride
      at[8] = soffset, at[9] = index, at[10] = scratch;
      at[12] = word(), at[13] = word();
      at[14] = static_cast<std::uint32_t>(exec), at[15] = static_cast<std::uint32_t>(exec >> 32);
      at[16] = mode;
    }
  }

  // Offsets and addresses in v2-v14; multiples of 8 (LDS: 16), because atomics fault on others.
  std::uint32_t place(unsigned reg, unsigned lane) {
    switch (reg) {
    case 2: case 4: return 8 * below(1024);
    case 5: case 6: return 16 * (chance(8) ? below(512) : lane);
    case 8: case 10: return 16 * below(64);
    case 12: return below(80);
    case 13: return 8 * below(8); // swizzling multiplies offsets by up to 64
    case 14: return 8 * below(200);
    default: return 0;
    }
  }

  // --- state changes
  void set_exec() {
    if (chance(2)) {
      emit({0xbefe01c1}); // s_mov_b64 exec, -1
    } else {
      emit({0xbefe00ff, word(), 0xbeff00ff, word()});
    }
  }
  void set_mode() {
    const unsigned offset = below(9), size = 1 + below(10 - offset), field = 1 | offset << 6 | (size - 1) << 11; // hwreg(HW_REG_MODE, offset, size)
    switch (below(6)) {
    case 0: emit({0xba000000u | 1 | 23u << 6, word()}); break;                            // FP16_OVFL
    case 1: emit({0xb9000000u | scalar_register(1) << 16 | field}); break;                // s_setreg_b32
    default: emit({0xba000000u | field, word()});                                         // s_setreg_imm32_b32
    }
    emit({0xb8800000u | scalar_register(1) << 16 | field});                               // s_getreg_b32
  }

  // A conditional or unconditional branch over a few instructions.
  void skip_forward() {
    constexpr unsigned kBranches[] = {2, 4, 5, 6, 7, 8, 9, 23, 24, 25, 26};
    const std::size_t at = words_.size();
    emit({0xbf800000u | kBranches[below(std::size(kBranches))] << 16});
    for (unsigned n = below(4); n != 0; --n) instruction();
    words_[at] |= static_cast<std::uint32_t>(words_.size() - at - 1);
    seen_.insert(std::string(isa::to_string(Format::sopp)));
  }

  void close_loop(unsigned from) {
    emit({0x808e810e, 0xbf07800e}); // s_sub_u32 s14, s14, 1; s_cmp_lg_u32 s14, 0
    const auto distance = static_cast<std::uint32_t>(words_.size() + 1 - from);
    emit({0xbf850000u | ((0u - distance) & 0xffffu)});
  }

  // Calls of the next instruction, in three ways.
  void call_next() {
    switch (below(3)) {
    case 0: emit({0xba960000}); break;                                             // s_call_b64 s[22:23], 0
    case 1: emit({0xbe961c00, 0x8016ff16, 16, 0x82178017, 0xbe801d16}); break;     // s_getpc; s_add_u32 16; s_addc; s_setpc
    default: emit({0xbe961c00, 0x8016ff16, 16, 0x82178017, 0xbe961e16}); break;    // ... s_swappc_b64 s[22:23], s[22:23]
    }
  }

  // s_set_gpr_idx_on s13, mode; vector instructions; off. Not through EXEC-changing compares: their result is as good.
  void index_mode() {
    emit({0xbf11000d | below(16) << 8});
    indexed_ = true; // v0 + 8 would be a register of the frame
    if (chance(2)) emit({0xbf9d0000u | below(16)});       // s_set_gpr_idx_mode
    if (chance(2)) emit({0xbe803280u + below(9)});        // s_set_gpr_idx_idx 0..8
    for (unsigned n = 1 + below(3); n != 0; --n) {
      constexpr Format kPlain[] = {Format::vop1, Format::vop2, Format::vop3};
      instruction_of(std::string(isa::to_string(kPlain[below(3)])));
    }
    indexed_ = false;
    emit({0xbf9c0000, 0xbefc0084}); // s_set_gpr_idx_off; s_mov_b32 m0, 4
  }

  void skip_vectors() {
    emit({0xbf108081}); // s_setvskip 1, 0
    for (unsigned n = 1 + below(4); n != 0; --n) instruction();
    emit({0xbf108080}); // s_setvskip 0, 0
  }

  // --- one instruction
  void instruction() {
    const auto& all = choices(arch_);
    auto it = all.begin();
    std::advance(it, below(static_cast<unsigned>(all.size())));
    instruction_of(it->first);
    if (chance(16)) emit({0xbefc0080u + 4 * below(3)}); // s_mov_b32 m0, 0, 4 or 8
  }

  void instruction_of(const std::string& family) {
    const auto& rows = choices(arch_).at(family);
    if (instruction_of(rows[below(static_cast<unsigned>(rows.size()))])) seen_.insert(family);
  }

  // Operands are registers of the stream; addresses were chosen by encode().
  bool acceptable(const Inst& inst) const {
    const bool memory = inst.format == Format::smem || inst.format >= Format::ds;
    const auto fits = [this](const isa::Operand& o, bool written) {
      const unsigned top = o.index + o.width;
      switch (o.kind) {
      case OperandKind::vgpr: return (o.index == 0 && o.width == 1 && !indexed_) || (o.index >= 16 && top <= (indexed_ ? 120u : 128u)); // past the end, v0 to v3 would be read
      case OperandKind::agpr: return top <= 128;
      case OperandKind::sgpr:
        if (o.index >= isa::kSgprSink) return written;
        return (o.index >= 24 && top <= 96) || o.index == 106 || o.index == 107 || o.index >= 126 || (o.index == 124 && !written);
      case OperandKind::special: return o.index >= 251 && o.index <= 253;
      default: return true;
      }
    };
    if (!fits(inst.dst, true) || !fits(inst.sdst, inst.format != Format::vop3px)) return false;
    if (memory) return fits(inst.src[1], false) && (inst.format != Format::ds || fits(inst.src[3], false));
    for (const isa::Operand& o : inst.src) {
      if (!fits(o, false)) return false;
    }
    // s_movrel moves on by M0 (0, 4 or 8).
    if (inst.info->mnemonic.starts_with("s_movrel") && (inst.src[0].index > 80 || inst.dst.index > 80 || inst.src[0].kind != OperandKind::sgpr)) return false;
    return true;
  }

  unsigned vector_register(unsigned dwords) {
    if (dwords <= 1) return chance(12) ? 0 : 16 + below(112);
    return 16 + 2 * below((112 - dwords) / 2 + 1);
  }
  unsigned scalar_register(unsigned dwords) {
    if (dwords > 2) return 24 + 4 * below((72 - dwords) / 4 + 1);
    if (dwords == 2) return 24 + 2 * below(36);
    return 24 + below(72);
  }
  unsigned scalar_code(unsigned dwords, bool literal) {
    switch (below(10)) {
    case 0: return kVccLoCode;
    case 1: return kExecLoCode;
    case 2: return dwords <= 1 ? kM0Code : kVccLoCode;
    case 3: return 251 + below(3);
    case 4: return literal ? kLiteral : 128 + below(81);
    case 5: return 128 + below(81);
    case 6: return 240 + below(9);
    default: return scalar_register(dwords);
    }
  }
  // A nine-bit source.
  unsigned source(const isa::OperandSpec& spec, bool literal) {
    const bool scalar_only = spec.role == Role::sgpr || spec.elem == Elem::mask;
    if (!scalar_only && (spec.role == Role::acc || below(10) < 6)) return 256 + vector_register(spec.dwords());
    return scalar_code(spec.dwords(), literal);
  }
  unsigned scalar_dst(unsigned dwords) { return chance(8) ? kVccLoCode : chance(30) ? kExecLoCode : scalar_register(dwords); }

  void encode(const Choice& c, std::uint32_t* w) {
    const OpInfo& i = *c.info;
    const std::uint32_t code = c.code;
    const auto dst_dwords = i.dst[0].dwords();
    switch (c.format) {
    case Format::sop2: w[0] = 0x80000000u | code << 23 | scalar_dst(dst_dwords) << 16 | scalar_code(i.src[1].dwords(), true) << 8 | scalar_code(i.src[0].dwords(), true); break;
    case Format::sopk: w[0] = 0xb0000000u | code << 23 | (i.dst[0].used() ? scalar_dst(dst_dwords) : scalar_register(1)) << 16 | (word() & 0xffffu); break;
    case Format::sop1: w[0] = 0xbe800000u | scalar_dst(dst_dwords) << 16 | code << 8 | scalar_code(i.src[0].dwords(), true); break;
    case Format::sopc: w[0] = 0xbf000000u | code << 16 | scalar_code(i.src[1].dwords(), true) << 8 | scalar_code(i.src[0].dwords(), true); break;
    case Format::sopp: w[0] = 0xbf800000u | code << 16 | (i.op == Op::s_waitcnt || i.op == Op::s_nop ? word() & 0xffffu : below(4)); break;
    case Format::smem: smem(i, code, w); break;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc: vop_short(c, w); break;
    case Format::vop3: vop3(c, w); break;
    case Format::vop3p: vop3p(c, w); break;
    case Format::vop3px:
      vop3p(c, w + 2);
      w[0] = 0xd3ac0000u | (word() & 0x1800u);
      w[1] = (word() & 0x18000000u) | scale_source() | scale_source() << 9;
      w[2] |= 0x800u;
      break;
    case Format::ds: // offset1 of two-address forms counts elements: small
      w[0] = 0xd8000000u | code << 17 | (16 * below(i.src[2].used() || i.mnemonic.find("read2") != std::string_view::npos ? 8 : 64)) | (two(i) ? 16 * below(4) << 8 : 0) | below(2) << 25;
      w[1] = 5u | vector_register(data_dwords(i)) << 8 | vector_register(i.src[2].dwords()) << 16 | vector_register(dst_dwords) << 24;
      break;
    case Format::flat:
    case Format::global:
    case Format::scratch: flat(c, w); break;
    case Format::mubuf:
      w[0] = 0xe0000000u | code << 18 | 8 * below(128) | (word() & 0x2f000u) | (i.has(isa::OpFlags(isa::kLds | isa::kLds950)) && chance(3) ? 0x10000u : 0u) |
             (i.mnemonic == "buffer_store_lds_dword" ? 0x10000u : 0u);
      buffer_word(i, w, word() & 0x800000u);
      break;
    case Format::mtbuf:
      w[0] = 0xe8000000u | code << 15 | 8 * below(128) | (word() & 0x7000u) | (1 + below(14)) << 19 | below(8) << 23;
      buffer_word(i, w, word() & 0xe00000u);
      break;
    default: break;
    }
  }

  // Swizzled buffers keep only 4 bytes together, and an atomic of 8 bytes faults on other addresses.
  static bool wide_atomic(const OpInfo& i) { return i.has(isa::kAtomic) && (i.mnemonic.ends_with("x2") || i.mnemonic.ends_with("f64")); }
  static bool two(const OpInfo& i) { return i.mnemonic.find("2_b") != std::string_view::npos || i.mnemonic.find("2st64") != std::string_view::npos; }
  static unsigned data_dwords(const OpInfo& i) { return std::max(i.src[1].dwords(), i.dst[0].dwords()); }
  std::uint32_t scale_source() { return chance(2) ? 256 + vector_register(1) : chance(2) ? scalar_register(1) : 128 + below(65); }

  void smem(const OpInfo& i, unsigned code, std::uint32_t* w) {
    const bool buffer = i.src[0].dwords() == 4, wide = i.mnemonic.find("x2") != std::string_view::npos || i.mnemonic.find("discard") != std::string_view::npos;
    const std::uint32_t base = buffer ? 2 : 1; // s[4:7] or s[2:3], in pairs
    const unsigned dwords = std::max({i.src[1].dwords(), i.dst[0].dwords(), 1u});
    const std::uint32_t offset = (wide ? 8 : 4) * below(1024), form = below(3);
    w[0] = 0xc0000000u | code << 18 | (word() & 0x10000u) | (form != 0 ? 0x20000u : 0u) | (form == 1 ? 0x4000u : 0u) | scalar_register(dwords) << 6 | base;
    w[1] = (form == 0 ? 12u : buffer ? offset : (chance(2) ? 0u - offset : offset) & 0x1fffffu) | (form == 1 ? 12u << 25 : 0u); // soffset: s12
  }

  void vop_short(const Choice& c, std::uint32_t* w) {
    const OpInfo& i = *c.info;
    const bool plain = c.extra == Extra::none;
    const unsigned src0 = !plain ? (c.extra == Extra::sdwa ? 249u : 250u) : source(i.src[0], true);
    const unsigned vdst = i.dst[0].role == Role::sgpr ? scalar_register(1) : vector_register(i.dst[0].dwords()), src1 = vector_register(i.src[1].dwords());
    if (c.format == Format::vop1) w[0] = 0x7e000000u | vdst << 17 | c.code << 9 | src0;
    else if (c.format == Format::vop2) w[0] = c.code << 25 | vdst << 17 | src1 << 9 | src0;
    else w[0] = 0x7c000000u | c.code << 17 | src1 << 9 | src0;
    if (plain) w[1] = value();
    if (c.extra == Extra::sdwa) {
      w[1] = (word() & 0x3f3f0000u) | vector_register(1);
      if (c.format == Format::vopc) w[1] |= chance(2) ? (0x80u | scalar_register(2)) << 8 : 0u;
      else w[1] |= below(7) << 8 | below(3) << 11 | (word() & 0xe000u);
      if (chance(8)) w[1] = (w[1] & ~0xffu) | 0x800000u | scalar_register(1);
    }
    if (c.extra == Extra::dpp) {
      constexpr unsigned kControls[] = {0x101, 0x111, 0x121, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x150};
      unsigned control = kControls[below(std::size(kControls))];
      if ((control & 0xfu) == 1 && control < 0x130) control += below(15);
      if (control == 0x150) control += below(16);
      if (chance(3)) control = below(256);
      w[1] = (word() & 0xfff80000u) | control << 8 | vector_register(i.src[0].dwords());
      if (chance(2)) w[1] |= 0xff000000u;
    }
  }

  void vop3(const Choice& c, std::uint32_t* w) {
    const OpInfo& i = *c.info;
    const bool mask = i.mask_dst() != nullptr;
    const unsigned vdst = i.format == Format::vopc ? scalar_dst(2) : i.dst[0].role == Role::sgpr ? scalar_register(i.dst[0].dwords()) : vector_register(i.dst[0].dwords());
    w[0] = 0xd0000000u | c.code << 16 | (word() & 0x8000u) | vdst;
    if (mask && i.format != Format::vopc) w[0] |= scalar_dst(2) << 8;
    else if (chance(2)) w[0] |= word() & 0x7f00u;
    unsigned n = 0;
    w[1] = chance(2) ? word() & 0xf8000000u : 0u;
    for (const isa::OperandSpec& spec : i.src) {
      if (!spec.used() || spec.role == Role::tied || n == 3) continue;
      w[1] |= source(spec, false) << (9 * n++);
    }
  }

  void vop3p(const Choice& c, std::uint32_t* w) {
    const OpInfo& i = *c.info;
    w[0] = 0xd3800000u | c.code << 16 | (word() & 0xff00u) | vector_register(i.dst[0].dwords());
    w[1] = word() & 0xf8000000u;
    unsigned n = 0;
    const bool mai = i.has(isa::kMai) && i.src[1].used();
    const std::array<unsigned, 8> narrow{8, 8, 6, 6, 4, 8, 8, 8};
    for (const isa::OperandSpec& spec : i.src) {
      if (!spec.used() || spec.role == Role::tied || n == 3) continue;
      const unsigned dwords = spec.elem == Elem::f8f6f4 ? narrow[n == 0 ? w[0] >> 8 & 7u : w[1] >> 29] : spec.dwords();
      w[1] |= (mai && (n < 2 || chance(4)) ? 256 + vector_register(dwords) : mai && n == 2 && chance(2) ? 128 + below(65) : spec.role == Role::acc || mai ? 256 + vector_register(dwords) : source(spec, false)) << (9 * n);
      ++n;
    }
  }

  void flat(const Choice& c, std::uint32_t* w) {
    const OpInfo& i = *c.info;
    const unsigned data = vector_register(i.src[1].dwords()), result = vector_register(i.dst[0].dwords());
    w[0] = 0xdc000000u | c.code << 18 | (word() & 0x02030000u);
    w[1] = data << 8 | result << 24 | (word() & 0x800000u);
    if (c.format == Format::flat) { // the arena, LDS or private memory; those two only within their size
      const unsigned where = below(4);
      w[0] |= 8 * below(where < 2 ? 512 : 64);
      w[1] |= where < 2 ? 2u : where == 2 ? 6u : 8u;
      // Atomics of private memory and of LDS through flat addresses are for the arena only.
      if (i.has(isa::kAtomic)) w[1] = (w[1] & ~0xffu) | 2u;
    } else if (c.format == Format::global) {
      const bool saddr = chance(2);
      w[0] |= 0x8000u | ((8u * below(1024) - 4096u) & 0x1fffu);
      w[1] |= saddr ? 2u << 16 | 4u : 0x7fu << 16 | 2u;
    } else {
      const unsigned form = below(3); // v10; s18; both (not on gfx90a)
      const bool v = form != 1, s = form != 0 && !(arch_ == Arch::gfx90a && form == 2);
      w[0] |= 0x4000u | 16 * below(64);
      if (v && arch_ != Arch::gfx90a) w[0] |= 0x2000u;
      w[1] |= (s ? 18u : 0x7fu) << 16 | (v ? 10u : 0u);
    }
  }

  // v[12:13] for both, v12 index alone, v14 offset alone; soffset s12 or a constant.
  void buffer_word(const OpInfo& i, std::uint32_t* w, std::uint32_t keep) {
    const bool offen = (w[0] & 0x1000u) != 0, idxen = (w[0] & 0x2000u) != 0;
    const std::uint32_t vaddr = idxen ? 12 : offen ? 14 : 0, resource = wide_atomic(i) || !idxen ? 1 : 2;
    if (resource == 2) w[0] &= ~0xfc0u;
    w[1] = keep | vaddr | vector_register(data_dwords(i)) << 8 | resource << 16 | (chance(2) ? 12u : 128u + 8 * below(8)) << 24;
  }

  Arch arch_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> words_;
  std::set<std::string> seen_;
  bool indexed_ = false;
};

} // namespace

Stream make_stream(Arch arch, std::uint32_t seed) { return Maker(arch, seed).make(); }

std::span<const LeftOut> left_out() { return kLeftOut; }

std::vector<std::string> rows_never_made(Arch arch) {
  std::vector<std::string> never;
  Maker maker(arch, 1);
  for (const auto& [family, rows] : choices(arch)) {
    for (const Choice& c : rows) {
      if (!maker.instruction_of(c)) never.push_back(std::string(c.info->mnemonic) + " (" + family + ")");
    }
  }
  return never;
}

std::vector<std::string> families_of(Arch arch) {
  std::vector<std::string> names;
  for (const auto& entry : choices(arch)) names.push_back(entry.first);
  return names;
}

} // namespace aql::test
