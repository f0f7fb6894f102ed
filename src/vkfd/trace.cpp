#include "vkfd/trace.hpp"

#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/env.hpp"

namespace aql::vkfd {
namespace {

int trace_file() noexcept {
  static const int fd = [] {
    const auto path = detail::env_text("AQL_VKFD_TRACE");
    return path ? open(std::string{*path}.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  }();
  return fd;
}

} // namespace

bool tracing() noexcept { return trace_file() >= 0; }

void trace(const std::string& text) {
  if (!tracing()) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string line = fmt::format("{}.{:06} {} {} {}\n", now.tv_sec, now.tv_nsec / 1000, getpid(), syscall(SYS_gettid), text);
  (void)!write(trace_file(), line.data(), line.size());
}

} // namespace aql::vkfd
