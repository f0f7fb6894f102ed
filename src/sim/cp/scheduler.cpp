#include "sim/cp/scheduler.hpp"

namespace aql::sim {
namespace {

constexpr std::uint32_t kPatience = 1024; // refusals for the sake of a starving dispatch, while nothing ends

} // namespace

class Scheduler::Lock {
public:
  explicit Lock(Scheduler& s) : lock_(s.mutex_, std::defer_lock) {
    if (s.shared_) lock_.lock();
  }

private:
  std::unique_lock<std::mutex> lock_;
};

Scheduler::Scheduler(const DeviceProfile& profile, bool shared, std::uint64_t seed) : shared_(shared), seeded_(seed != 0), random_(seed) {
  const std::int64_t cus = static_cast<std::int64_t>(profile.xcc_count) * profile.cus_per_xcc;
  free_.waves = cus * profile.simds_per_cu * profile.waves_per_simd;
  free_.vgprs = cus * profile.simds_per_cu * profile.vgprs_per_lane;
  free_.lds_bytes = cus * profile.lds_bytes;
  free_.groups = cus * profile.groups_per_cu;
}

bool Scheduler::fits(const Dispatch& d) const noexcept {
  return d.resident < d.resident_limit && d.cost.waves <= free_.waves && d.cost.vgprs <= free_.vgprs && d.cost.lds_bytes <= free_.lds_bytes &&
         d.cost.groups <= free_.groups;
}

void Scheduler::add(Dispatch* dispatch) {
  const Lock lock{*this};
  dispatch->last_pick = 0;
  waiting_list_.push_back(dispatch);
  waiting_.store(static_cast<std::uint32_t>(waiting_list_.size()), std::memory_order_relaxed);
  newcomers_.store(newcomers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Position of the dispatch whose turn it is among those that fit, or the list's size. Newcomers first, then by priority, then
// whoever was picked longest ago; each fourth turn leaves priority out, so that low ones move too.
std::size_t Scheduler::pick() {
  const bool by_priority = ++turn_ % 4 != 0;
  std::size_t best = waiting_list_.size();
  for (std::size_t i = 0; i < waiting_list_.size(); ++i) {
    const Dispatch& d = *waiting_list_[i];
    if (!fits(d)) continue;
    if (best == waiting_list_.size()) {
      best = i;
      continue;
    }
    const Dispatch& b = *waiting_list_[best];
    const bool d_new = d.last_pick == 0, b_new = b.last_pick == 0;
    if (d_new != b_new) {
      if (d_new) best = i;
    } else if (by_priority && d.priority != b.priority) {
      if (d.priority > b.priority) best = i;
    } else if (d.last_pick < b.last_pick) {
      best = i;
    }
  }
  if (seeded_ && best != waiting_list_.size() && random_.below(4) == 0) {
    const std::size_t other = random_.below(static_cast<std::uint32_t>(waiting_list_.size()));
    if (fits(*waiting_list_[other])) best = other;
  }
  return best;
}

void Scheduler::remove(std::size_t position) {
  Dispatch* d = waiting_list_[position];
  if (d->last_pick == 0) newcomers_.store(newcomers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (starving_ == d) starving_ = nullptr;
  waiting_list_.erase(waiting_list_.begin() + static_cast<std::ptrdiff_t>(position));
  waiting_.store(static_cast<std::uint32_t>(waiting_list_.size()), std::memory_order_relaxed);
}

Scheduler::Grant Scheduler::start() {
  const Lock lock{*this};
  if (waiting_list_.empty()) return {};
  if (starving_ != nullptr && !fits(*starving_)) {
    if (++refusals_ < kPatience) return {};
    starving_ = nullptr;
    hold_off_ = true;
  }
  std::size_t chosen = waiting_list_.size();
  if (starving_ != nullptr) {
    for (std::size_t i = 0; i < waiting_list_.size(); ++i) {
      if (waiting_list_[i] == starving_) chosen = i;
    }
    starving_ = nullptr;
  } else {
    chosen = pick();
    if (chosen != waiting_list_.size() && newcomers_.load(std::memory_order_relaxed) != 0 && waiting_list_[chosen]->last_pick != 0 && !hold_off_) {
      for (Dispatch* d : waiting_list_) {
        if (d->last_pick == 0) { // it did not fit, or pick() would have taken it
          starving_ = d;
          refusals_ = 0;
          return {};
        }
      }
    }
  }
  if (chosen == waiting_list_.size()) return {};
  Dispatch* d = waiting_list_[chosen];
  if (d->last_pick == 0) newcomers_.store(newcomers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  d->last_pick = turn_ + 1;
  ++turn_;
  free_.waves -= d->cost.waves;
  free_.vgprs -= d->cost.vgprs;
  free_.lds_bytes -= d->cost.lds_bytes;
  free_.groups -= d->cost.groups;
  ++d->resident;
  Grant grant{d, d->next_group++, false};
  if (d->next_group == d->group_total) remove(chosen);
  grant.more = !waiting_list_.empty();
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
  for (std::size_t i = 0; i < waiting_list_.size(); ++i) {
    if (waiting_list_[i] != dispatch) continue;
    const std::uint64_t left = dispatch->group_total - dispatch->next_group;
    dispatch->next_group = dispatch->group_total;
    remove(i);
    return left;
  }
  return 0;
}

} // namespace aql::sim
