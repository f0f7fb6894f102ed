#pragma once
// Queues of one agent.
// Thread safety: any thread.

#include <map>
#include <memory>
#include <mutex>

#include "driver/driver.hpp"
#include "driver/fault_sink.hpp"
#include "driver/rocr/fault_teller.hpp"
#include "driver/rocr/runtime.hpp"

namespace aql::detail::rocr {

class Queues {
public:
  Queues(const Runtime& runtime, const Agent& agent) : api_(runtime.api()), agent_(agent) {}
  ~Queues();

  Result<QueueView> create(const QueueRequest& request);
  Result<void> destroy(std::uint64_t id);
  Result<void> inactivate(std::uint64_t id);

private:
  // Lives as long as a callback may still use it: the runtime gets its address.
  struct Open {
    explicit Open(std::function<void(const QueueFaultInfo&)> receiver) : sink(std::make_shared<FaultSink>(std::move(receiver))) {}
    std::shared_ptr<FaultSink> sink;
    std::shared_ptr<FaultTeller::Desk> desk;
    std::unique_ptr<FaultListener> listener;
    hsa_queue_t* queue = nullptr;
    const HsaApi* api = nullptr;
  };
  static void on_error(hsa_status_t status, hsa_queue_t* queue, void* data);
  [[nodiscard]] Result<void> check(const QueueRequest& request) const;
  [[nodiscard]] Result<QueueView> adopt(Open& open, const QueueRequest& request);

  const HsaApi& api_;
  const Agent& agent_;
  FaultTeller teller_; // goes after the queues: the destructor destroys those that are left
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Open>> open_;
};

} // namespace aql::detail::rocr
