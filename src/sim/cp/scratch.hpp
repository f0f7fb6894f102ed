#pragma once
// Scratch (private segment) memory. A wave uses one slot of a fixed size; which slot is free is bookkeeping of this file, so that
// memory is bounded by the waves that are resident at once, not by the grid. All products are 64 bits wide.
// Thread safety: all members may be called from any thread.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <aql/error.hpp>

#include "sim/mem/address_map.hpp"

namespace aql::sim {

// Slots are handed out lowest first and most recently used first: memory that was never needed is never touched.
class WaveSlots {
public:
  void reset(std::uint32_t capacity);
  [[nodiscard]] bool take(std::span<std::uint32_t> out);
  void give(std::span<const std::uint32_t> slots);
  [[nodiscard]] std::uint32_t high_water() const;

private:
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0, capacity_ = 0;
};

struct ScratchArena {
  std::uint64_t address = 0; // device
  std::byte* host = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t wave_bytes = 0;
  std::uint32_t waves = 0;
  WaveSlots slots;
};

// Bytes a wave needs: rounded up to the unit of COMPUTE_TMPRING_SIZE.
[[nodiscard]] constexpr std::uint64_t scratch_wave_bytes(std::uint64_t lane_bytes) noexcept {
  return (lane_bytes * 64 + 1023) / 1024 * 1024;
}

// Arenas are reused between dispatches; one that is too small is replaced.
class ScratchPool {
public:
  explicit ScratchPool(AddressMap& map) noexcept : map_(map) {}
  ~ScratchPool();
  // An arena for `waves` slots of `wave_bytes`; fewer slots (but at least `least_waves`) if the host refuses that much address
  // space.
  [[nodiscard]] Result<ScratchArena*> acquire(std::uint64_t wave_bytes, std::uint32_t waves, std::uint32_t least_waves);
  void release(ScratchArena* arena);

private:
  void drop(std::unique_ptr<ScratchArena> arena);
  AddressMap& map_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ScratchArena>> idle_;
};

} // namespace aql::sim
