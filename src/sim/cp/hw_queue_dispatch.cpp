// Kernel dispatch packets: checks, scratch, launch.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/cp/hw_queue.hpp"
#include "sim/cp/packet_check.hpp"
#include "sim/cp/processor.hpp"

namespace aql::sim {
namespace {

// Dispatches of one queue that may be in flight at once; the next one waits.
constexpr std::uint64_t kMaxInFlight = 256;

} // namespace

bool HwQueue::process_extended(std::uint32_t word0) {
  abi::ExtendedDispatchPacket packet;
  std::memcpy(&packet, &slot(), sizeof packet);
  const auto bad = [this](std::string detail) {
    reject({Errc::incompatible_arguments, abi::kQueueErrorDimensions, std::move(detail)});
    return false;
  };
  const std::uint64_t count[3] = {packet.cluster_count_x, packet.cluster_count_y, packet.cluster_count_z};
  const std::uint64_t size[3] = {packet.cluster_size_x, packet.cluster_size_y, packet.cluster_size_z};
  const std::uint64_t group[3] = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  std::uint32_t grid[3];
  for (unsigned d = 0; d < 3; ++d) {
    // Targets of this device have no workgroup clusters: a cluster is one workgroup.
    if (size[d] != 1)
      return bad(fmt::format("cluster_size_{} is {}; {} has no workgroup clusters, so it must be 1", static_cast<char>('x' + d),
                             size[d], engine_.profile.target));
    const std::uint64_t items = count[d] * group[d];
    if (items > 0xffffffffull)
      return bad(fmt::format("dimension {} has {} work-items, more than 32 bits hold", static_cast<char>('x' + d), items));
    grid[d] = static_cast<std::uint32_t>(items);
  }
  if (packet.dep_signal != 0) {
    stage_ = Stage::condition;
    const auto value = load_signal(packet.dep_signal, "dependency signal");
    if (!value) return false;
    if (*value != 0 && !(*value < 0 && engine_.options.barrier_nonpositive_satisfies)) return false;
  }
  abi::KernelDispatchPacket plain{};
  plain.header = static_cast<std::uint16_t>(word0);
  plain.setup = static_cast<std::uint16_t>(word0 >> 24);
  plain.workgroup_size_x = packet.workgroup_size_x;
  plain.workgroup_size_y = packet.workgroup_size_y;
  plain.workgroup_size_z = packet.workgroup_size_z;
  plain.grid_size_x = grid[0];
  plain.grid_size_y = grid[1];
  plain.grid_size_z = grid[2];
  plain.private_segment_size = packet.private_segment_size;
  plain.group_segment_size = packet.group_segment_size;
  plain.kernel_object = packet.kernel_object;
  plain.kernarg_address = packet.kernarg_address;
  plain.completion_signal = packet.completion_signal;
  return process_dispatch(word0, plain);
}

bool HwQueue::full() const noexcept { return in_flight_.load(std::memory_order_relaxed) >= kMaxInFlight; }

Dispatch* HwQueue::make_dispatch(const KernelCode& code, const Geometry& geometry, const GroupNeeds& needs) {
  if (cus_.empty()) return nullptr;
  Dispatch& d = *processor_.new_dispatch();
  d.code = code;
  d.queue = this;
  d.packet_index = read_;
  d.completion_signal = 0;
  d.release = abi::FenceScope::none;
  d.arena = nullptr;
  d.slots = nullptr;
  d.scratch_users = nullptr;
  DispatchContext& c = d.context;
  c.queue_address = config_.queue_address;
  c.kernel_object = code.object;
  c.kernarg_address = 0;
  c.entry_pc = code.entry;
  c.dispatch_id = read_;
  c.scratch_base = 0;
  c.scratch_lane_bytes = c.scratch_wave_bytes = 0;
  d.group_total = 1;
  d.full_group_items = 1;
  for (unsigned i = 0; i < 3; ++i) {
    c.grid[i] = geometry.grid[i];
    c.group[i] = geometry.group[i];
    c.groups[i] =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(geometry.grid[i]) + geometry.group[i] - 1) / geometry.group[i]);
    d.group_total *= c.groups[i];
    d.full_group_items *= geometry.group[i];
    d.group_offset[i] = geometry.offset[i];
  }
  d.full_group_waves = needs.waves;
  c.lds_bytes = needs.lds_bytes;
  d.cus = cus_.data();
  d.cu_count = static_cast<std::uint32_t>(cus_.size());
  d.resident_limit = groups_per_cu(engine_.profile, needs) * d.cu_count;
  d.cost = {needs.waves, static_cast<std::int64_t>(needs.waves) * needs.vgprs, needs.lds_bytes, needs.waves > 1 ? 1 : 0};
  d.priority = config_.priority;
  return &d;
}

void HwQueue::start_dispatch(Dispatch& dispatch) {
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  link(&dispatch);
  processor_.launch(dispatch);
}

bool HwQueue::process_dispatch(std::uint32_t word0, const abi::KernelDispatchPacket& packet) {
  if (full()) return false;
  if (auto error = check_geometry(engine_.profile, packet); error.code != Errc::ok) {
    reject(std::move(error));
    return false;
  }
  const KernelCode& code = processor_.kernels().get(packet.kernel_object);
  GroupNeeds needs;
  if (auto error = check_resources(engine_.profile, packet, code, needs); error.code != Errc::ok) {
    reject(std::move(error));
    return false;
  }
  if (packet.completion_signal != 0 && processor_.view().as<abi::AmdSignal>(packet.completion_signal, kRead | kWrite) == nullptr) {
    reject({Errc::memory_fault, 0,
            fmt::format("completion signal {:#x} cannot be written: {}", packet.completion_signal,
                        engine_.map.describe(packet.completion_signal))});
    return false;
  }
  const std::uint32_t* preload = nullptr;
  if (code.preload_dwords != 0 && engine_.options.kernarg_preload_firmware) {
    const std::uint64_t address = packet.kernarg_address + code.preload_offset_dwords * 4ull;
    preload = reinterpret_cast<const std::uint32_t*>(processor_.view().get(address, code.preload_dwords * 4ull, kRead));
    if (preload == nullptr) {
      reject({Errc::memory_fault, 0,
              fmt::format("{} bytes of kernel arguments at {:#x} are to be preloaded and cannot be read: {}",
                          code.preload_dwords * 4, address, engine_.map.describe(address))});
      return false;
    }
  }
  Dispatch* made = make_dispatch(code,
                                 {{packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
                                  {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z},
                                  {0, 0, 0}},
                                 needs);
  if (made == nullptr) {
    reject({Errc::invalid_argument, abi::kQueueErrorWorkgroupSize, "the queue's CU mask leaves no compute unit"});
    return false;
  }
  Dispatch& d = *made;
  d.completion_signal = packet.completion_signal;
  d.release = static_cast<abi::FenceScope>(abi::HeaderRelease::decode(word0));
  d.context.kernarg_address = packet.kernarg_address;
  if (preload != nullptr) d.context.entry_pc += 256;
  if (!get_scratch(d, packet.private_segment_size)) {
    processor_.free_dispatch(&d);
    return false;
  }
  fill_user_sgprs(d, packet.private_segment_size, preload);
  // The kernel sees a copy of the packet: the slot is given back before the kernel has ended.
  std::memcpy(d.packet_copy, &slot(), sizeof(abi::Slot));
  std::memcpy(d.packet_copy, &word0, sizeof word0);
  auto acquire = static_cast<abi::FenceScope>(abi::HeaderAcquire::decode(word0));
  if (engine_.options.acquire_always && acquire == abi::FenceScope::none) acquire = abi::FenceScope::agent;
  engine_.acquire(acquire);
  consume();
  start_dispatch(d);
  return true;
}

bool HwQueue::get_scratch(Dispatch& d, std::uint32_t lane_bytes) {
  const bool used = lane_bytes != 0 && (abi::Rsrc2PrivateSegment::decode(d.code.rsrc2) != 0 ||
                                        abi::PropPrivateSegmentBuffer::decode(d.code.properties) != 0 ||
                                        abi::PropFlatScratchInit::decode(d.code.properties) != 0);
  d.context.scratch_lane_bytes = lane_bytes;
  if (!used) return true;
  if (!config_.external_scratch) {
    const std::uint64_t wave_bytes = scratch_wave_bytes(lane_bytes);
    const std::uint64_t groups = std::min<std::uint64_t>(d.group_total, d.resident_limit);
    auto arena = engine_.scratch.acquire(wave_bytes, static_cast<std::uint32_t>(groups * d.full_group_waves), d.full_group_waves);
    if (!arena) {
      reject({Errc::out_of_resources, abi::kQueueErrorScratchLarge, arena.error().detail});
      return false;
    }
    d.arena = *arena;
    d.slots = &d.arena->slots;
    d.scratch_wave_bytes = wave_bytes;
    d.context.scratch_base = d.arena->address;
    d.resident_limit = std::min(d.resident_limit, d.arena->waves / d.full_group_waves);
    d.context.scratch_wave_bytes = static_cast<std::uint32_t>(wave_bytes);
    return true;
  }
  // The runtime owns scratch. One dispatch at a time uses the queue's own, so a resident group always finds its slots; and a
  // runtime that is asked for more takes what there is away at once, so nothing may use it any more by then.
  if (external_users_.load(std::memory_order_acquire) != 0) return false;
  // Too little: ask for more through the inactive signal, and look again when it reads 0.
  if (stage_ == Stage::scratch) {
    const auto value = load_signal(amd().queue_inactive_signal, "queue_inactive_signal");
    if (!value || *value != 0) return false;
  }
  const std::uint64_t wave_bytes = abi::TmpringWaveSize::decode(amd().compute_tmpring_size) * 1024ull;
  const std::uint32_t waves = abi::TmpringWaves::decode(amd().compute_tmpring_size);
  if (lane_bytes > amd().scratch_wave64_lane_byte_size || wave_bytes < scratch_wave_bytes(lane_bytes) ||
      waves < d.full_group_waves) {
    stage_ = Stage::scratch;
    engine_.store_signal(processor_.view(), amd().queue_inactive_signal, abi::kQueueErrorScratch);
    return false;
  }
  stage_ = Stage::fetch;
  external_slots_.reset(waves);
  d.slots = &external_slots_;
  d.scratch_users = &external_users_;
  external_users_.store(1, std::memory_order_relaxed);
  d.scratch_wave_bytes = wave_bytes;
  d.context.scratch_base = amd().scratch_backing_memory_location;
  d.context.scratch_wave_bytes = static_cast<std::uint32_t>(wave_bytes);
  d.resident_limit = std::min(d.resident_limit, waves / d.full_group_waves);
  return true;
}

} // namespace aql::sim
