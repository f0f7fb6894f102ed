#include "vkfd/events.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

namespace aql::vkfd {
namespace {

bool has_slot(std::uint32_t type) noexcept { return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT; }

} // namespace

bool Events::set_page(std::uint64_t* slots, View owner) {
  const std::lock_guard lock{mutex_};
  if (slots_ != nullptr) return false;
  slots_ = slots;
  page_ = std::move(owner);
  for (std::uint32_t i = 0; i < KFD_SIGNAL_EVENT_LIMIT; ++i)
    std::atomic_ref{slots_[i]}.store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
  return true;
}

bool Events::has_page() const {
  const std::lock_guard lock{mutex_};
  return slots_ != nullptr;
}

int Events::create(std::uint32_t type, bool auto_reset, Created& out) {
  if (type > KFD_IOC_EVENT_MEMORY) return -EINVAL;
  const std::lock_guard lock{mutex_};
  Event event;
  event.type = type;
  event.auto_reset = auto_reset;
  if (has_slot(type)) {
    // Identifiers of signal events are slots; 0 is none.
    std::uint32_t id = next_signal_;
    for (std::uint32_t tried = 0; events_.contains(id); ++tried) {
      if (tried == KFD_SIGNAL_EVENT_LIMIT) return -ENOSPC;
      id = id + 1 < KFD_SIGNAL_EVENT_LIMIT ? id + 1 : 1;
    }
    next_signal_ = id + 1 < KFD_SIGNAL_EVENT_LIMIT ? id + 1 : 1;
    out = {id, id, true};
    empty_slot(id);
  } else {
    while (events_.contains(next_other_)) next_other_ = std::max(next_other_ + 1, kfd::kFirstNonsignalEvent);
    out = {next_other_, 0, false};
    next_other_ = std::max(next_other_ + 1, kfd::kFirstNonsignalEvent);
  }
  events_.emplace(out.id, std::move(event));
  return 0;
}

int Events::destroy(std::uint32_t id) {
  const std::lock_guard lock{mutex_};
  const auto it = events_.find(id);
  if (it == events_.end()) return -EINVAL;
  for (Waiting* waiting : it->second.waiting) {
    waiting->destroyed = true;
    waiting->wake->notify_all();
  }
  events_.erase(it);
  return 0;
}

// Everyone who waits now sees it. With auto-reset it stays set only if nobody did.
void Events::set_locked(Event& event) {
  event.signaled = !event.auto_reset || event.waiting.empty();
  if (++event.age == 0) event.age = 2; // 0 means "no age", 1 "never set"
  for (Waiting* waiting : event.waiting) {
    waiting->activated = true;
    waiting->wake->notify_all();
  }
}

Events::Event* Events::with_slot(std::uint32_t id) {
  const auto it = events_.find(id);
  return it != events_.end() && has_slot(it->second.type) ? &it->second : nullptr;
}

int Events::set(std::uint32_t id) {
  const std::lock_guard lock{mutex_};
  Event* event = with_slot(id);
  if (event == nullptr) return -EINVAL;
  set_locked(*event);
  return 0;
}

int Events::reset(std::uint32_t id) {
  const std::lock_guard lock{mutex_};
  Event* event = with_slot(id);
  if (event == nullptr) return -EINVAL;
  event->signaled = false;
  return 0;
}

void Events::empty_slot(std::uint32_t id) noexcept {
  if (slots_ != nullptr) std::atomic_ref{slots_[id]}.store(kfd::kUnsignaledSlot, std::memory_order_relaxed);
}

void Events::interrupt(std::uint32_t id) noexcept {
  const std::lock_guard lock{mutex_};
  if (id != kAny) {
    Event* event = with_slot(id);
    if (event == nullptr) return; // destroyed while the interrupt was on its way
    empty_slot(id);
    return set_locked(*event);
  }
  if (slots_ == nullptr) return;
  for (auto& [number, event] : events_) {
    if (!has_slot(event.type) || std::atomic_ref{slots_[number]}.load(std::memory_order_acquire) == kfd::kUnsignaledSlot) continue;
    empty_slot(number);
    set_locked(event);
  }
}

template <class What>
void Events::tell(std::uint32_t type, What Event::*where, const What& what) {
  const std::lock_guard lock{mutex_};
  for (auto& [id, event] : events_) {
    if (event.type != type) continue;
    event.*where = what;
    set_locked(event);
  }
}

void Events::memory_exception(const kfd_hsa_memory_exception_data& what) { tell(KFD_IOC_EVENT_MEMORY, &Event::memory, what); }
void Events::hardware_exception(const kfd_hsa_hw_exception_data& what) {
  tell(KFD_IOC_EVENT_HW_EXCEPTION, &Event::hardware, what);
}

int Events::wait(std::vector<kfd::EventData>& data, bool all, std::uint32_t timeout_ms, std::uint32_t& result) {
  std::unique_lock lock{mutex_};
  result = KFD_IOC_WAIT_RESULT_FAIL;
  for (const auto& d : data) {
    if (!events_.contains(d.event_id)) return -EINVAL;
  }
  // Not on the stack: thread sanitizers do not see our lock where it is taken below libraries that they leave out, and would take the
  // next use of the stack for a race with who woke us.
  const auto owner = std::make_unique<std::condition_variable>();
  std::condition_variable& wake = *owner;
  std::deque<Waiting> mine;
  for (auto& d : data) {
    Event& event = events_.at(d.event_id);
    Waiting& w = mine.emplace_back(Waiting{&wake});
    w.activated = event.signaled;
    if (event.auto_reset) event.signaled = false;
    const bool knows_age = event.type == KFD_IOC_EVENT_SIGNAL && d.last_event_age != 0;
    if (knows_age && event.age != d.last_event_age) w.activated = true;
    if (!w.activated) event.waiting.push_back(&w);
  }
  // As the kernel looks: in order, so that for "any" what comes first counts, an event that was set or one that is gone.
  const auto state = [&]() -> std::uint32_t {
    std::size_t seen = 0;
    for (const Waiting& w : mine) {
      if (w.destroyed) return KFD_IOC_WAIT_RESULT_FAIL;
      if (w.activated && !all) return KFD_IOC_WAIT_RESULT_COMPLETE;
      if (w.activated) ++seen;
    }
    return seen == mine.size() ? KFD_IOC_WAIT_RESULT_COMPLETE : KFD_IOC_WAIT_RESULT_TIMEOUT;
  };
  const auto over = [&] { return state() != KFD_IOC_WAIT_RESULT_TIMEOUT; };
  if (timeout_ms == 0xffffffffu) {
    wake.wait(lock, over);
  } else {
    (void)wake.wait_until(lock, std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms}, over);
  }
  result = state();
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto it = events_.find(data[i].event_id);
    if (mine[i].destroyed || it == events_.end()) continue; // the number of one that is gone may be another's by now
    Event& event = it->second;
    std::erase(event.waiting, &mine[i]);
    if (result != KFD_IOC_WAIT_RESULT_COMPLETE || !mine[i].activated) continue;
    if (event.type == KFD_IOC_EVENT_MEMORY) {
      data[i].memory = event.memory;
    } else if (event.type == KFD_IOC_EVENT_HW_EXCEPTION) {
      data[i].hardware = event.hardware;
    } else if (event.type == KFD_IOC_EVENT_SIGNAL && data[i].last_event_age != 0) {
      data[i].last_event_age = event.age;
    }
  }
  return result == KFD_IOC_WAIT_RESULT_FAIL ? -EIO : 0;
}

} // namespace aql::vkfd
