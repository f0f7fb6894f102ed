#include "loader/metadata.hpp"

#include <array>
#include <exception>
#include <limits>
#include <type_traits>
#include <utility>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "base/try.hpp"

namespace aql::loader {
namespace {

constexpr std::uint32_t kMaxDepth = 32; // the format needs about six

// First pass: shape only. Every element takes at least one byte, so all counts together cannot exceed the payload's size.
struct ShapeCheck : msgpack::null_visitor {
  explicit ShapeCheck(std::size_t bytes) : budget(bytes) {}
  bool open(std::uint64_t elements) {
    if (++depth > kMaxDepth) return fail("nests deeper than 32 levels");
    if (elements > budget) return fail("declares more elements than it has bytes");
    budget -= elements;
    return true;
  }
  bool fail(std::string_view why) {
    problem = why;
    return false;
  }
  bool start_array(std::uint32_t n) { return open(n); }
  bool start_map(std::uint32_t n) { return open(2 * std::uint64_t{n}); }
  bool end_array() {
    --depth;
    return true;
  }
  bool end_map() {
    --depth;
    return true;
  }
  void parse_error(std::size_t, std::size_t offset) {
    if (problem.empty()) problem = "is not MessagePack";
    error_offset = offset;
  }
  void insufficient_bytes(std::size_t, std::size_t offset) {
    if (problem.empty()) problem = "ends in the middle of a value";
    error_offset = offset;
  }
  std::uint64_t budget;
  std::uint32_t depth = 0;
  std::string_view problem;
  std::size_t error_offset = 0;
};

constexpr std::array<std::string_view, 31> kArgKinds{"by_value",
                                                     "global_buffer",
                                                     "dynamic_shared_pointer",
                                                     "sampler",
                                                     "image",
                                                     "pipe",
                                                     "queue",
                                                     "hidden_global_offset_x",
                                                     "hidden_global_offset_y",
                                                     "hidden_global_offset_z",
                                                     "hidden_none",
                                                     "hidden_printf_buffer",
                                                     "hidden_hostcall_buffer",
                                                     "hidden_default_queue",
                                                     "hidden_completion_action",
                                                     "hidden_multigrid_sync_arg",
                                                     "hidden_block_count_x",
                                                     "hidden_block_count_y",
                                                     "hidden_block_count_z",
                                                     "hidden_group_size_x",
                                                     "hidden_group_size_y",
                                                     "hidden_group_size_z",
                                                     "hidden_remainder_x",
                                                     "hidden_remainder_y",
                                                     "hidden_remainder_z",
                                                     "hidden_grid_dims",
                                                     "hidden_heap_v1",
                                                     "hidden_dynamic_lds_size",
                                                     "hidden_private_base",
                                                     "hidden_shared_base",
                                                     "hidden_queue_ptr"};
static_assert(kArgKinds.size() == static_cast<std::size_t>(ArgKind::other));

constexpr std::array<std::string_view, 7> kAddressSpaces{"", "private", "global", "constant", "local", "generic", "region"};
constexpr std::array<std::string_view, 4> kAccesses{"", "read_only", "write_only", "read_write"};

std::string_view type_name(const msgpack::object& o) noexcept {
  switch (o.type) {
  case msgpack::type::NIL: return "nil";
  case msgpack::type::BOOLEAN: return "a boolean";
  case msgpack::type::POSITIVE_INTEGER:
  case msgpack::type::NEGATIVE_INTEGER: return "an integer";
  case msgpack::type::FLOAT32:
  case msgpack::type::FLOAT64: return "a float";
  case msgpack::type::STR: return "a string";
  case msgpack::type::BIN: return "binary data";
  case msgpack::type::ARRAY: return "an array";
  case msgpack::type::MAP: return "a map";
  default: return "an extension";
  }
}

std::string_view text_of(const msgpack::object& o) noexcept { return {o.via.str.ptr, o.via.str.size}; }

// One map of the metadata with typed, named access.
class Map {
public:
  static Result<Map> of(const msgpack::object& o, std::string path) {
    if (o.type != msgpack::type::MAP) return bad_object("metadata: {} is {}, must be a map", path, type_name(o));
    return Map(o.via.map, std::move(path));
  }
  [[nodiscard]] const msgpack::object* find(std::string_view key) const noexcept {
    for (std::uint32_t i = 0; i < map_.size; ++i) {
      const auto& entry = map_.ptr[i];
      if (entry.key.type == msgpack::type::STR && text_of(entry.key) == key) return &entry.val;
    }
    return nullptr;
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Optional values: left alone when absent.
  Result<void> get(std::string_view key, std::string& out) const {
    const auto* value = find(key);
    if (value == nullptr) return {};
    if (value->type != msgpack::type::STR) return wrong(key, *value, "a string");
    out = text_of(*value);
    return {};
  }
  template <class Int>
    requires std::is_unsigned_v<Int>
  Result<void> get(std::string_view key, Int& out) const {
    const auto* value = find(key);
    if (value == nullptr) return {};
    if (value->type != msgpack::type::POSITIVE_INTEGER || value->via.u64 > std::numeric_limits<Int>::max()) {
      return wrong(key, *value, "an unsigned integer of fitting size");
    }
    out = static_cast<Int>(value->via.u64);
    return {};
  }
  // Booleans are written as true/false, but .uniform_work_group_size and others also as 0/1.
  Result<void> flag(std::string_view key, bool& out) const {
    const auto* value = find(key);
    if (value == nullptr) return {};
    if (value->type == msgpack::type::BOOLEAN)
      out = value->via.boolean;
    else if (value->type == msgpack::type::POSITIVE_INTEGER)
      out = value->via.u64 != 0;
    else
      return wrong(key, *value, "a boolean");
    return {};
  }
  Result<void> extent(std::string_view key, std::optional<Dim3>& out) const {
    const auto* value = find(key);
    if (value == nullptr) return {};
    if (value->type != msgpack::type::ARRAY || value->via.array.size != 3) return wrong(key, *value, "an array of three integers");
    std::uint32_t xyz[3] = {};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto& item = value->via.array.ptr[i];
      if (item.type != msgpack::type::POSITIVE_INTEGER || item.via.u64 > 0xffffffffU)
        return wrong(key, *value, "an array of three integers");
      xyz[i] = static_cast<std::uint32_t>(item.via.u64);
    }
    out = Dim3{xyz[0], xyz[1], xyz[2]};
    return {};
  }
  template <class T>
  Result<void> require(std::string_view key, T& out) const {
    if (find(key) == nullptr) return bad_object("metadata: {} has no {}", path_, key);
    return get(key, out);
  }
  [[nodiscard]] std::unexpected<Error> wrong(std::string_view key, const msgpack::object& value, std::string_view expected) const {
    return bad_object("metadata: {} of {} is {}, must be {}", key, path_, type_name(value), expected);
  }

private:
  Map(const msgpack::object_map& map, std::string path) : map_(map), path_(std::move(path)) {}
  msgpack::object_map map_;
  std::string path_;
};

template <class Enum, std::size_t n>
Result<void> enumerated(const Map& map, std::string_view key, const std::array<std::string_view, n>& names, Enum& out) {
  std::string text;
  AQL_CHECK(map.get(key, text));
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == text) {
      out = static_cast<Enum>(i);
      return {};
    }
  }
  return bad_object("metadata: {} of {} is \"{}\", which is not known", key, map.path(), printable(text));
}

Result<KernelArg> read_arg(const Map& map) {
  KernelArg arg;
  AQL_CHECK(map.get(".name", arg.name));
  AQL_CHECK(map.get(".type_name", arg.type_name));
  AQL_CHECK(map.require(".value_kind", arg.value_kind));
  AQL_CHECK(map.require(".offset", arg.offset));
  AQL_CHECK(map.require(".size", arg.size));
  AQL_CHECK(map.get(".pointee_align", arg.pointee_align));
  AQL_CHECK(enumerated(map, ".address_space", kAddressSpaces, arg.address_space));
  AQL_CHECK(enumerated(map, ".access", kAccesses, arg.access));
  AQL_CHECK(enumerated(map, ".actual_access", kAccesses, arg.actual_access));
  AQL_CHECK(map.flag(".is_const", arg.is_const));
  AQL_CHECK(map.flag(".is_restrict", arg.is_restrict));
  AQL_CHECK(map.flag(".is_volatile", arg.is_volatile));
  AQL_CHECK(map.flag(".is_pipe", arg.is_pipe));
  for (std::size_t i = 0; i < kArgKinds.size(); ++i) {
    if (kArgKinds[i] == arg.value_kind) arg.kind = static_cast<ArgKind>(i);
  }
  return arg;
}

Result<KernelInfo> read_kernel(const msgpack::object& o, std::uint32_t index) {
  AQL_TRY(const auto map, Map::of(o, fmt::format("kernel {}", index)));
  KernelInfo k;
  AQL_CHECK(map.require(".name", k.name));
  AQL_CHECK(map.require(".symbol", k.symbol));
  AQL_CHECK(map.get(".language", k.language));
  AQL_CHECK(map.require(".kernarg_segment_size", k.kernarg_size));
  AQL_CHECK(map.require(".kernarg_segment_align", k.kernarg_align));
  AQL_CHECK(map.require(".group_segment_fixed_size", k.group_segment_size));
  AQL_CHECK(map.require(".private_segment_fixed_size", k.private_segment_size));
  AQL_CHECK(map.require(".max_flat_workgroup_size", k.max_flat_workgroup_size));
  AQL_CHECK(map.require(".wavefront_size", k.wavefront_size));
  AQL_CHECK(map.require(".sgpr_count", k.sgpr_count));
  AQL_CHECK(map.require(".vgpr_count", k.vgpr_count));
  AQL_CHECK(map.get(".agpr_count", k.agpr_count));
  AQL_CHECK(map.get(".sgpr_spill_count", k.sgpr_spill_count));
  AQL_CHECK(map.get(".vgpr_spill_count", k.vgpr_spill_count));
  AQL_CHECK(map.flag(".uniform_work_group_size", k.uniform_work_group_size));
  AQL_CHECK(map.flag(".uses_dynamic_stack", k.uses_dynamic_stack));
  AQL_CHECK(map.flag(".workgroup_processor_mode", k.workgroup_processor_mode));
  AQL_CHECK(map.extent(".reqd_workgroup_size", k.required_workgroup_size));
  AQL_CHECK(map.extent(".workgroup_size_hint", k.workgroup_size_hint));
  AQL_CHECK(map.extent(".cluster_dims", k.cluster_dims));
  AQL_CHECK(map.get(".vec_type_hint", k.vec_type_hint));
  AQL_CHECK(map.get(".device_enqueue_symbol", k.device_enqueue_symbol));
  AQL_CHECK(map.get(".kind", k.kind));
  if (k.symbol.empty()) return bad_object("metadata: .symbol of kernel {} is empty", index);
  if (k.kernarg_align == 0 || (k.kernarg_align & (k.kernarg_align - 1)) != 0 || k.kernarg_align > (1ULL << 30)) {
    return bad_object("metadata: .kernarg_segment_align of {} is {}, must be a power of two up to 2^30", printable(k.symbol),
                      k.kernarg_align);
  }
  if (k.wavefront_size != 32 && k.wavefront_size != 64) {
    return bad_object("metadata: .wavefront_size of {} is {}, must be 32 or 64", printable(k.symbol), k.wavefront_size);
  }
  if (const auto* args = map.find(".args"); args != nullptr) {
    if (args->type != msgpack::type::ARRAY) return map.wrong(".args", *args, "an array");
    for (std::uint32_t i = 0; i < args->via.array.size; ++i) {
      AQL_TRY(const auto arg_map, Map::of(args->via.array.ptr[i], fmt::format("argument {} of {}", i, printable(k.symbol))));
      AQL_TRY(auto arg, read_arg(arg_map));
      if (!fits(arg.offset, arg.size, k.kernarg_size)) {
        return bad_object("metadata: {} ends at {} + {}, beyond the kernarg segment of {} bytes", arg_map.path(), arg.offset,
                          arg.size, k.kernarg_size);
      }
      k.args.push_back(std::move(arg));
    }
  }
  return k;
}

Result<Metadata> read_root(const msgpack::object& object) {
  AQL_TRY(const auto root, Map::of(object, "the root"));
  Metadata m;
  const auto* version = root.find("amdhsa.version");
  if (version == nullptr) return bad_object("metadata: the root has no amdhsa.version");
  if (version->type != msgpack::type::ARRAY || version->via.array.size < 2 ||
      version->via.array.ptr[0].type != msgpack::type::POSITIVE_INTEGER ||
      version->via.array.ptr[1].type != msgpack::type::POSITIVE_INTEGER) {
    return root.wrong("amdhsa.version", *version, "an array of two integers");
  }
  m.version_major = version->via.array.ptr[0].via.u64;
  m.version_minor = version->via.array.ptr[1].via.u64;
  if (m.version_major != 1) {
    return refuse(Errc::unsupported, "CodeObject::parse", "metadata version {}.{}, this build reads 1.x", m.version_major,
                  m.version_minor);
  }
  AQL_CHECK(root.get("amdhsa.target", m.target));
  if (const auto* formats = root.find("amdhsa.printf"); formats != nullptr) {
    if (formats->type != msgpack::type::ARRAY) return root.wrong("amdhsa.printf", *formats, "an array");
    for (std::uint32_t i = 0; i < formats->via.array.size; ++i) {
      const auto& format = formats->via.array.ptr[i];
      if (format.type != msgpack::type::STR) return root.wrong("amdhsa.printf", *formats, "an array of strings");
      m.printf_formats.emplace_back(text_of(format));
    }
  }
  if (const auto* kernels = root.find("amdhsa.kernels"); kernels != nullptr) {
    if (kernels->type != msgpack::type::ARRAY) return root.wrong("amdhsa.kernels", *kernels, "an array");
    for (std::uint32_t i = 0; i < kernels->via.array.size; ++i) {
      AQL_TRY(auto kernel, read_kernel(kernels->via.array.ptr[i], i));
      m.kernels.push_back(std::move(kernel));
    }
  }
  return m;
}

} // namespace

Result<Metadata> read_metadata(ByteSpan payload, std::uint64_t file_offset) {
  try {
    const auto* data = reinterpret_cast<const char*>(payload.data());
    ShapeCheck shape(payload.size());
    std::size_t end = 0;
    if (!msgpack::parse(data, payload.size(), end, shape) || !shape.problem.empty()) {
      return bad_object("the metadata note {} (file offset {:#x})", shape.problem.empty() ? "is not MessagePack" : shape.problem,
                        file_offset + shape.error_offset);
    }
    msgpack::zone zone;
    end = 0;
    bool referenced = false;
    const auto by_reference = [](msgpack::type::object_type, std::size_t, void*) { return true; }; // strings stay in the payload
    return read_root(msgpack::unpack(zone, data, payload.size(), end, referenced, by_reference));
  } catch (const std::exception& e) { // msgpack reports through exceptions; none may leave
    return bad_object("the metadata note at file offset {:#x} cannot be read: {}", file_offset, e.what());
  }
}

} // namespace aql::loader

namespace aql {

std::string_view to_string(ArgKind kind) noexcept {
  const auto i = static_cast<std::size_t>(kind);
  return i < loader::kArgKinds.size() ? loader::kArgKinds[i] : "other";
}

std::string_view to_string(AddressSpace space) noexcept {
  const auto i = static_cast<std::size_t>(space);
  return i < loader::kAddressSpaces.size() ? loader::kAddressSpaces[i] : "unknown";
}

std::string_view to_string(Access access) noexcept {
  const auto i = static_cast<std::size_t>(access);
  return i < loader::kAccesses.size() ? loader::kAccesses[i] : "unknown";
}

} // namespace aql
