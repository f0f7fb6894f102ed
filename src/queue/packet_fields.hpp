#pragma once
// Every field of every packet format, once: offset, size, name and what kind of value it holds. Printing, reserved-field checks
// and the raw validation walk these tables.
// Thread safety: constant data.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <aql/abi/packet.hpp>

namespace aql::detail {

enum class FieldKind : std::uint8_t { header, dimensions, format, number, items, groups, bytes, dwords, address, signal, condition, signed_number, hex, zero };

struct PacketField {
  std::uint8_t offset, size;
  std::string_view name;
  FieldKind kind;
};

struct PacketFormat {
  std::string_view name; // "dispatch"
  std::span<const PacketField> fields;
};

// What a slot's type and vendor format say it is.
enum class PacketKind : std::uint8_t { invalid, dispatch, barrier_and, barrier_or, agent, barrier_value, pm4_ib, extended_dispatch };

// Nothing if type or vendor format is unknown.
[[nodiscard]] std::optional<PacketKind> packet_kind(std::uint32_t first_word) noexcept;
[[nodiscard]] PacketFormat packet_format(PacketKind kind) noexcept;

// The little-endian value of a field of up to 8 bytes.
[[nodiscard]] std::uint64_t field_value(const abi::Slot& slot, const PacketField& field) noexcept;

} // namespace aql::detail
