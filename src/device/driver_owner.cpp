#include "device/driver_owner.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/fork_guard.hpp"
#include "base/log.hpp"

namespace aql::detail {
namespace {

// Threads on which drivers end. The process waits for them at its exit: what drivers use goes soon after. Never destroyed, because
// threads of drivers may come here at any time; who comes during the exit leaves its driver open.
class Endings {
public:
  void add(std::shared_ptr<Driver> driver) {
    auto* const last = new std::shared_ptr<Driver>(std::move(driver)); // not in the thread's function: that is destroyed here if no thread starts
    try {
      const std::lock_guard lock{mutex_};
      if (!exiting_) threads_.emplace_back([last] { delete last; });
    } catch (const std::system_error& e) {
      log::error(fmt::format("a device stays open, because there is no thread to close it on: {}", e.what()));
    }
  }

  void wait_at_exit() {
    if (fork_.forked()) return; // they are the parent's
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock{mutex_};
      exiting_ = true;
      threads.swap(threads_);
    }
    for (auto& thread : threads) thread.join();
  }

private:
  const ForkGuard fork_;
  std::mutex mutex_;
  bool exiting_ = false;
  std::vector<std::thread> threads_;
};

Endings& endings() {
  struct AtExit {
    Endings& all;
    ~AtExit() { all.wait_at_exit(); }
  };
  static Endings& all = *new Endings;
  static const AtExit at_exit{all};
  return all;
}

} // namespace

int& DriverCallback::depth() noexcept {
  static thread_local int depth = 0;
  return depth;
}

std::shared_ptr<Driver> own(std::shared_ptr<Driver> driver) {
  Driver* const plain = driver.get();
  return {plain, [kept = std::move(driver)](Driver*) mutable {
            if (!DriverCallback::under_way()) return kept.reset(); // now: weak references may keep this function
            endings().add(std::move(kept));
          }};
}

} // namespace aql::detail
