// Vector ALU instructions with results worked out by hand from the ISA guide, and the rules that are not one lane's arithmetic.

#include "support/catch.hpp"
#include "support/isa_bench.hpp"

namespace aql::test {
namespace {

// 32-bit operands: v1, v2, v3 to v0. With 64-bit ones: v1 = low half of a, v[2:3] = a, v[4:5] = b, v[6:7] = c, to v[8:9].
struct Known {
  AsmCase code;
  std::uint64_t a, b, c, result;
};
const std::vector<Known> kKnown{
  // bit fields and counts
  {{"v_bfe_u32 v0, v1, v2, v3", {0xd1c80000, 0x040e0501}}, 0x12345678, 8, 0xc, 0x456},
  {{"v_bfe_u32 v0, v1, v2, v3", {0xd1c80000, 0x040e0501}}, 0xffffffff, 4, 0, 0},
  {{"v_bfe_i32 v0, v1, v2, v3", {0xd1c90000, 0x040e0501}}, 0xf00, 8, 4, 0xffffffff},
  {{"v_bfe_i32 v0, v1, v2, v3", {0xd1c90000, 0x040e0501}}, 0x80000000, 0x1c, 8, 0xfffffff8},
  {{"v_bfi_b32 v0, v1, v2, v3", {0xd1ca0000, 0x040e0501}}, 0xffff, 0x12345678, 0x9abcdef0, 0x9abc5678},
  {{"v_bfm_b32 v0, v1, v2", {0xd2930000, 0x00020501}}, 8, 4, 0, 0xff0},
  {{"v_bfrev_b32_e32 v0, v1", {0x7e005901}}, 0x80000001, 0, 0, 0x80000001},
  {{"v_bfrev_b32_e32 v0, v1", {0x7e005901}}, 0xf, 0, 0, 0xf0000000},
  {{"v_ffbh_u32_e32 v0, v1", {0x7e005b01}}, 0x100000ff, 0, 0, 3},
  {{"v_ffbh_u32_e32 v0, v1", {0x7e005b01}}, 0, 0, 0, 0xffffffff},
  {{"v_ffbl_b32_e32 v0, v1", {0x7e005d01}}, 0xffff0000, 0, 0, 0x10},
  {{"v_ffbl_b32_e32 v0, v1", {0x7e005d01}}, 0, 0, 0, 0xffffffff},
  {{"v_ffbh_i32_e32 v0, v1", {0x7e005f01}}, 0xffff0000, 0, 0, 0x10},
  {{"v_ffbh_i32_e32 v0, v1", {0x7e005f01}}, 0xfffffffe, 0, 0, 0x1f},
  {{"v_ffbh_i32_e32 v0, v1", {0x7e005f01}}, 0xffffffff, 0, 0, 0xffffffff},
  {{"v_bcnt_u32_b32 v0, v1, v2", {0xd28b0000, 0x00020501}}, 0xf0f0f0f0, 0x64, 0, 0x74},
  {{"v_alignbit_b32 v0, v1, v2, v3", {0xd1ce0000, 0x040e0501}}, 0x12345678, 0x9abcdef0, 0x24, 0x89abcdef},
  {{"v_alignbyte_b32 v0, v1, v2, v3", {0xd1cf0000, 0x040e0501}}, 0x12345678, 0x9abcdef0, 3, 0x3456789a},
  {{"v_perm_b32 v0, v1, v2, v3", {0xd1ed0000, 0x040e0501}}, 0x81838587, 0x9fb0d0f, 0xc0d0b08, 0xffff00},
  {{"v_perm_b32 v0, v1, v2, v3", {0xd1ed0000, 0x040e0501}}, 0x77665544, 0x33221100, 0x7040300, 0x77443300},
  {{"v_lerp_u8 v0, v1, v2, v3", {0xd1cd0000, 0x040e0501}}, 0x1020304, 0x2030405, 0x10001, 0x1030305},
  // integer arithmetic
  {{"v_add_u32_e64 v0, v1, v2 clamp", {0xd1348000, 0x00020501}}, 0xfffffff0, 0x20, 0, 0xffffffff},
  {{"v_sub_u32_e64 v0, v1, v2 clamp", {0xd1358000, 0x00020501}}, 5, 6, 0, 0},
  {{"v_subrev_u32_e32 v0, v1, v2", {0x6c000501}}, 5, 6, 0, 1},
  {{"v_add_i32 v0, v1, v2 clamp", {0xd29c8000, 0x00020501}}, 0x7fffffff, 1, 0, 0x7fffffff},
  {{"v_sub_i32 v0, v1, v2 clamp", {0xd29d8000, 0x00020501}}, 0x80000000, 1, 0, 0x80000000},
  {{"v_mul_hi_u32 v0, v1, v2", {0xd2860000, 0x00020501}}, 0xffffffff, 0xffffffff, 0, 0xfffffffe},
  {{"v_mul_hi_i32 v0, v1, v2", {0xd2870000, 0x00020501}}, 0x80000000, 0x80000000, 0, 0x40000000},
  {{"v_mul_lo_u32 v0, v1, v2", {0xd2850000, 0x00020501}}, 0x12345678, 0x9abcdef0, 0, 0x242d2080},
  {{"v_mul_i32_i24_e32 v0, v1, v2", {0x0c000501}}, 0x1ffffff, 0xff000003, 0, 0xfffffffd},
  {{"v_mul_hi_u32_u24_e32 v0, v1, v2", {0x12000501}}, 0xffffffff, 0xffffffff, 0, 0xffff},
  {{"v_mad_u32_u24 v0, v1, v2, v3 clamp", {0xd1c38000, 0x040e0501}}, 0xffffff, 0xffffff, 0, 0xffffffff},
  {{"v_mad_i32_i24 v0, v1, v2, v3", {0xd1c20000, 0x040e0501}}, 0xffffff, 5, 3, 0xfffffffe},
  {{"v_lshl_add_u32 v0, v1, v2, v3", {0xd1fd0000, 0x040e0501}}, 3, 0x24, 1, 0x31},
  {{"v_add_lshl_u32 v0, v1, v2, v3", {0xd1fe0000, 0x040e0501}}, 3, 4, 4, 0x70},
  {{"v_xad_u32 v0, v1, v2, v3", {0xd1f30000, 0x040e0501}}, 0xff, 0xf, 1, 0xf1},
  {{"v_ashrrev_i32_e32 v0, v1, v2", {0x22000501}}, 0x24, 0x80000000, 0, 0xf8000000},
  {{"v_med3_i32 v0, v1, v2, v3", {0xd1d70000, 0x040e0501}}, 0xffffffff, 5, 2, 2},
  {{"v_med3_u32 v0, v1, v2, v3", {0xd1d80000, 0x040e0501}}, 0xffffffff, 5, 2, 5},
  {{"v_sad_u8 v0, v1, v2, v3", {0xd1d90000, 0x040e0501}}, 0x1ff0380, 0x2000105, 0xa, 0x187},
  {{"v_sad_hi_u8 v0, v1, v2, v3", {0xd1da0000, 0x040e0501}}, 0x1000000, 0, 5, 0x10005},
  {{"v_sad_u16 v0, v1, v2, v3", {0xd1db0000, 0x040e0501}}, 0x10005, 0x30001, 1, 7},
  {{"v_msad_u8 v0, v1, v2, v3", {0xd1e40000, 0x040e0501}}, 0x10203040, 0x210041, 0, 2},
  {{"v_sat_pk_u8_i16_e32 v0, v1", {0x7e009f01}}, 0x100ff80, 0, 0, 0xff00},
  // 64-bit integers
  {{"v_lshlrev_b64 v[8:9], v1, v[4:5]", {0xd28f0008, 0x00020901}}, 0x44, 0x123456789abcdef, 0, 0x123456789abcdef0},
  {{"v_ashrrev_i64 v[8:9], v1, v[4:5]", {0xd2910008, 0x00020901}}, 4, 0x8000000000000000, 0, 0xf800000000000000},
  {{"v_mad_u64_u32 v[8:9], vcc, v1, v1, v[6:7]", {0xd1e86a08, 0x041a0301}}, 0xffffffff, 0, 0x1ffffffff, 0},
  // f32
  {{"v_add_f32_e32 v0, v1, v2", {0x02000501}}, 0x3f800000, 0x33800000, 0, 0x3f800000},
  {{"v_add_f32_e32 v0, v1, v2", {0x02000501}}, 0x7f800000, 0xff800000, 0, 0xffc00000},
  {{"v_add_f32_e32 v0, v1, v2", {0x02000501}}, 0x7f812345, 0x7fc00001, 0, 0x7fc12345},
  {{"v_mul_f32_e32 v0, v1, v2", {0x0a000501}}, 0x800000, 0x3f000000, 0, 0x400000},
  {{"v_mul_legacy_f32 v0, v1, v2", {0xd2a10000, 0x00020501}}, 0, 0x7f800000, 0, 0},
  {{"v_fma_f32 v0, v1, v2, v3", {0xd1cb0000, 0x040e0501}}, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
  {{"v_fma_f32 v0, -v1, |v2|, v3", {0xd1cb0200, 0x240e0501}}, 0x40000000, 0xc0400000, 0x3f800000, 0xc0a00000},
  {{"v_min_f32_e32 v0, v1, v2", {0x14000501}}, 0, 0x80000000, 0, 0x80000000},
  {{"v_max_f32_e32 v0, v1, v2", {0x16000501}}, 0x7fc00000, 0xbf800000, 0, 0xbf800000},
  {{"v_max_f32_e32 v0, v1, v2", {0x16000501}}, 0x3f800000, 0x7f800001, 0, 0x7fc00001},
  {{"v_med3_f32 v0, v1, v2, v3", {0xd1d60000, 0x040e0501}}, 0x3f800000, 0x40400000, 0x40000000, 0x40000000},
  {{"v_trunc_f32_e32 v0, v1", {0x7e003901}}, 0xbfc00000, 0, 0, 0xbf800000},
  {{"v_ceil_f32_e32 v0, v1", {0x7e003b01}}, 0xbf000000, 0, 0, 0x80000000},
  {{"v_floor_f32_e32 v0, v1", {0x7e003f01}}, 0xbf000000, 0, 0, 0xbf800000},
  {{"v_rndne_f32_e32 v0, v1", {0x7e003d01}}, 0x40200000, 0, 0, 0x40000000},
  {{"v_rndne_f32_e32 v0, v1", {0x7e003d01}}, 0x40600000, 0, 0, 0x40800000},
  {{"v_fract_f32_e32 v0, v1", {0x7e003701}}, 0xb2800000, 0, 0, 0x3f7fffff},
  {{"v_ldexp_f32 v0, v1, v2", {0xd2880000, 0x00020501}}, 0x3f800001, 0xffffff6b, 0, 1},
  {{"v_frexp_exp_i32_f32_e32 v0, v1", {0x7e006701}}, 1, 0, 0, 0xffffff6c},
  {{"v_frexp_mant_f32_e32 v0, v1", {0x7e006901}}, 0xc0a00000, 0, 0, 0xbf200000},
  {{"v_div_fixup_f32 v0, v1, v2, v3", {0xd1de0000, 0x040e0501}}, 0, 0, 0, 0xffc00000},
  {{"v_div_fixup_f32 v0, v1, v2, v3", {0xd1de0000, 0x040e0501}}, 0, 0x80000000, 0x3f800000, 0xff800000},
  {{"v_cubeid_f32 v0, v1, v2, v3", {0xd1c40000, 0x040e0501}}, 0x3f800000, 0x3f800000, 0xc0000000, 0x40a00000},
  {{"v_cubema_f32 v0, v1, v2, v3", {0xd1c70000, 0x040e0501}}, 0xc0400000, 0x3f800000, 0x3f800000, 0xc0c00000},
  {{"v_add_f32_e64 v0, v1, v2 clamp", {0xd1018000, 0x00020501}}, 0x3f800000, 0x3f800000, 0, 0x3f800000},
  {{"v_add_f32_e64 v0, v1, v2 clamp", {0xd1018000, 0x00020501}}, 0x7fc00000, 0x3f800000, 0, 0},
  // f64
  {{"v_add_f64 v[8:9], v[2:3], v[4:5]", {0xd2800008, 0x00020902}}, 0x3ff0000000000000, 0x3ca0000000000000, 0, 0x3ff0000000000000},
  {{"v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]", {0xd1cc0008, 0x041a0902}}, 0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002, 0x3970000000000000},
  {{"v_min_f64 v[8:9], v[2:3], -v[4:5]", {0xd2820008, 0x40020902}}, 0, 0, 0, 0x8000000000000000},
  {{"v_trunc_f64_e32 v[8:9], v[2:3]", {0x7e102f02}}, 0xbff8000000000000, 0, 0, 0xbff0000000000000},
  {{"v_rndne_f64_e32 v[8:9], v[2:3]", {0x7e103302}}, 0x4004000000000000, 0, 0, 0x4000000000000000},
  {{"v_fract_f64_e32 v[8:9], v[2:3]", {0x7e106502}}, 0x3ff8000000000000, 0, 0, 0x3fe0000000000000},
  {{"v_frexp_mant_f64_e32 v[8:9], v[2:3]", {0x7e106302}}, 1, 0, 0, 0x3fe0000000000000},
  {{"v_trig_preop_f64 v[8:9], v[2:3], 0", {0xd2920008, 0x00010102}}, 0x3ff0000000000000, 0, 0, 0x3fe45f306dc9c882},
  {{"v_div_fixup_f64 v[8:9], v[2:3], v[4:5], v[6:7]", {0xd1df0008, 0x041a0902}}, 0x3ff0000000000000, 0xc000000000000000, 0x4000000000000000, 0xbff0000000000000},
};
const AsmCases kListed([] {
  std::vector<AsmCase> all;
  for (const Known& k : kKnown) all.push_back(k.code);
  return all;
}());

TEST_CASE("valu: results known from the guide") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    for (const Known& k : kKnown) {
      const bool wide = k.code.text.find("v[") != std::string::npos;
      for (unsigned lane = 0; lane < 64; ++lane) {
        b.v(1, lane) = static_cast<std::uint32_t>(k.a);
        if (wide) {
          b.set_v64(2, lane, k.a);
          b.set_v64(4, lane, k.b);
          b.set_v64(6, lane, k.c);
        } else {
          b.v(2, lane) = static_cast<std::uint32_t>(k.b);
          b.v(3, lane) = static_cast<std::uint32_t>(k.c);
        }
      }
      INFO(k.code.text);
      REQUIRE(b.run(k.code));
      CHECK((wide ? b.v64(8, 37) : b.v(0, 37)) == k.result);
    }
  }
}

TEST_CASE("valu: a carry chain adds 64-bit numbers and leaves no carry for inactive lanes") {
  IsaBench b(Arch::gfx942);
  for (unsigned lane = 0; lane < 64; ++lane) {
    b.v(0, lane) = 0xffffffff - lane % 2;
    b.v(1, lane) = lane;
    b.v(2, lane) = 1;
    b.v(3, lane) = 7;
  }
  b.wave.set_exec(0x00000000ffffffff);
  b.wave.set_vcc(~0ull);
  // v_add_co_u32 v4, vcc, v0, v2 ; v_addc_co_u32 v5, vcc, v1, v3, vcc
  REQUIRE(b.run({0x32080500, 0x380a0701}));
  CHECK(b.v64(4, 0) == 0x0000000800000000ull);
  CHECK(b.v64(4, 3) == 0x0000000affffffffull);
  CHECK(b.v64(4, 40) == 0);
  CHECK(b.wave.vcc() == 0);
}

TEST_CASE("valu: v_cmpx writes EXEC as well as the mask") {
  IsaBench b(Arch::gfx90a);
  for (unsigned lane = 0; lane < 64; ++lane) b.v(1, lane) = lane;
  b.wave.set_exec(0xff00ff00ff00ff00);
  REQUIRE(b.run({0x7db202a0})); // v_cmpx_lt_u32 vcc, 32, v1
  CHECK(b.wave.vcc() == 0xff00ff0000000000);
  CHECK(b.wave.exec() == 0xff00ff0000000000);
}

TEST_CASE("valu: v_readfirstlane reads the lowest active lane, and lane 0 when none is") {
  IsaBench b(Arch::gfx942);
  for (unsigned lane = 0; lane < 64; ++lane) b.v(1, lane) = 100 + lane;
  b.wave.set_exec(0xf0);
  REQUIRE(b.run({0x7e080501})); // v_readfirstlane_b32 s4, v1
  CHECK(b.s(4) == 104);
  b.wave.set_exec(0);
  REQUIRE(b.run({0x7e080501}));
  CHECK(b.s(4) == 100);
  b.agreed();
}

TEST_CASE("valu: v_readlane and v_writelane ignore EXEC and count lanes modulo 64") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    for (unsigned lane = 0; lane < 64; ++lane) b.v(1, lane) = 100 + lane;
    b.wave.set_exec(0);
    b.s(2) = 64 + 9;
    b.s(3) = 0xabcd;
    // v_readlane_b32 s4, v1, s2 ; v_readlane_b32 s5, v1, 63 ; v_writelane_b32 v1, s3, 9 ; v_readfirstlane_b32 s6, v1
    REQUIRE(b.run({0xd2890004, 0x00000501, 0xd2890005, 0x00017f01, 0xd28a0001, 0x00011203, 0x7e0c0501}));
    CHECK(b.s(4) == 109);
    CHECK(b.s(5) == 163);
    CHECK(b.v(1, 9) == 0xabcd);
    CHECK(b.v(1, 8) == 108);
    CHECK(b.s(6) == 100);
    b.agreed();
  }
}

TEST_CASE("valu: v_swap exchanges the active lanes of two registers") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    for (unsigned lane = 0; lane < 64; ++lane) {
      b.v(1, lane) = lane;
      b.v(2, lane) = 1000 + lane;
    }
    b.wave.set_exec(0xffffffff00000000);
    REQUIRE(b.run({0x7e02a302})); // v_swap_b32 v1, v2
    CHECK(b.v(1, 31) == 31);
    CHECK(b.v(1, 32) == 1032);
    CHECK(b.v(2, 32) == 32);
    CHECK(b.v(2, 0) == 1000);
    b.agreed();
  }
}

namespace {
const AsmCases kSpecialSources{
    {"v_writelane_b32 v1, src_scc, 3", {0xd28a0001, 0x000106fd}},
    {"v_writelane_b32 v1, src_shared_base, 4", {0xd28a0001, 0x000108eb}},
    {"v_readlane_b32 s8, v10, src_scc", {0xd2890008, 0x0001fb0a}},
    {"v_cndmask_b32_e64 v3, 5, v2, src_scc", {0xd1000003, 0x03f60485}},
    {"v_addc_co_u32_e64 v5, s[30:31], v3, v4, src_scc", {0xd11c1e05, 0x03f60903}},
    {"v_accvgpr_write_b32 a0, src_scc", {0xd3d94000, 0x180000fd}},
};
} // namespace

TEST_CASE("valu: special registers are lane numbers, values of lanes, masks and carries too") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    b.wave.scc = 1;
    b.wave.set_vcc(~0ull); // what is beside the special codes must not be taken for them
    b.s(108) = b.s(109) = 0xdead;
    for (unsigned lane = 0; lane < 64; ++lane) {
      b.v(2, lane) = 7;
      b.v(10, lane) = 100 + lane;
    }
    for (const AsmCase& c : kSpecialSources) {
      b.wave.scc = 1;
      INFO(c.text);
      REQUIRE(b.run(c));
    }
    CHECK(b.v(1, 3) == 1);
    CHECK(b.v(1, 4) == static_cast<std::uint32_t>(b.dispatch.shared_aperture));
    CHECK(b.s(8) == 101);
    CHECK(b.v(3, 0) == 7);
    CHECK(b.v(3, 1) == 5);
    CHECK(b.v(5, 0) == b.v(3, 0) + b.v(4, 0) + 1);
    CHECK(b.v(5, 1) == b.v(3, 1) + b.v(4, 1));
    CHECK(b.a(0, 17) == 1);
    b.agreed();
  }
}

TEST_CASE("valu: v_nop changes nothing, v_clrexcp clears the exceptions in TRAPSTS") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    b.v(0, 0) = 5;
    b.wave.trapsts = 0x1ff;
    REQUIRE(b.run({0x7e000000, 0xd1400000, 0}));
    CHECK(b.wave.trapsts == 0x1ff);
    REQUIRE(b.run({0x7e006a00}));
    CHECK(b.wave.trapsts == 0);
    b.wave.trapsts = 0x1ff;
    REQUIRE(b.run({0xd1750000, 0}));
    CHECK(b.wave.trapsts == 0);
    CHECK(b.v(0, 0) == 5);
    b.agreed();
  }
}

TEST_CASE("valu: v_permlane16_swap and v_permlane32_swap exchange rows between two registers") {
  IsaBench b(Arch::gfx950);
  const auto reset = [&] {
    for (unsigned lane = 0; lane < 64; ++lane) {
      b.v(1, lane) = lane;
      b.v(2, lane) = 1000 + lane;
    }
  };
  reset();
  REQUIRE(b.run({0x7e02b302})); // v_permlane16_swap_b32 v1, v2
  CHECK(b.v(1, 0) == 0);        // even rows of the first stay
  CHECK(b.v(1, 16) == 1000);    // odd rows of the first are even rows of the second
  CHECK(b.v(2, 0) == 16);
  CHECK(b.v(2, 16) == 1016);
  CHECK(b.v(1, 63) == 1047);
  CHECK(b.v(2, 47) == 63);
  reset();
  REQUIRE(b.run({0x7e02b502})); // v_permlane32_swap_b32 v1, v2
  CHECK(b.v(1, 31) == 31);
  CHECK(b.v(1, 32) == 1000);
  CHECK(b.v(2, 0) == 32);
  CHECK(b.v(2, 63) == 1063);
  reset();
  REQUIRE(b.run({0xd1990001, 0x00000102, 0xd19a0001, 0x00000102})); // the 64-bit forms, one after the other
  CHECK(b.v(1, 16) == 1000);
  CHECK(b.v(1, 32) == 16);
  b.agreed();
}

TEST_CASE("valu: v_accvgpr_mov copies active lanes between AccVGPRs") {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    IsaBench b(arch);
    for (unsigned lane = 0; lane < 64; ++lane) b.a(7, lane) = lane + 1;
    b.wave.set_exec(2);
    REQUIRE(b.run({0x7e06a507})); // v_accvgpr_mov_b32 a3, a7
    CHECK(b.a(3, 1) == 2);
    CHECK(b.a(3, 0) == 0);
    b.agreed();
  }
}

TEST_CASE("valu: registers outside the allocation are refused, and nothing is written") {
  IsaBench b(Arch::gfx942, {.vgprs = 8, .agprs = 0});
  b.v(0, 0) = 41;
  b.v(1, 0) = 7;
  CHECK_FALSE(b.run({0x68029081})); // v_add_u32 v1, 1, v72
  CHECK(b.fault.code == Errc::illegal_instruction);
  CHECK(b.v(1, 0) == 7);
  CHECK_FALSE(b.run({0x7ec80280})); // v_mov_b32 v100, 0
  CHECK(b.v(0, 0) == 41);
}

TEST_CASE("valu: MODE rounding applies to the class of the result") {
  IsaBench b(Arch::gfx942);
  const auto sum = [&](std::uint32_t mode) {
    b.wave.mode.bits = mode;
    b.v(1, 0) = 0x3f800000;          // 1.0f
    b.v(2, 0) = 0x30000000;          // far below its last place
    b.set_v64(4, 0, 0x3ff0000000000000);
    b.set_v64(6, 0, 0x3000000000000000);
    // v_add_f32 v0, v1, v2 ; v_add_f64 v[8:9], v[4:5], v[6:7]
    REQUIRE(b.run({0x02000501, 0xd2800008, 0x00020d04}));
  };
  sum(0x3f0);
  CHECK(b.v(0, 0) == 0x3f800000);
  CHECK(b.v64(8, 0) == 0x3ff0000000000000);
  sum(0x3f1); // f32 up
  CHECK(b.v(0, 0) == 0x3f800001);
  CHECK(b.v64(8, 0) == 0x3ff0000000000000);
  sum(0x3f4); // f64 up
  CHECK(b.v(0, 0) == 0x3f800000);
  CHECK(b.v64(8, 0) == 0x3ff0000000000001);
}

TEST_CASE("valu: omod multiplies only where denormal results are flushed and IEEE is off") {
  IsaBench b(Arch::gfx90a);
  const auto twice = [&](std::uint32_t mode) {
    b.wave.mode.bits = mode;
    b.v(1, 0) = 0x3f800000;
    b.v(2, 0) = 0x40000000;
    REQUIRE(b.run({0xd1010000, 0x08020501})); // v_add_f32_e64 v0, v1, v2 mul:2
    return b.v(0, 0);
  };
  CHECK(twice(0x1f0) == 0x40400000); // denormals kept: ignored
  CHECK(twice(0x3c0) == 0x40400000); // IEEE: ignored
  CHECK(twice(0x1c0) == 0x40c00000);
}

} // namespace
} // namespace aql::test
