#pragma once
// Which devices there are, and which one a selector means.

#include <functional>
#include <memory>
#include <string>

#include <aql/device.hpp>

#include "driver/driver.hpp"

namespace aql::detail {

[[nodiscard]] DeviceList discover();

struct Resolved {
  std::string canonical; // "sim:MI300X", "rocr:0": equal for equal devices
  std::function<Result<std::shared_ptr<Driver>>()> open;
};

// Applies AQL_DEVICE and the order rocr, kfd, sim. The log (level info) says what was taken and why others were refused.
[[nodiscard]] Result<Resolved> resolve(const Select& select);

} // namespace aql::detail
