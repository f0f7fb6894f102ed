#pragma once
// The queues of one device, and what happens to them when something fails.
// Thread safety: any thread. Callbacks run on the session's thread, outside all locks.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "driver/driver.hpp"
#include "driver/kfd/hw_queue.hpp"
#include "driver/kfd/session.hpp"
#include "driver/kfd/signals.hpp"
#include "driver/kfd/soft_queue.hpp"

namespace aql::detail::kfd {

class Queues final : public ErrorListener {
public:
  Queues(Session& session, const Gpu& gpu, Memory& memory, Signals& signals) : session_(session), gpu_(gpu), memory_(memory), signals_(signals) {}

  Result<QueueView> create(const QueueRequest& request);
  Result<void> destroy(std::uint64_t id);
  Result<void> inactivate(std::uint64_t id);
  // Destroys all; nothing that this object refers to is used afterwards.
  void shut_down();

  void queues_need_attention() override;
  void memory_fault(const MemoryFault& fault) override;
  void device_lost(const std::string& why) override;

private:
  struct Open {
    std::shared_ptr<HwQueue> hardware;
    std::shared_ptr<SoftQueue> soft; // in front of it, for agent dispatch; may be null
  };
  // The queues as they are now; they and this object stay until the guard goes. Empty after shut_down().
  class Visit {
  public:
    explicit Visit(Queues& queues);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    std::vector<std::shared_ptr<HwQueue>> list;

  private:
    Queues& queues_;
    bool counted_ = false;
  };

  Session& session_;
  const Gpu& gpu_;
  Memory& memory_;
  Signals& signals_;
  std::mutex mutex_;
  std::condition_variable visited_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Open> open_;
  unsigned visits_ = 0;
  bool shut_down_ = false;
  std::thread::id visitor_{}; // the session's thread, while it visits
};

} // namespace aql::detail::kfd
