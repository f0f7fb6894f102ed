#pragma once
// The `rocr` driver: devices, memory, signals and queues through AMD's HSA runtime. Packets go into the rings directly.
// Thread safety: as driver.hpp.

#include <memory>
#include <string_view>

#include <aql/device.hpp>

#include "driver/driver.hpp"

namespace aql::detail {

// Fills found and refused. Only called if /dev/kfd opens.
void list_rocr(DeviceList& list);
// `index` counts the runtime's GPU agents from 0.
[[nodiscard]] Result<std::shared_ptr<Driver>> open_rocr(std::string_view index);

namespace rocr {
class Runtime;
[[nodiscard]] Result<std::shared_ptr<Driver>> open(std::shared_ptr<Runtime> runtime, std::size_t index); // tests bring a runtime
} // namespace rocr

} // namespace aql::detail
