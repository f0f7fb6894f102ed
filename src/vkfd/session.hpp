#pragma once
// The preload library's state: which files are virtual, and the Process behind them. Nothing here is made before a program asks
// for a virtual file, because the library is loaded into every program and shell below `aql vgpu`.
// Thread safety: all may be called from any thread, also before static initialisers of this library have run, and after fork.

#include <cstdint>
#include <string>
#include <string_view>

namespace aql::vkfd {

class Process;
struct GpuContext;

// Path of a real file to open instead of `path`, or empty: not one of ours.
[[nodiscard]] std::string redirected(std::string_view path);

enum class DeviceFile : std::uint8_t { none, kfd, render };
struct DevicePath {
  DeviceFile kind = DeviceFile::none;
  std::uint32_t gpu = 0; // index
};
[[nodiscard]] DevicePath device_path(std::string_view path) noexcept;
// A new descriptor, or -1 and errno.
[[nodiscard]] int open_device(DevicePath device, int flags);

struct Descriptor {
  DeviceFile kind = DeviceFile::none;
  bool stale = false; // of the parent process
  Process* process = nullptr;
  GpuContext* gpu = nullptr;
};
[[nodiscard]] Descriptor descriptor(int fd) noexcept;

// The process, or null if nobody has opened a device file.
[[nodiscard]] Process* current_process() noexcept;

// Calls of this library's own code pass the hooks untouched.
class Inside {
public:
  Inside() noexcept;
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  [[nodiscard]] static bool now() noexcept;
};

} // namespace aql::vkfd
