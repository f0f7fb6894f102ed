#include <aql/target_id.hpp>

#include <array>

#include "base/try.hpp"
#include "loader/bytes.hpp"

namespace aql {
namespace {

using loader::printable;
using loader::refuse;

constexpr std::string_view kWhere = "TargetId::parse";
constexpr std::string_view kGfx9 = "gfx9-generic", kGfx94 = "gfx9-4-generic", kGfx101 = "gfx10-1-generic",
                           kGfx103 = "gfx10-3-generic", kGfx11 = "gfx11-generic", kGfx12 = "gfx12-generic";

// LLVM AMDGPUUsage: "AMDGPU Processors", "AMDGPU Generic Processors", "AMDGPU EF_AMDGPU_MACH Values".
constexpr std::array kProcessors{
    Processor{"gfx600", 0x20, false, false, {}, 0},       Processor{"gfx601", 0x21, false, false, {}, 0},
    Processor{"gfx602", 0x3a, false, false, {}, 0},       Processor{"gfx700", 0x22, false, false, {}, 0},
    Processor{"gfx701", 0x23, false, false, {}, 0},       Processor{"gfx702", 0x24, false, false, {}, 0},
    Processor{"gfx703", 0x25, false, false, {}, 0},       Processor{"gfx704", 0x26, false, false, {}, 0},
    Processor{"gfx705", 0x3b, false, false, {}, 0},       Processor{"gfx801", 0x28, true, false, {}, 0},
    Processor{"gfx802", 0x29, false, false, {}, 0},       Processor{"gfx803", 0x2a, false, false, {}, 0},
    Processor{"gfx805", 0x3c, false, false, {}, 0},       Processor{"gfx810", 0x2b, true, false, {}, 0},
    Processor{"gfx900", 0x2c, true, false, kGfx9, 1},     Processor{"gfx902", 0x2d, true, false, kGfx9, 1},
    Processor{"gfx904", 0x2e, true, false, kGfx9, 1},     Processor{"gfx906", 0x2f, true, true, kGfx9, 1},
    Processor{"gfx908", 0x30, true, true, {}, 0},         Processor{"gfx909", 0x31, true, false, kGfx9, 1},
    Processor{"gfx90c", 0x32, true, false, kGfx9, 1},     Processor{"gfx90a", 0x3f, true, true, {}, 0},
    Processor{"gfx942", 0x4c, true, true, kGfx94, 1},     Processor{"gfx950", 0x4f, true, true, kGfx94, 1},
    Processor{"gfx1010", 0x33, true, false, kGfx101, 1},  Processor{"gfx1011", 0x34, true, false, kGfx101, 1},
    Processor{"gfx1012", 0x35, true, false, kGfx101, 1},  Processor{"gfx1013", 0x42, true, false, kGfx101, 1},
    Processor{"gfx1030", 0x36, false, false, kGfx103, 1}, Processor{"gfx1031", 0x37, false, false, kGfx103, 1},
    Processor{"gfx1032", 0x38, false, false, kGfx103, 1}, Processor{"gfx1033", 0x39, false, false, kGfx103, 1},
    Processor{"gfx1034", 0x3e, false, false, kGfx103, 1}, Processor{"gfx1035", 0x3d, false, false, kGfx103, 1},
    Processor{"gfx1036", 0x45, false, false, kGfx103, 1}, Processor{"gfx1100", 0x41, false, false, kGfx11, 1},
    Processor{"gfx1101", 0x46, false, false, kGfx11, 1},  Processor{"gfx1102", 0x47, false, false, kGfx11, 1},
    Processor{"gfx1103", 0x44, false, false, kGfx11, 1},  Processor{"gfx1150", 0x43, false, false, kGfx11, 1},
    Processor{"gfx1151", 0x4a, false, false, kGfx11, 1},  Processor{"gfx1152", 0x55, false, false, kGfx11, 1},
    Processor{"gfx1153", 0x58, false, false, kGfx11, 1},  Processor{"gfx1200", 0x48, false, false, kGfx12, 1},
    Processor{"gfx1201", 0x4e, false, false, kGfx12, 1},  Processor{"gfx1250", 0x49, true, true, {}, 0},
    Processor{"gfx1251", 0x5a, true, true, {}, 0},        Processor{kGfx9, 0x51, true, false, {}, 1},
    Processor{kGfx94, 0x5f, true, true, {}, 1},           Processor{kGfx101, 0x52, true, false, {}, 1},
    Processor{kGfx103, 0x53, false, false, {}, 1},        Processor{kGfx11, 0x54, false, false, {}, 1},
    Processor{kGfx12, 0x59, false, false, {}, 1},
};

// Without the triple, if there is one. The environment part may be empty, "unknown" or left out.
std::string_view without_triple(std::string_view text) noexcept {
  constexpr std::string_view triple = "amdgcn-amd-amdhsa";
  if (!text.starts_with(triple)) return text;
  text.remove_prefix(triple.size());
  for (const std::string_view env : {"-unknown-", "--", "-"}) {
    if (text.starts_with(env)) return text.substr(env.size());
  }
  return text;
}

std::string feature_text(std::string_view name, FeatureState state) {
  if (state == FeatureState::on) return fmt::format(":{}+", name);
  if (state == FeatureState::off) return fmt::format(":{}-", name);
  return {};
}

std::optional<std::string> feature_conflict(std::string_view name, FeatureState code, FeatureState device) {
  if (code != FeatureState::on && code != FeatureState::off) return std::nullopt;
  if (code == device) return std::nullopt;
  if (device == FeatureState::any)
    return fmt::format("the code needs {} {}, the device does not say which it has", name, to_string(code));
  return fmt::format("the code needs {} {}, the device has {} {}", name, to_string(code), name, to_string(device));
}

} // namespace

std::string_view to_string(FeatureState state) noexcept {
  switch (state) {
  case FeatureState::unsupported: return "unsupported";
  case FeatureState::any: return "any";
  case FeatureState::off: return "off";
  case FeatureState::on: return "on";
  }
  return "unknown";
}

std::span<const Processor> processors() noexcept { return kProcessors; }

const Processor* find_processor(std::string_view name) noexcept {
  for (const auto& p : kProcessors) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

const Processor* find_processor_by_machine(std::uint32_t machine) noexcept {
  for (const auto& p : kProcessors) {
    if (p.machine == machine) return &p;
  }
  return nullptr;
}

Result<TargetId> TargetId::parse(std::string_view text) {
  std::string_view rest = without_triple(text);
  const auto name = rest.substr(0, rest.find(':'));
  const Processor* const processor = find_processor(name);
  if (processor == nullptr) {
    return refuse(Errc::invalid_argument, kWhere,
                  "\"{}\": \"{}\" is not a processor this build knows (such as gfx90a, gfx942, gfx950)", printable(text),
                  printable(name));
  }
  TargetId id{std::string(name), processor->has_sramecc ? FeatureState::any : FeatureState::unsupported,
              processor->has_xnack ? FeatureState::any : FeatureState::unsupported, 0};
  rest.remove_prefix(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1); // the colon
    const auto feature = rest.substr(0, rest.find(':'));
    rest.remove_prefix(feature.size());
    const char sign = feature.empty() ? '\0' : feature.back();
    const auto key = feature.substr(0, feature.empty() ? 0 : feature.size() - 1);
    FeatureState* const state = key == "xnack" ? &id.xnack : key == "sramecc" ? &id.sramecc : nullptr;
    if (state == nullptr || (sign != '+' && sign != '-')) {
      return refuse(Errc::invalid_argument, kWhere, "\"{}\": \"{}\" is not a feature; write xnack+, xnack-, sramecc+ or sramecc-",
                    printable(text), printable(feature));
    }
    if (*state == FeatureState::unsupported) {
      return refuse(Errc::invalid_argument, kWhere, "\"{}\": {} has no feature {}", printable(text), name, key);
    }
    if (*state != FeatureState::any)
      return refuse(Errc::invalid_argument, kWhere, "\"{}\": {} is given twice", printable(text), key);
    *state = sign == '+' ? FeatureState::on : FeatureState::off;
  }
  return id;
}

Result<TargetId> TargetId::from_elf_flags(std::uint32_t flags, std::uint32_t code_object_version) {
  const std::uint32_t machine = flags & 0xff;
  const Processor* const processor = find_processor_by_machine(machine);
  if (processor == nullptr)
    return loader::bad_object("e_flags {:#x}: machine {:#x} is not a processor this build knows", flags, machine);
  TargetId id{std::string(processor->name), static_cast<FeatureState>((flags >> 10) & 3),
              static_cast<FeatureState>((flags >> 8) & 3), flags >> 24};
  if (!processor->has_xnack && id.xnack != FeatureState::unsupported) {
    return loader::bad_object("e_flags {:#x}: xnack is \"{}\", but {} has no such feature", flags, aql::to_string(id.xnack),
                              processor->name);
  }
  if (!processor->has_sramecc && id.sramecc != FeatureState::unsupported) {
    return loader::bad_object("e_flags {:#x}: sramecc is \"{}\", but {} has no such feature", flags, aql::to_string(id.sramecc),
                              processor->name);
  }
  if (processor->is_generic()) {
    if (code_object_version < 6) {
      return loader::bad_object("e_flags {:#x}: {} needs code object version 6, this is version {}", flags, processor->name,
                                code_object_version);
    }
    if (id.generic_version == 0)
      return loader::bad_object("e_flags {:#x}: {} without a version (bits 31:24)", flags, processor->name);
  } else {
    id.generic_version = 0;
  }
  return id;
}

std::string TargetId::short_name() const { return processor + feature_text("sramecc", sramecc) + feature_text("xnack", xnack); }

std::string TargetId::to_string() const { return "amdgcn-amd-amdhsa--" + short_name(); }

std::optional<std::string> incompatibility(const TargetId& code, const TargetId& device) {
  if (code.processor != device.processor) {
    if (!code.is_generic()) return fmt::format("the code is for {}, the device is {}", code.processor, device.processor);
    const Processor* const member = find_processor(device.processor);
    if (member == nullptr || member->generic != code.processor)
      return fmt::format("{} does not include {}", code.processor, device.processor);
    if (code.generic_version != 0 && code.generic_version < member->generic_version) {
      return fmt::format("{} code of version {}, but {} needs version {} or later", code.processor, code.generic_version,
                         device.processor, member->generic_version);
    }
  }
  if (auto conflict = feature_conflict("xnack", code.xnack, device.xnack)) return conflict;
  return feature_conflict("sramecc", code.sramecc, device.sramecc);
}

} // namespace aql
