#pragma once
// A queue that also runs agent-dispatch packets, which no packet processor of a GPU executes: a host thread reads the program's ring,
// runs those itself and passes everything else on, in order, to a queue of the hardware behind it.
// Thread safety: close() once, then nothing else; the rest from any thread.
// Memory ordering: as a packet processor's. A: the header is acquired, the slot is made INVALID, then C: the read index is released.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <aql/packet.hpp>

#include "driver/driver.hpp"
#include "driver/kfd/hw_queue.hpp"
#include "driver/kfd/signals.hpp"

namespace aql::detail::kfd {

class SoftQueue {
public:
  [[nodiscard]] static Result<std::shared_ptr<SoftQueue>> create(const Thunk& thunk, const Gpu& gpu, Memory& memory, Signals& signals, WakeHub& hub, HsaEvent* alarm,
                                                                 const QueueRequest& request);
  ~SoftQueue();
  SoftQueue(const SoftQueue&) = delete;
  SoftQueue& operator=(const SoftQueue&) = delete;

  [[nodiscard]] QueueView view(std::uint64_t id) noexcept;
  [[nodiscard]] const std::shared_ptr<HwQueue>& hardware() const noexcept { return hardware_; }
  // Ends both threads; no agent function runs afterwards.
  void close() noexcept;

private:
  // What the hardware queue's callback shares with us: it may outlive this object.
  struct Shared {
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::vector<std::uint64_t> index; // of the program, by slot of the hardware queue
  };
  struct Call {
    AgentPacket packet;
    std::uint64_t index = 0;
  };
  SoftQueue(const Thunk& thunk, const Gpu& gpu, Memory& memory, Signals& signals, WakeHub& hub) : thunk_(thunk), gpu_(gpu), memory_(memory), signals_(signals), hub_(hub) {}
  [[nodiscard]] Result<void> start(HsaEvent* alarm, const QueueRequest& request);
  void process();
  [[nodiscard]] bool process_one(std::uint32_t word0);
  [[nodiscard]] bool forward(const abi::Slot& body, std::uint32_t word0);
  [[nodiscard]] bool hardware_done(Barrier barrier);
  [[nodiscard]] bool calls_done();
  void run_calls();
  void complete(const Call& call, std::uint64_t start);
  void consume() noexcept;
  void wait_for_doorbell() noexcept;
  [[nodiscard]] bool over() const noexcept { return stop_.load(std::memory_order_acquire) || shared_->failed.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t now() const noexcept;
  static void rung(void* self) noexcept;

  const Thunk& thunk_;
  const Gpu& gpu_;
  Memory& memory_;
  Signals& signals_;
  WakeHub& hub_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::function<Errc(std::uint16_t, const std::uint64_t[4], std::uint64_t)> function_;
  std::uint64_t mask_ = 0;
  Memory::Block ring_, block_;
  abi::AmdQueue* queue_ = nullptr;
  std::uint64_t* doorbell_ = nullptr;
  std::shared_ptr<HwQueue> hardware_;
  QueueView hardware_view_;
  SignalView done_; // of our own barrier packets in the hardware queue

  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> rings_{0}; // futex
  std::atomic<bool> sleeping_{false};
  // Of the processing thread:
  std::uint64_t read_ = 0, hardware_write_ = 0;
  bool behind_barrier_ = false; // a barrier packet was passed on: what follows launches after it
  std::thread processor_;

  std::mutex calls_mutex_;
  std::condition_variable calls_changed_;
  std::deque<Call> calls_; // the first one is running
  std::thread caller_;
};

} // namespace aql::detail::kfd
