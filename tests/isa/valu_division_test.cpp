// Division as compilers write it: the three division steps around a reciprocal give the correctly rounded quotient.

#include <bit>

#include "support/catch.hpp"
#include "valu_harness.hpp"

namespace aql::test {
namespace {

const AsmCases kSequences{{
  "v_div_scale_f32 v4, s[0:1], v2, v2, v1\n"
  "v_div_scale_f32 v5, vcc, v1, v2, v1\n"
  "v_rcp_f32_e32 v6, v4\n"
  "v_fma_f32 v7, -v4, v6, 1.0\n"
  "v_fma_f32 v6, v7, v6, v6\n"
  "v_mul_f32_e32 v7, v5, v6\n"
  "v_fma_f32 v8, -v4, v7, v5\n"
  "v_fma_f32 v7, v8, v6, v7\n"
  "v_fma_f32 v8, -v4, v7, v5\n"
  "v_div_fmas_f32 v8, v8, v6, v7\n"
  "v_div_fixup_f32 v0, v8, v2, v1\n",
  {
   0xd1e00004, 0x04060502, 0xd1e06a05, 0x04060501, 0x7e0c4504, 0xd1cb0007,
   0x23ca0d04, 0xd1cb0006, 0x041a0d07, 0x0a0e0d05, 0xd1cb0008, 0x24160f04,
   0xd1cb0007, 0x041e0d08, 0xd1cb0008, 0x24160f04, 0xd1e20008, 0x041e0d08,
   0xd1de0000, 0x04060508,
  }},
{
  "v_div_scale_f64 v[8:9], s[0:1], v[4:5], v[4:5], v[2:3]\n"
  "v_rcp_f64_e32 v[10:11], v[8:9]\n"
  "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\n"
  "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
  "v_fma_f64 v[12:13], -v[8:9], v[10:11], 1.0\n"
  "v_fma_f64 v[10:11], v[10:11], v[12:13], v[10:11]\n"
  "v_div_scale_f64 v[12:13], vcc, v[2:3], v[4:5], v[2:3]\n"
  "v_mul_f64 v[14:15], v[12:13], v[10:11]\n"
  "v_fma_f64 v[8:9], -v[8:9], v[14:15], v[12:13]\n"
  "v_div_fmas_f64 v[8:9], v[8:9], v[10:11], v[14:15]\n"
  "v_div_fixup_f64 v[0:1], v[8:9], v[4:5], v[2:3]\n",
  {
   0xd1e10008, 0x040a0904, 0x7e144b08, 0xd1cc000c, 0x23ca1508, 0xd1cc000a,
   0x042a190a, 0xd1cc000c, 0x23ca1508, 0xd1cc000a, 0x042a190a, 0xd1e16a0c,
   0x040a0902, 0xd281000e, 0x0002150c, 0xd1cc0008, 0x24321d08, 0xd1e30008,
   0x043a1508, 0xd1df0000, 0x040a0908,
  }},
};

// Numbers of every size, as many near the edges as between them.
std::uint32_t operand_f32(Random& random) {
  switch (random() % 4) {
  case 0: return edge_value(random);
  case 1: return (random() & 0x80ffffffu) | 0x7e000000u;       // near the largest
  case 2: return random() & 0x80ffffffu;                       // denormal or just above
  default: return random();
  }
}
std::uint64_t operand_f64(Random& random) {
  const std::uint64_t bits = std::uint64_t{random()} << 32 | random();
  switch (random() % 4) {
  case 0: return std::uint64_t{edge_value(random)} << 32 | (random() % 2 == 0 ? 0 : random());
  case 1: return (bits & 0x801fffffffffffffu) | 0x7fc0000000000000u;
  case 2: return bits & 0x801fffffffffffffu;
  default: return bits;
  }
}

TEST_CASE("division: the f32 sequence rounds correctly for every kind of operand") {
  Random random(3);
  IsaBench b(Arch::gfx942);
  for (unsigned round = 0; round < 60; ++round) {
    std::uint32_t n[64], d[64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      b.v(1, lane) = n[lane] = operand_f32(random);
      b.v(2, lane) = d[lane] = operand_f32(random);
    }
    REQUIRE(b.run(kSequences[0]));
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float right = std::bit_cast<float>(n[lane]) / std::bit_cast<float>(d[lane]);
      INFO(std::hex << n[lane] << " / " << d[lane]);
      if (right != right) CHECK((b.v(0, lane) & 0x7fffffffu) > 0x7f800000u);
      else CHECK(b.v(0, lane) == std::bit_cast<std::uint32_t>(right));
    }
  }
}

TEST_CASE("division: the f64 sequence rounds correctly for every kind of operand") {
  Random random(4);
  IsaBench b(Arch::gfx90a);
  for (unsigned round = 0; round < 60; ++round) {
    std::uint64_t n[64], d[64];
    for (unsigned lane = 0; lane < 64; ++lane) {
      b.set_v64(2, lane, n[lane] = operand_f64(random));
      b.set_v64(4, lane, d[lane] = operand_f64(random));
    }
    REQUIRE(b.run(kSequences[1]));
    for (unsigned lane = 0; lane < 64; ++lane) {
      const double right = std::bit_cast<double>(n[lane]) / std::bit_cast<double>(d[lane]);
      INFO(std::hex << n[lane] << " / " << d[lane]);
      if (right != right) CHECK((b.v64(0, lane) & 0x7fffffffffffffffu) > 0x7ff0000000000000u);
      else CHECK(b.v64(0, lane) == std::bit_cast<std::uint64_t>(right));
    }
  }
}

} // namespace
} // namespace aql::test
