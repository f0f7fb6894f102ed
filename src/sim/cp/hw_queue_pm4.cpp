// PM4 on a hardware queue: the AQL vendor packet with an indirect buffer, and whole rings.

#include <cstring>

#include <fmt/format.h>

#include "sim/cp/hw_queue.hpp"
#include "sim/cp/occupancy.hpp"
#include "sim/cp/packet_check.hpp"
#include "sim/cp/processor.hpp"

namespace aql::sim {
namespace {

using namespace pm4;

constexpr unsigned kPacketsPerTurn = 64;   // then other queues are looked at
constexpr std::uint32_t kValid = 1u << 23; // INDIRECT_BUFFER, last dword

} // namespace

std::byte* Pm4Stream::memory(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) {
  return processor_.view().get(address, size, permissions);
}
void Pm4Stream::packet(std::uint64_t address, std::span<const std::uint32_t> words) {
  if (PacketObserver* observer = engine_.packet_observer.load(std::memory_order_acquire)) {
    observer->packet(queue_.id(), PacketEngine::pm4, address, words);
  }
}
std::string Pm4Stream::describe(std::uint64_t address) { return engine_.map.describe(address); }
bool Pm4Stream::idle() { return queue_.drained(); }
void Pm4Stream::acquire() { engine_.acquire(abi::FenceScope::system); }
void Pm4Stream::release() { engine_.release(abi::FenceScope::system); }
std::uint64_t Pm4Stream::clock() { return engine_.clock.now(); }
void Pm4Stream::interrupt(std::uint32_t context_id) {
  if (on_interrupt_) on_interrupt_(context_id);
  engine_.bump_event_counter();
}

// HDP flush and the like: a request reads back as done.
std::uint32_t Pm4Stream::read_register(std::uint32_t index) {
  for (const auto& [at, value] : registers_) {
    if (at == index) return value;
  }
  return ~0u;
}

void Pm4Stream::write_register(std::uint32_t index, std::uint32_t value) {
  for (auto& [at, old] : registers_) {
    if (at == index) {
      old = value;
      return;
    }
  }
  if (registers_.size() < 256) registers_.emplace_back(index, value);
}

Error Pm4Stream::dispatch(const std::uint32_t* sh, const std::uint32_t dimensions[3], std::uint32_t initiator) {
  const auto reg = [sh](std::uint32_t index) { return sh[index - kShBase]; };
  KernelCode code;
  decode_resources(code, reg(compute_pgm_rsrc1), reg(compute_pgm_rsrc2), reg(compute_pgm_rsrc3));
  code.entry = (reg(compute_pgm_lo) | static_cast<std::uint64_t>(reg(compute_pgm_hi) & 0xffu) << 32) << 8;
  if (processor_.view().get(code.entry, 4, kExecute) == nullptr) {
    code.error = fmt::format("COMPUTE_PGM puts the entry at {:#x}, which is not executable: {}", code.entry,
                             engine_.map.describe(code.entry));
  }
  Geometry geometry;
  abi::KernelDispatchPacket packet{}; // for the checks
  packet.setup = 3;
  std::uint32_t* const grid[3] = {&packet.grid_size_x, &packet.grid_size_y, &packet.grid_size_z};
  std::uint16_t* const group[3] = {&packet.workgroup_size_x, &packet.workgroup_size_y, &packet.workgroup_size_z};
  for (unsigned d = 0; d < 3; ++d) {
    const std::uint32_t threads = reg(compute_num_thread_x + d);
    const std::uint32_t full = threads & 0xffffu, partial = threads >> 16;
    const std::uint32_t start = (initiator & kInitiatorForceStartAtZero) != 0 ? 0 : reg(compute_start_x + d);
    std::uint64_t items = dimensions[d];
    if ((initiator & kInitiatorThreadDimensions) == 0) {
      // Dimensions are the end of the block range, counted from 0 also when it starts later.
      if (dimensions[d] <= start) return {}; // nothing to do
      items = static_cast<std::uint64_t>(dimensions[d] - start) * full;
      if ((initiator & kInitiatorPartialGroups) != 0 && partial != 0 && partial < full) items -= full - partial;
    }
    if (dimensions[d] == 0) return {};
    if (items > 0xffffffffull)
      return {Errc::incompatible_arguments, 0, fmt::format("dimension {} has {} work-items, more than 32 bits hold", d, items),
              "pm4"};
    geometry.grid[d] = *grid[d] = static_cast<std::uint32_t>(items);
    geometry.group[d] = full;
    *group[d] = static_cast<std::uint16_t>(full);
    // A grid smaller than one block is a partial block here.
    if (*grid[d] < full) *grid[d] = full;
    geometry.offset[d] = start;
  }
  packet.group_segment_size = abi::Rsrc2LdsSize::decode(code.rsrc2) * 512;
  GroupNeeds needs;
  auto refused = check_geometry(engine_.profile, packet);
  if (refused.code == Errc::ok) refused = check_resources(engine_.profile, packet, code, needs);
  if (refused.code != Errc::ok) return {refused.code, 0, std::move(refused.detail), "pm4"};
  const bool scratch = abi::Rsrc2PrivateSegment::decode(code.rsrc2) != 0;
  const std::uint32_t tmpring = reg(compute_tmpring_size);
  const std::uint32_t scratch_waves = abi::TmpringWaves::decode(tmpring);
  if (queue_.full() || (scratch && scratch_users_.load(std::memory_order_acquire) != 0)) return {Errc::not_ready, 0, {}, {}};
  if (scratch && scratch_waves < needs.waves) {
    return {Errc::out_of_resources, 0,
            fmt::format("COMPUTE_TMPRING_SIZE has scratch for {} waves; a workgroup has {}", scratch_waves, needs.waves), "pm4"};
  }
  Dispatch* d = queue_.make_dispatch(code, geometry, needs);
  if (d == nullptr) return {Errc::invalid_argument, 0, "the queue's CU mask leaves no compute unit", "pm4"};
  const std::uint32_t user = abi::Rsrc2UserSgprCount::decode(code.rsrc2);
  for (std::uint32_t i = 0; i < 16; ++i) d->user_sgpr[i] = reg(compute_user_data_0 + i);
  d->user_sgpr_count = user < 16 ? user : 16;
  d->scratch_buffer = false;
  d->flat_scratch_sgpr = ~0u;
  if (scratch) {
    slots_.reset(scratch_waves);
    d->slots = &slots_;
    d->scratch_users = &scratch_users_;
    scratch_users_.store(1, std::memory_order_relaxed);
    d->scratch_wave_bytes = abi::TmpringWaveSize::decode(tmpring) * 1024ull;
    d->context.scratch_wave_bytes = static_cast<std::uint32_t>(d->scratch_wave_bytes);
    d->context.scratch_lane_bytes = static_cast<std::uint32_t>(d->scratch_wave_bytes / kLanes);
    d->context.scratch_base =
        (reg(compute_dispatch_scratch_base_lo) | static_cast<std::uint64_t>(reg(compute_dispatch_scratch_base_hi) & 0xffu) << 32)
        << 8;
    d->resident_limit = std::min(d->resident_limit, scratch_waves / needs.waves);
  }
  queue_.start_dispatch(*d);
  return {};
}

bool HwQueue::process_pm4(std::uint32_t word0) {
  if (stage_ == Stage::fetch) {
    abi::Pm4IbPacket packet;
    std::memcpy(&packet, &slot(), sizeof packet);
    const std::uint32_t head = packet.ib_jump_cmd[0];
    if (head >> 30 != 3 || (head >> 8 & 0xffu) != indirect_buffer) {
      reject({Errc::invalid_packet_format, abi::kQueueErrorVendorFormat,
              fmt::format("PM4 vendor packet: {:08x} is no INDIRECT_BUFFER command", head)});
      return false;
    }
    if ((packet.ib_jump_cmd[3] & kValid) == 0) {
      reject({Errc::invalid_packet_format, abi::kQueueErrorVendorFormat,
              fmt::format("PM4 vendor packet: the buffer's size word {:08x} is not marked valid", packet.ib_jump_cmd[3])});
      return false;
    }
    engine_.acquire(static_cast<abi::FenceScope>(abi::HeaderAcquire::decode(word0)));
    pm4_->interpreter.start((packet.ib_jump_cmd[1] & ~3u) | static_cast<std::uint64_t>(packet.ib_jump_cmd[2] & 0xffffu) << 32,
                            packet.ib_jump_cmd[3] & 0xfffffu);
    stage_ = Stage::pm4;
    condition_start_ = engine_.clock.now_up();
  }
  switch (pm4_->interpreter.run(kPacketsPerTurn)) {
  case Pm4Interpreter::Status::done: break;
  case Pm4Interpreter::Status::waiting: return false;
  case Pm4Interpreter::Status::budget: progressed_ = true; return false;
  case Pm4Interpreter::Status::error: {
    const Error& error = pm4_->interpreter.error();
    reject({error.code,
            error.code == Errc::invalid_packet_format || error.code == Errc::unsupported
                ? std::uint32_t{abi::kQueueErrorVendorFormat}
                : queue_error_bits(error.code),
            error.detail});
    return false;
  }
  }
  // The packet is complete when the dispatches it started are.
  if (!drained()) return false;
  abi::Pm4IbPacket packet;
  std::memcpy(&packet, &slot(), sizeof packet);
  const std::uint64_t start = condition_start_;
  consume();
  complete(word0, packet.completion_signal, start);
  return true;
}

HwQueue::Poll HwQueue::poll_ring() {
  Pm4Ring& ring = *pm4_ring_;
  const std::uint64_t doorbell = std::atomic_ref{*ring.config.doorbell}.load(std::memory_order_acquire);
  auto& interpreter = pm4_->interpreter;
  const std::uint64_t before = interpreter.ring_position();
  const auto left = static_cast<std::uint32_t>(doorbell - before); // the read position that programs see has 32 bits
  if (left == 0) return Poll::idle;
  if (left > ring.config.ring_dwords) {
    record_fault({Errc::invalid_packet_format,
                  abi::kQueueErrorPacketFormat,
                  doorbell,
                  fmt::format("PM4 ring of {} dwords: the doorbell says {}, the processor is at {}", ring.config.ring_dwords,
                              doorbell, before),
                  {}});
    return Poll::worked;
  }
  const AddressMap::Slice slice{engine_.map};
  interpreter.set_ring_end(before + left);
  const auto status = interpreter.run(kPacketsPerTurn);
  std::atomic_ref{*ring.config.read_pointer}.store(static_cast<std::uint32_t>(interpreter.ring_position()),
                                                   std::memory_order_release);
  return turn_over(interpreter, status, before, Stage::pm4);
}

} // namespace aql::sim
