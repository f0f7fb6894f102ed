#pragma once
// Logging for cold paths; spdlog stays behind log.cpp. Level from AQL_LOG (trace, debug, info, warn, error, off; default warn).
// Thread safety: all functions may be called from any thread.

#include <string_view>

namespace aql::log {
enum class Level { trace, debug, info, warn, error };
[[nodiscard]] bool enabled(Level level) noexcept;
void write(Level level, std::string_view text) noexcept;
inline void debug(std::string_view text) noexcept { write(Level::debug, text); }
inline void info(std::string_view text) noexcept { write(Level::info, text); }
inline void warn(std::string_view text) noexcept { write(Level::warn, text); }
inline void error(std::string_view text) noexcept { write(Level::error, text); }
} // namespace aql::log
