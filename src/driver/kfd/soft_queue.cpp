#include "driver/kfd/soft_queue.hpp"

#include <chrono>
#include <climits>
#include <cstddef>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::size_t kDoorbellOffset = 1024; // in the block, after amd_queue_t and the doorbell's signal
constexpr std::size_t kSignalOffset = sizeof(abi::AmdQueue);
constexpr std::size_t kBlockBytes = 4096;
constexpr std::uint64_t kOwnIndex = 1ull << 63; // of a packet that never was in the hardware's queue
constexpr auto kLookAgain = std::chrono::milliseconds{1}; // a kernel may ring without any event

std::uint32_t type_of(std::uint32_t word0) noexcept { return abi::HeaderType::decode(word0); }

bool holds_up_what_follows(std::uint32_t word0) noexcept {
  switch (static_cast<abi::PacketType>(type_of(word0))) {
  case abi::PacketType::barrier_and:
  case abi::PacketType::barrier_or: return true;
  case abi::PacketType::vendor_specific: return static_cast<abi::VendorFormat>(word0 >> 16 & 0xffu) == abi::VendorFormat::barrier_value;
  default: return false;
  }
}

} // namespace

Result<std::shared_ptr<SoftQueue>> SoftQueue::create(const Thunk& thunk, const Gpu& gpu, Memory& memory, Signals& signals, WakeHub& hub, HsaEvent* alarm, const QueueRequest& request) {
  std::shared_ptr<SoftQueue> queue{new SoftQueue{thunk, gpu, memory, signals, hub}};
  if (auto started = queue->start(alarm, request); !started) return std::unexpected(started.error());
  return queue;
}

Result<void> SoftQueue::start(HsaEvent* alarm, const QueueRequest& request) {
  QueueRequest behind = request;
  behind.producers = QueueProducers::single;
  behind.agent_function = nullptr;
  behind.on_fault = [shared = shared_, receiver = request.on_fault, mask = request.packets - 1](const QueueFaultInfo& info) {
    shared->failed.store(true, std::memory_order_release);
    QueueFaultInfo told = info;
    if (told.packet_index != ~0ULL && (told.packet_index & kOwnIndex) != 0) {
      told.packet_index &= ~kOwnIndex;
    } else if (told.packet_index != ~0ULL) {
      const std::lock_guard lock{shared->mutex};
      if (!shared->index.empty()) told.packet_index = shared->index[told.packet_index & mask];
    }
    if (receiver) receiver(told);
  };
  auto hardware = HwQueue::create(thunk_, gpu_, memory_, alarm, behind);
  if (!hardware) return std::unexpected(hardware.error());
  hardware_ = *hardware;
  hardware_view_ = hardware_->view(0);
  function_ = request.agent_function;
  mask_ = request.packets - 1;
  shared_->index.resize(request.packets);
  auto ring = memory_.take(Memory::Use::host, request.packets * abi::kPacketSize, "queue ring");
  if (!ring) return std::unexpected(ring.error());
  ring_ = *ring;
  auto block = memory_.take(Memory::Use::host, kBlockBytes, "queue structure");
  if (!block) return std::unexpected(block.error());
  block_ = *block;
  auto done = signals_.create(0);
  if (!done) return std::unexpected(done.error());
  done_ = *done;
  auto* const slots = reinterpret_cast<abi::Slot*>(ring_.address);
  for (std::uint32_t i = 0; i < request.packets; ++i) slots[i].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);
  // As the hardware's, but for ring, indices and doorbell.
  queue_ = new (block_.address) abi::AmdQueue{*hardware_view_.amd_queue};
  auto* const doorbell = new (block_.address + kSignalOffset) abi::AmdSignal{};
  doorbell_ = new (block_.address + kDoorbellOffset) std::uint64_t{~0ULL}; // 0 is a legal ring
  queue_->hsa_queue.type = static_cast<std::uint32_t>(request.producers == QueueProducers::multi ? abi::QueueType::multi : abi::QueueType::single);
  queue_->hsa_queue.features = 3; // kernel and agent dispatch
  queue_->hsa_queue.base_address = reinterpret_cast<std::uint64_t>(slots);
  queue_->hsa_queue.doorbell_signal = reinterpret_cast<std::uint64_t>(doorbell);
  doorbell->kind = static_cast<std::int64_t>(abi::SignalKind::doorbell);
  doorbell->value = reinterpret_cast<std::int64_t>(doorbell_);
  doorbell->queue_ptr = reinterpret_cast<std::uint64_t>(queue_);
  processor_ = std::thread{[this] { process(); }};
  caller_ = std::thread{[this] { run_calls(); }};
  return {};
}

SoftQueue::~SoftQueue() {
  close();
  hardware_.reset();
  if (done_.object != nullptr) signals_.destroy(done_.object);
  if (block_.address != nullptr) memory_.give(block_);
  if (ring_.address != nullptr) memory_.give(ring_);
}

void SoftQueue::close() noexcept {
  {
    const std::lock_guard lock{calls_mutex_};
    stop_.store(true, std::memory_order_release);
  }
  calls_changed_.notify_all();
  rung(this);
  hub_.notify();
  if (processor_.joinable()) processor_.join();
  if (caller_.joinable()) caller_.join();
}

QueueView SoftQueue::view(std::uint64_t id) noexcept {
  QueueView view;
  view.ring = reinterpret_cast<abi::Slot*>(ring_.address);
  view.mask = mask_;
  view.write_index = &queue_->write_dispatch_id;
  view.read_index = &queue_->read_dispatch_id;
  view.doorbell = doorbell_;
  view.notify = &SoftQueue::rung;
  view.notify_arg = this;
  view.amd_queue = queue_;
  view.queue_address = reinterpret_cast<std::uint64_t>(queue_);
  view.id = id;
  return view;
}

void SoftQueue::rung(void* self) noexcept {
  auto& queue = *static_cast<SoftQueue*>(self);
  queue.rings_.fetch_add(1, std::memory_order_seq_cst);
  if (queue.sleeping_.load(std::memory_order_seq_cst)) syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&queue.rings_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::uint64_t SoftQueue::now() const noexcept {
  HsaClockCounters counters{};
  return thunk_.hsaKmtGetClockCounters(gpu_.node, &counters) == HSAKMT_STATUS_SUCCESS ? counters.GPUClockCounter : 0;
}

void SoftQueue::process() {
  while (!over()) {
    auto& slot = reinterpret_cast<abi::Slot*>(ring_.address)[read_ & mask_];
    const auto ready = [&] {
      const std::uint64_t rung_to = std::atomic_ref{*doorbell_}.load(std::memory_order_acquire);
      return static_cast<std::int64_t>(rung_to - read_) >= 0 && type_of(std::atomic_ref{slot.word[0]}.load(std::memory_order_acquire)) != static_cast<std::uint32_t>(abi::PacketType::invalid); // A
    };
    const std::uint32_t seen = rings_.load(std::memory_order_seq_cst);
    bool there = ready();
    for (unsigned spin = 0; !there && spin < 512; ++spin) there = ready();
    if (there) {
      if (!process_one(std::atomic_ref{slot.word[0]}.load(std::memory_order_acquire))) return;
      continue;
    }
    sleeping_.store(true, std::memory_order_seq_cst);
    const timespec timeout{0, std::chrono::nanoseconds{kLookAgain}.count()};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rings_), FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
    sleeping_.store(false, std::memory_order_relaxed);
  }
}

void SoftQueue::consume() noexcept {
  auto& slot = reinterpret_cast<abi::Slot*>(ring_.address)[read_ & mask_];
  std::atomic_ref{slot.word[0]}.store(static_cast<std::uint32_t>(abi::PacketType::invalid), std::memory_order_relaxed);
  ++read_;
  std::atomic_ref{queue_->read_dispatch_id}.store(read_, std::memory_order_release); // C
}

// False: the queue is over.
bool SoftQueue::process_one(std::uint32_t word0) {
  const auto& slot = reinterpret_cast<const abi::Slot*>(ring_.address)[read_ & mask_];
  const bool barrier = abi::HeaderBarrier::decode(word0) != 0;
  if (barrier && !calls_done()) return false;
  if (type_of(word0) != static_cast<std::uint32_t>(abi::PacketType::agent_dispatch)) {
    const abi::Slot body = slot;
    if (!forward(body, word0)) return false;
    behind_barrier_ = holds_up_what_follows(word0) || (behind_barrier_ && !barrier);
    consume();
    return true;
  }
  abi::Slot copy = slot;
  copy.word[0] = word0;
  const Call call{AgentPacket::decode(copy), read_};
  // Everything earlier has completed; or, without the bit, the barrier packets before it have.
  if ((barrier || behind_barrier_) && !hardware_done(barrier ? Barrier::on : Barrier::off)) return false;
  behind_barrier_ = false;
  consume();
  {
    const std::lock_guard lock{calls_mutex_};
    calls_.push_back(call);
  }
  calls_changed_.notify_all();
  return true;
}

bool SoftQueue::forward(const abi::Slot& body, std::uint32_t word0) {
  // C: room in the hardware's ring, which is as large as ours.
  for (unsigned round = 0; hardware_write_ - std::atomic_ref{*hardware_view_.read_index}.load(std::memory_order_acquire) > hardware_view_.mask; ++round) {
    if (over()) return false;
    if (round < 1024) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->index[hardware_write_ & hardware_view_.mask] = read_;
  }
  abi::Slot& to = hardware_view_.ring[hardware_write_ & hardware_view_.mask];
  for (unsigned i = 1; i < std::size(to.word); ++i) to.word[i] = body.word[i];
  std::atomic_ref{to.word[0]}.store(word0, std::memory_order_release); // A
  ++hardware_write_;
  std::atomic_ref{*hardware_view_.write_index}.store(hardware_write_, std::memory_order_release); // B
  std::atomic_ref{*hardware_view_.doorbell}.store(hardware_write_ - 1, std::memory_order_release);
  return true;
}

// Waits until a barrier packet of our own has completed in the hardware's queue.
bool SoftQueue::hardware_done(Barrier barrier) {
  std::atomic_ref value{done_.object->value};
  value.store(1, std::memory_order_relaxed);
  const BarrierAndPacket packet{.barrier = barrier, .acquire = Scope::none, .release = Scope::system, .completion = {done_.handle}};
  abi::Slot slot{};
  const std::uint32_t word0 = packet.emit(slot);
  if (!forward(slot, word0)) return false;
  for (;;) {
    const auto epoch = hub_.epoch();
    if (value.load(std::memory_order_acquire) == 0) return true; // D
    if (over()) return false;
    hub_.wait(epoch, Deadline::never());
  }
}

bool SoftQueue::calls_done() {
  std::unique_lock lock{calls_mutex_};
  calls_changed_.wait(lock, [this] { return calls_.empty() || over(); });
  return !over();
}

void SoftQueue::run_calls() {
  for (;;) {
    Call call;
    {
      std::unique_lock lock{calls_mutex_};
      calls_changed_.wait(lock, [this] { return !calls_.empty() || stop_.load(std::memory_order_acquire); });
      if (stop_.load(std::memory_order_acquire)) return;
      call = calls_.front();
    }
    if (!shared_->failed.load(std::memory_order_acquire)) {
      const std::uint64_t start = now();
      const Errc code = function_(call.packet.type, call.packet.arguments.data(), call.packet.return_address);
      if (code == Errc::ok) complete(call, start);
      else hardware_->fault({code, hsa_status(code), call.index | kOwnIndex, fmt::format("the agent function of type {:#x} returned {}", call.packet.type, to_string(code))});
    }
    {
      const std::lock_guard lock{calls_mutex_};
      calls_.pop_front();
    }
    calls_changed_.notify_all();
  }
}

void SoftQueue::complete(const Call& call, std::uint64_t start) {
  if (call.packet.completion.value == 0) return;
  auto& signal = *reinterpret_cast<abi::AmdSignal*>(call.packet.completion.value);
  std::atomic_ref{signal.start_ts}.store(start, std::memory_order_relaxed);
  std::atomic_ref{signal.end_ts}.store(now(), std::memory_order_relaxed);
  std::atomic_ref{signal.value}.fetch_sub(1, std::memory_order_release);
  hub_.notify();
}

} // namespace aql::detail::kfd
