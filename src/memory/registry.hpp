#pragma once
// Every allocation and pinned range of one device, by address: bounds for copies, pointer queries, and the memory of what was
// freed, so that a mistake is named instead of performed.
// Thread safety: all members lock.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include <aql/device.hpp>
#include <aql/error.hpp>

#include "driver/driver.hpp"

namespace aql::detail {

struct MemoryRecord {
  Allocation allocation;
  std::string label;
  bool pinned = false;
};

class MemoryRegistry {
public:
  void add(MemoryRecord record);
  // Takes the record that starts at `address` out, and remembers it as freed. Errors name what the address really is.
  Result<MemoryRecord> remove(std::uint64_t address);
  [[nodiscard]] Result<PointerInfo> query(std::uint64_t address) const;

  // How [address, address + size) relates to this device's memory.
  enum class Range : std::uint8_t { inside, outside, straddles, freed };
  struct RangeInfo {
    Range range = Range::outside;
    std::byte* host = nullptr; // inside: host address of the first byte, null if the host cannot reach it
    std::string text;          // straddles, freed: what is wrong
  };
  [[nodiscard]] RangeInfo classify(std::uint64_t address, std::size_t size_bytes) const;
  [[nodiscard]] std::size_t count() const;

private:
  struct Freed {
    std::uint64_t address;
    std::size_t size_bytes;
    std::string label;
    PoolKind kind;
  };
  // All three: locked by the caller.
  [[nodiscard]] const MemoryRecord* holding(std::uint64_t address) const;
  [[nodiscard]] const Freed* freed_holding(std::uint64_t address) const;
  [[nodiscard]] std::string describe(std::uint64_t address) const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, MemoryRecord> live_;
  std::deque<Freed> freed_; // newest first, bounded
};

} // namespace aql::detail
