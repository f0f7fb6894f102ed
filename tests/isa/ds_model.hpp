#pragma once
// The slow model of DS instructions on a whole wave, from the CDNA4 ISA guide's pseudocode; apart from the library's code.

#include <bit>
#include <vector>

#include "isa/mem_model.hpp"

namespace aql::test::model {

struct DsWave {
  std::vector<std::uint8_t>& lds;
  std::uint64_t exec = 0;
  std::array<std::uint32_t, 64> address{};
  std::array<Regs, 64> data{}, data2{}, result{};
  std::uint32_t m0 = 0, m0_mask = 0xffff;
  FloatRules f32, f64; // of MODE; packed 16-bit numbers follow f64's
  bool ecc = true;

  [[nodiscard]] std::uint32_t m0_address() const { return m0 & m0_mask; }
  [[nodiscard]] bool active(unsigned l) const { return ((exec >> l) & 1) != 0; }
  [[nodiscard]] bool inside(std::uint32_t at, std::uint32_t bytes) const { return std::uint64_t{at} + bytes <= lds.size(); }
  [[nodiscard]] ByteAt bytes(std::uint32_t at) {
    return [this, at](std::uint32_t n) -> std::uint8_t& { return lds.at(at + n); };
  }
  [[nodiscard]] std::uint64_t read(std::uint32_t at, std::uint32_t count) { return inside(at, count) ? get(bytes(at), 0, count) : 0; }
  void write(std::uint32_t at, std::uint32_t count, std::uint64_t v) {
    if (inside(at, count)) put(bytes(at), 0, count, v);
  }
};

inline std::uint64_t value_of(const Regs& r, unsigned bytes) { return bytes == 4 ? r[0] : pair(r, 0); }
inline void give(Regs& r, unsigned bytes, std::uint64_t v, unsigned first = 0) {
  r[first] = static_cast<std::uint32_t>(v);
  if (bytes == 8) r[first + 1] = static_cast<std::uint32_t>(v >> 32);
}

// "read2st64_b64" -> size and distance of its two addresses.
inline bool two_addresses(const std::string& name, unsigned& bytes, unsigned& scale) {
  if (name.rfind("read2", 0) != 0 && name.rfind("write2", 0) != 0 && name.rfind("wrxchg2", 0) != 0) return false;
  bytes = name.substr(name.size() - 2) == "64" ? 8 : 4;
  scale = bytes * (name.find("st64") != std::string::npos ? 64 : 1);
  return true;
}

inline unsigned swizzle_from(unsigned offset, unsigned i) {
  unsigned j = 0;
  if (offset >= 0xe000) {
    const unsigned mask = offset & 0x1f;
    for (unsigned bit = 0; bit < 5; ++bit) {
      if ((i >> bit) & 1) j |= 1u << (4 - bit);
    }
    j >>= std::popcount(mask);
    j |= i & mask;
    return j | (i & 0x20);
  }
  if (offset >= 0xc000) {
    int rotate = static_cast<int>((offset >> 5) & 31);
    if (((offset >> 10) & 1) != 0) rotate = -rotate;
    const unsigned mask = offset & 31;
    j = (i & mask) | (static_cast<unsigned>(static_cast<int>(i) + rotate) & ~mask);
    return (j & 31) | (i & 0x20);
  }
  if ((offset & 0x8000) != 0) return i / 4 * 4 + ((offset >> (i % 4 * 2)) & 3);
  j = (((i & 0x1f) & (offset & 31)) | ((offset >> 5) & 31)) ^ ((offset >> 10) & 31);
  return j | (i & 0x20);
}

// Lane and element that element `e` of lane `l` comes from, for an element of `bits`: groups of 16 lanes, each row of 16
// elements in 16 * bits / 64 (of 6 bits: 96) lanes one after the other.
inline std::pair<unsigned, unsigned> transposed_from(unsigned l, unsigned e, unsigned bits) {
  const unsigned elements_a_lane = bits == 6 ? 16 : 64 / bits;
  const unsigned flat = e * 16 + l % 16; // row e, column l of the group's matrix
  return {l / 16 * 16 + flat / elements_a_lane, flat % elements_a_lane};
}

inline void ds(const std::string& name, std::uint32_t imm, DsWave& w) {
  unsigned bytes = 0, scale = 0;
  bool sign = false;
  std::string half;
  const auto each = [&](auto&& f) {
    for (unsigned l = 0; l < 64; ++l) {
      if (w.active(l)) f(l, static_cast<std::uint32_t>(w.address[l] + imm));
    }
  };
  if (name == "nop") return;
  if (name == "swizzle_b32" || name == "bpermute_b32") {
    const auto before = w.address;
    each([&](unsigned l, std::uint32_t at) {
      const unsigned from = name[0] == 's' ? swizzle_from(imm, l) : at / 4 % 64;
      const std::uint32_t v = name[0] == 's' ? before[from] : w.data[from][0];
      w.result[l][0] = w.active(from) ? v : 0;
    });
    return;
  }
  if (name == "permute_b32") {
    std::array<std::uint32_t, 64> moved{};
    each([&](unsigned l, std::uint32_t at) { moved[at / 4 % 64] = w.data[l][0]; });
    each([&](unsigned l, std::uint32_t) { w.result[l][0] = moved[l]; });
    return;
  }
  if (name == "append" || name == "consume") {
    if (w.exec == 0) return;
    const std::uint32_t at = w.m0_address() + imm;
    const auto old = static_cast<std::uint32_t>(w.read(at, 4));
    const auto count = static_cast<std::uint32_t>(std::popcount(w.exec));
    w.write(at, 4, name == "append" ? old + count : old - count);
    each([&](unsigned l, std::uint32_t) { w.result[l][0] = old; });
    return;
  }
  if (name == "read_addtid_b32") return each([&](unsigned l, std::uint32_t) { w.result[l][0] = static_cast<std::uint32_t>(w.read(w.m0_address() + imm + l * 4, 4)); });
  if (name == "write_addtid_b32") return each([&](unsigned l, std::uint32_t) { w.write(w.m0_address() + imm + l * 4, 4, w.data[l][0]); });
  if (const auto tr = name.find("_tr_b"); tr != std::string::npos) {
    const auto bits = static_cast<unsigned>(std::stoul(name.substr(tr + 5)));
    const unsigned dwords = bits == 6 ? 3 : 2;
    std::array<Regs, 64> loaded{};
    each([&](unsigned l, std::uint32_t at) {
      for (unsigned d = 0; d < dwords && w.inside(at, dwords * 4); ++d) loaded[l][d] = static_cast<std::uint32_t>(w.read(at + d * 4, 4));
    });
    each([&](unsigned l, std::uint32_t) {
      for (unsigned d = 0; d < dwords; ++d) w.result[l][d] = 0;
      for (unsigned bit = 0; bit < dwords * 32; ++bit) { // bit by bit
        const auto [lane, element] = transposed_from(l, bit / bits, bits);
        const unsigned from = element * bits + bit % bits;
        w.result[l][bit / 32] |= ((loaded[lane][from / 32] >> (from % 32)) & 1u) << (bit % 32);
      }
    });
    return;
  }
  if (two_addresses(name, bytes, scale)) {
    const auto before = w.address;
    for (unsigned l = 0; l < 64; ++l) {
      if (!w.active(l)) continue;
      const auto first = static_cast<std::uint32_t>(before[l] + (imm & 0xff) * scale), second = static_cast<std::uint32_t>(before[l] + (imm >> 8) * scale);
      const std::uint64_t a = w.read(first, bytes), b = w.read(second, bytes);
      if (name[0] != 'r') w.write(first, bytes, value_of(w.data[l], bytes));
      if (name[0] != 'r' && name.rfind("write2", 0) != 0) w.write(second, bytes, value_of(w.data2[l], bytes));
      if (name.rfind("write2", 0) == 0) continue;
      give(w.result[l], bytes, a);
      give(w.result[l], bytes, b, bytes / 4);
    }
    if (name.rfind("write2", 0) == 0) { // all first elements before all second ones
      for (unsigned l = 0; l < 64; ++l) {
        if (w.active(l)) w.write(static_cast<std::uint32_t>(before[l] + (imm >> 8) * scale), bytes, value_of(w.data2[l], bytes));
      }
    }
    return;
  }
  const auto bits_at_end = [&](const std::string& prefix) -> unsigned {
    if (name.rfind(prefix, 0) != 0) return 0;
    return static_cast<unsigned>(std::atoi(name.c_str() + prefix.size()));
  };
  for (const char* prefix : {"read_b", "write_b", "read_u", "read_i"}) {
    const unsigned bits = bits_at_end(prefix);
    if (bits == 0) continue;
    const bool is_read = prefix[0] == 'r';
    if (bits < 32) {
      sign = name.rfind("read_i", 0) == 0;
      half = name.find("_d16_hi") != std::string::npos ? "high" : name.find("_d16") != std::string::npos ? "low" : "";
      return each([&](unsigned l, std::uint32_t at) {
        if (is_read) w.result[l][0] = small_result(static_cast<std::uint32_t>(w.read(at, bits / 8)), bits / 8, sign, half, w.result[l][0], w.ecc);
        else w.write(at, bits / 8, half == "high" ? w.data[l][0] >> 16 : w.data[l][0]);
      });
    }
    return each([&](unsigned l, std::uint32_t at) {
      const bool in = w.inside(at, bits / 8);
      for (unsigned d = 0; d < bits / 32; ++d) {
        if (is_read) w.result[l][d] = in ? static_cast<std::uint32_t>(w.read(at + d * 4, 4)) : 0;
        else if (in) w.write(at + d * 4, 4, w.data[l][d]);
      }
    });
  }
  // Atomics.
  const bool returns = name.find("_rtn") != std::string::npos;
  const std::string type = name.substr(name.rfind('_') + 1);
  std::string kind = name.substr(0, name.find(returns ? "_rtn" : "_" + type));
  bytes = type.substr(type.size() - 2) == "64" ? 8 : 4;
  if (kind == "wrap") {
    return each([&](unsigned l, std::uint32_t at) {
      const auto old = static_cast<std::uint32_t>(w.read(at, 4));
      w.write(at, 4, old >= w.data[l][0] ? old - w.data[l][0] : old + w.data2[l][0]);
      w.result[l][0] = old;
    });
  }
  if (kind == "condxchg32") {
    return each([&](unsigned l, std::uint32_t at) {
      at &= w.lds.size() > 65536 ? 0x3fff8 : 0xfff8;
      for (unsigned d = 0; d < 2; ++d) {
        w.result[l][d] = static_cast<std::uint32_t>(w.read(at + d * 4, 4));
        if ((w.data[l][d] >> 31) != 0) w.write(at + d * 4, 4, w.data[l][d] & 0x7fffffff);
      }
    });
  }
  const bool swapped = kind == "cmpst" || kind == "mskor";
  FloatRules rules = type == "f32" ? w.f32 : w.f64;
  if (kind == "cmpst") kind = type[0] == 'f' ? "cmpst_" + type : "cmpswap";
  else if (kind == "wrxchg") kind = "swap";
  else if (kind == "pk_add" || (type[0] == 'f' && (kind == "add" || kind == "min" || kind == "max"))) kind += "_" + type;
  else if (kind == "min" || kind == "max") kind = (type[0] == 'i' ? "s" : "u") + kind;
  if (kind == "add_f64") rules = {};
  each([&](unsigned l, std::uint32_t at) {
    const std::uint64_t old = w.read(at, bytes);
    const std::uint64_t data = value_of(w.data[l], bytes), data2 = value_of(w.data2[l], bytes);
    w.write(at, bytes, atomic(kind, bytes, old, swapped ? data2 : data, swapped ? data : 0, rules));
    if (returns) give(w.result[l], bytes, old);
  });
}

} // namespace aql::test::model
