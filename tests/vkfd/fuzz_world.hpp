#pragma once
// What the fuzz works on: a session with two GPUs, and the buffers, queues, events, descriptors and handles that live in it.
// Several actors share one; each step takes from it what an ioctl or a packet may name. Thread safety: members may be called from
// any thread, but for the destructor.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include "ioctl_harness.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::test {

using Random = std::mt19937_64;

// A list of what lives; the oldest go when there are too many of them.
template <class T>
class Live {
public:
  explicit Live(std::size_t most) : most_(most) {}
  [[nodiscard]] std::optional<T> any(Random& random) const {
    const std::lock_guard lock{mutex_};
    if (items_.empty()) return std::nullopt;
    return items_[random() % items_.size()];
  }
  // What was pushed out.
  std::optional<T> add(T item) {
    const std::lock_guard lock{mutex_};
    std::optional<T> oldest;
    if (items_.size() == most_) {
      oldest = items_.front();
      items_.erase(items_.begin());
    }
    items_.push_back(std::move(item));
    return oldest;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return items_.size();
  }
  template <class Predicate>
  std::size_t remove_if(Predicate predicate) {
    const std::lock_guard lock{mutex_};
    return std::erase_if(items_, predicate);
  }
  template <class Function>
  void for_each(Function function) {
    const std::lock_guard lock{mutex_};
    for (T& item : items_) function(item);
  }

private:
  mutable std::mutex mutex_;
  std::vector<T> items_;
  const std::size_t most_;
};

struct FuzzBuffer {
  std::uint64_t handle = 0, va = 0, size = 0;
  std::uint32_t gpu = 0;          // index
  std::uint64_t file_offset = 0;  // 0: the program's own pages
  std::uint64_t host_address = 0; // of those
};

struct FuzzQueue {
  std::uint32_t id = 0, type = 0, gpu = 0;
  FuzzBuffer memory; // laid out as below
  std::uint64_t* doorbell = nullptr;
  std::uint64_t first = 0, written = 0; // AQL: packets; PM4: dwords; SDMA: bytes
};

struct FuzzHandle {
  std::uint32_t words[4];
};

class FuzzWorld {
public:
  // Parts of a buffer.
  static constexpr std::uint64_t kBufferBytes = 0x10000, kSignals = 0x1000, kRing = 0x4000, kRingBytes = 0x1000, kIndirect = 0x6000,
                                 kIndirects = 32, kDescriptor = 0x8000, kCode = 0x8100, kData = 0xa000;
  static constexpr std::uint64_t kReadPointer = 0x80, kWritePointer = 56;
  static constexpr std::uint64_t kAddresses = 64; // buffers lie at so many places, so that they collide now and then

  // Tame: no wrong words and no memory taken away under a queue, so that queues live long and many packets are executed while
  // queues are held, masked, updated and destroyed around them.
  explicit FuzzWorld(bool is_tame) : tame(is_tame), pages(1 << 20), kfd("gfx90a,gfx942") {
    for (const auto& gpu : kfd.process->gpus()) views_.push_back(gpu->memory.map(0, kViewBytes));
  }
  ~FuzzWorld() {
    fds.for_each([](int fd) { close(fd); });
  }
  FuzzWorld(const FuzzWorld&) = delete;
  FuzzWorld& operator=(const FuzzWorld&) = delete;

  [[nodiscard]] vkfd::GpuContext& gpu(std::uint64_t index) const { return *kfd.process->gpus()[index % 2]; }
  [[nodiscard]] static std::uint64_t some_address(Random& random) { return kVa + random() % kAddresses * kBufferBytes; }

  // Buffers are written and read through a mapping of the whole file, because another actor may free them meanwhile.
  void write(const FuzzBuffer& buffer, std::uint64_t at, const void* data, std::size_t bytes) {
    if (at + bytes > buffer.size) return;
    if (buffer.file_offset == 0) {
      (void)vkfd::copy_to_user(buffer.host_address + at, data, bytes); // may be protected just now
      return;
    }
    if (buffer.file_offset + at + bytes > kViewBytes) return;
    auto* to = views_[buffer.gpu].get() + buffer.file_offset + at;
    const auto* from = static_cast<const std::byte*>(data);
    for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, from + i, 4);
      std::atomic_ref{*reinterpret_cast<std::uint32_t*>(to + i)}.store(word, std::memory_order_release);
    }
  }
  template <class T>
  void put(const FuzzBuffer& buffer, std::uint64_t at, const T& value) {
    write(buffer, at, &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t read(const FuzzBuffer& buffer, std::uint64_t at) const {
    std::uint64_t value = 0;
    if (buffer.file_offset == 0) {
      (void)vkfd::copy_from_user(&value, buffer.host_address + at, sizeof value);
    } else if (buffer.file_offset + at + 8 <= kViewBytes) {
      value = std::atomic_ref{*reinterpret_cast<std::uint64_t*>(views_[buffer.gpu].get() + buffer.file_offset + at)}.load();
    }
    return value;
  }

  // The program takes pages away or puts others there, as the hooks of mmap, munmap and mprotect tell it. Nobody registers
  // them meanwhile.
  void change_pages(std::uint64_t address, std::uint64_t bytes, int protection) {
    const std::unique_lock lock{pages_mutex};
    kfd.process->host_range_gone(address, address + bytes);
    REQUIRE(mmap(reinterpret_cast<void*>(address), bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            MAP_FAILED);
  }

  const bool tame;
  Pages pages; // outlive the queues in them
  std::shared_mutex pages_mutex;
  Live<FuzzBuffer> buffers{48};
  Live<FuzzQueue> queues{10}; // each costs the processor a look
  Live<std::uint32_t> events{64};
  Live<int> fds{8};
  Live<FuzzHandle> handles{16};
  VirtualKfd kfd;

private:
  static constexpr std::uint64_t kViewBytes = 256u << 20;
  std::vector<vkfd::View> views_;
};

} // namespace aql::test
