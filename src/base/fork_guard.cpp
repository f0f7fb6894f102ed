#include "base/fork_guard.hpp"

#include <atomic>

#include <pthread.h>

namespace aql::detail {
namespace {

std::atomic<std::uint32_t> g_generation{0};
void in_child() { g_generation.fetch_add(1, std::memory_order_relaxed); }
const int g_registered = pthread_atfork(nullptr, nullptr, in_child);

} // namespace

std::uint32_t fork_generation() noexcept {
  (void)g_registered;
  return g_generation.load(std::memory_order_relaxed);
}

Result<void> ForkGuard::check(std::string_view where) const {
  if (!forked()) return {};
  return std::unexpected(Error{Errc::forked, 0,
                               "this object was made before a fork and is used in the child, where its device and threads do not "
                               "exist; open the device in the child instead",
                               where});
}

} // namespace aql::detail
