#pragma once
// The entry points of hsa-runtime64 that this driver calls, found in the library at run time. Headers of ROCr 5.2.3 are enough to
// build; what newer runtimes add is asked for by number (NewerInfo) and may be missing.
// Thread safety: plain data, filled once.

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <string>

#include <aql/error.hpp>

namespace aql::detail::rocr {

// Every name is required: all of them are in the oldest runtime supported (ROCr 5.2.3, libhsa-runtime64.so.1).
#define AQL_HSA_ENTRY_POINTS(X)                                                                                                    \
  X(hsa_init)                                                                                                                      \
  X(hsa_shut_down)                                                                                                                 \
  X(hsa_status_string)                                                                                                             \
  X(hsa_system_get_info)                                                                                                           \
  X(hsa_system_get_major_extension_table)                                                                                          \
  X(hsa_iterate_agents)                                                                                                            \
  X(hsa_agent_get_info)                                                                                                            \
  X(hsa_agent_iterate_isas)                                                                                                        \
  X(hsa_isa_get_info_alt)                                                                                                          \
  X(hsa_queue_create)                                                                                                              \
  X(hsa_queue_destroy)                                                                                                             \
  X(hsa_queue_inactivate)                                                                                                          \
  X(hsa_signal_create)                                                                                                             \
  X(hsa_signal_destroy)                                                                                                            \
  X(hsa_signal_add_screlease)                                                                                                      \
  X(hsa_signal_wait_relaxed)                                                                                                       \
  X(hsa_memory_copy)                                                                                                               \
  X(hsa_code_object_reader_create_from_memory)                                                                                     \
  X(hsa_code_object_reader_destroy)                                                                                                \
  X(hsa_executable_create_alt)                                                                                                     \
  X(hsa_executable_destroy)                                                                                                        \
  X(hsa_executable_load_agent_code_object)                                                                                         \
  X(hsa_executable_agent_global_variable_define)                                                                                   \
  X(hsa_executable_freeze)                                                                                                         \
  X(hsa_executable_get_symbol_by_name)                                                                                             \
  X(hsa_executable_symbol_get_info)                                                                                                \
  X(hsa_amd_agent_iterate_memory_pools)                                                                                            \
  X(hsa_amd_memory_pool_get_info)                                                                                                  \
  X(hsa_amd_memory_pool_allocate)                                                                                                  \
  X(hsa_amd_memory_pool_free)                                                                                                      \
  X(hsa_amd_agent_memory_pool_get_info)                                                                                            \
  X(hsa_amd_agents_allow_access)                                                                                                   \
  X(hsa_amd_memory_lock)                                                                                                           \
  X(hsa_amd_memory_unlock)                                                                                                         \
  X(hsa_amd_memory_fill)                                                                                                           \
  X(hsa_amd_pointer_info)                                                                                                          \
  X(hsa_amd_signal_wait_any)                                                                                                       \
  X(hsa_amd_queue_set_priority)                                                                                                    \
  X(hsa_amd_queue_cu_set_mask)                                                                                                     \
  X(hsa_amd_profiling_set_profiler_enabled)                                                                                        \
  X(hsa_amd_profiling_convert_tick_to_system_domain)                                                                               \
  X(hsa_amd_register_system_event_handler)

struct HsaApi {
#define AQL_HSA_MEMBER(name) decltype(&::name) name = nullptr;
  AQL_HSA_ENTRY_POINTS(AQL_HSA_MEMBER)
#undef AQL_HSA_MEMBER
};

// Attributes of runtimes newer than the headers that we build with.
enum class NewerInfo : unsigned {
  system_ext_version_major = 0x207, // hsa_system_get_info, uint16_t
  system_ext_version_minor = 0x208,
  agent_timestamp_frequency = 0xA016, // hsa_agent_get_info, uint64_t
  agent_xcc_count = 0xA111,           // uint32_t
};
inline constexpr std::uint32_t kExecutablePoolFlag = 1u << 2; // hsa_amd_memory_pool_allocate, extension version 1.7 and later

// Loads the library, once; it is never unloaded (its threads would lose their code). Errors: unsupported, with the linker's words.
[[nodiscard]] Result<const HsaApi*> load_hsa();

// What a status means for us, with the runtime's own words.
[[nodiscard]] Errc errc_of(hsa_status_t status) noexcept;
[[nodiscard]] std::string describe(const HsaApi& api, hsa_status_t status);
[[nodiscard]] Error failure(const HsaApi& api, hsa_status_t status, std::string what, const char* where);

} // namespace aql::detail::rocr
