#include "driver/kfd/code_cache.hpp"

#include <atomic>
#include <cstring>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr auto kPatience = std::chrono::seconds{30};

} // namespace

CodeCache::~CodeCache() {
  if (queue_) {
    if (auto done = queue_->close(); !done) log::error(done.error().message());
    queue_.reset();
  }
  if (done_.object != nullptr) signals_.destroy(done_.object);
  if (words_.address != nullptr) memory_.give(words_);
}

Result<void> CodeCache::start() {
  if (queue_) return {};
  if (auto started = session_.start(); !started) return started;
  if (done_.object == nullptr) {
    auto done = signals_.create(0);
    if (!done) return std::unexpected(done.error());
    done_ = *done;
  }
  if (words_.address == nullptr) {
    auto words = memory_.take(Memory::Use::host_executable, kInvalidateDwords * 4, "cache invalidation");
    if (!words) return std::unexpected(words.error());
    words_ = *words;
    std::uint32_t text[kInvalidateDwords];
    write_invalidation(text);
    std::memcpy(words_.address, text, sizeof text);
  }
  QueueRequest request;
  request.packets = gpu_.info.min_queue_packets;
  request.producers = QueueProducers::single;
  auto queue = HwQueue::create(session_.thunk(), gpu_, memory_, session_.alarm(), request);
  if (!queue) return std::unexpected(queue.error());
  queue_ = *queue;
  view_ = queue_->view(0);
  write_ = 0;
  return {};
}

Result<void> CodeCache::invalidate() {
  const std::lock_guard lock{mutex_};
  if (auto there = start(); !there) return there;
  std::atomic_ref value{done_.object->value};
  value.store(1, std::memory_order_relaxed);
  write_ = submit_invalidation(view_, write_, reinterpret_cast<std::uint64_t>(words_.address), done_.handle);
  WakeHub& hub = session_.hub();
  const Deadline deadline = Deadline::in(kPatience);
  for (unsigned spin = 0;; ++spin) {
    const auto epoch = hub.epoch();
    if (value.load(std::memory_order_acquire) == 0) return {}; // D
    if (deadline.passed()) break;
    if (spin > 4096) hub.wait(epoch, deadline);
  }
  // It does not come back: the next call gets a queue of its own.
  if (auto closed = queue_->close(); !closed) log::error(closed.error().message());
  queue_.reset();
  return std::unexpected(Error{Errc::device_lost, 0, "the packet processor does not invalidate its instruction caches", "commit_code"});
}

} // namespace aql::detail::kfd
