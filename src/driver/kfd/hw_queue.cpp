#include "driver/kfd/hw_queue.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <aql/packet.hpp>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::size_t kInactiveOffset = sizeof(abi::AmdQueue);
constexpr std::size_t kDoorbellOffset = kInactiveOffset + sizeof(abi::AmdSignal);
constexpr std::size_t kReasonOffset = kDoorbellOffset + sizeof(abi::AmdSignal);
constexpr std::size_t kBlockBytes = 4096;

constexpr std::int64_t kMemoryViolation = 1 << 4; // of the kernel's exception bits

Error cannot(Errc code, std::string text) { return Error{code, 0, std::move(text), "create_queue"}; }

} // namespace

QueueErrorMeaning meaning_of(std::uint32_t bits) noexcept {
  using enum abi::QueueError;
  struct Row {
    std::uint32_t bit;
    QueueErrorMeaning meaning;
  };
  // The first that is set counts.
  static constexpr Row kRows[] = {
      {kQueueErrorDimensions, {Errc::incompatible_arguments, "the dispatch's dimensions are not valid", true}},
      {kQueueErrorGroupMemory, {Errc::invalid_allocation, "the dispatch asks for more group memory (LDS) than there is", true}},
      {kQueueErrorCode, {Errc::invalid_code_object, "the kernel object or its code is not valid", true}},
      {kQueueErrorPacketFormat, {Errc::invalid_packet_format, "the packet's type or format is not known", true}},
      {kQueueErrorVendorFormat, {Errc::invalid_packet_format, "the vendor packet's format is not known", true}},
      {kQueueErrorWorkgroupSize, {Errc::invalid_argument, "the workgroup is too large", true}},
      {kQueueErrorRegisters, {Errc::out_of_registers, "the workgroup needs more registers than a compute unit has", true}},
      {kQueueErrorAperture, {Errc::memory_aperture_violation, "a wave used an address that is in no aperture", false}},
      {kQueueErrorIllegalInstruction, {Errc::illegal_instruction, "a wave met an illegal instruction", false}},
      {kQueueErrorTrap, {Errc::exception, "a wave trapped", false}},
  };
  for (const Row& row : kRows) {
    if ((bits & row.bit) != 0) return row.meaning;
  }
  return {Errc::exception, "the packet processor stopped for a reason that this version does not know", false};
}

HwQueue::HwQueue(const Thunk& thunk, const Gpu& gpu, Memory& memory, const QueueRequest& request)
    : thunk_(thunk), gpu_(gpu), memory_(memory), packets_(request.packets), priority_(request.priority), sink_(request.on_fault), scratch_(memory, gpu) {}

Result<std::shared_ptr<HwQueue>> HwQueue::create(const Thunk& thunk, const Gpu& gpu, Memory& memory, HsaEvent* alarm, const QueueRequest& request) {
  const auto& info = gpu.info;
  if (!std::has_single_bit(request.packets) || request.packets < info.min_queue_packets || request.packets > info.max_queue_packets) {
    return std::unexpected(cannot(Errc::invalid_queue_creation, fmt::format("asked for a queue of {} packets; a power of two from {} to {} is needed", request.packets, info.min_queue_packets, info.max_queue_packets)));
  }
  if (request.priority < HSA_QUEUE_PRIORITY_MINIMUM || request.priority > HSA_QUEUE_PRIORITY_MAXIMUM) {
    return std::unexpected(cannot(Errc::invalid_queue_creation, fmt::format("asked for priority {}; {} to {} exist", request.priority, static_cast<int>(HSA_QUEUE_PRIORITY_MINIMUM), static_cast<int>(HSA_QUEUE_PRIORITY_MAXIMUM))));
  }
  std::shared_ptr<HwQueue> queue{new HwQueue{thunk, gpu, memory, request}};
  if (auto started = queue->start(alarm, request); !started) return std::unexpected(started.error());
  return queue;
}

Result<void> HwQueue::start(HsaEvent* alarm, const QueueRequest& request) {
  // Some processors fetch the ring through the instruction path: it has to be executable.
  auto ring = memory_.take(Memory::Use::host_executable, packets_ * abi::kPacketSize, "queue ring");
  if (!ring) return std::unexpected(ring.error());
  ring_ = *ring;
  auto block = memory_.take(Memory::Use::host, kBlockBytes, "queue structure");
  if (!block) return std::unexpected(block.error());
  block_ = *block;
  auto* const slots = reinterpret_cast<abi::Slot*>(ring_.address);
  for (std::uint32_t i = 0; i < packets_; ++i) slots[i].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);

  queue_ = new (block_.address) abi::AmdQueue{};
  inactive_ = new (block_.address + kInactiveOffset) abi::AmdSignal{};
  auto* const doorbell = new (block_.address + kDoorbellOffset) abi::AmdSignal{};
  error_reason_ = new (block_.address + kReasonOffset) std::int64_t{0};
  inactive_->kind = static_cast<std::int64_t>(abi::SignalKind::user);
  if (alarm != nullptr) {
    inactive_->event_mailbox_ptr = alarm->EventData.HWData2;
    inactive_->event_id = alarm->EventId;
  }
  const auto address = reinterpret_cast<std::uint64_t>(queue_);
  const auto& info = gpu_.info;
  queue_->hsa_queue.type = static_cast<std::uint32_t>(request.producers == QueueProducers::multi ? abi::QueueType::multi : abi::QueueType::single);
  queue_->hsa_queue.features = 1; // kernel dispatch
  queue_->hsa_queue.base_address = reinterpret_cast<std::uint64_t>(slots);
  queue_->hsa_queue.doorbell_signal = reinterpret_cast<std::uint64_t>(doorbell);
  queue_->hsa_queue.size = packets_;
  queue_->group_segment_aperture_base_hi = static_cast<std::uint32_t>(info.shared_aperture >> 32);
  queue_->private_segment_aperture_base_hi = static_cast<std::uint32_t>(info.private_aperture >> 32);
  queue_->max_cu_id = info.compute_units - 1;
  queue_->max_wave_id = info.waves_per_simd * info.simds_per_cu - 1;
  queue_->read_dispatch_id_field_base_byte_offset = offsetof(abi::AmdQueue, read_dispatch_id);
  queue_->queue_properties = abi::QueueIsPtr64::encode<std::uint32_t>(1) | abi::QueueEnableProfiling::encode<std::uint32_t>(1);
  queue_->queue_inactive_signal = reinterpret_cast<std::uint64_t>(inactive_);

  resource_.Queue_write_ptr_aql = &queue_->write_dispatch_id;
  resource_.Queue_read_ptr_aql = &queue_->read_dispatch_id;
  resource_.ErrorReason = error_reason_;
  const auto status = thunk_.hsaKmtCreateQueue(gpu_.node, HSA_QUEUE_COMPUTE_AQL, 100, static_cast<HSA_QUEUE_PRIORITY>(priority_), slots, packets_ * abi::kPacketSize, alarm, &resource_);
  if (status != HSAKMT_STATUS_SUCCESS) {
    Error error = failure(status, fmt::format("{} gives no queue of {} packets", info.selector, packets_), "create_queue");
    if (status == HSAKMT_STATUS_ERROR) error.code = Errc::out_of_resources; // what the thunk says when the kernel refuses
    return std::unexpected(std::move(error));
  }
  open_ = true;
  doorbell->kind = static_cast<std::int64_t>(abi::SignalKind::doorbell);
  doorbell->value = static_cast<std::int64_t>(resource_.QueueDoorBell);
  doorbell->queue_ptr = address;
  if (!request.cu_mask.empty()) {
    std::vector<HSAuint32> mask{request.cu_mask.begin(), request.cu_mask.end()};
    if (const auto masked = thunk_.hsaKmtSetQueueCUMask(resource_.QueueId, static_cast<HSAuint32>(mask.size() * 32), mask.data()); masked != HSAKMT_STATUS_SUCCESS)
      return std::unexpected(failure(masked, fmt::format("a mask of {} compute units is not accepted", mask.size() * 32), "create_queue"));
  }
  return {};
}

HwQueue::~HwQueue() {
  if (auto done = close(); !done) log::error(done.error().message());
  if (block_.address != nullptr) memory_.give(block_);
  if (ring_.address != nullptr) memory_.give(ring_);
}

QueueView HwQueue::view(std::uint64_t id) noexcept {
  QueueView view;
  view.ring = reinterpret_cast<abi::Slot*>(ring_.address);
  view.mask = packets_ - 1;
  view.write_index = &queue_->write_dispatch_id;
  view.read_index = &queue_->read_dispatch_id;
  view.doorbell = resource_.Queue_DoorBell_aql;
  view.amd_queue = queue_;
  view.queue_address = reinterpret_cast<std::uint64_t>(queue_);
  view.id = id;
  return view;
}

void HwQueue::attend() {
  QueueFaultInfo info;
  {
    const std::lock_guard lock{mutex_};
    if (!open_ || stopped_) return;
    const auto bits = static_cast<std::uint32_t>(std::atomic_ref{inactive_->value}.load(std::memory_order_acquire));
    if (bits == 0) return;
    constexpr std::uint32_t kAsksForScratch = abi::kQueueErrorScratch | abi::kQueueErrorScratchLarge;
    const RingPart ring{reinterpret_cast<const abi::Slot*>(ring_.address), packets_ - 1, std::atomic_ref{queue_->read_dispatch_id}.load(std::memory_order_acquire),
                        std::atomic_ref{queue_->write_dispatch_id}.load(std::memory_order_acquire)};
    if ((bits & ~(kAsksForScratch | abi::kQueueErrorScratchReclaim)) == 0) {
      QueueFaultInfo refused{Errc::out_of_resources, hsa_status(Errc::out_of_resources), ~0ULL, {}};
      if (give_scratch(ring, (bits & kAsksForScratch) != 0, refused)) {
        std::atomic_ref{inactive_->value}.store(0, std::memory_order_release);
        return;
      }
      info = std::move(refused);
    } else {
      const auto meaning = meaning_of(bits);
      info = {meaning.code, hsa_status(meaning.code), ~0ULL, fmt::format("{} (packet processor: {:#x})", meaning.text, bits)};
      const auto packet = meaning.at_packet ? find_first_left(ring) : std::nullopt;
      if (packet) {
        info.packet_index = *packet;
        info.detail += fmt::format("; {}", to_line(ring.slots[*packet & ring.mask]));
      }
    }
  }
  fault(info);
}

// mutex_ held. False: the processor must not go on, for the reason in `refused`.
bool HwQueue::give_scratch(const RingPart& ring, bool asked, QueueFaultInfo& refused) {
  if (!asked) return true; // it only says that it has done with memory for one dispatch; there is none of that kind here
  const auto need = find_scratch_need(ring, queue_->scratch_wave64_lane_byte_size);
  if (!need) { // told to go on with what there is, it would only ask again
    refused.detail = fmt::format("the packet processor asks for scratch, but no dispatch in the ring needs more than the {} bytes a work-item that the queue has", queue_->scratch_wave64_lane_byte_size);
    return false;
  }
  auto grown = scratch_.grow(*queue_, need->lane_bytes);
  if (grown) return true;
  refused.packet_index = need->packet;
  refused.detail = grown.error().detail;
  return false;
}

bool HwQueue::blamed_for_memory_fault() const noexcept { return (std::atomic_ref{*error_reason_}.load(std::memory_order_acquire) & kMemoryViolation) != 0; }

// mutex_ held.
void HwQueue::take_off() noexcept {
  if (!open_ || stopped_) return;
  stopped_ = true;
  if (const auto status = thunk_.hsaKmtUpdateQueue(resource_.QueueId, 0, static_cast<HSA_QUEUE_PRIORITY>(priority_), ring_.address, packets_ * abi::kPacketSize, nullptr); status != HSAKMT_STATUS_SUCCESS)
    log::warn(failure(status, "a queue that failed cannot be disabled", "kfd").message());
}

void HwQueue::fault(const QueueFaultInfo& info) {
  {
    const std::lock_guard lock{mutex_};
    take_off();
  }
  sink_.report(info);
}

Result<void> HwQueue::close() {
  sink_.close();
  const std::lock_guard lock{mutex_};
  if (!open_) return {};
  open_ = false;
  if (const auto status = thunk_.hsaKmtDestroyQueue(resource_.QueueId); status != HSAKMT_STATUS_SUCCESS) return std::unexpected(failure(status, "a queue cannot be destroyed", "destroy_queue"));
  return {};
}

} // namespace aql::detail::kfd
