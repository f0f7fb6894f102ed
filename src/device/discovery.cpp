#include "device/discovery.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/env.hpp"
#include "base/log.hpp"
#if defined(AQL_HAVE_KFD)
#include "driver/kfd/kfd_driver.hpp"
#endif
#if defined(AQL_HAVE_ROCR)
#include "driver/rocr/rocr_driver.hpp"
#endif
#include "driver/sim/sim_driver.hpp"
#include "sim/cp/profile.hpp"

namespace aql::detail {
namespace {

// Vendor libraries are loaded only if the kernel driver answers: starting on the software GPU costs one failed open.
std::string no_kernel_driver() {
  const int fd = ::open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    return {};
  }
  return fmt::format("/dev/kfd cannot be opened ({}): no amdgpu kernel driver, or no permission (group render)", std::strerror(errno));
}

// A driver that this build may hold. `list` fills found or refused.
struct HardwareDriver {
  const char* name;
  void (*list)(DeviceList&);
  Result<std::shared_ptr<Driver>> (*open)(std::string_view index);
};

// Drivers of this build, in order of preference; filled in by src/driver/rocr and src/driver/kfd when they are built.
std::vector<HardwareDriver> hardware_drivers() {
  std::vector<HardwareDriver> drivers;
#if defined(AQL_HAVE_ROCR)
  drivers.push_back({"rocr", &list_rocr, &open_rocr});
#endif
#if defined(AQL_HAVE_KFD)
  drivers.push_back({"kfd", &list_kfd, &open_kfd});
#endif
  return drivers;
}

void list_hardware(DeviceList& list) {
  const auto reason = no_kernel_driver();
  const auto drivers = hardware_drivers();
  for (const char* name : {"rocr", "kfd"}) {
    const auto found = std::find_if(drivers.begin(), drivers.end(), [&](const HardwareDriver& d) { return std::string_view{d.name} == name; });
    if (found == drivers.end()) {
      list.refused.push_back({name, "this build has no such driver"});
    } else if (!reason.empty()) {
      list.refused.push_back({name, reason});
    } else {
      found->list(list);
    }
  }
}

Result<Resolved> resolve_sim(std::string_view product, const Select& select) {
  if (product.empty()) product = "gfx942";
  const auto* profile = sim::find_profile(product);
  auto options = select.sim;
  const std::string name{product};
  auto open = [name, options] { return open_sim(name, options); };
  if (profile == nullptr) {
    auto failed = open();
    return std::unexpected(failed.error());
  }
  return Resolved{fmt::format("sim:{}", profile->name), std::move(open)};
}

Result<Resolved> resolve_selector(std::string_view selector, const Select& select) {
  const auto colon = selector.find(':');
  const auto driver = selector.substr(0, colon);
  const auto rest = colon == std::string_view::npos ? std::string_view{} : selector.substr(colon + 1);
  if (driver == "sim") return resolve_sim(rest, select);
  if (driver == "rocr" || driver == "kfd") {
    for (const auto& hardware : hardware_drivers()) {
      if (driver != hardware.name) continue;
      if (const auto reason = no_kernel_driver(); !reason.empty()) {
        return std::unexpected(Error{Errc::unsupported, 0, fmt::format("{} cannot be used: {}", selector, reason), "Device::open"});
      }
      const std::string index{rest.empty() ? "0" : rest};
      return Resolved{fmt::format("{}:{}", driver, index), [open = hardware.open, index] { return open(index); }};
    }
    return std::unexpected(Error{Errc::unsupported, 0, fmt::format("this build of aql has no {} driver; its library was missing when aql was built", driver), "Device::open"});
  }
  return std::unexpected(Error{Errc::invalid_argument, 0,
                               fmt::format("'{}' names no driver; use sim, sim:TARGET, sim:PRODUCT, rocr:N or kfd:N (aql info lists what is here)", selector), "Device::open"});
}

} // namespace

DeviceList discover() {
  DeviceList list;
  list_hardware(list);
  for (auto& info : list_sim()) list.found.push_back(std::move(info));
  return list;
}

Result<Resolved> resolve(const Select& select) {
  if (!select.selector.empty()) return resolve_selector(select.selector, select);
  if (const auto chosen = env_text("AQL_DEVICE")) {
    log::info(fmt::format("device {} taken: AQL_DEVICE names it", *chosen));
    return resolve_selector(*chosen, select);
  }
  DeviceList list;
  list_hardware(list);
  for (const auto& info : list.found) {
    if (!select.target.empty() && info.target != select.target) {
      list.refused.push_back({info.selector, fmt::format("it is {}, the code wants {}", info.target, select.target)});
      continue;
    }
    log::info(fmt::format("device {} ({}) taken", info.selector, info.name));
    return resolve_selector(info.selector, select);
  }
  if (log::enabled(log::Level::info)) {
    for (const auto& refusal : list.refused) log::info(fmt::format("{} refused: {}", refusal.selector, refusal.reason));
    log::info(fmt::format("software GPU taken ({})", select.target.empty() ? "gfx942" : select.target));
  }
  return resolve_sim(select.target, select);
}

} // namespace aql::detail
