#pragma once
// One AQL queue of the packet processor: ring and amd_queue_t in host memory, scratch, and the answers to what the processor says
// in the queue's inactive signal.
// Thread safety: attend(), fault() and stop() from any thread; close() once, then nothing else.

#include <cstdint>
#include <memory>
#include <mutex>

#include "driver/driver.hpp"
#include "driver/fault_sink.hpp"
#include "driver/kfd/memory.hpp"
#include "driver/kfd/ring_search.hpp"
#include "driver/kfd/scratch.hpp"
#include "driver/kfd/topology.hpp"

namespace aql::detail::kfd {

// What the processor's error bits mean; the scratch bits are no error.
struct QueueErrorMeaning {
  Errc code = Errc::ok;
  const char* text = "";
  bool at_packet = false; // the first packet in the ring is the bad one
};
[[nodiscard]] QueueErrorMeaning meaning_of(std::uint32_t error_bits) noexcept;

class HwQueue {
public:
  // `alarm`: the event that the processor raises when it stores to the inactive signal; may be null.
  [[nodiscard]] static Result<std::shared_ptr<HwQueue>> create(const Thunk& thunk, const Gpu& gpu, Memory& memory, HsaEvent* alarm, const QueueRequest& request);
  ~HwQueue();
  HwQueue(const HwQueue&) = delete;
  HwQueue& operator=(const HwQueue&) = delete;

  [[nodiscard]] QueueView view(std::uint64_t id) noexcept;
  void set_id(std::uint64_t id) noexcept { queue_->hsa_queue.id = id; }

  // Looks at the inactive signal: gives scratch, or reports the error. Called whenever the alarm goes off.
  void attend();
  // The queue is over: takes it off the device and tells, once.
  void fault(const QueueFaultInfo& info);
  // The processor reports a memory access fault in this queue (kernels that say which queue it was).
  [[nodiscard]] bool blamed_for_memory_fault() const noexcept;
  // No callback runs or will run afterwards, and the processor no longer knows the queue.
  [[nodiscard]] Result<void> close();

private:
  HwQueue(const Thunk& thunk, const Gpu& gpu, Memory& memory, const QueueRequest& request);
  [[nodiscard]] Result<void> start(HsaEvent* alarm, const QueueRequest& request);
  [[nodiscard]] bool give_scratch(const RingPart& ring, bool asked, QueueFaultInfo& refused);
  void take_off() noexcept;

  const Thunk& thunk_;
  const Gpu& gpu_;
  Memory& memory_;
  const std::uint32_t packets_;
  const std::int32_t priority_;
  FaultSink sink_;
  std::mutex mutex_; // what follows, against attend() and close()
  bool open_ = false, stopped_ = false;
  Memory::Block ring_, block_;
  abi::AmdQueue* queue_ = nullptr;
  abi::AmdSignal* inactive_ = nullptr;
  std::int64_t* error_reason_ = nullptr; // of newer kernels: a bit for each kind of exception
  HsaQueueResource resource_{};
  Scratch scratch_;
};

} // namespace aql::detail::kfd
