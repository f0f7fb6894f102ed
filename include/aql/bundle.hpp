#pragma once
// Offload bundles: one file with code objects for several targets, as clang and hipcc write them, plain
// (`__CLANG_OFFLOAD_BUNDLE__`) or compressed (`CCOB`, zstd or zlib, header versions 1 to 3). Clang documentation,
// "Clang Offload Bundler". And the one entry point that takes either a bundle or a bare ELF.
// Thread safety: Bundle is an immutable shared value.
// Lifetime: a plain bundle's entries point into the bytes that were given, which must outlive the Bundle; a compressed bundle
// owns what it decompressed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <aql/code_object.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/target_id.hpp>

namespace aql {

enum class Compression : std::uint8_t { none, zlib, zstd };

[[nodiscard]] AQL_API std::string_view to_string(Compression compression) noexcept;

struct BundleEntry {
  std::string id;                   // "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-"
  std::string kind;                 // "hipv4", "hip", "openmp", "host"
  std::optional<TargetId> target;   // nothing for host code and for targets this build does not know
  std::uint64_t offset = 0;         // in the (decompressed) bundle
  std::span<const std::byte> bytes; // may be empty
};

struct BundleOptions {
  std::uint64_t max_decompressed_bytes = 1ULL << 30; // more is refused before anything is decompressed
};

class AQL_API Bundle {
public:
  // True if the bytes start like a bundle, plain or compressed.
  [[nodiscard]] static bool recognizes(std::span<const std::byte> bytes) noexcept;
  // Errors: invalid_code_object (what is wrong, at which offset; damaged data), out_of_resources (over the limit),
  // unsupported (header version or method that this build does not read).
  [[nodiscard]] static Result<Bundle> open(std::span<const std::byte> bytes, const BundleOptions& options = {});

  [[nodiscard]] std::span<const BundleEntry> entries() const noexcept;
  // The best entry for a device: exact processor before generic, features stated before features left open.
  // Errors, invalid_isa: no match; the message lists the targets there are and why each does not fit.
  [[nodiscard]] Result<const BundleEntry*> select(const TargetId& device) const;

  [[nodiscard]] Compression compression() const noexcept;
  [[nodiscard]] std::uint32_t header_version() const noexcept; // of the compressed header; 0 for a plain bundle
  [[nodiscard]] std::uint64_t decompressed_size() const noexcept;

  struct State; // internal
private:
  explicit Bundle(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Reads a bare ELF, or the entry of a bundle that fits the device, and checks that the device can run it. The bytes need not
// outlive the call. `device` may be a full target id ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-") or a short one.
// Errors: those of CodeObject::parse and Bundle::open; invalid_isa (not for this device); invalid_argument (bad device target).
[[nodiscard]] AQL_API Result<CodeObject> read_code_object(std::span<const std::byte> bytes, const TargetId& device,
                                                          const BundleOptions& options = {});
[[nodiscard]] AQL_API Result<CodeObject> read_code_object(std::span<const std::byte> bytes, std::string_view device,
                                                          const BundleOptions& options = {});

} // namespace aql
