#include "base/log.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace aql::log {
namespace {

// AQL_LOG is looked at without touching spdlog, so that a quiet process never pays for a logger.
Level threshold(bool& off) noexcept {
  static const struct Setting {
    Level level = Level::warn;
    bool off = false;
  } setting = [] {
    Setting s;
    const char* text = std::getenv("AQL_LOG");
    const std::string_view value = text == nullptr ? "" : text;
    if (value == "trace") s.level = Level::trace;
    else if (value == "debug") s.level = Level::debug;
    else if (value == "info") s.level = Level::info;
    else if (value == "error") s.level = Level::error;
    else if (value == "off") s.off = true;
    return s;
  }();
  off = setting.off;
  return setting.level;
}

spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto* made = new spdlog::logger("aql", std::move(sink)); // lives as long as the process: usable in static destructors
    made->set_pattern("%n %l: %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

} // namespace

bool enabled(Level level) noexcept {
  bool off = false;
  return level >= threshold(off) && !off;
}

void write(Level level, std::string_view text) noexcept {
  if (!enabled(level)) return;
  const spdlog::string_view_t view{text.data(), text.size()};
  switch (level) {
  case Level::trace: logger().log(spdlog::level::trace, view); break;
  case Level::debug: logger().log(spdlog::level::debug, view); break;
  case Level::info: logger().log(spdlog::level::info, view); break;
  case Level::warn: logger().log(spdlog::level::warn, view); break;
  case Level::error: logger().log(spdlog::level::err, view); break;
  }
}

} // namespace aql::log
