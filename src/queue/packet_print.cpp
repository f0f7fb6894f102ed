// to_line and to_hex_dump.

#include <fmt/format.h>

#include <aql/packet.hpp>

#include "queue/packet_fields.hpp"

namespace aql {

std::string_view to_string(Barrier barrier) noexcept { return barrier == Barrier::on ? "on" : "off"; }

std::string_view to_string(Scope scope) noexcept {
  switch (scope) {
  case Scope::none: return "none";
  case Scope::agent: return "agent";
  case Scope::system: return "system";
  }
  return "reserved";
}

std::string_view to_string(ValueCondition condition) noexcept {
  switch (condition) {
  case ValueCondition::eq: return "==";
  case ValueCondition::ne: return "!=";
  case ValueCondition::lt: return "<";
  case ValueCondition::gte: return ">=";
  }
  return "?";
}

namespace {
using detail::FieldKind;
using detail::PacketField;
using detail::PacketKind;

std::string triple(Dim3 d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

std::string tail(const abi::Slot& slot) {
  return fmt::format("barrier {} acquire {} release {} completion {:#x}", to_string(detail::barrier_of(slot.word[0])),
                     to_string(detail::acquire_of(slot.word[0])), to_string(detail::release_of(slot.word[0])), detail::get64(slot, 14));
}

std::string dependencies(const abi::Slot& slot) {
  std::string text;
  for (unsigned i = 0; i < abi::kBarrierDependencies; ++i)
    text += fmt::format("{}{:#x}", i == 0 ? "" : ",", detail::get64(slot, 2 + 2 * i));
  return text;
}

std::string header_meaning(std::uint32_t word) {
  const auto kind = detail::packet_kind(word);
  const auto type = abi::HeaderType::decode(word);
  std::string name = kind ? std::string{detail::packet_format(*kind).name} : std::string{"unknown"};
  if (type == static_cast<std::uint32_t>(abi::PacketType::vendor_specific)) name = "vendor";
  std::string text = fmt::format("type {} ({}), barrier {}, acquire {}, release {}", type, name, to_string(detail::barrier_of(word)),
                                 to_string(detail::acquire_of(word)), to_string(detail::release_of(word)));
  if (const auto reserved = abi::HeaderReserved::decode(word); reserved != 0) text += fmt::format(", bits 15:13 = {} must be 0", reserved);
  return text;
}

std::string_view vendor_name(std::uint64_t format) {
  switch (static_cast<abi::VendorFormat>(format)) {
  case abi::VendorFormat::pm4_indirect_buffer: return "PM4 indirect buffer";
  case abi::VendorFormat::barrier_value: return "barrier-value";
  case abi::VendorFormat::extended_dispatch: return "extended dispatch";
  }
  return "unknown";
}

std::string meaning(const abi::Slot& slot, const PacketField& field) {
  const std::uint64_t value = detail::field_value(slot, field);
  switch (field.kind) {
  case FieldKind::header: return header_meaning(slot.word[0]);
  case FieldKind::dimensions: {
    const auto dims = abi::SetupDimensions::decode(value);
    const auto rest = value & ~abi::SetupDimensions::kMax;
    return fmt::format("{} dimension{}{}", dims, dims == 1 ? "" : "s", rest == 0 ? "" : fmt::format(", other bits {:#x} must be 0", rest));
  }
  case FieldKind::format: return fmt::format("{} ({})", value, vendor_name(value));
  case FieldKind::number: return fmt::format("{}", value);
  case FieldKind::items: return fmt::format("{} work-item{}", value, value == 1 ? "" : "s");
  case FieldKind::groups: return fmt::format("{} workgroup{}", value, value == 1 ? "" : "s");
  case FieldKind::bytes: return fmt::format("{} bytes", value);
  case FieldKind::dwords: return fmt::format("{} dwords", value);
  case FieldKind::address: return value == 0 ? "null" : fmt::format("{:#x}", value);
  case FieldKind::signal: return value == 0 ? "no signal" : fmt::format("signal {:#x}", value);
  case FieldKind::condition: return fmt::format("{} ({})", value, to_string(static_cast<ValueCondition>(value)));
  case FieldKind::signed_number: return fmt::format("{}", static_cast<std::int64_t>(value));
  case FieldKind::hex: return fmt::format("{:#x}", value);
  case FieldKind::zero: return value == 0 ? "0" : fmt::format("{:#x}, must be 0", value);
  }
  return {};
}

std::string bytes_of(const abi::Slot& slot, unsigned offset, unsigned size) {
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    const unsigned at = offset + i;
    text += fmt::format("{}{:02x}", i == 0 ? "" : " ", slot.word[at / 4] >> (8 * (at % 4)) & 0xFF);
  }
  return text;
}

std::string unknown_name(std::uint32_t word) {
  const auto type = abi::HeaderType::decode(word);
  if (type == static_cast<std::uint32_t>(abi::PacketType::vendor_specific))
    return fmt::format("unknown vendor format {}", word >> 16 & 0xFF);
  return fmt::format("unknown type {}", type);
}

} // namespace

std::string to_line(const abi::Slot& slot) {
  const auto kind = detail::packet_kind(slot.word[0]);
  if (!kind) return fmt::format("{}: {}", unknown_name(slot.word[0]), bytes_of(slot, 0, 64));
  const std::string_view name = detail::packet_format(*kind).name;
  switch (*kind) {
  case PacketKind::invalid: return "invalid (not published)";
  case PacketKind::dispatch: {
    const auto p = DispatchPacket::decode(slot);
    return fmt::format("{} grid {} group {} dims {} kernel {:#x} kernarg {:#x} private {} lds {} {}", name, triple(p.grid), triple(p.group),
                       p.dimensions, p.kernel_object, p.kernarg_address, p.private_bytes, p.group_bytes, tail(slot));
  }
  case PacketKind::barrier_and:
  case PacketKind::barrier_or: return fmt::format("{} deps {} {}", name, dependencies(slot), tail(slot));
  case PacketKind::agent: {
    const auto p = AgentPacket::decode(slot);
    return fmt::format("{} type {} args {:#x},{:#x},{:#x},{:#x} return {:#x} {}", name, p.type, p.arguments[0], p.arguments[1],
                       p.arguments[2], p.arguments[3], p.return_address, tail(slot));
  }
  case PacketKind::barrier_value: {
    const auto p = BarrierValuePacket::decode(slot);
    return fmt::format("{} ({:#x} & {:#x}) {} {} {}", name, p.signal.value, static_cast<std::uint64_t>(p.mask), to_string(p.condition),
                       p.value, tail(slot));
  }
  case PacketKind::pm4_ib: {
    const auto p = Pm4IbPacket::decode(slot);
    return fmt::format("{} at {:#x} dwords {} {}", name, p.address, p.size_dwords, tail(slot));
  }
  case PacketKind::extended_dispatch: {
    const auto p = ExtendedDispatchPacket::decode(slot);
    return fmt::format("{} clusters {} of {} groups of {} dims {} kernel {:#x} kernarg {:#x} private {} lds {} dep {:#x} {}", name,
                       triple(p.cluster_count), triple(p.cluster_size), triple(p.group), p.dimensions, p.kernel_object,
                       p.kernarg_address, p.private_bytes, p.group_bytes, p.dependency.value, tail(slot));
  }
  }
  return {};
}

std::string to_hex_dump(const abi::Slot& slot) {
  constexpr std::string_view kRow = "{:>4}  {:<23}  {:<20}  {}\n";
  const auto kind = detail::packet_kind(slot.word[0]);
  std::string text = fmt::format("{} packet, 64 bytes\n", kind ? std::string{detail::packet_format(*kind).name} : unknown_name(slot.word[0]));
  text += fmt::format("{:>4}  {:<23}  {:<20}  {}\n", "at", "bytes", "field", "meaning");
  unsigned covered = 0;
  if (kind) {
    for (const PacketField& field : detail::packet_format(*kind).fields) {
      text += fmt::format(fmt::runtime(kRow), field.offset, bytes_of(slot, field.offset, field.size), field.name, meaning(slot, field));
      covered = static_cast<unsigned>(field.offset) + field.size;
    }
  } else {
    text += fmt::format(fmt::runtime(kRow), 0, bytes_of(slot, 0, 2), "header", header_meaning(slot.word[0]));
    covered = 2;
  }
  while (covered < abi::kPacketSize) { // an unknown or unpublished packet: the bytes alone
    const unsigned size = covered % 8 == 0 ? 8 : 8 - covered % 8;
    text += fmt::format(fmt::runtime(kRow), covered, bytes_of(slot, covered, size), "", "");
    covered += size;
  }
  return text;
}

} // namespace aql
