#pragma once
// Signals of one device: 64-byte objects in host memory that all GPUs see, armed with the event of the wake hub.
// Thread safety: any thread.

#include <mutex>
#include <vector>

#include "driver/driver.hpp"
#include "driver/kfd/memory.hpp"
#include "driver/kfd/wake_hub.hpp"

namespace aql::detail::kfd {

class Signals {
public:
  Signals(Memory& memory, WakeHub& hub) noexcept : memory_(memory), hub_(hub) {}
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  Result<SignalView> create(std::int64_t initial);
  void destroy(abi::AmdSignal* object) noexcept;

private:
  static void changed(void* hub) noexcept { static_cast<WakeHub*>(hub)->notify(); }

  Memory& memory_;
  WakeHub& hub_;
  std::mutex mutex_;
  std::vector<Memory::Block> slabs_;
  std::vector<abi::AmdSignal*> free_;
};

} // namespace aql::detail::kfd
