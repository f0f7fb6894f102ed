#pragma once
// The `kfd` driver: devices, memory, signals and queues through libhsakmt, with nothing of a runtime between us and the kernel
// driver. Code is placed by our own loader.
// Thread safety: as driver.hpp.

#include <memory>
#include <string_view>

#include <aql/device.hpp>

#include "driver/driver.hpp"

namespace aql::detail {

// Fills found and refused. Only called if /dev/kfd opens.
void list_kfd(DeviceList& list);
// `index` counts the GPUs of the KFD topology from 0.
[[nodiscard]] Result<std::shared_ptr<Driver>> open_kfd(std::string_view index);

} // namespace aql::detail
