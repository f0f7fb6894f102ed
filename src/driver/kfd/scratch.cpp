#include "driver/kfd/scratch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::uint32_t kLanes = 64, kKib = 1024;
constexpr std::uint32_t kWavesOfAGroup = 16; // of 1024 work-items

constexpr std::uint32_t round_up(std::uint32_t n, std::uint32_t to) { return (n + to - 1) / to * to; }

} // namespace

Result<ScratchLayout> lay_out_scratch(const Gpu& gpu, std::uint32_t lane_bytes, std::uint64_t budget_bytes) {
  const auto refuse = [](std::string text) { return std::unexpected(Error{Errc::out_of_resources, 0, std::move(text), "scratch"}); };
  ScratchLayout layout;
  layout.lane_bytes = round_up(std::max(lane_bytes, 1u), kKib / kLanes);
  const std::uint64_t wave_bytes = std::uint64_t{layout.lane_bytes} * kLanes;
  if (wave_bytes / kKib > abi::TmpringWaveSize::kMax)
    return refuse(fmt::format("a dispatch asks for {} bytes of private memory a work-item; {} is the most", lane_bytes, abi::TmpringWaveSize::kMax * kKib / kLanes));
  layout.wave_kib = static_cast<std::uint32_t>(wave_bytes / kKib);
  const auto& info = gpu.info;
  // Slots are dealt out to the shader engines of an XCC in equal numbers, and a workgroup lives on one engine: each needs enough for
  // the largest, or that never starts.
  const std::uint32_t engines = std::max<std::uint32_t>(gpu.shader_engines / info.xcc_count, 1);
  const std::uint32_t fewest = kWavesOfAGroup * engines;
  const auto whole = [engines](std::uint64_t waves) { return static_cast<std::uint32_t>(waves / engines * engines); };
  const std::uint64_t slots = std::min<std::uint64_t>(std::uint64_t{info.compute_units / info.xcc_count} * gpu.scratch_slots_per_cu, abi::TmpringWaves::kMax);
  const std::uint64_t affordable = budget_bytes / (wave_bytes * info.xcc_count);
  layout.waves_per_xcc = whole(std::min(slots, affordable));
  if (layout.waves_per_xcc < fewest) {
    return refuse(fmt::format("a dispatch asks for {} bytes of private memory a work-item: {} waves on each of {} XCCs ({} for each shader engine) would need {} bytes, {} may be used", lane_bytes, fewest,
                              info.xcc_count, kWavesOfAGroup, wave_bytes * fewest * info.xcc_count, budget_bytes));
  }
  layout.bytes_per_xcc = wave_bytes * layout.waves_per_xcc;
  layout.total_bytes = layout.bytes_per_xcc * info.xcc_count;
  return layout;
}

void describe_scratch(abi::AmdQueue& queue, const ScratchLayout& layout, std::uint64_t address) noexcept {
  queue.scratch_backing_memory_location = address;
  queue.scratch_backing_memory_byte_size = layout.bytes_per_xcc;
  queue.scratch_wave64_lane_byte_size = layout.lane_bytes;
  queue.compute_tmpring_size = abi::TmpringWaves::encode<std::uint32_t>(layout.waves_per_xcc) | abi::TmpringWaveSize::encode<std::uint32_t>(layout.wave_kib);
  // Buffer resource of swizzled scratch (ISA guides, "Buffer Resource Descriptor"): base 47:0, no stride, SWIZZLE_ENABLE; then the
  // size; then DST_SEL x y z w, NUM_FORMAT uint, DATA_FORMAT 32, ELEMENT_SIZE 4 bytes, INDEX_STRIDE 64, ADD_TID_ENABLE.
  queue.scratch_resource_descriptor[0] = static_cast<std::uint32_t>(address);
  queue.scratch_resource_descriptor[1] = (static_cast<std::uint32_t>(address >> 32) & 0xffffu) | 1u << 31;
  queue.scratch_resource_descriptor[2] = static_cast<std::uint32_t>(std::min<std::uint64_t>(layout.bytes_per_xcc, 0xffffffffu));
  queue.scratch_resource_descriptor[3] = 4u | 5u << 3 | 6u << 6 | 7u << 9 | 4u << 12 | 4u << 15 | 1u << 19 | 3u << 21 | 1u << 23;
}

Scratch::~Scratch() {
  for (const auto& block : {current_, previous_}) {
    if (block.address != nullptr) memory_.give(block);
  }
}

Result<void> Scratch::grow(abi::AmdQueue& queue, std::uint32_t lane_bytes) {
  // Never smaller than before, and no more than a quarter of the card: several queues have scratch.
  lane_bytes = std::max(lane_bytes, queue.scratch_wave64_lane_byte_size);
  std::uint64_t budget = gpu_.info.memory_bytes / 4;
  for (;;) {
    auto layout = lay_out_scratch(gpu_, lane_bytes, budget);
    if (!layout) return std::unexpected(layout.error());
    auto block = memory_.take(Memory::Use::device, layout->total_bytes, "scratch");
    if (!block) { // the card is full: fewer waves at a time
      log::debug(fmt::format("kfd: {} bytes of scratch are not to be had: {}", layout->total_bytes, block.error().detail));
      budget = layout->total_bytes / 2;
      continue;
    }
    // Dispatches with the current memory may be in flight. Those with the one before are over: none with the current one started
    // before the last of them ended.
    if (previous_.address != nullptr) memory_.give(previous_);
    previous_ = current_;
    current_ = *block;
    describe_scratch(queue, *layout, reinterpret_cast<std::uint64_t>(block->address));
    log::debug(fmt::format("kfd: scratch of {} bytes a lane for {} waves on each of {} XCCs", layout->lane_bytes, layout->waves_per_xcc, gpu_.info.xcc_count));
    return {};
  }
}

} // namespace aql::detail::kfd
