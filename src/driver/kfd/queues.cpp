#include "driver/kfd/queues.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::kfd {

Queues::Visit::Visit(Queues& queues) : queues_(queues) {
  const std::lock_guard lock{queues.mutex_};
  if (queues.shut_down_) return;
  ++queues.visits_;
  queues.visitor_ = std::this_thread::get_id();
  counted_ = true;
  for (const auto& [id, open] : queues.open_) list.push_back(open.hardware);
}

Queues::Visit::~Visit() {
  list.clear(); // the last reference may be ours: the queue's memory goes back here
  if (!counted_) return;
  const std::lock_guard lock{queues_.mutex_};
  --queues_.visits_;
  queues_.visited_.notify_all();
}

Result<QueueView> Queues::create(const QueueRequest& request) {
  {
    const std::lock_guard lock{mutex_};
    if (open_.size() >= gpu_.info.max_queues) {
      return std::unexpected(Error{Errc::out_of_resources, 0, fmt::format("{} queues are open already, the limit of this device; destroy one first", open_.size()), "create_queue"});
    }
  }
  if (auto started = session_.start(); !started) return std::unexpected(started.error());
  Open open;
  if (request.agent_function) {
    auto soft = SoftQueue::create(session_.thunk(), gpu_, memory_, signals_, session_.hub(), session_.alarm(), request);
    if (!soft) return std::unexpected(soft.error());
    open.soft = *soft;
    open.hardware = open.soft->hardware();
  } else {
    auto hardware = HwQueue::create(session_.thunk(), gpu_, memory_, session_.alarm(), request);
    if (!hardware) return std::unexpected(hardware.error());
    open.hardware = *hardware;
  }
  const std::lock_guard lock{mutex_};
  const std::uint64_t id = next_++;
  open.hardware->set_id(id);
  const auto view = open.soft ? open.soft->view(id) : open.hardware->view(id);
  open_.emplace(id, std::move(open));
  return view;
}

Result<void> Queues::destroy(std::uint64_t id) {
  Open open;
  {
    const std::lock_guard lock{mutex_};
    const auto found = open_.find(id);
    if (found == open_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed before", id), "destroy_queue"});
    open = std::move(found->second);
    open_.erase(found);
  }
  if (open.soft) open.soft->close();
  return open.hardware->close();
}

Result<void> Queues::inactivate(std::uint64_t id) {
  std::shared_ptr<HwQueue> hardware;
  {
    const std::lock_guard lock{mutex_};
    const auto found = open_.find(id);
    if (found == open_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist", id), "inactivate_queue"});
    hardware = found->second.hardware;
  }
  hardware->fault({Errc::queue_inactive, hsa_status(Errc::queue_inactive), ~0ULL, "the host made the queue inactive"});
  return {};
}

void Queues::shut_down() {
  std::map<std::uint64_t, Open> left;
  {
    const std::lock_guard lock{mutex_};
    shut_down_ = true;
    left.swap(open_);
  }
  for (auto& [id, open] : left) {
    if (open.soft) open.soft->close();
    if (auto done = open.hardware->close(); !done) log::error(done.error().message());
  }
  left.clear();
  std::unique_lock lock{mutex_};
  visited_.wait(lock, [this] { return visits_ == 0 || visitor_ == std::this_thread::get_id(); });
}

void Queues::queues_need_attention() {
  const Visit visit{*this};
  for (const auto& queue : visit.list) queue->attend();
}

void Queues::memory_fault(const MemoryFault& fault) {
  if (fault.node != gpu_.node) return;
  Visit visit{*this};
  if (visit.list.empty()) return;
  // After such a fault the kernel runs no queue of the process on this GPU any more; only newer kernels say whose fault it was.
  const bool known = std::any_of(visit.list.begin(), visit.list.end(), [](const auto& queue) { return queue->blamed_for_memory_fault(); });
  QueueFaultInfo info{Errc::memory_fault, hsa_status(Errc::memory_fault), ~0ULL,
                      fmt::format("memory access fault at {:#x} (page): {}; {}", fault.address, fault.reason, memory_.describe(fault.address))};
  if (!known && visit.list.size() > 1) info.detail += fmt::format("; the kernel does not say which of the {} queues of {} it was", visit.list.size(), gpu_.info.selector);
  for (const auto& queue : visit.list) {
    if (queue->blamed_for_memory_fault() || !known) queue->fault(info);
    else queue->fault({Errc::device_lost, hsa_status(Errc::device_lost), ~0ULL, fmt::format("another queue of {} had a memory access fault, after which the kernel runs none of them", gpu_.info.selector)});
  }
}

void Queues::device_lost(const std::string& why) {
  const Visit visit{*this};
  for (const auto& queue : visit.list) queue->fault({Errc::device_lost, hsa_status(Errc::device_lost), ~0ULL, why});
}

} // namespace aql::detail::kfd
