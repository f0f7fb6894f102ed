// Scalar loads, stores and atomics: addressing forms, bounds, faults, clocks.
#include "support/catch.hpp"

#include <cstring>

#include "sim/isa/op_info.hpp"
#include "support/isa_bench.hpp"
#include "support/isa_rows.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

const AsmCases kLoads = {
    {"s_load_dword s20, s[4:5], 0x8", {0xc0020502, 0x8}},
    {"s_load_dwordx2 s[20:21], s[4:5], -0x8", {0xc0060502, 0x1ffff8}},
    {"s_load_dwordx4 s[20:23], s[4:5], s8", {0xc0080502, 0x8}},
    {"s_load_dwordx8 s[20:27], s[4:5], m0", {0xc00c0502, 0x7c}},
    {"s_load_dwordx16 s[20:35], s[4:5], s8 offset:0x10", {0xc0124502, 0x10000010}},
    {"s_load_dword s20, s[4:5], 0xb", {0xc0020502, 0xb}},
    {"s_load_dwordx2 vcc, s[4:5], 0x0", {0xc0061a82, 0}},
};

std::uint32_t pattern(std::size_t dword) { return 0xa0000000u + static_cast<std::uint32_t>(dword); }

void fill(const IsaBench::Buffer& b) {
  for (std::size_t n = 0; n < b.host.size() / 4; ++n) b.as<std::uint32_t>()[n] = pattern(n);
}

} // namespace

TEST_CASE("smem: loads of every width take base, immediate, register and both as offset", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    const auto memory = b.buffer(1024);
    fill(memory);
    b.wave.set_sgpr64(4, memory.address + 64);
    b.s(8) = 32;
    b.s(kM0) = 16;
    const auto check = [&](const AsmCase& c, unsigned first, unsigned count) {
      INFO(c.text);
      for (unsigned n = 20; n < 40; ++n) b.s(n) = 0;
      REQUIRE(b.run(c));
      for (unsigned n = 0; n < count; ++n) CHECK(b.s(20 + n) == pattern(first + n));
      CHECK(b.s(20 + count) == 0);
    };
    check(kLoads[0], 18, 1);
    check(kLoads[1], 14, 2);
    check(kLoads[2], 24, 4);
    check(kLoads[3], 20, 8);
    check(kLoads[4], 28, 16);
    check(kLoads[5], 18, 1); // the two low bits of an offset do not count
    b.wave.set_sgpr64(4, memory.address + 67);
    check(kLoads[0], 18, 1); // nor those of the base
    REQUIRE(b.run(kLoads[6]));
    CHECK(b.wave.vcc() == (pattern(16) | std::uint64_t{pattern(17)} << 32));
    b.agreed();
  }
}

TEST_CASE("smem: a load past its buffer faults with the address and loads nothing", "[isa]") {
  IsaBench b(Arch::gfx942);
  const auto memory = b.buffer(64);
  b.wave.set_sgpr64(4, memory.address);
  b.s(8) = 56;
  b.s(20) = 7;
  CHECK_FALSE(b.run(kLoads[2]));
  CHECK(b.fault.code == Errc::memory_fault);
  CHECK(b.fault.access == FaultAccess::read);
  CHECK(b.s(20) == 7);
  CHECK(b.fault.pc == b.code_address());
}

namespace {
const AsmCases kBuffers = {
    {"s_buffer_load_dword s20, s[4:7], 0x8", {0xc0220502, 0x8}},
    {"s_buffer_load_dwordx2 s[20:21], s[4:7], 0x8", {0xc0260502, 0x8}},
    {"s_buffer_load_dwordx4 s[20:23], s[4:7], s8", {0xc0280502, 0x8}},
    {"s_buffer_load_dwordx8 s[20:27], s[4:7], 0x0", {0xc02e0502, 0}},
    {"s_buffer_load_dwordx16 s[20:35], s[4:7], 0x0", {0xc0320502, 0}},
};
} // namespace

TEST_CASE("smem: buffer loads return 0 for dwords that lie outside of the buffer", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    const auto memory = b.buffer(256);
    fill(memory);
    const auto check = [&](const AsmCase& c, unsigned first, unsigned count, unsigned inside) {
      INFO(c.text << " inside " << inside);
      for (unsigned n = 20; n < 40; ++n) b.s(n) = 0xdead;
      REQUIRE(b.run(c));
      for (unsigned n = 0; n < count; ++n) CHECK(b.s(20 + n) == (first + n < inside ? pattern(first + n) : 0u));
    };
    for (const unsigned stride : {0u, 4u, 16u}) {
      for (const unsigned bytes : {0u, 4u, 12u, 32u, 48u, 256u}) {
        if (stride != 0 && bytes % stride != 0) continue;
        b.s(4) = static_cast<std::uint32_t>(memory.address);
        b.s(5) = static_cast<std::uint32_t>(memory.address >> 32) | stride << 16;
        b.s(6) = stride == 0 ? bytes : bytes / stride;
        b.s(7) = 0;
        b.s(8) = 32;
        check(kBuffers[0], 2, 1, bytes / 4);
        check(kBuffers[1], 2, 2, bytes / 4);
        check(kBuffers[2], 8, 4, bytes / 4);
        check(kBuffers[3], 0, 8, bytes / 4);
        check(kBuffers[4], 0, 16, bytes / 4);
      }
    }
    b.agreed();
  }
}

TEST_CASE("smem: stores write their dwords, buffer stores only those inside, scratch counts registers in 64 bytes", "[isa]") {
  for (const IsaRow& row : isa_rows()) {
    if (row.format != "SMEM" || row.mnemonic.find("store") == std::string::npos) continue;
    for (const Arch arch : kAllArchs) {
      if ((row.targets & arch_bit(arch)) == 0) continue;
      INFO(row.example); // "op s32, s[16:17], 0x20"
      IsaBench b(arch);
      const auto memory = b.buffer(128);
      const unsigned count = row.mnemonic.ends_with("x4") ? 4 : row.mnemonic.ends_with("x2") ? 2 : 1;
      const bool buffer = row.mnemonic.find("buffer") != std::string::npos;
      b.wave.set_sgpr64(16, memory.address);
      b.s(18) = 0x20 + 8; // bytes of the buffer
      for (unsigned n = 0; n < 4; ++n) b.s(32 + n) = 100 + n;
      REQUIRE(b.run(row.words));
      for (unsigned n = 0; n < 32; ++n) {
        const bool written = n >= 8 && n < 8 + count && (!buffer || n < 10);
        CHECK(memory.as<std::uint32_t>()[n] == (written ? 100 + n - 8 : 0));
      }
      b.agreed();
    }
  }
}

namespace {
const AsmCases kScratch = {
    {"s_scratch_store_dword s20, s[4:5], m0", {0xc0540502, 0x7c}},
    {"s_scratch_load_dword s21, s[4:5], 0x100", {0xc0160542, 0x100}},
    {"s_scratch_load_dwordx2 s[22:23], s[4:5], m0", {0xc0180582, 0x7c}},
    {"s_scratch_load_dwordx4 s[24:27], s[4:5], m0", {0xc01c0602, 0x7c}},
};
} // namespace

TEST_CASE("smem: scratch counts a register offset in 64 bytes and an immediate in bytes", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    const auto memory = b.buffer(1024);
    fill(memory);
    b.wave.set_sgpr64(4, memory.address);
    b.s(kM0) = 4;
    b.s(20) = 55;
    REQUIRE(b.run(kScratch[0]));
    CHECK(memory.as<std::uint32_t>()[64] == 55);
    REQUIRE(b.run(kScratch[1]));
    CHECK(b.s(21) == 55);
    REQUIRE(b.run(kScratch[2]));
    CHECK(b.s(22) == 55);
    CHECK(b.s(23) == pattern(65));
    REQUIRE(b.run(kScratch[3]));
    CHECK(b.s(27) == pattern(67));
    b.agreed();
  }
}

TEST_CASE("smem: atomics do their operation and return the value before when asked to", "[isa]") {
  struct Case {
    const char* name;
    std::uint64_t (*f)(std::uint64_t old, std::uint64_t data, std::uint64_t compare, unsigned bits);
  };
  const auto sign = [](std::uint64_t v, unsigned bits) { return static_cast<std::int64_t>(v << (64 - bits)) >> (64 - bits); };
  static const auto s = sign;
  const Case cases[] = {
      {"swap", [](std::uint64_t, std::uint64_t d, std::uint64_t, unsigned) { return d; }},
      {"cmpswap", [](std::uint64_t o, std::uint64_t d, std::uint64_t c, unsigned) { return o == c ? d : o; }},
      {"add", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o + d; }},
      {"sub", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o - d; }},
      {"smin", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned n) { return s(o, n) < s(d, n) ? o : d; }},
      {"umin", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o < d ? o : d; }},
      {"smax", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned n) { return s(o, n) > s(d, n) ? o : d; }},
      {"umax", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o > d ? o : d; }},
      {"and", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o & d; }},
      {"or", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o | d; }},
      {"xor", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o ^ d; }},
      {"inc", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o >= d ? 0 : o + 1; }},
      {"dec", [](std::uint64_t o, std::uint64_t d, std::uint64_t, unsigned) { return o == 0 || o > d ? d : o - 1; }},
  };
  std::size_t rows = 0;
  for (const IsaRow& row : isa_rows()) {
    if (row.format != "SMEM" || row.mnemonic.find("_atomic_") == std::string::npos) continue;
    std::string name = row.mnemonic.substr(row.mnemonic.find("atomic_") + 7);
    const unsigned bits = name.ends_with("_x2") ? 64 : 32;
    if (bits == 64) name.resize(name.size() - 3);
    const std::uint64_t mask = bits == 64 ? ~0ull : 0xffffffffull;
    for (const Case& c : cases) {
      if (name != c.name) continue;
      ++rows;
      for (const Arch arch : kAllArchs) {
        INFO(isa::to_string(arch) << ' ' << row.example); // "op s32, s[16:17], 0x20"
        IsaBench b(arch);
        const auto memory = b.buffer(128);
        b.wave.set_sgpr64(16, memory.address);
        b.s(18) = 128;
        b.s(19) = 0;
        for (const std::uint64_t old : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{0xffffffff80000000}, ~std::uint64_t{0}}) {
          for (const std::uint64_t data : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{0x7fffffff7fffffff}, ~std::uint64_t{0}}) {
            for (const bool glc : {false, true}) {
              const std::uint64_t compare = 5;
              std::memcpy(memory.host.data() + 0x20, &old, 8);
              b.wave.set_sgpr64(32, data);
              if (bits == 32) b.s(33) = static_cast<std::uint32_t>(compare);
              else b.wave.set_sgpr64(34, compare);
              REQUIRE(b.run({row.words[0] | (glc ? 1u << 16 : 0u), row.words[1]}));
              std::uint64_t now = 0;
              std::memcpy(&now, memory.host.data() + 0x20, 8);
              REQUIRE((now & mask) == (c.f(old & mask, data & mask, compare, bits) & mask));
              if (bits == 32) REQUIRE(now >> 32 == old >> 32);
              const std::uint64_t returned = bits == 64 ? b.wave.sgpr64(32) : b.s(32);
              REQUIRE(returned == ((glc ? old : data) & mask));
            }
          }
        }
        b.agreed();
      }
    }
  }
  CHECK(rows == 52);
}

namespace {
const AsmCases kOthers = {
    {"s_memtime s[20:21]", {0xc0900500, 0}},          {"s_memrealtime s[20:21]", {0xc0940500, 0}},
    {"s_dcache_inv", {0xc0800000, 0}},                {"s_dcache_wb", {0xc0840000, 0}},
    {"s_dcache_inv_vol", {0xc0880000, 0}},            {"s_dcache_wb_vol", {0xc08c0000, 0}},
    {"s_atc_probe 1, s[4:5], 0x10", {0xc09a0042, 0x10}}, {"s_atc_probe_buffer 1, s[4:7], 0x10", {0xc09e0042, 0x10}},
    {"s_dcache_discard s[4:5], 0x10", {0xc0a20002, 0x10}}, {"s_dcache_discard_x2 s[4:5], 0x10", {0xc0a60002, 0x10}},
};
} // namespace

TEST_CASE("smem: the clocks read the device's time, the core clock in its own units", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    b.dispatch.clock = [](void* arg) { return ++*static_cast<std::uint64_t*>(arg); };
    std::uint64_t time = 1000;
    b.dispatch.clock_arg = &time;
    b.dispatch.core_clocks_per_tick = 20;
    REQUIRE(b.run(kOthers[1]));
    CHECK(b.wave.sgpr64(20) == 1001);
    REQUIRE(b.run(kOthers[0]));
    CHECK(b.wave.sgpr64(20) == 1002 * 20);
    b.agreed();
  }
}

TEST_CASE("smem: cache control and probes touch neither registers nor memory", "[isa]") {
  for (std::size_t k = 2; k < kOthers.size(); ++k) {
    for (const Arch arch : kAllArchs) {
      INFO(kOthers[k].text);
      IsaBench b(arch);
      for (unsigned n = 0; n < 104; ++n) b.s(n) = n; // an address that is not mapped
      REQUIRE(b.run(kOthers[k]));
      for (unsigned n = 0; n < 104; ++n) CHECK(b.s(n) == n);
      b.agreed();
    }
  }
}
