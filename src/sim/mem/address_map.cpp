#include "sim/mem/address_map.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace aql::sim {

namespace {

constexpr std::uint64_t kNullPage = 4096;
constexpr std::uint64_t kNear = 1u << 20; // farther away than this no allocation is "near"
constexpr std::size_t kRememberedFrees = 1024;

constexpr bool canonical(std::uint64_t address) noexcept {
  const auto top = static_cast<std::int64_t>(address) >> 47;
  return top == 0 || top == -1;
}

std::string name_of(const Region& region, const char* what = "buffer") {
  if (region.label.empty()) return fmt::format("{} of {} bytes at {:#x}, {}", what, region.size, region.address, to_string(region.kind));
  return fmt::format("{} '{}' of {} bytes at {:#x}, {}", what, region.label, region.size, region.address, to_string(region.kind));
}

} // namespace

const char* to_string(MemoryKind kind) noexcept {
  switch (kind) {
  case MemoryKind::device_coarse: return "device coarse";
  case MemoryKind::device_fine: return "device fine";
  case MemoryKind::host_coarse: return "host coarse";
  case MemoryKind::host_fine: return "host fine";
  case MemoryKind::kernarg: return "kernarg";
  case MemoryKind::executable: return "executable";
  case MemoryKind::queue: return "queue";
  case MemoryKind::scratch: return "scratch";
  case MemoryKind::other: return "other";
  }
  return "other";
}

// One for each pair of thread and map. Owned by the map's list and by the thread, so that either may go first.
struct alignas(64) AddressMap::Slice::Slot {
  std::atomic<std::uint64_t> epoch{0}; // generation at the beginning of the slice; 0: no slice
  std::atomic<bool> taken{true};       // false: its thread has ended, another may have it
  unsigned depth = 0;                  // touched by its thread only
};

struct AddressMap::Impl {
  using Slot = AddressMap::Slice::Slot;

  static std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> serial{0};
    return serial.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const std::uint64_t serial = next_serial(); // tells maps apart that lived at the same address
  mutable std::shared_mutex mutex;            // regions, freed, next_id
  std::map<std::uint64_t, Region> regions;    // by first address
  std::deque<Region> freed;                   // newest last
  std::uint64_t next_id = 1;
  std::mutex slots_mutex;
  std::vector<std::shared_ptr<Slot>> slots;

  // The region that holds `address`, or the end. Needs the mutex.
  std::map<std::uint64_t, Region>::iterator holding(std::uint64_t address) {
    const auto above = regions.upper_bound(address);
    if (above == regions.begin()) return regions.end();
    const auto it = std::prev(above);
    return address - it->first < it->second.size ? it : regions.end();
  }

  Slot& slot_of_this_thread();
  void wait_for_slices(std::uint64_t older_than);
  std::string describe(std::uint64_t address);
};

namespace {

thread_local bool t_slots_ended = false; // trivial: outlives the slots

struct ThreadSlots {
  struct Entry {
    std::uint64_t serial;
    std::shared_ptr<AddressMap::Slice::Slot> slot;
  };
  std::vector<Entry> entries;
  ~ThreadSlots() {
    t_slots_ended = true;
    for (auto& entry : entries) entry.slot->taken.store(false, std::memory_order_release);
  }
};

ThreadSlots& thread_slots() {
  // Objects with static storage go after the main thread's thread-local ones, and may still free device memory.
  static thread_local ThreadSlots* late = nullptr;
  if (t_slots_ended) {
    if (late == nullptr) {
      // Nobody would free it: a thread that has come this far tells nobody of its end.
      static std::mutex mutex;
      static auto& kept = *new std::deque<ThreadSlots>;
      const std::lock_guard lock{mutex};
      late = &kept.emplace_back();
    }
    return *late;
  }
  static thread_local ThreadSlots slots;
  return slots;
}

} // namespace

AddressMap::Slice::Slot& AddressMap::Impl::slot_of_this_thread() {
  auto& mine = thread_slots().entries;
  for (auto& entry : mine) {
    if (entry.serial == serial) return *entry.slot;
  }
  std::erase_if(mine, [](const ThreadSlots::Entry& entry) { return entry.slot.use_count() == 1; }); // their maps are gone
  std::lock_guard lock(slots_mutex);
  for (auto& slot : slots) {
    bool free = false;
    if (slot->taken.compare_exchange_strong(free, true, std::memory_order_acquire)) {
      mine.push_back({serial, slot});
      return *slot;
    }
  }
  slots.push_back(std::make_shared<Slot>());
  mine.push_back({serial, slots.back()});
  return *slots.back();
}

// Our own slice, if any, does not count: this thread is here and not in an access. While it waits it must not hold up others
// that wait for it, so its slice is ended and begun again.
void AddressMap::Impl::wait_for_slices(std::uint64_t older_than) {
  Slot& own = slot_of_this_thread();
  if (own.depth != 0) own.epoch.store(0, std::memory_order_seq_cst);
  std::vector<std::shared_ptr<Slot>> all;
  {
    std::lock_guard lock(slots_mutex);
    all = slots;
  }
  for (const auto& slot : all) {
    for (unsigned spins = 0;; ++spins) {
      const auto epoch = slot->epoch.load(std::memory_order_seq_cst);
      if (epoch == 0 || epoch >= older_than) break;
      if (spins < 256) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
  if (own.depth != 0) own.epoch.store(older_than, std::memory_order_seq_cst);
}

AddressMap::Slice::Slice(AddressMap& map) : slot_(&map.impl_->slot_of_this_thread()) {
  if (slot_->depth++ == 0) {
    slot_->epoch.store(map.generation_.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
    // The partner of unmap's "raise the generation, then look at the slots": accesses of this slice read the generation after
    // this point, and thus see an unmap that did not see the slice.
    (void)map.generation_.load(std::memory_order_seq_cst);
  }
}

AddressMap::Slice::~Slice() {
  if (--slot_->depth == 0) slot_->epoch.store(0, std::memory_order_release);
}

AddressMap::AddressMap() : impl_(std::make_unique<Impl>()) {}
AddressMap::~AddressMap() = default;

Result<std::uint64_t> AddressMap::map(Region region) {
  const auto refuse = [](std::string detail) {
    return std::unexpected(Error{.code = Errc::invalid_argument, .detail = std::move(detail), .where = "AddressMap::map"});
  };
  const std::uint64_t begin = region.address;
  if (region.size == 0) return refuse(fmt::format("region at {:#x} is empty; give it at least one byte", begin));
  if (region.host == nullptr) return refuse(fmt::format("region at {:#x} has no host memory", begin));
  if (region.size > std::numeric_limits<std::uint64_t>::max() - begin) {
    return refuse(fmt::format("{} wraps around the end of the address space", name_of(region, "region")));
  }
  if (begin < kNullPage) return refuse(fmt::format("{} would lie in the null page, which is never mapped", name_of(region, "region")));
  std::unique_lock lock(impl_->mutex);
  const auto none = impl_->regions.end(), next = impl_->regions.lower_bound(begin);
  auto other = impl_->holding(begin);
  if (other == none && next != none && next->first - begin < region.size) other = next;
  if (other != none) {
    return refuse(fmt::format("{} overlaps {}; unmap that one first", name_of(region, "region"), name_of(other->second)));
  }
  region.id = impl_->next_id++;
  const auto id = region.id;
  impl_->regions.emplace_hint(next, begin, std::move(region));
  generation_.fetch_add(1, std::memory_order_seq_cst);
  return id;
}

Result<Region> AddressMap::unmap(std::uint64_t address) {
  Region region;
  std::uint64_t now = 0;
  {
    std::unique_lock lock(impl_->mutex);
    const auto it = impl_->regions.find(address);
    if (it == impl_->regions.end()) {
      return std::unexpected(Error{.code = Errc::invalid_argument,
                                   .detail = fmt::format("no region starts at {:#x}: {}", address, impl_->describe(address)),
                                   .where = "AddressMap::unmap"});
    }
    region = std::move(it->second);
    impl_->regions.erase(it);
    impl_->freed.push_back(region);
    if (impl_->freed.size() > kRememberedFrees) impl_->freed.pop_front();
    now = generation_.fetch_add(1, std::memory_order_seq_cst) + 1;
  }
  impl_->wait_for_slices(now);
  return region;
}

Result<void> AddressMap::change(std::uint64_t address, std::uint8_t permissions, MemoryKind kind) {
  std::uint64_t now = 0;
  {
    std::unique_lock lock(impl_->mutex);
    const auto it = impl_->regions.find(address);
    if (it == impl_->regions.end()) {
      return std::unexpected(Error{.code = Errc::invalid_argument,
                                   .detail = fmt::format("no region starts at {:#x}: {}", address, impl_->describe(address)),
                                   .where = "AddressMap::change"});
    }
    it->second.permissions = permissions;
    it->second.kind = kind;
    now = generation_.fetch_add(1, std::memory_order_seq_cst) + 1;
  }
  impl_->wait_for_slices(now);
  return {};
}

void AddressMap::split(std::uint64_t address) {
  std::unique_lock lock(impl_->mutex);
  const auto it = impl_->holding(address);
  if (it == impl_->regions.end() || it->first == address) return;
  Region upper = it->second;
  const std::uint64_t below = address - it->first;
  upper.address = address;
  upper.size -= below;
  upper.host += below;
  it->second.size = below;
  impl_->regions.emplace_hint(std::next(it), address, std::move(upper)); // translations stay true: no new generation
}

std::optional<Region> AddressMap::find(std::uint64_t address) const {
  std::shared_lock lock(impl_->mutex);
  const auto it = impl_->holding(address);
  if (it == impl_->regions.end()) return std::nullopt;
  return it->second;
}

std::byte* AddressMap::translate(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const {
  const Extent e = extent(address);
  if (e.begin > e.end || size > e.end - address || (e.permissions & permissions) != permissions) return nullptr;
  return e.host + (address - e.begin);
}

AddressMap::Extent AddressMap::extent(std::uint64_t address) const {
  std::shared_lock lock(impl_->mutex);
  const auto it = impl_->holding(address), none = impl_->regions.end();
  if (it == none) return {};
  const Region& region = it->second;
  Extent e{region.address, region.address + region.size, region.host, region.permissions, region.kind};
  const auto joins = [&region](const Region& part) {
    return part.id == region.id && part.permissions == region.permissions && part.kind == region.kind;
  };
  for (auto next = std::next(it); next != none && next->first == e.end && joins(next->second); ++next) e.end += next->second.size;
  for (auto at = it; at != impl_->regions.begin();) {
    const Region& below = (--at)->second;
    if (below.address + below.size != e.begin || !joins(below)) break;
    e.begin = below.address;
    e.host = below.host;
  }
  return e;
}

std::string AddressMap::Impl::describe(std::uint64_t address) {
  if (address < kNullPage) return address == 0 ? "null pointer" : fmt::format("null page, {} bytes past address 0", address);
  if (const auto it = holding(address); it != regions.end()) {
    return fmt::format("{} bytes into {}", address - it->first, name_of(it->second));
  }
  if (!canonical(address)) return "non-canonical address: bits 63-47 differ";
  for (auto it = freed.rbegin(); it != freed.rend(); ++it) {
    if (address >= it->address && address - it->address < it->size) {
      return fmt::format("inside a freed buffer: {} bytes into {}", address - it->address, name_of(*it));
    }
  }
  const Region* nearest = nullptr;
  std::uint64_t distance = kNear;
  const auto above = regions.upper_bound(address);
  if (above != regions.begin()) {
    const Region& below = std::prev(above)->second;
    if (const auto past = address - (below.address + below.size); past < distance) {
      nearest = &below;
      distance = past;
    }
  }
  if (above != regions.end() && above->first - address < distance) {
    return fmt::format("{} bytes before {}", above->first - address, name_of(above->second));
  }
  if (nearest != nullptr) return fmt::format("{} bytes past {}", distance, name_of(*nearest));
  return "no allocation near";
}

std::string AddressMap::describe(std::uint64_t address) const {
  std::shared_lock lock(impl_->mutex);
  return impl_->describe(address);
}

std::string AddressMap::describe_access(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) const {
  std::shared_lock lock(impl_->mutex);
  const auto it = impl_->holding(address);
  if (it == impl_->regions.end()) return impl_->describe(address);
  const Region& region = it->second;
  const auto room = region.size - (address - region.address);
  if (size > room) {
    return fmt::format("crosses the end of {}: {} of {} bytes are past it", name_of(region), size - room, size);
  }
  if (const auto missing = permissions & ~region.permissions; missing != 0) {
    const char* lack = (missing & kExecute) != 0 ? "not executable" : (missing & kWrite) != 0 ? "read-only" : "not readable";
    return fmt::format("{} bytes into {}, which is {}", address - region.address, name_of(region), lack);
  }
  return impl_->describe(address);
}

} // namespace aql::sim
