#include "sim/cp/kernel_code.hpp"

#include <cstring>

#include <fmt/format.h>

namespace aql::sim {

void decode_resources(KernelCode& code, std::uint32_t rsrc1, std::uint32_t rsrc2, std::uint32_t rsrc3) noexcept {
  code.rsrc1 = rsrc1;
  code.rsrc2 = rsrc2;
  code.rsrc3 = rsrc3;
  code.vgprs = (abi::Rsrc1VgprGranules::decode(rsrc1) + 1) * 8;
  code.accum_offset = (abi::Rsrc3AccumOffset::decode(rsrc3) + 1) * 4;
  // ISA guide, "MODE": rounding and denormals in bits 7:0 in the order of rsrc1, exception enables from bit 12 on.
  std::uint32_t mode = (rsrc1 >> abi::Rsrc1FloatRound32::kShift) & 0xffu;
  mode |= abi::Rsrc1Dx10Clamp::decode(rsrc1) << 8;
  mode |= abi::Rsrc1IeeeMode::decode(rsrc1) << 9;
  mode |= ((rsrc2 >> abi::Rsrc2ExceptionIeeeInvalid::kShift) & 0x7fu) << 12;
  mode |= abi::Rsrc2ExceptionAddressWatch::decode(rsrc2) << 19;
  mode |= abi::Rsrc2ExceptionMemory::decode(rsrc2) << 20;
  mode |= abi::Rsrc1Fp16Overflow::decode(rsrc1) << 23;
  code.mode.bits = mode;
}

const KernelCode& KernelCache::get(std::uint64_t kernel_object) {
  auto& entry = entries_[(kernel_object >> 6) % kEntries];
  const bool hit = entry.code.object == kernel_object && entry.generation == view_.map().generation() && entry.host != nullptr &&
                   std::memcmp(entry.host, entry.raw.data(), entry.raw.size()) == 0;
  if (!hit) [[unlikely]]
    fill(entry, kernel_object);
  return entry.code;
}

void KernelCache::fill(Entry& entry, std::uint64_t kernel_object) {
  entry = {};
  KernelCode& code = entry.code;
  code.object = kernel_object;
  if (kernel_object == 0) {
    code.error = "kernel_object is null";
    return;
  }
  if (kernel_object % 64 != 0) {
    code.error = fmt::format("kernel_object {:#x} is not 64-byte aligned", kernel_object);
    return;
  }
  entry.generation = view_.map().generation();
  entry.host = view_.get(kernel_object, sizeof(abi::KernelDescriptor), kRead);
  if (entry.host == nullptr) {
    code.error = fmt::format("no kernel descriptor can be read at kernel_object {:#x}: {}", kernel_object,
                             view_.map().describe(kernel_object));
    return;
  }
  std::memcpy(entry.raw.data(), entry.host, entry.raw.size());
  abi::KernelDescriptor descriptor;
  std::memcpy(&descriptor, entry.raw.data(), sizeof descriptor);
  code.entry = kernel_object + static_cast<std::uint64_t>(descriptor.kernel_code_entry_byte_offset);
  code.properties = descriptor.kernel_code_properties;
  decode_resources(code, descriptor.compute_pgm_rsrc1, descriptor.compute_pgm_rsrc2, descriptor.compute_pgm_rsrc3);
  code.preload_dwords = abi::PreloadLength::decode(descriptor.kernarg_preload);
  code.preload_offset_dwords = abi::PreloadOffset::decode(descriptor.kernarg_preload);
  if (code.entry % 256 != 0) {
    code.error =
        fmt::format("the descriptor at {:#x} puts the entry at {:#x}, which is not 256-byte aligned", kernel_object, code.entry);
  } else if (view_.get(code.entry, 4, kExecute) == nullptr) {
    code.error = fmt::format("the descriptor at {:#x} puts the entry at {:#x}, which is not executable: {}", kernel_object,
                             code.entry, view_.map().describe(code.entry));
  } else if (abi::PropWavefrontSize32::decode(code.properties) != 0) {
    code.error = fmt::format("the descriptor at {:#x} asks for wave32; {} has wave64 only", kernel_object, profile_.target);
  }
}

} // namespace aql::sim
