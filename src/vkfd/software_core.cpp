// The software GPU behind DeviceCore.

#include "vkfd/device_core.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/env.hpp"
#include "base/log.hpp"
#include "sim/cp/gpu.hpp"
#include "vkfd/trace.hpp"
#include "vkfd/trace_packet.hpp"

namespace aql::vkfd {
namespace {

using detail::env_switch;
using detail::env_u64;

sim::GpuOptions options_from_environment() {
  sim::GpuOptions options;
  if (const auto n = env_u64("AQL_SIM_WORKERS")) options.workers = static_cast<unsigned>(*n);
  if (const auto n = env_u64("AQL_SIM_SEED")) options.seed = *n;
  if (const auto n = env_u64("AQL_SIM_WATCHDOG_INSTRUCTIONS")) options.watchdog_instructions = *n;
  if (const auto n = env_u64("AQL_SIM_WATCHDOG_MS")) options.watchdog_ms = *n;
  if (const auto on = env_switch("AQL_SIM_POISON")) options.poison = *on;
  return options;
}

class SoftwareCore final : public DeviceCore {
public:
  explicit SoftwareCore(std::unique_ptr<sim::Gpu> gpu) : gpu_(std::move(gpu)) {
    if (tracing()) gpu_->set_packet_observer(&packet_trace_);
  }

  Result<void> map(const sim::Region& region) override {
    if (auto id = gpu_->memory().map(region); !id) return std::unexpected(id.error());
    return {};
  }
  Result<void> unmap(std::uint64_t address) override {
    if (auto region = gpu_->memory().unmap(address); !region) return std::unexpected(region.error());
    return {};
  }
  Result<void> change(std::uint64_t address, std::uint8_t permissions, sim::MemoryKind kind) override {
    return gpu_->memory().change(address, permissions, kind);
  }
  void split(std::uint64_t address) override { gpu_->memory().split(address); }
  std::byte* translate(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const override {
    return gpu_->memory().translate(address, size, permissions);
  }

  Result<std::uint64_t> register_queue(const CoreQueue& queue) override {
    switch (queue.kind) {
    case QueueKind::aql: return register_aql(queue);
    case QueueKind::pm4: return register_pm4(queue);
    case QueueKind::sdma: return register_sdma(queue);
    }
    return std::unexpected(Error{Errc::unsupported, 0, "no such kind of queue", "register_queue"});
  }
  Result<void> hold_queue(std::uint64_t id) override { return gpu_->hold_queue(id); }
  Result<void> resume_queue(std::uint64_t id) override { return gpu_->resume_queue(id); }
  Result<void> set_cu_mask(std::uint64_t id, const std::uint64_t (&mask)[8]) override { return gpu_->set_cu_mask(id, mask); }
  Result<void> set_priority(std::uint64_t id, std::int32_t priority) override { return gpu_->set_priority(id, priority); }
  Result<void> destroy_queue(std::uint64_t id) override { return gpu_->destroy_queue(id); }

  void set_event_hook(std::function<void(std::uint32_t)> hook) override {
    event_hook_ = hook;
    gpu_->set_event_hook(std::move(hook));
  }
  std::uint64_t timestamp() const override { return gpu_->timestamp(); }
  std::uint64_t shared_aperture() const override { return gpu_->shared_aperture(); }
  std::uint64_t private_aperture() const override { return gpu_->private_aperture(); }

private:
  // The memory map must not change under us, so faults of queues are told by what the map says at the address.
  std::function<void(const sim::QueueFault&)> fault_handler(std::function<void(const CoreFault&)> on_fault) {
    return [this, on_fault = std::move(on_fault)](const sim::QueueFault& fault) {
      CoreFault told;
      told.code = fault.code;
      told.report = fault.detail;
      told.address =
          fault.fault.access == sim::FaultAccess::fetch && fault.fault.address == 0 ? fault.fault.pc : fault.fault.address;
      if (const auto region = gpu_->memory().find(told.address)) {
        told.no_execute = fault.fault.access == sim::FaultAccess::fetch && (region->permissions & sim::kExecute) == 0;
        told.read_only =
            !told.no_execute && fault.fault.access != sim::FaultAccess::read && (region->permissions & sim::kWrite) == 0;
      } else {
        told.not_present = true;
      }
      if (on_fault) on_fault(told);
    };
  }

  Result<std::uint64_t> register_aql(const CoreQueue& queue) {
    const auto refuse = [](std::string detail) {
      return std::unexpected(Error{Errc::invalid_queue_creation, 0, std::move(detail), "register_queue"});
    };
    // The processor finds amd_queue_t from where it reports the read index, as the firmware does.
    const std::uint64_t address = queue.read_pointer - offsetof(abi::AmdQueue, read_dispatch_id);
    auto* host = queue.read_pointer < offsetof(abi::AmdQueue, read_dispatch_id) || address % alignof(abi::AmdQueue) != 0
                     ? nullptr
                     : gpu_->memory().translate(address, sizeof(abi::AmdQueue), sim::kRead | sim::kWrite);
    if (host == nullptr)
      return refuse(fmt::format("the read index at {:#x} is not inside an amd_queue_t that the GPU can reach", queue.read_pointer));
    auto* amd = reinterpret_cast<abi::AmdQueue*>(host);
    const auto hsa = amd->hsa_queue;
    if (hsa.base_address != queue.ring_address || static_cast<std::uint64_t>(hsa.size) * sizeof(abi::Slot) != queue.ring_bytes) {
      return refuse(
          fmt::format("amd_queue_t at {:#x} names a ring of {} packets at {:#x}; the queue was asked for {} bytes at {:#x}",
                      address, hsa.size, hsa.base_address, queue.ring_bytes, queue.ring_address));
    }
    sim::QueueConfig config;
    config.amd_queue = amd;
    config.ring_address = queue.ring_address;
    config.ring_packets = queue.ring_bytes / sizeof(abi::Slot);
    config.queue_address = address;
    config.doorbell = queue.doorbell;
    config.on_error = fault_handler(queue.on_fault);
    config.external_scratch = true;
    config.priority = queue.priority;
    std::copy_n(queue.cu_mask, 8, config.cu_mask);
    config.polled_doorbell = true;
    config.starts_rung = true;
    return gpu_->create_queue(config);
  }

  template <class Position>
  Position* position(std::uint64_t address) const {
    return address % sizeof(Position) == 0
               ? reinterpret_cast<Position*>(gpu_->memory().translate(address, sizeof(Position), sim::kRead | sim::kWrite))
               : nullptr;
  }

  Result<std::uint64_t> register_pm4(const CoreQueue& queue) {
    sim::Pm4QueueConfig config;
    config.ring_address = queue.ring_address;
    config.ring_dwords = queue.ring_bytes / 4;
    config.read_pointer = position<std::uint32_t>(queue.read_pointer);
    config.write_pointer = position<std::uint32_t>(queue.write_pointer);
    config.doorbell = queue.doorbell;
    config.on_error = fault_handler(queue.on_fault);
    config.on_interrupt = [this](std::uint32_t context) { raise(context); };
    config.priority = queue.priority;
    std::copy_n(queue.cu_mask, 8, config.cu_mask);
    config.polled_doorbell = true;
    return gpu_->create_pm4_queue(config);
  }

  Result<std::uint64_t> register_sdma(const CoreQueue& queue) {
    sim::SdmaQueueConfig config;
    config.ring_address = queue.ring_address;
    config.ring_bytes = queue.ring_bytes;
    config.read_pointer = position<std::uint64_t>(queue.read_pointer);
    config.write_pointer = position<std::uint64_t>(queue.write_pointer);
    config.doorbell = queue.doorbell;
    config.on_error = fault_handler(queue.on_fault);
    config.on_interrupt = [this](std::uint32_t context) { raise(context); };
    config.polled_doorbell = true;
    return gpu_->create_sdma_queue(config);
  }

  void raise(std::uint32_t event_id) {
    if (event_hook_) event_hook_(event_id);
  }

  PacketTrace packet_trace_; // outlives the GPU
  std::unique_ptr<sim::Gpu> gpu_;
  std::function<void(std::uint32_t)> event_hook_; // set before the first queue
};

} // namespace

Result<std::unique_ptr<DeviceCore>> make_software_core(const sim::DeviceProfile& profile) {
  auto gpu = sim::Gpu::create(profile, options_from_environment());
  if (!gpu) return std::unexpected(gpu.error());
  return std::make_unique<SoftwareCore>(std::move(*gpu));
}

} // namespace aql::vkfd
