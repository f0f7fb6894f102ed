#pragma once
// User-mode queues: AQL, PM4 and SDMA rings with their doorbells.
// Thread safety: all members may be called from any thread. The lock is not held while the device ends a queue.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>

#include "vkfd/events.hpp"
#include "vkfd/gpu_context.hpp"
#include "vkfd/kfd_abi.hpp"

namespace aql::vkfd {

// Where a GPU's doorbells lie in /dev/kfd. The thunk of ROCm 5.2 masks the offset of its first queue with 32 ones, so a GPU's
// doorbells start at a multiple of 4 GiB.
[[nodiscard]] constexpr std::uint64_t doorbell_offset(std::uint32_t gpu_index) noexcept { return (gpu_index + 1ull) << 32; }

class Queues {
public:
  Queues(std::span<const std::unique_ptr<GpuContext>> gpus, Events& events) : gpus_(gpus), events_(events) {}

  // All: 0 or -errno.
  int create(kfd_ioctl_create_queue_args& args);
  int destroy(std::uint32_t id);
  // percentage 0, or no ring: the queue is taken off the device until it is updated again.
  int update(const kfd_ioctl_update_queue_args& args);
  int set_cu_mask(std::uint32_t id, std::span<const std::uint32_t> mask);
  int wave_state(kfd_ioctl_get_queue_wave_state_args& args);
  [[nodiscard]] bool exists(std::uint32_t id) const;

  // While one lives, no queue is taken on the device or moved there: what queues find in the GPU's memory is theirs until they
  // leave it, so who takes memory away holds one from before the queues are stopped until it is gone.
  class Standstill {
  public:
    explicit Standstill(Queues& queues) : queues_(queues), lock_(queues.memory_mutex_) {}
    // Queues whose memory lies in these device addresses leave the device; the program can only destroy them.
    void stop_overlapping(std::uint32_t gpu, std::uint64_t begin, std::uint64_t end) { queues_.stop_overlapping(gpu, begin, end); }

  private:
    Queues& queues_;
    const std::unique_lock<std::shared_mutex> lock_;
  };

private:
  void stop_overlapping(std::uint32_t gpu, std::uint64_t begin, std::uint64_t end);
  struct Queue {
    std::uint32_t id = 0, gpu = 0, type = 0, slot = 0;
    CoreQueue setup;
    std::uint64_t core_id = 0; // 0: not on the device
    bool held = false; // disabled, with its waves on the device
    bool lost = false; // its memory is gone
    bool busy = false; // a call is changing it
  };
  int start(Queue& queue);
  static void stop(GpuContext& gpu, Queue& queue);
  void report(const GpuContext& gpu, QueueKind kind, const CoreFault& fault);
  // The queue for a call that changes it, or null. Others wait until release().
  [[nodiscard]] std::shared_ptr<Queue> acquire(std::uint32_t id);
  void release(const std::shared_ptr<Queue>& queue);

  const std::span<const std::unique_ptr<GpuContext>> gpus_;
  Events& events_;
  std::shared_mutex memory_mutex_; // before a queue is acquired
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::map<std::uint32_t, std::shared_ptr<Queue>> queues_;
};

} // namespace aql::vkfd
