#pragma once
// Devices: which there are, why others were refused, and one opened.
// Thread safety: Device is a cheap shared handle; all members may be called from any thread.
// Lifetime: everything made from a device keeps it alive; the last one to go closes it. After fork, a child's calls are
// refused with Errc::forked.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <aql/device_info.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/types.hpp>

namespace aql {

namespace detail {
class Driver;
class MemoryRegistry;
struct DeviceState;
} // namespace detail

class Buffer;

// A driver or device that cannot be used here, and why.
struct Refusal {
  std::string selector; // "kfd", "rocr:0"
  std::string reason;
};

struct DeviceList {
  std::vector<DeviceInfo> found;  // in the order in which open("") would prefer them
  std::vector<Refusal> refused;
};

// Looks at all drivers. Hardware drivers are looked at only if /dev/kfd opens; the software GPU is always there.
[[nodiscard]] AQL_API DeviceList devices();

// Software-GPU settings that a program may choose; each has an environment variable that overrides it (docs/environment.md).
struct SimOptions {
  unsigned workers = 1;                    // AQL_SIM_WORKERS: threads that run waves; 0 = all cores
  std::uint64_t seed = 0;                  // AQL_SIM_SEED
  std::uint64_t watchdog_instructions = 0; // AQL_SIM_WATCHDOG_INSTRUCTIONS: per dispatch; 0 = off
  std::uint64_t watchdog_ms = 0;           // AQL_SIM_WATCHDOG_MS: wall time of one dispatch; 0 = off
  bool fast_matrix = false;                // AQL_SIM_MATRIX=fast: plain f32 FMA instead of silicon's arithmetic
  bool poison = false;                     // AQL_SIM_POISON=1: registers and LDS start with a pattern
};

// Which device to open.
struct Select {
  std::string selector{}; // "sim:gfx942", "sim:MI210", "rocr:0", "kfd:0"; empty: AQL_DEVICE, else the first that fits
  std::string target{};   // when the selector is empty: a device whose ISA runs this target ("gfx942"), else sim of that target
  SimOptions sim{};       // used when this call creates the software GPU; later opens of the same selector share it
  bool exclusive = false; // sim only: a device of its own, not shared with other opens
};

enum class PinAccess : std::uint8_t { read_write, read_only };

// What an address belongs to.
struct PointerInfo {
  std::uint64_t base = 0;   // device address of the allocation
  std::size_t size_bytes = 0;
  std::size_t offset = 0;   // of the asked address inside it
  PoolKind kind = PoolKind::device_coarse;
  bool pinned = false;      // host memory that was pinned, not allocated
  std::string label;
};

class AQL_API Device {
public:
  // Errors: invalid_argument (unknown selector: the message lists what there is), unsupported, device_lost.
  [[nodiscard]] static Result<Device> open(std::string_view selector = {});
  [[nodiscard]] static Result<Device> open(const Select& select);

  [[nodiscard]] const DeviceInfo& info() const noexcept;

  // Allocates `size_bytes` (> 0) from a pool; at least 256-byte aligned. `label` appears in fault reports.
  // Errors: invalid_argument (0 bytes), out_of_resources.
  [[nodiscard]] Result<Buffer> allocate(PoolKind kind, std::size_t size_bytes, std::string_view label = {}) const;
  // Makes a range of host memory visible to this device until the Buffer goes; read_only: stores and atomics to it fault.
  // Errors: invalid_argument (null, empty, overlaps a pinned range).
  [[nodiscard]] Result<Buffer> pin(void* host, std::size_t size_bytes, std::string_view label = {}, PinAccess access = PinAccess::read_write) const;

  // Copies between any two of: host memory, buffers of this device. Complete on return. Ranges may not overlap. Errors:
  // invalid_argument naming the range that leaves its allocation, was freed, or is no host memory.
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) const;
  Result<void> copy_to_device(std::uint64_t dst, const void* src, std::size_t size_bytes) const;
  Result<void> copy_to_host(void* dst, std::uint64_t src, std::size_t size_bytes) const;
  // Stores `count` times the 32-bit pattern. dst must be 4-byte aligned.
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) const;

  // Which allocation an address belongs to. Errors: invalid_argument saying what is nearest, or that it was freed.
  [[nodiscard]] Result<PointerInfo> pointer_info(std::uint64_t address) const;

  // Device clock in ticks of info().timestamp_hz, and a tick value as nanoseconds of the host's monotonic clock.
  [[nodiscard]] std::uint64_t timestamp() const noexcept;
  [[nodiscard]] std::int64_t to_host_ns(std::uint64_t ticks) const noexcept;

  // For the library's own parts.
  [[nodiscard]] const std::shared_ptr<detail::DeviceState>& state() const noexcept { return state_; }
  [[nodiscard]] std::shared_ptr<detail::Driver> driver() const noexcept;

private:
  explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<detail::DeviceState> state_;
};

} // namespace aql
