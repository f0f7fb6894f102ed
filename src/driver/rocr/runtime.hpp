#pragma once
// The HSA runtime, initialised: its agents and what they say of themselves; the way of memory faults to the queues of an agent.
// Thread safety: constant after creation; fault routing locks.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <aql/device_info.hpp>
#include <aql/types.hpp>

#include "driver/kfd_claim.hpp"
#include "driver/rocr/hsa_api.hpp"

namespace aql::detail::rocr {

// Where one kind of memory comes from.
struct Pool {
  hsa_amd_memory_pool_t pool{};
  bool there = false;
  std::uint32_t flags = 0; // of hsa_amd_memory_pool_allocate
};

struct Agent {
  hsa_agent_t handle{};
  hsa_profile_t profile = HSA_PROFILE_BASE;
  DeviceInfo info;
  std::array<Pool, kPoolKinds> pools;
  std::string refusal; // why it cannot be used; empty: it can
};

class Runtime {
public:
  // hsa_init, agents. One runtime a process is shared as long as anybody holds it. Errors: unsupported.
  [[nodiscard]] static Result<std::shared_ptr<Runtime>> get();
  // A runtime of its own over any table of entry points (tests).
  [[nodiscard]] static Result<std::shared_ptr<Runtime>> create(const HsaApi& api);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const HsaApi& api() const noexcept { return api_; }
  [[nodiscard]] const std::vector<Agent>& gpus() const noexcept { return gpus_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; } // "1.1 (extensions 1.7)"
  // The runtime gives executable memory to whoever asks; else only its own loader can place code.
  [[nodiscard]] bool executable_pools() const noexcept { return executable_pools_; }
  [[nodiscard]] const hsa_ven_amd_loader_1_01_pfn_t* loader() const noexcept { return have_loader_ ? &loader_ : nullptr; }
  [[nodiscard]] std::uint64_t system_hz() const noexcept { return system_hz_; }
  [[nodiscard]] std::uint64_t system_time() const noexcept;

private:
  Runtime(const HsaApi& api, KfdClaim claim) : api_(api), claim_(std::move(claim)) {}
  [[nodiscard]] Result<void> start();
  void read_agent(hsa_agent_t handle);
  void read_cpu_pools(hsa_agent_t handle);
  void finish_agent(Agent& agent);

  const HsaApi& api_;
  KfdClaim claim_;
  bool initialised_ = false;
  bool executable_pools_ = false, have_loader_ = false;
  std::string version_;
  std::uint64_t system_hz_ = 1'000'000'000;
  hsa_ven_amd_loader_1_01_pfn_t loader_{};
  std::vector<Agent> gpus_;
  Pool host_fine_, host_coarse_, kernarg_;
};

// Who wants to hear of an agent's memory faults: called on a thread of the runtime. The text says where and why.
class FaultListener {
public:
  FaultListener(hsa_agent_t agent, std::function<void(const std::string&)> tell);
  ~FaultListener(); // a call that is under way may still end
  FaultListener(const FaultListener&) = delete;
  FaultListener& operator=(const FaultListener&) = delete;

private:
  std::uint64_t id_ = 0;
};

// The handler that Runtime registers (tests call it).
hsa_status_t on_system_event(const hsa_amd_event_t* event, void*);

} // namespace aql::detail::rocr
