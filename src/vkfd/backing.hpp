#pragma once
// Host memory behind a virtual device: sparse memfds. What the program maps through a render node or /dev/kfd is the memfd
// itself, at the offsets that the ioctls give out, so that both sides see one memory.
// Thread safety: all members may be called from any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include <sys/mman.h>

#include <aql/error.hpp>

namespace aql::vkfd {

inline constexpr std::uint64_t kPage = 4096;
[[nodiscard]] constexpr std::uint64_t round_to_page(std::uint64_t bytes) noexcept { return (bytes + kPage - 1) & ~(kPage - 1); }

// A mapping of our own, unmapped with its owner. A forked child does not get it.
class View {
public:
  View() = default;
  // Empty and errno if the host refuses.
  View(int fd, std::uint64_t offset, std::uint64_t size, int protection = PROT_READ | PROT_WRITE) noexcept;
  ~View();
  View(View&& other) noexcept;
  View& operator=(View&& other) noexcept;
  [[nodiscard]] std::byte* get() const noexcept { return host_; }
  explicit operator bool() const noexcept { return host_ != nullptr; }

private:
  std::byte* host_ = nullptr;
  std::uint64_t size_ = 0;
};

// A memfd by which one device file is known. Descriptors of it are told by their inode, so that dup, fork, exec and passing
// between processes need no bookkeeping.
class BackingFile {
public:
  BackingFile() = default;
  ~BackingFile();
  BackingFile(BackingFile&& other) noexcept;
  BackingFile& operator=(BackingFile&& other) noexcept;
  static Result<BackingFile> create(const char* name, std::uint64_t size);

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool is(std::uint64_t device, std::uint64_t inode) const noexcept {
    return fd_ >= 0 && device == device_ && inode == inode_;
  }
  // A new descriptor with a position of its own, or -1 and errno.
  [[nodiscard]] int open_again(int flags) const noexcept;
  [[nodiscard]] View map(std::uint64_t offset, std::uint64_t size) const noexcept { return {fd_, offset, size}; }

private:
  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;
};

// Page-granular allocation of offsets of a backing file. Freed pages read as zero when they are used again.
class OffsetAllocator {
public:
  OffsetAllocator(std::uint64_t begin, std::uint64_t end) { free_[begin] = end - begin; }
  // 0: no room.
  [[nodiscard]] std::uint64_t take(std::uint64_t size);
  void give(std::uint64_t offset, std::uint64_t size);

private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> free_; // offset -> size
};

} // namespace aql::vkfd
