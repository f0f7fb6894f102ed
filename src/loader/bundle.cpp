#include <aql/bundle.hpp>

#include <algorithm>

#include "base/try.hpp"
#include "loader/decompress.hpp"

namespace aql {

using loader::ByteSpan;
using loader::printable;
using loader::refuse;

struct Bundle::State {
  std::unique_ptr<std::byte[]> owned;
  Compression compression = Compression::none;
  std::uint32_t header_version = 0;
  std::uint64_t size = 0;
  std::vector<BundleEntry> entries;
};

namespace {

constexpr std::string_view kWhere = "Bundle::open";
constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";

bool is_plain_bundle(ByteSpan bytes) noexcept {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

// "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" -> kind "hipv4" and the target.
void split_id(BundleEntry& entry) {
  const std::string_view id = entry.id;
  const auto dash = id.find('-');
  entry.kind = id.substr(0, dash);
  if (dash == std::string_view::npos || entry.kind == "host") return;
  if (auto target = TargetId::parse(id.substr(dash + 1))) entry.target = std::move(*target);
}

Result<std::vector<BundleEntry>> read_entries(ByteSpan bytes) {
  AQL_TRY(const auto count, loader::load<std::uint64_t>(bytes, kMagic.size(), "the entry count of the offload bundle"));
  if (count > bytes.size() / 24) {
    return refuse(Errc::invalid_code_object, kWhere, "offload bundle counts {} entries (offset 24), more than {} bytes can hold",
                  count, bytes.size());
  }
  std::vector<BundleEntry> entries;
  std::uint64_t at = kMagic.size() + 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    BundleEntry entry;
    const auto what = fmt::format("entry {} of the offload bundle", i);
    AQL_TRY(entry.offset, loader::load<std::uint64_t>(bytes, at, what));
    AQL_TRY(const auto size, loader::load<std::uint64_t>(bytes, at + 8, what));
    AQL_TRY(const auto id_size, loader::load<std::uint64_t>(bytes, at + 16, what));
    AQL_TRY(const auto id, loader::slice(bytes, at + 24, id_size, fmt::format("the id of entry {}", i)));
    if (!id.empty()) entry.id.assign(reinterpret_cast<const char*>(id.data()), id.size());
    if (!loader::fits(entry.offset, size, bytes.size())) {
      return refuse(
          Errc::invalid_code_object, kWhere,
          "offload bundle entry {} (\"{}\"): {} bytes at offset {:#x} lie beyond the end ({:#x} bytes); is the file cut off?", i,
          printable(entry.id), size, entry.offset, bytes.size());
    }
    entry.bytes = bytes.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(size));
    split_id(entry);
    at += 24 + id_size;
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Higher is better: the processor itself before its family; a stated feature before an open one.
int rank(const TargetId& code) noexcept {
  const auto stated = [](FeatureState s) { return s == FeatureState::on || s == FeatureState::off ? 1 : 0; };
  return (code.is_generic() ? 0 : 4) + stated(code.xnack) + stated(code.sramecc);
}

} // namespace

std::string_view to_string(Compression compression) noexcept {
  switch (compression) {
  case Compression::none: return "none";
  case Compression::zlib: return "zlib";
  case Compression::zstd: return "zstd";
  }
  return "unknown";
}

bool Bundle::recognizes(std::span<const std::byte> bytes) noexcept {
  return is_plain_bundle(bytes) || loader::is_compressed_bundle(bytes);
}

Result<Bundle> Bundle::open(std::span<const std::byte> bytes, const BundleOptions& options) {
  auto state = std::make_shared<State>();
  if (loader::is_compressed_bundle(bytes)) {
    AQL_TRY(const auto header, loader::read_compressed_header(bytes));
    AQL_TRY(auto raw, loader::decompress(bytes, header, options.max_decompressed_bytes));
    state->compression = header.method;
    state->header_version = header.version;
    state->owned = std::move(raw.data);
    bytes = {state->owned.get(), raw.size};
  }
  if (!is_plain_bundle(bytes)) {
    return refuse(Errc::invalid_code_object, kWhere, "not an offload bundle: does not start with {}{}", kMagic,
                  state->header_version == 0 ? " or CCOB" : "");
  }
  state->size = bytes.size();
  AQL_TRY(state->entries, read_entries(bytes));
  return Bundle(std::move(state));
}

std::span<const BundleEntry> Bundle::entries() const noexcept { return state_->entries; }
Compression Bundle::compression() const noexcept { return state_->compression; }
std::uint32_t Bundle::header_version() const noexcept { return state_->header_version; }
std::uint64_t Bundle::decompressed_size() const noexcept { return state_->size; }

Result<const BundleEntry*> Bundle::select(const TargetId& device) const {
  const BundleEntry* best = nullptr;
  std::string reasons;
  for (const auto& entry : state_->entries) {
    std::string reason;
    if (!entry.target)
      reason = entry.kind == "host" ? "host code" : "not a target this build knows";
    else if (auto conflict = incompatibility(*entry.target, device))
      reason = std::move(*conflict);
    else if (entry.bytes.empty())
      reason = "the entry is empty";
    if (reason.empty()) {
      if (best == nullptr || rank(*entry.target) > rank(*best->target)) best = &entry;
    } else if (reasons.size() < 2000) {
      reasons += fmt::format("\n  {}: {}", printable(entry.id), reason);
    }
  }
  if (best != nullptr) return best;
  if (reasons.empty()) reasons = " it has no entries";
  return refuse(Errc::invalid_isa, "Bundle::select", "the offload bundle has no code for {}:{}", device.short_name(), reasons);
}

Result<CodeObject> read_code_object(std::span<const std::byte> bytes, const TargetId& device, const BundleOptions& options) {
  std::optional<Bundle> bundle; // keeps decompressed bytes until parse has copied them
  if (Bundle::recognizes(bytes)) {
    AQL_TRY(bundle, Bundle::open(bytes, options));
    AQL_TRY(const BundleEntry* const entry, bundle->select(device));
    bytes = entry->bytes;
  }
  AQL_TRY(auto object, CodeObject::parse(bytes));
  if (const auto conflict = incompatibility(object.target_id(), device)) {
    return refuse(Errc::invalid_isa, "read_code_object", "this code object cannot run on {}: {}", device.short_name(), *conflict);
  }
  return object;
}

Result<CodeObject> read_code_object(std::span<const std::byte> bytes, std::string_view device, const BundleOptions& options) {
  AQL_TRY(const auto id, TargetId::parse(device));
  return read_code_object(bytes, id, options);
}

} // namespace aql
