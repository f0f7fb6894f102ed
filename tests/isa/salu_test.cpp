#include "support/catch.hpp"

#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

const AsmCases kPrograms = {
    {"s_movk_i32 s4, 10\n"
     "s_mov_b32 s5, 0\n"
     "s_add_u32 s5, s5, s4\n"
     "s_sub_u32 s4, s4, 1\n"
     "s_cmp_lg_u32 s4, 0\n"
     "s_cbranch_scc1 -4",
     {0xb004000a, 0xbe850080, 0x80050405, 0x80848104, 0xbf078004, 0xbf85fffc}},
};

} // namespace

TEST_CASE("salu: a counted loop runs to its end and the pc stays on s_endpgm", "[isa]") {
  for (const Arch arch : kAllArchs) {
    IsaBench b(arch);
    REQUIRE(b.run(kPrograms[0]));
    CHECK(b.s(5) == 55);
    CHECK(b.wave.pc == b.code_address() + 24);
    CHECK(b.wave.instructions == 2 + 4 * 10 + 1);
    b.agreed();
  }
}
