#pragma once
// Typed buffer elements: data formats (how many components of how many bits) and number formats (what they mean).
// CDNA3 ISA guide, "Buffer Data" and the tables of the MTBUF format. Names list components from the highest bits down, so that
// X is always in the lowest. Thread safety: pure.

#include <array>
#include <cstdint>

namespace aql::sim::mem {

enum class NumberFormat : std::uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, snorm_nz, float_ };

struct DataFormat {
  std::uint8_t bytes = 0;      // of an element; 0: invalid
  std::uint8_t components = 0;
  std::uint8_t bits[4] = {};   // X, Y, Z, W
};

// Format number 0-15; 0 and 15 are invalid.
[[nodiscard]] const DataFormat& data_format(unsigned number) noexcept;

// Integer results are integers, all others f32 bits.
[[nodiscard]] constexpr bool is_integer(NumberFormat n) noexcept { return n == NumberFormat::uint || n == NumberFormat::sint; }

// One component: its bits in memory -> the register's 32 bits, and back. Stores clamp normalised values, round them to nearest
// even, truncate scaled ones and keep the low bits of integers. 32-bit components are never converted. Float formats with fewer
// than 16 bits are the unsigned 11- and 10-bit ones, with one NaN; other widths have no float: taken as integers.
[[nodiscard]] std::uint32_t decode_component(std::uint32_t raw, unsigned bits, NumberFormat number) noexcept;
[[nodiscard]] std::uint32_t encode_component(std::uint32_t value, unsigned bits, NumberFormat number) noexcept;

// A whole element of up to 16 bytes, as dwords. Components that the format lacks read as 0 and are not stored.
[[nodiscard]] std::array<std::uint32_t, 4> decode_element(const std::array<std::uint32_t, 4>& memory, const DataFormat& format, NumberFormat number) noexcept;
[[nodiscard]] std::array<std::uint32_t, 4> encode_element(const std::array<std::uint32_t, 4>& values, const DataFormat& format, NumberFormat number) noexcept;

// 16-bit registers of the d16 forms <-> the 32 bits above: f16 for everything that is not an integer.
[[nodiscard]] std::uint32_t to_d16(std::uint32_t value, NumberFormat number) noexcept;
[[nodiscard]] std::uint32_t from_d16(std::uint32_t half, NumberFormat number) noexcept;

} // namespace aql::sim::mem
