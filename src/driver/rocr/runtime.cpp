#include "driver/rocr/runtime.hpp"

#include <map>
#include <mutex>

#include <fmt/format.h>

#include <aql/target_id.hpp>

#include "base/log.hpp"

namespace aql::detail::rocr {
namespace {

// --- memory faults. The handler may run until the process ends, so what it uses is never destroyed.

struct Listeners {
  std::mutex mutex;
  std::uint64_t next = 1;
  struct Entry {
    hsa_agent_t agent;
    std::shared_ptr<std::function<void(const std::string&)>> tell;
  };
  std::map<std::uint64_t, Entry> entries;
};

Listeners& listeners() {
  static auto* const instance = new Listeners;
  return *instance;
}

std::string reasons(std::uint32_t mask) {
  static constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, "page not present"}, {HSA_AMD_MEMORY_FAULT_READ_ONLY, "write to a read-only page"},
      {HSA_AMD_MEMORY_FAULT_NX, "execution of a page that is not executable"},
      {HSA_AMD_MEMORY_FAULT_HOST_ONLY, "page of the host only"},   {HSA_AMD_MEMORY_FAULT_DRAMECC, "uncorrectable memory error"},
      {HSA_AMD_MEMORY_FAULT_IMPRECISE, "address is imprecise"},
  };
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((mask & bit) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  }
  return text.empty() ? fmt::format("reason {:#x}", mask) : text;
}

template <class T>
T system_info(const HsaApi& api, NewerInfo what, T otherwise) {
  T value{};
  return api.hsa_system_get_info(static_cast<hsa_system_info_t>(what), &value) == HSA_STATUS_SUCCESS ? value : otherwise;
}

template <class T, class Attribute>
T agent_info(const HsaApi& api, hsa_agent_t agent, Attribute what, T otherwise) {
  T value{};
  return api.hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(what), &value) == HSA_STATUS_SUCCESS ? value : otherwise;
}

// AMD's attributes lie outside the range of HSA's enumeration; the function takes them all the same.
template <class Attribute>
void agent_text(const HsaApi& api, hsa_agent_t agent, Attribute what, char* out) {
  (void)api.hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(what), out);
}

struct PoolFacts {
  hsa_amd_memory_pool_t pool{};
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
  std::uint32_t flags = 0;
  std::size_t size_bytes = 0;
  bool allocates = false;
};

std::vector<PoolFacts> pools_of(const HsaApi& api, hsa_agent_t agent) {
  struct Collect {
    const HsaApi& api;
    std::vector<PoolFacts> list;
  } collect{api, {}};
  (void)api.hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* data) {
        auto& c = *static_cast<Collect*>(data);
        PoolFacts facts{.pool = pool};
        (void)c.api.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &facts.segment);
        (void)c.api.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &facts.size_bytes);
        if (facts.segment == HSA_AMD_SEGMENT_GLOBAL) {
          (void)c.api.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &facts.flags);
          (void)c.api.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &facts.allocates);
        }
        c.list.push_back(facts);
        return HSA_STATUS_SUCCESS;
      },
      &collect);
  return std::move(collect.list);
}

void take(Pool& place, hsa_amd_memory_pool_t pool, std::uint32_t flags = 0) {
  if (!place.there) place = {pool, true, flags};
}

constexpr std::size_t index_of(PoolKind kind) { return static_cast<std::size_t>(kind); }

// gfx9's flat apertures as the kernel driver places them; HSA does not tell them. Checked against each queue that is created.
constexpr std::uint64_t kSharedAperture = 0x1000000000000ull, kPrivateAperture = 0x2000000000000ull;

} // namespace

FaultListener::FaultListener(hsa_agent_t agent, std::function<void(const std::string&)> tell) {
  auto& all = listeners();
  const std::lock_guard lock{all.mutex};
  id_ = all.next++;
  all.entries[id_] = {agent, std::make_shared<std::function<void(const std::string&)>>(std::move(tell))};
}

FaultListener::~FaultListener() {
  auto& all = listeners();
  const std::lock_guard lock{all.mutex};
  all.entries.erase(id_);
}

hsa_status_t on_system_event(const hsa_amd_event_t* event, void*) {
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR; // somebody else's
  const auto& fault = event->memory_fault;
  const std::string text = fmt::format("memory access fault at {:#x}: {}; the hardware does not say which queue of the device it was", fault.virtual_address, reasons(fault.fault_reason_mask));
  auto& all = listeners();
  std::vector<std::shared_ptr<std::function<void(const std::string&)>>> told;
  {
    const std::lock_guard lock{all.mutex};
    for (const auto& [id, entry] : all.entries) {
      if (entry.agent.handle == fault.agent.handle) told.push_back(entry.tell);
    }
  }
  for (const auto& tell : told) (*tell)(text);
  return told.empty() ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS; // nobody of ours: the runtime's own report and abort
}

Result<std::shared_ptr<Runtime>> Runtime::get() {
  static std::mutex mutex;
  static std::weak_ptr<Runtime> current;
  const std::lock_guard lock{mutex};
  if (auto runtime = current.lock()) return runtime;
  auto api = load_hsa();
  if (!api) return std::unexpected(api.error());
  auto runtime = create(**api);
  if (runtime) current = *runtime;
  return runtime;
}

Result<std::shared_ptr<Runtime>> Runtime::create(const HsaApi& api) {
  auto claim = KfdClaim::take("rocr");
  if (!claim) return std::unexpected(claim.error());
  std::shared_ptr<Runtime> runtime{new Runtime{api, std::move(*claim)}};
  if (auto started = runtime->start(); !started) return std::unexpected(started.error());
  return runtime;
}

Runtime::~Runtime() {
  if (!initialised_) return;
  if (const auto status = api_.hsa_shut_down(); status != HSA_STATUS_SUCCESS) log::error(failure(api_, status, "hsa_shut_down failed", "rocr").message());
}

Result<void> Runtime::start() {
  if (const auto status = api_.hsa_init(); status != HSA_STATUS_SUCCESS) {
    Error error = failure(api_, status, "the HSA runtime does not start", "hsa_init");
    error.code = Errc::unsupported;
    return std::unexpected(std::move(error));
  }
  initialised_ = true;
  std::uint16_t major = 0, minor = 0;
  (void)api_.hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  (void)api_.hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  const auto ext_major = system_info<std::uint16_t>(api_, NewerInfo::system_ext_version_major, 0);
  const auto ext_minor = system_info<std::uint16_t>(api_, NewerInfo::system_ext_version_minor, 0);
  executable_pools_ = ext_major > 1 || (ext_major == 1 && ext_minor >= 7);
  const char* build = nullptr;
  if (api_.hsa_system_get_info(HSA_AMD_SYSTEM_INFO_BUILD_VERSION, &build) != HSA_STATUS_SUCCESS || build == nullptr) build = "unknown build";
  version_ = fmt::format("HSA {}.{}, AMD extensions {}.{}, {}", major, minor, ext_major, ext_minor, build);
  (void)api_.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &system_hz_);
  have_loader_ = api_.hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader_, &loader_) == HSA_STATUS_SUCCESS &&
                 loader_.hsa_ven_amd_loader_executable_iterate_loaded_code_objects != nullptr && loader_.hsa_ven_amd_loader_loaded_code_object_get_info != nullptr;
  if (const auto status = api_.hsa_amd_register_system_event_handler(&on_system_event, nullptr); status != HSA_STATUS_SUCCESS)
    log::warn(fmt::format("memory faults of the GPU will end the process: another handler is registered ({})", describe(api_, status)));

  // CPU agents first: a GPU's host memory comes from theirs.
  std::vector<hsa_agent_t> agents;
  const auto status = api_.hsa_iterate_agents(
      [](hsa_agent_t agent, void* data) {
        static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
        return HSA_STATUS_SUCCESS;
      },
      &agents);
  if (status != HSA_STATUS_SUCCESS) return std::unexpected(failure(api_, status, "the HSA runtime lists no agents", "hsa_iterate_agents"));
  for (const auto agent : agents) {
    if (agent_info(api_, agent, HSA_AGENT_INFO_DEVICE, HSA_DEVICE_TYPE_DSP) == HSA_DEVICE_TYPE_CPU) read_cpu_pools(agent);
  }
  for (const auto agent : agents) {
    if (agent_info(api_, agent, HSA_AGENT_INFO_DEVICE, HSA_DEVICE_TYPE_DSP) == HSA_DEVICE_TYPE_GPU) read_agent(agent);
  }
  return {};
}

void Runtime::read_cpu_pools(hsa_agent_t handle) {
  for (const auto& facts : pools_of(api_, handle)) {
    if (!facts.allocates) continue;
    if ((facts.flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) take(kernarg_, facts.pool);
    else if ((facts.flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) take(host_fine_, facts.pool);
    if ((facts.flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) take(host_coarse_, facts.pool);
  }
}

void Runtime::read_agent(hsa_agent_t handle) {
  Agent agent;
  agent.handle = handle;
  auto& info = agent.info;
  info.driver = "rocr";
  info.selector = fmt::format("rocr:{}", gpus_.size());
  agent.profile = agent_info(api_, handle, HSA_AGENT_INFO_PROFILE, HSA_PROFILE_BASE);
  char name[64] = {}, product[64] = {};
  agent_text(api_, handle, HSA_AGENT_INFO_NAME, name);
  agent_text(api_, handle, HSA_AMD_AGENT_INFO_PRODUCT_NAME, product);
  name[sizeof name - 1] = product[sizeof product - 1] = '\0';
  info.name = product[0] != '\0' ? product : name;
  info.target = name;
  // The first ISA is the full one; newer runtimes list generic ones after it.
  struct Isa {
    const HsaApi& api;
    std::string name;
  } isa{api_, {}};
  (void)api_.hsa_agent_iterate_isas(
      handle,
      [](hsa_isa_t each, void* data) {
        auto& out = *static_cast<Isa*>(data);
        std::uint32_t length = 0;
        if (out.api.hsa_isa_get_info_alt(each, HSA_ISA_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS || length == 0 || length > 1024) return HSA_STATUS_ERROR;
        std::string text(length, '\0');
        if (out.api.hsa_isa_get_info_alt(each, HSA_ISA_INFO_NAME, text.data()) != HSA_STATUS_SUCCESS) return HSA_STATUS_ERROR;
        out.name = text.c_str();
        return HSA_STATUS_INFO_BREAK;
      },
      &isa);
  info.isa = isa.name;
  info.xnack = isa.name.find(":xnack+") != std::string::npos;
  info.sramecc = isa.name.find(":sramecc+") != std::string::npos;
  info.wavefront_size = agent_info<std::uint32_t>(api_, handle, HSA_AGENT_INFO_WAVEFRONT_SIZE, 0);
  info.compute_units = agent_info<std::uint32_t>(api_, handle, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, 0);
  info.simds_per_cu = agent_info<std::uint32_t>(api_, handle, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, 4);
  if (info.simds_per_cu != 0) info.waves_per_simd = agent_info<std::uint32_t>(api_, handle, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, 32) / info.simds_per_cu;
  info.xcc_count = agent_info<std::uint32_t>(api_, handle, NewerInfo::agent_xcc_count, 1);
  info.max_workgroup_size = agent_info<std::uint32_t>(api_, handle, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, 1024);
  info.max_queues = agent_info<std::uint32_t>(api_, handle, HSA_AGENT_INFO_QUEUES_MAX, 128);
  info.min_queue_packets = agent_info<std::uint32_t>(api_, handle, HSA_AGENT_INFO_QUEUE_MIN_SIZE, 64);
  info.max_queue_packets = agent_info<std::uint32_t>(api_, handle, HSA_AGENT_INFO_QUEUE_MAX_SIZE, 131072);
  info.clock_mhz = agent_info<std::uint32_t>(api_, handle, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, 0);
  info.timestamp_hz = agent_info<std::uint64_t>(api_, handle, NewerInfo::agent_timestamp_frequency, 0);
  info.shared_aperture = kSharedAperture;
  info.private_aperture = kPrivateAperture;
  info.host_access_device_memory = false; // never used, even with a large BAR: see docs/drivers.md
  for (const auto& facts : pools_of(api_, handle)) {
    if (facts.segment == HSA_AMD_SEGMENT_GROUP && facts.size_bytes != 0) info.lds_bytes = static_cast<std::uint32_t>(facts.size_bytes);
    if (!facts.allocates) continue;
    if ((facts.flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) {
      info.memory_bytes = std::max<std::uint64_t>(info.memory_bytes, facts.size_bytes);
      take(agent.pools[index_of(PoolKind::device_coarse)], facts.pool);
      if (executable_pools_) take(agent.pools[index_of(PoolKind::executable)], facts.pool, kExecutablePoolFlag);
    } else if ((facts.flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) {
      take(agent.pools[index_of(PoolKind::device_fine)], facts.pool);
    }
  }
  if (info.lds_bytes > 65536) info.lds_granule = 1280; // gfx950
  finish_agent(agent);
  gpus_.push_back(std::move(agent));
}

void Runtime::finish_agent(Agent& agent) {
  auto& info = agent.info;
  agent.pools[index_of(PoolKind::host_fine)] = host_fine_.there ? host_fine_ : kernarg_;
  agent.pools[index_of(PoolKind::host_coarse)] = host_coarse_;
  agent.pools[index_of(PoolKind::kernarg)] = kernarg_;
  // Older runtimes tell the rate of the clock only by converting ticks: take the rate that fits best of those that exist.
  if (info.timestamp_hz == 0) {
    constexpr std::uint64_t kProbe = 1'000'000'000;
    std::uint64_t early = 0, late = 0;
    info.timestamp_hz = 100'000'000;
    if (api_.hsa_amd_profiling_convert_tick_to_system_domain(agent.handle, kProbe, &early) == HSA_STATUS_SUCCESS &&
        api_.hsa_amd_profiling_convert_tick_to_system_domain(agent.handle, 2 * kProbe, &late) == HSA_STATUS_SUCCESS && late > early) {
      const double hz = static_cast<double>(kProbe) * static_cast<double>(system_hz_) / static_cast<double>(late - early);
      info.timestamp_hz = static_cast<std::uint64_t>(hz);
      for (const double known : {25e6, 27e6, 100e6}) {
        if (hz > known * 0.99 && hz < known * 1.01) info.timestamp_hz = static_cast<std::uint64_t>(known);
      }
    }
  }
  const auto features = agent_info<std::uint32_t>(api_, agent.handle, HSA_AGENT_INFO_FEATURE, 0);
  if ((features & HSA_AGENT_FEATURE_KERNEL_DISPATCH) == 0) agent.refusal = "it takes no kernel dispatches";
  else if (info.wavefront_size != 64) agent.refusal = fmt::format("{} runs waves of {}; aql is made for the gfx9 data-centre GPUs with waves of 64", info.target, info.wavefront_size);
  else if (!TargetId::parse(info.isa)) agent.refusal = fmt::format("its ISA '{}' cannot be read", info.isa);
  else if (!agent.pools[index_of(PoolKind::device_coarse)].there) agent.refusal = "it has no memory pool that allocates";
  else if (!kernarg_.there) agent.refusal = "the host has no kernarg memory pool";
  else if (!executable_pools_ && loader() == nullptr) agent.refusal = "the runtime neither gives executable memory nor has the AMD loader extension";
}

std::uint64_t Runtime::system_time() const noexcept {
  std::uint64_t now = 0;
  (void)api_.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now);
  return now;
}

} // namespace aql::detail::rocr
