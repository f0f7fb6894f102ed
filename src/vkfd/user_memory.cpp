#include "vkfd/user_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace aql::vkfd {
namespace {

// process_vm_readv/writev on ourselves. Where a sandbox forbids them, the ranges are looked up instead.
bool copy(bool from_user, void* kernel, std::uint64_t user, std::size_t size) noexcept {
  if (size == 0) return true;
  if (user + size < user) return false;
  const iovec local{kernel, size};
  const iovec remote{reinterpret_cast<void*>(user), size};
  const ssize_t n =
      from_user ? process_vm_readv(getpid(), &local, 1, &remote, 1, 0) : process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
  if (n == static_cast<ssize_t>(size)) return true;
  if (n >= 0 || errno == EFAULT) return false;
  const HostRange range = host_range(user, size);
  if (!(from_user ? range.readable : range.writable)) return false;
  if (from_user) {
    std::memcpy(kernel, reinterpret_cast<const void*>(user), size);
  } else {
    std::memcpy(reinterpret_cast<void*>(user), kernel, size);
  }
  return true;
}

} // namespace

bool copy_from_user(void* to, std::uint64_t user_address, std::size_t size) noexcept { return copy(true, to, user_address, size); }
bool copy_to_user(std::uint64_t user_address, const void* from, std::size_t size) noexcept {
  return copy(false, const_cast<void*>(from), user_address, size);
}

HostRange host_range(std::uint64_t address, std::uint64_t size) noexcept {
  if (size == 0 || address + size < address) return {};
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  HostRange range{false, true, true};
  std::uint64_t at = address;
  char buffer[8192];
  std::size_t held = 0;
  // Lines come in ascending order: "begin-end rwxp ...".
  for (bool more = true; more && !range.mapped;) {
    const ssize_t n = read(fd, buffer + held, sizeof buffer - 1 - held);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    held += static_cast<std::size_t>(n);
    buffer[held] = 0;
    char* line = buffer;
    while (char* end = std::strchr(line, '\n')) {
      char* rest = nullptr;
      const std::uint64_t begin = std::strtoull(line, &rest, 16);
      const std::uint64_t stop = *rest == '-' ? std::strtoull(rest + 1, &rest, 16) : 0;
      line = end + 1;
      if (stop <= at) continue;
      if (begin > at) {
        more = false;
        break;
      }
      range.readable = range.readable && rest[1] == 'r';
      range.writable = range.writable && rest[2] == 'w';
      at = stop;
      if (at >= address + size) {
        range.mapped = true;
        break;
      }
    }
    held = static_cast<std::size_t>(buffer + held - line);
    std::memmove(buffer, line, held);
    if (held == sizeof buffer - 1) held = 0; // a line longer than any path
  }
  close(fd);
  if (!range.mapped) return {};
  return range;
}

} // namespace aql::vkfd
