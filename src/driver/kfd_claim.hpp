#pragma once
// At most one of the hardware drivers talks to /dev/kfd in a process: `rocr` and `kfd` both bring a thunk, whose state is the
// process's. Whoever comes second is refused with the reason.
// Thread safety: any thread.

#include <aql/error.hpp>

namespace aql::detail {

class KfdClaim {
public:
  // `driver` is a static string. Claims of the same driver add up. Errors: unsupported, naming the driver that holds it.
  [[nodiscard]] static Result<KfdClaim> take(const char* driver);
  KfdClaim() noexcept = default;
  KfdClaim(KfdClaim&& other) noexcept;
  KfdClaim& operator=(KfdClaim&& other) noexcept;
  ~KfdClaim();

private:
  bool held_ = false;
};

} // namespace aql::detail
