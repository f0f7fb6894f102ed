#pragma once
// Buffers: memory that a device can use, owned.
// Thread safety: a Buffer is used by one thread at a time; different buffers are independent.
// Lifetime: a Buffer keeps its device alive. Freeing one that a running kernel still uses is the caller's error: on the
// software GPU the kernel gets a memory fault that says "inside a freed buffer"; nothing crashes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>

#include <aql/device.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/types.hpp>

namespace aql {

namespace detail {
struct BufferRecord;
}

class AQL_API Buffer {
public:
  Buffer() noexcept;
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer(); // frees; a failure is logged

  [[nodiscard]] bool valid() const noexcept;              // false after a move, free() or default construction
  [[nodiscard]] std::size_t size_bytes() const noexcept;  // 0 if not valid
  [[nodiscard]] std::uint64_t device_address() const noexcept;
  [[nodiscard]] PoolKind kind() const noexcept;
  [[nodiscard]] bool pinned() const noexcept;
  [[nodiscard]] std::string_view label() const noexcept;
  // Host view; empty if the host cannot reach this memory.
  [[nodiscard]] std::span<std::byte> host() const noexcept;
  // Typed host view of whole elements; empty if the host cannot reach it.
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    const auto bytes = host();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // True if `device` may use this buffer.
  [[nodiscard]] bool usable_by(const Device& device) const noexcept;

  // Copies from / to host memory, at a byte offset. Errors: invalid_argument (range outside), invalid buffer.
  Result<void> write(const void* src, std::size_t size_bytes, std::size_t offset = 0) const;
  Result<void> read(void* dst, std::size_t size_bytes, std::size_t offset = 0) const;
  // Whole contiguous ranges: arrays, vectors, spans of trivially copyable elements.
  template <std::ranges::contiguous_range Range>
  Result<void> write(const Range& src, std::size_t offset = 0) const {
    const auto bytes = std::as_bytes(std::span{src});
    return write(bytes.data(), bytes.size(), offset);
  }
  template <std::ranges::contiguous_range Range>
  Result<void> read(Range&& dst, std::size_t offset = 0) const {
    const auto bytes = std::as_writable_bytes(std::span{dst});
    return read(bytes.data(), bytes.size(), offset);
  }
  // Sets every byte.
  Result<void> fill(std::byte value) const;

  // Frees now. Errors: invalid_argument ("freed before"), or the driver's.
  Result<void> free() noexcept;

private:
  friend class Device;
  explicit Buffer(std::unique_ptr<detail::BufferRecord> record) noexcept;
  std::unique_ptr<detail::BufferRecord> record_;
};

// Pointer-style allocation for callers that keep addresses, not owners. free() refuses what allocate_raw did not return:
// "freed before", "points 16 bytes into ...", "not an allocation of this device".
[[nodiscard]] AQL_API Result<std::uint64_t> allocate_raw(const Device& device, PoolKind kind, std::size_t size_bytes, std::string_view label = {});
AQL_API Result<void> free_raw(const Device& device, std::uint64_t address);

} // namespace aql
