#include "driver/kfd/wake_hub.hpp"

#include <algorithm>
#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.hpp"
#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

} // namespace

void WakeHub::stop() noexcept {
  if (event_ != nullptr && thunk_.hsaKmtDestroyEvent(event_) != HSAKMT_STATUS_SUCCESS) log::warn("kfd: the wake-up event could not be destroyed");
  event_ = nullptr;
}

Result<void> WakeHub::start() {
  if (event_ != nullptr) return {};
  HsaEventDescriptor descriptor{};
  descriptor.EventType = HSA_EVENTTYPE_SIGNAL;
  descriptor.SyncVar.SyncVarSize = sizeof(std::int64_t);
  if (const auto status = thunk_.hsaKmtCreateEvent(&descriptor, false, false, &event_); status != HSAKMT_STATUS_SUCCESS) {
    event_ = nullptr;
    return std::unexpected(failure(status, "no event for the completion of packets", "kfd"));
  }
  return {};
}

void WakeHub::arm(abi::AmdSignal& signal) const noexcept {
  signal.event_mailbox_ptr = event_ != nullptr ? event_->EventData.HWData2 : 0;
  signal.event_id = event_ != nullptr ? event_->EventId : 0;
}

void WakeHub::count_and_wake() noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (followers_.load(std::memory_order_seq_cst) != 0) (void)futex(epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
}

void WakeHub::notify() noexcept {
  count_and_wake();
  if (leader_.load(std::memory_order_seq_cst)) (void)thunk_.hsaKmtSetEvent(event_);
}

void WakeHub::wait(std::uint64_t epoch, Deadline deadline) noexcept {
  const std::int64_t ns = detail::ns_left(deadline, look_again_.count());
  if (ns <= 0) return;
  const auto seen = static_cast<std::uint32_t>(epoch);
  if (event_ != nullptr && !leader_.exchange(true, std::memory_order_seq_cst)) {
    // Whole milliseconds are what the call takes.
    if (epoch_.load(std::memory_order_seq_cst) == seen) (void)thunk_.hsaKmtWaitOnEvent(event_, static_cast<HSAuint32>(std::min<std::int64_t>((ns + 999'999) / 1'000'000, 1'000'000)));
    leader_.store(false, std::memory_order_seq_cst);
    count_and_wake();
    return;
  }
  followers_.fetch_add(1, std::memory_order_seq_cst);
  const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
  (void)futex(epoch_, FUTEX_WAIT_PRIVATE, seen, &timeout);
  followers_.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace aql::detail::kfd
