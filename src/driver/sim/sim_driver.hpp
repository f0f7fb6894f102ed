#pragma once
// The `sim` driver: memory, signals and queues of a software GPU in this process.

#include <memory>

#include <aql/device.hpp>

#include "driver/driver.hpp"

namespace aql::sim {
class Gpu;
}

namespace aql::detail {

// What `text` after "sim:" may be: a target ("gfx942"), a product ("MI210"), or empty (gfx942).
[[nodiscard]] Result<std::shared_ptr<Driver>> open_sim(std::string_view text, const SimOptions& options);
// The software GPU behind a driver, for traces and fidelity counts; null if it is another driver.
[[nodiscard]] sim::Gpu* sim_gpu(Driver& driver) noexcept;
// One entry for each product, without opening anything.
[[nodiscard]] std::vector<DeviceInfo> list_sim();

} // namespace aql::detail
