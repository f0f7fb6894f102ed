#pragma once
// Environment variables, read as numbers or switches. A value that cannot be read is reported once and ignored.
// Thread safety: as getenv.

#include <cstdint>
#include <optional>
#include <string_view>

namespace aql::detail {

[[nodiscard]] std::optional<std::string_view> env_text(const char* name) noexcept; // unset or empty: nullopt
[[nodiscard]] std::optional<std::uint64_t> env_u64(const char* name);              // decimal or 0x...
[[nodiscard]] std::optional<bool> env_switch(const char* name);                    // 1/0, on/off, true/false, yes/no

} // namespace aql::detail
