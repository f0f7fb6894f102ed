#pragma once
// The packets that make code which was just written visible to instruction fetch, for drivers whose loader is ours.
// Thread safety: functions; one thread at a time for a ring.

#include <cstddef>
#include <cstdint>

#include <aql/types.hpp>

#include "driver/driver.hpp"

namespace aql::detail {

// A PM4 buffer: ACQUIRE_MEM over all addresses for the instruction and scalar caches, and for L2, which may hold lines of what was
// at the addresses before.
inline constexpr std::size_t kInvalidateDwords = 7;
void write_invalidation(std::uint32_t (&words)[kInvalidateDwords]) noexcept;

// Publishes, at the write index `write`, the packet that runs the buffer and one behind it that takes `done` down by one, and rings.
// Returns the new write index. The ring has room for two packets and no other producer.
[[nodiscard]] std::uint64_t submit_invalidation(const QueueView& view, std::uint64_t write, std::uint64_t buffer, std::uint64_t done) noexcept;

} // namespace aql::detail
