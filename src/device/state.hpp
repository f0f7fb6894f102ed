#pragma once
// What one opened device consists of, shared by everything made from it.

#include <memory>

#include <aql/device.hpp>

#include "base/fork_guard.hpp"
#include "driver/driver.hpp"
#include "memory/registry.hpp"

namespace aql::detail {

class LoadedCode; // src/kernel: names of loaded code

struct DeviceState {
  std::shared_ptr<Driver> driver;
  MemoryRegistry memory;
  ForkGuard fork;
  std::mutex code_mutex;
  std::shared_ptr<LoadedCode> code; // made by the first module

  DeviceState() = default;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState() {
    // In a forked child the driver's threads do not exist: joining them would never end. The parent owns the device.
    if (fork.forked()) new std::shared_ptr<Driver>(std::move(driver));
  }
};

} // namespace aql::detail
