#include "sim/isa/disasm.hpp"

#include <bit>
#include <cstdio>

#include "sim/isa/op_info.hpp"

namespace aql::sim::isa {
namespace {

std::string hex(std::uint32_t v) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", v);
  return text;
}

// Small immediates as the assembler prints them: decimal where an inline constant could stand, else hexadecimal.
std::string small(std::uint32_t v) { return v <= 64 ? std::to_string(v) : hex(v); }

// Whether bits 14:11 of VOP3 select halves: an operand of 16 bits, or a conversion from or to 8 or fewer bits.
bool uses_op_sel(const OpInfo& info) {
  if (info.format == Format::vopc || info.format == Format::vop2 || info.format == Format::vop1) return false;
  const auto narrow = [](const OperandSpec& s) { return s.used() && bits_of(s.elem) <= 16 && bits_of(s.elem) != 0 && (s.elem != Elem::u8 || s.count < 4); };
  bool any = info.op == Op::v_alignbit_b32 || info.op == Op::v_alignbyte_b32;
  for (const OperandSpec& s : info.dst) any = any || narrow(s);
  for (const OperandSpec& s : info.src) any = any || narrow(s);
  return any;
}

std::string bit_list(const char* name, unsigned bits, unsigned count) {
  std::string text = std::string(" ") + name + ":[";
  for (unsigned n = 0; n < count; ++n) text += (n == 0 ? "" : ",") + std::to_string((bits >> n) & 1u);
  return text + ']';
}

class Printer {
public:
  Printer(const Inst& inst, Arch arch) : i_(inst), info_(*inst.info), arch_(arch) {}

  std::string run() {
    text_ = info_.mnemonic;
    switch (i_.format) {
    case Format::sop2: case Format::sop1: case Format::sopc: scalar(); break;
    case Format::sopk: sopk(); break;
    case Format::sopp: sopp(); break;
    case Format::smem: smem(); break;
    case Format::vop1: case Format::vop2: case Format::vopc: vop_short(); break;
    case Format::vop3: vop3(); break;
    case Format::vop3p: case Format::vop3px: info_.has(kMai) ? mai() : vop3p(); break;
    case Format::ds: ds(); break;
    case Format::flat: case Format::global: case Format::scratch: flat(); break;
    case Format::mubuf: case Format::mtbuf: buffer(); break;
    case Format::illegal: break;
    }
    return text_;
  }

private:
  void arg(const std::string& s) {
    text_ += first_ ? " " : ", ";
    text_ += s;
    first_ = false;
  }
  void arg(const Operand& o, OperandSpec spec = {Elem::b32, 1, Role::field}) { arg(operand_text(o, spec)); }
  // A scalar destination; trap registers lost their number in decoding, so it is read from its field.
  void sdst(const Operand& o, unsigned field_code) {
    if (o.index != kSgprSink) return arg(o);
    Operand named = o;
    named.index = static_cast<std::uint16_t>(o.width > 1 ? field_code & ~1u : field_code);
    arg(named);
  }

  void scalar() {
    if (info_.dst[0].used()) sdst(i_.dst, (i_.words[0] >> 16) & 0x7f);
    for (unsigned n = 0; n < 2 && info_.src[n].used(); ++n) {
      if (info_.src[n].elem == Elem::imm) arg(gpr_idx(i_.imm));
      else arg(i_.src[n], info_.src[n]);
    }
  }

  static std::string gpr_idx(std::uint32_t bits) {
    constexpr const char* kNames[] = {"SRC0", "SRC1", "SRC2", "DST"};
    if (bits > 15) return hex(bits);
    std::string text = "gpr_idx(";
    bool any = false;
    for (unsigned n = 0; n < 4; ++n) {
      if (((bits >> n) & 1u) == 0) continue;
      text += (any ? std::string(",") : std::string()) + kNames[n];
      any = true;
    }
    return text + ')';
  }

  void sopk() {
    const unsigned reg = (i_.words[0] >> 16) & 0x7f;
    const std::uint32_t simm16 = i_.imm & 0xffff;
    switch (i_.op) {
    case Op::s_getreg_b32:
      sdst(i_.dst, reg);
      return arg(hwreg_text(simm16, arch_));
    case Op::s_setreg_b32:
      arg(hwreg_text(simm16, arch_));
      return arg(i_.src[0]);
    case Op::s_setreg_imm32_b32:
      arg(hwreg_text(simm16, arch_));
      return arg(small(i_.src[0].value));
    case Op::s_call_b64:
      sdst(i_.dst, reg);
      return arg(std::to_string(simm16));
    case Op::s_cbranch_i_fork:
      arg(i_.src[0]);
      return arg(std::to_string(simm16));
    default:
      if (info_.dst[0].used()) sdst(i_.dst, reg);
      else arg(i_.src[0]);
      return arg(hex(simm16));
    }
  }

  void sopp() {
    const std::uint32_t simm16 = i_.imm & 0xffff;
    switch (i_.op) {
    case Op::s_waitcnt: return arg(waitcnt(simm16));
    case Op::s_sendmsg: case Op::s_sendmsghalt: return arg(sendmsg(simm16));
    case Op::s_set_gpr_idx_mode: return arg(gpr_idx(simm16));
    case Op::s_endpgm:
      if (simm16 != 0) arg(std::to_string(simm16));
      return;
    case Op::s_branch: case Op::s_cbranch_scc0: case Op::s_cbranch_scc1: case Op::s_cbranch_vccz: case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz: case Op::s_cbranch_execnz: case Op::s_cbranch_cdbgsys: case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbgsys_or_user: case Op::s_cbranch_cdbgsys_and_user: return arg(std::to_string(simm16));
    default:
      if (info_.src[0].used()) arg(small(simm16));
    }
  }

  static std::string waitcnt(std::uint32_t simm16) {
    const unsigned vm = (simm16 & 15u) | ((simm16 >> 14) & 3u) << 4, exp = (simm16 >> 4) & 7u, lgkm = (simm16 >> 8) & 15u;
    const bool all = vm == 63 && exp == 7 && lgkm == 15;
    std::string text;
    const auto count = [&](const char* name, unsigned value, unsigned none) {
      if (value == none && !all) return;
      text += (text.empty() ? "" : " ") + std::string(name) + '(' + std::to_string(value) + ')';
    };
    count("vmcnt", vm, 63);
    count("expcnt", exp, 7);
    count("lgkmcnt", lgkm, 15);
    return text;
  }

  static std::string sendmsg(std::uint32_t simm16) {
    const unsigned id = simm16 & 15u, operation = (simm16 >> 4) & 7u, stream = (simm16 >> 8) & 3u;
    constexpr const char* kNames[16] = {nullptr, "MSG_INTERRUPT", "MSG_GS", "MSG_GS_DONE", "MSG_SAVEWAVE", "MSG_STALL_WAVE_GEN", "MSG_HALT_WAVES",
                                        "MSG_ORDERED_PS_DONE", "MSG_EARLY_PRIM_DEALLOC", "MSG_GS_ALLOC_REQ", "MSG_GET_DOORBELL", nullptr, nullptr,
                                        nullptr, nullptr, "MSG_SYSMSG"};
    constexpr const char* kGs[4] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    constexpr const char* kSys[8] = {nullptr, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC", nullptr, nullptr, nullptr};
    const bool gs = id == 2 || id == 3;
    const std::uint32_t message = simm16 & 0x3ffu; // the hardware looks at no more
    if ((message & 0x80u) != 0) return std::to_string(simm16);
    if (kNames[id] != nullptr && message == id && !gs && id != 15) return std::string("sendmsg(") + kNames[id] + ')';
    if (gs && operation != 0 && operation < 4) return std::string("sendmsg(") + kNames[id] + ", " + kGs[operation] + ", " + std::to_string(stream) + ')';
    if (id == 3 && message == 3) return "sendmsg(MSG_GS_DONE, GS_OP_NOP)";
    if (id == 15 && message >> 7 == 0 && kSys[operation] != nullptr) return std::string("sendmsg(MSG_SYSMSG, ") + kSys[operation] + ')';
    if (simm16 >> 10 != 0) return std::to_string(simm16);
    return "sendmsg(" + std::to_string(id) + ", " + std::to_string(operation) + ", " + std::to_string(stream) + ')';
  }

  void smem() {
    const unsigned data = (i_.words[0] >> 6) & 0x7f;
    if (info_.src[1].elem == Elem::imm) arg(small(i_.src[1].value));
    else if (info_.src[1].used()) arg(i_.src[1]);
    else if (info_.dst[0].used()) sdst(i_.dst, data);
    if (!info_.src[0].used()) return;
    arg(i_.src[0]);
    const bool has_imm = (i_.words[0] >> 17 & 1u) != 0;
    const auto offset = static_cast<std::int32_t>(i_.imm);
    const std::string imm = offset < 0 ? "-" + hex(static_cast<std::uint32_t>(-offset)) : hex(i_.imm);
    if (i_.src[3].kind == OperandKind::sgpr) {
      arg(i_.src[3]);
      if (has_imm) text_ += " offset:" + imm;
    } else {
      arg(imm);
    }
    if (i_.glc && (info_.dst[0].used() || info_.src[1].used()) && info_.src[1].elem != Elem::imm) text_ += " glc";
  }

  // --- vector ALU
  std::string modified(unsigned n, const std::string& plain, bool sext = false) const {
    std::string s = plain;
    if (sext) return "sext(" + s + ')';
    if (((i_.mod.abs >> n) & 1u) != 0) s = '|' + s + '|';
    if (((i_.mod.neg >> n) & 1u) != 0) {
      // "-1.0" negated is neg(1.0) in LLVM's syntax when it is a constant
      s = i_.src[n].kind == OperandKind::constant && s[0] != '|' ? "neg(" + s + ')' : '-' + s;
    }
    return s;
  }

  void vop_short() {
    const bool compare = i_.format == Format::vopc;
    if (i_.extra == Extra::sdwa) text_ += "_sdwa";
    else if (i_.extra == Extra::dpp) text_ += "_dpp";
    else if (info_.has(kHasVop3) && info_.src[0].used()) text_ += "_e32";
    if (compare) arg(i_.sdst);
    else if (info_.dst[0].used()) info_.dst[0].role == Role::sgpr ? sdst(i_.dst, (i_.words[0] >> 17) & 0x7f) : arg(i_.dst);
    if (!compare && info_.mask_dst() != nullptr) arg(i_.sdst);
    for (unsigned n = 0; n < 3 && info_.src[n].used(); ++n) {
      if (info_.src[n].role == Role::tied) continue;
      const bool sext = i_.extra == Extra::sdwa && (n == 0 ? i_.sdwa.src0_sext : n == 1 && i_.sdwa.src1_sext);
      arg(info_.src[n].role == Role::literal ? hex(i_.src[n].value) : modified(n, operand_text(i_.src[n], info_.src[n]), sext));
    }
    if (i_.extra == Extra::sdwa) sdwa(compare);
    if (i_.extra == Extra::dpp) dpp();
  }

  void output_modifiers() {
    if (i_.mod.clamp) text_ += " clamp";
    constexpr const char* kOmod[] = {"", " mul:2", " mul:4", " div:2"};
    text_ += kOmod[i_.mod.omod & 3];
  }

  void sdwa(bool compare) {
    constexpr const char* kSel[8] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "7"};
    constexpr const char* kUnused[4] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3"};
    output_modifiers();
    const bool fp8 = info_.src[0].elem == Elem::fp8 || info_.src[0].elem == Elem::bf8; // these have no dst_sel
    if (!compare && !fp8) text_ += std::string(" dst_sel:") + kSel[i_.sdwa.dst_sel] + " dst_unused:" + kUnused[i_.sdwa.dst_unused];
    text_ += std::string(" src0_sel:") + kSel[i_.sdwa.src0_sel];
    if (info_.src[1].used() && info_.src[1].role == Role::field) text_ += std::string(" src1_sel:") + kSel[i_.sdwa.src1_sel];
  }

  void dpp() {
    const unsigned c = i_.dpp.ctrl;
    const std::string n = std::to_string(c & 15u);
    if (c < 0x100) {
      text_ += " quad_perm:[" + std::to_string(c & 3) + ',' + std::to_string((c >> 2) & 3) + ',' + std::to_string((c >> 4) & 3) + ',' + std::to_string(c >> 6) + ']';
    } else if (c > 0x100 && c < 0x110) text_ += " row_shl:" + n;
    else if (c > 0x110 && c < 0x120) text_ += " row_shr:" + n;
    else if (c > 0x120 && c < 0x130) text_ += " row_ror:" + n;
    else if (c == 0x130) text_ += " wave_shl:1";
    else if (c == 0x134) text_ += " wave_rol:1";
    else if (c == 0x138) text_ += " wave_shr:1";
    else if (c == 0x13c) text_ += " wave_ror:1";
    else if (c == 0x140) text_ += " row_mirror";
    else if (c == 0x141) text_ += " row_half_mirror";
    else if (c == 0x142) text_ += " row_bcast:15";
    else if (c == 0x143) text_ += " row_bcast:31";
    else if (c >= 0x150 && c < 0x160) text_ += " row_newbcast:" + n;
    else text_ += " /* dpp_ctrl " + hex(c) + " */";
    text_ += " row_mask:" + hex(i_.dpp.row_mask) + " bank_mask:" + hex(i_.dpp.bank_mask);
    if (i_.dpp.bound_ctrl) text_ += " bound_ctrl:1";
  }

  unsigned sources() const {
    unsigned count = 0;
    for (const OperandSpec& s : info_.src) count += s.used() && s.role != Role::tied ? 1u : 0u;
    return count;
  }

  void vop3() {
    const bool compare = info_.format == Format::vopc;
    if (info_.format != Format::vop3 && info_.src[0].used()) text_ += "_e64";
    const unsigned vdst = i_.words[0] & 0xff;
    if (compare) sdst(i_.sdst, vdst & 0x7f);
    else if (info_.dst[0].used()) info_.dst[0].role == Role::sgpr ? sdst(i_.dst, vdst & 0x7f) : arg(i_.dst);
    if (!compare && info_.mask_dst() != nullptr) sdst(i_.sdst, (i_.words[0] >> 8) & 0x7f);
    unsigned n_field = 0;
    for (unsigned n = 0; n < 4 && info_.src[n].used(); ++n) {
      if (info_.src[n].role == Role::tied) continue;
      arg(modified(n_field++, operand_text(i_.src[n], info_.src[n])));
    }
    if (i_.op == Op::v_bitop3_b32 || i_.op == Op::v_bitop3_b16) {
      // The truth table is spread over abs, omod and neg.
      const unsigned table = static_cast<unsigned>(i_.mod.omod) << 6 | static_cast<unsigned>(i_.mod.abs) << 3 | i_.mod.neg;
      text_ += table != 0 ? " bitop3:" + hex(table) : "";
    }
    // One bit a source, and bit 3 for the destination.
    if (i_.mod.op_sel != 0 && uses_op_sel(info_)) {
      const unsigned count = sources();
      const unsigned bits = (i_.mod.op_sel & ((1u << count) - 1u)) | ((i_.mod.op_sel >> 3) & 1u) << count;
      text_ += bit_list("op_sel", bits, count + 1);
    }
    output_modifiers();
  }

  void vop3p() {
    arg(i_.dst);
    unsigned count = 0;
    const bool mix = info_.src[0].elem == Elem::mix32;
    for (unsigned n = 0; n < 3 && info_.src[n].used(); ++n, ++count) {
      const std::string plain = operand_text(i_.src[n], info_.src[n]);
      arg(mix ? modified(n, plain) : plain);
    }
    const unsigned all = (1u << count) - 1u;
    if ((i_.mod.op_sel & all) != 0) text_ += bit_list("op_sel", i_.mod.op_sel, count);
    if (mix ? (i_.mod.op_sel_hi & all) != 0 : (i_.mod.op_sel_hi & all) != all) text_ += bit_list("op_sel_hi", i_.mod.op_sel_hi, count);
    if (!mix && (i_.mod.neg & all) != 0) text_ += bit_list("neg_lo", i_.mod.neg, count);
    if (!mix && (i_.mod.abs & all) != 0) text_ += bit_list("neg_hi", i_.mod.abs, count);
    if (i_.mod.clamp) text_ += " clamp";
  }

  void mai() {
    arg(i_.dst);
    for (unsigned n = 0; n < 4 && info_.src[n].used(); ++n) {
      if (info_.src[n].role != Role::tied) arg(i_.src[n], info_.src[n]);
    }
    if (!info_.src[1].used()) return; // v_accvgpr_*
    const bool scaled = i_.format == Format::vop3px;
    if (scaled) {
      arg(i_.src[3]);
      arg(i_.sdst);
      if (i_.mod.op_sel != 0) text_ += bit_list("op_sel", i_.mod.op_sel, 3);
      if (i_.mod.op_sel_hi != 7) text_ += bit_list("op_sel_hi", i_.mod.op_sel_hi, 3);
    }
    if (i_.cbsz != 0) text_ += " cbsz:" + std::to_string(i_.cbsz);
    if (i_.abid != 0 && !scaled && info_.src[0].elem != Elem::f8f6f4) text_ += " abid:" + std::to_string(i_.abid);
    if (i_.blgp == 0) return;
    if (info_.src[0].elem == Elem::f64 && arch_ != Arch::gfx90a) text_ += bit_list("neg", i_.blgp, 3);
    else text_ += " blgp:" + std::to_string(i_.blgp);
  }

  // --- memory
  void ds() {
    if (info_.dst[0].used()) arg(i_.dst);
    if (info_.src[0].elem == Elem::addr) arg(i_.src[0]);
    if (info_.src[1].used()) arg(i_.src[1]);
    if (info_.src[2].used()) arg(i_.src[3]);
    const std::string_view name = info_.mnemonic;
    const bool two = name.find("read2") != name.npos || name.find("write2") != name.npos || name.find("wrxchg2") != name.npos;
    if (two) {
      if ((i_.imm & 0xff) != 0) text_ += " offset0:" + std::to_string(i_.imm & 0xff);
      if (i_.imm >> 8 != 0) text_ += " offset1:" + std::to_string(i_.imm >> 8);
    } else if (i_.op == Op::ds_swizzle_b32) {
      text_ += swizzle(i_.imm);
    } else if (i_.imm != 0 && i_.op != Op::ds_nop) {
      text_ += " offset:" + std::to_string(i_.imm);
    }
    if (i_.gds || info_.has(kGdsOnly)) text_ += " gds";
  }

  static std::string swizzle(std::uint32_t imm) {
    if (imm == 0) return "";
    if ((imm & 0xff00) == 0x8000) {
      return " offset:swizzle(QUAD_PERM," + std::to_string(imm & 3) + ',' + std::to_string((imm >> 2) & 3) + ',' + std::to_string((imm >> 4) & 3) + ',' + std::to_string((imm >> 6) & 3) + ')';
    }
    if ((imm & 0x8000) != 0) return " offset:" + std::to_string(imm);
    const unsigned and_mask = imm & 31, or_mask = (imm >> 5) & 31, xor_mask = (imm >> 10) & 31;
    if (and_mask == 31 && or_mask == 0 && std::popcount(xor_mask) == 1) return " offset:swizzle(SWAP," + std::to_string(xor_mask) + ')';
    if (and_mask == 31 && or_mask == 0 && xor_mask > 0 && std::popcount(xor_mask + 1) == 1) return " offset:swizzle(REVERSE," + std::to_string(xor_mask + 1) + ')';
    const unsigned group = 32 - and_mask;
    if (group > 1 && std::popcount(group) == 1 && or_mask < group && xor_mask == 0) {
      return " offset:swizzle(BROADCAST," + std::to_string(group) + ',' + std::to_string(or_mask) + ')';
    }
    std::string mask;
    for (int bit = 4; bit >= 0; --bit) {
      const unsigned zero = ((((0u & and_mask) | or_mask) ^ xor_mask) >> bit) & 1u, one = ((((31u & and_mask) | or_mask) ^ xor_mask) >> bit) & 1u;
      mask += zero == one ? (zero != 0 ? '1' : '0') : (zero == 0 ? 'p' : 'i');
    }
    return " offset:swizzle(BITMASK_PERM,\"" + mask + "\")";
  }

  void cache_bits() {
    const bool old = arch_ == Arch::gfx90a;
    if (i_.glc) text_ += old ? " glc" : " sc0";
    if (i_.slc) text_ += old ? " slc" : " nt";
    if (i_.scc) text_ += old ? " scc" : " sc1";
  }

  void flat() {
    const bool store = info_.src[1].used();
    if (i_.dst.kind != OperandKind::none && !i_.lds) arg(i_.dst);
    arg(i_.src[0]);
    if (store) arg(i_.src[1]);
    if (i_.format != Format::flat) arg(i_.src[2]);
    if (i_.imm != 0) text_ += " offset:" + std::to_string(static_cast<std::int32_t>(i_.imm));
    cache_bits();
    if (i_.lds) text_ += " lds";
  }

  void buffer() {
    if (info_.src[0].elem != Elem::addr) return cache_bits();
    const bool lds = i_.lds;
    const bool store_lds = i_.op == Op::buffer_store_lds_dword;
    if (!lds && !store_lds) arg(info_.src[1].used() ? i_.src[1] : i_.dst);
    if (!store_lds || i_.src[0].kind != OperandKind::none) arg(i_.src[0]);
    arg(i_.src[2]);
    arg(i_.src[3]);
    if (i_.format == Format::mtbuf) text_ += tbuffer_format();
    if (i_.idxen) text_ += " idxen";
    if (i_.offen) text_ += " offen";
    if (i_.imm != 0) text_ += " offset:" + std::to_string(i_.imm);
    cache_bits();
    if (lds || store_lds) text_ += " lds";
  }

  std::string tbuffer_format() const {
    constexpr const char* kData[16] = {"BUF_DATA_FORMAT_INVALID", "BUF_DATA_FORMAT_8", "BUF_DATA_FORMAT_16", "BUF_DATA_FORMAT_8_8", "BUF_DATA_FORMAT_32",
                                       "BUF_DATA_FORMAT_16_16", "BUF_DATA_FORMAT_10_11_11", "BUF_DATA_FORMAT_11_11_10", "BUF_DATA_FORMAT_10_10_10_2",
                                       "BUF_DATA_FORMAT_2_10_10_10", "BUF_DATA_FORMAT_8_8_8_8", "BUF_DATA_FORMAT_32_32", "BUF_DATA_FORMAT_16_16_16_16",
                                       "BUF_DATA_FORMAT_32_32_32", "BUF_DATA_FORMAT_32_32_32_32", "BUF_DATA_FORMAT_RESERVED_15"};
    constexpr const char* kNumber[8] = {"BUF_NUM_FORMAT_UNORM", "BUF_NUM_FORMAT_SNORM", "BUF_NUM_FORMAT_USCALED", "BUF_NUM_FORMAT_SSCALED",
                                        "BUF_NUM_FORMAT_UINT", "BUF_NUM_FORMAT_SINT", "BUF_NUM_FORMAT_RESERVED_6", "BUF_NUM_FORMAT_FLOAT"};
    const unsigned dfmt = i_.aux16 & 15u, nfmt = (i_.aux16 >> 4) & 7u;
    if (dfmt == 1 && nfmt == 0) return "";
    std::string text = " format:[";
    if (dfmt != 1) text += kData[dfmt];
    if (nfmt != 0) text += (dfmt != 1 ? std::string(",") : std::string()) + kNumber[nfmt];
    return text + ']';
  }

  const Inst& i_;
  const OpInfo& info_;
  Arch arch_;
  std::string text_;
  bool first_ = true;
};

bool direct_branch(const Inst& i) {
  const std::string_view name = i.info->mnemonic;
  return (i.format == Format::sopp && (name.starts_with("s_cbranch") || name == "s_branch")) || i.op == Op::s_call_b64 || i.op == Op::s_cbranch_i_fork;
}

} // namespace

std::string disassemble(const Inst& inst, Arch arch, std::uint64_t pc) {
  if (inst.info == nullptr) {
    std::string text = ".long";
    for (unsigned n = 0; n < inst.size_bytes / 4u; ++n) text += (n == 0 ? " " : ", ") + hex(inst.words[n]);
    return text;
  }
  std::string text = Printer(inst, arch).run();
  if (pc != 0 && direct_branch(inst)) {
    const std::uint64_t target = pc + 4 + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(inst.imm)) * 4);
    char comment[32];
    std::snprintf(comment, sizeof comment, " // 0x%llx", static_cast<unsigned long long>(target));
    text += comment;
  }
  return text;
}

} // namespace aql::sim::isa
