#include "sim/mem/port.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/tier.hpp"
#include "sim/mem/lane_ops.hpp"

namespace aql::sim {

namespace {

constexpr std::uint8_t needed(FaultAccess access) noexcept {
  switch (access) {
  case FaultAccess::read: return kRead;
  case FaultAccess::write: return kWrite;
  case FaultAccess::atomic: return kRead | kWrite;
  case FaultAccess::fetch: return kExecute;
  case FaultAccess::none: break;
  }
  return 0;
}

// Copies with accesses of 4 bytes where both sides are so aligned; volatile keeps the compiler from making a call of it, which
// ThreadSanitizer would see.
AQL_GUEST_ACCESS void guest_copy(void* to, const void* from, std::uint32_t size_bytes) {
  typedef volatile std::uint32_t Word __attribute__((may_alias));
  auto* out = static_cast<volatile unsigned char*>(to);
  const auto* in = static_cast<const volatile unsigned char*>(from);
  std::uint32_t i = 0;
  if (((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) & 3u) == 0) {
    for (; i + 4 <= size_bytes; i += 4) {
      *reinterpret_cast<Word*>(out + i) = *reinterpret_cast<const Word*>(in + i);
    }
  }
  for (; i < size_bytes; ++i) out[i] = in[i];
}

} // namespace

const LaneOps& lane_ops() noexcept {
  static const LaneOps& ops = host_tier() == 2 ? tier2::kLaneOps : host_tier() == 1 ? tier1::kLaneOps : tier0::kLaneOps;
  return ops;
}

MemoryPort::MemoryPort(AddressMap& map) : map_(map) {}

const AddressMap::Extent* MemoryPort::lookup(std::uint64_t address) {
  if (const auto generation = map_.generation(); generation != generation_) {
    for (auto& entry : entries_) entry = {};
    generation_ = generation;
  }
  if (const auto& entry = entries_[recent_]; address >= entry.begin && address < entry.end) return &entry;
  for (unsigned i = 0; i < kEntries; ++i) {
    if (const auto& entry = entries_[i]; address >= entry.begin && address < entry.end) {
      recent_ = i;
      return &entry;
    }
  }
  // The map may have changed since the generation was read; then what we store is newer than generation_ says, and the next
  // access starts afresh.
  const auto extent = map_.extent(address);
  if (extent.begin > extent.end) return nullptr;
  recent_ = next_;
  next_ = (next_ + 1) % kEntries;
  entries_[recent_] = extent;
  return &entries_[recent_];
}

std::byte* MemoryPort::translate(std::uint64_t address, std::uint64_t size_bytes, std::uint8_t permissions) {
  const auto* extent = lookup(address);
  if (extent == nullptr || size_bytes > extent->end - address || (extent->permissions & permissions) != permissions) return nullptr;
  return extent->host + (address - extent->begin);
}

bool MemoryPort::refuse(std::uint64_t address, std::uint32_t size_bytes, FaultAccess access, std::uint32_t lane, Fault& fault) {
  fault.code = Errc::memory_fault;
  switch (access) {
  case FaultAccess::read: fault.reason = "read from an address that may not be read"; break;
  case FaultAccess::write: fault.reason = "write to an address that may not be written"; break;
  case FaultAccess::atomic: fault.reason = "atomic on an address that may not be read and written"; break;
  case FaultAccess::fetch: fault.reason = "instruction fetch from an address that may not be executed"; break;
  case FaultAccess::none: fault.reason = "bad address"; break;
  }
  fault.access = access;
  fault.address = address;
  fault.size_bytes = size_bytes;
  fault.lane = lane;
  fault.nearest = map_.describe_access(address, size_bytes, needed(access));
  return false;
}

bool MemoryPort::read(std::uint64_t address, void* out, std::uint32_t size_bytes, Fault& fault) {
  const std::byte* host = translate(address, size_bytes, kRead);
  if (host == nullptr) return refuse(address, size_bytes, FaultAccess::read, 0, fault);
  guest_copy(out, host, size_bytes);
  return true;
}

bool MemoryPort::write(std::uint64_t address, const void* in, std::uint32_t size_bytes, Fault& fault) {
  std::byte* host = translate(address, size_bytes, kWrite);
  if (host == nullptr) return refuse(address, size_bytes, FaultAccess::write, 0, fault);
  guest_copy(host, in, size_bytes);
  return true;
}

bool MemoryPort::fetch(std::uint64_t address, void* out, std::uint32_t size_bytes, Fault& fault) {
  const std::byte* host = translate(address, size_bytes, kExecute);
  if (host == nullptr) return refuse(address, size_bytes, FaultAccess::fetch, 0, fault);
  guest_copy(out, host, size_bytes);
  return true;
}

bool MemoryPort::resolve(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, std::uint64_t* spill, Lanes& lanes, Fault& fault) {
  const auto permissions = needed(access);
  const auto first = static_cast<unsigned>(std::countr_zero(exec));
  if (const auto* extent = lookup(address[first]);
      extent != nullptr && (extent->permissions & permissions) == permissions && extent->end - extent->begin >= size_bytes &&
      lane_ops().inside(address, exec, extent->begin, extent->end - extent->begin - size_bytes)) {
    lanes = {address, reinterpret_cast<std::uint64_t>(extent->host) - extent->begin};
    return true;
  }
  for (auto rest = exec; rest != 0; rest &= rest - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(rest));
    const std::byte* host = translate(address[l], size_bytes, permissions);
    if (host == nullptr) return refuse(address[l], size_bytes, access, l, fault);
    spill[l] = reinterpret_cast<std::uint64_t>(host);
  }
  lanes = {spill, 0};
  return true;
}

bool MemoryPort::resolve32(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, std::uint64_t& host) {
  const auto permissions = needed(access);
  const auto* extent = lookup(base + offset[std::countr_zero(exec)]);
  if (extent == nullptr || (extent->permissions & permissions) != permissions || extent->end - extent->begin < size_bytes) return false;
  // base + offset in [begin, end - size], as a range of 32-bit offsets. Where base + 2^32 would wrap the slow way is taken.
  const std::uint64_t last = extent->end - size_bytes;
  if (base > last || base + 0xffffffffu < base) return false;
  const std::uint64_t low = extent->begin > base ? extent->begin - base : 0, high = std::min<std::uint64_t>(last - base, 0xffffffffu);
  if (low > high || !lane_ops().inside32(offset, 0, exec, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high - low))) return false;
  host = reinterpret_cast<std::uint64_t>(extent->host) - extent->begin + base;
  return true;
}

bool MemoryPort::check(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  return resolve(address, exec, size_bytes, access, spill, lanes, fault);
}

bool MemoryPort::check(std::uint64_t address, std::uint64_t size_bytes, FaultAccess access, Fault& fault) {
  if (translate(address, size_bytes, needed(access)) != nullptr) return true;
  return refuse(address, static_cast<std::uint32_t>(size_bytes), access, 0, fault);
}

bool MemoryPort::load_dwords(const std::uint64_t* address, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*out)[64], CachePolicy, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, dwords * 4, FaultAccess::read, spill, lanes, fault)) return false;
  lane_ops().load(lanes.address, lanes.delta, exec, dwords, out);
  return true;
}

bool MemoryPort::store_dwords(const std::uint64_t* address, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*in)[64], CachePolicy, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, dwords * 4, FaultAccess::write, spill, lanes, fault)) return false;
  lane_ops().store(lanes.address, lanes.delta, exec, dwords, in);
  return true;
}

bool MemoryPort::load_dwords(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*out)[64], CachePolicy policy, Fault& fault) {
  if (exec == 0) return true;
  if (std::uint64_t host = 0; resolve32(base, offset, exec, dwords * 4, FaultAccess::read, host)) {
    lane_ops().load32(offset, 0, host, exec, dwords, out);
    return true;
  }
  std::uint64_t address[64];
  lane_ops().widen(base, offset, address);
  return load_dwords(address, exec, dwords, out, policy, fault);
}

bool MemoryPort::store_dwords(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*in)[64], CachePolicy policy, Fault& fault) {
  if (exec == 0) return true;
  if (std::uint64_t host = 0; resolve32(base, offset, exec, dwords * 4, FaultAccess::write, host)) {
    lane_ops().store32(offset, 0, host, exec, dwords, in);
    return true;
  }
  std::uint64_t address[64];
  lane_ops().widen(base, offset, address);
  return store_dwords(address, exec, dwords, in, policy, fault);
}

bool MemoryPort::load_small(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, std::uint32_t* out, CachePolicy, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, size_bytes, FaultAccess::read, spill, lanes, fault)) return false;
  lane_ops().load_small(lanes.address, lanes.delta, exec, size_bytes, out);
  return true;
}

bool MemoryPort::store_small(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, const std::uint32_t* in, CachePolicy, Fault& fault) {
  if (exec == 0) return true;
  std::uint64_t spill[64];
  Lanes lanes;
  if (!resolve(address, exec, size_bytes, FaultAccess::write, spill, lanes, fault)) return false;
  lane_ops().store_small(lanes.address, lanes.delta, exec, size_bytes, in);
  return true;
}

} // namespace aql::sim
