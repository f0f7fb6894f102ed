#include <aql/version.hpp>

namespace aql {
Version version() noexcept { return {AQL_VERSION_MAJOR, AQL_VERSION_MINOR, AQL_VERSION_PATCH}; }
std::string_view version_string() noexcept { return AQL_VERSION; }
} // namespace aql
