#include "driver/kfd_claim.hpp"

#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace aql::detail {
namespace {

struct Holder {
  std::mutex mutex;
  const char* driver = nullptr;
  unsigned claims = 0;
};

Holder& holder() {
  static auto* const instance = new Holder; // outlives static destructors
  return *instance;
}

} // namespace

Result<KfdClaim> KfdClaim::take(const char* driver) {
  auto& h = holder();
  const std::lock_guard lock{h.mutex};
  if (h.claims != 0 && std::string_view{h.driver} != driver) {
    return std::unexpected(Error{Errc::unsupported, 0,
                                 fmt::format("the {} driver is open in this process, and both talk to /dev/kfd through a library whose state is the process's; close its "
                                             "devices first, or use a process for each",
                                             h.driver),
                                 driver});
  }
  h.driver = driver;
  ++h.claims;
  KfdClaim claim;
  claim.held_ = true;
  return claim;
}

KfdClaim::KfdClaim(KfdClaim&& other) noexcept : held_(std::exchange(other.held_, false)) {}

KfdClaim& KfdClaim::operator=(KfdClaim&& other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}

KfdClaim::~KfdClaim() {
  if (!held_) return;
  auto& h = holder();
  const std::lock_guard lock{h.mutex};
  --h.claims;
}

} // namespace aql::detail
