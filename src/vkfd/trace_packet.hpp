#pragma once
// Packets in the trace file, each once, as the device is about to execute it.
// Thread safety: called on the device's processor thread.

#include <span>
#include <string>

#include "sim/cp/gpu.hpp"

namespace aql::vkfd {

class PacketTrace final : public sim::PacketObserver {
public:
  void packet(sim::QueueId queue, sim::PacketEngine engine, std::uint64_t index, std::span<const std::uint32_t> words) override;
};

// "queue 1 aql 0: dispatch grid ...", "queue 2 sdma 0x7f00...: COPY_LINEAR ...".
[[nodiscard]] std::string describe_packet(sim::PacketEngine engine, std::span<const std::uint32_t> words);

} // namespace aql::vkfd
