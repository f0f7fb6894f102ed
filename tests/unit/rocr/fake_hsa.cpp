#include "unit/rocr/fake_hsa.hpp"

#include <cstdlib>
#include <ctime>
#include <thread>

namespace rocr_test {

FakeHsa* FakeHsa::current = nullptr;

namespace {

constexpr auto kOk = HSA_STATUS_SUCCESS;

FakeHsa& hsa() { return *FakeHsa::current; }

std::uint64_t boot_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

template <class T>
hsa_status_t put(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return kOk;
}

hsa_status_t system_get_info(hsa_system_info_t what, void* out) {
  switch (static_cast<unsigned>(what)) {
  case HSA_SYSTEM_INFO_VERSION_MAJOR:
  case HSA_SYSTEM_INFO_VERSION_MINOR: return put<std::uint16_t>(out, 1);
  case HSA_SYSTEM_INFO_TIMESTAMP: return put(out, boot_ns());
  case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY: return put<std::uint64_t>(out, 1'000'000'000);
  case HSA_AMD_SYSTEM_INFO_BUILD_VERSION: return put<const char*>(out, "fake");
  case 0x207: return hsa().ext_minor == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT : put<std::uint16_t>(out, 1);
  case 0x208: return hsa().ext_minor == 0 ? HSA_STATUS_ERROR_INVALID_ARGUMENT : put(out, hsa().ext_minor);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_status_t agent_get_info(hsa_agent_t handle, hsa_agent_info_t what, void* out) {
  const auto& agent = hsa().agents.at(handle.handle - 1);
  switch (static_cast<unsigned>(what)) {
  case HSA_AGENT_INFO_DEVICE: return put(out, agent.device);
  case HSA_AGENT_INFO_PROFILE: return put(out, HSA_PROFILE_BASE);
  case HSA_AGENT_INFO_FEATURE: return put<std::uint32_t>(out, HSA_AGENT_FEATURE_KERNEL_DISPATCH);
  case HSA_AGENT_INFO_NAME: std::strcpy(static_cast<char*>(out), agent.name.c_str()); return kOk;
  case HSA_AMD_AGENT_INFO_PRODUCT_NAME: std::strcpy(static_cast<char*>(out), "Fake Instinct"); return kOk;
  case HSA_AGENT_INFO_WAVEFRONT_SIZE: return put(out, agent.wave);
  case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT: return put<std::uint32_t>(out, 104);
  case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU: return put<std::uint32_t>(out, 4);
  case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU: return put<std::uint32_t>(out, 32);
  case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE: return put<std::uint32_t>(out, 1024);
  case HSA_AGENT_INFO_QUEUES_MAX: return put<std::uint32_t>(out, 128);
  case HSA_AGENT_INFO_QUEUE_MIN_SIZE: return put<std::uint32_t>(out, 64);
  case HSA_AGENT_INFO_QUEUE_MAX_SIZE: return put<std::uint32_t>(out, 131072);
  case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY: return put<std::uint32_t>(out, 1700);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

const FakePool& pool_of(hsa_amd_memory_pool_t pool) { return hsa().agents.at((pool.handle - 1) / 16).pools.at((pool.handle - 1) % 16); }

hsa_status_t pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* out) {
  const auto& p = pool_of(pool);
  switch (what) {
  case HSA_AMD_MEMORY_POOL_INFO_SEGMENT: return put(out, p.segment);
  case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS: return put(out, p.flags);
  case HSA_AMD_MEMORY_POOL_INFO_SIZE: return put(out, p.size_bytes);
  case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: return put(out, p.segment == HSA_AMD_SEGMENT_GLOBAL);
  default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, std::size_t size, std::uint32_t flags, void** out) {
  if (size > pool_of(pool).size_bytes) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  *out = std::aligned_alloc(4096, size);
  hsa().memory[*out] = size;
  hsa().allocation_flags.push_back(flags);
  return kOk;
}

hsa_status_t pool_free(void* address) {
  if (hsa().memory.erase(address) == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  std::free(address);
  return kOk;
}

hsa_status_t pointer_info(const void* address, hsa_amd_pointer_info_t* info, void* (*)(size_t), std::uint32_t*, hsa_agent_t**) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  info->type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  for (const auto& [base, size] : hsa().memory) {
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    if (at < begin || at >= begin + size) continue;
    info->type = HSA_EXT_POINTER_TYPE_HSA;
    info->agentBaseAddress = info->hostBaseAddress = base;
    info->sizeInBytes = size;
  }
  for (const auto& [device, range] : hsa().locked) {
    const auto begin = reinterpret_cast<std::uint64_t>(range.first);
    if ((at < begin || at >= begin + range.second) && (at < device || at >= device + range.second)) continue;
    info->type = HSA_EXT_POINTER_TYPE_LOCKED;
    info->agentBaseAddress = reinterpret_cast<void*>(device);
    info->hostBaseAddress = range.first;
    info->sizeInBytes = range.second;
  }
  return kOk;
}

hsa_status_t queue_create(hsa_agent_t, std::uint32_t size, hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, std::uint32_t, std::uint32_t, hsa_queue_t** out) {
  auto queue = std::make_unique<FakeQueue>();
  queue->amd = {};
  queue->doorbell = {};
  queue->ring.resize(size);
  queue->callback = callback;
  queue->data = data;
  queue->doorbell.kind = hsa().doorbell_kind;
  queue->doorbell.hardware_doorbell_ptr = &queue->doorbell_word;
  queue->amd.hsa_queue.type = type;
  queue->amd.hsa_queue.base_address = queue->ring.data();
  queue->amd.hsa_queue.size = size;
  queue->amd.hsa_queue.doorbell_signal.handle = reinterpret_cast<std::uint64_t>(&queue->doorbell);
  queue->amd.group_segment_aperture_base_hi = hsa().shared_aperture_hi;
  queue->amd.private_segment_aperture_base_hi = 0x20000;
  *out = &queue->amd.hsa_queue;
  hsa().queues.push_back(std::move(queue));
  return kOk;
}

hsa_status_t queue_destroy(hsa_queue_t*) {
  ++hsa().queues_destroyed;
  return kOk;
}

hsa_status_t signal_create(hsa_signal_value_t value, std::uint32_t, const hsa_agent_t*, hsa_signal_t* out) {
  auto signal = std::make_unique<amd_signal_t>();
  *signal = {};
  signal->kind = AMD_SIGNAL_KIND_USER;
  signal->value = value;
  out->handle = reinterpret_cast<std::uint64_t>(signal.get());
  hsa().signals.push_back(std::move(signal));
  return kOk;
}

hsa_signal_value_t signal_wait(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t value, std::uint64_t timeout, hsa_wait_state_t) {
  if (hsa().on_wait) hsa().on_wait();
  auto& object = *reinterpret_cast<amd_signal_t*>(signal.handle);
  const std::uint64_t end = boot_ns() + timeout;
  for (;;) {
    const auto now = std::atomic_ref{object.value}.load();
    if (now != value || boot_ns() >= end) return now;
    std::this_thread::yield();
  }
}

std::uint32_t signal_wait_any(std::uint32_t count, hsa_signal_t* signals, hsa_signal_condition_t* conditions, hsa_signal_value_t* values, std::uint64_t timeout,
                              hsa_wait_state_t, hsa_signal_value_t*) {
  ++hsa().waits_for_any;
  const std::uint64_t end = boot_ns() + timeout;
  do {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto now = std::atomic_ref{reinterpret_cast<amd_signal_t*>(signals[i].handle)->value}.load();
      const hsa_signal_condition_t c = conditions[i];
      if (c == HSA_SIGNAL_CONDITION_EQ ? now == values[i] : c == HSA_SIGNAL_CONDITION_NE ? now != values[i] : c == HSA_SIGNAL_CONDITION_LT ? now < values[i] : now >= values[i]) return i;
    }
    std::this_thread::yield();
  } while (boot_ns() < end);
  return count;
}

void signal_add(hsa_signal_t signal, hsa_signal_value_t value) {
  ++hsa().signal_adds;
  std::atomic_ref{reinterpret_cast<amd_signal_t*>(signal.handle)->value}.fetch_add(value);
}

hsa_status_t iterate_objects(hsa_executable_t executable, hsa_status_t (*callback)(hsa_executable_t, hsa_loaded_code_object_t, void*), void* data) { return callback(executable, {1}, data); }
hsa_status_t object_info(hsa_loaded_code_object_t, hsa_ven_amd_loader_loaded_code_object_info_t, void* out) { return put(out, hsa().load_delta); }

} // namespace

const rocr::HsaApi& FakeHsa::table() {
  static const rocr::HsaApi api = [] {
    rocr::HsaApi t;
    t.hsa_init = [] {
      if (hsa().init == kOk) ++hsa().running;
      return hsa().init;
    };
    t.hsa_shut_down = [] {
      if (FakeHsa::current != nullptr) --hsa().running;
      return kOk;
    };
    t.hsa_status_string = [](hsa_status_t, const char** text) { return *text = "words of the runtime", kOk; };
    t.hsa_system_get_info = &system_get_info;
    t.hsa_system_get_major_extension_table = [](std::uint16_t, std::uint16_t, size_t size, void* out) {
      hsa_ven_amd_loader_1_01_pfn_t loader{};
      loader.hsa_ven_amd_loader_executable_iterate_loaded_code_objects = &iterate_objects;
      loader.hsa_ven_amd_loader_loaded_code_object_get_info = &object_info;
      std::memcpy(out, &loader, std::min(size, sizeof loader));
      return kOk;
    };
    t.hsa_iterate_agents = [](hsa_status_t (*callback)(hsa_agent_t, void*), void* data) {
      for (std::size_t i = 0; i < hsa().agents.size(); ++i) callback({i + 1}, data);
      return kOk;
    };
    t.hsa_agent_get_info = &agent_get_info;
    t.hsa_agent_iterate_isas = [](hsa_agent_t agent, hsa_status_t (*callback)(hsa_isa_t, void*), void* data) { return callback({agent.handle}, data); };
    t.hsa_isa_get_info_alt = [](hsa_isa_t isa, hsa_isa_info_t what, void* out) {
      const std::string name = "amdgcn-amd-amdhsa--" + hsa().agents.at(isa.handle - 1).name + ":sramecc+:xnack-";
      if (what == HSA_ISA_INFO_NAME_LENGTH) return put(out, static_cast<std::uint32_t>(name.size() + 1));
      std::memcpy(out, name.c_str(), name.size() + 1);
      return kOk;
    };
    t.hsa_queue_create = &queue_create;
    t.hsa_queue_destroy = &queue_destroy;
    t.hsa_queue_inactivate = [](hsa_queue_t*) { return kOk; };
    t.hsa_signal_create = &signal_create;
    t.hsa_signal_destroy = [](hsa_signal_t) { return kOk; };
    t.hsa_signal_add_screlease = &signal_add;
    t.hsa_signal_wait_relaxed = &signal_wait;
    t.hsa_amd_signal_wait_any = &signal_wait_any;
    t.hsa_memory_copy = [](void* to, const void* from, size_t n) { return std::memcpy(to, from, n), kOk; };
    t.hsa_code_object_reader_create_from_memory = [](const void*, size_t, hsa_code_object_reader_t* out) { return ++hsa().readers, out->handle = 1, kOk; };
    t.hsa_code_object_reader_destroy = [](hsa_code_object_reader_t) { return --hsa().readers, kOk; };
    t.hsa_executable_create_alt = [](hsa_profile_t, hsa_default_float_rounding_mode_t, const char*, hsa_executable_t* out) { return ++hsa().executables, out->handle = 1, kOk; };
    t.hsa_executable_destroy = [](hsa_executable_t) { return --hsa().executables, kOk; };
    t.hsa_executable_load_agent_code_object = [](hsa_executable_t, hsa_agent_t, hsa_code_object_reader_t, const char*, hsa_loaded_code_object_t*) { return hsa().load; };
    t.hsa_executable_agent_global_variable_define = [](hsa_executable_t, hsa_agent_t, const char* name, void*) { return hsa().defined.emplace_back(name), kOk; };
    t.hsa_executable_freeze = [](hsa_executable_t, const char*) { return kOk; };
    t.hsa_executable_get_symbol_by_name = [](hsa_executable_t, const char*, const hsa_agent_t*, hsa_executable_symbol_t* out) { return out->handle = 1, kOk; };
    t.hsa_executable_symbol_get_info = [](hsa_executable_symbol_t, hsa_executable_symbol_info_t, void* out) { return put(out, hsa().kernel_object); };
    t.hsa_amd_agent_iterate_memory_pools = [](hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*), void* data) {
      for (std::size_t i = 0; i < hsa().agents.at(agent.handle - 1).pools.size(); ++i) callback({(agent.handle - 1) * 16 + i + 1}, data);
      return kOk;
    };
    t.hsa_amd_memory_pool_get_info = &pool_get_info;
    t.hsa_amd_memory_pool_allocate = &pool_allocate;
    t.hsa_amd_memory_pool_free = &pool_free;
    t.hsa_amd_agent_memory_pool_get_info = [](hsa_agent_t, hsa_amd_memory_pool_t, hsa_amd_agent_memory_pool_info_t, void* out) { return put(out, HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED); };
    t.hsa_amd_agents_allow_access = [](std::uint32_t, const hsa_agent_t*, const std::uint32_t*, const void*) { return kOk; };
    t.hsa_amd_memory_lock = [](void* host, size_t size, hsa_agent_t*, int, void** device) {
      *device = reinterpret_cast<void*>(0x7000000000ull + hsa().locked.size() * 0x10000000ull);
      hsa().locked[reinterpret_cast<std::uint64_t>(*device)] = {host, size};
      return kOk;
    };
    t.hsa_amd_memory_unlock = [](void* host) { return std::erase_if(hsa().locked, [host](const auto& e) { return e.second.first == host; }) == 1 ? kOk : HSA_STATUS_ERROR; };
    t.hsa_amd_memory_fill = [](void* to, std::uint32_t value, size_t count) { return std::fill_n(static_cast<std::uint32_t*>(to), count, value), kOk; };
    t.hsa_amd_pointer_info = &pointer_info;
    t.hsa_amd_queue_set_priority = [](hsa_queue_t*, hsa_amd_queue_priority_t) { return kOk; };
    t.hsa_amd_queue_cu_set_mask = [](const hsa_queue_t*, std::uint32_t, const std::uint32_t*) { return kOk; };
    t.hsa_amd_profiling_set_profiler_enabled = [](hsa_queue_t*, int on) { return hsa().profiled += on, kOk; };
    t.hsa_amd_profiling_convert_tick_to_system_domain = [](hsa_agent_t, std::uint64_t ticks, std::uint64_t* system) { return *system = ticks * 10 + 777, kOk; };
    t.hsa_amd_register_system_event_handler = [](hsa_amd_system_event_callback_t, void*) { return kOk; };
    return t;
  }();
  return api;
}

} // namespace rocr_test
