#pragma once
// Which layout a processor gives the kernel descriptor, and register counts from it. Internal to the loader.

#include <cstdint>
#include <string_view>

#include <aql/abi/kernel_descriptor.hpp>

namespace aql::loader {

// Processors that share a descriptor layout (AMDGPUUsage, "Kernel Descriptor"). Values are bits, so that a field can name several.
enum Family : std::uint32_t {
  kGfx6 = 1,   // gfx6 to gfx8
  kGfx9 = 2,   // gfx900 to gfx90c, without those below
  kGfx90a = 4, // gfx90a, gfx942, gfx950, gfx9-4-generic: unified register file
  kGfx10 = 8,
  kGfx11 = 16,
  kGfx12 = 32,
  kGfx125 = 64, // gfx1250, gfx1251
};

[[nodiscard]] Family family_of(std::string_view processor) noexcept;

[[nodiscard]] std::uint32_t descriptor_vgprs(const abi::KernelDescriptor& d, Family family) noexcept;
[[nodiscard]] std::uint32_t descriptor_sgprs(const abi::KernelDescriptor& d, Family family) noexcept;
[[nodiscard]] std::uint32_t descriptor_accum_offset(const abi::KernelDescriptor& d, Family family) noexcept;

} // namespace aql::loader
