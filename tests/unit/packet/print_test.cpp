// to_line and to_hex_dump.

#include <aql/packet.hpp>

#include "support/catch.hpp"

namespace {
using namespace aql;
constexpr DispatchPacket kDispatch{.grid = {1000, 2, 1},
                                   .group = {256, 1, 1},
                                   .kernel_object = 0x1000,
                                   .kernarg_address = 0x2000,
                                   .group_bytes = 512,
                                   .barrier = Barrier::on,
                                   .acquire = Scope::agent,
                                   .release = Scope::none,
                                   .completion = 0x40};
std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }
} // namespace

TEST_CASE("print: a dispatch is one readable line") {
  CHECK(to_line(kDispatch) == "dispatch grid 1000x2x1 group 256x1x1 dims 2 kernel 0x1000 kernarg 0x2000 private 0 lds 512 "
                              "barrier on acquire agent release none completion 0x40");
}

TEST_CASE("print: the other packets are one readable line each") {
  CHECK(to_line(BarrierAndPacket{.dependencies = {0x40, 0, 0x80}, .completion = 0xC0}) ==
        "barrier-and deps 0x40,0x0,0x80,0x0,0x0 barrier off acquire system release system completion 0xc0");
  CHECK(to_line(BarrierOrPacket{.dependencies = {0x40}}) ==
        "barrier-or deps 0x40,0x0,0x0,0x0,0x0 barrier off acquire system release system completion 0x0");
  CHECK(to_line(AgentPacket{.type = 5, .return_address = 0x10, .arguments = {1, 2, 3, 4}}) ==
        "agent type 5 args 0x1,0x2,0x3,0x4 return 0x10 barrier off acquire system release system completion 0x0");
  CHECK(to_line(BarrierValuePacket{.signal = 0x40, .value = -1, .mask = 0xF, .condition = ValueCondition::lt}) ==
        "barrier-value (0x40 & 0xf) < -1 barrier off acquire system release system completion 0x0");
  CHECK(to_line(Pm4IbPacket{.address = 0x1000, .size_dwords = 7}) ==
        "pm4-ib at 0x1000 dwords 7 barrier off acquire system release system completion 0x0");
  CHECK(to_line(ExtendedDispatchPacket{.cluster_count = {4, 1, 1}, .cluster_size = {2, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x40}) ==
        "extended-dispatch clusters 4x1x1 of 2x1x1 groups of 64x1x1 dims 1 kernel 0x40 kernarg 0x0 private 0 lds 0 dep 0x0 "
        "barrier off acquire system release system completion 0x0");
}

TEST_CASE("print: what is no packet is printed as numbers") {
  abi::Slot slot{};
  slot.word[0] = 1;
  CHECK(to_line(slot) == "invalid (not published)");
  slot.word[0] = 99;
  CHECK(to_line(slot).starts_with("unknown type 99: 63 00 00 00"));
  slot.word[0] = 0x00C80000;
  CHECK(to_line(slot).starts_with("unknown vendor format 200: 00 00 c8 00"));
}

TEST_CASE("print: the hex dump shows every field with offset, bytes and meaning") {
  const std::string dump = to_hex_dump(kDispatch);
  INFO(dump);
  CHECK(dump.find("dispatch packet, 64 bytes") == 0);
  CHECK(dump.find("   0  02 03                    header                type 2 (dispatch), barrier on, acquire agent, release none\n") != std::string::npos);
  CHECK(dump.find("   2  02 00                    setup                 2 dimensions\n") != std::string::npos);
  CHECK(dump.find("   4  00 01                    workgroup_size_x      256 work-items\n") != std::string::npos);
  CHECK(dump.find("  12  e8 03 00 00              grid_size_x           1000 work-items\n") != std::string::npos);
  CHECK(dump.find("  40  00 20 00 00 00 00 00 00  kernarg_address       0x2000\n") != std::string::npos);
  CHECK(dump.find("  56  40 00 00 00 00 00 00 00  completion_signal     signal 0x40\n") != std::string::npos);
  CHECK(lines(dump) == 2 + 15);
}

TEST_CASE("print: the hex dump covers all 64 bytes of every format and marks reserved bytes that are set") {
  abi::Slot slot = BarrierAndPacket{.dependencies = {0x40}}.encode();
  slot.word[1] = 7;
  CHECK(to_hex_dump(slot).find("reserved1             0x7, must be 0") != std::string::npos);
  for (const abi::Slot& format : {BarrierOrPacket{}.encode(), AgentPacket{}.encode(), BarrierValuePacket{}.encode(), Pm4IbPacket{}.encode(),
                                  ExtendedDispatchPacket{}.encode(), abi::Slot{{1}}, abi::Slot{{77}}}) {
    const std::string dump = to_hex_dump(format);
    INFO(dump);
    std::size_t bytes = 0;
    std::size_t row = 0;
    for (std::size_t at = 0; at < dump.size(); ++row) {
      const std::size_t end = dump.find('\n', at);
      if (row >= 2)
        for (std::size_t i = at + 6; i + 1 < at + 29 && dump[i] != ' '; i += 3) ++bytes;
      at = end + 1;
    }
    CHECK(bytes == 64);
  }
}
