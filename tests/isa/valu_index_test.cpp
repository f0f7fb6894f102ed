// GPR-index mode (M0 added to register numbers) and registers that the wave does not have.

#include "support/catch.hpp"
#include "valu_harness.hpp"

namespace aql::test {
namespace {

const AsmCases kIndexed{{
  {"v_mov_b32_e32 v1, v2", {0x7e020302}},
  {"v_mov_b32_e32 v1, s2", {0x7e020202}},
  {"v_add_u32_e32 v1, v2, v3", {0x68020702}},
  {"v_fma_f32 v1, v2, v3, v4", {0xd1cb0001, 0x04120702}},
  {"v_add_f64 v[2:3], v[4:5], v[6:7]", {0xd2800002, 0x00020d04}},
  {"v_bfi_b32 v1, v2, 7, v4", {0xd1ca0001, 0x04110f02}},
  {"v_max_f32_e64 v1, |v2|, -v3", {0xd10b0101, 0x40020702}},
  {"v_lshlrev_b32_e32 v1, 3, v3", {0x24020683}},
}};

TEST_CASE("indexed: M0 moves sources and destination as its enable bits say, and out of range reads v0 or writes nothing") {
  Random random(11);
  for (const Arch arch : kAllArchs) {
    ValuHarness harness(arch);
    for (const AsmCase& c : kIndexed) {
      for (std::uint32_t enable = 0; enable < 16; ++enable) {
        // Even offsets, because pairs are even; some beyond the 32 registers there are.
        for (const std::uint32_t offset : {0u, 2u, 8u, 26u, 28u, 30u, 60u, 254u}) {
          harness.randomize(random);
          harness.state().mode.bits |= 1u << 27;
          harness.state().sgpr[sim::kM0] = enable << 12 | offset;
          REQUIRE(harness.check_indexed(c) == "");
        }
      }
    }
  }
}

const AsmCases kBeyond{{
  {"v_mov_b32_e32 v32, v1", {0x7e400301}},
  {"v_mov_b32_e32 v1, v32", {0x7e020320}},
  {"v_add_f64 v[32:33], v[2:3], v[4:5]", {0xd2800020, 0x00020902}},
  {"v_add_f64 v[2:3], v[32:33], v[4:5]", {0xd2800002, 0x00020920}},
  {"v_cmp_lt_u32_e32 vcc, v1, v40", {0x7d925101}},
}};

TEST_CASE("registers: one that the wave does not have faults by its number and changes nothing") {
  for (const Arch arch : kAllArchs) {
    for (const AsmCase& c : kBeyond) {
      IsaBench b(arch, {.vgprs = 32, .agprs = 0});
      for (unsigned lane = 0; lane < 64; ++lane) b.v(1, lane) = b.v(2, lane) = 77;
      b.wave.set_vcc(5);
      INFO(c.text);
      CHECK_FALSE(b.run(c));
      CHECK(b.fault.code == Errc::illegal_instruction);
      CHECK(b.fault.reason.find("is named, but the wave has only 32 vector registers") != std::string::npos);
      CHECK(b.v(1, 3) == 77);
      CHECK(b.v(2, 3) == 77);
      CHECK(b.wave.vcc() == 5);
      CHECK(b.wave.pc == b.code_address());
    }
  }
}

} // namespace
} // namespace aql::test
