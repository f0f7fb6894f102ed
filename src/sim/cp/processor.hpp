#pragma once
// The packet processor: its thread, its queues, its dispatches, and the thread that runs agent functions.
// Thread safety: the first group of members may be called from any thread; the second belongs to the processor's thread (or,
// hand-stepped, to whoever steps: one thread at a time).

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/cp/engine.hpp"
#include "sim/cp/hw_queue.hpp"
#include "sim/cp/kernel_code.hpp"
#include "sim/cp/occupancy.hpp"
#include "sim/cp/worker.hpp"

namespace aql::sim {

struct AgentCall {
  HwQueue* queue = nullptr;
  abi::AgentDispatchPacket packet{};
  std::uint64_t packet_index = 0;
  abi::FenceScope release = abi::FenceScope::none;
  std::uint64_t start_ts = 0;
  const std::function<Errc(std::uint16_t, const std::uint64_t*, std::uint64_t)>* function = nullptr;
};

class Processor {
public:
  explicit Processor(Engine& engine);
  ~Processor();

  // Any thread.
  void start();
  Result<QueueId> create_queue(const QueueConfig& config);
  Result<QueueId> create_pm4_queue(const Pm4QueueConfig& config);
  Result<QueueId> create_sdma_queue(const SdmaQueueConfig& config);
  Result<void> destroy_queue(QueueId id);
  Result<void> inactivate_queue(QueueId id);
  Result<QueueState> queue_state(QueueId id) const;
  Result<void> hold_queue(QueueId id, bool held);
  Result<void> set_cu_mask(QueueId id, const std::uint64_t (&mask)[8]);
  Result<void> set_priority(QueueId id, std::int32_t priority);

  // Processor's thread.
  bool step();
  [[nodiscard]] HostView& view() noexcept { return view_; }
  [[nodiscard]] KernelCache& kernels() noexcept { return kernels_; }
  [[nodiscard]] Dispatch* new_dispatch();
  void free_dispatch(Dispatch* dispatch);
  void launch(Dispatch& dispatch);
  void call_agent(const AgentCall& call);

private:
  struct Entry {
    std::shared_ptr<HwQueue> queue;
    bool destroying = false;
    bool gone = false;
  };

  void run();
  void run_additional(Worker& worker);
  void run_agent_calls();
  void execute(const AgentCall& call);
  // Everything but waves. true: something happened.
  bool service(unsigned packets);
  // Turns of waves; then doorbells of drained queues are made ready for the next ring.
  Worker::Did run_waves(Worker& worker);
  void reap();
  void settle();
  void refresh();
  [[nodiscard]] bool on_processor_thread() const noexcept;
  // Steps until `done` (hand-stepped or from a callback), or waits for the thread to get there.
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
  // Memory may change what queues wait for without anybody telling us.
  [[nodiscard]] bool must_look_again() const noexcept;
  [[nodiscard]] Entry* find(QueueId id);
  // `call` is its name in the error.
  template <class Change>
  Result<void> change_queue(QueueId id, const char* call, Change change);
  // A queue of any kind joins: `arguments` are those of its constructor behind the id.
  template <class... Arguments>
  QueueId add_queue(const Arguments&... arguments);

  Engine& engine_;
  HostView view_;
  KernelCache kernels_;
  std::vector<std::shared_ptr<HwQueue>> active_; // processor's copy of queues_
  std::vector<HwQueue*> worked_;                 // queues of which packets were processed in this round
  std::vector<std::unique_ptr<Dispatch>> dispatches_;
  std::vector<Dispatch*> free_dispatches_;
  struct PacketPage {
    void* base;
  };
  std::vector<PacketPage> packet_pages_;

  mutable std::mutex mutex_; // queues_, next_id_
  std::condition_variable changed_;
  std::vector<Entry> queues_;
  QueueId next_id_ = 1;
  std::atomic<bool> queues_changed_{false};
  std::atomic<bool> quit_{false};

  std::mutex agent_mutex_;
  std::condition_variable agent_wake_;
  std::deque<AgentCall> agent_calls_;
  bool agent_quit_ = false;

  std::thread thread_, agent_thread_;
  std::vector<std::thread> additional_;
  std::thread::id stepper_;
};

} // namespace aql::sim
