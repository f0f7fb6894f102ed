#pragma once
// An HSA signal object in memory that device and host see, as a driver hands it out. Plain data.

#include <cstdint>

#include <aql/abi/signal.hpp>

namespace aql::detail {

struct SignalView {
  abi::AmdSignal* object = nullptr;      // host address
  std::uint64_t handle = 0;              // what packets carry: the device address
  void (*notify)(void*) noexcept = nullptr; // after a host store/RMW: wakes whoever sleeps on it; null on hardware
  void* notify_arg = nullptr;
  std::uint64_t cookie = 0;              // driver-private
};

} // namespace aql::detail
