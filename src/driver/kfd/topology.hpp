#pragma once
// The GPUs of the KFD topology as devices, each with the reason where it cannot be used.
// Thread safety: functions and plain data.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <aql/device_info.hpp>

#include "driver/kfd/drm.hpp"
#include "driver/kfd/thunk.hpp"

namespace aql::detail::kfd {

struct Gpu {
  std::uint32_t node = 0, host_node = 0; // of the topology; host_node: whose memory is "host memory"
  DeviceInfo info;
  std::string refusal;            // why it cannot be used; empty: it can
  std::uint32_t shader_engines = 1; // of all XCCs
  std::uint32_t scratch_slots_per_cu = 32;
  std::uint32_t sdma_engines = 0;
  bool large_bar = false;         // the host can map all of its memory
  std::uint64_t hdp_flush = 0;    // host address of the register that flushes the host's writes into the card; 0: none
  std::shared_ptr<Drm> drm;
};

// What a node says of itself, without asking anybody: the part with decisions in it. `xcc` is the number of XCCs as far as it is
// known (0: unknown), `banks` are the node's memory banks.
struct NodeFacts {
  std::uint32_t node = 0;
  const HsaNodeProperties& properties;
  const std::vector<HsaMemoryProperties>& banks;
  std::uint32_t xcc = 0;
  bool xnack = false;
};
[[nodiscard]] Gpu gpu_of(const NodeFacts& facts);

// All GPUs in the order of their nodes: kfd:0, kfd:1, ... The partitions of one card (DPX, QPX, CPX) are nodes, so devices, of
// their own. Errors: the thunk's.
[[nodiscard]] Result<std::vector<Gpu>> read_topology(const Thunk& thunk);

} // namespace aql::detail::kfd
