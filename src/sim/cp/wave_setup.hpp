#pragma once
// Initial state of workgroups and waves (LLVM AMDGPUUsage, "Initial Kernel Execution State", "Kernel Prolog").
// Thread safety: a group is set up by the worker that will run it.

#include <cstdint>

#include "sim/cp/dispatch.hpp"

namespace aql::sim {

struct SetupOptions {
  bool poison = false;
  std::uint32_t xcc_count = 1;
  std::uint32_t cus_per_engine = 16; // shader engines inside an XCD
};

// Where in `user_sgpr` and from where user SGPRs come, for an AQL dispatch: fills user_sgpr, flat_scratch_sgpr, scratch_buffer.
// `kernarg` points at the kernel arguments to preload (code.preload_dwords + offset of them), or is null.
void fill_user_sgprs(Dispatch& dispatch, std::uint32_t private_bytes, const std::uint32_t* preload);

// Group number `index` in dispatch order: ids, size, waves, LDS. `group` keeps its buffers from earlier use.
void set_up_group(ResidentGroup& group, Dispatch& dispatch, std::uint64_t index, const SetupOptions& options);

} // namespace aql::sim
