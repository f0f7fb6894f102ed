#pragma once
// Checks of a kernel dispatch packet before launch, with the error of each bad field (rule 10).
// Thread safety: pure functions.

#include <aql/abi/packet.hpp>

#include "sim/cp/hw_queue.hpp"
#include "sim/cp/occupancy.hpp"

namespace aql::sim {

// `setup` holds the number of dimensions in its low bits. Errc::ok: launch it.
[[nodiscard]] PacketError check_geometry(const DeviceProfile& profile, const abi::KernelDispatchPacket& packet);
// Code, registers and private memory; `needs` gets what a full group takes.
[[nodiscard]] PacketError check_resources(const DeviceProfile& profile, const abi::KernelDispatchPacket& packet,
                                          const KernelCode& code, GroupNeeds& needs);

} // namespace aql::sim
