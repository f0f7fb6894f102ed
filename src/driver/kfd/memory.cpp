#include "driver/kfd/memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/env.hpp"
#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStagingBytes = 1u << 20;
constexpr std::size_t kBarReadLimit = 256u << 10; // reads over the bus are slow, uncached ones: more than this is the engine's

constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
constexpr bool on_device(PoolKind kind) { return kind == PoolKind::device_coarse || kind == PoolKind::device_fine || kind == PoolKind::executable; }

HsaMemFlags host_flags(bool coarse, bool executable) {
  HsaMemFlags flags{};
  flags.ui32.HostAccess = 1;
  flags.ui32.PageSize = HSA_PAGE_SIZE_4KB;
  flags.ui32.CachePolicy = HSA_CACHING_CACHED;
  flags.ui32.CoarseGrain = coarse;
  flags.ui32.ExecuteAccess = executable;
  return flags;
}

HsaMemFlags device_flags(bool coarse, bool executable, bool host_access) {
  HsaMemFlags flags{};
  flags.ui32.NonPaged = 1;
  flags.ui32.NoSubstitute = 1;
  flags.ui32.PageSize = HSA_PAGE_SIZE_4KB;
  flags.ui32.HostAccess = host_access;
  flags.ui32.CoarseGrain = coarse;
  flags.ui32.ExecuteAccess = executable;
  return flags;
}

Error refused(const char* what, std::uint64_t address, std::size_t size_bytes, std::string_view why) {
  return Error{Errc::invalid_argument, 0, fmt::format("{} of the copy, {} bytes at {:#x}: {}", what, size_bytes, address, why), "copy"};
}

// Between memory of ours and host memory that nobody vouches for: the kernel touches the foreign side, so that a wild pointer is an
// error and no signal. Returns false then.
bool host_transfer(std::byte* ours, std::uint64_t foreign, std::size_t size_bytes, bool to_foreign) noexcept {
  std::size_t done = 0;
  while (done < size_bytes) {
    iovec local{ours + done, size_bytes - done};
    iovec remote{reinterpret_cast<void*>(foreign + done), size_bytes - done};
    const auto n = to_foreign ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) : process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n == 0 || (errno != EPERM && errno != ENOSYS)) return false;
    // A sandbox forbids the call: copy unchecked.
    auto* other = reinterpret_cast<std::byte*>(foreign + done);
    if (to_foreign) std::memcpy(other, ours + done, size_bytes - done);
    else std::memcpy(ours + done, other, size_bytes - done);
    return true;
  }
  return true;
}

} // namespace

Memory::Memory(const Thunk& thunk, const Gpu& gpu, std::vector<std::uint32_t> nodes) : thunk_(thunk), gpu_(gpu), nodes_(std::move(nodes)) {
  if (const auto how = env_text("AQL_KFD_COPY")) {
    if (*how == "host") copies_ = Copies::host;
    else if (*how == "engine") copies_ = Copies::engine;
    else log::warn(fmt::format("AQL_KFD_COPY='{}' is neither host nor engine; ignored", *how));
  }
}

Memory::~Memory() {
  sdma_.reset();
  if (staging_.address != nullptr) give(staging_);
}

Error Memory::no_memory(HSAKMT_STATUS status, std::size_t size_bytes, const char* what) const {
  Error error = failure(status, fmt::format("asked for {} bytes of {} memory of {}", size_bytes, what, gpu_.info.selector), "allocate");
  error.code = Errc::out_of_resources; // the thunk tells apart little; what is asked here is valid
  if (const auto left = gpu_.drm ? gpu_.drm->vram_free() : std::nullopt) error.detail += fmt::format("; {} of the device's {} bytes are free", *left, gpu_.info.memory_bytes);
  return error;
}

// Memory that host (if it may) and device see at the same address, mapped on the GPUs of `mapped`.
Result<std::byte*> Memory::obtain(std::uint32_t node, HsaMemFlags flags, std::size_t size_bytes, std::span<const std::uint32_t> mapped, const char* what) {
  if (flags.ui32.NonPaged != 0 && size_bytes > gpu_.info.memory_bytes) {
    return std::unexpected(
        Error{Errc::out_of_resources, 0, fmt::format("asked for {} bytes of {} memory; {} has {} bytes", size_bytes, what, gpu_.info.selector, gpu_.info.memory_bytes), "allocate"});
  }
  void* address = nullptr;
  if (const auto status = thunk_.hsaKmtAllocMemory(node, size_bytes, flags, &address); status != HSAKMT_STATUS_SUCCESS) return std::unexpected(no_memory(status, size_bytes, what));
  std::vector<HSAuint32> nodes{mapped.begin(), mapped.end()};
  HSAuint64 other = 0;
  const auto status = thunk_.hsaKmtMapMemoryToGPUNodes(address, size_bytes, &other, HsaMemMapFlags{}, nodes.size(), nodes.data());
  if (status != HSAKMT_STATUS_SUCCESS || (other != 0 && other != reinterpret_cast<std::uint64_t>(address))) {
    if (status == HSAKMT_STATUS_SUCCESS) (void)thunk_.hsaKmtUnmapMemoryToGPU(address);
    (void)thunk_.hsaKmtFreeMemory(address, size_bytes);
    if (status != HSAKMT_STATUS_SUCCESS) return std::unexpected(no_memory(status, size_bytes, what));
    return std::unexpected(Error{Errc::unsupported, 0, fmt::format("the device sees host address {} at {:#x}; equal addresses are needed (a 64-bit host with a large aperture)", address, other), "allocate"});
  }
  return static_cast<std::byte*>(address);
}

Result<Allocation> Memory::allocate(PoolKind kind, std::size_t size_bytes, std::string_view label) {
  const std::size_t size = round_up(size_bytes, kPage); // kernarg: also what widened scalar loads may touch
  const bool device = on_device(kind);
  const bool coarse = kind == PoolKind::device_coarse || kind == PoolKind::host_coarse || kind == PoolKind::executable;
  const auto flags = device ? device_flags(coarse, kind == PoolKind::executable, gpu_.large_bar) : host_flags(coarse, false);
  auto address = obtain(device ? gpu_.node : gpu_.host_node, flags, size, {&gpu_.node, 1}, to_string(kind));
  if (!address) return std::unexpected(address.error());
  const bool reachable = !device || gpu_.large_bar;
  {
    const std::lock_guard lock{mutex_};
    ranges_[reinterpret_cast<std::uint64_t>(*address)] = Range{size_bytes, reachable ? *address : nullptr, device, std::string{label}};
  }
  // The host's writes into device memory have to be flushed, which copy() does: no host pointer is handed out.
  return Allocation{reinterpret_cast<std::uint64_t>(*address), device ? nullptr : *address, size_bytes, kind, 0};
}

Result<void> Memory::free(const Allocation& allocation) {
  {
    const std::lock_guard lock{mutex_};
    if (ranges_.erase(allocation.device_address) == 0)
      return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{:#x} is no allocation of {}", allocation.device_address, gpu_.info.selector), "free"});
  }
  void* address = reinterpret_cast<void*>(allocation.device_address);
  auto status = thunk_.hsaKmtUnmapMemoryToGPU(address);
  if (status == HSAKMT_STATUS_SUCCESS) status = thunk_.hsaKmtFreeMemory(address, round_up(allocation.size_bytes, kPage));
  if (status != HSAKMT_STATUS_SUCCESS) return std::unexpected(failure(status, fmt::format("memory at {:#x} cannot be freed", allocation.device_address), "free"));
  return {};
}

Result<Memory::Block> Memory::take(Use use, std::size_t size_bytes, std::string_view label) {
  const std::size_t size = round_up(size_bytes, kPage);
  const bool device = use == Use::device;
  const auto flags = device ? device_flags(true, false, false) : host_flags(false, use == Use::host_executable);
  auto address = obtain(device ? gpu_.node : gpu_.host_node, flags, size, device ? std::span{&gpu_.node, 1} : std::span<const std::uint32_t>{nodes_}, device ? "device" : "host");
  if (!address) return std::unexpected(address.error());
  const std::lock_guard lock{mutex_};
  ranges_[reinterpret_cast<std::uint64_t>(*address)] = Range{size, device ? nullptr : *address, device, std::string{label}};
  return Block{*address, size};
}

void Memory::give(const Block& block) noexcept {
  Allocation allocation;
  allocation.device_address = reinterpret_cast<std::uint64_t>(block.address);
  allocation.size_bytes = block.size_bytes;
  if (auto done = free(allocation); !done) log::error(done.error().message());
}

Result<Allocation> Memory::pin(void* host, std::size_t size_bytes, bool writable) {
  if (!writable) return std::unexpected(Error{Errc::unsupported, 0, "the thunk cannot pin memory read-only; pin it read-write", "pin"});
  auto* const first = static_cast<std::byte*>(host);
  const std::lock_guard lock{mutex_};
  // The thunk counts registrations of one address, but not mappings: that is done here.
  auto& pin = pins_[first];
  if (pin.count == 0) {
    const auto drop = [&](HSAKMT_STATUS status) {
      pins_.erase(first);
      return std::unexpected(failure(status, fmt::format("{} bytes of host memory at {} cannot be pinned", size_bytes, host), "pin"));
    };
    if (const auto status = thunk_.hsaKmtRegisterMemoryWithFlags(host, size_bytes, host_flags(false, false)); status != HSAKMT_STATUS_SUCCESS) return drop(status);
    HSAuint32 node = gpu_.node;
    HSAuint64 device = 0;
    if (const auto status = thunk_.hsaKmtMapMemoryToGPUNodes(host, size_bytes, &device, HsaMemMapFlags{}, 1, &node); status != HSAKMT_STATUS_SUCCESS) {
      (void)thunk_.hsaKmtDeregisterMemory(host);
      return drop(status);
    }
    pin.size_bytes = size_bytes;
    pin.device = device != 0 ? device : reinterpret_cast<std::uint64_t>(host);
    ranges_[pin.device] = Range{size_bytes, first, false, "pinned host memory"};
  } else if (pin.size_bytes != size_bytes) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("host memory at {} is pinned already, with {} bytes; asked for {}: unpin it first", host, pin.size_bytes, size_bytes), "pin"});
  }
  ++pin.count;
  return Allocation{pin.device, first, size_bytes, PoolKind::host_fine, 0};
}

Result<void> Memory::unpin(const Allocation& allocation) {
  const std::lock_guard lock{mutex_};
  const auto found = pins_.find(allocation.host);
  if (found == pins_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("host memory at {} is not pinned", static_cast<void*>(allocation.host)), "unpin"});
  if (--found->second.count != 0) return {};
  ranges_.erase(found->second.device);
  pins_.erase(found);
  auto status = thunk_.hsaKmtUnmapMemoryToGPU(allocation.host);
  if (status == HSAKMT_STATUS_SUCCESS) status = thunk_.hsaKmtDeregisterMemory(allocation.host);
  if (status != HSAKMT_STATUS_SUCCESS) return std::unexpected(failure(status, fmt::format("host memory at {} cannot be unpinned", static_cast<void*>(allocation.host)), "unpin"));
  return {};
}

Result<Memory::Side> Memory::side(const char* what, std::uint64_t address, std::size_t size_bytes) const {
  const std::lock_guard lock{mutex_};
  auto next = ranges_.upper_bound(address);
  if (next != ranges_.begin()) {
    --next;
    const auto offset = address - next->first;
    const Range& range = next->second;
    if (offset < range.size_bytes) {
      if (size_bytes > range.size_bytes - offset) return std::unexpected(refused(what, address, size_bytes, fmt::format("leaves '{}' of {} bytes", range.label, range.size_bytes)));
      return Side{range.host == nullptr ? nullptr : range.host + offset, true, range.on_device};
    }
  }
  return Side{reinterpret_cast<std::byte*>(address), false, false};
}

// Stores of the host into device memory pass through a buffer of the card (HDP), which this register empties; the read makes the
// host wait until the store has got there.
void Memory::flush_host_writes() const noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__x86_64__)
  __builtin_ia32_sfence(); // write-combined stores
#endif
  if (gpu_.hdp_flush == 0) return;
  auto* const hdp = reinterpret_cast<volatile std::uint32_t*>(gpu_.hdp_flush);
  *hdp = 1;
  (void)*hdp;
}

bool Memory::by_engine(const Side& to, const Side& from, std::size_t size_bytes) const noexcept {
  if (to.host == nullptr || from.host == nullptr) return true;
  if (copies_ == Copies::host || gpu_.sdma_engines == 0) return false;
  if (copies_ == Copies::engine) return to.on_device || from.on_device;
  return from.on_device && size_bytes > kBarReadLimit;
}

Result<void> Memory::copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  auto to = side("destination", dst, size_bytes);
  if (!to) return std::unexpected(to.error());
  auto from = side("source", src, size_bytes);
  if (!from) return std::unexpected(from.error());
  if (by_engine(*to, *from, size_bytes)) return copy_by_engine(dst, *to, src, *from, size_bytes);
  if (to->known && from->known) {
    std::memmove(to->host, from->host, size_bytes);
  } else if (to->known) {
    if (!host_transfer(to->host, src, size_bytes, false)) return std::unexpected(refused("source", src, size_bytes, "no memory of this device and not readable host memory"));
  } else if (from->known) {
    if (!host_transfer(from->host, dst, size_bytes, true)) return std::unexpected(refused("destination", dst, size_bytes, "no memory of this device and not writable host memory"));
  } else {
    std::vector<std::byte> between(std::min(size_bytes, kStagingBytes));
    for (std::size_t done = 0; done < size_bytes; done += between.size()) {
      const auto n = std::min(between.size(), size_bytes - done);
      if (!host_transfer(between.data(), src + done, n, false)) return std::unexpected(refused("source", src, size_bytes, "no readable memory"));
      if (!host_transfer(between.data(), dst + done, n, true)) return std::unexpected(refused("destination", dst, size_bytes, "no writable memory"));
    }
  }
  if (to->on_device) flush_host_writes();
  return {};
}

// engine_mutex_ held.
Result<void> Memory::engine() {
  if (sdma_) return {};
  if (gpu_.sdma_engines == 0) {
    return std::unexpected(Error{Errc::unsupported, 0, fmt::format("{} has no copy engine, and its memory cannot be mapped by the host (no large BAR)", gpu_.info.selector), "copy"});
  }
  if (staging_.address == nullptr) {
    auto block = take(Use::host_executable, Sdma::kRingBytes + kPage + kStagingBytes, "copy queue and staging");
    if (!block) return std::unexpected(block.error());
    staging_ = *block;
  }
  auto made = Sdma::create(thunk_, gpu_.node, staging_.address, reinterpret_cast<std::uint32_t*>(staging_.address + Sdma::kRingBytes));
  if (!made) return std::unexpected(made.error());
  sdma_ = std::move(*made);
  return {};
}

Result<void> Memory::copy_by_engine(std::uint64_t dst, const Side& to, std::uint64_t src, const Side& from, std::size_t size_bytes) {
  const std::lock_guard lock{engine_mutex_};
  if (auto there = engine(); !there) return there;
  if (to.known && from.known) {
    flush_host_writes();
    return sdma_->copy(dst, src, size_bytes);
  }
  // One side is host memory that the engine does not see: through our own.
  std::byte* const staging = staging_.address + Sdma::kRingBytes + kPage;
  const auto staged = reinterpret_cast<std::uint64_t>(staging);
  for (std::size_t done = 0; done < size_bytes;) {
    const std::size_t n = std::min(size_bytes - done, kStagingBytes);
    if (!from.known) {
      if (!host_transfer(staging, src + done, n, false)) return std::unexpected(refused("source", src, size_bytes, "no memory of this device and not readable host memory"));
      if (auto copied = sdma_->copy(dst + done, staged, n); !copied) return copied;
    } else {
      if (auto copied = sdma_->copy(staged, src + done, n); !copied) return copied;
      if (!host_transfer(staging, dst + done, n, true)) return std::unexpected(refused("destination", dst, size_bytes, "no memory of this device and not writable host memory"));
    }
    done += n;
  }
  return {};
}

Result<void> Memory::fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) {
  if (count == 0) return {};
  const std::size_t size_bytes = count * 4;
  auto to = side("destination", dst, size_bytes);
  if (!to) return std::unexpected(to.error());
  if (!to->known) return std::unexpected(refused("destination", dst, size_bytes, "no memory of this device"));
  if (to->host != nullptr && !(copies_ == Copies::engine && to->on_device && gpu_.sdma_engines != 0)) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to->host + i * 4, &pattern, 4);
    if (to->on_device) flush_host_writes();
    return {};
  }
  const std::lock_guard lock{engine_mutex_};
  if (auto there = engine(); !there) return there;
  std::byte* const staging = staging_.address + Sdma::kRingBytes + kPage;
  const std::size_t piece = std::min(size_bytes, kStagingBytes);
  for (std::size_t i = 0; i < piece; i += 4) std::memcpy(staging + i, &pattern, 4);
  for (std::size_t done = 0; done < size_bytes; done += piece) {
    if (auto copied = sdma_->copy(dst + done, reinterpret_cast<std::uint64_t>(staging), std::min(piece, size_bytes - done)); !copied) return copied;
  }
  return {};
}

std::string Memory::describe(std::uint64_t address) const {
  const std::lock_guard lock{mutex_};
  const auto name = [](const Range& range) { return fmt::format("'{}' ({} bytes)", range.label.empty() ? "unnamed" : range.label, range.size_bytes); };
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return "no memory of this device is near";
  --next;
  const auto offset = address - next->first;
  if (offset < next->second.size_bytes) return fmt::format("it is {} bytes into {}", offset, name(next->second));
  const auto past = offset - next->second.size_bytes;
  return past < (1u << 20) ? fmt::format("it lies {} bytes past {}", past, name(next->second)) : "no memory of this device is near";
}

} // namespace aql::detail::kfd
