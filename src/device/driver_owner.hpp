#pragma once
// Owns a driver, wherever its last user lets go of it. Drivers end their threads when they go, so none may go on one of those: there
// it is handed to a thread that exists for that only.
// Thread safety: any thread.

#include <memory>

#include "driver/driver.hpp"

namespace aql::detail {

// While one exists, this thread may be a driver's: it calls back into us.
class DriverCallback {
public:
  DriverCallback() noexcept { ++depth(); }
  ~DriverCallback() { --depth(); }
  DriverCallback(const DriverCallback&) = delete;
  DriverCallback& operator=(const DriverCallback&) = delete;
  [[nodiscard]] static bool under_way() noexcept { return depth() != 0; }

private:
  static int& depth() noexcept;
};

// The same driver; what is returned has to be the only reference.
[[nodiscard]] std::shared_ptr<Driver> own(std::shared_ptr<Driver> driver);

} // namespace aql::detail
