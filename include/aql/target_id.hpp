#pragma once
// Target ids: which processor a code object is for, or a device has, and the state of its features.
// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-": a feature that is not written may be on or off ("any").
// LLVM AMDGPUUsage, "Target ID", "Generic processors"; code object V4 to V6 e_flags.
// Thread safety: values; no shared state.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <aql/error.hpp>
#include <aql/export.hpp>

namespace aql {

// unsupported: the processor has no such feature. any: works with the feature on and off.
enum class FeatureState : std::uint8_t { unsupported = 0, any = 1, off = 2, on = 3 }; // numbers of e_flags V4 and later

[[nodiscard]] AQL_API std::string_view to_string(FeatureState state) noexcept;

// What is known about one processor name. A generic processor is a family whose code runs on all its members.
struct Processor {
  std::string_view name; // "gfx942", "gfx9-4-generic"
  std::uint32_t machine; // EF_AMDGPU_MACH
  bool has_xnack;
  bool has_sramecc;
  std::string_view generic;      // the family it belongs to ("gfx9-4-generic"), or empty
  std::uint32_t generic_version; // lowest version of that family's code that runs here; of a generic one: its newest version

  [[nodiscard]] bool is_generic() const noexcept { return name.ends_with("-generic"); }
};

// All processors this build knows by name, and look-ups; null if unknown.
[[nodiscard]] AQL_API std::span<const Processor> processors() noexcept;
[[nodiscard]] AQL_API const Processor* find_processor(std::string_view name) noexcept;
[[nodiscard]] AQL_API const Processor* find_processor_by_machine(std::uint32_t machine) noexcept;

struct AQL_API TargetId {
  std::string processor;
  FeatureState sramecc = FeatureState::unsupported;
  FeatureState xnack = FeatureState::unsupported;
  // Generic processors only: the version of the family that the code was made for; 0 otherwise or if not known.
  std::uint32_t generic_version = 0;

  // Accepts "gfx942", "gfx942:xnack-:sramecc+" and the same behind a triple ("amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-unknown-",
  // "amdgpu..."). Errors, invalid_argument: unknown processor, unknown or repeated feature, a feature the processor has not.
  [[nodiscard]] static Result<TargetId> parse(std::string_view text);
  // From the e_flags of a code object V4, V5 or V6. Errors, invalid_code_object: unknown machine, a feature the processor has
  // not, a generic processor without a version (or in an object older than V6).
  [[nodiscard]] static Result<TargetId> from_elf_flags(std::uint32_t flags, std::uint32_t code_object_version);

  // "gfx942:sramecc+:xnack-"; features in alphabetical order, as everybody writes them.
  [[nodiscard]] std::string short_name() const;
  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] bool is_generic() const noexcept { return processor.ends_with("-generic"); }

  friend bool operator==(const TargetId&, const TargetId&) = default;
};

// May code for `code` run on `device`? Empty if yes, else the reason in words. The processors must be equal, or the code's a
// generic one of which the device is a member and of a high enough version (an unknown version, 0, is not held against it).
// A feature that the code wants on or off must be so on the device; a device that does not say ("any") satisfies only "any".
[[nodiscard]] AQL_API std::optional<std::string> incompatibility(const TargetId& code, const TargetId& device);

} // namespace aql
