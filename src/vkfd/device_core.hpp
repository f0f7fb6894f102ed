#pragma once
// What the virtual KFD needs of a device, and no more: address translation, queues, events, a clock. The software GPU implements
// it (software_core.cpp). The same cut fits ROCr's own hook for software models (HSA_MODEL_LIB: create, allocated and freed
// memory, register queue, destroy queue, set event), which could be put in front of it as well.
// Thread safety: all members may be called from any thread. Callbacks run on threads of the device, without its locks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <aql/error.hpp>

#include "sim/cp/profile.hpp"
#include "sim/mem/address_map.hpp"

namespace aql::vkfd {

enum class QueueKind : std::uint8_t { pm4, sdma, aql };

// Why a queue stopped.
struct CoreFault {
  Errc code = Errc::ok;
  std::uint64_t address = 0; // memory faults
  bool not_present = false, read_only = false, no_execute = false;
  std::string report;
};

struct CoreQueue {
  QueueKind kind = QueueKind::aql;
  std::uint64_t ring_address = 0; // device addresses
  std::uint64_t ring_bytes = 0;
  std::uint64_t read_pointer = 0;
  std::uint64_t write_pointer = 0;
  std::uint64_t* doorbell = nullptr; // host address, 64 bits
  std::int32_t priority = 0;
  std::uint64_t cu_mask[8] = {};                  // all zero: every compute unit
  std::function<void(const CoreFault&)> on_fault; // at most once
};

class DeviceCore {
public:
  virtual ~DeviceCore() = default;

  virtual Result<void> map(const sim::Region& region) = 0;
  virtual Result<void> unmap(std::uint64_t address) = 0;
  // Changes what is mapped at `address`, and makes two of what reaches over `address`, without unmapping it.
  virtual Result<void> change(std::uint64_t address, std::uint8_t permissions, sim::MemoryKind kind) = 0;
  virtual void split(std::uint64_t address) = 0;
  [[nodiscard]] virtual std::byte* translate(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const = 0;

  // Overwrites the doorbell. What was rung for before is taken from the write pointer.
  virtual Result<std::uint64_t> register_queue(const CoreQueue& queue) = 0;
  // Off the device with its waves where they are, and back.
  virtual Result<void> hold_queue(std::uint64_t id) = 0;
  virtual Result<void> resume_queue(std::uint64_t id) = 0;
  virtual Result<void> set_cu_mask(std::uint64_t id, const std::uint64_t (&mask)[8]) = 0;
  virtual Result<void> set_priority(std::uint64_t id, std::int32_t priority) = 0;
  // Returns when the device has left the ring.
  virtual Result<void> destroy_queue(std::uint64_t id) = 0;

  // Called with the number of an event that the device has stored to its mailbox, or sent with an interrupt; with
  // sim::kAnyEvent when a wave interrupts, which has stored to mailboxes itself.
  virtual void set_event_hook(std::function<void(std::uint32_t)> hook) = 0;
  [[nodiscard]] virtual std::uint64_t timestamp() const = 0;
  [[nodiscard]] virtual std::uint64_t shared_aperture() const = 0;
  [[nodiscard]] virtual std::uint64_t private_aperture() const = 0;
};

// The software GPU. Options come from the same environment as the `sim` driver's (AQL_SIM_WORKERS, AQL_SIM_SEED, ...).
[[nodiscard]] Result<std::unique_ptr<DeviceCore>> make_software_core(const sim::DeviceProfile& profile);

} // namespace aql::vkfd
