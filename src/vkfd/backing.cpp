#include "vkfd/backing.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace aql::vkfd {

View::View(int fd, std::uint64_t offset, std::uint64_t size, int protection) noexcept : size_(size) {
  void* host = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  if (host == MAP_FAILED) return;
  (void)madvise(host, size, MADV_DONTFORK);
  host_ = static_cast<std::byte*>(host);
}
View::~View() {
  if (host_ != nullptr) (void)munmap(host_, size_);
}
View::View(View&& other) noexcept : host_(std::exchange(other.host_, nullptr)), size_(other.size_) {}
View& View::operator=(View&& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(size_, other.size_);
  return *this;
}

BackingFile::~BackingFile() {
  if (fd_ >= 0) close(fd_);
}
BackingFile::BackingFile(BackingFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), device_(other.device_), inode_(other.inode_) {}
BackingFile& BackingFile::operator=(BackingFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

Result<BackingFile> BackingFile::create(const char* name, std::uint64_t size) {
  const auto refuse = [&](const char* what) {
    return std::unexpected(
        Error{Errc::system_error, errno, fmt::format("{} for {} of {} bytes failed", what, name, size), "BackingFile::create"});
  };
  BackingFile file;
  file.fd_ = memfd_create(name, MFD_CLOEXEC);
  if (file.fd_ < 0) return refuse("memfd_create");
  if (ftruncate(file.fd_, static_cast<off_t>(size)) != 0) return refuse("ftruncate");
  struct stat info{};
  if (fstat(file.fd_, &info) != 0) return refuse("fstat");
  file.device_ = info.st_dev;
  file.inode_ = info.st_ino;
  return file;
}

int BackingFile::open_again(int flags) const noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd_);
  const int fd = ::open(path, O_RDWR | (flags & O_CLOEXEC));
  if (fd >= 0) return fd;
  return fcntl(fd_, (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, 0); // no /proc
}

std::uint64_t OffsetAllocator::take(std::uint64_t size) {
  const std::lock_guard lock{mutex_};
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < size) continue;
    const std::uint64_t offset = it->first, left = it->second - size;
    free_.erase(it);
    if (left != 0) free_[offset + size] = left;
    return offset;
  }
  return 0;
}

void OffsetAllocator::give(std::uint64_t offset, std::uint64_t size) {
  const std::lock_guard lock{mutex_};
  auto it = free_.emplace(offset, size).first;
  if (const auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
    it->second += next->second;
    free_.erase(next);
  }
  if (it != free_.begin()) {
    const auto previous = std::prev(it);
    if (previous->first + previous->second == it->first) {
      previous->second += it->second;
      free_.erase(it);
    }
  }
}

} // namespace aql::vkfd
