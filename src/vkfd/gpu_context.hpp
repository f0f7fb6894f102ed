#pragma once
// One virtual GPU of a process: its numbers, its device, its memory file, its doorbells.
// Thread safety: the device is made once, by whoever needs it first; other members are set at creation, atomics or guard
// themselves.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "vkfd/backing.hpp"
#include "vkfd/device_core.hpp"
#include "vkfd/topology.hpp"

namespace aql::vkfd {

inline constexpr std::uint32_t kDoorbells = 1024; // queues of a process on one GPU
inline constexpr std::uint64_t kDoorbellBytes = kDoorbells * 8;

struct GpuContext {
  GpuContext(const GpuIdentity& identity, BackingFile file);

  const std::uint32_t index; // bit number in masks of GPUs
  const GpuIdentity id;
  BackingFile memory; // VRAM and GTT of this GPU; the render node's descriptors are of it
  OffsetAllocator offsets;
  std::atomic<std::uint64_t> vram_used{0};
  std::atomic<bool> vm_acquired{false};
  View doorbell_view;
  std::uint64_t* doorbells = nullptr; // kDoorbells, in the view
  std::atomic<std::uint64_t> trap_handler{0}, trap_memory{0}, scratch_va{0};

  // Null and errno's reason in the log if it cannot be made.
  [[nodiscard]] DeviceCore* core();
  [[nodiscard]] DeviceCore* core_if_made() const noexcept { return made_.load(std::memory_order_acquire); }
  void stop();
  std::function<void(std::uint32_t)> event_hook; // set before the first core()

private:
  std::mutex core_mutex_;
  std::unique_ptr<DeviceCore> core_;
  std::atomic<DeviceCore*> made_{nullptr};
};

} // namespace aql::vkfd
