#include <aql/queue.hpp>

#include <thread>
#include <utility>

#include <fmt/format.h>

#include <aql/device.hpp>

#include "base/log.hpp"
#include "queue/queue_core.hpp"
#include "signal/wait.hpp"

namespace aql {

Result<void> Ticket::wait(Deadline deadline, Wait how) const {
  const auto refuse = [](Errc code, std::string why) { return std::unexpected(Error{code, 0, std::move(why), "Ticket::wait"}); };
  switch (state_) {
  case State::none: return refuse(Errc::invalid_argument, "an empty ticket: nothing was submitted");
  case State::own_signal:
    return refuse(Errc::invalid_argument, fmt::format("packet {} names a completion signal of its own: wait on that", index_));
  case State::no_signal: return refuse(Errc::out_of_resources, fmt::format("packet {} was submitted, but there was no signal to track it with; drain the queue", index_));
  case State::too_many: return refuse(Errc::invalid_argument, fmt::format("a batch of {} packets: 1 to as many as the ring holds", threshold_));
  case State::refused:
  case State::tracked: break;
  }
  const detail::PinnedCore pinned{anchor_, generation_};
  detail::QueueCore* core = pinned.get();
  if (core == nullptr) return refuse(Errc::queue_inactive, "the queue of this ticket was destroyed; wait for tickets before that");
  if (state_ == State::refused) return std::unexpected(core->error("Ticket::wait"));
  const std::atomic_ref value{signal_->view.object->value};
  const auto complete = [&] { return value.load(std::memory_order_acquire) <= threshold_; }; // D
  if (detail::wait_until(*core->driver, signal_->view, deadline, how, &core->failed, core->fork.generation(), complete)) return {};
  if (auto status = core->status("Ticket::wait"); !status) return status;
  return refuse(Errc::timeout, fmt::format("packet {} has not completed; the processor has consumed the packets before {}", index_, core->ring.read_index()));
}

bool Ticket::done() const noexcept {
  if (state_ != State::tracked) return false;
  const detail::PinnedCore pinned{anchor_, generation_};
  return pinned.get() != nullptr && std::atomic_ref{signal_->view.object->value}.load(std::memory_order_acquire) <= threshold_;
}

std::int64_t SignalRef::wait(Condition condition, std::int64_t reference, Deadline deadline, Wait how, const Queue& queue) const noexcept {
  std::int64_t seen = 0;
  const auto core = queue.core(); // stays while we wait
  detail::wait_until(*driver_, view_, deadline, how, &core->failed, forks_, [&] {
    seen = load_acquire(); // D
    return holds(condition, seen, reference);
  });
  return seen;
}

Queue::Queue(std::shared_ptr<detail::QueueCore> core) noexcept : core_(std::move(core)), hot_(core_.get()) {}
Queue::Queue(Queue&& other) noexcept : core_(std::move(other.core_)), hot_(std::exchange(other.hot_, nullptr)) {}
Queue& Queue::operator=(Queue&& other) noexcept {
  if (this == &other) return *this;
  release();
  core_ = std::move(other.core_);
  hot_ = std::exchange(other.hot_, nullptr);
  return *this;
}
Queue::~Queue() { release(); }

Result<Queue> Queue::create(std::shared_ptr<detail::Driver> driver, QueueOptions options) {
  auto core = detail::QueueCore::create(std::move(driver), std::move(options));
  if (!core) return std::unexpected(std::move(core).error());
  return Queue{std::move(*core)};
}
Result<Queue> Queue::create(const Device& device, QueueOptions options) { return create(device.driver(), std::move(options)); }

Ticket Queue::refuse(std::size_t packets) const noexcept {
  const bool too_many = packets == 0 || packets > hot_->ring.size();
  return Ticket{*hot_, too_many ? Ticket::State::too_many : Ticket::State::refused, ~0ULL, nullptr, static_cast<std::int64_t>(packets)};
}

Ticket Queue::submit(std::span<const AnyPacket> packets) noexcept {
  if (packets.size() > hot_->ring.size()) return refuse(packets.size());
  const auto first = hot_->ring.reserve(static_cast<std::uint32_t>(packets.size()), Deadline::never());
  if (!first) return refuse(packets.size());
  return fill_batch(
      *first, packets, [](const AnyPacket& any, abi::Slot& slot) { return std::visit([&](const auto& packet) { return packet.emit(slot); }, any); },
      [](const AnyPacket& any) { return std::visit([](const auto& packet) { return packet.completion; }, any); });
}

Result<void> Queue::drain(Deadline deadline, Wait how) {
  if (auto usable = core_->status("Queue::drain"); !usable) return usable;
  const auto index = hot_->ring.reserve(1, deadline);
  if (!index) {
    if (auto status = core_->status("Queue::drain"); !status) return status;
    return std::unexpected(Error{Errc::timeout, 0, "the ring stayed full", "Queue::drain"});
  }
  // Completes when everything before it has: the barrier bit says so.
  auto done = fill_one(*hot_, {hot_->epoch, hot_->epoch->view.handle}, *index, BarrierAndPacket{.barrier = Barrier::on, .acquire = Scope::none, .release = Scope::none}).wait(deadline, how);
  if (done) core_->idle_at.store(*index + 1, std::memory_order_relaxed);
  return done;
}

Result<void> Queue::wait_consumed(std::uint64_t index, Deadline deadline) const {
  // The processor announces no progress of the read index: look often at first, then less.
  for (std::uint64_t round = 0;; ++round) {
    if (static_cast<std::int64_t>(hot_->ring.read_index() - index) > 0) return {};
    if (auto status = core_->status("Queue::wait_consumed"); !status) return status;
    if (round % 64 == 63 && deadline.passed())
      return std::unexpected(Error{Errc::timeout, 0, fmt::format("packet {} was not consumed; the read index is {}", index, hot_->ring.read_index()), "Queue::wait_consumed"});
    if (round < 1024) detail::cpu_pause();
    else if (round < 4096) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
}

Result<void> Queue::status() const { return core_->status("Queue::status"); }
bool Queue::failed() const noexcept { return core_->failed.load(std::memory_order_acquire); }
std::optional<std::uint64_t> Queue::fault_index() const {
  const std::uint64_t index = core_->fault_index();
  if (index == ~0ULL) return std::nullopt;
  return index;
}

Result<void> Queue::inactivate() {
  if (auto usable = core_->fork.check("Queue::inactivate"); !usable) return usable;
  auto done = core_->driver->inactivate_queue(core_->view.id);
  core_->fault({Errc::queue_inactive, hsa_status(Errc::queue_inactive), ~0ULL, "inactivated by the program"}); // if the driver did not say so
  return done;
}

std::uint64_t Queue::queue_address() const noexcept { return core_->view.queue_address; }
const std::shared_ptr<detail::Driver>& Queue::driver() const noexcept { return core_->driver; }

Result<void> Queue::close(Deadline deadline) {
  if (!core_) return {};
  if (auto usable = core_->fork.check("Queue::close"); !usable) return usable;
  if (!failed() && hot_->ring.published() != hot_->ring.reserved()) {
    return std::unexpected(Error{Errc::timeout, 0, fmt::format("slots from {} on were reserved and never committed", hot_->ring.published()), "Queue::close"});
  }
  if (!failed() && hot_->ring.reserved() != core_->idle_at.load(std::memory_order_relaxed))
    if (auto drained = drain(deadline); !drained && drained.error().code == Errc::timeout) return drained;
  auto done = core_->finish();
  hot_ = nullptr;
  core_.reset();
  return done;
}

void Queue::release() noexcept {
  if (!core_) return;
  if (core_->fork.forked()) { // the parent's: its locks, threads and device are not ours
    new std::shared_ptr<detail::QueueCore>(std::move(core_));
    hot_ = nullptr;
    return;
  }
  if (auto closed = close(Deadline::in(core_->options.destroy_wait)); !closed) {
    if (!core_) {
      log::error(fmt::format("a queue was not destroyed cleanly: {}", closed.error().message()));
      return;
    }
    log::warn(fmt::format("a queue is destroyed with work in flight, which is stopped: {}", closed.error().message()));
    (void)core_->driver->inactivate_queue(core_->view.id);
    if (auto done = core_->finish(); !done) log::error(fmt::format("a queue was not destroyed cleanly: {}", done.error().message()));
    core_.reset();
    hot_ = nullptr;
  }
}

} // namespace aql
