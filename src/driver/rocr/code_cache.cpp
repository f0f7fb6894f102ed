#include "driver/rocr/code_cache.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/deadline.hpp"
#include "base/log.hpp"

namespace aql::detail::rocr {
namespace {

constexpr auto kPatience = std::chrono::seconds{30};
constexpr std::size_t kPage = 4096;

} // namespace

CodeCache::~CodeCache() {
  drop_queue();
  if (done_.handle != 0) (void)api_.hsa_signal_destroy(done_);
  if (words_ != nullptr) (void)api_.hsa_amd_memory_pool_free(words_);
}

void CodeCache::drop_queue() {
  if (view_.ring == nullptr) return;
  if (auto destroyed = queues_.destroy(view_.id); !destroyed) log::error(destroyed.error().message());
  view_ = {};
}

Result<void> CodeCache::start() {
  const auto refuse = [this](hsa_status_t status, const char* what) { return std::unexpected(failure(api_, status, what, "commit_code")); };
  if (done_.handle == 0) {
    if (const auto status = api_.hsa_signal_create(0, 0, nullptr, &done_); status != HSA_STATUS_SUCCESS) return refuse(status, "no signal for the invalidation of the instruction caches");
  }
  if (words_ == nullptr) {
    const Pool& pool = agent_.pools[static_cast<std::size_t>(PoolKind::kernarg)];
    void* words = nullptr;
    if (const auto status = api_.hsa_amd_memory_pool_allocate(pool.pool, kPage, pool.flags | kExecutablePoolFlag, &words); status != HSA_STATUS_SUCCESS)
      return refuse(status, "no memory for the invalidation of the instruction caches");
    if (const auto status = api_.hsa_amd_agents_allow_access(1, &agent_.handle, nullptr, words); status != HSA_STATUS_SUCCESS) {
      (void)api_.hsa_amd_memory_pool_free(words);
      return refuse(status, "the GPU may not read the commands that invalidate its instruction caches");
    }
    std::uint32_t text[kInvalidateDwords];
    write_invalidation(text);
    std::memcpy(words, text, sizeof text);
    words_ = words;
  }
  if (view_.ring != nullptr) return {};
  QueueRequest request;
  request.packets = agent_.info.min_queue_packets;
  request.producers = QueueProducers::single;
  request.on_fault = [this](const QueueFaultInfo& info) {
    log::error(fmt::format("the queue that invalidates instruction caches stopped: {}", info.detail));
    failed_.store(true, std::memory_order_release);
  };
  failed_.store(false, std::memory_order_relaxed);
  auto view = queues_.create(request);
  if (!view) return std::unexpected(view.error());
  view_ = *view;
  write_ = 0;
  return {};
}

Result<void> CodeCache::invalidate() {
  const std::lock_guard lock{mutex_};
  if (auto there = start(); !there) return there;
  std::atomic_ref value{reinterpret_cast<abi::AmdSignal*>(done_.handle)->value};
  value.store(1, std::memory_order_relaxed);
  write_ = submit_invalidation(view_, write_, reinterpret_cast<std::uint64_t>(words_), done_.handle);
  const Deadline deadline = Deadline::in(kPatience);
  const std::uint64_t ticks = std::max<std::uint64_t>(runtime_.system_hz() / 20, 1); // a queue that stopped is seen after 50 ms
  while (!failed_.load(std::memory_order_acquire) && !deadline.passed()) {
    (void)api_.hsa_signal_wait_relaxed(done_, HSA_SIGNAL_CONDITION_LT, 1, ticks, HSA_WAIT_STATE_BLOCKED);
    if (value.load(std::memory_order_acquire) < 1) return {}; // D
  }
  drop_queue(); // the next call gets a new one
  return std::unexpected(Error{Errc::device_lost, 0, "the packet processor does not invalidate its instruction caches", "commit_code"});
}

} // namespace aql::detail::rocr
