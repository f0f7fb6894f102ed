#include "driver/kfd/thunk.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

Result<Thunk> load() {
  Thunk thunk;
#if defined(AQL_KFD_LINKED)
#define AQL_KFD_TAKE(name) thunk.name = &::name;
  AQL_KFD_ENTRY_POINTS(AQL_KFD_TAKE)
#undef AQL_KFD_TAKE
  return thunk;
#else
  constexpr const char* kLibrary = "libhsakmt.so.1";
  const auto refuse = [](std::string text) { return std::unexpected(Error{Errc::unsupported, 0, std::move(text), "kfd"}); };
  // Runtimes of ROCm 6.3 and later hold a thunk of their own, and two thunks would both open queues, events and memory of the one
  // address space that /dev/kfd gives to a process.
  if (void* runtime = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(runtime);
    void* shared = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
    if (shared == nullptr) return refuse("this process has an HSA runtime with a thunk of its own; use rocr here, or kfd in a process without the HSA runtime");
    dlclose(shared);
  }
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return refuse(fmt::format("{} cannot be loaded ({}); install it (Debian: libhsakmt1), or build aql with -DAQL_KFD_THUNK=/path/libhsakmt.a", kLibrary,
                              why == nullptr ? "no reason given" : why));
  }
  std::string missing;
#define AQL_KFD_LOOK_UP(name)                                                      \
  thunk.name = reinterpret_cast<decltype(thunk.name)>(dlsym(library, #name));      \
  if (thunk.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  AQL_KFD_ENTRY_POINTS(AQL_KFD_LOOK_UP)
#undef AQL_KFD_LOOK_UP
  if (!missing.empty()) return refuse(fmt::format("{} lacks {}; version 5.2.3 or later is needed", kLibrary, missing));
  log::debug(fmt::format("{} loaded", kLibrary));
  return thunk;
#endif
}

const char* name_of(HSAKMT_STATUS status) noexcept {
  switch (status) {
  case HSAKMT_STATUS_SUCCESS: return "success";
  case HSAKMT_STATUS_ERROR: return "error";
  case HSAKMT_STATUS_DRIVER_MISMATCH: return "the kernel driver does not match the library";
  case HSAKMT_STATUS_INVALID_PARAMETER: return "invalid parameter";
  case HSAKMT_STATUS_INVALID_HANDLE: return "invalid handle";
  case HSAKMT_STATUS_INVALID_NODE_UNIT: return "invalid node";
  case HSAKMT_STATUS_NO_MEMORY: return "no memory";
  case HSAKMT_STATUS_BUFFER_TOO_SMALL: return "buffer too small";
  case HSAKMT_STATUS_NOT_IMPLEMENTED: return "not implemented";
  case HSAKMT_STATUS_NOT_SUPPORTED: return "not supported";
  case HSAKMT_STATUS_UNAVAILABLE: return "not available now";
  case HSAKMT_STATUS_OUT_OF_RESOURCES: return "out of resources";
  case HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED: return "/dev/kfd is not open";
  case HSAKMT_STATUS_KERNEL_COMMUNICATION_ERROR: return "communication with the kernel failed";
  case HSAKMT_STATUS_KERNEL_ALREADY_OPENED: return "already open";
  case HSAKMT_STATUS_WAIT_FAILURE: return "wait failed";
  case HSAKMT_STATUS_WAIT_TIMEOUT: return "wait timed out";
  case HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED: return "memory registered already";
  case HSAKMT_STATUS_MEMORY_NOT_REGISTERED: return "memory not registered";
  case HSAKMT_STATUS_MEMORY_ALIGNMENT: return "wrong alignment";
  default: return "status";
  }
}

// The field is newer than the headers of 5.2.3, where these are the first reserved bytes.
template <class Properties>
std::uint32_t count_of(const Properties& properties) noexcept {
  if constexpr (requires { properties.NumXcc; }) {
    return properties.NumXcc;
  } else {
    std::uint32_t count = 0;
    static_assert(sizeof properties.Reserved >= sizeof count && offsetof(Properties, Reserved) == offsetof(Properties, SGPRSizePerCU) + 4);
    std::memcpy(&count, properties.Reserved, sizeof count);
    return count;
  }
}

} // namespace

Result<const Thunk*> load_thunk() {
  static std::mutex mutex;
  static std::optional<Result<Thunk>> loaded;
  const std::lock_guard lock{mutex};
  // A refusal is not kept: its reason may go away.
  if (!loaded || !*loaded) loaded = load();
  if (!*loaded) return std::unexpected(loaded->error());
  return &**loaded;
}

Errc errc_of(HSAKMT_STATUS status) noexcept {
  switch (status) {
  case HSAKMT_STATUS_SUCCESS: return Errc::ok;
  case HSAKMT_STATUS_INVALID_PARAMETER:
  case HSAKMT_STATUS_INVALID_HANDLE:
  case HSAKMT_STATUS_MEMORY_ALREADY_REGISTERED:
  case HSAKMT_STATUS_MEMORY_NOT_REGISTERED:
  case HSAKMT_STATUS_MEMORY_ALIGNMENT: return Errc::invalid_argument;
  case HSAKMT_STATUS_INVALID_NODE_UNIT: return Errc::invalid_agent;
  case HSAKMT_STATUS_NO_MEMORY:
  case HSAKMT_STATUS_OUT_OF_RESOURCES: return Errc::out_of_resources;
  case HSAKMT_STATUS_DRIVER_MISMATCH:
  case HSAKMT_STATUS_NOT_IMPLEMENTED:
  case HSAKMT_STATUS_NOT_SUPPORTED:
  case HSAKMT_STATUS_UNAVAILABLE: return Errc::unsupported;
  case HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED:
  case HSAKMT_STATUS_KERNEL_COMMUNICATION_ERROR: return Errc::device_lost;
  case HSAKMT_STATUS_WAIT_TIMEOUT: return Errc::timeout;
  default: return Errc::system_error;
  }
}

std::string describe(HSAKMT_STATUS status) { return fmt::format("{} ({})", name_of(status), static_cast<int>(status)); }

Error failure(HSAKMT_STATUS status, std::string what, const char* where) { return Error{errc_of(status), 0, fmt::format("{}: libhsakmt says '{}'", what, describe(status)), where}; }

std::uint32_t xcc_count(const HsaNodeProperties& properties) noexcept { return count_of(properties); }

} // namespace aql::detail::kfd
