#include "sim/cp/hw_queue.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "sim/cp/processor.hpp"

namespace aql::sim {
namespace {

[[nodiscard]] bool ahead(std::uint64_t a, std::uint64_t b) noexcept { return static_cast<std::int64_t>(a - b) > 0; }

[[nodiscard]] abi::FenceScope acquire_scope(std::uint32_t word0) noexcept {
  return static_cast<abi::FenceScope>(abi::HeaderAcquire::decode(word0));
}
[[nodiscard]] abi::FenceScope release_scope(std::uint32_t word0) noexcept {
  return static_cast<abi::FenceScope>(abi::HeaderRelease::decode(word0));
}

} // namespace

std::uint32_t queue_error_bits(Errc code) noexcept {
  switch (code) {
  case Errc::incompatible_arguments: return abi::kQueueErrorDimensions;
  case Errc::invalid_allocation: return abi::kQueueErrorGroupMemory;
  case Errc::invalid_code_object: return abi::kQueueErrorCode;
  case Errc::invalid_packet_format: return abi::kQueueErrorPacketFormat;
  case Errc::invalid_argument: return abi::kQueueErrorWorkgroupSize;
  case Errc::out_of_registers: return abi::kQueueErrorRegisters;
  case Errc::out_of_resources: return abi::kQueueErrorScratchLarge;
  case Errc::memory_aperture_violation: return abi::kQueueErrorAperture;
  case Errc::illegal_instruction:
  case Errc::unsupported: return abi::kQueueErrorIllegalInstruction;
  case Errc::memory_fault: return 0; // KFD tells of it by an event of its own, not through the queue
  default: return abi::kQueueErrorTrap;
  }
}

HwQueue::HwQueue(Engine& engine, Processor& processor, QueueId id, const QueueConfig& config, abi::Slot* ring)
    : engine_(engine), processor_(processor), id_(id), config_(config), ring_(ring), mask_(config.ring_packets - 1),
      single_(config.amd_queue->hsa_queue.type == static_cast<std::uint32_t>(abi::QueueType::single)) {
  list_cus(config.cu_mask);
  read_ = std::atomic_ref{amd().read_dispatch_id}.load(std::memory_order_acquire);
  rung_ = read_;
  // A new queue's doorbell holds ~0 (with indices that start at 0), so that a first ring with index 0 is seen.
  armed_ = seen_doorbell_ = read_ - 1;
  (void)std::atomic_ref{*config_.doorbell}.exchange(armed_, std::memory_order_acq_rel);
  // A ring that was overwritten, or came while nobody looked: its index was reserved earlier.
  if (!config_.starts_rung) return;
  if (const auto write = std::atomic_ref{amd().write_dispatch_id}.load(std::memory_order_acquire); ahead(write, rung_)) rung_ = write;
}

HwQueue::HwQueue(Engine& engine, Processor& processor, QueueId id, const Pm4QueueConfig& config)
    : engine_(engine), processor_(processor), id_(id),
      config_{.on_error = config.on_error, .agent_function = {}, .priority = config.priority}, ring_(nullptr), mask_(0),
      single_(true) {
  list_cus(config.cu_mask);
  pm4_ring_ = std::make_unique<Pm4Ring>(config);
  pm4_ = std::make_unique<Pm4Stream>(engine, processor, *this, config.on_interrupt);
  const std::uint32_t read = std::atomic_ref{*config.read_pointer}.load(std::memory_order_acquire);
  pm4_->interpreter.start_ring(config.ring_address, config.ring_dwords, read);
  open_doorbell(*config.doorbell, read, config.write_pointer);
}

// Bit n of the mask is compute unit n / XCDs of XCD n % XCDs: the order in which KFD spreads a mask over them.
void HwQueue::list_cus(const std::uint64_t (&mask)[8]) {
  const std::uint32_t all = engine_.profile.xcc_count * engine_.profile.cus_per_xcc;
  const bool masked = std::any_of(std::begin(mask), std::end(mask), [](std::uint64_t word) { return word != 0; });
  for (std::uint32_t n = 0; n < all; ++n) {
    if (!masked || (n < 512 && (mask[n / 64] >> n % 64 & 1u) != 0)) cus_.push_back(static_cast<std::uint16_t>(n));
  }
}

void HwQueue::change_cu_mask(const std::uint64_t (&mask)[8]) {
  const std::lock_guard lock{fault_mutex_};
  std::copy_n(mask, 8, changes_.cu_mask);
  changes_.masked = true;
  changed_.store(true, std::memory_order_release);
}

void HwQueue::change_priority(std::int32_t priority) {
  const std::lock_guard lock{fault_mutex_};
  changes_.priority = priority;
  changed_.store(true, std::memory_order_release);
}

void HwQueue::take_changes() {
  const std::lock_guard lock{fault_mutex_};
  changed_.store(false, std::memory_order_relaxed);
  const Changes changes = std::exchange(changes_, {});
  if (changes.masked) {
    former_cus_.push_back(std::move(cus_));
    cus_.clear();
    list_cus(changes.cu_mask);
    if (drained()) former_cus_.clear();
  }
  if (changes.priority) {
    config_.priority = *changes.priority;
    for (Dispatch* d = first_; d != nullptr; d = d->next_in_queue) engine_.scheduler.change_priority(d, *changes.priority);
  }
}

void HwQueue::show_packet(std::uint32_t word0) {
  PacketObserver* observer = engine_.packet_observer.load(std::memory_order_acquire);
  if (observer == nullptr || shown_ == read_) return;
  shown_ = read_;
  std::uint32_t words[sizeof(abi::Slot) / 4];
  std::memcpy(words, &slot(), sizeof words);
  words[0] = word0;
  observer->packet(id_, PacketEngine::aql, read_, words);
}

void HwQueue::note_ring(std::uint64_t value, std::uint64_t write) noexcept {
  seen_doorbell_ = value;
  rearm_ = true;
  // One producer: the value is the index of the last packet made ready. Several: rings may overtake each other, so any value
  // means "look again", up to what is reserved.
  if (ahead(value + 1, rung_)) rung_ = value + 1;
  if (!single_ && ahead(write, rung_)) rung_ = write;
}

void HwQueue::rearm() noexcept {
  if (ring_ == nullptr || !rearm_ || ahead(rung_, read_)) return;
  // From the first ring on, "nothing new" is a value that no producer can mean for the next 2^63 packets. The exchange loses
  // no ring: what was stored since we last looked comes back.
  armed_ = read_ + (1ull << 63);
  const std::uint64_t value = std::atomic_ref{*config_.doorbell}.exchange(armed_, std::memory_order_acq_rel);
  note_ring(value, std::atomic_ref{amd().write_dispatch_id}.load(std::memory_order_acquire));
  seen_doorbell_ = armed_;
  rearm_ = false;
}

bool HwQueue::fetch(std::uint32_t& word0) {
  const std::uint64_t doorbell = std::atomic_ref{*config_.doorbell}.load(std::memory_order_acquire); // label B
  if (doorbell != seen_doorbell_) note_ring(doorbell, std::atomic_ref{amd().write_dispatch_id}.load(std::memory_order_acquire));
  if (engine_.options.needs_doorbell && !ahead(rung_, read_)) return false;
  if (!ahead(std::atomic_ref{amd().write_dispatch_id}.load(std::memory_order_acquire), read_)) return false;
  word0 = std::atomic_ref{slot().word[0]}.load(std::memory_order_acquire); // label A
  return abi::HeaderType::decode(word0) != static_cast<std::uint32_t>(abi::PacketType::invalid);
}

HwQueue::Poll HwQueue::poll(unsigned packets) {
  if (state() != QueueState::active || fault_pending() || held()) return Poll::idle;
  if (changed_.load(std::memory_order_acquire)) [[unlikely]] take_changes();
  if (pm4_ring_) return poll_ring();
  if (sdma_) return poll_sdma();
  Poll result = Poll::idle;
  for (unsigned n = 0; n < packets; ++n) {
    std::uint32_t word0 = 0;
    if (!fetch(word0)) return result;
    if (abi::HeaderBarrier::decode(word0) != 0 && !drained()) return result == Poll::worked ? result : Poll::waiting;
    const AddressMap::Slice slice{engine_.map};
    progressed_ = false;
    show_packet(word0);
    if (!process(word0)) {
      if (fault_pending() || progressed_) return Poll::worked;
      return result == Poll::worked ? result : Poll::waiting;
    }
    result = Poll::worked;
  }
  return result;
}

bool HwQueue::process(std::uint32_t word0) {
  switch (static_cast<abi::PacketType>(abi::HeaderType::decode(word0))) {
  case abi::PacketType::kernel_dispatch: {
    abi::KernelDispatchPacket packet;
    std::memcpy(&packet, &slot(), sizeof packet);
    std::memcpy(&packet, &word0, sizeof word0);
    return process_dispatch(word0, packet);
  }
  case abi::PacketType::barrier_and: return process_barrier(word0, true);
  case abi::PacketType::barrier_or: return process_barrier(word0, false);
  case abi::PacketType::agent_dispatch: return process_agent(word0);
  case abi::PacketType::vendor_specific: return process_vendor(word0);
  case abi::PacketType::invalid: break;
  }
  reject({Errc::invalid_packet_format, abi::kQueueErrorPacketFormat,
          fmt::format("packet type {} does not exist; 0 (vendor) and 2 to 5 do", abi::HeaderType::decode(word0))});
  return false;
}

void HwQueue::consume() {
  std::atomic_ref{slot().word[0]}.store(static_cast<std::uint32_t>(abi::PacketType::invalid), std::memory_order_relaxed);
  ++read_;
  std::atomic_ref{amd().read_dispatch_id}.store(read_, std::memory_order_release); // label C
  stage_ = Stage::fetch;
  satisfied_ = reported_negative_ = 0;
}

void HwQueue::reject(PacketError error) {
  std::string detail = fmt::format("packet {}: {}", read_, error.detail);
  record_fault({error.code, error.bits, read_, std::move(detail), {}});
}

std::optional<std::int64_t> HwQueue::load_signal(std::uint64_t handle, const char* what) {
  auto* signal = processor_.view().as<abi::AmdSignal>(handle, kRead);
  if (signal == nullptr) {
    reject({Errc::memory_fault, 0,
            fmt::format("{} {:#x} cannot be read: {}", what, handle, engine_.map.describe(handle))});
    return std::nullopt;
  }
  return std::atomic_ref{signal->value}.load(std::memory_order_acquire); // label D
}

void HwQueue::complete(std::uint32_t word0, std::uint64_t signal, std::uint64_t start_ts) {
  engine_.acquire(acquire_scope(word0));
  engine_.release(release_scope(word0));
  std::string why;
  if (signal != 0 && !engine_.complete_signal(processor_.view(), signal, start_ts, why)) {
    record_fault({Errc::memory_fault, 0, read_ - 1, fmt::format("packet {}: {}", read_ - 1, why), {}});
  }
}

bool HwQueue::process_barrier(std::uint32_t word0, bool all) {
  if (stage_ == Stage::fetch) {
    stage_ = Stage::condition;
    condition_start_ = engine_.clock.now_up();
  }
  abi::BarrierPacket packet;
  std::memcpy(&packet, &slot(), sizeof packet);
  unsigned real = 0;
  bool satisfied = all;
  for (unsigned i = 0; i < abi::kBarrierDependencies; ++i) {
    if (packet.dep_signal[i] == 0) continue; // satisfied for AND, not satisfied for OR
    ++real;
    if ((satisfied_ & 1u << i) == 0) {
      const auto value = load_signal(packet.dep_signal[i], "dependency signal");
      if (!value) return false;
      if (*value == 0 || (*value < 0 && engine_.options.barrier_nonpositive_satisfies)) {
        satisfied_ |= 1u << i; // seen at 0 once is enough
      } else if (*value < 0 && (reported_negative_ & 1u << i) == 0) {
        reported_negative_ |= 1u << i;
        log::warn(fmt::format(
            "queue {} packet {}: dependency {} of the barrier has the value {}, which does not satisfy it (only 0 does)", id_,
            read_, i, *value));
      }
    }
    const bool this_one = (satisfied_ & 1u << i) != 0;
    satisfied = all ? satisfied && this_one : satisfied || this_one;
  }
  if (!all && real == 0) {
    reject({Errc::hang, abi::kQueueErrorPacketFormat,
            "barrier-OR with five null dependencies: null is not satisfied, so it can never complete; the queue is stuck"});
    return false;
  }
  if (!satisfied) return false;
  const std::uint64_t start = condition_start_;
  consume();
  complete(word0, packet.completion_signal, start);
  return true;
}

bool HwQueue::process_barrier_value(std::uint32_t word0) {
  abi::BarrierValuePacket packet;
  std::memcpy(&packet, &slot(), sizeof packet);
  if (packet.cond > static_cast<std::uint32_t>(abi::ValueCondition::gte)) {
    reject({Errc::invalid_packet_format, abi::kQueueErrorVendorFormat,
            fmt::format("barrier-value with condition {}; 0 (==), 1 (!=), 2 (<) and 3 (>=) exist", packet.cond)});
    return false;
  }
  if (stage_ == Stage::fetch) {
    stage_ = Stage::condition;
    condition_start_ = engine_.clock.now_up();
  }
  if (packet.signal != 0) { // a null handle is a satisfied dependency (hsa_ext_amd.h)
    const auto value = load_signal(packet.signal, "barrier-value signal");
    if (!value) return false;
    const std::int64_t masked = *value & packet.mask;
    bool holds = false;
    switch (static_cast<abi::ValueCondition>(packet.cond)) {
    case abi::ValueCondition::eq: holds = masked == packet.value; break;
    case abi::ValueCondition::ne: holds = masked != packet.value; break;
    case abi::ValueCondition::lt: holds = masked < packet.value; break;
    case abi::ValueCondition::gte: holds = masked >= packet.value; break;
    }
    if (!holds) return false;
  }
  const std::uint64_t start = condition_start_;
  consume();
  complete(word0, packet.completion_signal, start);
  return true;
}

bool HwQueue::process_agent(std::uint32_t word0) {
  if (!config_.agent_function) {
    reject({Errc::invalid_packet_format, abi::kQueueErrorPacketFormat,
            "agent dispatch on a queue without an agent function; give one when the queue is created"});
    return false;
  }
  abi::AgentDispatchPacket packet;
  std::memcpy(&packet, &slot(), sizeof packet);
  engine_.acquire(acquire_scope(word0));
  AgentCall call;
  call.queue = this;
  call.packet = packet;
  call.packet.type = static_cast<std::uint16_t>(word0 >> 16);
  call.packet_index = read_;
  call.release = release_scope(word0);
  call.start_ts = engine_.clock.now_up();
  call.function = &config_.agent_function;
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  consume();
  processor_.call_agent(call);
  return true;
}

bool HwQueue::process_vendor(std::uint32_t word0) {
  const std::uint32_t format = word0 >> 16 & 0xffu;
  switch (static_cast<abi::VendorFormat>(format)) {
  case abi::VendorFormat::barrier_value: return process_barrier_value(word0);
  case abi::VendorFormat::extended_dispatch: return process_extended(word0);
  case abi::VendorFormat::pm4_indirect_buffer:
    if (!pm4_) pm4_ = std::make_unique<Pm4Stream>(engine_, processor_, *this, nullptr);
    return process_pm4(word0);
  }
  reject(
      {Errc::invalid_packet_format, abi::kQueueErrorVendorFormat,
       fmt::format("AMD vendor packet with format {}; 1 (PM4 indirect buffer), 2 (barrier-value) and 3 (extended dispatch) exist",
                   format)});
  return false;
}

void HwQueue::record_fault(QueueFault fault, std::uint64_t kernel_object) {
  {
    const std::lock_guard lock{fault_mutex_};
    if (fault_recorded_) return;
    fault_recorded_ = true;
    fault_ = std::move(fault);
    fault_kernel_ = kernel_object;
  }
  fault_pending_.store(true, std::memory_order_release);
}

void HwQueue::stop_all() {
  for (Dispatch* d = first_; d != nullptr; d = d->next_in_queue) {
    d->stop.store(true, std::memory_order_relaxed);
    if (const std::uint64_t left = engine_.scheduler.cancel(d); left != 0) engine_.groups_over(processor_.view(), d, left);
  }
}

bool HwQueue::settle_fault() {
  if (state() != QueueState::active) return false;
  // A packet that was refused leaves earlier dispatches alone; they were launched and end as they would. A fault of a wave
  // ends all that the queue has in flight, and is reported when nothing of it runs any more.
  if (fault_.fault.code == Errc::ok && fault_.code != Errc::queue_inactive) return true;
  if (!stop_sent_) {
    stop_sent_ = true;
    stop_all();
  }
  return drained();
}

void HwQueue::deliver_fault() {
  QueueFault fault;
  {
    const std::lock_guard lock{fault_mutex_};
    fault = fault_;
  }
  if (fault.fault.code != Errc::ok) {
    fault.fault.kernel = engine_.symbol(fault_kernel_);
    if (fault.fault.kernel.empty()) fault.fault.kernel = engine_.symbol(fault.fault.pc);
    fault.detail = fault.fault.report();
  }
  set_state(QueueState::inactive);
  if (config_.amd_queue != nullptr && amd().queue_inactive_signal != 0 && fault.error_bits != 0) {
    const AddressMap::Slice slice{engine_.map};
    engine_.store_signal(processor_.view(), amd().queue_inactive_signal, fault.error_bits);
  }
  callback_running_ = true;
  if (config_.on_error) config_.on_error(fault);
  callback_running_ = false;
  engine_.bump_event_counter();
}

void HwQueue::link(Dispatch* dispatch) noexcept {
  dispatch->previous_in_queue = nullptr;
  dispatch->next_in_queue = first_;
  if (first_ != nullptr) first_->previous_in_queue = dispatch;
  first_ = dispatch;
}

void HwQueue::unlink(Dispatch* dispatch) noexcept {
  if (dispatch->previous_in_queue != nullptr) {
    dispatch->previous_in_queue->next_in_queue = dispatch->next_in_queue;
  } else {
    first_ = dispatch->next_in_queue;
  }
  if (dispatch->next_in_queue != nullptr) dispatch->next_in_queue->previous_in_queue = dispatch->previous_in_queue;
}

} // namespace aql::sim
