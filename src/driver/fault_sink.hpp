#pragma once
// Where the faults of one queue arrive: from the queue's own callback, from memory faults of its device, from inactivation. The
// first one is told, once; after close() none is.
// Thread safety: any thread. The receiver runs outside all locks, and may close the sink itself.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "driver/driver.hpp"

namespace aql::detail {

class FaultSink {
public:
  explicit FaultSink(std::function<void(const QueueFaultInfo&)> receiver) : receiver_(std::move(receiver)) {}

  void report(const QueueFaultInfo& info) {
    if (claim()) deliver(info);
  }

  // The two halves of report(), for a fault that is told elsewhere than where it is found. True: nobody else tells one, deliver() is
  // the caller's to do.
  [[nodiscard]] bool claim() {
    const std::lock_guard lock{mutex_};
    if (told_ || closed_) return false;
    told_ = true;
    return true;
  }
  void deliver(const QueueFaultInfo& info) {
    {
      const std::lock_guard lock{mutex_};
      if (closed_) return;
      teller_ = std::this_thread::get_id();
    }
    if (receiver_) receiver_(info);
    {
      const std::lock_guard lock{mutex_};
      teller_ = {};
    }
    ended_.notify_all();
  }

  // Returns when the receiver neither runs (on another thread) nor will run.
  void close() {
    std::unique_lock lock{mutex_};
    closed_ = true;
    ended_.wait(lock, [this] { return teller_ == std::thread::id{} || teller_ == std::this_thread::get_id(); });
  }

private:
  const std::function<void(const QueueFaultInfo&)> receiver_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread::id teller_{};
  bool told_ = false, closed_ = false;
};

} // namespace aql::detail
