#include "sim/cp/scratch.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/log.hpp"

namespace aql::sim {
namespace {

// What an idle arena may keep of physical memory.
constexpr std::uint64_t kKeepBytes = 64ull << 20;
constexpr std::size_t kKeepArenas = 8;

} // namespace

void WaveSlots::reset(std::uint32_t capacity) {
  const std::lock_guard lock{mutex_};
  free_.clear();
  next_ = 0;
  capacity_ = capacity;
}

bool WaveSlots::take(std::span<std::uint32_t> out) {
  const std::lock_guard lock{mutex_};
  if (free_.size() + (capacity_ - next_) < out.size()) return false;
  for (auto& slot : out) {
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else {
      slot = next_++;
    }
  }
  return true;
}

void WaveSlots::give(std::span<const std::uint32_t> slots) {
  const std::lock_guard lock{mutex_};
  free_.insert(free_.end(), slots.begin(), slots.end());
}

std::uint32_t WaveSlots::high_water() const {
  const std::lock_guard lock{mutex_};
  return next_;
}

ScratchPool::~ScratchPool() {
  for (auto& arena : idle_) drop(std::move(arena));
}

void ScratchPool::drop(std::unique_ptr<ScratchArena> arena) {
  if (auto done = map_.unmap(arena->address); !done) log::error(done.error().message());
  munmap(arena->host, arena->bytes);
}

Result<ScratchArena*> ScratchPool::acquire(std::uint64_t wave_bytes, std::uint32_t waves, std::uint32_t least_waves) {
  std::unique_ptr<ScratchArena> found, too_small;
  {
    const std::lock_guard lock{mutex_};
    const std::uint64_t wanted = wave_bytes * waves;
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if ((*it)->bytes >= wanted && (best == idle_.end() || (*it)->bytes < (*best)->bytes)) best = it;
    }
    if (best != idle_.end()) {
      found = std::move(*best);
      idle_.erase(best);
    } else if (idle_.size() >= kKeepArenas) {
      too_small = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
  }
  if (too_small) drop(std::move(too_small));
  if (!found) {
    void* host = MAP_FAILED;
    std::uint64_t bytes = 0;
    for (std::uint32_t n = waves;; n = std::max(n / 2, least_waves)) {
      bytes = (wave_bytes * n + 4095) / 4096 * 4096;
      host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (host != MAP_FAILED) {
        waves = n;
        break;
      }
      if (n <= least_waves) {
        return std::unexpected(Error{
            Errc::out_of_resources, errno,
            fmt::format("the host refuses {} bytes for the scratch of one workgroup ({} waves of {} bytes)", bytes, n, wave_bytes),
            "scratch"});
      }
    }
    found = std::make_unique<ScratchArena>();
    found->host = static_cast<std::byte*>(host);
    found->address = reinterpret_cast<std::uint64_t>(host);
    found->bytes = bytes;
    auto mapped = map_.map({.address = found->address,
                            .size = bytes,
                            .host = found->host,
                            .permissions = kRead | kWrite,
                            .kind = MemoryKind::scratch,
                            .id = 0,
                            .label = "scratch"});
    if (!mapped) {
      munmap(host, bytes);
      return std::unexpected(mapped.error());
    }
  }
  found->wave_bytes = wave_bytes;
  found->waves = waves;
  found->slots.reset(waves);
  return found.release();
}

void ScratchPool::release(ScratchArena* arena) {
  const std::uint64_t touched = std::min(arena->slots.high_water() * arena->wave_bytes, arena->bytes);
  if (touched > kKeepBytes) (void)madvise(arena->host + kKeepBytes, arena->bytes - kKeepBytes, MADV_DONTNEED);
  const std::lock_guard lock{mutex_};
  idle_.emplace_back(arena);
}

} // namespace aql::sim
