#include "driver/kfd/kfd_driver.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/log.hpp"
#include "driver/kfd/clock.hpp"
#include "driver/kfd/code_cache.hpp"
#include "driver/kfd/memory.hpp"
#include "driver/kfd/queues.hpp"
#include "driver/kfd/session.hpp"
#include "driver/kfd/signals.hpp"

namespace aql::detail {
namespace {

using namespace kfd;

class KfdDriver final : public Driver {
public:
  KfdDriver(std::shared_ptr<Session> session, const Gpu& gpu)
      : session_(std::move(session)), gpu_(gpu), clock_(session_->thunk(), gpu_), memory_(session_->thunk(), gpu_, session_->usable_nodes()), signals_(memory_, session_->hub()),
        code_(*session_, gpu_, memory_, signals_), queues_(std::make_shared<Queues>(*session_, gpu_, memory_, signals_)) {
    session_->add(queues_);
  }
  ~KfdDriver() override {
    queues_->shut_down();
    session_->remove(queues_.get());
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return gpu_.info; }

  Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view label) override { return memory_.allocate(kind, size_bytes, label); }
  Result<void> free(const Allocation& allocation) override { return memory_.free(allocation); }
  Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable) override { return memory_.pin(host, size_bytes, writable); }
  Result<void> unpin(const Allocation& allocation) override { return memory_.unpin(allocation); }
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) override { return memory_.copy(dst, src, size_bytes); }
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) override { return memory_.fill32(dst, pattern, count); }
  // Permissions of segments: an executable allocation is readable, writable and executable as a whole; the thunk knows no finer ones.
  Result<void> commit_code(const Allocation&, std::span<const CodeSegment>) override { return code_.invalidate(); }
  void set_symbolizer(std::function<std::string(std::uint64_t)>) override {} // no report of this driver holds an address of code

  Result<SignalView> create_signal(std::int64_t initial) override { return signals_.create(initial); }
  Result<void> destroy_signal(const SignalView& signal) override {
    signals_.destroy(signal.object);
    return {};
  }
  std::uint64_t wait_epoch(const SignalView&) noexcept override { return session_->hub().epoch(); }
  void wait_changed(const SignalView&, std::uint64_t epoch, Deadline deadline) noexcept override { session_->hub().wait(epoch, deadline); }

  Result<QueueView> create_queue(const QueueRequest& request) override { return queues_->create(request); }
  Result<void> destroy_queue(std::uint64_t id) override { return queues_->destroy(id); }
  Result<void> inactivate_queue(std::uint64_t id) override { return queues_->inactivate(id); }

  std::uint64_t timestamp() noexcept override { return clock_.now(); }
  std::int64_t to_host_ns(std::uint64_t ticks) noexcept override { return clock_.to_host_ns(ticks); }

private:
  std::shared_ptr<Session> session_;
  const Gpu& gpu_;
  TickClock clock_;
  Memory memory_;
  Signals signals_;
  CodeCache code_;
  std::shared_ptr<Queues> queues_;
};

} // namespace

Result<std::shared_ptr<Driver>> open_kfd(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("'{}' is no device number; use kfd:0, kfd:1, ...", text), "Device::open"});
  auto session = Session::get();
  if (!session) return std::unexpected(session.error());
  const auto& gpus = (*session)->gpus();
  if (index >= gpus.size()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("there is no kfd:{}; the KFD topology shows {} GPU{} (aql info lists them)", index, gpus.size(), gpus.size() == 1 ? "" : "s"), "Device::open"});
  }
  const Gpu& gpu = gpus[index];
  if (!gpu.refusal.empty()) return std::unexpected(Error{Errc::unsupported, 0, fmt::format("{} ({}) cannot be used: {}", gpu.info.selector, gpu.info.name, gpu.refusal), "Device::open"});
  if (auto started = (*session)->start(); !started) return std::unexpected(started.error());
  log::info(fmt::format("{}: {}, {} on node {}", gpu.info.selector, gpu.info.name, gpu.info.isa, gpu.node));
  return std::make_shared<KfdDriver>(std::move(*session), gpu);
}

void list_kfd(DeviceList& list) {
  auto session = Session::get();
  if (!session) {
    list.refused.push_back({"kfd", session.error().message()});
    return;
  }
  if ((*session)->gpus().empty()) list.refused.push_back({"kfd", "the KFD topology shows no GPU"});
  for (const Gpu& gpu : (*session)->gpus()) {
    if (gpu.refusal.empty()) list.found.push_back(gpu.info);
    else list.refused.push_back({gpu.info.selector, gpu.refusal});
  }
}

} // namespace aql::detail
