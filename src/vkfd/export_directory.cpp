#include "vkfd/export_directory.hpp"

#include <mutex>

#include <sys/stat.h>

namespace aql::vkfd {
namespace {

constexpr std::uint64_t kMagic = 0x31304446'4b564c41; // "ALVKFD01"

struct Directory {
  std::uint64_t magic;
  std::uint64_t reserved[7];
  ExportedBuffer entries[(ExportDirectory::kBytes - 64) / sizeof(ExportedBuffer)];
};
static_assert(sizeof(Directory) <= ExportDirectory::kBytes);

Directory* directory_in(const View& view) noexcept { return reinterpret_cast<Directory*>(view.get()); }

std::mutex g_enter;

} // namespace

bool ExportDirectory::enter(const BackingFile& file, const ExportedBuffer& buffer) {
  const std::lock_guard lock{g_enter};
  const View view = file.map(0, kBytes);
  Directory* d = directory_in(view);
  if (d == nullptr) return false;
  for (auto& entry : d->entries) {
    const std::uint64_t offset = std::atomic_ref{entry.offset}.load(std::memory_order_acquire);
    if (offset == buffer.offset) return true;
    if (offset != 0) continue;
    entry.size = buffer.size;
    entry.flags = buffer.flags;
    entry.gpu_id = buffer.gpu_id;
    std::atomic_ref{entry.offset}.store(buffer.offset, std::memory_order_release);
    std::atomic_ref{d->magic}.store(kMagic, std::memory_order_release);
    return true;
  }
  return false;
}

std::optional<ExportedBuffer> ExportDirectory::look_up(int fd, std::uint64_t offset) {
  struct stat info{};
  if (offset < kBytes || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) <= offset)
    return std::nullopt;
  const View view{fd, 0, kBytes, PROT_READ};
  Directory* d = directory_in(view);
  if (d == nullptr || std::atomic_ref{d->magic}.load(std::memory_order_acquire) != kMagic) return std::nullopt;
  for (auto& entry : d->entries) {
    const std::uint64_t at = std::atomic_ref{entry.offset}.load(std::memory_order_acquire);
    if (at == 0) break;
    if (at != offset) continue;
    ExportedBuffer found = entry;
    found.offset = at;
    const auto bytes = static_cast<std::uint64_t>(info.st_size);
    if (found.size == 0 || found.size > bytes - offset) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

} // namespace aql::vkfd
