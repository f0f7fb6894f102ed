#include "driver/kfd/code_cache.hpp"

#include <atomic>
#include <cstring>

#include <aql/packet.hpp>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr auto kPatience = std::chrono::seconds{30};

template <class P>
void publish(const QueueView& view, std::uint64_t index, const P& packet) noexcept {
  abi::Slot& slot = view.ring[index & view.mask];
  const std::uint32_t word0 = packet.emit(slot);
  std::atomic_ref{slot.word[0]}.store(word0, std::memory_order_release); // A
}

} // namespace

// PM4 type 3 ACQUIRE_MEM of gfx9 (soc15d.h of the Linux kernel): CP_COHER_CNTL, size (40 bits of 256-byte units), base, poll interval.
void write_invalidation(std::uint32_t (&words)[kInvalidateDwords]) noexcept {
  constexpr std::uint32_t kAcquireMem = 0x58;
  constexpr std::uint32_t kScalarCache = 1u << 27, kInstructionCache = 1u << 29; // SH_KCACHE_ACTION_ENA, SH_ICACHE_ACTION_ENA
  words[0] = 3u << 30 | (kInvalidateDwords - 2) << 16 | kAcquireMem << 8;
  words[1] = kScalarCache | kInstructionCache;
  words[2] = 0xffffffffu;
  words[3] = 0xff;
  words[4] = words[5] = 0;
  words[6] = 4;
}

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
  // The buffer, then a barrier packet behind it: not every firmware completes a signal of the vendor packet itself.
  std::atomic_ref value{done_.object->value};
  value.store(1, std::memory_order_relaxed);
  publish(view_, write_, Pm4IbPacket{.address = reinterpret_cast<std::uint64_t>(words_.address), .size_dwords = kInvalidateDwords, .barrier = Barrier::on, .completion = {}});
  publish(view_, write_ + 1, BarrierAndPacket{.barrier = Barrier::on, .completion = {done_.handle}});
  write_ += 2;
  std::atomic_ref{*view_.write_index}.store(write_, std::memory_order_release); // B
  std::atomic_ref{*view_.doorbell}.store(write_ - 1, std::memory_order_release);
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
