#pragma once
// The thread on which receivers hear of their queues' faults. The HSA runtime finds these on its one thread for events, and
// hsa_queue_destroy waits for that thread: a receiver that ran there could destroy no other queue.
// Thread safety: any thread. Destroyed once no queue of it is left; a receiver may do that.

#include <memory>

#include "driver/fault_sink.hpp"

namespace aql::detail::rocr {

class FaultTeller {
public:
  // What a callback of the runtime holds: it may outlive the teller, and its faults are dropped then.
  class Desk;

  FaultTeller();
  ~FaultTeller();
  FaultTeller(const FaultTeller&) = delete;
  FaultTeller& operator=(const FaultTeller&) = delete;

  // Starts the thread, once. Errors: out_of_resources.
  [[nodiscard]] Result<void> start();
  [[nodiscard]] const std::shared_ptr<Desk>& desk() const noexcept { return desk_; }
  // Faults are told in the order in which they came. Those of a sink that is closed before its turn are not.
  static void tell(Desk& desk, std::shared_ptr<FaultSink> sink, QueueFaultInfo info);

private:
  const std::shared_ptr<Desk> desk_;
};

} // namespace aql::detail::rocr
