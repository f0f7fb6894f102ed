// --trace-insts: one line an instruction, with what it wrote.
#include "support/catch.hpp"

#include "sim/exec/trace.hpp"
#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

const AsmCases kPrograms = {
    {"s_movk_i32 s4, 5\ns_add_u32 s4, s4, s4\ns_and_saveexec_b64 s[6:7], s[8:9]\ns_branch 0", {0xb0040005, 0x80040404, 0xbe862008, 0xbf820000}},
};

struct Traced {
  std::vector<std::string> lines;
  InstructionTrace sink;
  explicit Traced(InstructionTrace::Options options = {}) : sink([this](std::string_view line) { lines.emplace_back(line); }, options) {}
};

} // namespace

TEST_CASE("trace: a line has group, wave, address, text and the scalar registers written", "[isa]") {
  IsaBench b(Arch::gfx942);
  Traced trace;
  b.dispatch.trace = &trace.sink;
  b.group.id[0] = 3;
  b.wave.index_in_group = 2;
  b.wave.set_sgpr64(8, 0xf0);
  REQUIRE(b.run(kPrograms[0]));
  REQUIRE(trace.lines.size() == 5);
  CHECK(trace.lines[0] == "group (3,0,0) wave 2  0x7f1000000000  s_movk_i32 s4, 0x5  | s4 = 0x5\n");
  CHECK(trace.lines[1] == "group (3,0,0) wave 2  0x7f1000000004  s_add_u32 s4, s4, s4  | s4 = 0xa\n");
  CHECK(trace.lines[2] == "group (3,0,0) wave 2  0x7f1000000008  s_and_saveexec_b64 s[6:7], s[8:9]  | s6 = 0xffffffff; s7 = 0xffffffff; exec = 0xf0; scc = 1\n");
  CHECK(trace.lines[3] == "group (3,0,0) wave 2  0x7f100000000c  s_branch 0 // 0x7f1000000010\n");
  CHECK(trace.lines[4] == "group (3,0,0) wave 2  0x7f1000000010  s_endpgm\n");
}

TEST_CASE("trace: a vector result shows the lanes asked for and a hash that differs when any lane does", "[isa]") {
  IsaBench b(Arch::gfx942);
  Traced trace({.lanes = 2});
  b.dispatch.trace = &trace.sink;
  const auto buffer = b.buffer(256);
  b.wave.set_sgpr64(4, buffer.address);
  for (unsigned lane = 0; lane < 64; ++lane) b.v(2, lane) = lane * 4;
  for (unsigned n = 0; n < 64; ++n) buffer.as<std::uint32_t>()[n] = 0x100 + n;
  const std::uint32_t load[] = {0xdc508000, 0x00040002}; // global_load_dword v0, v2, s[4:5]
  REQUIRE(b.run(load));
  buffer.as<std::uint32_t>()[63] = 0;
  REQUIRE(b.run(load));
  REQUIRE(trace.lines.size() == 4);
  CHECK(trace.lines[0].find("| v0 = 100 101 .. #") != std::string::npos);
  CHECK(trace.lines[2].find("| v0 = 100 101 .. #") != std::string::npos);
  CHECK(trace.lines[0] != trace.lines[2]);
}

TEST_CASE("trace: an instruction that faults is the last line and says so", "[isa]") {
  IsaBench b(Arch::gfx942);
  Traced trace;
  b.dispatch.trace = &trace.sink;
  CHECK_FALSE(b.run({0xbf920002}));
  REQUIRE(trace.lines.size() == 1);
  CHECK(trace.lines[0] == "group (0,0,0) wave 0  0x7f1000000000  s_trap 2  | fault\n");
}

TEST_CASE("trace: a limit ends the lines with a notice", "[isa]") {
  IsaBench b(Arch::gfx942);
  Traced trace({.lanes = 4, .max_lines = 2});
  b.dispatch.trace = &trace.sink;
  REQUIRE(b.run({0xbf800000, 0xbf800000, 0xbf800000}));
  REQUIRE(trace.lines.size() == 3);
  CHECK(trace.lines[2] == "... more instructions were executed; the trace was limited\n");
}
