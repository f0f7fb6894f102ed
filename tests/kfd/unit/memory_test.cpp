// Memory of a card that the host cannot map as a whole (no large BAR), over a thunk of the test's own: everything goes through the
// copy engine, here a thread that executes linear copies and fences.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "driver/kfd/memory.hpp"
#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail;
using namespace aql::detail::kfd;
using Catch::Matchers::Contains;

namespace {

struct Engine {
  std::byte* ring = nullptr;
  std::uint64_t bytes = 0, write = 0, read = 0, doorbell = 0;
  std::atomic<bool> stop{false};
  std::atomic<unsigned> copies{0};
  std::thread thread;
  HsaMemFlags last_device_flags{};

  std::uint32_t word(std::uint64_t at) const {
    std::uint32_t w = 0;
    std::memcpy(&w, ring + at % bytes, 4);
    return w;
  }
  std::uint64_t pair(std::uint64_t at) const { return word(at) | std::uint64_t{word(at + 4)} << 32; }
  void run() {
    std::uint64_t at = 0;
    while (!stop.load()) {
      if (at == std::atomic_ref{doorbell}.load(std::memory_order_acquire)) {
        std::this_thread::yield();
        continue;
      }
      if (word(at) == 1) { // COPY_LINEAR
        std::memmove(reinterpret_cast<void*>(pair(at + 20)), reinterpret_cast<const void*>(pair(at + 12)), std::size_t{word(at + 4)} + 1);
        ++copies;
        at += 28;
      } else { // FENCE
        std::atomic_ref{*reinterpret_cast<std::uint32_t*>(pair(at + 4))}.store(word(at + 12), std::memory_order_release);
        at += 16;
      }
    }
  }
};
Engine* g_engine = nullptr;

HSAKMT_STATUS allocate(HSAuint32, HSAuint64 size, HsaMemFlags flags, void** address) {
  if (flags.ui32.NonPaged != 0) g_engine->last_device_flags = flags;
  *address = std::aligned_alloc(4096, size);
  return HSAKMT_STATUS_SUCCESS;
}
HSAKMT_STATUS release(void* address, HSAuint64) {
  std::free(address);
  return HSAKMT_STATUS_SUCCESS;
}
HSAKMT_STATUS map(void*, HSAuint64, HSAuint64* other, HsaMemMapFlags, HSAuint64, HSAuint32*) {
  *other = 0;
  return HSAKMT_STATUS_SUCCESS;
}
HSAKMT_STATUS unmap(void*) { return HSAKMT_STATUS_SUCCESS; }
HSAKMT_STATUS create_queue(HSAuint32, HSA_QUEUE_TYPE type, HSAuint32, HSA_QUEUE_PRIORITY, void* ring, HSAuint64 bytes, HsaEvent*, HsaQueueResource* out) {
  if (type != HSA_QUEUE_SDMA) return HSAKMT_STATUS_INVALID_PARAMETER;
  g_engine->ring = static_cast<std::byte*>(ring);
  g_engine->bytes = bytes;
  out->QueueId = 1;
  out->Queue_write_ptr_aql = &g_engine->write;
  out->Queue_read_ptr_aql = &g_engine->read;
  out->Queue_DoorBell_aql = &g_engine->doorbell;
  g_engine->thread = std::thread{[] { g_engine->run(); }};
  return HSAKMT_STATUS_SUCCESS;
}
HSAKMT_STATUS destroy_queue(HSA_QUEUEID) {
  g_engine->stop = true;
  g_engine->thread.join();
  return HSAKMT_STATUS_SUCCESS;
}

struct Card {
  Engine engine;
  Thunk thunk;
  Gpu gpu;
  explicit Card(bool large_bar = false, std::uint32_t engines = 1) {
    g_engine = &engine;
    thunk.hsaKmtAllocMemory = &allocate;
    thunk.hsaKmtFreeMemory = &release;
    thunk.hsaKmtMapMemoryToGPUNodes = &map;
    thunk.hsaKmtUnmapMemoryToGPU = &unmap;
    thunk.hsaKmtCreateQueue = &create_queue;
    thunk.hsaKmtDestroyQueue = &destroy_queue;
    gpu.node = 1;
    gpu.info.selector = "kfd:0";
    gpu.info.memory_bytes = 1ull << 30;
    gpu.large_bar = large_bar;
    gpu.sdma_engines = engines;
  }
};

} // namespace

TEST_CASE("kfd memory without a large BAR: the host gets no access, and copies go through the engine") {
  Card card;
  Memory memory{card.thunk, card.gpu, {1}};
  const auto buffer = memory.allocate(PoolKind::device_coarse, 5'000'000, "far");
  REQUIRE(buffer);
  CHECK(card.engine.last_device_flags.ui32.HostAccess == 0);
  CHECK(card.engine.last_device_flags.ui32.CoarseGrain == 1);
  std::vector<std::uint32_t> data(1'250'000), back(1'250'000);
  std::iota(data.begin(), data.end(), 3u);
  REQUIRE(memory.copy(buffer->device_address, reinterpret_cast<std::uint64_t>(data.data()), 5'000'000));
  REQUIRE(memory.copy(reinterpret_cast<std::uint64_t>(back.data()), buffer->device_address, 5'000'000));
  CHECK(back == data);
  CHECK(card.engine.copies >= 10); // pieces of the staging buffer, both ways
  REQUIRE(memory.fill32(buffer->device_address, 7, 1'250'000));
  REQUIRE(memory.copy(reinterpret_cast<std::uint64_t>(back.data()), buffer->device_address, 5'000'000));
  CHECK(std::all_of(back.begin(), back.end(), [](std::uint32_t w) { return w == 7; }));
  REQUIRE(memory.free(*buffer));
}

TEST_CASE("kfd memory without a large BAR and without an engine: a copy is refused with the reason") {
  Card card{false, 0};
  Memory memory{card.thunk, card.gpu, {1}};
  const auto buffer = memory.allocate(PoolKind::device_coarse, 64, "far");
  REQUIRE(buffer);
  const std::uint32_t word = 1;
  const auto refused = memory.copy(buffer->device_address, reinterpret_cast<std::uint64_t>(&word), 4);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
  CHECK_THAT(refused.error().detail, Contains("no copy engine") && Contains("large BAR"));
  REQUIRE(memory.free(*buffer));
}

TEST_CASE("kfd memory with a large BAR: small copies are the host's, long reads the engine's") {
  Card card{true};
  Memory memory{card.thunk, card.gpu, {1}};
  const auto buffer = memory.allocate(PoolKind::device_coarse, 1u << 20, "near");
  REQUIRE(buffer);
  CHECK(card.engine.last_device_flags.ui32.HostAccess == 1);
  std::vector<std::byte> data(1u << 20, std::byte{9}), back(1u << 20);
  REQUIRE(memory.copy(buffer->device_address, reinterpret_cast<std::uint64_t>(data.data()), data.size()));
  REQUIRE(memory.copy(reinterpret_cast<std::uint64_t>(back.data()), buffer->device_address, 1000));
  CHECK(card.engine.copies == 0);
  REQUIRE(memory.copy(reinterpret_cast<std::uint64_t>(back.data()), buffer->device_address, back.size()));
  CHECK(card.engine.copies == 1);
  CHECK(back == data);
  REQUIRE(memory.free(*buffer));
}

TEST_CASE("kfd memory: pools ask the thunk for their own kinds") {
  Card card{true};
  Memory memory{card.thunk, card.gpu, {1}};
  const auto code = memory.allocate(PoolKind::executable, 100, "code");
  REQUIRE(code);
  CHECK(card.engine.last_device_flags.ui32.ExecuteAccess == 1);
  const auto fine = memory.allocate(PoolKind::device_fine, 100, "fine");
  REQUIRE(fine);
  CHECK(card.engine.last_device_flags.ui32.CoarseGrain == 0);
  CHECK(card.engine.last_device_flags.ui32.ExecuteAccess == 0);
  REQUIRE(memory.free(*code));
  REQUIRE(memory.free(*fine));
  CHECK_FALSE(memory.free(*fine));
}

TEST_CASE("kfd memory: an address is described by what is near") {
  Card card{true};
  Memory memory{card.thunk, card.gpu, {1}};
  const auto buffer = memory.allocate(PoolKind::host_fine, 256, "table");
  REQUIRE(buffer);
  CHECK(memory.describe(buffer->device_address + 16) == "it is 16 bytes into 'table' (256 bytes)");
  CHECK(memory.describe(buffer->device_address + 272) == "it lies 16 bytes past 'table' (256 bytes)");
  CHECK(memory.describe(16) == "no memory of this device is near");
  REQUIRE(memory.free(*buffer));
}
