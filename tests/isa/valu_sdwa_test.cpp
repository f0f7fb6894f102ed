// Sub-dword addressing, every combination of selects and extensions.

#include "support/catch.hpp"
#include "valu_harness.hpp"

namespace aql::test {
namespace {

constexpr std::uint32_t kPatterns[] = {0x80ff7f01, 0x12345678, 0xfedcba98, 0x00000000, 0xffffffff, 0x8000807f};

void fill(ValuHarness& harness) {
  RefState& s = harness.state();
  for (unsigned r = 0; r < 4; ++r) {
    for (unsigned lane = 0; lane < sim::kLanes; ++lane) s.vgpr[r].lane[lane] = kPatterns[(lane * (r + 1) + r) % 6] ^ (lane << (r * 3));
  }
  s.mode.bits = 0x3f0;
  s.set_pair(sim::kExecLo, ~std::uint64_t{0});
}

// SDWA word for v1, v2.
std::uint32_t sdwa_word(unsigned dst_sel, unsigned unused, unsigned sel0, unsigned sel1, bool sext0, bool sext1) {
  return 1u | dst_sel << 8 | unused << 11 | sel0 << 16 | static_cast<unsigned>(sext0) << 19 | sel1 << 24 | static_cast<unsigned>(sext1) << 27;
}

// All selects of both sources, all places of the result; the first difference, or empty.
std::string every_select(Arch arch, std::uint32_t base, bool two_sources) {
  ValuHarness harness(arch);
  for (unsigned dst_sel = 0; dst_sel < 7; ++dst_sel) {
    for (unsigned unused = 0; unused < 3; ++unused) {
      for (unsigned sel = 0; sel < 49; ++sel) {
        if (!two_sources && sel >= 7) continue;
        for (unsigned sext = 0; sext < 4; ++sext) {
          fill(harness);
          const std::uint32_t word = sdwa_word(dst_sel, unused, sel % 7, sel / 7, (sext & 1u) != 0, (sext & 2u) != 0);
          if (auto difference = harness.check({base, word}); !difference.empty()) return difference;
        }
      }
    }
  }
  return {};
}

// base words: result v0, src0 = SDWA, second source v2
constexpr std::uint32_t kMov = 0x7e0002f9, kOr = 0x280004f9, kAdd = 0x680004f9, kMul = 0x0a0004f9, kMulI24 = 0x0c0004f9;

TEST_CASE("sdwa: v_mov_b32 moves any field of the source to any field of the result") { CHECK(every_select(Arch::gfx942, kMov, false) == ""); }
TEST_CASE("sdwa: v_or_b32 with every select of sources and result") { CHECK(every_select(Arch::gfx90a, kOr, true) == ""); }
TEST_CASE("sdwa: v_add_u32 with every select of sources and result") { CHECK(every_select(Arch::gfx942, kAdd, true) == ""); }
TEST_CASE("sdwa: v_mul_i32_i24 with every select of sources and result") { CHECK(every_select(Arch::gfx90a, kMulI24, true) == ""); }
TEST_CASE("sdwa: v_mul_f32 with every select of sources and result") { CHECK(every_select(Arch::gfx950, kMul, true) == ""); }

struct SdwaCase {
  AsmCase code;
  std::uint32_t old, src0, src1, result;
};
const std::vector<SdwaCase> kCases{
  {{"v_mov_b32_sdwa v0, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3", {0x7e0002f9, 0x00031201}}, 0x11223344, 0xaabbccdd, 0, 0x11aa3344},
  {{"v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:WORD_1", {0x7e0002f9, 0x00050101}}, 0x11223344, 0xaabbccdd, 0, 0x0000bb00},
  {{"v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0", {0x7e0002f9, 0x00000901}}, 0x11223344, 0x00000080, 0, 0xffff8000},
  {{"v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0", {0x7e0002f9, 0x00000d01}}, 0x11223344, 0x00000080, 0, 0x00800000},
  {{"v_mov_b32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1", {0x7e0002f9, 0x00090601}}, 0x11223344, 0x12348f56, 0, 0xffffff8f},
  {{"v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:WORD_1", {0x680004f9, 0x05011401}}, 0x99999999, 0x0000ff00, 0xffff0000, 0x999900fe},
  {{"v_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:BYTE_3", {0x280004f9, 0x03040601}}, 0, 0xffff1234, 0x81000000, 0x000012b5},
  // abs, then neg, then the word's own sign extension, which an f32 in a word does not have
  {{"v_mul_f32_sdwa v0, -|v1|, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", {0x0a0004f9, 0x06360601}}, 0, 0x40000000, 0x40400000, 0xc0c00000},
};
const AsmCases kListed([] {
  std::vector<AsmCase> all;
  for (const SdwaCase& c : kCases) all.push_back(c.code);
  return all;
}());

TEST_CASE("sdwa: known results") {
  for (const SdwaCase& c : kCases) {
    IsaBench b(Arch::gfx942);
    b.v(0, 5) = c.old;
    b.v(1, 5) = c.src0;
    b.v(2, 5) = c.src1;
    INFO(c.code.text);
    REQUIRE(b.run(c.code));
    CHECK(b.v(0, 5) == c.result);
  }
}

TEST_CASE("sdwa: a compare writes VCC or the named SGPR pair, zero for inactive lanes") {
  IsaBench b(Arch::gfx942);
  for (unsigned lane = 0; lane < 64; ++lane) {
    b.v(1, lane) = lane << 16;
    b.v(2, lane) = 20u << 8;
  }
  b.wave.set_exec(0x00ffffffffffffff);
  b.wave.set_vcc(~0ull);
  // v_cmp_lt_u32_sdwa s[6:7], v1, v2 src0_sel:WORD_1 src1_sel:BYTE_1
  REQUIRE(b.run({0x7d9204f9, 0x01058601}));
  CHECK(b.wave.sgpr64(6) == 0x00000000000fffff);
  CHECK(b.wave.vcc() == ~0ull);
  // the same to VCC
  REQUIRE(b.run({0x7d9204f9, 0x01050001}));
  CHECK(b.wave.vcc() == 0x00000000000fffff);
}

} // namespace
} // namespace aql::test
