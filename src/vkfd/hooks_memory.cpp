// mmap and its like. Device files: only offsets that an ioctl gave out can be mapped, and imported buffers lie in other files.
// Host memory that goes away or is protected is taken from the GPUs that know it, so that they fault and do not crash.

#undef _FILE_OFFSET_BITS

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include "vkfd/export_directory.hpp"
#include "vkfd/hooks.hpp"
#include "vkfd/process.hpp"
#include "vkfd/session.hpp"

using namespace aql::vkfd;

namespace {

void gone(void* address, std::size_t length) {
  Process* process = current_process();
  if (process == nullptr || Inside::now() || length == 0) return;
  const int saved = errno;
  const Inside inside;
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  process->host_range_gone(begin, begin + round_to_page(length));
  errno = saved;
}

// Which file and offset to map. false: errno says why not.
bool target(int& fd, std::int64_t& offset, std::size_t length) {
  const int saved = errno;
  const Descriptor d = descriptor(fd);
  errno = saved;
  if (d.kind == DeviceFile::none) return true;
  const Inside inside;
  if (d.stale) {
    errno = ENODEV;
    return false;
  }
  const auto at = static_cast<std::uint64_t>(offset);
  const std::uint64_t size = round_to_page(length);
  if (d.kind == DeviceFile::kfd) {
    if (d.process->mappable(at, size)) return true;
    errno = EINVAL;
    return false;
  }
  // A descriptor with a position is an exported buffer; offsets count from its beginning.
  if (const off_t position = lseek(fd, 0, SEEK_CUR); position > 0) {
    const auto buffer = ExportDirectory::look_up(fd, static_cast<std::uint64_t>(position));
    if (buffer && size <= buffer->size && at <= buffer->size - size) {
      offset += position;
      errno = saved;
      return true;
    }
    errno = EINVAL;
    return false;
  }
  const auto found = d.process->memory().mmap_target(d.gpu->index, at, size);
  if (!found) {
    errno = EINVAL;
    return false;
  }
  if (found->fd >= 0) fd = found->fd;
  offset = static_cast<std::int64_t>(found->offset);
  errno = saved;
  return true;
}

} // namespace

#define AQL_MMAP(name, type)                                                                                                       \
  AQL_HOOK void* name(void* address, size_t length, int protection, int flags, int fd, type offset) noexcept {                     \
    AQL_REAL(name);                                                                                                                \
    std::int64_t at = offset;                                                                                                      \
    if (!Inside::now() && current_process() != nullptr) {                                                                          \
      if (fd >= 0 && (flags & MAP_ANONYMOUS) == 0 && !target(fd, at, length)) return MAP_FAILED;                                   \
      if ((flags & MAP_FIXED) != 0) gone(address, length);                                                                         \
    }                                                                                                                              \
    return real(address, length, protection, flags, fd, at);                                                                       \
  }
AQL_MMAP(mmap, off_t)
AQL_MMAP(mmap64, off64_t)

AQL_HOOK int munmap(void* address, size_t length) noexcept {
  AQL_REAL(munmap);
  gone(address, length);
  return real(address, length);
}

AQL_HOOK int mprotect(void* address, size_t length, int protection) noexcept {
  AQL_REAL(mprotect);
  if ((protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE)) gone(address, length);
  return real(address, length, protection);
}

AQL_HOOK void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) noexcept {
  AQL_REAL(mremap);
  va_list list;
  va_start(list, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  gone(address, old_length);
  if (to != nullptr) gone(to, new_length);
  return real(address, old_length, new_length, flags, to);
}
