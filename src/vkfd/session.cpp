#include "vkfd/session.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "vkfd/process.hpp"

namespace aql::vkfd {
namespace {

constexpr std::string_view kRedirected[] = {"/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/module/amdgpu",
                                            "/sys/dev/char/226:", "/proc/modules"};
constexpr std::string_view kCpuCaches = "/sys/devices/system/node/node0/cpu";

// Device and inode of a parent's file.
struct StaleFile {
  std::uint64_t device, inode;
};

struct Session {
  std::mutex mutex;
  Config config;
  bool configured = false, usable = false;
  std::atomic<Process*> process{nullptr}; // never deleted: device threads live as long as the program
  std::vector<StaleFile> stale;
  bool fork_handlers = false;
};

Session& session() {
  static Session* s = new Session; // outlives static destructors of the program
  return *s;
}

const Config* config(Session& s) {
  if (!s.configured) {
    s.configured = true;
    auto made = config_from_environment();
    if (made) {
      s.config = std::move(*made);
      s.usable = true;
    } else {
      std::fprintf(stderr, "libaql-vkfd: %s\n", made.error().message().c_str());
    }
  }
  return s.usable ? &s.config : nullptr;
}

StaleFile identity_of_fd(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 ? StaleFile{info.st_dev, info.st_ino} : StaleFile{0, 0};
}

// A forked child has the memory of the parent's device but none of its threads: it starts anew.
void in_child() {
  Session& s = session();
  if (Process* parents = s.process.exchange(nullptr, std::memory_order_acq_rel)) {
    s.stale.push_back(identity_of_fd(parents->kfd_file().fd()));
    for (const auto& gpu : parents->gpus()) s.stale.push_back(identity_of_fd(gpu->memory.fd()));
  }
  s.mutex.unlock();
}

Process* process_for_open(Session& s) {
  const std::lock_guard lock{s.mutex};
  if (Process* made = s.process.load(std::memory_order_acquire)) return made;
  const Config* c = config(s);
  if (c == nullptr) return nullptr;
  auto made = Process::create(c->gpus);
  if (!made) {
    std::fprintf(stderr, "libaql-vkfd: %s\n", made.error().message().c_str());
    return nullptr;
  }
  if (!s.fork_handlers) {
    s.fork_handlers = true;
    pthread_atfork([] { session().mutex.lock(); }, [] { session().mutex.unlock(); }, in_child);
  }
  s.process.store(made->release(), std::memory_order_release);
  return s.process.load(std::memory_order_relaxed);
}

thread_local unsigned t_inside = 0;

} // namespace

Inside::Inside() noexcept { ++t_inside; }
Inside::~Inside() { --t_inside; }
bool Inside::now() noexcept { return t_inside != 0; }

std::string redirected(std::string_view path) {
  if (!path.starts_with("/sys/") && !path.starts_with("/proc/m")) return {};
  const bool caches = path.starts_with(kCpuCaches) && path.find("/cache") != std::string_view::npos;
  if (!caches && std::none_of(std::begin(kRedirected), std::end(kRedirected),
                              [path](std::string_view prefix) { return path.starts_with(prefix); }))
    return {};
  Session& s = session();
  const std::lock_guard lock{s.mutex};
  const Config* c = config(s);
  if (c == nullptr || c->root.empty()) return {};
  constexpr std::string_view kClass = "/sys/class/kfd";
  if (path.starts_with(kClass)) return c->root + "/sys/devices/virtual/kfd" + std::string{path.substr(kClass.size())};
  std::string ours = c->root + std::string{path};
  struct stat info;
  if (caches && stat(ours.c_str(), &info) != 0) return {}; // the host's are there
  return ours;
}

DevicePath device_path(std::string_view path) noexcept {
  if (!path.starts_with("/dev/")) return {};
  if (path == "/dev/kfd") return {DeviceFile::kfd, 0};
  constexpr std::string_view kRender = "/dev/dri/renderD";
  if (!path.starts_with(kRender)) return {};
  std::uint32_t minor = 0;
  const auto number = path.substr(kRender.size());
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), minor);
  if (error != std::errc{} || end != number.data() + number.size() || minor < 128) return {};
  return {DeviceFile::render, minor - 128};
}

int open_device(DevicePath device, int flags) {
  const Inside inside;
  Process* process = process_for_open(session());
  if (process == nullptr) {
    errno = ENODEV;
    return -1;
  }
  if (device.kind == DeviceFile::kfd) return process->kfd_file().open_again(flags);
  if (device.gpu >= process->gpus().size()) {
    errno = ENOENT;
    return -1;
  }
  return process->gpus()[device.gpu]->memory.open_again(flags);
}

Process* current_process() noexcept { return session().process.load(std::memory_order_acquire); }

Descriptor descriptor(int fd) noexcept {
  Session& s = session();
  Process* process = s.process.load(std::memory_order_acquire);
  if (process == nullptr && s.stale.empty()) return {};
  const Inside inside;
  struct stat info{};
  if (fstat(fd, &info) != 0) return {};
  if (process != nullptr) {
    if (process->kfd_file().is(info.st_dev, info.st_ino)) return {DeviceFile::kfd, false, process, nullptr};
    for (const auto& gpu : process->gpus()) {
      if (gpu->memory.is(info.st_dev, info.st_ino)) return {DeviceFile::render, false, process, gpu.get()};
    }
  }
  for (const StaleFile& old : s.stale) {
    if (old.device == info.st_dev && old.inode == info.st_ino) return {DeviceFile::kfd, true, nullptr, nullptr};
  }
  return {};
}

} // namespace aql::vkfd
