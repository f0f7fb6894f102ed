#pragma once
// The device's view of memory: which addresses are mapped, to which host bytes, with which permissions.
// Thread safety: map/unmap may be called from any thread while workers access memory; unmap returns only when no worker
// can still touch the region (workers announce slices through AccessEpoch).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <aql/error.hpp>

namespace aql::sim {

enum Permission : std::uint8_t { kRead = 1, kWrite = 2, kExecute = 4 };

enum class MemoryKind : std::uint8_t { device_coarse, device_fine, host_coarse, host_fine, kernarg, executable, queue, scratch, other };
const char* to_string(MemoryKind kind) noexcept;

struct Region {
  std::uint64_t address = 0;   // device virtual address
  std::uint64_t size = 0;      // bytes; every byte of [address, address + size) is accessible
  std::byte* host = nullptr;   // host address of the first byte (== address on the sim driver; may differ under the virtual KFD)
  std::uint8_t permissions = kRead | kWrite;
  MemoryKind kind = MemoryKind::other;
  std::uint64_t id = 0;        // unique, assigned by map()
  std::string label;           // for reports; may be empty
};

class AddressMap {
public:
  AddressMap();
  ~AddressMap();
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // Adds a region. Errors: empty, wraps around, overlaps an existing one.
  Result<std::uint64_t> map(Region region);
  // Removes the region that starts at `address`; waits until no worker can still touch it. Remembered for reports.
  Result<Region> unmap(std::uint64_t address);
  // Changes permissions of the region that starts at `address`.
  Result<void> protect(std::uint64_t address, std::uint8_t permissions);

  // The region that holds `address`, copied.
  [[nodiscard]] std::optional<Region> find(std::uint64_t address) const;
  // "4 bytes past buffer 'x' of 1024 bytes at 0x..., device coarse", "inside a freed buffer ...", "null page", "no allocation near".
  [[nodiscard]] std::string describe(std::uint64_t address) const;
  // Host pointer for [address, address + size) if all of it is mapped with `permissions`, else null.
  [[nodiscard]] std::byte* translate(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const;
  // Raised by every map/unmap/protect; translation caches compare it.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  // A worker holds a Slice while it runs instructions; unmap waits for all slices older than itself. Slices must be short
  // (bounded instructions) and must not block on the host.
  class Slice;
  struct Impl;
  Impl& impl() noexcept { return *impl_; }

private:
  friend class Slice;
  std::atomic<std::uint64_t> generation_{1};
  std::unique_ptr<Impl> impl_;
};

} // namespace aql::sim
