#pragma once
// How the packet processor reaches memory by device address: through the address map, with a small cache in front.
// Thread safety: one HostView per thread. A pointer it gave is good while the thread's AddressMap::Slice lasts.

#include <cstddef>
#include <cstdint>

#include "sim/mem/address_map.hpp"

namespace aql::sim {

class HostView {
public:
  explicit HostView(AddressMap& map) noexcept : map_(map) {}

  // Host address of [address, address + size), or null if not all of it is mapped with `permissions`.
  [[nodiscard]] std::byte* get(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) {
    const std::uint64_t generation = map_.generation();
    if (generation != generation_) [[unlikely]] {
      for (auto& entry : entries_) entry = {};
      generation_ = generation;
    }
    auto& entry = entries_[(address >> 16) % kEntries];
    if (address < entry.begin || address >= entry.end) [[unlikely]]
      entry = map_.extent(address);
    if (address < entry.begin || address >= entry.end || size > entry.end - address) return nullptr;
    if ((entry.permissions & permissions) != permissions) return nullptr;
    return entry.host + (address - entry.begin);
  }
  template <class T>
  [[nodiscard]] T* as(std::uint64_t address, std::uint8_t permissions) {
    if (address % alignof(T) != 0) return nullptr;
    return reinterpret_cast<T*>(get(address, sizeof(T), permissions));
  }
  [[nodiscard]] AddressMap& map() noexcept { return map_; }

private:
  static constexpr unsigned kEntries = 16;
  AddressMap& map_;
  std::uint64_t generation_ = 0;
  AddressMap::Extent entries_[kEntries];
};

} // namespace aql::sim
