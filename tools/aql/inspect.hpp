#pragma once
// What `aql inspect` reports: one JSON document, and the same for people. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <aql/bundle.hpp>
#include <aql/code_object.hpp>

#include "loader/occupancy.hpp"
#include "sim/cp/profile.hpp"

namespace aql::tool {

struct InspectOptions {
  const sim::DeviceProfile* product = nullptr; // null: the first product that can run the code object
  std::uint32_t group_size = 0;                // work-items for the occupancy; 0: the kernel's own maximum
  std::uint64_t dynamic_lds = 0;
};

// Occupancy of one kernel on one product.
struct KernelOccupancy {
  const sim::DeviceProfile* product = nullptr;
  loader::OccupancyRequest request;
  loader::Occupancy result;
};

// The products whose devices can run this target.
[[nodiscard]] std::vector<const sim::DeviceProfile*> products_for(const TargetId& target);
// Nothing if no known product runs the target, or the chosen one does not.
[[nodiscard]] std::optional<KernelOccupancy> kernel_occupancy(const CodeObject& object, const KernelInfo& kernel,
                                                              const InspectOptions& options);

[[nodiscard]] nlohmann::json to_json(const CodeObject& object, const InspectOptions& options);
[[nodiscard]] nlohmann::json to_json(const Bundle& bundle);
[[nodiscard]] std::string to_text(const CodeObject& object, const InspectOptions& options);
[[nodiscard]] std::string to_text(const Bundle& bundle);

} // namespace aql::tool
