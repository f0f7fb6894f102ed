#pragma once
// Arguments and results of KFD ioctls as text.
// Thread safety: no shared state.

#include <string>

#include "vkfd/ioctl_table.hpp"

namespace aql::vkfd {

// Fields that go in ("gpu_id=50123, size=0x1000"), or those that come out (" -> handle=0x...").
[[nodiscard]] std::string describe_arguments(const IoctlRow& row, const void* args, bool results);
[[nodiscard]] std::string error_name(int error);

} // namespace aql::vkfd
