#include "arg_spec.hpp"

#include <array>
#include <charconv>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <aql/numerics.hpp>

namespace aql::tool {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t size;
  bool is_float, is_signed;
};
constexpr std::array<TypeRow, 12> kTypes{{{"i8", 1, false, true}, {"u8", 1, false, false}, {"i16", 2, false, true}, {"u16", 2, false, false},
                                          {"i32", 4, false, true}, {"u32", 4, false, false}, {"i64", 8, false, true}, {"u64", 8, false, false},
                                          {"f16", 2, true, true}, {"bf16", 2, true, true}, {"f32", 4, true, true}, {"f64", 8, true, true}}};
const TypeRow& row(ScalarType type) { return kTypes[static_cast<std::size_t>(type)]; }

Error bad(std::string text) { return Error{Errc::invalid_argument, 0, std::move(text), "--arg"}; }

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<std::byte> low_bytes(std::uint64_t value, std::size_t size) {
  auto bytes = bytes_of(value); // little endian
  bytes.resize(size);
  return bytes;
}

std::vector<std::byte> float_bytes(ScalarType type, double value) {
  switch (type) {
  case ScalarType::f16: return low_bytes(num::encode<num::kF16>(value), 2);
  case ScalarType::bf16: return low_bytes(num::encode<num::kBf16>(value), 2);
  case ScalarType::f32: return bytes_of(static_cast<float>(value));
  default: return bytes_of(value);
  }
}

double read_float(ScalarType type, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, row(type).size);
  switch (type) {
  case ScalarType::f16: return static_cast<double>(num::decode<num::kF16>(static_cast<std::uint32_t>(bits)));
  case ScalarType::bf16: return static_cast<double>(num::decode<num::kBf16>(static_cast<std::uint32_t>(bits)));
  case ScalarType::f32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  default: return std::bit_cast<double>(bits);
  }
}

// splitmix64: small, well known, the same on every host.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Result<ArgSpec> parse_hex(std::string_view text) {
  ValueSpec value;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  if (text.empty() || text.size() % 2 != 0) return std::unexpected(bad(fmt::format("'hex:{}': give an even number of hexadecimal digits", text)));
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::unexpected(bad(fmt::format("'hex:{}': '{}' is no hexadecimal byte", text, text.substr(i, 2))));
    value.bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return value;
}

// Start of the next option, ":init=", ":out=" or ":mem=", from `from` on; paths may hold other colons.
std::size_t next_option(std::string_view text, std::size_t from) {
  std::size_t best = std::string_view::npos;
  for (const std::string_view key : {":init=", ":out=", ":mem="}) best = std::min(best, text.find(key, from));
  return best;
}

Result<void> parse_option(BufferSpec& spec, std::string_view key, std::string_view value, std::string_view whole) {
  if (key == "init") {
    if (value == "zero") spec.init = BufferSpec::Init::zero;
    else if (value == "iota") spec.init = BufferSpec::Init::iota;
    else if (value.starts_with("const=")) {
      spec.init = BufferSpec::Init::constant;
      spec.constant = value.substr(6);
      if (auto checked = parse_value(spec.type, spec.constant); !checked) return std::unexpected(checked.error());
    } else if (value.starts_with("rand=")) {
      spec.init = BufferSpec::Init::random;
      const auto seed = parse_unsigned(value.substr(5));
      if (!seed) return std::unexpected(bad(fmt::format("'{}': the seed '{}' is no number", whole, value.substr(5))));
      spec.seed = *seed;
    } else if (value.starts_with("@") && value.size() > 1) {
      spec.init = BufferSpec::Init::file;
      spec.in_file = value.substr(1);
    } else {
      return std::unexpected(bad(fmt::format("'{}': init={} is none of zero, iota, const=V, rand=SEED, @FILE", whole, value)));
    }
    return {};
  }
  if (key == "out") {
    if (value.empty()) return std::unexpected(bad(fmt::format("'{}': out= needs a file name, or - to print", whole)));
    spec.out = value;
    return {};
  }
  if (value == "coarse") spec.pool = PoolKind::device_coarse;
  else if (value == "fine") spec.pool = PoolKind::device_fine;
  else if (value == "host") spec.pool = PoolKind::host_fine;
  else return std::unexpected(bad(fmt::format("'{}': mem={} is none of coarse, fine, host", whole, value)));
  return {};
}

Result<ArgSpec> parse_buffer(std::string_view whole) {
  const auto text = whole.substr(4);
  const auto colon = text.find(':');
  const auto type_text = text.substr(0, colon);
  const auto type = parse_type(type_text);
  if (!type) return std::unexpected(bad(fmt::format("'{}': '{}' is no type; use i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64", whole, type_text)));
  if (colon == std::string_view::npos) return std::unexpected(bad(fmt::format("'{}': the number of elements is missing: buf:TYPE:COUNT", whole)));
  BufferSpec spec;
  spec.type = *type;
  auto option = next_option(text, colon + 1);
  const auto count_text = text.substr(colon + 1, option == std::string_view::npos ? option : option - colon - 1);
  const auto count = parse_unsigned(count_text);
  if (!count || *count == 0 || *count > (std::uint64_t{1} << 46)) {
    return std::unexpected(bad(fmt::format("'{}': '{}' is no number of elements (1 or more), or an option is misspelt (init=, out=, mem=)", whole, count_text)));
  }
  spec.count = *count;
  while (option != std::string_view::npos) {
    const auto equals = text.find('=', option);
    const auto next = next_option(text, equals);
    const auto key = text.substr(option + 1, equals - option - 1);
    const auto value = text.substr(equals + 1, next == std::string_view::npos ? next : next - equals - 1);
    if (auto ok = parse_option(spec, key, value, whole); !ok) return std::unexpected(ok.error());
    option = next;
  }
  return spec;
}

} // namespace

std::size_t size_of(ScalarType type) noexcept { return kTypes[static_cast<std::size_t>(type)].size; }
std::string_view name_of(ScalarType type) noexcept { return kTypes[static_cast<std::size_t>(type)].name; }

std::optional<ScalarType> parse_type(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == text) return static_cast<ScalarType>(i);
  }
  return std::nullopt;
}

Result<ArgSpec> parse_arg_spec(std::string_view text) {
  if (text == "null") return NullSpec{};
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto head = text.substr(0, colon);
    const auto rest = text.substr(colon + 1);
    if (head == "hex") return parse_hex(rest);
    if (head == "buf") return parse_buffer(text);
    if (head == "ref") {
      const auto index = parse_unsigned(rest);
      if (!index) return std::unexpected(bad(fmt::format("'{}': '{}' is no argument number", text, rest)));
      return RefSpec{static_cast<std::size_t>(*index)};
    }
    if (head == "lds") {
      const auto size = parse_unsigned(rest);
      if (!size || *size > 0xffffffffu) return std::unexpected(bad(fmt::format("'{}': '{}' is no number of bytes", text, rest)));
      return LocalSpec{static_cast<std::uint32_t>(*size)};
    }
    if (const auto type = parse_type(head)) {
      auto bytes = parse_value(*type, rest);
      if (!bytes) return std::unexpected(bytes.error());
      return ValueSpec{std::move(*bytes)};
    }
  }
  return std::unexpected(bad(fmt::format("'{}' is no argument; use TYPE:VALUE, hex:BYTES, null, lds:BYTES, ref:N or buf:TYPE:COUNT[:init=...][:out=...][:mem=...] with TYPE "
                                         "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64",
                                         text)));
}

Result<std::vector<std::byte>> parse_value(ScalarType type, std::string_view text) {
  const auto& t = row(type);
  if (t.is_float) {
    const std::string copy{text};
    char* end = nullptr;
    errno = 0;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != 0) return std::unexpected(bad(fmt::format("'{}' is no {} value", text, t.name)));
    return float_bytes(type, value);
  }
  const bool negative = text.starts_with('-');
  const auto magnitude = parse_unsigned(negative ? text.substr(1) : text);
  const unsigned bits = static_cast<unsigned>(t.size) * 8;
  const std::uint64_t top = bits == 64 ? ~0ull : (1ull << bits) - 1;
  const std::uint64_t limit = !t.is_signed ? top : negative ? (top >> 1) + 1 : text.starts_with("0x") ? top : top >> 1;
  if (!magnitude || (negative && !t.is_signed) || *magnitude > limit) {
    return std::unexpected(bad(fmt::format("'{}' is no {} value, or outside its range", text, t.name)));
  }
  return low_bytes(negative ? ~*magnitude + 1 : *magnitude, t.size);
}

Result<std::vector<std::byte>> initial_contents(const BufferSpec& spec) {
  const auto size = row(spec.type).size;
  std::vector<std::byte> bytes(spec.size_bytes());
  const auto put = [&](std::size_t i, const std::vector<std::byte>& element) { std::memcpy(bytes.data() + i * size, element.data(), size); };
  switch (spec.init) {
  case BufferSpec::Init::zero: break;
  case BufferSpec::Init::iota:
    for (std::size_t i = 0; i < spec.count; ++i) put(i, row(spec.type).is_float ? float_bytes(spec.type, static_cast<double>(i)) : low_bytes(i, size));
    break;
  case BufferSpec::Init::constant: {
    auto element = parse_value(spec.type, spec.constant);
    if (!element) return element;
    for (std::size_t i = 0; i < spec.count; ++i) put(i, *element);
    break;
  }
  case BufferSpec::Init::random: {
    std::uint64_t state = spec.seed;
    for (std::size_t i = 0; i < spec.count; ++i) {
      const auto r = next_random(state);
      put(i, row(spec.type).is_float ? float_bytes(spec.type, static_cast<double>(r >> 11) * 0x1p-52 - 1.0) : low_bytes(r, size));
    }
    break;
  }
  case BufferSpec::Init::file: {
    std::FILE* file = std::fopen(spec.in_file.c_str(), "rb");
    if (file == nullptr) return std::unexpected(Error{Errc::invalid_file, errno, fmt::format("'{}' cannot be opened", spec.in_file), "--arg"});
    const auto got = std::fread(bytes.data(), 1, bytes.size(), file);
    const bool more = std::fgetc(file) != EOF;
    std::fclose(file);
    if (got != bytes.size() || more) {
      return std::unexpected(Error{Errc::invalid_file, 0,
                                   fmt::format("'{}' has {} than the {} bytes of {} {} elements", spec.in_file, more ? "more" : "fewer", bytes.size(), spec.count, row(spec.type).name), "--arg"});
    }
    break;
  }
  }
  return bytes;
}

std::string format_element(ScalarType type, std::span<const std::byte> bytes, std::size_t index) {
  const auto& t = row(type);
  const auto* at = bytes.data() + index * t.size;
  if (t.is_float) return fmt::format("{:.9g}", read_float(type, at));
  std::uint64_t value = 0;
  std::memcpy(&value, at, t.size);
  if (!t.is_signed) return fmt::format("{}", value);
  const unsigned shift = 64 - static_cast<unsigned>(t.size) * 8;
  return fmt::format("{}", static_cast<std::int64_t>(value << shift) >> shift);
}

Result<Dim3> parse_dim3(std::string_view text) {
  std::array<std::uint32_t, 3> v{1, 1, 1};
  std::size_t n = 0, from = 0;
  while (true) {
    const auto end = text.find_first_of(",x", from == 0 && text.starts_with("0x") ? 2 : from);
    const auto part = text.substr(from, end == std::string_view::npos ? end : end - from);
    const auto value = parse_unsigned(part);
    if (n == 3 || !value || *value == 0 || *value > 0xffffffffu) {
      return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("'{}' is no size; use X, X,Y or X,Y,Z with numbers from 1 to 4294967295", text), "parse_dim3"});
    }
    v[n++] = static_cast<std::uint32_t>(*value);
    if (end == std::string_view::npos) break;
    from = end + 1;
  }
  return Dim3{v[0], v[1], v[2]};
}

} // namespace aql::tool
