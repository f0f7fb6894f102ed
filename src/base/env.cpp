#include "base/env.hpp"

#include <charconv>
#include <cstdlib>
#include <string>

#include "base/log.hpp"

namespace aql::detail {

std::optional<std::string_view> env_text(const char* name) noexcept {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return std::nullopt;
  return std::string_view{text};
}

std::optional<std::uint64_t> env_u64(const char* name) {
  const auto text = env_text(name);
  if (!text) return std::nullopt;
  std::string_view digits = *text;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    log::warn(std::string{name} + "='" + std::string{*text} + "' is not a number; ignored");
    return std::nullopt;
  }
  return value;
}

std::optional<bool> env_switch(const char* name) {
  const auto text = env_text(name);
  if (!text) return std::nullopt;
  if (*text == "1" || *text == "on" || *text == "true" || *text == "yes") return true;
  if (*text == "0" || *text == "off" || *text == "false" || *text == "no") return false;
  log::warn(std::string{name} + "='" + std::string{*text} + "' is neither on nor off (1, 0, on, off, true, false, yes, no); ignored");
  return std::nullopt;
}

} // namespace aql::detail
