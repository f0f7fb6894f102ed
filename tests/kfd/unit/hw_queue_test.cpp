// What a queue answers when the packet processor stops, over a thunk of the test's own: the read index stays behind, as on
// processors that end dispatches in hardware.

#include <cstdlib>
#include <vector>

#include <aql/packet.hpp>

#include "driver/kfd/hw_queue.hpp"
#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail;
using namespace aql::detail::kfd;
using Catch::Matchers::Contains;

namespace {

std::uint64_t g_doorbell = 0;
int g_taken_off = 0;

struct Card {
  Thunk thunk;
  Gpu gpu;
  Card() {
    g_taken_off = 0;
    thunk.hsaKmtAllocMemory = [](HSAuint32, HSAuint64 size, HsaMemFlags, void** address) {
      *address = std::aligned_alloc(4096, size);
      return HSAKMT_STATUS_SUCCESS;
    };
    thunk.hsaKmtFreeMemory = [](void* address, HSAuint64) {
      std::free(address);
      return HSAKMT_STATUS_SUCCESS;
    };
    thunk.hsaKmtMapMemoryToGPUNodes = [](void*, HSAuint64, HSAuint64* other, HsaMemMapFlags, HSAuint64, HSAuint32*) {
      *other = 0;
      return HSAKMT_STATUS_SUCCESS;
    };
    thunk.hsaKmtUnmapMemoryToGPU = [](void*) { return HSAKMT_STATUS_SUCCESS; };
    thunk.hsaKmtCreateQueue = [](HSAuint32, HSA_QUEUE_TYPE, HSAuint32, HSA_QUEUE_PRIORITY, void*, HSAuint64, HsaEvent*, HsaQueueResource* out) {
      out->QueueId = 1;
      out->Queue_DoorBell_aql = &g_doorbell;
      return HSAKMT_STATUS_SUCCESS;
    };
    thunk.hsaKmtUpdateQueue = [](HSA_QUEUEID, HSAuint32, HSA_QUEUE_PRIORITY, void*, HSAuint64, HsaEvent*) {
      ++g_taken_off;
      return HSAKMT_STATUS_SUCCESS;
    };
    thunk.hsaKmtDestroyQueue = [](HSA_QUEUEID) { return HSAKMT_STATUS_SUCCESS; };
    gpu.node = 1;
    gpu.info.selector = "kfd:0";
    gpu.info.memory_bytes = 1ull << 30;
    gpu.info.compute_units = 8;
    gpu.info.xcc_count = 1;
    gpu.info.min_queue_packets = 64;
    gpu.info.max_queue_packets = 131072;
  }
};

struct Stopped {
  Card card;
  Memory memory{card.thunk, card.gpu, {1}};
  std::vector<QueueFaultInfo> faults;
  std::shared_ptr<HwQueue> queue;
  QueueView view;

  Stopped() {
    QueueRequest request;
    request.packets = 64;
    request.on_fault = [this](const QueueFaultInfo& info) { faults.push_back(info); };
    auto made = HwQueue::create(card.thunk, card.gpu, memory, nullptr, request);
    REQUIRE(made);
    queue = *made;
    view = queue->view(1);
  }
  void add(std::uint32_t private_bytes) { view.ring[(*view.write_index)++] = DispatchPacket{.grid = {64}, .group = {64}, .private_bytes = private_bytes}.encode(); }
  [[nodiscard]] std::int64_t& inactive() const { return reinterpret_cast<abi::AmdSignal*>(view.amd_queue->queue_inactive_signal)->value; }
  void stop(std::int64_t bits) {
    inactive() = bits;
    queue->attend();
  }
};

} // namespace

TEST_CASE("kfd queue: scratch is given for the dispatch that needs it, wherever the read index is") {
  Stopped s;
  s.add(0);
  s.add(512);
  s.stop(abi::kQueueErrorScratch);
  CHECK(s.inactive() == 0);
  CHECK(s.view.amd_queue->scratch_wave64_lane_byte_size == 512);
  s.add(64);
  s.add(2048);
  s.stop(abi::kQueueErrorScratch);
  CHECK(s.inactive() == 0);
  CHECK(s.view.amd_queue->scratch_wave64_lane_byte_size == 2048);
  CHECK(s.faults.empty());
}

TEST_CASE("kfd queue: a request for scratch that no packet explains ends the queue, and is not answered") {
  Stopped s;
  s.add(512);
  s.stop(abi::kQueueErrorScratch);
  REQUIRE(s.inactive() == 0);
  s.stop(abi::kQueueErrorScratch);
  CHECK(s.inactive() == abi::kQueueErrorScratch);
  CHECK(g_taken_off == 1);
  REQUIRE(s.faults.size() == 1);
  CHECK(s.faults[0].code == Errc::out_of_resources);
  CHECK(s.faults[0].packet_index == ~0ULL);
  CHECK_THAT(s.faults[0].detail, Contains("512 bytes"));
}

TEST_CASE("kfd queue: a dispatch that asks for more scratch than there can be ends the queue at its packet") {
  Stopped s;
  s.add(0);
  s.add(0);
  s.add(200'000);
  s.stop(abi::kQueueErrorScratch);
  REQUIRE(s.faults.size() == 1);
  CHECK(s.faults[0].code == Errc::out_of_resources);
  CHECK(s.faults[0].packet_index == 2);
}

TEST_CASE("kfd queue: a bad packet is the first that is left in the ring") {
  Stopped s;
  s.add(0);
  s.add(0);
  s.view.ring[0].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid); // taken; the read index says 0 still
  s.stop(abi::kQueueErrorDimensions);
  REQUIRE(s.faults.size() == 1);
  CHECK(s.faults[0].code == Errc::incompatible_arguments);
  CHECK(s.faults[0].packet_index == 1);
}

TEST_CASE("kfd queue: that memory for one dispatch is no longer used needs no answer but the go-ahead") {
  Stopped s;
  s.stop(abi::kQueueErrorScratchReclaim);
  CHECK(s.inactive() == 0);
  CHECK(s.faults.empty());
}
