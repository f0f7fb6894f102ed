// The C library's file functions: device files are opened as memfds, the topology's paths are redirected to a real directory tree.
// Everything else is passed on. What is exported here is found by the dynamic linker before the C library's.

// The hooks cover both the 32- and the 64-bit names.
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "vkfd/hooks.hpp"
#include "vkfd/process.hpp"
#include "vkfd/session.hpp"

using namespace aql::vkfd;

namespace {

// The path to use: ours or the caller's.
class Path {
public:
  explicit Path(const char* path) : given_(path) {
    if (path == nullptr || path[0] != '/' || Inside::now()) return;
    if ((path[1] != 's' && path[1] != 'p')) return;
    const int saved = errno;
    const Inside inside;
    ours_ = redirected(path);
    errno = saved;
  }
  [[nodiscard]] const char* get() const noexcept { return ours_.empty() ? given_ : ours_.c_str(); }

private:
  const char* given_;
  std::string ours_;
};

bool is_device(const char* path, DevicePath& device) {
  if (path == nullptr || path[0] != '/' || path[1] != 'd' || Inside::now()) return false;
  device = device_path(path);
  return device.kind != DeviceFile::none;
}

template <class Open>
int open_any(const char* path, int flags, Open real_open) {
  DevicePath device;
  if (is_device(path, device)) return open_device(device, flags);
  return real_open(Path{path}.get());
}

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(list, unsigned)) : 0;
}

// A descriptor of ours is to look like the character device that it stands for.
template <class Stat>
void disguise(const Descriptor& d, Stat* info) {
  if (d.kind == DeviceFile::none || d.stale) return;
  info->st_mode = S_IFCHR | 0666;
  info->st_rdev = d.kind == DeviceFile::kfd ? makedev(235, 0) : makedev(226, d.gpu->id.render_minor);
  info->st_size = 0;
}

template <class Stat>
bool stat_device(const char* path, Stat* info) {
  DevicePath device;
  if (!is_device(path, device)) return false;
  // Without opening anything: programs look for the file before they use it.
  const Inside inside;
  const auto config = config_from_environment();
  if (!config || (device.kind == DeviceFile::render && device.gpu >= config->gpus.size())) return false;
  std::memset(info, 0, sizeof *info);
  info->st_mode = S_IFCHR | 0666;
  info->st_nlink = 1;
  info->st_rdev = device.kind == DeviceFile::kfd ? makedev(235, 0) : makedev(226, 128 + device.gpu);
  return true;
}

} // namespace

#define AQL_OPEN(name)                                                                                                             \
  AQL_HOOK int name(const char* path, int flags, ...) {                                                                            \
    AQL_REAL(name);                                                                                                                \
    va_list list;                                                                                                                  \
    va_start(list, flags);                                                                                                         \
    const mode_t mode = mode_of(flags, list);                                                                                      \
    va_end(list);                                                                                                                  \
    return open_any(path, flags, [&](const char* p) { return real(p, flags, mode); });                                             \
  }
AQL_OPEN(open)
AQL_OPEN(open64)
#define AQL_OPENAT(name)                                                                                                           \
  AQL_HOOK int name(int directory, const char* path, int flags, ...) {                                                             \
    AQL_REAL(name);                                                                                                                \
    va_list list;                                                                                                                  \
    va_start(list, flags);                                                                                                         \
    const mode_t mode = mode_of(flags, list);                                                                                      \
    va_end(list);                                                                                                                  \
    return open_any(path, flags, [&](const char* p) { return real(directory, p, flags, mode); });                                  \
  }
AQL_OPENAT(openat)
AQL_OPENAT(openat64)

// Names that _FORTIFY_SOURCE compiles open() to.
#define AQL_OPEN_2(name)                                                                                                           \
  extern "C" int name(const char* path, int flags);                                                                                \
  AQL_HOOK int name(const char* path, int flags) {                                                                                 \
    AQL_REAL(name);                                                                                                                \
    return open_any(path, flags, [&](const char* p) { return real(p, flags); });                                                   \
  }
AQL_OPEN_2(__open_2)
AQL_OPEN_2(__open64_2)
#define AQL_OPENAT_2(name)                                                                                                         \
  extern "C" int name(int directory, const char* path, int flags);                                                                 \
  AQL_HOOK int name(int directory, const char* path, int flags) {                                                                  \
    AQL_REAL(name);                                                                                                                \
    return open_any(path, flags, [&](const char* p) { return real(directory, p, flags); });                                        \
  }
AQL_OPENAT_2(__openat_2)
AQL_OPENAT_2(__openat64_2)

#define AQL_FOPEN(name)                                                                                                            \
  AQL_HOOK FILE* name(const char* path, const char* mode) {                                                                        \
    AQL_REAL(name);                                                                                                                \
    DevicePath device;                                                                                                             \
    if (is_device(path, device)) {                                                                                                 \
      const int fd = open_device(device, O_RDWR);                                                                                  \
      return fd < 0 ? nullptr : fdopen(fd, "r+");                                                                                  \
    }                                                                                                                              \
    return real(Path{path}.get(), mode);                                                                                           \
  }
AQL_FOPEN(fopen)
AQL_FOPEN(fopen64)

AQL_HOOK DIR* opendir(const char* path) {
  AQL_REAL(opendir);
  return real(Path{path}.get());
}

#define AQL_STAT(name, type)                                                                                                       \
  AQL_HOOK int name(const char* path, struct type* info) {                                                                         \
    AQL_REAL(name);                                                                                                                \
    if (stat_device(path, info)) return 0;                                                                                         \
    return real(Path{path}.get(), info);                                                                                           \
  }
AQL_STAT(stat, stat)
AQL_STAT(stat64, stat64)
AQL_STAT(lstat, stat)
AQL_STAT(lstat64, stat64)

#define AQL_FSTATAT(name, type)                                                                                                    \
  AQL_HOOK int name(int directory, const char* path, struct type* info, int flags) {                                               \
    AQL_REAL(name);                                                                                                                \
    if (stat_device(path, info)) return 0;                                                                                         \
    return real(directory, Path{path}.get(), info, flags);                                                                         \
  }
AQL_FSTATAT(fstatat, stat)
AQL_FSTATAT(fstatat64, stat64)

#define AQL_FSTAT(name, type)                                                                                                      \
  AQL_HOOK int name(int fd, struct type* info) {                                                                                   \
    AQL_REAL(name);                                                                                                                \
    const int result = real(fd, info);                                                                                             \
    if (result == 0 && !Inside::now() && S_ISREG(info->st_mode)) disguise(descriptor(fd), info);                                   \
    return result;                                                                                                                 \
  }
AQL_FSTAT(fstat, stat)
AQL_FSTAT(fstat64, stat64)

// Names that programs built for a C library before 2.33 call; the layout's version goes first.
#define AQL_XSTAT(name, type)                                                                                                      \
  extern "C" int name(int version, const char* path, struct type* info);                                                           \
  AQL_HOOK int name(int version, const char* path, struct type* info) {                                                            \
    AQL_REAL(name);                                                                                                                \
    if (stat_device(path, info)) return 0;                                                                                         \
    return real(version, Path{path}.get(), info);                                                                                  \
  }
AQL_XSTAT(__xstat, stat)
AQL_XSTAT(__xstat64, stat64)
AQL_XSTAT(__lxstat, stat)
AQL_XSTAT(__lxstat64, stat64)

#define AQL_FXSTATAT(name, type)                                                                                                   \
  extern "C" int name(int version, int directory, const char* path, struct type* info, int flags);                                 \
  AQL_HOOK int name(int version, int directory, const char* path, struct type* info, int flags) {                                  \
    AQL_REAL(name);                                                                                                                \
    if (stat_device(path, info)) return 0;                                                                                         \
    return real(version, directory, Path{path}.get(), info, flags);                                                                \
  }
AQL_FXSTATAT(__fxstatat, stat)
AQL_FXSTATAT(__fxstatat64, stat64)

#define AQL_FXSTAT(name, type)                                                                                                     \
  extern "C" int name(int version, int fd, struct type* info);                                                                     \
  AQL_HOOK int name(int version, int fd, struct type* info) {                                                                      \
    AQL_REAL(name);                                                                                                                \
    const int result = real(version, fd, info);                                                                                    \
    if (result == 0 && !Inside::now() && S_ISREG(info->st_mode)) disguise(descriptor(fd), info);                                   \
    return result;                                                                                                                 \
  }
AQL_FXSTAT(__fxstat, stat)
AQL_FXSTAT(__fxstat64, stat64)

AQL_HOOK int statx(int directory, const char* path, int flags, unsigned mask, struct statx* info) noexcept {
  AQL_REAL(statx);
  const auto character_device = [info](dev_t device) {
    info->stx_mode = S_IFCHR | 0666;
    info->stx_rdev_major = major(device);
    info->stx_rdev_minor = minor(device);
    info->stx_size = 0;
  };
  struct stat device{};
  if (stat_device(path, &device)) {
    std::memset(info, 0, sizeof *info);
    info->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
    info->stx_nlink = 1;
    character_device(device.st_rdev);
    return 0;
  }
  const int result = real(directory, Path{path}.get(), flags, mask, info);
  const bool by_descriptor = (flags & AT_EMPTY_PATH) != 0 && path[0] == 0;
  if (result == 0 && by_descriptor && !Inside::now() && (info->stx_mask & STATX_TYPE) != 0 && S_ISREG(info->stx_mode)) {
    if (const Descriptor d = descriptor(directory); d.kind != DeviceFile::none && !d.stale) {
      disguise(d, &device);
      character_device(device.st_rdev);
    }
  }
  return result;
}

AQL_HOOK int access(const char* path, int mode) {
  AQL_REAL(access);
  struct stat info;
  if (stat_device(path, &info)) return (mode & X_OK) == 0 ? 0 : (errno = EACCES, -1);
  return real(Path{path}.get(), mode);
}

AQL_HOOK int faccessat(int directory, const char* path, int mode, int flags) {
  AQL_REAL(faccessat);
  struct stat info;
  if (stat_device(path, &info)) return (mode & X_OK) == 0 ? 0 : (errno = EACCES, -1);
  return real(directory, Path{path}.get(), mode, flags);
}

AQL_HOOK ssize_t readlink(const char* path, char* buffer, size_t size) {
  AQL_REAL(readlink);
  return real(Path{path}.get(), buffer, size);
}
