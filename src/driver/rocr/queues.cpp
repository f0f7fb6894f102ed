#include "driver/rocr/queues.hpp"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <bit>
#include <cstddef>

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::rocr {
namespace {

// The raw view below relies on these.
static_assert(sizeof(hsa_queue_t) == sizeof(abi::HsaQueue) && offsetof(hsa_queue_t, doorbell_signal) == offsetof(abi::HsaQueue, doorbell_signal));
static_assert(offsetof(hsa_queue_t, base_address) == offsetof(abi::HsaQueue, base_address) && offsetof(hsa_queue_t, size) == offsetof(abi::HsaQueue, size));
static_assert(sizeof(amd_queue_t) == sizeof(abi::AmdQueue) && offsetof(amd_queue_t, hsa_queue) == 0);
static_assert(offsetof(amd_queue_t, write_dispatch_id) == offsetof(abi::AmdQueue, write_dispatch_id));
static_assert(offsetof(amd_queue_t, read_dispatch_id) == offsetof(abi::AmdQueue, read_dispatch_id));
static_assert(offsetof(amd_queue_t, group_segment_aperture_base_hi) == offsetof(abi::AmdQueue, group_segment_aperture_base_hi));
static_assert(offsetof(amd_queue_t, queue_inactive_signal) == offsetof(abi::AmdQueue, queue_inactive_signal));
static_assert(sizeof(amd_signal_t) == sizeof(abi::AmdSignal) && offsetof(amd_signal_t, kind) == offsetof(abi::AmdSignal, kind));
static_assert(offsetof(amd_signal_t, hardware_doorbell_ptr) == offsetof(abi::AmdSignal, value) && offsetof(amd_signal_t, start_ts) == offsetof(abi::AmdSignal, start_ts));
static_assert(AMD_SIGNAL_KIND_DOORBELL == static_cast<int>(abi::SignalKind::doorbell));

constexpr const char* doorbell_name(std::int64_t kind) {
  switch (static_cast<abi::SignalKind>(kind)) {
  case abi::SignalKind::invalid: return "invalid";
  case abi::SignalKind::user: return "an ordinary signal, rung by the runtime";
  case abi::SignalKind::legacy_doorbell: return "a legacy doorbell of gfx7 and gfx8";
  case abi::SignalKind::doorbell: break;
  }
  return "unknown";
}

} // namespace

Queues::~Queues() {
  std::vector<std::uint64_t> left;
  for (const auto& [id, open] : open_) left.push_back(id);
  for (const auto id : left) {
    if (auto done = destroy(id); !done) log::error(done.error().message());
  }
}

Result<void> Queues::check(const QueueRequest& request) const {
  const auto refuse = [](Errc code, std::string text) { return std::unexpected(Error{code, 0, std::move(text), "create_queue"}); };
  const auto& info = agent_.info;
  if (!std::has_single_bit(request.packets) || request.packets < info.min_queue_packets || request.packets > info.max_queue_packets) {
    return refuse(Errc::invalid_queue_creation, fmt::format("asked for a queue of {} packets; a power of two from {} to {} is needed", request.packets, info.min_queue_packets, info.max_queue_packets));
  }
  if (request.agent_function)
    return refuse(Errc::unsupported, "asked for an agent function: a GPU's packet processor executes no agent-dispatch packets; leave agent_function empty on this driver");
  return {};
}

void Queues::on_error(hsa_status_t status, hsa_queue_t*, void* data) {
  auto& open = *static_cast<Open*>(data);
  const auto desk = open.desk; // the receiver may destroy the queue at once
  FaultTeller::tell(*desk, open.sink, {errc_of(status), static_cast<std::uint32_t>(status), ~0ULL, fmt::format("reported by the HSA runtime: {}", describe(*open.api, status))});
}

Result<QueueView> Queues::create(const QueueRequest& request) {
  if (auto ok = check(request); !ok) return std::unexpected(ok.error());
  if (auto started = teller_.start(); !started) return std::unexpected(started.error());
  auto open = std::make_unique<Open>(request.on_fault);
  open->desk = teller_.desk();
  open->api = &api_;
  const auto type = request.producers == QueueProducers::single ? HSA_QUEUE_TYPE_SINGLE : HSA_QUEUE_TYPE_MULTI;
  const auto status = api_.hsa_queue_create(agent_.handle, request.packets, type, &Queues::on_error, open.get(), UINT32_MAX, UINT32_MAX, &open->queue);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(failure(api_, status, fmt::format("{} gives no queue of {} packets", agent_.info.selector, request.packets), "create_queue"));
  auto view = adopt(*open, request);
  if (!view) {
    open->sink->close();
    (void)api_.hsa_queue_destroy(open->queue);
    return view;
  }
  open->listener = std::make_unique<FaultListener>(agent_.handle, [sink = open->sink, desk = open->desk](const std::string& text) { FaultTeller::tell(*desk, sink, {Errc::memory_fault, 43, ~0ULL, text}); });
  const std::lock_guard lock{mutex_};
  view->id = next_++;
  open_[view->id] = std::move(open);
  return view;
}

// From the runtime's queue to the raw view: only where everything is where the hardware has it.
Result<QueueView> Queues::adopt(Open& open, const QueueRequest& request) {
  const auto refuse = [&](Errc code, std::string text) { return std::unexpected(Error{code, 0, std::move(text), "create_queue"}); };
  auto* amd = reinterpret_cast<abi::AmdQueue*>(open.queue);
  const auto* doorbell = reinterpret_cast<const abi::AmdSignal*>(open.queue->doorbell_signal.handle);
  if (doorbell == nullptr || doorbell->kind != static_cast<std::int64_t>(abi::SignalKind::doorbell)) {
    return refuse(Errc::unsupported, fmt::format("the doorbell of a queue of {} is no raw 64-bit doorbell but {} (kind {}); aql rings raw doorbells only. Runtime tools that intercept "
                                                 "queues (tracers, debuggers) do this: run without them",
                                                 agent_.info.selector, doorbell == nullptr ? "null" : doorbell_name(doorbell->kind), doorbell == nullptr ? 0 : doorbell->kind));
  }
  if (open.queue->size != request.packets)
    return refuse(Errc::invalid_queue_creation, fmt::format("asked for {} packets, the runtime made {}", request.packets, open.queue->size));
  const auto shared = static_cast<std::uint32_t>(agent_.info.shared_aperture >> 32), own = static_cast<std::uint32_t>(agent_.info.private_aperture >> 32);
  if (amd->group_segment_aperture_base_hi != shared || amd->private_segment_aperture_base_hi != own) {
    return refuse(Errc::unsupported, fmt::format("the flat apertures are at {:#x} and {:#x} (high halves), not at {:#x} and {:#x} as on every known kernel driver; generic pointers "
                                                 "in hidden arguments would be wrong",
                                                 amd->group_segment_aperture_base_hi, amd->private_segment_aperture_base_hi, shared, own));
  }
  if (const auto status = api_.hsa_amd_profiling_set_profiler_enabled(open.queue, 1); status != HSA_STATUS_SUCCESS)
    log::warn(fmt::format("no timestamps on this queue: {}", describe(api_, status)));
  if (request.priority != 0) {
    const auto priority = request.priority > 0 ? HSA_AMD_QUEUE_PRIORITY_HIGH : HSA_AMD_QUEUE_PRIORITY_LOW;
    if (const auto status = api_.hsa_amd_queue_set_priority(open.queue, priority); status != HSA_STATUS_SUCCESS)
      return std::unexpected(failure(api_, status, fmt::format("priority {} cannot be set", request.priority), "create_queue"));
  }
  if (!request.cu_mask.empty()) {
    const auto bits = static_cast<std::uint32_t>(request.cu_mask.size() * 32);
    const auto status = api_.hsa_amd_queue_cu_set_mask(open.queue, bits, request.cu_mask.data());
    // "Reduced" is no failure: the environment allows fewer units than were asked for.
    if (status != HSA_STATUS_SUCCESS && static_cast<std::uint32_t>(status) != HSA_STATUS_CU_MASK_REDUCED)
      return std::unexpected(failure(api_, status, "the CU mask cannot be set", "create_queue"));
  }
  QueueView view;
  view.ring = static_cast<abi::Slot*>(open.queue->base_address);
  view.mask = open.queue->size - 1;
  view.write_index = &amd->write_dispatch_id;
  view.read_index = &amd->read_dispatch_id;
  view.doorbell = reinterpret_cast<std::uint64_t*>(doorbell->value);
  view.amd_queue = amd;
  view.queue_address = reinterpret_cast<std::uint64_t>(amd);
  return view;
}

Result<void> Queues::destroy(std::uint64_t id) {
  std::unique_ptr<Open> open;
  {
    const std::lock_guard lock{mutex_};
    const auto found = open_.find(id);
    if (found == open_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed before", id), "destroy_queue"});
    open = std::move(found->second);
    open_.erase(found);
  }
  open->listener.reset();
  open->sink->close();
  // The runtime returns when its own handlers of this queue have ended.
  if (const auto status = api_.hsa_queue_destroy(open->queue); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("queue {} cannot be destroyed", id), "destroy_queue"));
  return {};
}

Result<void> Queues::inactivate(std::uint64_t id) {
  hsa_queue_t* queue = nullptr;
  std::shared_ptr<FaultSink> sink;
  {
    const std::lock_guard lock{mutex_};
    const auto found = open_.find(id);
    if (found == open_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed", id), "inactivate_queue"});
    queue = found->second->queue;
    sink = found->second->sink;
  }
  if (const auto status = api_.hsa_queue_inactivate(queue); status != HSA_STATUS_SUCCESS)
    return std::unexpected(failure(api_, status, fmt::format("queue {} cannot be inactivated", id), "inactivate_queue"));
  sink->report({Errc::queue_inactive, hsa_status(Errc::queue_inactive), ~0ULL, "the host made the queue inactive"});
  return {};
}

} // namespace aql::detail::rocr
