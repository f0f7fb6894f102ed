#include "sim/isa/decode.hpp"

#include <array>

#include "sim/isa/op_info.hpp"

namespace aql::sim::isa {
namespace {

constexpr std::uint32_t field(std::uint32_t word, unsigned shift, unsigned width) { return (word >> shift) & ((1u << width) - 1u); }
constexpr std::uint32_t sign_extend(std::uint32_t v, unsigned bits) {
  const std::uint32_t sign = 1u << (bits - 1);
  return ((v & ((sign << 1) - 1u)) ^ sign) - sign;
}

constexpr unsigned kVgprBase = 256;
constexpr unsigned kSrcSdwa = 249, kSrcDpp = 250, kSrcLiteral = 255;

constexpr std::array<Format, 512> families() {
  std::array<Format, 512> t{};
  for (unsigned top = 0; top < 512; ++top) {
    Format f = Format::illegal;
    if (top < 0x100) f = top >= 0xfc ? Format::vop1 : top >= 0xf8 ? Format::vopc : Format::vop2; // 0, 0111110, 0111111
    else if (top < 0x180) f = top == 0x17d ? Format::sop1 : top == 0x17e ? Format::sopc : top == 0x17f ? Format::sopp : top >= 0x160 ? Format::sopk : Format::sop2;
    else {
      switch (top >> 3) {
      case 0x30: f = Format::smem; break;
      case 0x34: f = top == 0x1a7 ? Format::vop3p : Format::vop3; break;
      case 0x36: f = Format::ds; break;
      case 0x37: f = Format::flat; break;
      case 0x38: f = Format::mubuf; break;
      case 0x3a: f = Format::mtbuf; break;
      default: break;
      }
    }
    t[top] = f;
  }
  return t;
}
constexpr auto kFamily = families();

// One decoding in progress. Every member returns false when the encoding is illegal.
class Decoder {
public:
  Decoder(std::span<const std::uint32_t> words, Arch arch, Inst& out) : words_(words), arch_(arch), i_(out) {}

  DecodeStatus run() {
    if (words_.empty()) return DecodeStatus::truncated;
    for (std::size_t n = 0; n < words_.size() && n < 4; ++n) i_.words[n] = words_[n];
    w0_ = words_[0];
    const Format family = kFamily[w0_ >> 23];
    i_.format = family;
    const bool two_words = family >= Format::smem && family != Format::vop1 && family != Format::vop2 && family != Format::vopc && family != Format::illegal;
    i_.size_bytes = two_words ? 8 : 4;
    if (two_words) {
      if (words_.size() < 2) return DecodeStatus::truncated;
      w1_ = words_[1];
    }
    const bool good = dispatch(family);
    if (truncated_) return DecodeStatus::truncated;
    if (!good) return DecodeStatus::illegal;
    for (const Operand* o : {&i_.dst, &i_.sdst, &i_.src[0], &i_.src[1], &i_.src[2], &i_.src[3]}) {
      const auto top = static_cast<std::uint16_t>(o->index + o->width);
      if (o->kind == OperandKind::vgpr && top > i_.vgpr_top) i_.vgpr_top = top;
      if (o->kind == OperandKind::agpr && top > i_.agpr_top) i_.agpr_top = top;
    }
    return DecodeStatus::ok;
  }

private:
  bool dispatch(Format family) {
    switch (family) {
    case Format::sop2: return row(Format::sop2, field(w0_, 23, 7)) && sop2();
    case Format::sopk: return row(Format::sopk, field(w0_, 23, 5)) && sopk();
    case Format::sop1: return row(Format::sop1, field(w0_, 8, 8)) && sop1();
    case Format::sopc: return row(Format::sopc, field(w0_, 16, 7)) && sopc();
    case Format::sopp:
      i_.imm = sign_extend(w0_, 16);
      return row(Format::sopp, field(w0_, 16, 7));
    case Format::smem: return row(Format::smem, field(w0_, 18, 8)) && smem();
    case Format::vop1: return row(Format::vop1, field(w0_, 9, 8)) && vop_short(false);
    case Format::vop2: return row(Format::vop2, field(w0_, 25, 6)) && vop_short(true);
    case Format::vopc: return row(Format::vopc, field(w0_, 17, 8)) && vop_short(true);
    case Format::vop3: return row(Format::vop3, field(w0_, 16, 10)) && vop3();
    case Format::vop3p: return vop3p();
    case Format::ds: return row(Format::ds, field(w0_, 17, 8)) && ds();
    case Format::flat: return flat();
    case Format::mubuf: return row(Format::mubuf, field(w0_, 18, 7)) && mubuf();
    case Format::mtbuf: return row(Format::mtbuf, field(w0_, 15, 4)) && mtbuf();
    default: return false;
    }
  }

  bool row(Format format, unsigned code) {
    i_.format = format;
    info_ = find_op(format, code, arch_);
    if (info_ == nullptr) return false;
    i_.info = info_;
    i_.op = info_->op;
    return true;
  }

  // --- operands
  // A scalar register range; 64-bit pairs and wider tuples drop the low bits of an unaligned number, as hardware does.
  static bool sgpr(Operand& o, unsigned code, unsigned dwords) {
    unsigned index = code;
    if (dwords == 2) index &= ~1u;
    if (dwords > 2) index &= ~3u;
    if (index == 125 || (index == 124 && dwords > 1)) return false;
    if (dwords == 2 && index != code && (code < 108 ? code >= 102 : code >= 124)) return false; // the high half of a named pair
    if (dwords > 2 && !(index + dwords <= 104 || (index >= 108 && index + dwords <= 124))) return false;
    o = Operand{OperandKind::sgpr, static_cast<std::uint8_t>(dwords), static_cast<std::uint16_t>(index), 0, 0};
    return true;
  }

  static bool sgpr_dst(Operand& o, unsigned code, unsigned dwords) {
    if (code > 127 || !sgpr(o, code, dwords)) return false;
    if (o.index >= kTtmp0Index && o.index < kTtmp0Index + 16) o.index = kSgprSink;
    return true;
  }

  // Vector register tuples are even-aligned on gfx90a and later and do not wrap.
  static bool vgpr(Operand& o, unsigned index, unsigned dwords, bool acc) {
    if (dwords > 1 && ((index & 1u) != 0 || index + dwords > 256)) return false;
    o = Operand{acc ? OperandKind::agpr : OperandKind::vgpr, static_cast<std::uint8_t>(dwords), static_cast<std::uint16_t>(index), 0, 0};
    return true;
  }

  enum Literal : bool { no_literal, may_be_literal };

  // An 8-bit scalar source.
  bool scalar_source(Operand& o, unsigned code, OperandSpec spec, Literal literal) {
    const unsigned dwords = spec.dwords();
    if (code < 128) return sgpr(o, code, dwords);
    if (expand_inline_constant(code, spec, o)) return true;
    if ((code >= 235 && code <= 239) || (code >= 251 && code <= 254)) {
      if (code == 254) return false; // LDS_DIRECT: gone since gfx90a
      o = Operand{OperandKind::special, static_cast<std::uint8_t>(dwords), static_cast<std::uint16_t>(code), 0, 0};
      return true;
    }
    if (code == kSrcLiteral && literal == may_be_literal) return literal_operand(o, spec);
    return false;
  }

  // A 9-bit vector source.
  bool source(Operand& o, unsigned code, OperandSpec spec, Literal literal) {
    if (spec.role == Role::acc) return code >= kVgprBase && vgpr(o, code - kVgprBase, spec.dwords(), true);
    const bool scalar_only = spec.role == Role::sgpr || spec.elem == Elem::mask;
    if (code >= kVgprBase) return !scalar_only && vgpr(o, code - kVgprBase, spec.dwords(), false);
    return scalar_source(o, code, spec, literal);
  }

  bool next_word(std::uint32_t& word) {
    const unsigned at = i_.size_bytes / 4u;
    if (at >= words_.size()) {
      truncated_ = true;
      return false;
    }
    word = words_[at];
    i_.size_bytes = static_cast<std::uint8_t>(i_.size_bytes + 4);
    return true;
  }

  // The 32-bit literal after the instruction; read once even if two operands name it.
  bool literal_operand(Operand& o, OperandSpec spec) {
    if (!has_literal_) {
      if (!next_word(literal_)) return false;
      has_literal_ = true;
    }
    const unsigned dwords = spec.dwords();
    o = Operand{OperandKind::constant, static_cast<std::uint8_t>(dwords), kSrcLiteral, literal_, 0};
    if (spec.elem == Elem::f64) { // the literal is the high half
      o.value = 0;
      o.value_hi = literal_;
    } else if (spec.elem == Elem::i64) {
      o.value_hi = (literal_ >> 31) != 0 ? ~0u : 0u;
    }
    return true;
  }

  // --- scalar ALU
  bool sop2() {
    return (!info_->dst[0].used() || sgpr_dst(i_.dst, field(w0_, 16, 7), info_->dst[0].dwords())) &&
           scalar_source(i_.src[0], field(w0_, 0, 8), info_->src[0], may_be_literal) &&
           scalar_source(i_.src[1], field(w0_, 8, 8), info_->src[1], may_be_literal);
  }

  bool sop1() {
    return (!info_->dst[0].used() || sgpr_dst(i_.dst, field(w0_, 16, 7), info_->dst[0].dwords())) &&
           (!info_->src[0].used() || scalar_source(i_.src[0], field(w0_, 0, 8), info_->src[0], may_be_literal));
  }

  bool sopc() {
    if (!scalar_source(i_.src[0], field(w0_, 0, 8), info_->src[0], may_be_literal)) return false;
    if (info_->src[1].elem == Elem::imm) {
      i_.imm = field(w0_, 8, 8);
      return true;
    }
    return scalar_source(i_.src[1], field(w0_, 8, 8), info_->src[1], may_be_literal);
  }

  bool sopk() {
    i_.imm = sign_extend(w0_, 16);
    const unsigned reg = field(w0_, 16, 7);
    if (info_->src[0].role == Role::literal) return literal_operand(i_.src[0], info_->src[0]);
    if (info_->dst[0].used()) {
      if (!sgpr_dst(i_.dst, reg, info_->dst[0].dwords())) return false;
      return info_->src[0].role != Role::tied || sgpr(i_.src[0], reg, info_->src[0].dwords());
    }
    return sgpr(i_.src[0], reg, info_->src[0].dwords());
  }

  bool smem() {
    const unsigned data = field(w0_, 6, 7);
    i_.glc = field(w0_, 16, 1) != 0;
    const bool imm = field(w0_, 17, 1) != 0, soffset_en = field(w0_, 14, 1) != 0;
    if (imm) i_.imm = sign_extend(w1_, 21);
    if (info_->src[0].used()) {
      if (!sgpr(i_.src[0], field(w0_, 0, 6) << 1, info_->src[0].dwords())) return false;
      constexpr OperandSpec kOffset{Elem::u32, 1, Role::field};
      // GFX9 form: soffset besides the immediate; the older form has an SGPR number in the offset field.
      if (soffset_en && !sgpr(i_.src[3], field(w1_, 25, 7), kOffset.dwords())) return false;
      if (!soffset_en && !imm && !sgpr(i_.src[3], field(w1_, 0, 7), kOffset.dwords())) return false;
    }
    if (info_->src[1].elem == Elem::imm) {
      i_.src[1] = Operand{OperandKind::constant, 1, static_cast<std::uint16_t>(data), data, 0};
      return true;
    }
    if (info_->src[1].used() && !sgpr(i_.src[1], data, info_->src[1].dwords())) return false;
    const bool result = info_->dst[0].used() && (!info_->has(kAtomic) || i_.glc);
    return !result || sgpr_dst(i_.dst, data, info_->dst[0].dwords());
  }

  // --- vector ALU
  bool vector_dst(unsigned index, bool acc = false) {
    const OperandSpec& spec = info_->dst[0];
    if (!spec.used() || spec.elem == Elem::mask) return true;
    if (spec.role == Role::sgpr) return sgpr_dst(i_.dst, index, spec.dwords());
    return vgpr(i_.dst, index, spec.dwords(), acc || spec.role == Role::acc);
  }

  void implicit_vcc(Operand& o) { o = Operand{OperandKind::sgpr, 2, kVccIndex, 0, 0}; }

  // VOP1, VOP2, VOPC: 32 bits, plus a literal, an SDWA or a DPP word.
  bool vop_short(bool has_src1) {
    unsigned src0 = field(w0_, 0, 9);
    const unsigned vdst = field(w0_, 17, 8), vsrc1 = field(w0_, 9, 8);
    std::uint32_t extra = 0;
    if (info_->src[0].used() && (src0 == kSrcSdwa || src0 == kSrcDpp)) {
      i_.extra = src0 == kSrcSdwa ? Extra::sdwa : Extra::dpp;
      if (!info_->has(src0 == kSrcSdwa ? kHasSdwa : kHasDpp) || !next_word(extra)) return false;
    }
    if (info_->format != Format::vopc && !vector_dst(vdst)) return false;
    if (info_->mask_dst() != nullptr) implicit_vcc(i_.sdst);
    bool src1_scalar = false;
    if (i_.extra == Extra::sdwa && !sdwa(extra, src0, src1_scalar)) return false;
    if (i_.extra == Extra::dpp) dpp(extra, src0);
    unsigned fields = 0; // encoding fields used up: src0, then vsrc1
    for (unsigned n = 0; n < 3 && info_->src[n].used(); ++n) {
      const OperandSpec& spec = info_->src[n];
      Operand& o = i_.src[n];
      if (spec.role == Role::tied) o = i_.dst;
      else if (spec.role == Role::literal) {
        if (!literal_operand(o, spec)) return false;
      } else if (spec.elem == Elem::mask) implicit_vcc(o);
      else if (fields++ == 0) {
        if (!source(o, src0, spec, may_be_literal)) return false;
      } else if (!has_src1) return false;
      else if (src1_scalar ? !scalar_source(o, vsrc1, spec, no_literal) : !vgpr(o, vsrc1, spec.dwords(), false)) return false;
    }
    return true;
  }

  bool sdwa(std::uint32_t w, unsigned& src0, bool& src1_scalar) {
    const bool compare = info_->format == Format::vopc;
    src0 = field(w, 0, 8) + (field(w, 23, 1) != 0 ? 0u : kVgprBase);
    if (src0 < kVgprBase && src0 >= 249 && src0 <= 250) return false;
    if (src0 == kSrcLiteral) return false;
    if (field(w, 16, 3) == 7 || (info_->src[1].used() && field(w, 24, 3) == 7)) return false; // no such selection
    if (!compare && (field(w, 8, 3) == 7 || field(w, 11, 2) == 3)) return false;
    src1_scalar = field(w, 31, 1) != 0;
    if (compare) {
      if (field(w, 15, 1) != 0 && !sgpr_dst(i_.sdst, field(w, 8, 7), 2)) return false;
    } else {
      i_.sdwa.dst_sel = static_cast<std::uint8_t>(field(w, 8, 3));
      i_.sdwa.dst_unused = static_cast<std::uint8_t>(field(w, 11, 2));
      i_.mod.clamp = field(w, 13, 1) != 0;
      i_.mod.omod = static_cast<std::uint8_t>(field(w, 14, 2));
    }
    i_.sdwa.src0_sel = static_cast<std::uint8_t>(field(w, 16, 3));
    i_.sdwa.src1_sel = static_cast<std::uint8_t>(field(w, 24, 3));
    i_.sdwa.src0_sext = field(w, 19, 1) != 0;
    i_.sdwa.src1_sext = field(w, 27, 1) != 0;
    i_.mod.neg = static_cast<std::uint8_t>(field(w, 20, 1) | field(w, 28, 1) << 1);
    i_.mod.abs = static_cast<std::uint8_t>(field(w, 21, 1) | field(w, 29, 1) << 1);
    return true;
  }

  void dpp(std::uint32_t w, unsigned& src0) {
    src0 = field(w, 0, 8) + kVgprBase;
    i_.dpp.ctrl = static_cast<std::uint16_t>(field(w, 8, 9));
    i_.dpp.bound_ctrl = field(w, 19, 1) != 0;
    i_.mod.neg = static_cast<std::uint8_t>(field(w, 20, 1) | field(w, 22, 1) << 1);
    i_.mod.abs = static_cast<std::uint8_t>(field(w, 21, 1) | field(w, 23, 1) << 1);
    i_.dpp.bank_mask = static_cast<std::uint8_t>(field(w, 24, 4));
    i_.dpp.row_mask = static_cast<std::uint8_t>(field(w, 28, 4));
  }

  bool vop3_sources() {
    unsigned n_field = 0;
    constexpr unsigned kShift[3] = {0, 9, 18};
    for (unsigned n = 0; n < 4 && info_->src[n].used(); ++n) {
      const OperandSpec& spec = info_->src[n];
      if (spec.role == Role::tied) {
        i_.src[n] = i_.dst;
        continue;
      }
      if (n_field == 3 || !source(i_.src[n], field(w1_, kShift[n_field], 9), spec, no_literal)) return false;
      ++n_field;
    }
    return true;
  }

  bool vop3() {
    i_.mod.clamp = field(w0_, 15, 1) != 0;
    i_.mod.omod = static_cast<std::uint8_t>(field(w1_, 27, 2));
    i_.mod.neg = static_cast<std::uint8_t>(field(w1_, 29, 3));
    const unsigned vdst = field(w0_, 0, 8);
    if (info_->format == Format::vopc) {
      i_.mod.abs = static_cast<std::uint8_t>(field(w0_, 8, 3));
      i_.mod.op_sel = static_cast<std::uint8_t>(field(w0_, 11, 4));
      return sgpr_dst(i_.sdst, vdst, 2) && vop3_sources();
    }
    if (info_->mask_dst() != nullptr) { // VOP3B
      if (!sgpr_dst(i_.sdst, field(w0_, 8, 7), 2)) return false;
    } else {
      i_.mod.abs = static_cast<std::uint8_t>(field(w0_, 8, 3));
      i_.mod.op_sel = static_cast<std::uint8_t>(field(w0_, 11, 4));
    }
    return vector_dst(vdst) && vop3_sources();
  }

  bool vop3p() {
    constexpr unsigned kScalePrefix = 44; // v_mfma_ld_scale: the first half of a scaled MFMA
    const unsigned code = field(w0_, 16, 7);
    if (code == kScalePrefix && arch_ == Arch::gfx950) return scaled_mfma();
    if (!row(Format::vop3p, code)) return false;
    if (info_->has(kMai)) return mai();
    i_.mod.clamp = field(w0_, 15, 1) != 0;
    i_.mod.abs = static_cast<std::uint8_t>(field(w0_, 8, 3)); // neg_hi
    i_.mod.op_sel = static_cast<std::uint8_t>(field(w0_, 11, 3));
    i_.mod.op_sel_hi = static_cast<std::uint8_t>(field(w1_, 27, 2) | field(w0_, 14, 1) << 2);
    i_.mod.neg = static_cast<std::uint8_t>(field(w1_, 29, 3));
    return vector_dst(field(w0_, 0, 8)) && vop3_sources();
  }

  // Registers of an f8f6f4 operand by its format code; 0 for reserved codes.
  static unsigned f8f6f4_dwords(unsigned format) {
    constexpr std::uint8_t kDwords[8] = {8, 8, 6, 6, 4, 0, 0, 0};
    return kDwords[format];
  }

  bool mai() {
    i_.cbsz = static_cast<std::uint8_t>(field(w0_, 8, 3));
    i_.abid = static_cast<std::uint8_t>(field(w0_, 11, 4));
    i_.blgp = static_cast<std::uint8_t>(field(w1_, 29, 3));
    const bool acc_cd = field(w0_, 15, 1) != 0;
    // v_accvgpr_read/write say AccVGPR by opcode: the bits that are ACC elsewhere are set in their ordinary encoding.
    const bool move = info_->src[1].elem == Elem::none;
    if (!vector_dst(field(w0_, 0, 8), acc_cd && !move)) return false;
    unsigned n_field = 0;
    for (unsigned n = 0; n < 4 && info_->src[n].used(); ++n) {
      const OperandSpec& spec = info_->src[n];
      Operand& o = i_.src[n];
      if (spec.role == Role::tied) {
        o = i_.dst;
        continue;
      }
      const unsigned code = field(w1_, n_field * 9, 9);
      const bool smfmac_index = n == 2 && info_->src[3].role == Role::tied;
      const bool acc = spec.role == Role::acc || (!move && (n < 2 ? field(w1_, 27 + n, 1) != 0 : acc_cd && !smfmac_index));
      unsigned dwords = spec.dwords();
      if (spec.elem == Elem::f8f6f4) dwords = f8f6f4_dwords(n == 0 ? i_.cbsz : i_.blgp);
      if (dwords == 0) return false;
      if (code >= kVgprBase) {
        if (!vgpr(o, code - kVgprBase, dwords, acc)) return false;
      } else if (move) {
        if (spec.role == Role::acc || !scalar_source(o, code, spec, no_literal)) return false;
      } else if (n != 2 || smfmac_index || !expand_inline_constant(code, spec, o)) {
        return false; // A and B are vector registers; C may be an inline constant
      }
      ++n_field;
    }
    return true;
  }

  // 16 bytes: a prefix with the scales, then the MFMA itself.
  bool scaled_mfma() {
    const std::uint32_t prefix0 = w0_, prefix1 = w1_;
    std::uint32_t m0 = 0, m1 = 0;
    if (!next_word(m0) || !next_word(m1)) return false;
    if (kFamily[m0 >> 23] != Format::vop3p || !row(Format::vop3px, field(m0, 16, 7))) return false;
    w0_ = m0;
    w1_ = m1;
    if ((field(w0_, 11, 1) & 1u) == 0 || !mai()) return false; // ABID[0]: the MFMA takes the scales
    i_.mod.op_sel = static_cast<std::uint8_t>(field(prefix0, 11, 2));
    i_.mod.op_sel_hi = static_cast<std::uint8_t>(field(prefix1, 27, 2));
    constexpr OperandSpec kScale{Elem::b32, 1, Role::field};
    return source(i_.src[3], field(prefix1, 0, 9), kScale, no_literal) && source(i_.sdst, field(prefix1, 9, 9), kScale, no_literal);
  }

  // --- memory
  bool ds() {
    i_.imm = field(w0_, 0, 16);
    // No other instruction can reach GDS since gfx90a, and these must say so.
    i_.gds = info_->has(kGdsOnly);
    if (i_.gds && field(w0_, 16, 1) == 0) return false;
    const bool acc = field(w0_, 25, 1) != 0;
    const unsigned result = field(w1_, 24, 8);
    // This one's result may begin at an odd register: checked as if one lower, then put right.
    const bool odd = i_.op == Op::ds_read_b96_tr_b6 && (result & 1u) != 0;
    if (info_->dst[0].used() && !vgpr(i_.dst, odd ? result - 1 : result, info_->dst[0].dwords() + (odd ? 1 : 0), acc)) return false;
    if (odd) i_.dst = {i_.dst.kind, 3, static_cast<std::uint16_t>(result), 0, 0};
    if (info_->src[0].elem == Elem::addr && !vgpr(i_.src[0], field(w1_, 0, 8), 1, false)) return false;
    if (info_->src[1].used() && !vgpr(i_.src[1], field(w1_, 8, 8), info_->src[1].dwords(), acc)) return false;
    return !info_->src[2].used() || vgpr(i_.src[3], field(w1_, 16, 8), info_->src[2].dwords(), acc);
  }

  bool flat() {
    constexpr Format kSegment[4] = {Format::flat, Format::scratch, Format::global, Format::illegal};
    const Format segment = kSegment[field(w0_, 14, 2)];
    if (segment == Format::illegal || !row(segment, field(w0_, 18, 7))) return false;
    i_.glc = field(w0_, 16, 1) != 0;
    i_.slc = field(w0_, 17, 1) != 0;
    i_.scc = field(w0_, 25, 1) != 0;
    const bool acc = field(w1_, 23, 1) != 0, bit13 = field(w0_, 13, 1) != 0;
    const unsigned vaddr = field(w1_, 0, 8), saddr = field(w1_, 16, 7);
    const bool has_saddr = segment != Format::flat && saddr != 0x7f;
    i_.imm = segment == Format::flat ? field(w0_, 0, 12) : sign_extend(w0_, 13);
    if (segment == Format::flat) {
      if (!vgpr(i_.src[0], vaddr, 2, false)) return false;
    } else if (segment == Format::global) {
      if (!vgpr(i_.src[0], vaddr, has_saddr ? 1 : 2, false)) return false;
      if (has_saddr && !sgpr(i_.src[2], saddr, 2)) return false;
    } else {
      if (arch_ == Arch::gfx90a) { // one of the two
        i_.sve = !has_saddr;
        i_.imm = sign_extend(w0_, 13);
      } else {
        i_.sve = bit13;
      }
      if (i_.sve && !vgpr(i_.src[0], vaddr, 1, false)) return false;
      if (has_saddr && !sgpr(i_.src[2], saddr, 1)) return false;
    }
    // gfx90a: the LDS bit sends loads of up to a dword to LDS; later targets have opcodes of their own for that, and it is
    // their operation. The row, and so the text, stays that of the plain load.
    if (arch_ == Arch::gfx90a && bit13 && segment != Format::flat && info_->code >= 16 && info_->code <= 20) {
      constexpr Op kGlobal[] = {Op::global_load_lds_ubyte, Op::global_load_lds_sbyte, Op::global_load_lds_ushort, Op::global_load_lds_sshort, Op::global_load_lds_dword};
      constexpr Op kScratch[] = {Op::scratch_load_lds_ubyte, Op::scratch_load_lds_sbyte, Op::scratch_load_lds_ushort, Op::scratch_load_lds_sshort, Op::scratch_load_lds_dword};
      i_.op = (segment == Format::global ? kGlobal : kScratch)[info_->code - 16];
      i_.lds = true;
      return true;
    }
    return vmem_data(field(w1_, 8, 8), field(w1_, 24, 8), acc);
  }

  // Data source and result of a load, store or atomic.
  bool vmem_data(unsigned data, unsigned result, bool acc) {
    if (info_->src[1].used() && !vgpr(i_.src[1], data, info_->src[1].dwords(), acc)) return false;
    const bool returns = info_->dst[0].used() && (!info_->has(kAtomic) || i_.glc);
    return !returns || vgpr(i_.dst, result, info_->dst[0].dwords(), acc);
  }

  bool buffer_address() {
    i_.imm = field(w0_, 0, 12);
    i_.offen = field(w0_, 12, 1) != 0;
    i_.idxen = field(w0_, 13, 1) != 0;
    i_.glc = field(w0_, 14, 1) != 0;
    const unsigned address_registers = (i_.offen ? 1u : 0u) + (i_.idxen ? 1u : 0u);
    if (address_registers != 0 && !vgpr(i_.src[0], field(w1_, 0, 8), address_registers, false)) return false;
    constexpr OperandSpec kOffset{Elem::u32, 1, Role::field};
    return sgpr(i_.src[2], field(w1_, 16, 5) << 2, 4) && scalar_source(i_.src[3], field(w1_, 24, 8), kOffset, no_literal);
  }

  bool mubuf() {
    i_.scc = field(w0_, 15, 1) != 0;
    i_.lds = field(w0_, 16, 1) != 0;
    i_.slc = field(w0_, 17, 1) != 0;
    i_.glc = field(w0_, 14, 1) != 0;
    if (info_->src[0].elem != Elem::addr) return true; // cache control
    if (!i_.lds && i_.op == Op::buffer_store_lds_dword) return false;
    if (i_.lds && i_.op != Op::buffer_store_lds_dword && !info_->has(kLds) && !(info_->has(kLds950) && arch_ == Arch::gfx950)) return false;
    if (!buffer_address()) return false;
    if (i_.lds) return true;
    const unsigned data = field(w1_, 8, 8);
    return vmem_data(data, data, field(w1_, 23, 1) != 0);
  }

  bool mtbuf() {
    i_.aux16 = static_cast<std::uint16_t>(field(w0_, 19, 4) | field(w0_, 23, 3) << 4);
    i_.scc = field(w1_, 21, 1) != 0;
    i_.slc = field(w1_, 22, 1) != 0;
    const unsigned data = field(w1_, 8, 8);
    return buffer_address() && vmem_data(data, data, field(w1_, 23, 1) != 0);
  }

  static constexpr unsigned kTtmp0Index = 108;
  static constexpr std::uint16_t kVccIndex = 106;

  std::span<const std::uint32_t> words_;
  Arch arch_;
  Inst& i_;
  const OpInfo* info_ = nullptr;
  std::uint32_t w0_ = 0, w1_ = 0, literal_ = 0;
  bool has_literal_ = false, truncated_ = false;
};

} // namespace

bool expand_inline_constant(unsigned code, OperandSpec spec, Operand& out) noexcept {
  const unsigned dwords = spec.dwords();
  std::uint32_t lo = 0, hi = 0;
  if (code >= 128 && code <= 208) {
    lo = code <= 192 ? code - 128 : 192 - code; // 0..64, -1..-16
    hi = code <= 192 ? 0 : ~0u;
    if (bits_of(spec.elem) == 32 && dwords == 2) hi = lo; // packed pair
  } else if (code >= 240 && code <= 248) {
    // 0.5 -0.5 1.0 -1.0 2.0 -2.0 4.0 -4.0 1/(2 pi)
    constexpr std::uint32_t kF32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    constexpr std::uint16_t kF16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
    constexpr std::uint16_t kBf16[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};
    constexpr std::uint32_t kF64Hi[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000, 0x40000000, 0xc0000000, 0x40100000, 0xc0100000, 0x3fc45f30};
    const unsigned n = code - 240;
    // 16-bit float types see their own format in the low half and 0 in the high half; 16-bit integer types see the f32 bits.
    if (spec.elem == Elem::f16) lo = kF16[n];
    else if (spec.elem == Elem::bf16) lo = kBf16[n];
    else if (bits_of(spec.elem) == 64) {
      lo = code == 248 ? 0x6dc9c882u : 0u;
      hi = kF64Hi[n];
    } else {
      lo = kF32[n];
      if (dwords == 2) hi = lo;
    }
  } else {
    return false;
  }
  out = Operand{OperandKind::constant, static_cast<std::uint8_t>(dwords), static_cast<std::uint16_t>(code), lo, dwords > 1 ? hi : 0u};
  return true;
}

Format family_of(std::uint32_t word) noexcept { return kFamily[word >> 23]; }

DecodeStatus decode(std::span<const std::uint32_t> words, Arch arch, Inst& out) { return Decoder(words, arch, out).run(); }

} // namespace aql::sim::isa
