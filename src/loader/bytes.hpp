#pragma once
// Bounds-checked, unaligned-safe reading of little-endian bytes that may be hostile. Every refusal names what was wanted and
// the offset. Internal to the loader.
// Thread safety: values; no shared state.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <aql/error.hpp>

namespace aql::loader {

using ByteSpan = std::span<const std::byte>;

// A refusal of the loader: code, where, and a formatted sentence.
template <class... Args>
[[nodiscard]] std::unexpected<Error> refuse(Errc code, std::string_view where, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{code, 0, fmt::format(format, std::forward<Args>(args)...), where});
}

template <class... Args>
[[nodiscard]] std::unexpected<Error> bad_object(fmt::format_string<Args...> format, Args&&... args) {
  return refuse(Errc::invalid_code_object, "CodeObject::parse", format, std::forward<Args>(args)...);
}

// True if [offset, offset + size) lies in [0, limit). Never overflows.
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

[[nodiscard]] inline Result<ByteSpan> slice(ByteSpan bytes, std::uint64_t offset, std::uint64_t size, std::string_view what) {
  if (!fits(offset, size, bytes.size())) {
    return bad_object("{} ({} bytes at offset {:#x}) lies beyond the end ({:#x} bytes); is the file cut off?", what, size, offset,
                      bytes.size());
  }
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// Reads one value; the caller has checked the bounds.
template <class T>
[[nodiscard]] T load_unchecked(ByteSpan bytes, std::size_t offset) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class T>
[[nodiscard]] Result<T> load(ByteSpan bytes, std::uint64_t offset, std::string_view what) {
  if (!fits(offset, sizeof(T), bytes.size())) {
    return bad_object("{} ({} bytes at offset {:#x}) lies beyond the end ({:#x} bytes); is the file cut off?", what, sizeof(T),
                      offset, bytes.size());
  }
  return load_unchecked<T>(bytes, static_cast<std::size_t>(offset));
}

// A zero-terminated string inside a string table.
[[nodiscard]] inline Result<std::string_view> c_string(ByteSpan table, std::uint64_t offset, std::string_view what) {
  if (offset >= table.size())
    return bad_object("the name of {} starts at {:#x}, beyond its string table ({:#x} bytes)", what, offset, table.size());
  const auto* begin = reinterpret_cast<const char*>(table.data()) + offset;
  const auto room = table.size() - static_cast<std::size_t>(offset);
  const void* end = std::memchr(begin, 0, room);
  if (end == nullptr) return bad_object("the name of {} at {:#x} has no end inside its string table", what, offset);
  return std::string_view(begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin));
}

// Text from a file, safe for a terminal and of bounded length.
[[nodiscard]] inline std::string printable(std::string_view text, std::size_t limit = 160) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  if (text.size() > limit) out += "...";
  return out;
}

} // namespace aql::loader
