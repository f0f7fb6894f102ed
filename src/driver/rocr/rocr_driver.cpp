#include "driver/rocr/rocr_driver.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/deadline.hpp"
#include "base/log.hpp"
#include "driver/rocr/clock.hpp"
#include "driver/rocr/code.hpp"
#include "driver/rocr/code_cache.hpp"
#include "driver/rocr/memory.hpp"
#include "driver/rocr/queues.hpp"
#include "driver/rocr/runtime.hpp"

namespace aql::detail {
namespace {

using namespace rocr;

// A blocked wait ends this often, so that what raises no event (a kernel's store to a signal, a queue that failed) is seen.
constexpr std::int64_t kLongestSleepNs = 5'000'000;

class RocrDriver final : public Driver {
public:
  RocrDriver(std::shared_ptr<Runtime> runtime, const Agent& agent)
      : runtime_(std::move(runtime)), api_(runtime_->api()), agent_(agent), clock_(*runtime_, agent_), memory_(*runtime_, agent_), code_(*runtime_, agent_), queues_(*runtime_, agent_), code_cache_(*runtime_, agent_, queues_) {}

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return agent_.info; }

  Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view) override { return memory_.allocate(kind, size_bytes); }
  Result<void> free(const Allocation& allocation) override { return memory_.free(allocation); }
  Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable) override { return memory_.pin(host, size_bytes, writable); }
  Result<void> unpin(const Allocation& allocation) override { return memory_.unpin(allocation); }
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) override { return memory_.copy(dst, src, size_bytes); }
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) override { return memory_.fill32(dst, pattern, count); }
  // Pages of an executable pool are executable as a whole.
  Result<void> commit_code(const Allocation&, std::span<const CodeSegment>) override { return code_cache_.invalidate(); }
  [[nodiscard]] bool loads_code() const noexcept override { return !runtime_->executable_pools(); }
  Result<Allocation> load_code(const CodeRequest& request) override { return code_.load(request); }
  Result<void> unload_code(const Allocation& allocation) override { return code_.unload(allocation); }
  void set_symbolizer(std::function<std::string(std::uint64_t)>) override {} // the runtime's reports hold no code addresses

  Result<SignalView> create_signal(std::int64_t initial) override {
    hsa_signal_t signal{};
    if (const auto status = api_.hsa_signal_create(initial, 0, nullptr, &signal); status != HSA_STATUS_SUCCESS)
      return std::unexpected(failure(api_, status, "the HSA runtime gives no signal", "create_signal"));
    auto* object = reinterpret_cast<abi::AmdSignal*>(signal.handle);
    if (object->kind != static_cast<std::int64_t>(abi::SignalKind::user)) {
      const auto kind = object->kind;
      (void)api_.hsa_signal_destroy(signal);
      return std::unexpected(Error{Errc::unsupported, 0, fmt::format("the HSA runtime's signals are of kind {}, not plain ones", kind), "create_signal"});
    }
    return SignalView{object, signal.handle, &RocrDriver::changed, object, reinterpret_cast<std::uint64_t>(&api_)};
  }

  Result<void> destroy_signal(const SignalView& signal) override {
    if (const auto status = api_.hsa_signal_destroy({signal.handle}); status != HSA_STATUS_SUCCESS)
      return std::unexpected(failure(api_, status, "a signal cannot be destroyed", "destroy_signal"));
    return {};
  }

  // The value itself: hsa_signal_wait sleeps while it stays the same.
  std::uint64_t wait_epoch(const SignalView& signal) noexcept override { return static_cast<std::uint64_t>(std::atomic_ref{signal.object->value}.load(std::memory_order_acquire)); }

  void wait_changed(const SignalView& signal, std::uint64_t epoch, Deadline deadline) noexcept override {
    if (const auto ticks = sleep_ticks(deadline))
      (void)api_.hsa_signal_wait_relaxed({signal.handle}, HSA_SIGNAL_CONDITION_NE, static_cast<hsa_signal_value_t>(epoch), ticks, HSA_WAIT_STATE_BLOCKED);
  }

  void wait_any_changed(std::span<const WaitFor> list, std::uint64_t epoch, Deadline deadline) noexcept override {
    constexpr std::size_t kMost = 64; // room on the stack; a longer list is looked at when a sleep on its first signal ends
    if (list.size() > kMost) return wait_changed(list.front().signal.view(), epoch, deadline);
    hsa_signal_t signals[kMost];
    hsa_signal_condition_t conditions[kMost];
    hsa_signal_value_t values[kMost];
    for (std::size_t i = 0; i < list.size(); ++i) {
      signals[i] = {list[i].signal.handle()};
      conditions[i] = hsa_condition(list[i].condition);
      values[i] = list[i].reference;
    }
    if (const auto ticks = sleep_ticks(deadline))
      (void)api_.hsa_amd_signal_wait_any(static_cast<std::uint32_t>(list.size()), signals, conditions, values, ticks, HSA_WAIT_STATE_BLOCKED, nullptr);
  }

  Result<QueueView> create_queue(const QueueRequest& request) override { return queues_.create(request); }
  Result<void> destroy_queue(std::uint64_t id) override { return queues_.destroy(id); }
  Result<void> inactivate_queue(std::uint64_t id) override { return queues_.inactivate(id); }

  std::uint64_t timestamp() noexcept override { return clock_.now(); }
  std::int64_t to_host_ns(std::uint64_t ticks) noexcept override { return clock_.to_host_ns(ticks); }

private:
  static hsa_signal_condition_t hsa_condition(Condition condition) noexcept {
    switch (condition) {
    case Condition::eq: return HSA_SIGNAL_CONDITION_EQ;
    case Condition::ne: return HSA_SIGNAL_CONDITION_NE;
    case Condition::lt: return HSA_SIGNAL_CONDITION_LT;
    case Condition::gte: break;
    }
    return HSA_SIGNAL_CONDITION_GTE;
  }
  // How long one sleep may last, in ticks of the system's clock. 0: the deadline has passed.
  [[nodiscard]] std::uint64_t sleep_ticks(Deadline deadline) const noexcept {
    const std::int64_t ns = ns_left(deadline, kLongestSleepNs);
    if (ns <= 0) return 0;
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(ns) * 1e-9 * static_cast<double>(runtime_->system_hz())), 1);
  }
  // After a host store to the raw value: adding nothing through the runtime raises the signal's event if somebody sleeps on it.
  static void changed(void* object) noexcept;

  std::shared_ptr<Runtime> runtime_;
  const HsaApi& api_;
  const Agent& agent_;
  TickClock clock_;
  Memory memory_;
  CodeLoader code_;
  Queues queues_;
  CodeCache code_cache_; // first to go: a queue is its
};

// All runtimes of the process are the same library; the hook has one argument, the signal.
std::atomic<const HsaApi*> g_api{nullptr};

void RocrDriver::changed(void* object) noexcept {
  g_api.load(std::memory_order_relaxed)->hsa_signal_add_screlease({reinterpret_cast<std::uint64_t>(object)}, 0);
}

} // namespace

namespace rocr {

Result<std::shared_ptr<Driver>> open(std::shared_ptr<Runtime> runtime, std::size_t index) {
  const auto& gpus = runtime->gpus();
  if (index >= gpus.size()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("there is no rocr:{}; the HSA runtime shows {} GPU{} (aql info lists them)", index, gpus.size(), gpus.size() == 1 ? "" : "s"), "Device::open"});
  }
  const Agent& agent = gpus[index];
  if (!agent.refusal.empty()) return std::unexpected(Error{Errc::unsupported, 0, fmt::format("{} ({}) cannot be used: {}", agent.info.selector, agent.info.name, agent.refusal), "Device::open"});
  g_api.store(&runtime->api(), std::memory_order_relaxed);
  log::info(fmt::format("{}: {}, {}; code is loaded by {}", agent.info.selector, agent.info.name, runtime->version(), runtime->executable_pools() ? "aql" : "the runtime"));
  return std::make_shared<RocrDriver>(std::move(runtime), agent);
}

} // namespace rocr

Result<std::shared_ptr<Driver>> open_rocr(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("'{}' is no device number; use rocr:0, rocr:1, ...", text), "Device::open"});
  }
  auto runtime = Runtime::get();
  if (!runtime) return std::unexpected(runtime.error());
  return rocr::open(std::move(*runtime), index);
}

void list_rocr(DeviceList& list) {
  auto runtime = Runtime::get();
  if (!runtime) {
    list.refused.push_back({"rocr", runtime.error().message()});
    return;
  }
  if ((*runtime)->gpus().empty()) list.refused.push_back({"rocr", "the HSA runtime shows no GPU"});
  for (const Agent& agent : (*runtime)->gpus()) {
    if (agent.refusal.empty()) list.found.push_back(agent.info);
    else list.refused.push_back({agent.info.selector, agent.refusal});
  }
}

} // namespace aql::detail
