#pragma once
// The HSA runtime's entry points over plain memory, to show the rocr driver what real machines would have to be broken for. The
// state is the process's, as that of the real library; make one FakeHsa a test.

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/rocr/rocr_driver.hpp"
#include "driver/rocr/runtime.hpp"
#include "support/catch.hpp"

namespace rocr_test {

using namespace aql;
using namespace aql::detail;

struct FakePool {
  std::uint32_t flags;
  std::size_t size_bytes;
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
};

struct FakeAgent {
  hsa_device_type_t device;
  std::string name;
  std::uint32_t wave = 64;
  std::vector<FakePool> pools;
};

struct FakeQueue {
  alignas(64) amd_queue_t amd;
  alignas(64) amd_signal_t doorbell;
  std::uint64_t doorbell_word;
  std::vector<std::array<std::byte, 64>> ring;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
};

class FakeHsa {
public:
  FakeHsa() {
    current = this;
    agents = {{HSA_DEVICE_TYPE_CPU, "cpu", 0, {{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, 1 << 30}, {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, 1 << 30}, {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, 1 << 30}}},
              {HSA_DEVICE_TYPE_GPU, "gfx90a", 64, {{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, std::size_t{64} << 30}, {0, 65536, HSA_AMD_SEGMENT_GROUP}}},
              {HSA_DEVICE_TYPE_GPU, "gfx90a", 64, {{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, std::size_t{64} << 30}}}};
  }
  ~FakeHsa() {
    for (auto& [address, size] : memory) std::free(address);
    current = nullptr;
  }
  [[nodiscard]] std::shared_ptr<Driver> open(std::size_t index = 0) {
    auto runtime = rocr::Runtime::create(table());
    REQUIRE(runtime);
    auto driver = rocr::open(*runtime, index);
    REQUIRE(driver);
    return *driver;
  }
  static const rocr::HsaApi& table();

  static FakeHsa* current;
  std::vector<FakeAgent> agents; // handles are index + 1; pools: agent * 16 + pool + 1
  hsa_status_t init = HSA_STATUS_SUCCESS, load = HSA_STATUS_SUCCESS;
  std::uint16_t ext_minor = 0; // 0: the runtime does not know the attribute
  std::int64_t doorbell_kind = AMD_SIGNAL_KIND_DOORBELL;
  std::uint32_t shared_aperture_hi = 0x10000;
  std::uint64_t load_delta = 0x100000, kernel_object = 0;
  std::map<void*, std::size_t> memory;
  std::vector<std::uint32_t> allocation_flags;
  std::vector<std::unique_ptr<FakeQueue>> queues;
  std::vector<std::unique_ptr<amd_signal_t>> signals;
  std::map<std::uint64_t, std::pair<void*, std::size_t>> locked; // device address -> host
  std::atomic<int> waits_for_any = 0;
  int running = 0, queues_destroyed = 0, signal_adds = 0, profiled = 0, executables = 0, readers = 0;
  std::vector<std::string> defined;
  std::function<void()> on_wait; // what the device does while somebody waits for a signal
};

} // namespace rocr_test
