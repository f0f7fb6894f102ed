#include "sim/cp/scheduler.hpp"

#include <algorithm>

namespace aql::sim {
namespace {

constexpr std::uint32_t kPatience = 1024; // refusals for the sake of a starving dispatch, while nothing ends
constexpr unsigned kLooks = 64;           // dispatches of a list that are tried when the first ones do not fit

} // namespace

class Scheduler::Lock {
public:
  explicit Lock(Scheduler& s) : lock_(s.mutex_, std::defer_lock) {
    if (s.shared_) lock_.lock();
  }

private:
  std::unique_lock<std::mutex> lock_;
};

void Scheduler::List::append(Dispatch* d) noexcept {
  d->previous_waiting = last;
  d->next_waiting = nullptr;
  (last != nullptr ? last->next_waiting : first) = d;
  last = d;
}

void Scheduler::List::remove(Dispatch* d) noexcept {
  (d->previous_waiting != nullptr ? d->previous_waiting->next_waiting : first) = d->next_waiting;
  (d->next_waiting != nullptr ? d->next_waiting->previous_waiting : last) = d->previous_waiting;
}

Scheduler::Scheduler(const DeviceProfile& profile, bool shared, std::uint64_t seed)
    : shared_(shared), seeded_(seed != 0), random_(seed) {
  const std::int64_t cus = static_cast<std::int64_t>(profile.xcc_count) * profile.cus_per_xcc;
  free_.waves = cus * profile.simds_per_cu * profile.waves_per_simd;
  free_.vgprs = cus * profile.simds_per_cu * profile.vgprs_per_lane;
  free_.lds_bytes = cus * profile.lds_bytes;
  free_.groups = cus * profile.groups_per_cu;
}

bool Scheduler::fits(const Dispatch& d) const noexcept {
  return d.resident < d.resident_limit && d.cost.waves <= free_.waves && d.cost.vgprs <= free_.vgprs &&
         d.cost.lds_bytes <= free_.lds_bytes && d.cost.groups <= free_.groups;
}

Scheduler::Level& Scheduler::level(std::int32_t priority) {
  auto at = std::find_if(levels_.begin(), levels_.end(), [priority](const Level& l) { return l.priority <= priority; });
  if (at == levels_.end() || at->priority != priority) at = levels_.insert(at, Level{priority, {}, {}});
  return *at;
}

void Scheduler::add(Dispatch* dispatch) {
  const Lock lock{*this};
  dispatch->wait = WaitList::fresh;
  level(dispatch->priority).fresh.append(dispatch);
  waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  newcomers_.store(newcomers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Scheduler::take_off(Dispatch* d) noexcept {
  Level& l = level(d->priority);
  (d->wait == WaitList::fresh ? l.fresh : l.started).remove(d);
  if (d->wait == WaitList::fresh) newcomers_.store(newcomers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  d->wait = WaitList::none;
  if (starving_ == d) starving_ = nullptr;
}

Dispatch* Scheduler::first_that_fits(const List& list) noexcept {
  unsigned skip = seeded_ ? random_.below(3) : 0;
  Dispatch* found = nullptr;
  unsigned looks = 0;
  for (Dispatch* d = list.first; d != nullptr && looks < kLooks; d = d->next_waiting, ++looks) {
    if (!fits(*d)) continue;
    found = d;
    if (skip-- == 0) break;
  }
  return found;
}

// Newcomers first; among equals by priority, but each fourth turn the other way round, so that low ones move too.
Dispatch* Scheduler::pick() {
  const bool low_first = ++picks_ % 4 == 0;
  for (auto list : {&Level::fresh, &Level::started}) {
    const std::size_t n = levels_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Level& l = levels_[low_first ? n - 1 - i : i];
      if (Dispatch* d = first_that_fits(l.*list)) return d;
    }
  }
  return nullptr;
}

Scheduler::Grant Scheduler::start() {
  const Lock lock{*this};
  if (waiting_.load(std::memory_order_relaxed) == 0) return {};
  Dispatch* d = nullptr;
  if (starving_ != nullptr) {
    if (fits(*starving_)) {
      d = starving_;
    } else if (++refusals_ < kPatience) {
      return {};
    } else {
      starving_ = nullptr;
      hold_off_ = true;
    }
  }
  if (d == nullptr) d = pick();
  if (d == nullptr) return {};
  if (d->wait == WaitList::started && newcomers() != 0 && !hold_off_) { // none of the newcomers fitted, or pick() had taken it
    for (const Level& l : levels_) {
      if (l.fresh.first == nullptr) continue;
      starving_ = l.fresh.first;
      refusals_ = 0;
      return {};
    }
  }
  Level& l = level(d->priority);
  const Grant grant{d, d->next_group++, d->next_group != d->group_total || waiting_.load(std::memory_order_relaxed) > 1};
  if (d->next_group == d->group_total) {
    take_off(d);
  } else {
    if (starving_ == d) starving_ = nullptr;
    (d->wait == WaitList::fresh ? l.fresh : l.started).remove(d);
    if (d->wait == WaitList::fresh) newcomers_.store(newcomers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    d->wait = WaitList::started;
    l.started.append(d);
  }
  free_.waves -= d->cost.waves;
  free_.vgprs -= d->cost.vgprs;
  free_.lds_bytes -= d->cost.lds_bytes;
  free_.groups -= d->cost.groups;
  ++d->resident;
  return grant;
}

void Scheduler::end(Dispatch* d) {
  const Lock lock{*this};
  free_.waves += d->cost.waves;
  free_.vgprs += d->cost.vgprs;
  free_.lds_bytes += d->cost.lds_bytes;
  free_.groups += d->cost.groups;
  --d->resident;
  hold_off_ = false;
  refusals_ = 0;
}

std::uint64_t Scheduler::cancel(Dispatch* dispatch) {
  const Lock lock{*this};
  if (dispatch->wait == WaitList::none) return 0;
  const std::uint64_t left = dispatch->group_total - dispatch->next_group;
  dispatch->next_group = dispatch->group_total;
  take_off(dispatch);
  return left;
}

void Scheduler::change_priority(Dispatch* d, std::int32_t priority) {
  const Lock lock{*this};
  if (d->wait == WaitList::none) return; // all its groups have started
  const auto list = d->wait == WaitList::fresh ? &Level::fresh : &Level::started;
  (level(d->priority).*list).remove(d);
  d->priority = priority;
  (level(priority).*list).append(d);
}

} // namespace aql::sim
