#pragma once
// Version of the library that is linked (not of the headers).

#include <cstdint>
#include <string_view>

#include <aql/export.hpp>

namespace aql {

struct Version {
  std::uint32_t major, minor, patch;
};
[[nodiscard]] AQL_API Version version() noexcept;
[[nodiscard]] AQL_API std::string_view version_string() noexcept; // "0.1.0"

} // namespace aql
