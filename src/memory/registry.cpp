#include "memory/registry.hpp"

#include <fmt/format.h>

namespace aql::detail {
namespace {

constexpr std::size_t kRememberFreed = 256;
constexpr std::uint64_t kNear = 1u << 20; // how far past an allocation an address is still described by it

std::string name_of(std::string_view label, PoolKind kind, std::size_t size, std::uint64_t base) {
  return label.empty() ? fmt::format("{} buffer of {} bytes at {:#x}", to_string(kind), size, base)
                       : fmt::format("buffer '{}' ({}, {} bytes at {:#x})", label, to_string(kind), size, base);
}

} // namespace

void MemoryRegistry::add(MemoryRecord record) {
  const std::lock_guard lock{mutex_};
  const auto base = record.allocation.device_address;
  const auto size = record.allocation.size_bytes;
  // A reused address is live again: it must no longer be reported as freed.
  std::erase_if(freed_, [&](const Freed& f) { return f.address < base + size && base < f.address + f.size_bytes; });
  live_.insert_or_assign(base, std::move(record));
}

Result<MemoryRecord> MemoryRegistry::remove(std::uint64_t address) {
  const std::lock_guard lock{mutex_};
  const auto found = live_.find(address);
  if (found == live_.end()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("cannot free {:#x}: it {}", address, describe(address)), "free"});
  }
  MemoryRecord record = std::move(found->second);
  live_.erase(found);
  freed_.push_front({address, record.allocation.size_bytes, record.label, record.allocation.kind});
  if (freed_.size() > kRememberFreed) freed_.pop_back();
  return record;
}

Result<PointerInfo> MemoryRegistry::query(std::uint64_t address) const {
  const std::lock_guard lock{mutex_};
  if (const auto* record = holding(address)) {
    const auto& a = record->allocation;
    return PointerInfo{a.device_address, a.size_bytes, static_cast<std::size_t>(address - a.device_address), a.kind, record->pinned, record->label};
  }
  return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{:#x} {}", address, describe(address)), "pointer_info"});
}

MemoryRegistry::RangeInfo MemoryRegistry::classify(std::uint64_t address, std::size_t size_bytes) const {
  const std::lock_guard lock{mutex_};
  if (const auto* record = holding(address)) {
    const auto& a = record->allocation;
    const auto offset = static_cast<std::size_t>(address - a.device_address);
    if (size_bytes > a.size_bytes - offset) {
      return {Range::straddles, nullptr,
              fmt::format("{} bytes from offset {} leave the {}", size_bytes, offset, name_of(record->label, a.kind, a.size_bytes, a.device_address))};
    }
    return {Range::inside, a.host == nullptr ? nullptr : a.host + offset, {}};
  }
  if (const auto* gone = freed_holding(address)) {
    return {Range::freed, nullptr,
            fmt::format("{:#x} is inside the {}, which was freed", address, name_of(gone->label, gone->kind, gone->size_bytes, gone->address))};
  }
  return {};
}

std::size_t MemoryRegistry::count() const {
  const std::lock_guard lock{mutex_};
  return live_.size();
}

const MemoryRecord* MemoryRegistry::holding(std::uint64_t address) const {
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return nullptr;
  --next;
  return address - next->first < next->second.allocation.size_bytes ? &next->second : nullptr;
}

const MemoryRegistry::Freed* MemoryRegistry::freed_holding(std::uint64_t address) const {
  for (const auto& gone : freed_) {
    if (address - gone.address < gone.size_bytes) return &gone;
  }
  return nullptr;
}

std::string MemoryRegistry::describe(std::uint64_t address) const {
  if (address == 0) return "is null";
  if (const auto* record = holding(address)) {
    const auto& a = record->allocation;
    return fmt::format("points {} bytes into the {}, not at its start", address - a.device_address,
                       name_of(record->label, a.kind, a.size_bytes, a.device_address));
  }
  if (const auto* gone = freed_holding(address)) {
    const auto name = name_of(gone->label, gone->kind, gone->size_bytes, gone->address);
    return gone->address == address ? fmt::format("was freed before ({})", name) : fmt::format("is inside the {}, which was freed", name);
  }
  auto next = live_.upper_bound(address);
  if (next != live_.begin()) {
    --next;
    const auto& a = next->second.allocation;
    const auto past = address - (a.device_address + a.size_bytes);
    if (past < kNear) {
      return fmt::format("is no allocation of this device; it lies {} bytes past the {}", past,
                         name_of(next->second.label, a.kind, a.size_bytes, a.device_address));
    }
  }
  return "is no allocation of this device";
}

} // namespace aql::detail
