#include "valu_harness.hpp"

#include <cstdio>
#include <cstring>

#include "sim/exec/tier.hpp"
#include "sim/exec/valu_ops.hpp"
#include "sim/isa/decode.hpp"
#include "sim/isa/disasm.hpp"

namespace aql::test {
namespace {

constexpr std::uint32_t kEdges[] = {
  0, 1, 2, 3, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff, 0x1000000,
  0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0xffff8000, 0xffffff80, 0xff000000, 0x55555555, 0xaaaaaaaa, 0x0c0d0b08,
  // f32, and the high halves of f64: zeros, denormals, normals around one, extremes, infinities, NaNs of both kinds
  0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x01000000, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001,
  0x3f000000, 0xbf000000, 0x3effffff, 0x3fc00000, 0x40200000, 0xc0200000, 0x4b000000, 0x4b000001, 0x4affffff, 0xcb000001, 0x4f000000, 0x5f000000,
  0x7e800000, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fbfffff, 0x7fc00000, 0xffc00000, 0x7fffffff,
  0x000fffff, 0x00100000, 0x80100000, 0x3fefffff, 0x3ff00000, 0xbff00000, 0x3fe00000, 0x43300000, 0x43200000, 0xc3300000, 0x7fefffff, 0xffefffff,
  0x7ff00000, 0xfff00000, 0x7ff00001, 0xfff40000, 0x7ff80000, 0xfff80000, 0x7b000000, 0x43500000, 0x00300000, 0x7fd00000, 0x0c800000, 0x73000000,
  // f16 in both halves
  0x3c003c00, 0x00010001, 0x80018001, 0x03ff0400, 0x7bfffbff, 0x7c00fc00, 0x7c01fe00, 0xfd007e00, 0x80000000, 0x00008000, 0xbc003800,
};

std::string hex(std::uint32_t v) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", v);
  return text;
}

} // namespace

std::uint32_t edge_value(Random& random) {
  switch (random() % 8) {
  case 0: case 1: case 2: return kEdges[random() % std::size(kEdges)];
  case 3: return random() % 70;                                                     // small integers, shift counts
  case 4: return 0x3f800000u + (random() % 0x1000000u) - 0x800000u;                 // f32 near one
  case 5: return (random() & 0x80000000u) | (0x3ff00000u + random() % 0x200000u - 0x100000u); // f64 near one
  case 6: return random() & random() & random();                                    // few bits
  default: return random();
  }
}

ValuHarness::ValuHarness(Arch arch, std::uint32_t vgprs, std::uint32_t agprs) : arch_(arch), bench_(arch, {.vgprs = vgprs, .agprs = agprs, .lds_bytes = 1024}) {
  state_.vgpr.resize(vgprs);
  state_.agpr.resize(agprs);
  state_.shared_aperture = bench_.dispatch.shared_aperture;
  state_.private_aperture = bench_.dispatch.private_aperture;
}

void ValuHarness::randomize(Random& random) {
  for (auto* file : {&state_.vgpr, &state_.agpr}) {
    for (sim::VReg& reg : *file) {
      for (std::uint32_t& v : reg.lane) v = edge_value(random);
    }
  }
  // Pairs of registers that hold equal values in some lanes: compares and cancellations.
  for (unsigned lane = 0; lane < sim::kLanes; lane += 1 + random() % 5) state_.vgpr[random() % 8].lane[lane] = state_.vgpr[random() % 8].lane[lane];
  for (unsigned n = 0; n < 128; ++n) state_.sgpr[n] = edge_value(random);
  state_.scc = random() & 1u;
  const auto wide = [&] { return std::uint64_t{random()} << 32 | random(); };
  const unsigned which = random() % 8;
  state_.set_pair(sim::kExecLo, which < 3 ? ~std::uint64_t{0} : which == 3 ? 0 : which == 4 ? std::uint64_t{1} << (random() % 64) : wide());
  state_.set_pair(sim::kVccLo, random() % 8 == 0 ? 0 : wide());
  // MODE: round and denormal fields, DX10_CLAMP, IEEE.
  state_.mode.bits = random() % 2 == 0 ? 0x3f0 : random() & 0x3ffu;
}

bool ValuHarness::decodes(Arch arch, std::span<const std::uint32_t> words, sim::Inst& inst) {
  return sim::isa::decode(words, arch, inst) == sim::isa::DecodeStatus::ok;
}

void ValuHarness::load(sim::Wave& wave) const {
  std::memcpy(wave.vgpr, state_.vgpr.data(), state_.vgpr.size() * sizeof(sim::VReg));
  std::memcpy(wave.vgpr + wave.agpr_base, state_.agpr.data(), state_.agpr.size() * sizeof(sim::VReg));
  std::memcpy(wave.sgpr, state_.sgpr, sizeof state_.sgpr);
  wave.scc = state_.scc;
  wave.mode = state_.mode;
}

std::string ValuHarness::compare(const sim::Wave& wave, const RefState& expected, const std::string& where) const {
  const auto differ = [&](const std::string& what, std::uint32_t found, std::uint32_t right) { return where + ": " + what + " is " + hex(found) + ", expected " + hex(right); };
  for (unsigned n = 0; n < 128; ++n) {
    if (wave.sgpr[n] != expected.sgpr[n]) return differ("s" + std::to_string(n), wave.sgpr[n], expected.sgpr[n]);
  }
  const auto file = [&](const std::vector<sim::VReg>& right, const sim::VReg* found, const char* name) -> std::string {
    for (unsigned r = 0; r < right.size(); ++r) {
      if (std::memcmp(&right[r], &found[r], sizeof right[r]) == 0) continue;
      for (unsigned lane = 0; lane < sim::kLanes; ++lane) {
        if (found[r].lane[lane] != right[r].lane[lane]) {
          return differ(name + std::to_string(r) + " lane " + std::to_string(lane), found[r].lane[lane], right[r].lane[lane]);
        }
      }
    }
    return {};
  };
  if (auto text = file(expected.vgpr, wave.vgpr, "v"); !text.empty()) return text;
  return file(expected.agpr, wave.vgpr + wave.agpr_base, "a");
}

std::string ValuHarness::check(std::span<const std::uint32_t> words) {
  sim::Inst inst;
  if (!decodes(arch_, words, inst)) return "does not decode";
  const std::string text = std::string(sim::isa::to_string(arch_)) + " \"" + sim::isa::disassemble(inst, arch_) + "\", MODE " + hex(state_.mode.bits);
  RefState expected = state_;
  if (!run_reference(inst, expected)) return text + ": no reference";

  load(bench_.wave);
  if (!bench_.run(words.first(inst.size_bytes / 4u))) return text + ": " + bench_.fault.reason;
  if (auto difference = compare(bench_.wave, expected, text); !difference.empty()) return difference;
  bench_.agreed();

  for (unsigned tier = 0; tier < sim::host_tier(); ++tier) { // the bench ran the highest one
    sim::Inst bound = inst;
    if (!sim::bind_valu_tier(bound, arch_, tier)) return text + ": not bound on tier " + std::to_string(tier);
    load(bench_.wave);
    if (bound.handler(bench_.wave, bound) != sim::Next::fallthrough) return text + ": tier " + std::to_string(tier) + " did not fall through";
    if (auto difference = compare(bench_.wave, expected, text + ", tier " + std::to_string(tier)); !difference.empty()) return difference;
  }
  state_ = std::move(expected);
  return {};
}

std::string ValuHarness::check_indexed(const AsmCase& c) {
  sim::Inst inst;
  if (!decodes(arch_, c.words, inst)) return "does not decode";
  const std::uint32_t m0 = state_.sgpr[sim::kM0];
  const auto moved = [&](sim::isa::Operand& o, unsigned enable) {
    if (o.kind != sim::isa::OperandKind::vgpr || ((m0 >> enable) & 1u) == 0) return true;
    o.index = static_cast<std::uint16_t>(o.index + (m0 & 0xffu));
    return o.index + o.width <= state_.vgpr.size();
  };
  for (unsigned n = 0; n < 3; ++n) {
    if (!moved(inst.src[n], 12 + n)) inst.src[n].index = 0; // beyond the wave's registers: v0 is read
  }
  RefState expected = state_;
  if (moved(inst.dst, 15) && !run_reference(inst, expected)) return "no reference"; // beyond: nothing is written
  load(bench_.wave);
  if (!bench_.run(c)) return c.text + ": " + bench_.fault.reason;
  return compare(bench_.wave, expected, std::string(sim::isa::to_string(arch_)) + " \"" + c.text + "\", M0 " + hex(m0));
}

} // namespace aql::test
