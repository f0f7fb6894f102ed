#include "driver/rocr/fault_teller.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace aql::detail::rocr {

class FaultTeller::Desk {
public:
  struct Pending {
    std::shared_ptr<FaultSink> sink;
    QueueFaultInfo info;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Pending> pending;
  bool closing = false;
  std::thread thread;

  void run() {
    std::unique_lock lock{mutex};
    for (;;) {
      changed.wait(lock, [this] { return closing || !pending.empty(); });
      if (closing) return;
      Pending next = std::move(pending.front());
      pending.pop_front();
      lock.unlock();
      next.sink->deliver(next.info);
      next.sink.reset(); // what the receiver holds goes outside the lock
      lock.lock();
    }
  }
};

FaultTeller::FaultTeller() : desk_(std::make_shared<Desk>()) {}

Result<void> FaultTeller::start() {
  const std::lock_guard lock{desk_->mutex};
  if (desk_->thread.joinable()) return {};
  try {
    desk_->thread = std::thread{[desk = desk_] { desk->run(); }}; // its first step waits for our lock
  } catch (const std::system_error& e) {
    return std::unexpected(Error{Errc::out_of_resources, e.code().value(), fmt::format("no thread for the faults of queues: {}", e.what()), "create_queue"});
  }
  return {};
}

FaultTeller::~FaultTeller() {
  std::deque<Desk::Pending> dropped;
  {
    const std::lock_guard lock{desk_->mutex};
    desk_->closing = true;
    dropped.swap(desk_->pending);
  }
  desk_->changed.notify_all();
  if (!desk_->thread.joinable()) return;
  if (desk_->thread.get_id() == std::this_thread::get_id()) desk_->thread.detach(); // it ends after this receiver, and holds the desk
  else desk_->thread.join();
}

void FaultTeller::tell(Desk& desk, std::shared_ptr<FaultSink> sink, QueueFaultInfo info) {
  {
    const std::lock_guard lock{desk.mutex};
    if (desk.closing || !sink->claim()) return;
    desk.pending.push_back({std::move(sink), std::move(info)});
  }
  desk.changed.notify_all();
}

} // namespace aql::detail::rocr
