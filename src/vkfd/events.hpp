#pragma once
// KFD events. Signal events have a slot in the event page that the GPU stores to; an event may reset itself when a wait took it
// (auto-reset), and counts how often it was set (its age), so that a waiter that knows an age misses nothing.
// Thread safety: all members may be called from any thread. Waiters block on their own condition variable.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "vkfd/backing.hpp"
#include "vkfd/kfd_abi.hpp"

namespace aql::vkfd {

class Events {
public:
  // 32 KiB of 64-bit slots, which become unsignaled; `owner` may hold them. false: there is a page already.
  bool set_page(std::uint64_t* slots, View owner = {});
  [[nodiscard]] bool has_page() const;

  struct Created {
    std::uint32_t id = 0;
    std::uint32_t slot = 0;
    bool has_slot = false;
  };
  // 0 and `out`, or -errno: EINVAL (no such type), ENOSPC (all slots taken).
  int create(std::uint32_t type, bool auto_reset, Created& out);
  int destroy(std::uint32_t id);
  int set(std::uint32_t id);
  int reset(std::uint32_t id);
  // Waits for any or all. timeout in ms, 0xffffffff: no limit. `data` is filled for the events that were seen. `result` is one of
  // KFD_IOC_WAIT_RESULT_*. 0, or -errno and the result "fail": EINVAL (no such event), EIO (destroyed during the wait).
  int wait(std::vector<kfd::EventData>& data, bool all, std::uint32_t timeout_ms, std::uint32_t& result);

  // The device's side. kAny: every event whose slot something was stored to.
  static constexpr std::uint32_t kAny = 0;
  void interrupt(std::uint32_t id) noexcept;
  void memory_exception(const kfd_hsa_memory_exception_data& what);
  void hardware_exception(const kfd_hsa_hw_exception_data& what);

private:
  struct Waiting {
    std::condition_variable* wake;
    bool activated = false, destroyed = false;
  };
  struct Event {
    std::uint32_t type = 0;
    bool auto_reset = false;
    bool signaled = false;
    std::uint64_t age = 1;
    kfd_hsa_memory_exception_data memory{};
    kfd_hsa_hw_exception_data hardware{};
    std::vector<Waiting*> waiting;
  };
  Event* with_slot(std::uint32_t id); // null: none, or one without a slot
  void empty_slot(std::uint32_t id) noexcept;
  void set_locked(Event& event);
  // To every event of a type.
  template <class What>
  void tell(std::uint32_t type, What Event::*where, const What& what);

  mutable std::mutex mutex_;
  std::map<std::uint32_t, Event> events_;
  std::uint32_t next_signal_ = 1, next_other_ = kfd::kFirstNonsignalEvent;
  View page_; // if it is ours
  std::uint64_t* slots_ = nullptr;
};

} // namespace aql::vkfd
