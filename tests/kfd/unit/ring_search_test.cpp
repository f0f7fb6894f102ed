// Which packet stopped the processor, on processors whose read index stays behind.

#include <vector>

#include <aql/packet.hpp>

#include "driver/kfd/ring_search.hpp"
#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail::kfd;

namespace {

constexpr std::uint32_t kInvalid = static_cast<std::uint32_t>(abi::PacketType::invalid);

struct Ring {
  std::vector<abi::Slot> slots;
  std::uint64_t read = 0, write = 0;
  explicit Ring(std::size_t packets = 8, std::uint64_t first = 0) : slots(packets), read(first), write(first) {
    for (auto& slot : slots) slot.word[0] = kInvalid;
  }
  template <class P>
  Ring& add(const P& packet) {
    slots[write++ & (slots.size() - 1)] = packet.encode();
    return *this;
  }
  Ring& take(std::uint64_t index) {
    slots[index & (slots.size() - 1)].word[0] = kInvalid;
    return *this;
  }
  [[nodiscard]] RingPart part() const { return {slots.data(), slots.size() - 1, read, write}; }
};

DispatchPacket dispatch(std::uint32_t private_bytes) { return {.grid = {64}, .group = {64}, .private_bytes = private_bytes}; }

} // namespace

TEST_CASE("kfd ring: the dispatch at the read index that needs scratch is found") {
  const auto need = find_scratch_need(Ring{}.add(dispatch(512)).part(), 0);
  REQUIRE(need);
  CHECK(need->packet == 0);
  CHECK(need->lane_bytes == 512);
}

TEST_CASE("kfd ring: dispatches that had enough are passed over, in whatever state they are") {
  Ring ring{8, 6};
  ring.add(dispatch(256)).add(dispatch(0)).add(dispatch(4096)).add(dispatch(512)).add(dispatch(8192)); // slots 6, 7, 0, 1, 2
  ring.take(8);                                                                                       // 4096 is there no more
  const auto need = find_scratch_need(ring.part(), 256);
  REQUIRE(need);
  CHECK(need->packet == 9);
  CHECK(need->lane_bytes == 512);
}

TEST_CASE("kfd ring: other packets' words are no private sizes") {
  const SignalHandle many{0x7fffffffffc0};
  Ring ring;
  ring.add(BarrierAndPacket{.dependencies = {many, many, many, many, many}});
  ring.add(Pm4IbPacket{.address = 0x7fffffffff00, .size_dwords = 7});
  ring.add(BarrierValuePacket{.signal = many, .value = -1, .mask = -1});
  REQUIRE_FALSE(find_scratch_need(ring.part(), 0));
  ring.add(ExtendedDispatchPacket{.private_bytes = 64});
  const auto need = find_scratch_need(ring.part(), 0);
  REQUIRE(need);
  CHECK(need->packet == 3);
  CHECK(need->lane_bytes == 64);
}

TEST_CASE("kfd ring: nothing beyond the write index counts, and a write index that is ahead of the ring does no harm") {
  Ring ring;
  ring.add(dispatch(64)).add(dispatch(1024));
  ring.write = 1;
  CHECK_FALSE(find_scratch_need(ring.part(), 64));
  ring.write = 100;
  const auto need = find_scratch_need(ring.part(), 64);
  REQUIRE(need);
  CHECK(need->packet == 1);
}

TEST_CASE("kfd ring: the first packet that is left is behind those that were taken") {
  Ring ring{4, 3};
  CHECK_FALSE(find_first_left(ring.part()));
  ring.add(dispatch(0)).add(dispatch(0)).add(dispatch(0));
  CHECK(find_first_left(ring.part()) == 3u);
  ring.take(3).take(4);
  CHECK(find_first_left(ring.part()) == 5u);
  ring.take(5);
  CHECK_FALSE(find_first_left(ring.part()));
}
