#include "support/catch.hpp"

#include "sim/isa/decode.hpp"
#include "sim/isa/op_info.hpp"
#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::sim::isa;
using namespace aql::test;

namespace {

Inst decoded(Arch arch, std::initializer_list<std::uint32_t> words) {
  Inst inst;
  REQUIRE(decode(std::span(words.begin(), words.size()), arch, inst) == DecodeStatus::ok);
  return inst;
}

} // namespace

TEST_CASE("decode: VOP2 with a literal takes two words and carries the literal", "[isa]") {
  const Inst i = decoded(Arch::gfx942, {0x020200ff, 0x12345678}); // v_add_f32_e32 v1, 0x12345678, v0
  CHECK(i.op == Op::v_add_f32);
  CHECK(i.size_bytes == 8);
  CHECK(i.src[0].kind == OperandKind::constant);
  CHECK(i.src[0].value == 0x12345678);
  CHECK(i.dst.index == 1);
}

TEST_CASE("decode: an instruction that needs more words than given is truncated, not illegal", "[isa]") {
  Inst i;
  CHECK(decode(std::initializer_list<std::uint32_t>{0x020200ff}, Arch::gfx942, i) == DecodeStatus::truncated);
}
