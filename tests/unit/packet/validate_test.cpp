// validate(): one message per bad field, none for good packets.

#include <aql/packet.hpp>

#include "support/catch.hpp"

namespace {
using namespace aql;

DispatchPacket good() {
  return {.grid = {1024, 1, 1}, .group = {256, 1, 1}, .kernel_object = 0x1000, .kernarg_address = 0x2000};
}

bool names(const std::vector<std::string>& messages, std::string_view text) {
  return messages.size() == 1 && messages.front().find(text) != std::string::npos;
}
template <class Change>
std::vector<std::string> with(Change change) {
  DispatchPacket p = good();
  change(p);
  return validate(p);
}
} // namespace

TEST_CASE("validate: good dispatches have no message") {
  CHECK(validate(good()).empty());
  CHECK(validate(good().encode()).empty());
  CHECK(with([](auto& p) { p.grid = {1000, 7, 5}, p.group = {64, 4, 4}; }).empty()); // partial groups are legal
  CHECK(with([](auto& p) { p.group = {1024, 1, 1}; }).empty());
  CHECK(with([](auto& p) { p.kernarg_address = 0; }).empty());
  CHECK(with([](auto& p) { p.group_bytes = 65536; }).empty());
  CHECK(with([](auto& p) { p.grid = {~0u, ~0u, ~0u}; }).empty());
}

TEST_CASE("validate: each bad field of a dispatch has its own message") {
  CHECK(names(with([](auto& p) { p.grid.x = 3; }), "grid.x = 3 is smaller than group.x = 256"));
  CHECK(names(with([](auto& p) { p.grid.y = 0; }), "grid.y = 0"));
  CHECK(names(with([](auto& p) { p.group = {64, 0, 1}; }), "group.y = 0"));
  CHECK(names(with([](auto& p) { p.grid = {2048, 1, 1}, p.group = {1025, 1, 1}; }), "at most 1024 work-items"));
  CHECK(names(with([](auto& p) { p.dimensions = 4; }), "dimensions = 4"));
  CHECK(names(with([](auto& p) { p.dimensions = 1, p.grid.y = 2; }), "grid.y = 2 but dimensions = 1"));
  CHECK(names(with([](auto& p) { p.dimensions = 2, p.grid.z = 2; }), "grid.z = 2 but dimensions = 2"));
  CHECK(names(with([](auto& p) { p.group_bytes = 65537; }), "group_bytes = 65537"));
  CHECK(names(with([](auto& p) { p.private_bytes = 131057; }), "private_bytes = 131057"));
  CHECK(names(with([](auto& p) { p.kernel_object = 0; }), "kernel_object is null"));
  CHECK(names(with([](auto& p) { p.kernel_object = 0x1020; }), "64-byte aligned"));
  CHECK(names(with([](auto& p) { p.kernarg_address = 0x2008; }), "16-byte aligned"));
  CHECK(names(with([](auto& p) { p.acquire = static_cast<Scope>(3); }), "acquire = 3"));
  CHECK(names(with([](auto& p) { p.release = static_cast<Scope>(3); }), "release = 3"));
  CHECK(names(with([](auto& p) { p.completion = 0x1008; }), "completion = 0x1008"));
}

TEST_CASE("validate: several bad fields give several messages") {
  const auto messages = with([](auto& p) { p.grid.x = 0, p.kernel_object = 0, p.group_bytes = 1 << 20; });
  CHECK(messages.size() == 3);
}

TEST_CASE("validate: group sizes beyond 16 bits and their product do not wrap") {
  const auto messages = with([](auto& p) { p.grid = {~0u, ~0u, ~0u}, p.group = {65536, 65536, 65536}; });
  REQUIRE(messages.size() == 4); // three dimensions and the product
  CHECK(messages[0].find("group.x = 65536 does not fit") != std::string::npos);
  CHECK(messages[3].find("at most 1024") != std::string::npos);
}

TEST_CASE("validate: limits come from the device") {
  DeviceInfo info;
  info.target = "gfx950";
  info.lds_bytes = 163840;
  DispatchPacket p = good();
  p.group_bytes = 163840;
  CHECK(validate(p, PacketLimits::of(info)).empty());
  p.group_bytes += 1;
  CHECK(validate(p, PacketLimits::of(info)).size() == 1);
}

TEST_CASE("validate: null dependencies are fine for barrier-AND, all null is refused for barrier-OR") {
  CHECK(validate(BarrierAndPacket{}).empty());
  CHECK(names(validate(BarrierOrPacket{}), "never completes"));
  CHECK(validate(BarrierOrPacket{.dependencies = {0, 0, 0, 0, 0x40}}).empty());
  CHECK(names(validate(BarrierAndPacket{.dependencies = {0, 0x41}}), "dependencies[1] = 0x41"));
}

TEST_CASE("validate: vendor packets") {
  CHECK(validate(BarrierValuePacket{.signal = 0x40, .value = 3}).empty());
  CHECK(names(validate(BarrierValuePacket{.signal = 0x40, .condition = static_cast<ValueCondition>(7)}), "condition = 7"));
  CHECK(validate(Pm4IbPacket{.address = 0x1000, .size_dwords = 7}).empty());
  CHECK(names(validate(Pm4IbPacket{.address = 0x1002, .size_dwords = 7}), "4-byte aligned"));
  CHECK(names(validate(Pm4IbPacket{.address = 0x1000, .size_dwords = 0}), "size_dwords = 0"));
  CHECK(names(validate(Pm4IbPacket{.address = 0x1000, .size_dwords = 1 << 20}), "size_dwords = 1048576"));
  const ExtendedDispatchPacket clusters{.cluster_count = {8, 1, 1}, .cluster_size = {2, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x40};
  CHECK(names(validate(clusters), "no clusters"));
  CHECK(validate(clusters, PacketLimits{.extended_dispatch = true}).empty());
  auto single = clusters;
  single.cluster_size = {1, 1, 1};
  CHECK(names(validate(single, PacketLimits{.extended_dispatch = true}), "1x1x1"));
  CHECK(validate(AgentPacket{.type = 1}).empty());
}

TEST_CASE("validate: raw slots are also checked for reserved fields and header bits") {
  abi::Slot slot = good().encode();
  slot.word[2] |= 0x10000;
  CHECK(names(validate(slot), "reserved0 at byte 10 = 0x1 must be 0"));
  slot = good().encode();
  slot.word[13] = 1;
  CHECK(names(validate(slot), "reserved2 at byte 48"));
  slot = good().encode();
  slot.word[0] |= 1u << 13;
  CHECK(names(validate(slot), "header bits 15:13 = 1"));
  slot = good().encode();
  slot.word[0] |= 1u << 20;
  CHECK(names(validate(slot), "setup = 0x11"));
  slot = good().encode();
  slot.word[0] &= 0xFFFFu;
  CHECK(names(validate(slot), "dimensions = 0"));
  slot = Pm4IbPacket{.address = 0x1000, .size_dwords = 7}.encode();
  slot.word[1] = 0xC0021000;
  CHECK(names(validate(slot), "INDIRECT_BUFFER"));
  slot = BarrierAndPacket{}.encode();
  slot.word[0] |= 5u << 16;
  CHECK(names(validate(slot), "reserved0 at byte 2 = 0x5"));
}

TEST_CASE("validate: every reserved byte of every format is noticed") {
  const abi::Slot formats[] = {good().encode(), BarrierAndPacket{}.encode(), BarrierOrPacket{.dependencies = {0x40}}.encode(),
                               AgentPacket{}.encode(), BarrierValuePacket{.signal = 0x40}.encode(),
                               Pm4IbPacket{.address = 0x1000, .size_dwords = 1}.encode()};
  const std::vector<unsigned> reserved[] = {{10, 11, 48, 55}, {2, 3, 4, 7, 48, 55}, {2, 3, 4, 7, 48, 55},
                                            {4, 7, 48, 55},   {3, 4, 7, 36, 39, 40, 47, 48, 55}, {3, 24, 31, 39, 40, 52, 55}};
  for (std::size_t i = 0; i < std::size(formats); ++i)
    for (const unsigned byte : reserved[i]) {
      abi::Slot slot = formats[i];
      slot.word[byte / 4] |= 0x80u << (8 * (byte % 4));
      INFO("format " << i << " byte " << byte);
      CHECK(names(validate(slot), "must be 0"));
    }
}

TEST_CASE("validate: an unknown type is one message") {
  abi::Slot slot{};
  slot.word[0] = 77;
  CHECK(names(validate(slot), "packet type 77 is unknown"));
}
