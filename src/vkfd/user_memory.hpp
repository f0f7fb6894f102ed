#pragma once
// The program's own memory, reached as a kernel would: a bad pointer is an error (EFAULT), never a crash.
// Thread safety: no shared state.

#include <cstddef>
#include <cstdint>

namespace aql::vkfd {

// true: all `size` bytes were copied.
[[nodiscard]] bool copy_from_user(void* to, std::uint64_t user_address, std::size_t size) noexcept;
[[nodiscard]] bool copy_to_user(std::uint64_t user_address, const void* from, std::size_t size) noexcept;

// What the host's page tables allow for all of [address, address + size).
struct HostRange {
  bool mapped = false; // no hole
  bool readable = false;
  bool writable = false;
};
[[nodiscard]] HostRange host_range(std::uint64_t address, std::uint64_t size) noexcept;

} // namespace aql::vkfd
