#include "vkfd/note.hpp"

#include <utility>

#include "base/log.hpp"

namespace aql::vkfd {
namespace {

thread_local bool t_ended = false; // trivial: outlives the note

// Libraries shut down in destructors of static objects, when the main thread's note has gone: then there is none.
struct Note {
  std::string text;
  ~Note() { t_ended = true; }
};
thread_local Note t_note;

} // namespace

void note(std::string text) {
  log::debug("virtual KFD: " + text);
  if (!t_ended) t_note.text = std::move(text);
}

std::string take_note() { return t_ended ? std::string{} : std::exchange(t_note.text, {}); }

} // namespace aql::vkfd
