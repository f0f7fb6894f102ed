#include "driver/rocr/hsa_api.hpp"

#include <mutex>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::rocr {
namespace {

constexpr const char* kLibrary = "libhsa-runtime64.so.1";

Result<HsaApi> load() {
  const auto refuse = [](std::string text) { return std::unexpected(Error{Errc::unsupported, 0, std::move(text), "rocr"}); };
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return refuse(fmt::format("{} cannot be loaded ({}); install ROCm's HSA runtime (Debian: libhsa-runtime64-1)", kLibrary, why == nullptr ? "no reason given" : why));
  }
  HsaApi api;
  std::string missing;
#define AQL_HSA_LOOK_UP(name)                                                                                                      \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name));                                                          \
  if (api.name == nullptr) missing += missing.empty() ? #name : ", " #name;
  AQL_HSA_ENTRY_POINTS(AQL_HSA_LOOK_UP)
#undef AQL_HSA_LOOK_UP
  if (!missing.empty()) return refuse(fmt::format("{} lacks {}; ROCr 5.2.3 or later is needed", kLibrary, missing));
  log::debug(fmt::format("{} loaded", kLibrary));
  return api;
}

} // namespace

Result<const HsaApi*> load_hsa() {
  static std::mutex mutex;
  static std::optional<Result<HsaApi>> loaded;
  const std::lock_guard lock{mutex};
  if (!loaded) loaded = load();
  if (!*loaded) return std::unexpected(loaded->error());
  return &**loaded;
}

Errc errc_of(hsa_status_t status) noexcept {
  switch (static_cast<std::uint32_t>(status)) {
  case 0: return Errc::ok;
  case 0x1001: return Errc::invalid_argument;
  case 0x1002: return Errc::invalid_queue_creation;
  case 0x1003: return Errc::invalid_allocation;
  case 0x1004: return Errc::invalid_agent;
  case 0x1005: return Errc::invalid_argument; // region
  case 0x1006: return Errc::invalid_argument; // signal
  case 0x1007: return Errc::invalid_argument; // queue
  case 0x1008: return Errc::out_of_resources;
  case 0x1009: return Errc::invalid_packet_format;
  case 0x100B: return Errc::device_lost; // not initialised
  case 0x100D: return Errc::incompatible_arguments;
  case 0x100F: return Errc::invalid_isa;
  case 0x1010: return Errc::invalid_code_object;
  case 0x1013: return Errc::invalid_symbol_name;
  case 0x1016: return Errc::exception;
  case 0x1020: return Errc::invalid_file;
  case 40: return Errc::invalid_argument; // memory pool
  case 41: return Errc::memory_aperture_violation;
  case 42: return Errc::illegal_instruction;
  case 43: return Errc::memory_fault;
  case 45: return Errc::out_of_registers;
  default: return Errc::system_error;
  }
}

std::string describe(const HsaApi& api, hsa_status_t status) {
  const char* text = nullptr;
  if (api.hsa_status_string(status, &text) == HSA_STATUS_SUCCESS && text != nullptr) return fmt::format("hsa status {:#x}, {}", static_cast<unsigned>(status), text);
  return fmt::format("hsa status {:#x}", static_cast<unsigned>(status));
}

Error failure(const HsaApi& api, hsa_status_t status, std::string what, const char* where) {
  return Error{errc_of(status), 0, fmt::format("{}: {}", what, describe(api, status)), where};
}

} // namespace aql::detail::rocr
