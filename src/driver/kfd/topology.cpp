#include "driver/kfd/topology.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/env.hpp"
#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

// What the topology does not say of a target. (Products and limits: AMDGPUUsage and the ISA guides.)
struct Target {
  std::uint32_t major, minor, stepping;
  const char* name;
  std::uint32_t lds_granule;
  bool many_dies; // a device may consist of several XCCs
};
constexpr Target kTargets[] = {
    {9, 0, 10, "gfx90a", 512, false},
    {9, 4, 2, "gfx942", 512, true},
    {9, 5, 0, "gfx950", 1280, true},
};

// Room for the properties of a newer thunk, whose struct may be longer than that of our headers.
union RoomyProperties {
  HsaNodeProperties properties;
  std::byte room[2048];
};

std::string market_name(const HsaNodeProperties& p) {
  std::string name;
  for (const HSAuint16 c : p.MarketingName) { // UTF-16; market names are ASCII
    if (c == 0) break;
    name += c < 0x80 ? static_cast<char>(c) : '?';
  }
  return name;
}

} // namespace

Gpu gpu_of(const NodeFacts& facts) {
  const HsaNodeProperties& p = facts.properties;
  Gpu gpu;
  gpu.node = facts.node;
  DeviceInfo& info = gpu.info;
  info.driver = "kfd";
  info.name = market_name(p);
  info.simds_per_cu = std::max<std::uint32_t>(p.NumSIMDPerCU, 1);
  info.compute_units = p.NumFComputeCores / info.simds_per_cu;
  info.waves_per_simd = p.MaxWavesPerSIMD;
  info.wavefront_size = p.WaveFrontSize;
  info.lds_bytes = p.LDSSizeInKB * 1024;
  info.clock_mhz = p.MaxEngineClockMhzFCompute;
  info.sramecc = p.Capability.ui32.SRAM_EDCSupport != 0;
  info.xnack = facts.xnack;
  info.xcc_count = std::max<std::uint32_t>(facts.xcc, 1);
  info.host_access_device_memory = false; // device memory is written through the driver, which flushes what the host wrote
  gpu.shader_engines = std::max<std::uint32_t>(p.NumShaderBanks, 1);
  if (p.MaxSlotsScratchCU != 0) gpu.scratch_slots_per_cu = p.MaxSlotsScratchCU;
  gpu.sdma_engines = p.NumSdmaEngines;
  std::uint64_t visible = 0;
  for (const auto& bank : facts.banks) {
    switch (bank.HeapType) {
    case HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC: visible += bank.SizeInBytes; [[fallthrough]];
    case HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE: info.memory_bytes += bank.SizeInBytes; break;
    case HSA_HEAPTYPE_GPU_LDS: info.shared_aperture = bank.VirtualBaseAddress; break;
    case HSA_HEAPTYPE_GPU_SCRATCH: info.private_aperture = bank.VirtualBaseAddress; break;
    case HSA_HEAPTYPE_MMIO_REMAP: gpu.hdp_flush = bank.VirtualBaseAddress; break; // its first register: HDP_MEM_FLUSH_CNTL
    default: break;
    }
  }
  gpu.large_bar = visible != 0 && visible == info.memory_bytes;

  const auto& engine = p.EngineId.ui32;
  const auto target = std::find_if(std::begin(kTargets), std::end(kTargets), [&](const Target& t) { return t.major == engine.Major && t.minor == engine.Minor && t.stepping == engine.Stepping; });
  if (target == std::end(kTargets)) {
    info.target = fmt::format("gfx{}{}{:x}", static_cast<unsigned>(engine.Major), static_cast<unsigned>(engine.Minor), static_cast<unsigned>(engine.Stepping));
    gpu.refusal = fmt::format("it is {}; this driver knows gfx90a, gfx942 and gfx950", info.target);
    return gpu;
  }
  info.target = target->name;
  info.lds_granule = target->lds_granule;
  info.isa = fmt::format("amdgcn-amd-amdhsa--{}:sramecc{}:xnack{}", info.target, info.sramecc ? '+' : '-', info.xnack ? '+' : '-');
  if (info.compute_units == 0 || info.waves_per_simd == 0 || info.memory_bytes == 0) {
    gpu.refusal = fmt::format("its topology node is incomplete ({} compute units, {} waves a SIMD, {} bytes of memory)", info.compute_units, info.waves_per_simd, info.memory_bytes);
  } else if (p.Capability.ui32.DoorbellType != 2) {
    gpu.refusal = fmt::format("its doorbells are of type {}; the 64-bit ones of type 2 are needed", static_cast<unsigned>(p.Capability.ui32.DoorbellType));
  } else if (target->many_dies && facts.xcc == 0) {
    gpu.refusal = fmt::format("a {} may consist of several dies (XCCs), each with its own share of the queue's save area and scratch, and the installed libhsakmt does not tell their number; "
                              "libhsakmt of ROCm 6 does, and rocr with a runtime of ROCm 6 needs no libhsakmt",
                              info.target);
  } else if (info.compute_units % info.xcc_count != 0) {
    gpu.refusal = fmt::format("{} compute units cannot be shared out to {} XCCs", info.compute_units, info.xcc_count);
  }
  return gpu;
}

Result<std::vector<Gpu>> read_topology(const Thunk& thunk) {
  HsaSystemProperties system{};
  if (const auto status = thunk.hsaKmtAcquireSystemProperties(&system); status != HSAKMT_STATUS_SUCCESS) return std::unexpected(failure(status, "the KFD topology cannot be read", "kfd"));
  HSAint32 xnack = 0;
  if (thunk.hsaKmtGetXNACKMode(&xnack) != HSAKMT_STATUS_SUCCESS) xnack = 0; // kernels without the call never retry
  const auto assumed_xcc = static_cast<std::uint32_t>(env_u64("AQL_KFD_XCC").value_or(0));
  std::vector<Gpu> gpus;
  std::uint32_t host_node = 0;
  bool have_host = false;
  for (std::uint32_t node = 0; node < system.NumNodes; ++node) {
    RoomyProperties roomy{};
    HsaNodeProperties& p = roomy.properties;
    if (const auto status = thunk.hsaKmtGetNodeProperties(node, &p); status != HSAKMT_STATUS_SUCCESS) {
      log::warn(failure(status, fmt::format("node {} of the KFD topology cannot be read", node), "kfd").message());
      continue;
    }
    if (p.NumCPUCores != 0 && !have_host) {
      host_node = node;
      have_host = true;
    }
    if (p.NumFComputeCores == 0) continue;
    std::vector<HsaMemoryProperties> banks(p.NumMemoryBanks);
    if (p.NumMemoryBanks != 0 && thunk.hsaKmtGetNodeMemoryProperties(node, p.NumMemoryBanks, banks.data()) != HSAKMT_STATUS_SUCCESS) banks.clear();
    NodeFacts facts{node, p, banks, xcc_count(p), xnack > 0};
    if (facts.xcc == 0) facts.xcc = assumed_xcc;
    Gpu gpu = gpu_of(facts);
    gpu.info.selector = fmt::format("kfd:{}", gpus.size());
    gpu.drm = Drm::open(p.DrmRenderMinor);
    if (!gpu.drm->name().empty()) gpu.info.name = gpu.drm->name();
    if (gpu.info.name.empty()) gpu.info.name = gpu.info.target;
    if (gpu.drm->counter_hz() != 0) gpu.info.timestamp_hz = gpu.drm->counter_hz();
    if (gpu.info.clock_mhz == 0) gpu.info.clock_mhz = gpu.drm->engine_mhz();
    gpus.push_back(std::move(gpu));
  }
  for (auto& gpu : gpus) gpu.host_node = host_node;
  return gpus;
}

} // namespace aql::detail::kfd
