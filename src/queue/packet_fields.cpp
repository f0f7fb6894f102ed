#include "queue/packet_fields.hpp"

namespace aql::detail {
namespace {
using K = FieldKind;

constexpr PacketField kInvalid[] = {{0, 2, "header", K::header}};
constexpr PacketField kDispatch[] = {
    {0, 2, "header", K::header},
    {2, 2, "setup", K::dimensions},
    {4, 2, "workgroup_size_x", K::items},
    {6, 2, "workgroup_size_y", K::items},
    {8, 2, "workgroup_size_z", K::items},
    {10, 2, "reserved0", K::zero},
    {12, 4, "grid_size_x", K::items},
    {16, 4, "grid_size_y", K::items},
    {20, 4, "grid_size_z", K::items},
    {24, 4, "private_segment_size", K::bytes},
    {28, 4, "group_segment_size", K::bytes},
    {32, 8, "kernel_object", K::address},
    {40, 8, "kernarg_address", K::address},
    {48, 8, "reserved2", K::zero},
    {56, 8, "completion_signal", K::signal},
};
constexpr PacketField kBarrier[] = {
    {0, 2, "header", K::header},        {2, 2, "reserved0", K::zero},       {4, 4, "reserved1", K::zero},
    {8, 8, "dep_signal[0]", K::signal}, {16, 8, "dep_signal[1]", K::signal}, {24, 8, "dep_signal[2]", K::signal},
    {32, 8, "dep_signal[3]", K::signal}, {40, 8, "dep_signal[4]", K::signal}, {48, 8, "reserved2", K::zero},
    {56, 8, "completion_signal", K::signal},
};
constexpr PacketField kAgent[] = {
    {0, 2, "header", K::header}, {2, 2, "type", K::number},   {4, 4, "reserved0", K::zero},
    {8, 8, "return_address", K::address}, {16, 8, "arg[0]", K::hex}, {24, 8, "arg[1]", K::hex},
    {32, 8, "arg[2]", K::hex},   {40, 8, "arg[3]", K::hex},   {48, 8, "reserved2", K::zero},
    {56, 8, "completion_signal", K::signal},
};
constexpr PacketField kBarrierValue[] = {
    {0, 2, "header", K::header},   {2, 1, "amd_format", K::format},   {3, 1, "reserved0", K::zero},
    {4, 4, "reserved1", K::zero},  {8, 8, "signal", K::signal},       {16, 8, "value", K::signed_number},
    {24, 8, "mask", K::hex},       {32, 4, "cond", K::condition},     {36, 4, "reserved2", K::zero},
    {40, 8, "reserved3", K::zero}, {48, 8, "reserved4", K::zero},     {56, 8, "completion_signal", K::signal},
};
constexpr PacketField kPm4Ib[] = {
    {0, 2, "header", K::header},          {2, 1, "amd_format", K::format},      {3, 1, "reserved0", K::zero},
    {4, 4, "ib_jump_cmd[0]", K::hex},     {8, 8, "ib address", K::address},     {16, 4, "ib_jump_cmd[3]", K::hex},
    {20, 4, "dw_cnt_remain", K::dwords},  {24, 4, "reserved1[0]", K::zero},     {28, 4, "reserved1[1]", K::zero},
    {32, 4, "reserved1[2]", K::zero},     {36, 4, "reserved1[3]", K::zero},     {40, 4, "reserved1[4]", K::zero},
    {44, 4, "reserved1[5]", K::zero},     {48, 4, "reserved1[6]", K::zero},     {52, 4, "reserved1[7]", K::zero},
    {56, 8, "completion_signal", K::signal},
};
constexpr PacketField kExtended[] = {
    {0, 2, "header", K::header},
    {2, 1, "amd_format", K::format},
    {3, 1, "setup", K::dimensions},
    {4, 2, "workgroup_size_x", K::items},
    {6, 2, "workgroup_size_y", K::items},
    {8, 2, "workgroup_size_z", K::items},
    {10, 2, "reserved0", K::zero},
    {12, 4, "cluster_count_x", K::number},
    {16, 2, "cluster_count_y", K::number},
    {18, 2, "cluster_count_z", K::number},
    {20, 1, "cluster_size_x", K::groups},
    {21, 1, "cluster_size_y", K::groups},
    {22, 1, "cluster_size_z", K::groups},
    {23, 1, "perf_hint", K::number},
    {24, 4, "private_segment_size", K::bytes},
    {28, 4, "group_segment_size", K::bytes},
    {32, 8, "kernel_object", K::address},
    {40, 8, "kernarg_address", K::address},
    {48, 8, "dep_signal", K::signal},
    {56, 8, "completion_signal", K::signal},
};

} // namespace

std::optional<PacketKind> packet_kind(std::uint32_t first_word) noexcept {
  switch (static_cast<abi::PacketType>(abi::HeaderType::decode(first_word))) {
  case abi::PacketType::invalid: return PacketKind::invalid;
  case abi::PacketType::kernel_dispatch: return PacketKind::dispatch;
  case abi::PacketType::barrier_and: return PacketKind::barrier_and;
  case abi::PacketType::barrier_or: return PacketKind::barrier_or;
  case abi::PacketType::agent_dispatch: return PacketKind::agent;
  case abi::PacketType::vendor_specific: break;
  default: return std::nullopt;
  }
  switch (static_cast<abi::VendorFormat>(first_word >> 16 & 0xFF)) {
  case abi::VendorFormat::pm4_indirect_buffer: return PacketKind::pm4_ib;
  case abi::VendorFormat::barrier_value: return PacketKind::barrier_value;
  case abi::VendorFormat::extended_dispatch: return PacketKind::extended_dispatch;
  }
  return std::nullopt;
}

PacketFormat packet_format(PacketKind kind) noexcept {
  switch (kind) {
  case PacketKind::invalid: break;
  case PacketKind::dispatch: return {"dispatch", kDispatch};
  case PacketKind::barrier_and: return {"barrier-and", kBarrier};
  case PacketKind::barrier_or: return {"barrier-or", kBarrier};
  case PacketKind::agent: return {"agent", kAgent};
  case PacketKind::barrier_value: return {"barrier-value", kBarrierValue};
  case PacketKind::pm4_ib: return {"pm4-ib", kPm4Ib};
  case PacketKind::extended_dispatch: return {"extended-dispatch", kExtended};
  }
  return {"invalid", kInvalid};
}

std::uint64_t field_value(const abi::Slot& slot, const PacketField& field) noexcept {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < field.size; ++i) {
    const unsigned at = field.offset + i;
    value |= static_cast<std::uint64_t>(slot.word[at / 4] >> (8 * (at % 4)) & 0xFF) << (8 * i);
  }
  return value;
}

} // namespace aql::detail
