#pragma once
// What the processor takes from a kernel descriptor, checked once and revalidated cheaply: entry, registers, modes, properties.
// Sizes (private, group, kernarg) come from the packet: ROCr's own copy kernels have an amd_kernel_code_t where a descriptor
// is expected, and only these fields agree (LLVM AMDGPUUsage, "Kernel Descriptor"; rule 14 of docs on packet rules).
// Thread safety: a cache belongs to one thread.

#include <array>
#include <cstdint>
#include <string>

#include <aql/abi/kernel_descriptor.hpp>
#include <aql/error.hpp>

#include "sim/cp/host_view.hpp"
#include "sim/cp/profile.hpp"
#include "sim/exec/wave.hpp"

namespace aql::sim {

struct KernelCode {
  std::uint64_t object = 0; // device address of the descriptor
  std::uint64_t entry = 0;  // device address of the first instruction
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint32_t properties = 0;
  std::uint32_t preload_dwords = 0, preload_offset_dwords = 0;
  std::uint32_t vgprs = 0;        // allocated, a lane
  std::uint32_t accum_offset = 0; // first AccVGPR
  Mode mode;
  std::string error; // not empty: why the code cannot run
};

// Registers and modes as the three words say; used for PM4 dispatches too, which have no descriptor.
void decode_resources(KernelCode& code, std::uint32_t rsrc1, std::uint32_t rsrc2, std::uint32_t rsrc3) noexcept;

class KernelCache {
public:
  KernelCache(HostView& view, const DeviceProfile& profile) noexcept : view_(view), profile_(profile) {}
  // Never null; `error` says what is wrong. Valid until the next call.
  [[nodiscard]] const KernelCode& get(std::uint64_t kernel_object);

private:
  struct Entry {
    KernelCode code;
    std::uint64_t generation = 0;
    const std::byte* host = nullptr;
    std::array<std::byte, sizeof(abi::KernelDescriptor)> raw{};
  };
  void fill(Entry& entry, std::uint64_t kernel_object);

  static constexpr unsigned kEntries = 64;
  HostView& view_;
  const DeviceProfile& profile_;
  std::array<Entry, kEntries> entries_;
};

} // namespace aql::sim
