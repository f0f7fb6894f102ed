#include "sim/cp/gpu.hpp"

#include <algorithm>
#include <thread>

#include "sim/cp/engine.hpp"
#include "sim/cp/processor.hpp"

namespace aql::sim {
namespace {

GpuOptions settled(GpuOptions options) {
  if (options.workers == 0) options.workers = std::max(1u, std::thread::hardware_concurrency());
  if (options.hand_stepped) options.workers = 1;
  options.slice_instructions = std::max(options.slice_instructions, 1u);
  return options;
}

} // namespace

struct Gpu::Impl {
  Impl(const DeviceProfile& profile, const GpuOptions& options) : engine(profile, settled(options)), processor(engine) {}
  Engine engine;
  Processor processor; // ends its threads before the engine goes
};

Gpu::Gpu() = default;
Gpu::~Gpu() = default;

Result<std::unique_ptr<Gpu>> Gpu::create(const DeviceProfile& profile, const GpuOptions& options) {
  std::unique_ptr<Gpu> gpu{new Gpu};
  gpu->impl_ = std::make_unique<Impl>(profile, options);
  gpu->impl_->processor.start();
  return gpu;
}

AddressMap& Gpu::memory() noexcept { return impl_->engine.map; }
const DeviceProfile& Gpu::profile() const noexcept { return impl_->engine.profile; }
std::uint64_t Gpu::shared_aperture() const noexcept { return kSharedAperture; }
std::uint64_t Gpu::private_aperture() const noexcept { return kPrivateAperture; }

Result<QueueId> Gpu::create_queue(const QueueConfig& config) { return impl_->processor.create_queue(config); }
Result<QueueId> Gpu::create_pm4_queue(const Pm4QueueConfig& config) { return impl_->processor.create_pm4_queue(config); }
Result<QueueId> Gpu::create_sdma_queue(const SdmaQueueConfig& config) { return impl_->processor.create_sdma_queue(config); }
Result<void> Gpu::destroy_queue(QueueId id) { return impl_->processor.destroy_queue(id); }
Result<void> Gpu::inactivate_queue(QueueId id) { return impl_->processor.inactivate_queue(id); }
Result<void> Gpu::hold_queue(QueueId id) { return impl_->processor.hold_queue(id, true); }
Result<void> Gpu::resume_queue(QueueId id) { return impl_->processor.hold_queue(id, false); }
Result<void> Gpu::set_cu_mask(QueueId id, const std::uint64_t (&mask)[8]) { return impl_->processor.set_cu_mask(id, mask); }
Result<void> Gpu::set_priority(QueueId id, std::int32_t priority) { return impl_->processor.set_priority(id, priority); }
Result<QueueState> Gpu::queue_state(QueueId id) const { return impl_->processor.queue_state(id); }

void Gpu::notify(void* arg) noexcept { static_cast<Gpu*>(arg)->impl_->engine.processor_sleeper.wake(); }

void Gpu::notify_signal() noexcept {
  impl_->engine.bump_event_counter();
  impl_->engine.processor_sleeper.wake();
}

std::atomic<std::uint32_t>& Gpu::event_counter() noexcept { return impl_->engine.event_counter; }

void Gpu::wait_for_event(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  auto& engine = impl_->engine;
  engine.event_waiters.fetch_add(1, std::memory_order_seq_cst); // label E
  if (engine.event_counter.load(std::memory_order_seq_cst) == seen) futex_wait(engine.event_counter, seen, timeout_ns);
  engine.event_waiters.fetch_sub(1, std::memory_order_relaxed);
}

bool Gpu::step() { return impl_->processor.step(); }
void Gpu::run_until_idle() {
  while (step()) {
  }
}

void Gpu::set_symbolizer(std::function<std::string(std::uint64_t)> symbolizer) {
  impl_->engine.set_symbolizer(std::move(symbolizer));
}
void Gpu::set_event_hook(std::function<void(std::uint32_t)> hook) { impl_->engine.set_event_hook(std::move(hook)); }
void Gpu::set_trace(TraceSink* sink) { impl_->engine.trace.store(sink, std::memory_order_release); }
void Gpu::set_packet_observer(PacketObserver* observer) {
  impl_->engine.packet_observer.store(observer, std::memory_order_release);
}
void Gpu::set_fidelity(FidelityCounters* counters) { impl_->engine.fidelity.store(counters, std::memory_order_release); }
std::uint64_t Gpu::timestamp() const noexcept { return impl_->engine.clock.now(); }

} // namespace aql::sim
