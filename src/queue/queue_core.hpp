#pragma once
// The cold part of a queue: who made it, its error, its signals, its end.
// Thread safety: all members from any thread, except finish(), which is called once.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <aql/queue.hpp>

#include "base/fork_guard.hpp"
#include "driver/driver.hpp"

namespace aql::detail {

class KernargRing;

class QueueCore : public QueueHot, public std::enable_shared_from_this<QueueCore> {
public:
  // Made in two steps: the driver's callback needs the object before the ring exists. `slot` holds what the callback finds.
  struct FaultSlot {
    std::mutex mutex;
    QueueCore* core = nullptr;           // null before the queue is ready and after it is gone
    std::optional<QueueFaultInfo> early; // a fault that came before
  };

  static Result<std::shared_ptr<QueueCore>> create(std::shared_ptr<Driver> driver, QueueOptions options);
  QueueCore(std::shared_ptr<Driver> driver, QueueOptions options, const QueueView& view);
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  // The queue stopped. Only the first call counts: it sets the error, wakes everybody, then calls on_fault.
  void fault(const QueueFaultInfo& info) noexcept;
  [[nodiscard]] Error error(std::string_view where) const;
  // Result of status().
  [[nodiscard]] Result<void> status(std::string_view where) const;
  [[nodiscard]] std::uint64_t fault_index() const;
  // Wakes sleeping waiters of this driver.
  void wake() const noexcept;
  // Destroys queue and signals; tickets find nothing afterwards. Ends when nobody is inside a wait any more.
  Result<void> finish() noexcept;
  TrackedSignal* replace(std::uint64_t index) noexcept;
  // In a forked child, before it runs anything else.
  void poison_in_child() noexcept;

  std::shared_ptr<Driver> driver;
  QueueOptions options;
  QueueView view;
  ForkGuard fork;
  std::atomic<bool> failed{false};
  // Kernarg memory of launches, made by the first one (src/kernel).
  std::mutex kernargs_mutex;
  std::shared_ptr<KernargRing> kernargs;
  std::atomic<std::uint64_t> idle_at; // everything below this index has completed

private:
  Result<TrackedSignal*> make_signal();

  mutable std::mutex mutex_;
  Error error_;                        // set once, before failed
  std::uint64_t fault_index_ = ~0ULL;
  std::vector<std::unique_ptr<TrackedSignal>> signals_; // all that were made
  std::vector<TrackedSignal*> retired_;                  // in flight when their slot was used again
  std::unique_ptr<TrackedSignal*[]> slot_table_;
  std::shared_ptr<FaultSlot> fault_slot_;
};

// A core for as long as this object lives; null if the ticket's queue is gone.
class PinnedCore {
public:
  PinnedCore(QueueAnchor* anchor, std::uint32_t generation) noexcept;
  ~PinnedCore() { if (anchor_ != nullptr) anchor_->users.fetch_sub(1, std::memory_order_release); }
  PinnedCore(const PinnedCore&) = delete;
  PinnedCore& operator=(const PinnedCore&) = delete;
  [[nodiscard]] QueueCore* get() const noexcept { return core_; }

private:
  QueueAnchor* anchor_;
  QueueCore* core_ = nullptr;
};

} // namespace aql::detail
