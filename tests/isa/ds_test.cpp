#include "support/catch.hpp"

#include "isa/ds_model.hpp"
#include "isa/mem_fixture.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

constexpr MemLine kCasesLines[] = {
#include "isa/cases/ds.inc"
};
const MemCases kCases(kCasesLines);

bool is_gws(const MemCase& c) { return c.name.rfind("gws_", 0) == 0; }

// Widest naturally aligned piece: what atomics need.
std::uint32_t alignment(const MemCase& c) {
  const bool wide = c.name.find("64") != std::string::npos && c.name.find("st64_b32") == std::string::npos && c.name.find("st64_rtn_b32") == std::string::npos;
  return wide ? 8 : 4;
}

bool any_alignment(const MemCase& c) { return c.name.rfind("read", 0) == 0 || c.name.rfind("write", 0) == 0; }

model::DsWave wave_of(MemFixture& f, const MemCase& c) {
  const bool wide = f.bench.arch() == Arch::gfx950; // addresses 160 KiB
  model::DsWave w{.lds = f.want_lds, .exec = f.exec, .m0 = f.bench.s(kM0), .m0_mask = wide ? 0x3ffffu : 0xffffu, .f32 = {}, .f64 = {}};
  for (unsigned l = 0; l < 64; ++l) {
    w.address[l] = f.bench.v(2, l);
    w.data[l] = f.registers(c.acc, 8, l);
    w.data2[l] = f.registers(c.acc, 12, l);
    w.result[l] = f.registers(c.acc, 16, l);
  }
  return w;
}

void set_addresses(MemFixture& f, const MemCase& c, unsigned round) {
  const std::uint32_t range = round < 4 ? MemFixture::kLds : 128; // small: lanes collide
  for (unsigned l = 0; l < 64; ++l) {
    std::uint32_t at = static_cast<std::uint32_t>(f.random() % range);
    if (round == 3 && l % 8 == 0) at = static_cast<std::uint32_t>(f.random()); // out of range
    if (round % 2 == 0 || !any_alignment(c)) at &= ~(alignment(c) - 1);
    f.bench.v(2, l) = at - (round == 2 ? static_cast<std::uint32_t>(c.imm) & ~7u : 0); // a base that wraps below 0
  }
  f.bench.s(kM0) = static_cast<std::uint32_t>(f.random() % 60000 & ~3u) | 0xabc00000u; // higher bits do not count
}

} // namespace

TEST_CASE("ds: every instruction agrees with the model for random lanes, addresses and data", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kCases) {
      if (!c.on(arch) || is_gws(c)) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      bool good = true;
      for (unsigned round = 0; round < 8; ++round) {
        f.shuffle(round);
        set_addresses(f, c, round);
        auto want = wave_of(f, c);
        model::ds(c.name, static_cast<std::uint32_t>(c.imm), want);
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && f.memory_agrees();
        for (unsigned l = 0; l < 64; ++l) good = good && f.registers(c.acc, 16, l) == want.result[l];
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("ds: floating-point atomics flush denormals as MODE says", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch, 7);
    for (const std::uint32_t denorm : {0x00u, 0x10u, 0x20u, 0x40u, 0x80u, 0xb0u}) {
      f.bench.wave.mode.bits = 0x300 | denorm;
      for (const MemCase& c : kCases) {
        if (!c.on(arch) || c.name.find("_f") == std::string::npos) continue;
        if (c.name.find("f16") == std::string::npos && c.name.find("f32") == std::string::npos && c.name.find("f64") == std::string::npos) continue;
        INFO(isa::to_string(arch) << ": " << c.code.text << ", MODE " << f.bench.wave.mode.bits);
        f.shuffle(4);
        set_addresses(f, c, 4);
        for (unsigned l = 0; l < 64; ++l) { // many denormals
          const std::uint32_t small = static_cast<std::uint32_t>(f.random()) & 0x80ff80ffu;
          f.bench.v(9, l) = f.bench.a(9, l) = small;
          f.bench.v(8, l) = f.bench.a(8, l) = small >> (l % 3);
        }
        auto want = wave_of(f, c);
        const auto rules = [](unsigned field) { return model::FloatRules{(field & 1) == 0, (field & 2) == 0}; };
        want.f32 = rules((denorm >> 4) & 3);
        want.f64 = rules((denorm >> 6) & 3);
        model::ds(c.name, static_cast<std::uint32_t>(c.imm), want);
        REQUIRE(f.bench.run(c.code));
        bool good = f.memory_agrees();
        for (unsigned l = 0; l < 64; ++l) good = good && f.registers(c.acc, 16, l) == want.result[l];
        CHECK(good);
      }
    }
  }
}

TEST_CASE("ds: global wave sync faults as not part of compute", "[isa]") {
  IsaBench b(Arch::gfx942);
  for (const MemCase& c : kCases) {
    if (!is_gws(c)) continue;
    CHECK_FALSE(b.run(c.code));
    CHECK(b.fault.code == Errc::unsupported);
    CHECK(b.fault.reason == "ds_" + c.name + " is not part of compute");
  }
}

TEST_CASE("ds: a misaligned atomic faults with its lane and changes nothing", "[isa]") {
  IsaBench b(Arch::gfx942);
  for (unsigned l = 0; l < 64; ++l) b.v(2, l) = l * 4;
  b.v(2, 9) = 38;
  for (unsigned l = 0; l < 64; ++l) b.v(8, l) = 1;
  CHECK_FALSE(b.run(AsmCase{"ds_add_u32 v2, v8", {0xd8000000, 0x00000802}}));
  CHECK(b.fault.lane == 9);
  CHECK(b.fault.access == FaultAccess::atomic);
  CHECK(b.group.lds[0] == std::byte{0});
}

TEST_CASE("ds: the transpose load of 6-bit elements may begin at an odd register", "[isa]") {
  IsaBench b(Arch::gfx950);
  for (unsigned n = 0; n < 64 * 12; ++n) b.group.lds[n] = static_cast<std::byte>(n * 37);
  for (unsigned l = 0; l < 64; ++l) b.v(2, l) = l * 12;
  REQUIRE(b.run(AsmCase{"ds_read_b96_tr_b6 v[16:18], v2", {0xd9c20000, 0x10000002}}));
  REQUIRE(b.run(AsmCase{"ds_read_b96_tr_b6 v[21:23], v2", {0xd9c20000, 0x15000002}}));
  for (unsigned d = 0; d < 3; ++d) CHECK(b.v(21 + d, 33) == b.v(16 + d, 33));
  CHECK((b.v(16, 5) & 63) == ((b.group.lds[3] == std::byte{0} ? 0u : std::to_integer<unsigned>(b.group.lds[3]) >> 6) | (std::to_integer<unsigned>(b.group.lds[4]) & 15) << 2));
}

namespace {
const test::AsmCases kAboveM0{
    {"ds_append v1 offset:4", {0xd97c0004, 0x01000000}},
    {"ds_consume v2 offset:4", {0xd97a0004, 0x02000000}},
    {"ds_write_addtid_b32 v3", {0xd83a0000, 0x00000300}},
    {"ds_read_addtid_b32 v4", {0xd96c0000, 0x04000000}},
};
} // namespace

// Compilers put the pointer of a counter in M0; on gfx950 it can be above 64 KiB.
TEST_CASE("ds: M0 reaches all of the LDS of gfx950, and 64 KiB elsewhere", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch, {.lds_bytes = 160 * 1024});
    const auto word = [&b](std::uint32_t at) -> std::uint32_t& { return reinterpret_cast<std::uint32_t*>(b.group.lds)[at / 4]; };
    constexpr std::uint32_t kAt = 100000;
    const std::uint32_t reached = arch == Arch::gfx950 ? kAt : kAt & 0xffffu;
    b.s(kM0) = kAt;
    b.wave.set_exec(0xff);
    word(kAt + 4) = 500;
    word((kAt & 0xffffu) + 4) = 900;
    const std::uint32_t old = word(reached + 4);
    REQUIRE(b.run(kAboveM0[0]));
    CHECK(b.v(1, 0) == old);
    CHECK(word(reached + 4) == old + 8);
    REQUIRE(b.run(kAboveM0[1]));
    CHECK(b.v(2, 7) == old + 8);
    CHECK(word(reached + 4) == old);
    for (unsigned l = 0; l < 8; ++l) b.v(3, l) = 70 + l;
    REQUIRE(b.run(kAboveM0[2]));
    CHECK(word(reached + 7 * 4) == 77);
    REQUIRE(b.run(kAboveM0[3]));
    CHECK(b.v(4, 6) == 76);
  }
}
