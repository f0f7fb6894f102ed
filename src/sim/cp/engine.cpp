#include "sim/cp/engine.hpp"

#include <fmt/format.h>

#include "sim/cp/hw_queue.hpp"
#include "sim/cp/worker.hpp"

namespace aql::sim {

namespace {

// Shader engines of an XCD: four on MI300, eight on the one die of MI200 (assumed from the numbers of compute units).
std::uint32_t cus_per_engine(const DeviceProfile& p) noexcept {
  const std::uint32_t engines = p.cus_per_xcc > 64 ? 8 : 4;
  return (p.cus_per_xcc + engines - 1) / engines;
}

} // namespace

Engine::Engine(const DeviceProfile& p, const GpuOptions& o)
    : profile(p), options(o), setup{o.poison, p.xcc_count, cus_per_engine(p)}, code(map, p.arch), clock(p.timestamp_hz),
      scratch(map), scheduler(profile, o.workers > 1 && !o.hand_stepped, o.seed) {}

Engine::~Engine() = default;

void Engine::set_symbolizer(std::function<std::string(std::uint64_t)> symbolizer) {
  const std::lock_guard lock{callbacks_mutex_};
  symbolizer_ = std::make_shared<const std::function<std::string(std::uint64_t)>>(std::move(symbolizer));
}

void Engine::set_event_hook(std::function<void(std::uint32_t)> hook) {
  const std::lock_guard lock{callbacks_mutex_};
  event_hook_ = std::make_shared<const std::function<void(std::uint32_t)>>(std::move(hook));
}

std::string Engine::symbol(std::uint64_t address) const {
  std::shared_ptr<const std::function<std::string(std::uint64_t)>> symbolizer;
  {
    const std::lock_guard lock{callbacks_mutex_};
    symbolizer = symbolizer_;
  }
  return symbolizer && *symbolizer ? (*symbolizer)(address) : std::string{};
}

void Engine::bump_event_counter() noexcept {
  // Label E. A waiter announces itself, then looks at the counter; we raise the counter, then look for waiters.
  event_counter.fetch_add(1, std::memory_order_seq_cst);
  if (event_waiters.load(std::memory_order_seq_cst) != 0) futex_wake_all(event_counter);
}

bool Engine::complete_signal(HostView& view, std::uint64_t handle, std::uint64_t start_ts, std::string& why) {
  auto* signal = view.as<abi::AmdSignal>(handle, kRead | kWrite);
  if (signal == nullptr) {
    why = fmt::format("completion signal {:#x} cannot be written: {}", handle, map.describe(handle));
    return false;
  }
  std::uint64_t end_ts = clock.now();
  while (end_ts < start_ts) end_ts = clock.now(); // less than a tick: start times are rounded up, end times down
  std::atomic_ref{signal->start_ts}.store(start_ts, std::memory_order_relaxed);
  std::atomic_ref{signal->end_ts}.store(end_ts, std::memory_order_relaxed);
  // Read before the decrement: whoever sees that may destroy the signal.
  const std::uint64_t mailbox = signal->event_mailbox_ptr;
  const std::uint32_t event_id = signal->event_id;
  std::atomic_ref{signal->value}.fetch_sub(1, std::memory_order_release); // label D
  raise_event(view, mailbox, event_id);
  return true;
}

void Engine::raise_event(HostView& view, std::uint64_t mailbox, std::uint32_t event_id) {
  if (mailbox != 0) {
    if (auto* slot = view.as<std::uint64_t>(mailbox, kRead | kWrite))
      std::atomic_ref{*slot}.store(event_id, std::memory_order_release);
    call_event_hook(event_id);
  }
  bump_event_counter();
}

void Engine::call_event_hook(std::uint32_t event_id) {
  std::shared_ptr<const std::function<void(std::uint32_t)>> hook;
  {
    const std::lock_guard lock{callbacks_mutex_};
    hook = event_hook_;
  }
  if (hook && *hook) (*hook)(event_id);
}

void Engine::wave_interrupt() {
  call_event_hook(kAnyEvent);
  bump_event_counter();
}

void Engine::store_signal(HostView& view, std::uint64_t handle, std::int64_t value) {
  auto* signal = view.as<abi::AmdSignal>(handle, kRead | kWrite);
  if (signal == nullptr) return;
  const std::uint64_t mailbox = signal->event_mailbox_ptr;
  const std::uint32_t event_id = signal->event_id;
  std::atomic_ref{signal->value}.store(value, std::memory_order_release);
  raise_event(view, mailbox, event_id);
}

void Engine::acquire(abi::FenceScope) noexcept { std::atomic_thread_fence(std::memory_order_acquire); }
void Engine::release(abi::FenceScope) noexcept { std::atomic_thread_fence(std::memory_order_release); }

void Engine::groups_over(HostView& view, Dispatch* dispatch, std::uint64_t count) {
  if (dispatch->remaining.fetch_sub(count, std::memory_order_acq_rel) != count) return; // label G
  if (!dispatch->stop.load(std::memory_order_relaxed)) {
    release(dispatch->release);
    if (dispatch->completion_signal != 0) {
      std::string why;
      if (!complete_signal(view, dispatch->completion_signal, dispatch->start_ts, why)) {
        dispatch->queue->record_fault({Errc::memory_fault, 0, dispatch->packet_index, std::move(why), {}});
      }
    }
  }
  if (dispatch->arena != nullptr) scratch.release(dispatch->arena);
  if (dispatch->scratch_users != nullptr) dispatch->scratch_users->store(0, std::memory_order_release);
  HwQueue* queue = dispatch->queue;
  Dispatch* head = retired_.load(std::memory_order_relaxed);
  do {
    dispatch->next_retired.store(head, std::memory_order_relaxed);
  } while (!retired_.compare_exchange_weak(head, dispatch, std::memory_order_release, std::memory_order_relaxed));
  queue->dispatch_over(); // the queue may be gone after this
  processor_sleeper.wake();
}

} // namespace aql::sim
