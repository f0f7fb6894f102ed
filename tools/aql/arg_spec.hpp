#pragma once
// `aql run --arg SPEC`: kernel arguments in words.
//   i8|u8|i16|u16|i32|u32|i64|u64|f16|bf16|f32|f64:VALUE   by value
//   hex:BYTES                                              raw bytes by value, in memory order
//   null                                                   a null pointer
//   lds:BYTES                                              dynamic LDS for an OpenCL `local` pointer
//   ref:N                                                  the buffer of argument N again
//   buf:TYPE:COUNT[:init=zero|iota|const=V|rand=SEED|@FILE][:out=FILE|-][:mem=coarse|fine|host]
// Thread safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <aql/error.hpp>
#include <aql/types.hpp>

namespace aql::tool {

enum class ScalarType : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
[[nodiscard]] std::size_t size_of(ScalarType type) noexcept;
[[nodiscard]] std::string_view name_of(ScalarType type) noexcept;
[[nodiscard]] std::optional<ScalarType> parse_type(std::string_view text) noexcept;

struct ValueSpec { std::vector<std::byte> bytes; };
struct NullSpec {};
struct LocalSpec { std::uint32_t size_bytes = 0; };
struct RefSpec { std::size_t index = 0; };
struct BufferSpec {
  enum class Init : std::uint8_t { zero, iota, constant, random, file };
  ScalarType type = ScalarType::f32;
  std::size_t count = 0;
  Init init = Init::zero;
  std::string constant;     // text of V, converted to the type
  std::uint64_t seed = 0;
  std::string in_file;
  std::string out;          // empty: not shown; "-": printed; else a file
  PoolKind pool = PoolKind::device_coarse;

  [[nodiscard]] std::size_t size_bytes() const noexcept { return count * size_of(type); }
};
using ArgSpec = std::variant<ValueSpec, NullSpec, LocalSpec, RefSpec, BufferSpec>;

// Errors, invalid_argument: what was read, and what is expected there.
[[nodiscard]] Result<ArgSpec> parse_arg_spec(std::string_view text);

// One value of `type` from text, little-endian. Integers: decimal or 0x..., range-checked. Floats: as strtod, rounded to nearest.
[[nodiscard]] Result<std::vector<std::byte>> parse_value(ScalarType type, std::string_view text);
// Initial contents. Random floats are uniform in [-1, 1), random integers over the whole range; the same for a seed everywhere.
[[nodiscard]] Result<std::vector<std::byte>> initial_contents(const BufferSpec& spec);
// Element `index` as text.
[[nodiscard]] std::string format_element(ScalarType type, std::span<const std::byte> bytes, std::size_t index);
// "X[,Y[,Z]]" or "XxYxZ".
[[nodiscard]] Result<Dim3> parse_dim3(std::string_view text);

} // namespace aql::tool
