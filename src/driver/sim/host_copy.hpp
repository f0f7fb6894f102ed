#pragma once
// Copies between device memory and arbitrary host memory that survive a wrong host address.

#include <cstddef>
#include <cstdint>

#include <aql/error.hpp>

#include "sim/mem/address_map.hpp"

namespace aql::detail {

// dst and src are device addresses of `map`, or host addresses. Errors: invalid_argument naming the bad range.
Result<void> host_copy(sim::AddressMap& map, std::uint64_t dst, std::uint64_t src, std::size_t size_bytes);

} // namespace aql::detail
