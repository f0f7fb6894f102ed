#pragma once
// Why a call was refused: kept for the trace line of the call under way, and logged at debug level.
// Thread safety: each thread has its own note.

#include <string>

#include <fmt/format.h>

namespace aql::vkfd {

void note(std::string text);
[[nodiscard]] std::string take_note();

// Returns `error`, with the reason noted.
template <class... Args>
int refuse(int error, fmt::format_string<Args...> format, Args&&... args) {
  note(fmt::format(format, std::forward<Args>(args)...));
  return error;
}

} // namespace aql::vkfd
