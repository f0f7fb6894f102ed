#pragma once
// Small helpers to damage a good code object in a precise way.

#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include <aql/code_object.hpp>

#include "loader/elf.hpp"
#include "support/compile.hpp"

namespace aql::test {

template <class T>
void put(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
[[nodiscard]] T get(const Bytes& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Message of the refusal, or "accepted".
[[nodiscard]] inline std::string refusal(const Bytes& bytes) {
  const auto object = CodeObject::parse(bytes);
  return object ? "accepted" : object.error().message();
}

[[nodiscard]] inline std::string refusal(Bytes bytes, const std::function<void(Bytes&)>& damage) {
  damage(bytes);
  return refusal(bytes);
}

// File offset of program header `index`, or of the first one of this type.
[[nodiscard]] inline std::size_t program_header(std::size_t index) { return 64 + 56 * index; }
[[nodiscard]] inline std::optional<std::size_t> program_of_type(const Bytes& bytes, std::uint32_t type) {
  for (std::size_t i = 0; i < get<std::uint16_t>(bytes, 56); ++i) {
    if (get<std::uint32_t>(bytes, program_header(i)) == type) return program_header(i);
  }
  return std::nullopt;
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace aql::test
