#pragma once
// The device's view of memory: which addresses are mapped, to which host bytes, with which permissions. Regions are exact to
// the byte: one byte past an allocation is not mapped. The parts of a region that was split are one to accesses that cross
// from one into the next, as long as their permissions and kinds are the same.
// Thread safety: everything may be called from any thread. unmap() and change() return only when no worker can still use the
// old translation: workers announce what they do with a Slice.
// Memory ordering: label M, slot.epoch -> generation (worker) against generation -> slot.epoch (unmap), all seq_cst: either
// the worker sees the new generation and drops its translations, or unmap sees the worker's slice and waits for its end.

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  std::uint64_t id = 0;        // assigned by map(); the parts of a region that was split have it in common
  std::string label{};         // for reports; may be empty
};

class AddressMap {
public:
  AddressMap();
  ~AddressMap();
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  // Adds a region and returns its id. Errors: empty, no host memory, wraps around, in the null page, overlaps an existing one.
  Result<std::uint64_t> map(Region region);
  // Removes the region that starts at `address`; waits until no worker can still touch it. Remembered for reports.
  // May be called by a thread that holds a Slice itself, as long as no access of it is under way.
  Result<Region> unmap(std::uint64_t address);
  // Changes the region that starts at `address`, which stays mapped; waits like unmap().
  Result<void> change(std::uint64_t address, std::uint8_t permissions, MemoryKind kind);
  // Makes two of the region that reaches over `address`, so that the parts can be changed and unmapped on their own; both stay
  // mapped. Does nothing where no region reaches over it.
  void split(std::uint64_t address);

  // The region that holds `address`, copied.
  [[nodiscard]] std::optional<Region> find(std::uint64_t address) const;
  // "4 bytes past buffer 'x' of 1024 bytes at 0x..., device coarse", "inside a freed buffer ...", "null page", "no allocation near".
  [[nodiscard]] std::string describe(std::uint64_t address) const;
  // The same for an access of `size` bytes that needs `permissions`: also says what it lacks ("... read-only", "crosses the end of ...").
  [[nodiscard]] std::string describe_access(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const;
  // Host pointer for [address, address + size) if all of it is mapped with `permissions`, else null. The pointer is good until
  // the region is unmapped; threads that run while others unmap hold a Slice from before this call to their last use.
  [[nodiscard]] std::byte* translate(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const;

  // What a translation cache keeps: begin > end when nothing is mapped at the address asked for.
  struct Extent {
    std::uint64_t begin = 1, end = 0;
    std::byte* host = nullptr;
    std::uint8_t permissions = 0;
    MemoryKind kind = MemoryKind::other;
  };
  [[nodiscard]] Extent extent(std::uint64_t address) const;
  // Raised by every map/unmap/protect; translation caches compare it.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  // A worker holds a Slice while it runs instructions; unmap waits for every slice that began before it. Slices must be short
  // (bounded instructions) and must not block on the host. They nest.
  class Slice;
  struct Impl;

private:
  friend class Slice;
  std::atomic<std::uint64_t> generation_{1};
  std::unique_ptr<Impl> impl_;
};

class AddressMap::Slice {
public:
  explicit Slice(AddressMap& map);
  ~Slice();
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  struct Slot;

private:
  Slot* slot_;
};

} // namespace aql::sim
