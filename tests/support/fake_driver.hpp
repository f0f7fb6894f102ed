#pragma once
// A driver on plain host memory, for tests of everything above the seam. Device addresses are host addresses. Queues are consumed by
// hand (FakeQueue::launch, complete, fault) or, with auto_run, by a thread that completes everything at once.
// Blocked waits sleep on a futex and are woken only by what changes a signal: a lost wake-up hangs the test.

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver/driver.hpp"
#include "support/fake_processor.hpp"

namespace aql::test {

class FakeDriver;

// One queue and its processor. All members from one thread at a time, except while auto_run.
class FakeQueue {
public:
  struct Running {
    std::uint64_t index;
    abi::Slot packet;
  };

  FakeQueue(FakeDriver& driver, const detail::QueueRequest& request) : driver_(driver), gpu_(request.packets), on_fault_(request.on_fault) {}
  ~FakeQueue() { stop(); }

  [[nodiscard]] FakeProcessor& processor() noexcept { return gpu_; }
  [[nodiscard]] const std::deque<Running>& running() const noexcept { return running_; }

  // Takes the next packet from the ring unless its barrier bit has to wait. False: nothing to launch.
  bool launch() {
    if (failed_) return false;
    const std::uint64_t read = gpu_.read_index();
    if (read != gpu_.write_index()) {
      const std::uint32_t first = std::atomic_ref{gpu_.slot(read).word[0]}.load(std::memory_order_acquire);
      if (abi::HeaderBarrier::decode(first) != 0 && !running_.empty()) return false;
    }
    return gpu_.step([&](std::uint64_t index, const abi::Slot& slot) { running_.push_back({index, slot}); });
  }
  // Ends a launched packet: stamps, decrement, wake-up. False if no such packet runs.
  bool complete(std::uint64_t index);
  // Launches and completes until nothing is left; how many packets ended.
  std::uint64_t run() {
    std::uint64_t n = 0;
    for (;;) {
      while (launch()) {}
      if (running_.empty()) return n;
      complete(running_.front().index);
      ++n;
    }
  }
  // The processor stops here for ever, and says why once.
  void fault(Errc code, std::uint64_t index, std::string detail) {
    if (failed_.exchange(true)) return;
    if (on_fault_) on_fault_(detail::QueueFaultInfo{code, hsa_status(code), index, std::move(detail)});
  }
  void start() {
    if (thread_.joinable()) return;
    thread_ = std::jthread{[this](const std::stop_token& token) {
      while (!token.stop_requested())
        if (run() == 0) std::this_thread::yield();
    }};
  }
  void stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

private:
  FakeDriver& driver_;
  FakeProcessor gpu_;
  std::function<void(const detail::QueueFaultInfo&)> on_fault_;
  std::deque<Running> running_;
  std::atomic<bool> failed_{false};
  std::jthread thread_;
};

class FakeDriver final : public detail::Driver {
public:
  FakeDriver() {
    info_.driver = "fake";
    info_.selector = "fake:0";
    info_.target = "gfx942";
  }
  ~FakeDriver() override {
    queues_.clear();
    for (void* memory : memory_) std::free(memory);
  }

  bool auto_run = false;          // queues made from now on run by themselves
  bool notify_hooks = true;       // false: signals like hardware's, the host cannot wake a sleeper
  std::uint64_t live_signals = 0; // created and not destroyed
  std::atomic<std::uint64_t> sleeps{0}; // calls of wait_changed that really slept

  [[nodiscard]] FakeQueue& queue(std::uint64_t id) { return *queues_.at(id); }
  [[nodiscard]] FakeQueue& last_queue() { return *queues_.rbegin()->second; }
  [[nodiscard]] std::size_t open_queues() const { return queues_.size(); }

  // Some signal changed.
  void bump() noexcept {
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  DeviceInfo& edit_info() { return info_; }

  Result<detail::Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view) override {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, (size_bytes + 4095) / 4096 * 4096));
    if (memory == nullptr) return std::unexpected(Error{Errc::out_of_resources, 0, "no memory", "FakeDriver"});
    const std::lock_guard lock{mutex_};
    memory_.push_back(memory);
    return detail::Allocation{reinterpret_cast<std::uint64_t>(memory), memory, size_bytes, kind, 0};
  }
  Result<void> free(const detail::Allocation& allocation) override {
    const std::lock_guard lock{mutex_};
    std::erase(memory_, static_cast<void*>(allocation.host));
    std::free(allocation.host);
    return {};
  }
  Result<detail::Allocation> pin(void* host, std::size_t size_bytes, bool) override {
    return detail::Allocation{reinterpret_cast<std::uint64_t>(host), static_cast<std::byte*>(host), size_bytes, PoolKind::host_fine, 0};
  }
  Result<void> unpin(const detail::Allocation&) override { return {}; }
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) override {
    std::memmove(reinterpret_cast<void*>(dst), reinterpret_cast<const void*>(src), size_bytes);
    return {};
  }
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(reinterpret_cast<std::byte*>(dst) + 4 * i, &pattern, 4);
    return {};
  }
  Result<void> commit_code(const detail::Allocation&, std::span<const detail::CodeSegment>) override { return {}; }
  void set_symbolizer(std::function<std::string(std::uint64_t)>) override {}

  Result<detail::SignalView> create_signal(std::int64_t initial) override {
    const std::lock_guard lock{mutex_};
    auto* signal = new (std::align_val_t{64}) abi::AmdSignal{};
    signal->kind = static_cast<std::int64_t>(abi::SignalKind::user);
    signal->value = initial;
    ++live_signals;
    detail::SignalView view;
    view.object = signal;
    view.handle = reinterpret_cast<std::uint64_t>(signal);
    if (notify_hooks) {
      view.notify = [](void* self) noexcept { static_cast<FakeDriver*>(self)->bump(); };
      view.notify_arg = this;
    }
    return view;
  }
  Result<void> destroy_signal(const detail::SignalView& signal) override {
    const std::lock_guard lock{mutex_};
    --live_signals;
    ::operator delete(signal.object, std::align_val_t{64});
    return {};
  }
  std::uint64_t wait_epoch(const detail::SignalView&) noexcept override { return epoch_.load(std::memory_order_seq_cst); }
  void wait_changed(const detail::SignalView&, std::uint64_t epoch, Deadline deadline) noexcept override {
    timespec at{};
    if (!deadline.infinite) { // FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time, which steady_clock is
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.at.time_since_epoch()).count();
      at = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    }
    sleeps.fetch_add(1, std::memory_order_relaxed);
    syscall(SYS_futex, &epoch_, FUTEX_WAIT_BITSET_PRIVATE, static_cast<std::uint32_t>(epoch), deadline.infinite ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
  }

  Result<detail::QueueView> create_queue(const detail::QueueRequest& request) override {
    const std::lock_guard lock{mutex_};
    auto queue = std::make_unique<FakeQueue>(*this, request);
    detail::QueueView view = queue->processor().view();
    view.id = ++next_queue_;
    if (auto_run) queue->start();
    queues_[view.id] = std::move(queue);
    return view;
  }
  Result<void> destroy_queue(std::uint64_t id) override {
    const std::lock_guard lock{mutex_};
    if (queues_.erase(id) == 0) return std::unexpected(Error{Errc::invalid_argument, 0, "no such queue", "FakeDriver"});
    return {};
  }
  Result<void> inactivate_queue(std::uint64_t id) override {
    queues_.at(id)->fault(Errc::queue_inactive, ~0ULL, "inactivated");
    return {};
  }

  std::uint64_t timestamp() noexcept override { return ticks_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::int64_t to_host_ns(std::uint64_t ticks) noexcept override { return static_cast<std::int64_t>(ticks) * 10; }

private:
  DeviceInfo info_;
  std::mutex mutex_;
  std::vector<void*> memory_;
  std::map<std::uint64_t, std::unique_ptr<FakeQueue>> queues_;
  std::uint64_t next_queue_ = 0;
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint64_t> ticks_{0};
};

inline bool FakeQueue::complete(std::uint64_t index) {
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    if (it->index != index) continue;
    const std::uint64_t handle = it->packet.word[14] | static_cast<std::uint64_t>(it->packet.word[15]) << 32;
    running_.erase(it);
    if (handle != 0) {
      auto* signal = reinterpret_cast<abi::AmdSignal*>(handle);
      std::atomic_ref{signal->start_ts}.store(driver_.timestamp(), std::memory_order_relaxed);
      std::atomic_ref{signal->end_ts}.store(driver_.timestamp(), std::memory_order_relaxed);
      std::atomic_ref{signal->value}.fetch_sub(1, std::memory_order_release); // D
      driver_.bump();
    }
    return true;
  }
  return false;
}

} // namespace aql::test
