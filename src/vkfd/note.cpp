#include "vkfd/note.hpp"

#include <utility>

#include "base/log.hpp"

namespace aql::vkfd {
namespace {
thread_local std::string t_note;
}

void note(std::string text) {
  log::debug("virtual KFD: " + text);
  t_note = std::move(text);
}

std::string take_note() { return std::exchange(t_note, {}); }

} // namespace aql::vkfd
