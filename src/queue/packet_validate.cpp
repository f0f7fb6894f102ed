// validate and parse.

#include <cstring>

#include <fmt/format.h>

#include <aql/packet.hpp>

#include "queue/packet_fields.hpp"

namespace aql {
namespace {
using detail::PacketKind;
using Messages = std::vector<std::string>;

void check_scopes(Messages& out, Scope acquire, Scope release) {
  if (static_cast<unsigned>(acquire) > 2) out.push_back(fmt::format("acquire = {}: scopes are none 0, agent 1, system 2", static_cast<unsigned>(acquire)));
  if (static_cast<unsigned>(release) > 2) out.push_back(fmt::format("release = {}: scopes are none 0, agent 1, system 2", static_cast<unsigned>(release)));
}

void check_signal(Messages& out, std::string_view name, SignalHandle handle) {
  if (handle.value % 64 != 0) out.push_back(fmt::format("{} = {:#x} is no signal handle: those are multiples of 64", name, handle.value));
}

void check_sizes(Messages& out, std::uint32_t private_bytes, std::uint32_t group_bytes, const PacketLimits& limits) {
  if (private_bytes > limits.max_private_bytes)
    out.push_back(fmt::format("private_bytes = {}: a work-item has at most {}", private_bytes, limits.max_private_bytes));
  if (group_bytes > limits.max_group_bytes)
    out.push_back(fmt::format("group_bytes = {}: a workgroup has at most {} of LDS", group_bytes, limits.max_group_bytes));
}

void check_addresses(Messages& out, std::uint64_t kernel_object, std::uint64_t kernarg_address) {
  if (kernel_object == 0) out.push_back("kernel_object is null: set it to the device address of a kernel descriptor");
  else if (kernel_object % 64 != 0) out.push_back(fmt::format("kernel_object = {:#x}: kernel descriptors are 64-byte aligned", kernel_object));
  if (kernarg_address % 16 != 0) out.push_back(fmt::format("kernarg_address = {:#x}: arguments are at least 16-byte aligned", kernarg_address));
}

// group: 16-bit dimensions, none 0, product within the limit.
void check_group(Messages& out, Dim3 group, const PacketLimits& limits) {
  const auto one = [&](char axis, std::uint32_t size) {
    if (size == 0) out.push_back(fmt::format("group.{} = 0: unused dimensions are 1", axis));
    else if (size > 0xFFFF) out.push_back(fmt::format("group.{} = {} does not fit the packet's 16 bits", axis, size));
  };
  one('x', group.x), one('y', group.y), one('z', group.z);
  const auto clamped = [](std::uint32_t size) { return static_cast<std::uint64_t>(std::min(size, 0x10000u)); }; // the product cannot wrap
  const std::uint64_t items = clamped(group.x) * clamped(group.y) * clamped(group.z);
  if (items > limits.max_workgroup_size)
    out.push_back(fmt::format("group = {}x{}x{}: a workgroup has at most {} work-items", group.x, group.y, group.z, limits.max_workgroup_size));
}

// dimensions 1 to 3 (0 = derive), and nothing in a dimension that is not used.
void check_dimensions(Messages& out, std::uint32_t dimensions, std::string_view what, Dim3 extent, std::string_view other_name, Dim3 other) {
  if (dimensions > 3) {
    out.push_back(fmt::format("dimensions = {}: 1 to 3, or 0 to derive it", dimensions));
    return;
  }
  if (dimensions == 0) return;
  const auto unused = [&](char axis, std::uint32_t a, std::uint32_t b) {
    if (a > 1) out.push_back(fmt::format("{}.{} = {} but dimensions = {}: unused dimensions are 1", what, axis, a, dimensions));
    if (b > 1) out.push_back(fmt::format("{}.{} = {} but dimensions = {}: unused dimensions are 1", other_name, axis, b, dimensions));
  };
  if (dimensions < 3) unused('z', extent.z, other.z);
  if (dimensions < 2) unused('y', extent.y, other.y);
}

// The barrier packets' own checks, for values and raw slots alike.
Messages check_barrier(std::span<const SignalHandle> dependencies, bool any_of, Scope acquire, Scope release, SignalHandle completion) {
  Messages out;
  bool all_null = true;
  for (std::size_t i = 0; i < dependencies.size(); ++i) {
    check_signal(out, fmt::format("dependencies[{}]", i), dependencies[i]);
    all_null = all_null && dependencies[i].value == 0;
  }
  if (any_of && all_null) out.push_back("dependencies are all null: a barrier-OR with no signal never completes");
  check_scopes(out, acquire, release);
  check_signal(out, "completion", completion);
  return out;
}

void append(Messages& out, Messages more) {
  for (auto& message : more) out.push_back(std::move(message));
}

} // namespace

std::vector<std::string> validate(const DispatchPacket& p, const PacketLimits& limits) {
  Messages out;
  check_dimensions(out, p.dimensions, "grid", p.grid, "group", p.group);
  check_group(out, p.group, limits);
  const auto axis = [&](char name, std::uint32_t grid, std::uint32_t group) {
    if (grid == 0) out.push_back(fmt::format("grid.{} = 0: unused dimensions are 1", name));
    else if (grid < group) out.push_back(fmt::format("grid.{} = {} is smaller than group.{} = {}: the grid counts work-items, not groups", name, grid, name, group));
  };
  axis('x', p.grid.x, p.group.x), axis('y', p.grid.y, p.group.y), axis('z', p.grid.z, p.group.z);
  check_sizes(out, p.private_bytes, p.group_bytes, limits);
  check_addresses(out, p.kernel_object, p.kernarg_address);
  check_scopes(out, p.acquire, p.release);
  check_signal(out, "completion", p.completion);
  return out;
}

std::vector<std::string> validate(const BarrierAndPacket& p, const PacketLimits&) {
  return check_barrier(p.dependencies, false, p.acquire, p.release, p.completion);
}

std::vector<std::string> validate(const BarrierOrPacket& p, const PacketLimits&) {
  return check_barrier(p.dependencies, true, p.acquire, p.release, p.completion);
}

std::vector<std::string> validate(const AgentPacket& p, const PacketLimits&) {
  Messages out;
  check_scopes(out, p.acquire, p.release);
  check_signal(out, "completion", p.completion);
  return out;
}

std::vector<std::string> validate(const BarrierValuePacket& p, const PacketLimits&) {
  Messages out;
  check_signal(out, "signal", p.signal);
  if (static_cast<std::uint32_t>(p.condition) > 3)
    out.push_back(fmt::format("condition = {}: == 0, != 1, < 2, >= 3", static_cast<std::uint32_t>(p.condition)));
  check_scopes(out, p.acquire, p.release);
  check_signal(out, "completion", p.completion);
  return out;
}

std::vector<std::string> validate(const Pm4IbPacket& p, const PacketLimits&) {
  Messages out;
  if (p.address == 0) out.push_back("address is null: set it to the device address of the PM4 words");
  else if (p.address % 4 != 0) out.push_back(fmt::format("address = {:#x}: PM4 words are 4-byte aligned", p.address));
  if (p.size_dwords == 0 || p.size_dwords > Pm4IbPacket::kSizeMask)
    out.push_back(fmt::format("size_dwords = {}: 1 to {}", p.size_dwords, Pm4IbPacket::kSizeMask));
  if ((p.control & Pm4IbPacket::kSizeMask) != 0)
    out.push_back(fmt::format("control = {:#x}: only bits 31:20 are control bits", p.control));
  check_scopes(out, p.acquire, p.release);
  check_signal(out, "completion", p.completion);
  return out;
}

std::vector<std::string> validate(const ExtendedDispatchPacket& p, const PacketLimits& limits) {
  Messages out;
  if (!limits.extended_dispatch) out.push_back("extended dispatch: this device has no clusters of workgroups; use a plain dispatch");
  check_dimensions(out, p.dimensions, "cluster_count", p.cluster_count, "group", p.group);
  check_group(out, p.group, limits);
  const auto axis = [&](char name, std::uint32_t count, std::uint32_t most, std::uint32_t size) {
    if (count == 0 || count > most) out.push_back(fmt::format("cluster_count.{} = {}: 1 to {}", name, count, most));
    if (size == 0 || size > 0xFF) out.push_back(fmt::format("cluster_size.{} = {}: 1 to 255", name, size));
  };
  axis('x', p.cluster_count.x, ~0u, p.cluster_size.x);
  axis('y', p.cluster_count.y, 0xFFFF, p.cluster_size.y);
  axis('z', p.cluster_count.z, 0xFFFF, p.cluster_size.z);
  if (p.cluster_size == Dim3{1, 1, 1}) out.push_back("cluster_size = 1x1x1: a cluster of one group is a plain dispatch");
  check_sizes(out, p.private_bytes, p.group_bytes, limits);
  check_addresses(out, p.kernel_object, p.kernarg_address);
  check_signal(out, "dependency", p.dependency);
  check_scopes(out, p.acquire, p.release);
  check_signal(out, "completion", p.completion);
  return out;
}

std::vector<std::string> validate(const AnyPacket& packet, const PacketLimits& limits) {
  return std::visit([&](const auto& p) { return validate(p, limits); }, packet);
}

std::vector<std::string> validate(const abi::Slot& slot, const PacketLimits& limits) {
  auto packet = parse(slot);
  if (!packet) return {packet.error().detail};
  Messages out;
  const PacketKind kind = *detail::packet_kind(slot.word[0]);
  if (const auto bits = abi::HeaderReserved::decode(slot.word[0]); bits != 0)
    out.push_back(fmt::format("header bits 15:13 = {} must be 0", bits));
  for (const auto& field : detail::packet_format(kind).fields) {
    const std::uint64_t value = detail::field_value(slot, field);
    if (field.kind == detail::FieldKind::zero && value != 0)
      out.push_back(fmt::format("{} at byte {} = {:#x} must be 0", field.name, field.offset, value));
    if (field.kind == detail::FieldKind::dimensions) {
      if ((value & ~abi::SetupDimensions::kMax) != 0) out.push_back(fmt::format("setup = {:#x}: only bits 1:0 (dimensions) may be set", value));
      if (abi::SetupDimensions::decode(value) == 0) out.push_back("dimensions = 0: a packet in memory says 1, 2 or 3");
    }
  }
  if (kind == PacketKind::pm4_ib) {
    if (slot.word[1] != Pm4IbPacket::kIndirectBuffer)
      out.push_back(fmt::format("ib_jump_cmd[0] = {:#x}: expected the PM4 header INDIRECT_BUFFER {:#x}", slot.word[1], Pm4IbPacket::kIndirectBuffer));
    if (slot.word[5] != Pm4IbPacket::kRemaining)
      out.push_back(fmt::format("dw_cnt_remain = {:#x}: expected {:#x}", slot.word[5], Pm4IbPacket::kRemaining));
  }
  append(out, validate(*packet, limits));
  return out;
}

Result<AnyPacket> parse(const abi::Slot& slot) {
  const auto refuse = [](std::string why) {
    return std::unexpected(Error{Errc::invalid_packet_format, 0, std::move(why), "parse"});
  };
  const auto kind = detail::packet_kind(slot.word[0]);
  if (!kind) {
    const auto type = abi::HeaderType::decode(slot.word[0]);
    if (type == static_cast<std::uint32_t>(abi::PacketType::vendor_specific))
      return refuse(fmt::format("vendor format {} is unknown: 1 PM4 indirect buffer, 2 barrier-value and 3 extended dispatch are known",
                                slot.word[0] >> 16 & 0xFF));
    return refuse(fmt::format("packet type {} is unknown: 0 vendor, 2 dispatch, 3 barrier-AND, 4 agent and 5 barrier-OR are known", type));
  }
  switch (*kind) {
  case PacketKind::dispatch: return DispatchPacket::decode(slot);
  case PacketKind::barrier_and: return BarrierAndPacket::decode(slot);
  case PacketKind::barrier_or: return BarrierOrPacket::decode(slot);
  case PacketKind::agent: return AgentPacket::decode(slot);
  case PacketKind::barrier_value: return BarrierValuePacket::decode(slot);
  case PacketKind::pm4_ib: return Pm4IbPacket::decode(slot);
  case PacketKind::extended_dispatch: return ExtendedDispatchPacket::decode(slot);
  case PacketKind::invalid: break;
  }
  return refuse("packet type 1 is INVALID: the slot is empty or its packet was not published yet");
}

Result<AnyPacket> parse(std::span<const std::byte, abi::kPacketSize> bytes) {
  abi::Slot slot;
  std::memcpy(&slot, bytes.data(), sizeof slot);
  return parse(slot);
}

} // namespace aql
