// Branches, calls, relative moves, modes, hardware registers, traps.
#include "support/catch.hpp"

#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

const AsmCases kLoop = {
    {"s_movk_i32 s4, 10\n"
     "s_mov_b32 s5, 0\n"
     "s_add_u32 s5, s5, s4\n"
     "s_sub_u32 s4, s4, 1\n"
     "s_cmp_lg_u32 s4, 0\n"
     "s_cbranch_scc1 65532",
     {0xb004000a, 0xbe850080, 0x80050405, 0x80848104, 0xbf078004, 0xbf85fffc}},
};

// Each branches over "s_mov_b32 s8, 1" if its condition holds.
struct Branch {
  AsmCase program;
  void (*hold)(Wave&);
  void (*fail)(Wave&);
};
const AsmCases kBranches = {
    {"s_cbranch_scc0 1\ns_mov_b32 s8, 1", {0xbf840001, 0xbe880081}},   {"s_cbranch_scc1 1\ns_mov_b32 s8, 1", {0xbf850001, 0xbe880081}},
    {"s_cbranch_vccz 1\ns_mov_b32 s8, 1", {0xbf860001, 0xbe880081}},   {"s_cbranch_vccnz 1\ns_mov_b32 s8, 1", {0xbf870001, 0xbe880081}},
    {"s_cbranch_execz 1\ns_mov_b32 s8, 1", {0xbf880001, 0xbe880081}},  {"s_cbranch_execnz 1\ns_mov_b32 s8, 1", {0xbf890001, 0xbe880081}},
    {"s_cbranch_cdbgsys 1\ns_mov_b32 s8, 1", {0xbf970001, 0xbe880081}}, {"s_cbranch_cdbguser 1\ns_mov_b32 s8, 1", {0xbf980001, 0xbe880081}},
    {"s_cbranch_cdbgsys_or_user 1\ns_mov_b32 s8, 1", {0xbf990001, 0xbe880081}},
    {"s_cbranch_cdbgsys_and_user 1\ns_mov_b32 s8, 1", {0xbf9a0001, 0xbe880081}},
};

constexpr std::uint32_t kCondDbgUser = 1u << 20, kCondDbgSys = 1u << 21;

} // namespace

TEST_CASE("control: a counted loop runs to its end and the pc stays on s_endpgm", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    REQUIRE(b.run(kLoop[0]));
    CHECK(b.s(5) == 55);
    CHECK(b.wave.pc == b.code_address() + 24);
    CHECK(b.wave.instructions == 2 + 4 * 10 + 1);
    b.agreed();
  }
}

TEST_CASE("control: conditional branches are taken exactly when their condition holds", "[isa]") {
  const auto nothing = [](Wave&) {};
  const Branch branches[] = {
      {kBranches[0], nothing, [](Wave& w) { w.scc = 1; }},
      {kBranches[1], [](Wave& w) { w.scc = 1; }, [](Wave& w) { w.scc = 0; }},
      {kBranches[2], [](Wave& w) { w.set_vcc(0); }, [](Wave& w) { w.set_vcc(1ull << 63); }},
      {kBranches[3], [](Wave& w) { w.set_vcc(1ull << 63); }, [](Wave& w) { w.set_vcc(0); }},
      {kBranches[4], [](Wave& w) { w.set_exec(0); }, [](Wave& w) { w.set_exec(1ull << 40); }},
      {kBranches[5], [](Wave& w) { w.set_exec(1ull << 40); }, [](Wave& w) { w.set_exec(0); }},
      {kBranches[6], [](Wave& w) { w.status = kCondDbgSys; }, [](Wave& w) { w.status = kCondDbgUser; }},
      {kBranches[7], [](Wave& w) { w.status = kCondDbgUser; }, [](Wave& w) { w.status = kCondDbgSys; }},
      {kBranches[8], [](Wave& w) { w.status = kCondDbgUser; }, [](Wave& w) { w.status = 0; }},
      {kBranches[9], [](Wave& w) { w.status = kCondDbgUser | kCondDbgSys; }, [](Wave& w) { w.status = kCondDbgUser; }},
  };
  for (const Branch& branch : branches) {
    for (const Arch arch : kAllArchs) {
      INFO(branch.program.text);
      IsaBench b(arch);
      b.s(8) = 7;
      branch.hold(b.wave);
      REQUIRE(b.run(branch.program));
      CHECK(b.s(8) == 7);
      branch.fail(b.wave);
      REQUIRE(b.run(branch.program));
      CHECK(b.s(8) == 1);
      b.agreed();
    }
  }
}

namespace {
const AsmCases kCalls = {
    {"s_getpc_b64 s[4:5]", {0xbe841c00}},
    {"s_call_b64 s[6:7], 1\ns_mov_b32 s8, 1\ns_mov_b32 s9, 2", {0xba860001, 0xbe880081, 0xbe890082}},
    {"s_swappc_b64 s[6:7], s[4:5]\ns_mov_b32 s8, 1\ns_mov_b32 s9, 2", {0xbe861e04, 0xbe880081, 0xbe890082}},
    {"s_setpc_b64 s[4:5]\ns_mov_b32 s8, 1\ns_mov_b32 s9, 2", {0xbe801d04, 0xbe880081, 0xbe890082}},
    {"s_branch 1\ns_mov_b32 s8, 1\ns_mov_b32 s9, 2", {0xbf820001, 0xbe880081, 0xbe890082}},
    {"s_swappc_b64 s[4:5], s[4:5]\ns_mov_b32 s8, 1\ns_mov_b32 s9, 2", {0xbe841e04, 0xbe880081, 0xbe890082}},
};
} // namespace

TEST_CASE("control: getpc, call, swappc, setpc and branch use the address of the next instruction", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    REQUIRE(b.run(kCalls[0]));
    CHECK(b.wave.sgpr64(4) == b.code_address() + 4);
    for (std::size_t n = 1; n < kCalls.size(); ++n) {
      INFO(kCalls[n].text);
      b.wave.set_sgpr64(4, b.code_address() + 8);
      b.wave.set_sgpr64(6, 0);
      b.s(8) = b.s(9) = 0;
      REQUIRE(b.run(kCalls[n]));
      CHECK(b.s(8) == 0); // jumped over
      CHECK(b.s(9) == 2);
      if (n <= 2) CHECK(b.wave.sgpr64(6) == b.code_address() + 4);
    }
    CHECK(b.wave.sgpr64(4) == b.code_address() + 4); // swappc onto its own source
    b.agreed();
  }
}

namespace {
const AsmCases kRelative = {
    {"s_movrels_b32 s5, s7", {0xbe852a07}},       {"s_movreld_b32 s5, s7", {0xbe852c07}},
    {"s_movrels_b64 s[4:5], s[6:7]", {0xbe842b06}}, {"s_movreld_b64 s[4:5], s[6:7]", {0xbe842d06}},
};
} // namespace

TEST_CASE("control: relative moves add M0 to the register number", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    for (unsigned n = 0; n < 102; ++n) b.s(n) = 1000 + n;
    b.s(kM0) = 10;
    REQUIRE(b.run(kRelative[0]));
    CHECK(b.s(5) == 1017);
    REQUIRE(b.run(kRelative[1]));
    CHECK(b.s(15) == 1007);
    REQUIRE(b.run(kRelative[2]));
    CHECK(b.s(4) == 1016);
    CHECK(b.s(5) == 1017);
    b.s(5) = 1005;
    REQUIRE(b.run(kRelative[3]));
    CHECK(b.s(14) == 1006);
    CHECK(b.s(15) == 1007);
    b.agreed();
  }
}

TEST_CASE("control: a relative move past the wave's registers reads s0 and writes nothing", "[isa]") {
  IsaBench b(Arch::gfx942);
  b.s(0) = 77;
  b.s(7) = 5;
  for (const std::uint32_t m0 : {95u, 1000u, 0xfffffff0u}) {
    b.s(kM0) = m0;
    b.s(5) = 0;
    REQUIRE(b.run(kRelative[0]));
    CHECK(b.s(5) == 77);
  }
  b.s(kM0) = 97; // s5 + 97 would be flat_scratch
  b.s(102) = 9;
  REQUIRE(b.run(kRelative[1]));
  CHECK(b.s(102) == 9);
}

namespace {
const AsmCases kHwregs = {
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xcf", {0xba003801, 0x000000cf}},
    {"s_getreg_b32 s4, hwreg(HW_REG_MODE)", {0xb884f801}},
    {"s_getreg_b32 s4, hwreg(HW_REG_MODE, 4, 4)", {0xb8841901}},
    {"s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s5", {0xb9050901}},
    {"s_getreg_b32 s4, hwreg(HW_REG_STATUS)", {0xb884f802}},
    {"s_setreg_b32 hwreg(HW_REG_TRAPSTS), s5", {0xb905f803}},
    {"s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)", {0xb884f803}},
    {"s_getreg_b32 s4, hwreg(HW_REG_HW_ID)", {0xb884f804}},
    {"s_getreg_b32 s4, hwreg(HW_REG_GPR_ALLOC)", {0xb884f805}},
    {"s_getreg_b32 s4, hwreg(HW_REG_LDS_ALLOC)", {0xb884f806}},
    {"s_getreg_b32 s4, hwreg(HW_REG_IB_STS)", {0xb884f807}},
    {"s_getreg_b32 s4, hwreg(HW_REG_SH_MEM_BASES)", {0xb884f80f}},
    {"s_getreg_b32 s4, hwreg(HW_REG_XCC_ID)", {0xb884f814}, 6},
    {"s_setreg_b32 hwreg(HW_REG_STATUS), s5", {0xb905f802}},
};
} // namespace

TEST_CASE("hwreg: setreg writes only the named bits of MODE and getreg reads a field into the low bits", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    REQUIRE(b.run(kHwregs[0]));
    CHECK(b.wave.mode.bits == 0x3cf);
    REQUIRE(b.run(kHwregs[1]));
    CHECK(b.s(4) == 0x3cf);
    REQUIRE(b.run(kHwregs[2]));
    CHECK(b.s(4) == 0xc);
    b.s(5) = 0xffff;
    REQUIRE(b.run(kHwregs[3]));
    CHECK(b.wave.mode.bits == 0x3ff);
    b.agreed();
  }
}

TEST_CASE("hwreg: STATUS shows SCC, EXECZ and VCCZ as they are and cannot be written", "[isa]") {
  IsaBench b(Arch::gfx942);
  b.wave.scc = 1;
  b.wave.set_vcc(0);
  REQUIRE(b.run(kHwregs[4]));
  CHECK((b.s(4) & 1) == 1);
  CHECK((b.s(4) >> 9 & 1) == 0);
  CHECK((b.s(4) >> 10 & 1) == 1);
  b.s(5) = 0xffffffff;
  const std::uint32_t before = b.wave.status;
  REQUIRE(b.run(kHwregs[13]));
  CHECK(b.wave.status == before);
}

TEST_CASE("hwreg: TRAPSTS exception bits can be set and cleared, its privileged bits cannot", "[isa]") {
  IsaBench b(Arch::gfx90a);
  b.s(5) = 0xffffffff;
  REQUIRE(b.run(kHwregs[5]));
  REQUIRE(b.run(kHwregs[6]));
  CHECK(b.s(4) == 0x003f01ff);
}

TEST_CASE("hwreg: placement and allocation are where the ISA guide has them", "[isa]") {
  IsaBench b(Arch::gfx942, {.vgprs = 128, .agprs = 64, .lds_bytes = 4096});
  b.group.cu_id = 5;
  b.group.se_id = 3;
  b.group.xcc_id = 6;
  b.wave.hw_slot = 2 * 8 + 4;
  REQUIRE(b.run(kHwregs[7]));
  CHECK((b.s(4) & 15) == 4);        // wave slot
  CHECK((b.s(4) >> 4 & 3) == 2);    // SIMD
  CHECK((b.s(4) >> 8 & 15) == 5);   // CU
  CHECK((b.s(4) >> 13 & 7) == 3);   // SE
  REQUIRE(b.run(kHwregs[8]));
  CHECK((b.s(4) >> 6 & 63) == 192 / 8 - 1);
  CHECK((b.s(4) >> 12 & 63) == 128 / 4 - 1);
  REQUIRE(b.run(kHwregs[9]));
  CHECK((b.s(4) >> 12 & 0x3ff) == 4096 / 256);
  REQUIRE(b.run(kHwregs[10]));
  CHECK(b.s(4) == 0);
  REQUIRE(b.run(kHwregs[11]));
  CHECK(b.s(4) == (b.dispatch.shared_aperture >> 48 << 16 | b.dispatch.private_aperture >> 48));
  REQUIRE(b.run(kHwregs[12]));
  CHECK(b.s(4) == 6);
}

namespace {
const AsmCases kIndexed = {
    {"s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32_e32 v1, v2\ns_set_gpr_idx_off\nv_mov_b32_e32 v3, v2", {0xbf110104, 0x7e020302, 0xbf9c0000, 0x7e060302}},
    {"s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)\ns_set_gpr_idx_mode gpr_idx(DST)\ns_set_gpr_idx_idx s5\ns_set_gpr_idx_off", {0xbf110904, 0xbf9d0008, 0xbe803205, 0xbf9c0000}},
};
} // namespace

TEST_CASE("control: GPR-index instructions keep their state in MODE and M0", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    b.s(kM0) = 0xabcd0000;
    b.s(4) = 0x123;
    b.s(5) = 0x45;
    REQUIRE(b.run(kIndexed[1]));
    CHECK(b.s(kM0) == 0xabcd8045);
    CHECK_FALSE(b.wave.mode.gpr_idx_en());
    b.agreed();
  }
}

namespace {
const AsmCases kSkip = {
    {"s_setvskip 1, 0\nv_mov_b32_e32 v1, 1\ns_mov_b32 s4, 3\ns_setvskip 0, 0\ns_mov_b32 s5, 4", {0xbf108081, 0x7e020281, 0xbe840083, 0xbf108080, 0xbe850084}},
};
} // namespace

TEST_CASE("control: with VSKIP vector instructions are passed over and scalar ones run", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    b.v(1, 0) = 9;
    REQUIRE(b.run(kSkip[0]));
    CHECK(b.v(1, 0) == 9);
    CHECK(b.s(4) == 3);
    CHECK(b.s(5) == 4);
    CHECK((b.wave.mode.bits >> 28 & 1) == 0);
    b.agreed();
  }
}

namespace {
// if (lane in s[4:5]) s20 |= 1 else s21 |= 1, each with its half of exec; the smaller half first.
const AsmCases kForks = {
    {"s_getreg_b32 s6, hwreg(HW_REG_MODE, 29, 3)\n" // depth before
     "s_cbranch_i_fork s[4:5], 3\n"
     "s_mov_b64 s[20:21], exec\n"
     "s_cbranch_join s6\n"
     "s_branch 2\n"
     "s_mov_b64 s[22:23], exec\n"
     "s_cbranch_join s6",
     {0xb8861741, 0xb8040003, 0xbe94017e, 0xbe802e06, 0xbf820002, 0xbe96017e, 0xbe802e06}},
    {"s_getreg_b32 s6, hwreg(HW_REG_MODE, 29, 3)\n"
     "s_cbranch_g_fork s[4:5], s[8:9]\n" // to the address in s[8:9]
     "s_mov_b64 s[20:21], exec\n"
     "s_cbranch_join s6\n"
     "s_branch 2\n"
     "s_mov_b64 s[22:23], exec\n"
     "s_cbranch_join s6",
     {0xb8861741, 0x94800804, 0xbe94017e, 0xbe802e06, 0xbf820002, 0xbe96017e, 0xbe802e06}},
};
} // namespace

TEST_CASE("control: fork runs both halves of exec and join brings them together", "[isa]") {
  for (const std::uint64_t mask : {0xffull, 0xffffffffffffff00ull, 0ull, ~0ull}) {
    for (const AsmCase& c : kForks) {
      for (const Arch arch : kAllArchs) {
        IsaBench b(arch);
        b.wave.set_sgpr64(4, mask);
        b.wave.set_sgpr64(8, b.code_address() + 20);
        REQUIRE(b.run(c));
        if (mask != ~0ull) CHECK(b.wave.sgpr64(20) == ~mask);
        if (mask != 0) CHECK(b.wave.sgpr64(22) == mask);
        CHECK(b.wave.mode.bits >> 29 == 0);
        b.agreed();
      }
    }
  }
}

namespace {
const AsmCases kTraps = {
    {"s_trap 2", {0xbf920002}},        {"s_trap 3\ns_mov_b32 s4, 1", {0xbf920003, 0xbe840081}}, {"s_trap 7", {0xbf920007}},
    {"s_sethalt 1", {0xbf8d0001}},     {"s_sethalt 0", {0xbf8d0000}},                           {"s_rfe_b64 s[4:5]", {0xbe801f04}},
    {"s_rfe_restore_b64 s[4:5], s6", {0x95800604}},
};
const AsmCases kNoOps = {
    {"s_nop 3", {0xbf800003}},           {"s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", {0xbf8c0000}}, {"s_setprio 3", {0xbf8f0003}},
    {"s_sendmsg sendmsg(MSG_INTERRUPT)", {0xbf900001}}, {"s_icache_inv", {0xbf930000}},  {"s_incperflevel 1", {0xbf940001}},
    {"s_decperflevel 1", {0xbf950001}},  {"s_ttracedata", {0xbf960000}},                           {"s_wakeup", {0xbf830000}},
    {"s_setkill 0", {0xbf8b0000}},       {"s_sleep 1", {0xbf8e0001}},                              {"s_barrier", {0xbf8a0000}},
    {"s_sethalt 0", {0xbf8d0000}},       {"s_trap 3", {0xbf920003}},
};
const AsmCases kEnds = {{"s_endpgm_saved\ns_mov_b32 s4, 1", {0xbf9b0000, 0xbe840081}}, {"s_setkill 1\ns_mov_b32 s4, 1", {0xbf8b0001, 0xbe840081}}};
} // namespace

TEST_CASE("control: s_trap 2 reports an exception with its number, at its pc", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    CHECK_FALSE(b.run(kTraps[0]));
    CHECK(b.fault.code == Errc::exception);
    CHECK(b.fault.reason.find("s_trap 2") != std::string::npos);
    CHECK(b.fault.pc == b.code_address());
    CHECK(b.fault.instruction == "s_trap 2");
    CHECK(b.fault.word_count == 1);
    CHECK(b.fault.words[0] == 0xbf920002);
    CHECK(b.wave.pc == b.code_address());
    CHECK_FALSE(b.run(kTraps[2]));
    CHECK(b.fault.code == Errc::exception);
    b.agreed();
  }
}

TEST_CASE("control: the debugger's trap is passed over", "[isa]") {
  IsaBench b(Arch::gfx950);
  REQUIRE(b.run(kTraps[1]));
  CHECK(b.s(4) == 1);
}

TEST_CASE("control: halting oneself and returning from no trap are faults by name", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    CHECK_FALSE(b.run(kTraps[3]));
    CHECK(b.fault.code == Errc::exception);
    CHECK_FALSE(b.run(kTraps[5]));
    CHECK(b.fault.code == Errc::illegal_instruction);
    CHECK_FALSE(b.run(kTraps[6]));
    CHECK(b.fault.code == Errc::illegal_instruction);
  }
}

TEST_CASE("control: instructions without an effect here change no register and go on", "[isa]") {
  for (const AsmCase& c : kNoOps) {
    for (const Arch arch : kAllArchs) {
      IsaBench b(arch);
      for (unsigned n = 0; n < 104; ++n) b.s(n) = n * 3;
      b.wave.scc = 1;
      INFO(c.text);
      REQUIRE(b.run(c));
      CHECK(b.wave.pc == b.code_address() + 4);
      for (unsigned n = 0; n < 104; ++n) REQUIRE(b.s(n) == n * 3);
      CHECK(b.wave.scc == 1);
      CHECK(b.wave.mode.bits == 0x3f0);
      b.agreed();
    }
  }
}

TEST_CASE("control: s_endpgm_saved and s_setkill 1 end the wave", "[isa]") {
  for (const AsmCase& c : kEnds) {
    for (const Arch arch : kAllArchs) {
      IsaBench b(arch);
      REQUIRE(b.run(c));
      CHECK(b.s(4) == 0);
      CHECK(b.wave.pc == b.code_address());
      b.agreed();
    }
  }
}

TEST_CASE("control: s_sleep and s_barrier hand the wave back with the pc behind them", "[isa]") {
  IsaBench b(Arch::gfx942);
  REQUIRE(b.run({0xbf8e0005, 0xbf8a0000}));
  b.wave.pc = b.code_address();
  CHECK(run_wave(b.wave, 100) == Next::yield);
  CHECK(b.wave.sleep_hint == 5);
  CHECK(b.wave.pc == b.code_address() + 4);
  CHECK(run_wave(b.wave, 100) == Next::barrier);
  CHECK(b.wave.pc == b.code_address() + 8);
}

TEST_CASE("operands: apertures, condition codes and trap registers read as the ISA guide says", "[isa]") {
  IsaBench b(Arch::gfx942);
  REQUIRE(b.run({0xbe8401eb})); // s_mov_b64 s[4:5], src_shared_base
  CHECK(b.wave.sgpr64(4) == b.dispatch.shared_aperture);
  REQUIRE(b.run({0xbe8401ec})); // src_shared_limit
  CHECK(b.wave.sgpr64(4) == (b.dispatch.shared_aperture | 0xffffffff));
  REQUIRE(b.run({0xbe8401ed})); // src_private_base
  CHECK(b.wave.sgpr64(4) == b.dispatch.private_aperture);
  b.wave.set_vcc(0);
  REQUIRE(b.run({0xbe8400fb})); // s_mov_b32 s4, src_vccz
  CHECK(b.s(4) == 1);
  b.wave.scc = 1;
  REQUIRE(b.run({0xbe8400fd})); // src_scc
  CHECK(b.s(4) == 1);
  b.s(4) = 5;
  REQUIRE(b.run({0xbeef0004, 0xbe85006f})); // s_mov_b32 ttmp3, s4; s_mov_b32 s5, ttmp3
  CHECK(b.s(5) == 0);
}

TEST_CASE("operands: 64-bit literals extend by the type of the operation", "[isa]") {
  IsaBench b(Arch::gfx942);
  REQUIRE(b.run({0xbe8401ff, 0x80000001})); // s_mov_b64 s[4:5], 0x80000001
  CHECK(b.wave.sgpr64(4) == 0x80000001);
  REQUIRE(b.run({0x908484ff, 0x80000010})); // s_ashr_i64 s[4:5], 0x80000010, 4
  CHECK(b.wave.sgpr64(4) == 0xfffffffff8000001);
  REQUIRE(b.run({0xbe8401f2})); // s_mov_b64 s[4:5], 1.0
  CHECK(b.wave.sgpr64(4) == 0x3ff0000000000000);
  REQUIRE(b.run({0xbe8401d0})); // s_mov_b64 s[4:5], -16
  CHECK(b.wave.sgpr64(4) == static_cast<std::uint64_t>(-16));
}
