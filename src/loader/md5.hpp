#pragma once
// MD5 (RFC 1321), because compressed bundles carry half of one as their check value. Not for anything that needs security.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace aql::loader {

[[nodiscard]] std::array<std::uint8_t, 16> md5(std::span<const std::byte> data) noexcept;

} // namespace aql::loader
