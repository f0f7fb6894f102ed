#pragma once
// The process's connection to /dev/kfd: topology, wake-ups, and the thread that hears of errors.
// Thread safety: any thread.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fork_guard.hpp"
#include "driver/kfd/thunk.hpp"
#include "driver/kfd/topology.hpp"
#include "driver/kfd/wake_hub.hpp"
#include "driver/kfd_claim.hpp"

namespace aql::detail::kfd {

struct MemoryFault {
  std::uint32_t node = 0;
  std::uint64_t address = 0;
  std::string reason; // "page not present"
};

// Who hears of errors: a device. All calls come from the session's thread, outside all locks.
class ErrorListener {
public:
  virtual ~ErrorListener() = default;
  virtual void queues_need_attention() = 0; // an inactive signal of some queue was stored to
  virtual void memory_fault(const MemoryFault& fault) = 0;
  virtual void device_lost(const std::string& why) = 0;
};

class Session {
public:
  // One session a process is shared as long as anybody holds it; a forked child gets one of its own. Errors: unsupported.
  [[nodiscard]] static Result<std::shared_ptr<Session>> get();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Thunk& thunk() const noexcept { return thunk_; }
  [[nodiscard]] const std::vector<Gpu>& gpus() const noexcept { return gpus_; }
  [[nodiscard]] std::vector<std::uint32_t> usable_nodes() const;
  [[nodiscard]] WakeHub& hub() noexcept { return hub_; }

  // Makes events and thread; the first caller's work. Errors: the thunk's.
  [[nodiscard]] Result<void> start();
  // The event that packet processors raise with inactive signals.
  [[nodiscard]] HsaEvent* alarm() const noexcept { return alarm_; }
  void add(std::shared_ptr<ErrorListener> listener);
  void remove(const ErrorListener* listener); // a call that is under way may still end

private:
  Session(const Thunk& thunk, KfdClaim claim) : thunk_(thunk), claim_(std::move(claim)), hub_(thunk) {}
  [[nodiscard]] Result<void> open();
  void listen();

  const Thunk& thunk_;
  KfdClaim claim_;
  ForkGuard fork_;
  bool opened_ = false;
  std::vector<Gpu> gpus_;
  WakeHub hub_;
  std::mutex start_mutex_;
  HsaEvent *alarm_ = nullptr, *memory_ = nullptr, *exception_ = nullptr;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  std::mutex listeners_mutex_;
  std::vector<std::shared_ptr<ErrorListener>> listeners_;
};

} // namespace aql::detail::kfd
