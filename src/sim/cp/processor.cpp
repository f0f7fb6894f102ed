#include "sim/cp/processor.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/log.hpp"

namespace aql::sim {
namespace {

constexpr unsigned kPacketsPerPoll = 16;
constexpr std::size_t kPacketPageBytes = 4096;
constexpr std::uint64_t kLeastSdmaRing = 256; // bytes; several packets
// How long the processor looks for work before it sleeps.
constexpr std::uint64_t kSpinNs = 50'000;
// A packet waits for a signal that a kernel or foreign code may store without telling us: looks get rarer.
constexpr std::int64_t kFirstLookNs = 20'000, kLastLookNs = 1'000'000;
// Passes over waves that only sleep before the host CPU is given away.
constexpr std::uint32_t kPassesBeforeYield = 64, kPassesBeforeSleep = 2000;

thread_local const Processor* t_processor = nullptr;

void interrupt_of_wave(void* engine) { static_cast<Engine*>(engine)->wave_interrupt(); }
std::uint64_t host_dispatch_clock(void* clock) { return static_cast<const DeviceClock*>(clock)->now(); }

} // namespace

Processor::Processor(Engine& engine) : engine_(engine), view_(engine.map), kernels_(view_, engine.profile) {
  unsigned workers = engine.options.workers;
  for (unsigned i = 0; i < workers; ++i) engine_.workers.push_back(std::make_unique<Worker>(engine_, i));
}

Processor::~Processor() {
  std::vector<QueueId> left;
  {
    const std::lock_guard lock{mutex_};
    for (auto& entry : queues_) left.push_back(entry.queue->id());
  }
  for (const QueueId id : left) {
    if (auto done = destroy_queue(id); !done) log::error(done.error().message());
  }
  quit_.store(true, std::memory_order_seq_cst);
  {
    const std::lock_guard lock{agent_mutex_};
    agent_quit_ = true;
  }
  agent_wake_.notify_all();
  engine_.processor_sleeper.wake();
  for (auto& worker : engine_.workers) worker->sleeper.wake();
  if (thread_.joinable()) thread_.join();
  for (auto& thread : additional_) thread.join();
  if (agent_thread_.joinable()) agent_thread_.join();
  for (auto& page : packet_pages_) {
    if (auto done = engine_.map.unmap(reinterpret_cast<std::uint64_t>(page.base)); !done) log::error(done.error().message());
    munmap(page.base, kPacketPageBytes);
  }
}

void Processor::start() {
  if (engine_.options.hand_stepped) return;
  thread_ = std::thread{[this] { run(); }};
  for (std::size_t i = 1; i < engine_.workers.size(); ++i) {
    additional_.emplace_back([this, i] { run_additional(*engine_.workers[i]); });
  }
}

bool Processor::on_processor_thread() const noexcept { return t_processor == this || engine_.options.hand_stepped; }

// --- queues

Processor::Entry* Processor::find(QueueId id) {
  const auto found = std::find_if(queues_.begin(), queues_.end(), [id](const Entry& e) { return e.queue->id() == id; });
  return found == queues_.end() ? nullptr : &*found;
}

template <class... Arguments>
QueueId Processor::add_queue(const Arguments&... arguments) {
  const std::lock_guard lock{mutex_};
  const QueueId id = next_id_++;
  queues_.push_back({std::make_shared<HwQueue>(engine_, *this, id, arguments...), false, false});
  queues_changed_.store(true, std::memory_order_release);
  engine_.processor_sleeper.wake();
  return id;
}

Result<QueueId> Processor::create_queue(const QueueConfig& config) {
  const auto refuse = [](std::string detail) {
    return std::unexpected(Error{Errc::invalid_queue_creation, 0, std::move(detail), "create_queue"});
  };
  if (config.amd_queue == nullptr || config.doorbell == nullptr) return refuse("a queue needs an amd_queue_t and a doorbell");
  if (reinterpret_cast<std::uintptr_t>(config.doorbell) % 8 != 0) return refuse("the doorbell is not 8-byte aligned");
  QueueConfig taken = config; // what is checked is what is used
  if (taken.ring_packets == 0) {
    taken.ring_address = config.amd_queue->hsa_queue.base_address;
    taken.ring_packets = config.amd_queue->hsa_queue.size;
  }
  const std::uint64_t packets = taken.ring_packets, address = taken.ring_address;
  if (!std::has_single_bit(packets)) return refuse(fmt::format("a ring of {} packets; a power of two is needed", packets));
  if (address % 64 != 0) return refuse(fmt::format("the ring at {:#x} is not 64-byte aligned", address));
  auto* ring = engine_.map.translate(address, packets * sizeof(abi::Slot), kRead | kWrite);
  if (ring == nullptr) {
    return refuse(fmt::format("the ring of {} packets at {:#x} is not mapped for reading and writing: {}", packets, address,
                              engine_.map.describe(address)));
  }
  return add_queue(taken, reinterpret_cast<abi::Slot*>(ring));
}

Result<QueueId> Processor::create_pm4_queue(const Pm4QueueConfig& config) {
  const auto refuse = [](std::string detail) {
    return std::unexpected(Error{Errc::invalid_queue_creation, 0, std::move(detail), "create_pm4_queue"});
  };
  if (config.read_pointer == nullptr || config.doorbell == nullptr)
    return refuse("a PM4 queue needs a read pointer and a doorbell");
  if (!std::has_single_bit(config.ring_dwords))
    return refuse(fmt::format("a ring of {} dwords; a power of two is needed", config.ring_dwords));
  if (engine_.map.translate(config.ring_address, config.ring_dwords * 4, kRead) == nullptr) {
    return refuse(fmt::format("the ring of {} dwords at {:#x} is not mapped: {}", config.ring_dwords, config.ring_address,
                              engine_.map.describe(config.ring_address)));
  }
  return add_queue(config);
}

Result<QueueId> Processor::create_sdma_queue(const SdmaQueueConfig& config) {
  const auto refuse = [](std::string detail) {
    return std::unexpected(Error{Errc::invalid_queue_creation, 0, std::move(detail), "create_sdma_queue"});
  };
  if (config.read_pointer == nullptr || config.doorbell == nullptr)
    return refuse("an SDMA queue needs a read pointer and a doorbell");
  if (!std::has_single_bit(config.ring_bytes) || config.ring_bytes < kLeastSdmaRing)
    return refuse(fmt::format("a ring of {} bytes; a power of two of at least {} is needed", config.ring_bytes, kLeastSdmaRing));
  if (config.ring_address % 4 != 0) return refuse(fmt::format("the ring at {:#x} is not 4-byte aligned", config.ring_address));
  if (engine_.map.translate(config.ring_address, config.ring_bytes, kRead) == nullptr) {
    return refuse(fmt::format("the ring of {} bytes at {:#x} is not mapped: {}", config.ring_bytes, config.ring_address,
                              engine_.map.describe_access(config.ring_address, config.ring_bytes, kRead)));
  }
  return add_queue(config);
}

void Processor::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
  if (!on_processor_thread()) {
    changed_.wait(lock, done);
    return;
  }
  while (!done()) {
    lock.unlock();
    service(0);
    engine_.workers[0]->run();
    lock.lock();
  }
}

Result<void> Processor::destroy_queue(QueueId id) {
  std::unique_lock lock{mutex_};
  Entry* entry = find(id);
  if (entry == nullptr || entry->destroying) {
    return std::unexpected(
        Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed before", id), "destroy_queue"});
  }
  entry->destroying = true;
  const std::shared_ptr<HwQueue> queue = entry->queue; // lives at least until we return
  queues_changed_.store(true, std::memory_order_release);
  engine_.processor_sleeper.wake();
  wait_until(lock, [this, id] { return find(id) == nullptr; });
  return {};
}

Result<void> Processor::inactivate_queue(QueueId id) {
  std::unique_lock lock{mutex_};
  Entry* entry = find(id);
  if (entry == nullptr)
    return std::unexpected(
        Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed", id), "inactivate_queue"});
  const std::shared_ptr<HwQueue> queue = entry->queue;
  if (queue->callback_running()) return {}; // it is being made inactive just now
  queue->record_fault({Errc::queue_inactive, 0, ~0ull, "the host made the queue inactive", {}});
  queues_changed_.store(true, std::memory_order_release);
  engine_.processor_sleeper.wake();
  wait_until(lock, [this, id, &queue] { return queue->state() != QueueState::active || find(id) == nullptr; });
  return {};
}

template <class Change>
Result<void> Processor::change_queue(QueueId id, const char* call, Change change) {
  const std::lock_guard lock{mutex_};
  Entry* entry = find(id);
  if (entry == nullptr)
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed", id), call});
  change(*entry->queue);
  engine_.processor_sleeper.wake();
  return {};
}

Result<void> Processor::hold_queue(QueueId id, bool held) {
  return change_queue(id, "hold_queue", [held](HwQueue& queue) { queue.hold(held); });
}
Result<void> Processor::set_cu_mask(QueueId id, const std::uint64_t (&mask)[8]) {
  return change_queue(id, "set_cu_mask", [&mask](HwQueue& queue) { queue.change_cu_mask(mask); });
}
Result<void> Processor::set_priority(QueueId id, std::int32_t priority) {
  return change_queue(id, "set_priority", [priority](HwQueue& queue) { queue.change_priority(priority); });
}

Result<QueueState> Processor::queue_state(QueueId id) const {
  const std::lock_guard lock{mutex_};
  for (const auto& entry : queues_) {
    if (entry.queue->id() == id) return entry.queue->state();
  }
  if (id != 0 && id < next_id_) return QueueState::destroyed;
  return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist", id), "queue_state"});
}

// Takes over created and destroyed queues.
void Processor::refresh() {
  if (!queues_changed_.exchange(false, std::memory_order_acq_rel)) return;
  bool left = false, removed = false;
  const std::lock_guard lock{mutex_};
  for (auto& entry : queues_) {
    if (!entry.destroying) continue;
    entry.queue->set_state(QueueState::destroyed);
    entry.queue->stop_all();
    if (entry.queue->drained()) {
      entry.gone = true;
      std::erase(worked_, entry.queue.get());
      removed = true;
    } else {
      left = true;
    }
  }
  if (removed) {
    reap();
    std::erase_if(queues_, [](const Entry& e) { return e.gone; });
  }
  active_.clear();
  for (auto& entry : queues_) active_.push_back(entry.queue);
  if (left) queues_changed_.store(true, std::memory_order_relaxed); // look again
  changed_.notify_all();
}

// --- dispatches

Dispatch* Processor::new_dispatch() {
  if (free_dispatches_.empty()) reap();
  if (free_dispatches_.empty()) {
    // A page of packet copies and the dispatches that own them.
    void* base = mmap(nullptr, kPacketPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc{};
    const auto address = reinterpret_cast<std::uint64_t>(base);
    if (auto mapped = engine_.map.map({.address = address,
                                       .size = kPacketPageBytes,
                                       .host = static_cast<std::byte*>(base),
                                       .permissions = kRead,
                                       .kind = MemoryKind::queue,
                                       .id = 0,
                                       .label = "dispatch packets"});
        !mapped) {
      log::error(mapped.error().message());
    }
    packet_pages_.push_back({base});
    for (std::size_t i = 0; i < kPacketPageBytes / sizeof(abi::Slot); ++i) {
      dispatches_.push_back(std::make_unique<Dispatch>());
      Dispatch& d = *dispatches_.back();
      d.packet_copy = static_cast<std::byte*>(base) + i * sizeof(abi::Slot);
      d.context.packet_address = address + i * sizeof(abi::Slot);
      d.context.arch = engine_.profile.arch;
      d.context.numerics = engine_.options.numerics;
      d.context.lds_limit = engine_.profile.lds_bytes;
      d.context.shared_aperture = kSharedAperture;
      d.context.private_aperture = kPrivateAperture;
      d.context.clock = &host_dispatch_clock;
      d.context.clock_arg = &engine_.clock;
      d.context.interrupt = &interrupt_of_wave;
      d.context.interrupt_arg = &engine_;
      d.context.core_clocks_per_tick =
          static_cast<std::uint32_t>(engine_.profile.clock_mhz * 1'000'000ull / engine_.profile.timestamp_hz);
      free_dispatches_.push_back(&d);
    }
  }
  Dispatch* d = free_dispatches_.back();
  free_dispatches_.pop_back();
  return d;
}

void Processor::free_dispatch(Dispatch* dispatch) { free_dispatches_.push_back(dispatch); }

void Processor::reap() {
  for (Dispatch* d = engine_.take_retired(); d != nullptr;) {
    Dispatch* next = d->next_retired.load(std::memory_order_relaxed);
    d->queue->unlink(d);
    free_dispatches_.push_back(d);
    d = next;
  }
}

void Processor::launch(Dispatch& d) {
  d.next_group = 0;
  d.resident = 0;
  d.stop.store(false, std::memory_order_relaxed);
  d.instructions.store(0, std::memory_order_relaxed);
  d.ids_ready.store(false, std::memory_order_relaxed);
  d.context.trace = engine_.trace.load(std::memory_order_acquire);
  d.context.fidelity = engine_.fidelity.load(std::memory_order_acquire);
  d.context.code_generation = engine_.code.begin_dispatch();
  d.start_ts = d.completion_signal != 0 ? engine_.clock.now_up() : 0;
  if (engine_.options.watchdog_ms != 0) d.start_ns = monotonic_ns();
  d.remaining.store(d.group_total, std::memory_order_relaxed);
  engine_.scheduler.add(&d);
}

// --- agent functions

void Processor::call_agent(const AgentCall& call) {
  const std::lock_guard lock{agent_mutex_};
  agent_calls_.push_back(call);
  if (!engine_.options.hand_stepped && !agent_thread_.joinable()) agent_thread_ = std::thread{[this] { run_agent_calls(); }};
  agent_wake_.notify_one();
}

void Processor::execute(const AgentCall& call) {
  HwQueue& queue = *call.queue;
  if (queue.state() == QueueState::active && !queue.fault_pending()) {
    const Errc code = (*call.function)(call.packet.type, call.packet.arg, call.packet.return_address);
    if (code != Errc::ok) {
      queue.record_fault({code,
                          queue_error_bits(code),
                          call.packet_index,
                          fmt::format("packet {}: the agent function of type {} failed with {}", call.packet_index,
                                      call.packet.type, to_string(code)),
                          {}});
    } else if (call.packet.completion_signal != 0) {
      HostView view{engine_.map};
      const AddressMap::Slice slice{engine_.map};
      engine_.release(call.release);
      std::string why;
      if (!engine_.complete_signal(view, call.packet.completion_signal, call.start_ts, why)) {
        queue.record_fault({Errc::memory_fault, 0, call.packet_index, std::move(why), {}});
      }
    }
  }
  queue.dispatch_over();
  engine_.processor_sleeper.wake();
}

void Processor::run_agent_calls() {
  std::unique_lock lock{agent_mutex_};
  for (;;) {
    agent_wake_.wait(lock, [this] { return agent_quit_ || !agent_calls_.empty(); });
    if (agent_calls_.empty()) return;
    const AgentCall call = agent_calls_.front();
    agent_calls_.pop_front();
    lock.unlock();
    execute(call);
    lock.lock();
  }
}

// --- the loop

void Processor::settle() {
  // Callbacks may create and destroy queues, so the list is not iterated while one runs.
  std::vector<std::shared_ptr<HwQueue>> ready;
  for (auto& queue : active_) {
    if (queue->fault_pending() && queue->settle_fault()) ready.push_back(queue);
  }
  for (auto& queue : ready) {
    if (queue->state() != QueueState::active) continue; // destroyed by an earlier callback
    queue->deliver_fault();
    const std::lock_guard lock{mutex_};
    changed_.notify_all();
  }
}

bool Processor::service(unsigned packets) {
  bool worked = false;
  if (queues_changed_.load(std::memory_order_relaxed)) refresh();
  bool faults = false;
  for (auto& queue : active_) {
    if (packets != 0 && queue->poll(packets) == HwQueue::Poll::worked) {
      worked_.push_back(queue.get());
      worked = true;
    }
    faults = faults || (queue->fault_pending() && queue->state() == QueueState::active);
  }
  if (engine_.options.hand_stepped && packets != 0) {
    std::deque<AgentCall> calls;
    {
      const std::lock_guard lock{agent_mutex_};
      calls.swap(agent_calls_);
    }
    for (auto& call : calls) {
      execute(call);
      worked = true;
    }
  }
  if (faults) {
    reap();
    settle();
    worked = true;
  }
  return worked;
}

Worker::Did Processor::run_waves(Worker& worker) {
  Worker::Did did = worker.run();
  // Small kernels: several before the queues are looked at again.
  for (std::uint64_t left = engine_.options.slice_instructions;
       did == Worker::Did::worked && worker.executed() < left && engine_.scheduler.newcomers() != 0;) {
    left -= worker.executed();
    did = worker.run();
  }
  for (HwQueue* queue : worked_) queue->rearm();
  worked_.clear();
  return did;
}

bool Processor::must_look_again() const noexcept {
  return std::any_of(active_.begin(), active_.end(), [](const auto& q) {
    return q->state() == QueueState::active && (q->waits_for_memory() || q->polled() || !q->drained());
  });
}

bool Processor::step() {
  const bool serviced = service(1);
  const Worker::Did did = run_waves(*engine_.workers[0]);
  return serviced || did != Worker::Did::nothing;
}

void Processor::run() {
  t_processor = this;
  Worker& worker = *engine_.workers[0];
  std::uint32_t idle = 0, slept = 0;
  std::uint64_t idle_since = 0;
  std::int64_t look_ns = kFirstLookNs;
  while (!quit_.load(std::memory_order_relaxed)) {
    const bool serviced = service(kPacketsPerPoll);
    const Worker::Did did = run_waves(worker);
    if (serviced || did == Worker::Did::worked) {
      idle = slept = 0;
      look_ns = kFirstLookNs;
      continue;
    }
    std::int64_t timeout = -1;
    if (did == Worker::Did::slept) {
      // One look at every sleeping group is a pass.
      const std::uint32_t resident = static_cast<std::uint32_t>(std::max<std::size_t>(worker.resident(), 1));
      if (++slept % resident != 0) continue;
      const std::uint32_t passes = slept / resident;
      if (passes < kPassesBeforeYield) {
        cpu_pause();
        continue;
      }
      if (passes < kPassesBeforeSleep) {
        sched_yield();
        continue;
      }
      timeout = kFirstLookNs;
    } else {
      slept = 0;
      cpu_pause();
      if (++idle == 1) idle_since = monotonic_ns();
      if (idle % 64 != 0 || monotonic_ns() - idle_since < kSpinNs) continue;
      reap();
      if (must_look_again()) {
        timeout = look_ns;
        look_ns = std::min(look_ns * 2, kLastLookNs);
      }
    }
    engine_.processor_sleeper.announce();
    if (quit_.load(std::memory_order_seq_cst) || service(kPacketsPerPoll) || engine_.scheduler.waiting()) {
      engine_.processor_sleeper.cancel();
      idle = 0;
      continue;
    }
    engine_.processor_sleeper.sleep(timeout);
    idle = timeout >= 0 ? idle : 0;
  }
}

void Processor::run_additional(Worker& worker) {
  std::uint32_t idle = 0, slept = 0;
  while (!quit_.load(std::memory_order_relaxed)) {
    const Worker::Did did = worker.run();
    if (did == Worker::Did::worked) {
      idle = slept = 0;
      continue;
    }
    if (did == Worker::Did::slept) {
      const std::uint32_t resident = static_cast<std::uint32_t>(std::max<std::size_t>(worker.resident(), 1));
      if (++slept % resident != 0) continue;
      const std::uint32_t passes = slept / resident;
      if (passes < kPassesBeforeYield) {
        cpu_pause();
      } else if (passes < kPassesBeforeSleep) {
        sched_yield();
      } else {
        const timespec nap{0, kFirstLookNs};
        nanosleep(&nap, nullptr);
      }
      continue;
    }
    cpu_pause();
    if (++idle < 512) continue;
    idle = 0;
    worker.sleeper.announce();
    if (quit_.load(std::memory_order_seq_cst) || engine_.scheduler.waiting()) {
      worker.sleeper.cancel();
      continue;
    }
    worker.sleeper.sleep(-1);
  }
}

} // namespace aql::sim
