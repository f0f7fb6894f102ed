#include "driver/rocr/memory.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.hpp"

namespace aql::detail::rocr {
namespace {

constexpr std::size_t kPage = 4096, kStagingBytes = std::size_t{1} << 20;
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
constexpr bool on_device(PoolKind kind) { return kind == PoolKind::device_coarse || kind == PoolKind::device_fine || kind == PoolKind::executable; }

// Copies between host memory and memory that is surely there; a wild host pointer is an error and no signal.
bool host_to_known(std::byte* known, const std::byte* host, std::size_t size_bytes, bool to_host) {
  std::size_t done = 0;
  while (done < size_bytes) {
    iovec local{known + done, size_bytes - done};
    iovec remote{const_cast<std::byte*>(host) + done, size_bytes - done};
    const auto n = to_host ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0) : process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && (errno == EPERM || errno == ENOSYS)) { // a sandbox forbids the call: copy unchecked
      if (to_host) std::copy_n(known + done, size_bytes - done, const_cast<std::byte*>(host) + done);
      else std::copy_n(host + done, size_bytes - done, known + done);
      return true;
    }
    return false;
  }
  return true;
}

} // namespace

Memory::~Memory() {
  if (staging_ != nullptr) (void)api_.hsa_amd_memory_pool_free(staging_);
}

Result<Allocation> Memory::allocate(PoolKind kind, std::size_t size_bytes) {
  const Pool& pool = agent_.pools[static_cast<std::size_t>(kind)];
  if (!pool.there) {
    const char* why = kind == PoolKind::executable ? "this HSA runtime gives executable memory to its own loader only" : "the HSA runtime shows no such pool for it";
    return std::unexpected(Error{Errc::unsupported, 0, fmt::format("asked for {} bytes of {} memory of {}: {}", size_bytes, to_string(kind), agent_.info.selector, why), "allocate"});
  }
  void* address = nullptr;
  if (const auto status = api_.hsa_amd_memory_pool_allocate(pool.pool, round_up(size_bytes, kPage), pool.flags, &address); status != HSA_STATUS_SUCCESS) {
    Error error = failure(api_, status, fmt::format("asked for {} bytes of {} memory of {}", size_bytes, to_string(kind), agent_.info.selector), "allocate");
    if (error.code == Errc::invalid_argument || error.code == Errc::invalid_allocation) error.code = Errc::out_of_resources; // larger than the pool
    return std::unexpected(std::move(error));
  }
  if (!on_device(kind)) {
    if (const auto status = api_.hsa_amd_agents_allow_access(1, &agent_.handle, nullptr, address); status != HSA_STATUS_SUCCESS) {
      (void)api_.hsa_amd_memory_pool_free(address);
      return std::unexpected(failure(api_, status, fmt::format("{} may not use {} memory", agent_.info.selector, to_string(kind)), "allocate"));
    }
  } else {
    // Peers that can reach this memory may use it.
    for (const Agent& peer : runtime_.gpus()) {
      if (peer.handle.handle == agent_.handle.handle) continue;
      hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
      if (api_.hsa_amd_agent_memory_pool_get_info(peer.handle, pool.pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access) != HSA_STATUS_SUCCESS) continue;
      if (access != HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT) continue;
      const hsa_agent_t both[] = {agent_.handle, peer.handle};
      if (const auto status = api_.hsa_amd_agents_allow_access(2, both, nullptr, address); status != HSA_STATUS_SUCCESS)
        log::debug(fmt::format("{} gets no access to memory of {}: {}", peer.info.selector, agent_.info.selector, describe(api_, status)));
    }
  }
  return Allocation{reinterpret_cast<std::uint64_t>(address), on_device(kind) ? nullptr : static_cast<std::byte*>(address), size_bytes, kind, 0};
}

Result<void> Memory::free(const Allocation& allocation) {
  if (const auto status = api_.hsa_amd_memory_pool_free(reinterpret_cast<void*>(allocation.device_address)); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("memory at {:#x} cannot be freed", allocation.device_address), "free"));
  return {};
}

Result<Allocation> Memory::pin(void* host, std::size_t size_bytes, bool writable) {
  if (!writable) return std::unexpected(Error{Errc::unsupported, 0, "the HSA runtime cannot pin memory read-only; pin it read-write", "pin"});
  void* device = nullptr;
  hsa_agent_t agent = agent_.handle;
  if (const auto status = api_.hsa_amd_memory_lock(host, size_bytes, &agent, 1, &device); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("{} bytes of host memory at {} cannot be pinned", size_bytes, host), "pin"));
  return Allocation{reinterpret_cast<std::uint64_t>(device), static_cast<std::byte*>(host), size_bytes, PoolKind::host_fine, 0};
}

Result<void> Memory::unpin(const Allocation& allocation) {
  if (const auto status = api_.hsa_amd_memory_unlock(allocation.host); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("host memory at {} cannot be unpinned", static_cast<void*>(allocation.host)), "unpin"));
  return {};
}

Memory::Place Memory::place(std::uint64_t& address, std::size_t size_bytes) const {
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  if (api_.hsa_amd_pointer_info(reinterpret_cast<void*>(address), &info, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS) return Place::host;
  if (info.type == HSA_EXT_POINTER_TYPE_UNKNOWN) return Place::host;
  const auto covers = [&](const void* base) {
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    return base != nullptr && address >= begin && address - begin < info.sizeInBytes && size_bytes <= info.sizeInBytes - (address - begin);
  };
  if (info.type != HSA_EXT_POINTER_TYPE_LOCKED) return covers(info.agentBaseAddress) || covers(info.hostBaseAddress) ? Place::runtime : Place::leaves;
  if (covers(info.hostBaseAddress)) return Place::host;
  if (!covers(info.agentBaseAddress)) return Place::leaves;
  address += reinterpret_cast<std::uint64_t>(info.hostBaseAddress) - reinterpret_cast<std::uint64_t>(info.agentBaseAddress);
  return Place::host;
}

Result<void> Memory::copy_known(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) {
  if (const auto status = api_.hsa_memory_copy(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), size_bytes); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("copy of {} bytes from {:#x} to {:#x}", size_bytes, src, dst), "copy"));
  return {};
}

Result<std::byte*> Memory::staging() {
  if (staging_ == nullptr) {
    auto made = allocate(PoolKind::host_fine, kStagingBytes);
    if (!made) return std::unexpected(made.error());
    staging_ = made->host;
  }
  return staging_;
}

Result<void> Memory::copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) {
  const auto refuse = [&](const char* what, std::uint64_t address, const char* why) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{} of the copy, {} bytes at {:#x}: {}", what, size_bytes, address, why), "copy"});
  };
  const Place to = place(dst, size_bytes), from = place(src, size_bytes);
  if (to == Place::leaves) return refuse("destination", dst, "leaves its allocation");
  if (from == Place::leaves) return refuse("source", src, "leaves its allocation");
  if (to == Place::runtime && from == Place::runtime) return copy_known(dst, src, size_bytes);
  // One side is host memory that nobody vouches for: through our own buffer.
  const std::lock_guard lock{mutex_};
  auto buffer = staging();
  if (!buffer) return std::unexpected(buffer.error());
  for (std::size_t done = 0; done < size_bytes;) {
    const std::size_t n = std::min(size_bytes - done, kStagingBytes);
    if (from == Place::host) {
      if (!host_to_known(*buffer, reinterpret_cast<const std::byte*>(src + done), n, false)) return refuse("source", src, "no memory of this device and not readable host memory");
    } else if (auto copied = copy_known(reinterpret_cast<std::uint64_t>(*buffer), src + done, n); !copied) {
      return copied;
    }
    if (to == Place::host) {
      if (!host_to_known(*buffer, reinterpret_cast<const std::byte*>(dst + done), n, true)) return refuse("destination", dst, "no memory of this device and not writable host memory");
    } else if (auto copied = copy_known(dst + done, reinterpret_cast<std::uint64_t>(*buffer), n); !copied) {
      return copied;
    }
    done += n;
  }
  return {};
}

Result<void> Memory::fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) {
  if (place(dst, count * 4) == Place::host) { // pinned: the registry above lets nothing else through
    std::fill_n(reinterpret_cast<std::uint32_t*>(dst), count, pattern);
    return {};
  }
  if (const auto status = api_.hsa_amd_memory_fill(reinterpret_cast<void*>(dst), pattern, count); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("fill of {} dwords at {:#x}", count, dst), "fill32"));
  return {};
}

} // namespace aql::detail::rocr
