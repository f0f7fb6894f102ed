#pragma once
// Runs assembly cases of the vector operations on small and packed numbers against num_reference.hpp: random and edge operands, every
// MODE that matters, full and partial EXEC, every host tier. A case that agrees everywhere counts for the coverage page.

#include <random>
#include <sstream>

#include "isa/num_reference.hpp"
#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/decode.hpp"
#include "support/catch.hpp"
#include "support/isa_bench.hpp"

namespace harness {

using namespace aql;
using test::AsmCase;
using test::AsmCases;
using test::IsaBench;

// For approximations: is the difference acceptable? Both are the whole destination, up to 64 bits.
using Compare = std::function<bool(const sim::Inst&, std::uint64_t got, std::uint64_t want)>;

inline const std::vector<std::uint32_t>& edges(sim::isa::Elem elem) {
  using sim::isa::Elem;
  static const std::vector<std::uint32_t> f16{0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x401, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3800,
                                              0xb800, 0x4000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0xfd00, 0x7e00, 0xfe55, 0x7fff, 0x6400, 0x5bff};
  static const std::vector<std::uint32_t> f32{0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x807fffff, 0x800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff,
                                              0x3f000000, 0xbf000000, 0x40000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffa00000,
                                              0x7fc00000, 0xffc12345, 0x477fe000, 0x477ff000, 0x47800000, 0x387fc000, 0x33800000, 0x33000000, 0x33000001,
                                              0x43e00000, 0x43e80000, 0x43e80001, 0x43700000, 0x43780000, 0x47600000, 0x47700000, 0x3effffff, 0xbeffffff,
                                              0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x437f8000, 0x437fffff, 0x40900000, 0x3fc00000};
  static const std::vector<std::uint32_t> ints{0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffe, 0x10000, 0x12345678, 31, 15};
  switch (elem) {
  case Elem::f16: return f16;
  case Elem::f32: case Elem::mix32: return f32;
  default: return ints;
  }
}

class Operands {
public:
  explicit Operands(std::uint32_t seed) : random_(seed) {}
  std::uint32_t word(sim::isa::Elem elem) {
    using sim::isa::Elem;
    if (bits_of(elem) == 16) return half(elem) | half(elem) << 16;
    if (elem == Elem::mix32 && pick(2) == 0) return half(Elem::f16) | half(Elem::f16) << 16;
    if (elem == Elem::f32 || elem == Elem::mix32) {
      const unsigned how = pick(8);
      if (how == 0) return bits();
      if (how < 4) return edge(elem);
      return (bits() & 0x807fffffu) | (127u - 20u + pick(40)) << 23; // near 1
    }
    return pick(3) == 0 ? edge(elem) : bits();
  }
  std::uint64_t wide(sim::isa::Elem elem) {
    if (elem != sim::isa::Elem::f64) return word(elem) | std::uint64_t{word(elem)} << 32;
    switch (pick(6)) {
    case 0: return bits() | std::uint64_t{bits()} << 32;
    case 1: return std::bit_cast<std::uint64_t>(static_cast<double>(reference::f32_of(edge(sim::isa::Elem::f32))));
    case 2: return std::uint64_t{pick(2)} << 63 | pick(3) | (pick(2) != 0 ? 0x7ff0ull << 48 : 0);
    case 3: return std::uint64_t{pick(2)} << 63 | std::uint64_t{0x3fe + 32 + pick(3)} << 52 | (pick(2) != 0 ? bits() : 0ull);
    default: return (std::uint64_t{bits() & 0x800fffffu} << 32 | bits()) | std::uint64_t{1023 - 40 + pick(80)} << 52;
    }
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(random_()); }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

private:
  std::uint32_t edge(sim::isa::Elem elem) { return edges(elem)[pick(static_cast<unsigned>(edges(elem).size()))]; }
  std::uint32_t half(sim::isa::Elem elem) {
    if (pick(3) == 0) return bits() & 0xffffu;
    if (elem == sim::isa::Elem::f16 && pick(2) == 0) return (bits() & 0x83ffu) | (15u - 6u + pick(12)) << 10;
    return edge(elem) & 0xffffu;
  }
  std::mt19937 random_;
};

// MODE words: as clang sets it; each rounding; each way to flush; IEEE, DX10_CLAMP and FP16_OVFL off and on.
inline const std::vector<std::uint32_t>& modes() {
  static const std::vector<std::uint32_t> m{0x3f0, 0x3f5, 0x3fa, 0x3ff, 0x3f6, 0x300, 0x000, 0x330, 0x3c0, 0x150, 0x2a5, 0x0f0, 0x1fc, 0x8003f0, 0x80010b, 0x800300};
  return m;
}

inline void fill(IsaBench& b, const sim::Inst& inst, Operands& random, unsigned top) {
  for (unsigned r = 0; r < top; ++r)
    for (unsigned lane = 0; lane < sim::kLanes; ++lane) b.v(r, lane) = random.bits();
  for (unsigned n = 0; n < 3; ++n) {
    const auto& spec = inst.info->src[n];
    if (!spec.used()) continue;
    const auto& o = inst.src[n];
    const auto put = [&](auto&& at) {
      if (spec.elem == sim::isa::Elem::f64) {
        const std::uint64_t v = random.wide(spec.elem);
        at(0) = static_cast<std::uint32_t>(v);
        at(1) = static_cast<std::uint32_t>(v >> 32);
      } else {
        for (unsigned r = 0; r < spec.dwords(); ++r) at(r) = random.word(spec.elem);
      }
    };
    if (o.kind == sim::isa::OperandKind::vgpr)
      for (unsigned lane = 0; lane < sim::kLanes; ++lane) put([&](unsigned r) -> std::uint32_t& { return b.v(o.index + r, lane); });
    if (o.kind == sim::isa::OperandKind::sgpr) put([&](unsigned r) -> std::uint32_t& { return b.s(o.index + r); });
  }
}

// What every lane of the destination should hold, and the sources it was made from.
struct Expected {
  std::vector<std::vector<std::uint32_t>> rows;
  std::uint64_t exec = 0;
};
inline Expected expect(const IsaBench& b, const sim::Inst& inst, const reference::Operation& op, const std::vector<sim::VReg>& before, std::uint64_t exec) {
  const reference::Machine machine(inst, op, b.arch(), b.wave);
  Expected e;
  e.exec = exec;
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    if ((exec >> lane & 1) != 0) {
      e.rows.push_back(machine.run(lane, before));
    } else {
      e.rows.emplace_back();
      for (unsigned r = 0; r < inst.info->dst[0].dwords(); ++r) e.rows.back().push_back(before[inst.dst.index + r].lane[lane]);
    }
  }
  return e;
}

// Number of lanes that differ; the first one is described in `what`.
inline unsigned disagreements(IsaBench& b, const sim::Inst& inst, const std::vector<sim::VReg>& before, const Expected& e, const Compare& same, std::string& what) {
  unsigned wrong = 0;
  for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
    const std::vector<std::uint32_t>& want = e.rows[lane];
    for (unsigned r = 0; r < want.size(); ++r) {
      const std::uint32_t got = b.v(inst.dst.index + r, lane);
      if (got == want[r]) continue;
      if (same && (e.exec >> lane & 1) != 0) {
        const bool wide = want.size() == 2;
        const std::uint64_t g = wide ? b.v64(inst.dst.index, lane) : got, w = wide ? want[0] | std::uint64_t{want[1]} << 32 : want[r];
        if (same(inst, g, w)) continue;
      }
      if (wrong++ != 0) continue;
      std::ostringstream s;
      s << "lane " << lane << std::hex << " dword " << r << ": got " << got << ", want " << want[r] << "; old " << before[inst.dst.index + r].lane[lane]
        << "; mode " << b.wave.mode.bits << "; sources";
      for (unsigned n = 0; n < 3; ++n) {
        if (!inst.info->src[n].used()) continue;
        const auto& o = inst.src[n];
        s << " [";
        for (unsigned q = 0; q < std::min(2u, inst.info->src[n].dwords()); ++q)
          s << ' ' << (o.kind == sim::isa::OperandKind::vgpr ? before[o.index + q].lane[lane] : o.kind == sim::isa::OperandKind::sgpr ? b.s(o.index + q) : o.value);
        s << " ]";
      }
      what = s.str();
    }
  }
  return wrong;
}

// Every case on every target it is for.
inline void check(const AsmCases& cases, const reference::Operations& operations, const Compare& same = {}) {
  std::uint32_t seed = 1;
  for (const auto arch : test::kAllArchs) {
    IsaBench b(arch);
    for (const AsmCase& c : cases) {
      if ((c.targets & sim::arch_bit(arch)) == 0) continue;
      INFO(sim::isa::to_string(arch) << ": " << c.text);
      sim::Inst inst;
      REQUIRE(sim::isa::decode(c.words, arch, inst) == sim::isa::DecodeStatus::ok);
      const auto op = operations.find(std::string(inst.info->mnemonic));
      REQUIRE(op != operations.end());
      unsigned top = inst.dst.index + inst.info->dst[0].dwords();
      for (unsigned n = 0; n < 3; ++n)
        if (inst.src[n].kind == sim::isa::OperandKind::vgpr) top = std::max<unsigned>(top, inst.src[n].index + inst.info->src[n].dwords());
      const bool dpp = inst.extra == sim::isa::Extra::dpp;
      // Every MODE for the plain forms; for the many with modifiers the first and three others, in turn.
      const bool simple = inst.extra == sim::isa::Extra::none && c.text.find_first_of(":|-c") == std::string::npos;
      unsigned wrong = 0;
      std::string what;
      const auto report = [&](unsigned n, const std::string& where, const std::string& here) {
        if (n != 0 && wrong == 0) what = where + here;
        wrong += n;
      };
      for (std::size_t k = 0; k < (simple ? modes().size() : 4); ++k) {
        const std::size_t m = simple || k == 0 ? k : 1 + (seed + k * 5) % (modes().size() - 1);
        Operands random(++seed);
        for (unsigned partial = 0; partial < 2; ++partial) {
          fill(b, inst, random, top);
          const std::uint64_t exec = partial == 0 || dpp ? ~std::uint64_t{0} : random.bits() | std::uint64_t{random.bits()} << 32;
          std::vector<sim::VReg> before(top);
          for (unsigned r = 0; r < top; ++r) before[r] = b.wave.v(r);
          const auto restore = [&] {
            for (unsigned r = 0; r < top; ++r) b.wave.v(r) = before[r];
            b.wave.set_exec(exec);
            b.wave.mode.bits = modes()[m];
          };
          restore();
          const Expected expected = expect(b, inst, op->second, before, exec);
          for (unsigned tier = 0; tier <= sim::host_tier(); ++tier) {
            sim::Inst bound;
            REQUIRE(sim::isa::decode(c.words, arch, bound) == sim::isa::DecodeStatus::ok);
            REQUIRE(sim::bind_valu_tier(bound, arch, tier));
            restore();
            REQUIRE(bound.handler(b.wave, bound) == sim::Next::fallthrough);
            std::string here;
            const unsigned n = disagreements(b, inst, before, expected, same, here);
            report(n, "tier " + std::to_string(tier) + ", ", here);
          }
          if (k == 0) { // through the loop as well
            restore();
            REQUIRE(b.run(c));
            std::string here;
            const unsigned n = disagreements(b, inst, before, expected, same, here);
            report(n, "run, ", here);
          }
        }
      }
      INFO(what);
      CHECK(wrong == 0);
      if (wrong == 0) b.agreed();
    }
  }
}

} // namespace harness
