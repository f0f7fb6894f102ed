#include "vkfd/queues.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>

#include <aql/abi/queue.hpp>

#include "base/log.hpp"
#include "vkfd/note.hpp"

namespace aql::vkfd {
namespace {

constexpr std::uint32_t kMaxQueues = 1024; // of a process
constexpr std::uint32_t kSdmaXgmi = KFD_IOC_QUEUE_TYPE_SDMA_XGMI;

QueueKind kind_of(std::uint32_t type) noexcept {
  if (type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) return QueueKind::aql;
  return type == KFD_IOC_QUEUE_TYPE_COMPUTE ? QueueKind::pm4 : QueueKind::sdma;
}

bool uses(const CoreQueue& queue, std::uint64_t begin, std::uint64_t end) {
  const auto inside = [&](std::uint64_t address, std::uint64_t size) { return address < end && address + size > begin; };
  // An AQL queue's read index lies inside the structure that the processor works on.
  const std::uint64_t before = queue.kind == QueueKind::aql ? offsetof(abi::AmdQueue, read_dispatch_id) : 0,
                      size = queue.kind == QueueKind::aql ? sizeof(abi::AmdQueue) : 8;
  return inside(queue.ring_address, queue.ring_bytes) || inside(queue.read_pointer - before, size) ||
         inside(queue.write_pointer, 8);
}

// KFD's 0..15 (7 is normal) for the scheduler of the device.
std::int32_t priority_of(std::uint32_t kfd_priority) noexcept { return static_cast<std::int32_t>(kfd_priority) - 7; }

} // namespace

void Queues::report(const GpuContext& gpu, QueueKind kind, const CoreFault& fault) {
  log::warn(fmt::format("virtual KFD: a queue of GPU {} stopped: {}", gpu.id.gpu_id, fault.report));
  if (fault.code == Errc::memory_fault) {
    kfd_hsa_memory_exception_data data{};
    data.failure.NotPresent = fault.not_present;
    data.failure.ReadOnly = fault.read_only;
    data.failure.NoExecute = fault.no_execute;
    data.va = fault.address & ~0xfffull;
    data.gpu_id = gpu.id.gpu_id;
    events_.memory_exception(data);
  } else if (fault.code == Errc::hang || (kind != QueueKind::aql && fault.code != Errc::queue_inactive)) {
    // An AQL queue tells other errors through its own signal; a ring that the engine cannot go on with is a hang to the kernel.
    kfd_hsa_hw_exception_data data{};
    data.reset_type = KFD_HW_EXCEPTION_PER_ENGINE_RESET;
    data.reset_cause = KFD_HW_EXCEPTION_GPU_HANG;
    data.gpu_id = gpu.id.gpu_id;
    events_.hardware_exception(data);
  }
}

int Queues::start(Queue& queue) {
  DeviceCore* core = gpus_[queue.gpu]->core();
  if (core == nullptr) return refuse(-ENODEV, "the software GPU could not be started");
  auto id = core->register_queue(queue.setup);
  if (!id) return refuse(id.error().code == Errc::unsupported ? -EOPNOTSUPP : -EINVAL, "{}", id.error().detail);
  queue.core_id = *id;
  return 0;
}

void Queues::stop(GpuContext& gpu, Queue& queue) {
  if (queue.core_id == 0) return;
  if (auto done = gpu.core()->destroy_queue(queue.core_id); !done) log::error(done.error().message());
  queue.core_id = 0;
  queue.held = false;
}

std::shared_ptr<Queues::Queue> Queues::acquire(std::uint32_t id) {
  std::unique_lock lock{mutex_};
  for (;;) {
    const auto it = queues_.find(id);
    if (it == queues_.end()) return nullptr;
    if (!it->second->busy) {
      it->second->busy = true;
      return it->second;
    }
    released_.wait(lock);
  }
}

void Queues::release(const std::shared_ptr<Queue>& queue) {
  const std::lock_guard lock{mutex_};
  queue->busy = false;
  released_.notify_all();
}

int Queues::create(kfd_ioctl_create_queue_args& args) {
  const auto gpu = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& g) { return g->id.gpu_id == args.gpu_id; });
  if (gpu == gpus_.end()) return refuse(-EINVAL, "no GPU has the id {}", args.gpu_id);
  GpuContext& context = **gpu;
  if (!context.vm_acquired.load(std::memory_order_acquire))
    return refuse(-ENODEV, "ACQUIRE_VM was not called for GPU {}", args.gpu_id);
  if (args.queue_type > kSdmaXgmi) return refuse(-EINVAL, "queue type {} does not exist", args.queue_type);
  if ((args.queue_percentage & 0xff) > KFD_MAX_QUEUE_PERCENTAGE)
    return refuse(-EINVAL, "queue percentage {} is over 100", args.queue_percentage & 0xff);
  if (args.queue_priority > KFD_MAX_QUEUE_PRIORITY) return refuse(-EINVAL, "queue priority {} is over 15", args.queue_priority);
  if (!std::has_single_bit(args.ring_size)) return refuse(-EINVAL, "a ring of {} bytes; a power of two is needed", args.ring_size);
  DeviceCore* core = context.core();
  if (core == nullptr) return refuse(-ENODEV, "the software GPU could not be started");
  const std::shared_lock memory{memory_mutex_};
  const auto reachable = [&](std::uint64_t address, std::uint64_t size, std::uint8_t permissions) {
    return core->translate(address, size, permissions) != nullptr;
  };
  if (!reachable(args.ring_base_address, args.ring_size, sim::kRead)) {
    return refuse(-EFAULT, "the ring of {} bytes at {:#x} is not mapped to the GPU", args.ring_size, args.ring_base_address);
  }
  for (const std::uint64_t pointer : {args.read_pointer_address, args.write_pointer_address}) {
    if (pointer % 4 != 0 || !reachable(pointer, 8, sim::kRead | sim::kWrite))
      return refuse(-EFAULT, "the queue pointer at {:#x} is not mapped to the GPU", pointer);
  }
  auto queue = std::make_shared<Queue>();
  queue->gpu = context.index;
  queue->type = args.queue_type;
  queue->busy = true;
  CoreQueue& setup = queue->setup;
  setup.kind = kind_of(args.queue_type);
  setup.ring_address = args.ring_base_address;
  setup.ring_bytes = args.ring_size;
  setup.read_pointer = args.read_pointer_address;
  setup.write_pointer = args.write_pointer_address;
  setup.priority = priority_of(args.queue_priority);
  setup.on_fault = [this, &context, kind = setup.kind](const CoreFault& fault) { report(context, kind, fault); };
  {
    const std::lock_guard lock{mutex_};
    if (queues_.size() >= kMaxQueues) return refuse(-ENOSPC, "the process has {} queues already", queues_.size());
    std::uint32_t id = 1, slot = 0; // KFD's numbers start at 0; 0 is kept as "none" here
    while (queues_.contains(id)) ++id;
    const auto taken = [&] {
      return std::any_of(queues_.begin(), queues_.end(),
                         [&](const auto& e) { return e.second->gpu == context.index && e.second->slot == slot; });
    };
    while (slot < kDoorbells && taken()) ++slot;
    if (slot == kDoorbells) return refuse(-ENOSPC, "GPU {} has no doorbell left", args.gpu_id);
    queue->id = id;
    queue->slot = slot;
    setup.doorbell = context.doorbells + slot;
    queues_.emplace(id, queue);
  }
  const bool enabled = (args.queue_percentage & 0xff) != 0;
  const int error = enabled ? start(*queue) : 0;
  if (error != 0) {
    const std::lock_guard lock{mutex_};
    queues_.erase(queue->id);
    released_.notify_all();
    return error;
  }
  args.queue_id = queue->id;
  args.doorbell_offset = doorbell_offset(context.index) + queue->slot * 8ull;
  release(queue);
  return 0;
}

int Queues::destroy(std::uint32_t id) {
  const auto queue = acquire(id);
  if (!queue) return refuse(-EINVAL, "no queue has the id {}", id);
  stop(*gpus_[queue->gpu], *queue);
  const std::lock_guard lock{mutex_};
  queues_.erase(id);
  queue->busy = false;
  released_.notify_all();
  return 0;
}

bool Queues::exists(std::uint32_t id) const {
  const std::lock_guard lock{mutex_};
  return queues_.contains(id);
}

int Queues::update(const kfd_ioctl_update_queue_args& args) {
  if ((args.queue_percentage & 0xff) > KFD_MAX_QUEUE_PERCENTAGE)
    return refuse(-EINVAL, "queue percentage {} is over 100", args.queue_percentage & 0xff);
  if (args.queue_priority > KFD_MAX_QUEUE_PRIORITY) return refuse(-EINVAL, "queue priority {} is over 15", args.queue_priority);
  if (args.ring_size != 0 && !std::has_single_bit(args.ring_size))
    return refuse(-EINVAL, "a ring of {} bytes; a power of two is needed", args.ring_size);
  const std::shared_lock memory{memory_mutex_};
  const auto queue = acquire(args.queue_id);
  if (!queue) return refuse(-EINVAL, "no queue has the id {}", args.queue_id);
  GpuContext& context = *gpus_[queue->gpu];
  int error = 0;
  const bool enable = (args.queue_percentage & 0xff) != 0 && args.ring_base_address != 0 && args.ring_size != 0;
  const bool same = queue->setup.ring_address == args.ring_base_address && queue->setup.ring_bytes == args.ring_size;
  DeviceCore* core = context.core();
  const auto told = [&error](const Result<void>& done) {
    if (!done) error = refuse(-EINVAL, "{}", done.error().detail);
  };
  // What runs keeps running. A queue that is off the device comes back with it.
  if (const std::int32_t priority = priority_of(args.queue_priority); priority != queue->setup.priority) {
    queue->setup.priority = priority;
    if (queue->core_id != 0) told(core->set_priority(queue->core_id, priority));
  }
  if (queue->lost) {
    if (enable) error = refuse(-EFAULT, "the memory of queue {} was unmapped", args.queue_id);
  } else if (!enable) {
    if (queue->core_id != 0 && !queue->held) told(core->hold_queue(queue->core_id));
    queue->held = queue->core_id != 0;
  } else if (same && queue->core_id != 0) {
    if (queue->held) told(core->resume_queue(queue->core_id));
    queue->held = false;
  } else {
    stop(context, *queue);
    queue->setup.ring_address = args.ring_base_address;
    queue->setup.ring_bytes = args.ring_size;
    error = start(*queue);
  }
  release(queue);
  return error;
}

int Queues::set_cu_mask(std::uint32_t id, std::span<const std::uint32_t> mask) {
  const auto queue = acquire(id);
  if (!queue) return refuse(-EINVAL, "no queue has the id {}", id);
  std::fill_n(queue->setup.cu_mask, 8, 0);
  for (std::size_t i = 0; i < mask.size() && i < 16; ++i)
    queue->setup.cu_mask[i / 2] |= static_cast<std::uint64_t>(mask[i]) << (i % 2 * 32);
  int error = 0;
  if (queue->core_id != 0 && queue->setup.kind != QueueKind::sdma) { // the copy engine has no compute units
    if (auto done = gpus_[queue->gpu]->core()->set_cu_mask(queue->core_id, queue->setup.cu_mask); !done)
      error = refuse(-EINVAL, "{}", done.error().detail);
  }
  release(queue);
  return error;
}

int Queues::wave_state(kfd_ioctl_get_queue_wave_state_args& args) {
  const auto queue = acquire(args.queue_id);
  if (!queue) return refuse(-EINVAL, "no queue has the id {}", args.queue_id);
  const bool active = queue->core_id != 0 && !queue->held;
  release(queue);
  if (active) return refuse(-EINVAL, "queue {} is active; its waves are saved only while it is disabled", args.queue_id);
  args.ctl_stack_used_size = 0; // no wave is ever saved to memory
  args.save_area_used_size = 0;
  return 0;
}

void Queues::stop_overlapping(std::uint32_t gpu, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint32_t> ids;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [id, queue] : queues_) {
      if (queue->gpu == gpu) ids.push_back(id);
    }
  }
  for (const std::uint32_t id : ids) {
    const auto queue = acquire(id);
    if (!queue) continue;
    if (queue->gpu != gpu || queue->lost || !uses(queue->setup, begin, end)) {
      release(queue);
      continue;
    }
    log::warn(fmt::format("virtual KFD: queue {} is stopped, because memory that it uses is unmapped", id));
    stop(*gpus_[gpu], *queue);
    queue->lost = true;
    release(queue);
  }
}

} // namespace aql::vkfd
