#include "queue/queue_core.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>

#include "base/log.hpp"
#include "device/driver_owner.hpp"

namespace aql::detail {
namespace {

// All anchors ever made, newest first, and those free for another queue.
std::atomic<QueueAnchor*> g_anchors{nullptr};
std::mutex g_free_mutex;
std::vector<QueueAnchor*>& free_anchors() {
  static auto* const list = new std::vector<QueueAnchor*>; // outlives static destructors
  return *list;
}

void in_child() {
  for (QueueAnchor* anchor = g_anchors.load(std::memory_order_acquire); anchor != nullptr; anchor = anchor->next)
    if (QueueCore* core = anchor->core.load(std::memory_order_acquire)) core->poison_in_child();
}

QueueAnchor* take_anchor() {
  static const int registered = pthread_atfork(nullptr, nullptr, in_child);
  (void)registered;
  const std::lock_guard lock{g_free_mutex};
  auto& list = free_anchors();
  if (!list.empty()) {
    QueueAnchor* anchor = list.back();
    list.pop_back();
    return anchor;
  }
  auto* anchor = new QueueAnchor;
  anchor->next = g_anchors.load(std::memory_order_relaxed);
  g_anchors.store(anchor, std::memory_order_release);
  return anchor;
}

Error fault_error(const QueueFaultInfo& info) {
  std::string text = info.packet_index == ~0ULL ? std::string{"the queue stopped"} : fmt::format("the queue stopped at packet {}", info.packet_index);
  if (!info.detail.empty()) text += ": " + info.detail;
  return Error{info.code == Errc::ok ? Errc::queue_inactive : info.code, 0, std::move(text), "Queue"};
}

// What is wrong with a mask of compute units; empty: nothing. Drivers hand it on as it is, to interfaces that trust its length.
std::string refuse_mask(std::span<const std::uint32_t> mask, const DeviceInfo& info) {
  const std::size_t words = (info.compute_units + 31) / 32;
  if (mask.size() > words)
    return fmt::format("asked for a CU mask of {} words; {} has {} compute units, a bit for each makes {} words", mask.size(), info.selector, info.compute_units, words);
  bool any = mask.empty();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t bits = std::min<std::size_t>(info.compute_units - i * 32, 32);
    any = any || (mask[i] & (bits == 32 ? ~0u : (1u << bits) - 1)) != 0;
  }
  if (any) return {};
  return fmt::format("asked for a CU mask without any of the {} compute units of {}; set a bit, or leave the mask empty for all of them", info.compute_units, info.selector);
}

} // namespace

QueueCore::QueueCore(std::shared_ptr<Driver> d, QueueOptions o, const QueueView& v)
    : QueueHot(v, {.producers = o.producers, .publish = o.publish}), driver(std::move(d)), options(std::move(o)), view(v),
      idle_at(ring.reserved()), slot_table_(new TrackedSignal*[v.mask + 1]()) {
  slot_signals = slot_table_.get();
}

Result<std::shared_ptr<QueueCore>> QueueCore::create(std::shared_ptr<Driver> driver, QueueOptions options) {
  if (!std::has_single_bit(options.packets) || options.packets < 64 || options.packets > 131072) {
    return std::unexpected(Error{Errc::invalid_queue_creation, 0,
                                 fmt::format("asked for a queue of {} packets; a power of two from 64 to 131072 is needed", options.packets), "Queue::create"});
  }
  if (auto why = refuse_mask(options.cu_mask, driver->info()); !why.empty()) return std::unexpected(Error{Errc::invalid_queue_creation, 0, std::move(why), "Queue::create"});
  auto slot = std::make_shared<FaultSlot>();
  QueueRequest request;
  request.packets = options.packets;
  request.producers = options.producers == Producers::single ? QueueProducers::single : QueueProducers::multi;
  request.priority = options.priority;
  request.cu_mask = options.cu_mask;
  request.agent_function = options.agent_function;
  request.on_fault = [slot](const QueueFaultInfo& info) {
    const DriverCallback here;       // goes last: with the core may go the last of the driver
    std::shared_ptr<QueueCore> core; // alive through the callback, and no lock held in it
    {
      const std::lock_guard lock{slot->mutex};
      if (slot->core == nullptr) {
        slot->early = info;
        return;
      }
      core = slot->core->weak_from_this().lock();
    }
    if (core) core->fault(info);
  };
  auto view = driver->create_queue(request);
  if (!view) return std::unexpected(std::move(view).error());
  auto core = std::make_shared<QueueCore>(driver, std::move(options), *view);
  auto epoch = core->make_signal();
  if (!epoch) {
    (void)driver->destroy_queue(view->id);
    return std::unexpected(std::move(epoch).error());
  }
  core->epoch = *epoch;
  core->anchor = take_anchor();
  core->generation = core->anchor->generation.load(std::memory_order_relaxed);
  core->anchor->core.store(core.get(), std::memory_order_release);
  core->fault_slot_ = slot;
  std::optional<QueueFaultInfo> early;
  {
    const std::lock_guard lock{slot->mutex};
    slot->core = core.get();
    early = std::move(slot->early);
  }
  if (early) core->fault(*early);
  return core;
}

Result<TrackedSignal*> QueueCore::make_signal() {
  auto made = driver->create_signal(0);
  if (!made) return std::unexpected(std::move(made).error());
  auto signal = std::make_unique<TrackedSignal>();
  signal->view = *made;
  signals_.push_back(std::move(signal));
  return signals_.back().get();
}

TrackedSignal* QueueHot::replace_slot_signal(std::uint64_t index) noexcept { return static_cast<QueueCore*>(this)->replace(index); }

TrackedSignal* QueueCore::replace(std::uint64_t index) noexcept {
  // Only the slot's owner stores here; others may look (to prefetch).
  const std::atomic_ref<TrackedSignal*> place{slot_table_[index & view.mask]};
  const auto over = [](const TrackedSignal* s) { return std::atomic_ref{s->view.object->value}.load(std::memory_order_acquire) == -s->uses; };
  const std::lock_guard lock{mutex_};
  // The slot's last packet was consumed but still runs: its signal has to stay its own.
  if (TrackedSignal* busy = place.load(std::memory_order_relaxed); busy != nullptr) retired_.push_back(busy);
  TrackedSignal* found = nullptr;
  for (TrackedSignal*& candidate : retired_) {
    if (!over(candidate)) continue;
    found = candidate;
    candidate = retired_.back();
    retired_.pop_back();
    break;
  }
  if (found == nullptr) {
    auto made = make_signal();
    if (made) found = *made;
    else log::error(fmt::format("a submission cannot be tracked: {}", made.error().message()));
  }
  place.store(found, std::memory_order_release);
  return found;
}

void QueueCore::wake() const noexcept {
  if (epoch != nullptr && epoch->view.notify != nullptr) epoch->view.notify(epoch->view.notify_arg);
}

void QueueCore::fault(const QueueFaultInfo& info) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (failed.load(std::memory_order_relaxed)) return;
    error_ = fault_error(info);
    fault_index_ = info.packet_index;
    failed.store(true, std::memory_order_release);
  }
  ring.close();
  wake();
  if (options.on_fault) options.on_fault(QueueFault{info.code, info.hsa_status, info.packet_index, info.detail});
}

Error QueueCore::error(std::string_view where) const {
  // A child must not take the mutex: the thread that held it at the fork does not exist here.
  if (auto usable = fork.check(where); !usable) return usable.error();
  const std::lock_guard lock{mutex_};
  Error copy = error_;
  copy.where = where;
  return copy;
}

Result<void> QueueCore::status(std::string_view where) const {
  if (failed.load(std::memory_order_acquire) || fork.forked()) return std::unexpected(error(where));
  return {};
}

std::uint64_t QueueCore::fault_index() const {
  if (fork.forked()) return ~0ULL;
  const std::lock_guard lock{mutex_};
  return fault_index_;
}

void QueueCore::poison_in_child() noexcept {
  ring.close();
  failed.store(true, std::memory_order_relaxed);
}

Result<void> QueueCore::finish() noexcept {
  ring.close();
  auto done = driver->destroy_queue(view.id);
  {
    const std::lock_guard lock{fault_slot_->mutex};
    fault_slot_->core = nullptr;
  }
  {
    const std::lock_guard lock{mutex_};
    if (!failed.load(std::memory_order_relaxed)) {
      error_ = Error{Errc::queue_inactive, 0, "the queue was destroyed", "Queue"};
      failed.store(true, std::memory_order_release);
    }
  }
  // T: from here on tickets find no queue; those that found it before see `failed` and leave.
  anchor->core.store(nullptr, std::memory_order_seq_cst);
  anchor->generation.fetch_add(1, std::memory_order_seq_cst);
  while (anchor->users.load(std::memory_order_seq_cst) != 0) {
    wake();
    std::this_thread::yield();
  }
  for (const auto& signal : signals_) {
    if (auto destroyed = driver->destroy_signal(signal->view); !destroyed && done) done = std::unexpected(std::move(destroyed).error());
  }
  const std::lock_guard lock{g_free_mutex};
  free_anchors().push_back(anchor);
  return done;
}

PinnedCore::PinnedCore(QueueAnchor* anchor, std::uint32_t generation) noexcept : anchor_(anchor) {
  if (anchor == nullptr) return;
  anchor->users.fetch_add(1, std::memory_order_seq_cst); // T
  if (anchor->generation.load(std::memory_order_seq_cst) == generation) core_ = anchor->core.load(std::memory_order_seq_cst);
}

} // namespace aql::detail
