#include "sim/cp/wave_setup.hpp"

#include <algorithm>
#include <cstring>

namespace aql::sim {
namespace {

constexpr std::uint32_t kPoisonVgpr = 0xDEADBEEF;

// Packed work-item ids of 64 consecutive work-items of a group of extent (x, y, ...): x 9:0, y 19:10, z 29:20.
void pack_ids(VReg& v0, std::uint32_t first, std::uint32_t x, std::uint32_t y, std::uint32_t mask) {
  std::uint32_t ix = first % x, iy = first / x % y, iz = first / x / y;
  for (auto& lane : v0.lane) {
    lane = (ix | iy << 10 | iz << 20) & mask;
    if (++ix == x) {
      ix = 0;
      if (++iy == y) {
        iy = 0;
        ++iz;
      }
    }
  }
}

// Ids of dimensions that the kernel did not ask for read 0.
constexpr std::uint32_t id_mask(std::uint32_t mode) noexcept { return mode == 0 ? 0x3ffu : mode == 1 ? 0xfffffu : 0x3fffffffu; }

void set_v0(VReg& v0, Dispatch& dispatch, const std::uint32_t extent[3], bool whole, std::uint32_t wave) {
  const std::uint32_t first = wave * kLanes;
  if (extent[1] == 1 && extent[2] == 1) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) v0.lane[lane] = (first + lane) & 0x3ffu;
    return;
  }
  const std::uint32_t mask = id_mask(abi::Rsrc2WorkitemId::decode(dispatch.code.rsrc2));
  if (!whole) {
    pack_ids(v0, first, extent[0], extent[1], mask);
    return;
  }
  if (!dispatch.ids_ready.load(std::memory_order_acquire)) {
    const std::lock_guard lock{dispatch.ids_mutex};
    if (!dispatch.ids_ready.load(std::memory_order_relaxed)) {
      if (!dispatch.ids) dispatch.ids = std::make_unique_for_overwrite<VReg[]>(kMaxWavesPerGroup);
      for (std::uint32_t i = 0; i < dispatch.full_group_waves; ++i)
        pack_ids(dispatch.ids[i], i * kLanes, extent[0], extent[1], mask);
      dispatch.ids_ready.store(true, std::memory_order_release);
    }
  }
  std::memcpy(v0.lane, dispatch.ids[wave].lane, sizeof v0.lane);
}

void set_up_wave(ResidentGroup& resident, std::uint32_t index, bool whole, const std::uint32_t extent[3], std::uint32_t items,
                 const SetupOptions& options) {
  Dispatch& dispatch = *resident.dispatch;
  const KernelCode& code = dispatch.code;
  Wave& wave = resident.waves[index];
  std::memset(wave.sgpr, 0, sizeof wave.sgpr);
  wave.pc = dispatch.context.entry_pc;
  wave.scc = wave.status = wave.trapsts = 0;
  wave.mode = code.mode;
  wave.vgpr = reinterpret_cast<VReg*>(resident.vgprs.reserve(0)) + static_cast<std::size_t>(index) * code.vgprs;
  // AccVGPRs begin at accum_offset; a descriptor that puts it past the allocation has none.
  wave.vgpr_count = std::min(code.accum_offset, code.vgprs);
  wave.agpr_base = wave.vgpr_count;
  wave.agpr_count = code.vgprs - wave.vgpr_count;
  wave.index_in_group = index;
  wave.hw_slot = index % 4 * 8 + index / 4;
  wave.group = &resident.group;
  wave.dispatch = &dispatch.context;
  wave.instructions = 0;
  wave.sleep_hint = 0;
  wave.scratch_base = 0;
  wave.code_generation = 0;

  std::memcpy(wave.sgpr, dispatch.user_sgpr, sizeof(std::uint32_t) * dispatch.user_sgpr_count);
  std::uint64_t scratch_offset = 0;
  if (dispatch.slots != nullptr) {
    scratch_offset = resident.scratch_slot[index] * dispatch.scratch_wave_bytes;
    wave.scratch_base = dispatch.context.scratch_base + scratch_offset;
    // The wave offset SGPR has 32 bits: what is beyond 4 GiB goes into this wave's copy of the bases.
    const std::uint64_t base = dispatch.context.scratch_base + (scratch_offset & ~0xffffffffull);
    if (dispatch.scratch_buffer) {
      wave.sgpr[0] = static_cast<std::uint32_t>(base);
      wave.sgpr[1] = (wave.sgpr[1] & ~0xffffu) | static_cast<std::uint32_t>(base >> 32 & 0xffffu);
    }
    if (dispatch.flat_scratch_sgpr != ~0u) wave.set_sgpr64(dispatch.flat_scratch_sgpr, base);
    if (dispatch.context.arch != Arch::gfx90a) wave.set_sgpr64(kFlatScratchLo, wave.scratch_base); // architected flat scratch
  }
  std::uint32_t next = abi::Rsrc2UserSgprCount::decode(code.rsrc2);
  if (abi::Rsrc2WorkgroupIdX::decode(code.rsrc2) != 0) wave.sgpr[next++] = resident.group.id[0];
  if (abi::Rsrc2WorkgroupIdY::decode(code.rsrc2) != 0) wave.sgpr[next++] = resident.group.id[1];
  if (abi::Rsrc2WorkgroupIdZ::decode(code.rsrc2) != 0) wave.sgpr[next++] = resident.group.id[2];
  if (abi::Rsrc2WorkgroupInfo::decode(code.rsrc2) != 0) {
    wave.sgpr[next++] =
        (index == 0 ? 0x80000000u : 0u) | static_cast<std::uint32_t>(resident.index & 0x7ffu) << 6 | resident.group.wave_count;
  }
  // gfx942 and later have architected flat scratch and get no offset.
  if (abi::Rsrc2PrivateSegment::decode(code.rsrc2) != 0 && dispatch.context.arch == Arch::gfx90a)
    wave.sgpr[next++] = static_cast<std::uint32_t>(scratch_offset);

  const std::uint32_t lanes = std::min(items - index * kLanes, kLanes);
  wave.set_exec(lanes == kLanes ? ~0ull : (1ull << lanes) - 1);
  if (options.poison) {
    auto* words = wave.vgpr[0].lane;
    std::fill_n(words, static_cast<std::size_t>(code.vgprs) * kLanes, kPoisonVgpr);
  }
  set_v0(wave.vgpr[0], dispatch, extent, whole, index);
}

} // namespace

void fill_user_sgprs(Dispatch& dispatch, std::uint32_t private_bytes, const std::uint32_t* preload) {
  const std::uint32_t properties = dispatch.code.properties;
  std::uint32_t next = 0;
  auto put64 = [&](std::uint64_t value) {
    dispatch.user_sgpr[next++] = static_cast<std::uint32_t>(value);
    dispatch.user_sgpr[next++] = static_cast<std::uint32_t>(value >> 32);
  };
  dispatch.scratch_buffer = false;
  dispatch.flat_scratch_sgpr = ~0u;
  if (abi::PropPrivateSegmentBuffer::decode(properties) != 0) {
    // Buffer resource for swizzled scratch: no stride, SWIZZLE_ENABLE, index stride 64, ADD_TID_ENABLE (ISA guide, "Buffer
    // Resource Descriptor"); the base is filled in for each wave.
    dispatch.scratch_buffer = true;
    dispatch.user_sgpr[0] = 0;
    dispatch.user_sgpr[1] = 1u << 31;
    dispatch.user_sgpr[2] = 0xffffffffu;
    dispatch.user_sgpr[3] = 4u | 5u << 3 | 6u << 6 | 7u << 9 | 3u << 21 | 1u << 23;
    next = 4;
  }
  if (abi::PropDispatchPtr::decode(properties) != 0) put64(dispatch.context.packet_address);
  if (abi::PropQueuePtr::decode(properties) != 0) put64(dispatch.context.queue_address);
  if (abi::PropKernargSegmentPtr::decode(properties) != 0) put64(dispatch.context.kernarg_address);
  if (abi::PropDispatchId::decode(properties) != 0) put64(dispatch.context.dispatch_id);
  if (abi::PropFlatScratchInit::decode(properties) != 0) {
    dispatch.flat_scratch_sgpr = next;
    put64(0);
  }
  if (abi::PropPrivateSegmentSize::decode(properties) != 0) dispatch.user_sgpr[next++] = private_bytes;
  if (preload != nullptr) {
    for (std::uint32_t i = 0; i < dispatch.code.preload_dwords && next < 16; ++i) dispatch.user_sgpr[next++] = preload[i];
  }
  dispatch.user_sgpr_count = next;
}

void set_up_group(ResidentGroup& resident, Dispatch& dispatch, std::uint64_t index, const SetupOptions& options) {
  const DispatchContext& context = dispatch.context;
  resident.dispatch = &dispatch;
  resident.index = index;
  Workgroup& group = resident.group;
  group.dispatch = &dispatch.context;
  group.id[0] = static_cast<std::uint32_t>(index % context.groups[0]);
  group.id[1] = static_cast<std::uint32_t>(index / context.groups[0] % context.groups[1]);
  group.id[2] = static_cast<std::uint32_t>(index / context.groups[0] / context.groups[1]);
  // A partial group has its own extent, and its work-items are numbered by that.
  std::uint32_t extent[3];
  bool whole = true;
  for (unsigned d = 0; d < 3; ++d) {
    const std::uint64_t begin = static_cast<std::uint64_t>(group.id[d]) * context.group[d];
    extent[d] = static_cast<std::uint32_t>(std::min<std::uint64_t>(context.group[d], context.grid[d] - begin));
    whole = whole && extent[d] == context.group[d];
    group.id[d] += dispatch.group_offset[d];
  }
  const std::uint32_t items = extent[0] * extent[1] * extent[2];
  group.wave_count = (items + kLanes - 1) / kLanes;
  // Rule 12: round robin over the XCDs, in dispatch order.
  const std::uint32_t place = static_cast<std::uint32_t>(index % dispatch.cu_count);
  const std::uint32_t cu = dispatch.cus != nullptr ? dispatch.cus[place] : place;
  group.xcc_id = cu % options.xcc_count;
  group.se_id = cu / options.xcc_count / options.cus_per_engine;
  group.cu_id = cu / options.xcc_count % options.cus_per_engine;
  group.lds_bytes = context.lds_bytes;
  group.lds = resident.lds.reserve(std::max<std::size_t>(context.lds_bytes, 64));
  std::memset(group.lds, options.poison ? 0xA5 : 0, context.lds_bytes);
  resident.vgprs.reserve(static_cast<std::size_t>(group.wave_count) * dispatch.code.vgprs * sizeof(VReg));
  resident.alive = group.wave_count;
  resident.at_barrier = 0;
  resident.first_wave = 0;
  for (std::uint32_t i = 0; i < group.wave_count; ++i) {
    resident.state[i] = WaveState::ready;
    set_up_wave(resident, i, whole, extent, items, options);
  }
}

} // namespace aql::sim
