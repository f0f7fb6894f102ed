#include <aql/device.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/env.hpp"
#include "base/log.hpp"
#include "device/discovery.hpp"
#include "device/driver_owner.hpp"
#include "device/state.hpp"

namespace aql {
namespace {

// Opens of the same selector share a device, as they would on hardware. The map holds no device alive.
std::mutex g_mutex;
std::map<std::string, std::weak_ptr<detail::DeviceState>, std::less<>>& open_devices() {
  static std::map<std::string, std::weak_ptr<detail::DeviceState>, std::less<>> map;
  return map;
}

Error classify_error(const char* what, const detail::MemoryRegistry::RangeInfo& info) {
  return Error{Errc::invalid_argument, 0, fmt::format("{} of the copy: {}", what, info.text), "copy"};
}

} // namespace

DeviceList devices() { return detail::discover(); }

Result<Device> Device::open(std::string_view selector) {
  Select select;
  select.selector = selector;
  return open(select);
}

Result<Device> Device::open(const Select& select) {
  auto resolved = detail::resolve(select);
  if (!resolved) return std::unexpected(resolved.error());
  const std::lock_guard lock{g_mutex};
  auto& known = open_devices();
  if (!select.exclusive) {
    if (const auto found = known.find(resolved->canonical); found != known.end()) {
      if (auto state = found->second.lock(); state && !state->fork.forked()) return Device{std::move(state)};
    }
  }
  auto driver = resolved->open();
  if (!driver) return std::unexpected(driver.error());
  auto state = std::make_shared<detail::DeviceState>();
  state->driver = detail::own(std::move(*driver));
  if (!select.exclusive) known[resolved->canonical] = state;
  return Device{std::move(state)};
}

const DeviceInfo& Device::info() const noexcept { return state_->driver->info(); }
std::shared_ptr<detail::Driver> Device::driver() const noexcept { return state_->driver; }

Result<void> Device::copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) const {
  if (auto alive = state_->fork.check("copy"); !alive) return alive;
  if (size_bytes == 0) return {};
  using Range = detail::MemoryRegistry::Range;
  const auto to = state_->memory.classify(dst, size_bytes);
  const auto from = state_->memory.classify(src, size_bytes);
  if (to.range == Range::straddles || to.range == Range::freed) return std::unexpected(classify_error("destination", to));
  if (from.range == Range::straddles || from.range == Range::freed) return std::unexpected(classify_error("source", from));
  if (dst < src + size_bytes && src < dst + size_bytes) {
    return std::unexpected(Error{Errc::invalid_argument, 0,
                                 fmt::format("source {:#x} and destination {:#x} overlap within {} bytes; copy through a third buffer", src, dst, size_bytes), "copy"});
  }
  return state_->driver->copy(dst, src, size_bytes);
}

Result<void> Device::copy_to_device(std::uint64_t dst, const void* src, std::size_t size_bytes) const {
  return copy(dst, reinterpret_cast<std::uint64_t>(src), size_bytes);
}

Result<void> Device::copy_to_host(void* dst, std::uint64_t src, std::size_t size_bytes) const {
  return copy(reinterpret_cast<std::uint64_t>(dst), src, size_bytes);
}

Result<void> Device::fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) const {
  if (auto alive = state_->fork.check("fill32"); !alive) return alive;
  if (count == 0) return {};
  if (dst % 4 != 0) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("destination {:#x} is not 4-byte aligned", dst), "fill32"});
  if (count > ~std::size_t{0} / 4) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{} dwords do not fit the address space", count), "fill32"});
  using Range = detail::MemoryRegistry::Range;
  const auto to = state_->memory.classify(dst, count * 4);
  if (to.range == Range::outside) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("destination {:#x} is no memory of this device", dst), "fill32"});
  }
  if (to.range != Range::inside) return std::unexpected(classify_error("destination", to));
  return state_->driver->fill32(dst, pattern, count);
}

Result<PointerInfo> Device::pointer_info(std::uint64_t address) const { return state_->memory.query(address); }
std::uint64_t Device::timestamp() const noexcept { return state_->driver->timestamp(); }
std::int64_t Device::to_host_ns(std::uint64_t ticks) const noexcept { return state_->driver->to_host_ns(ticks); }

} // namespace aql
