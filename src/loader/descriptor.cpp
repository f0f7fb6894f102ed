// The kernel descriptor: checks, register counts, and every field by name.

#include "loader/descriptor.hpp"

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "loader/code_object_state.hpp"

namespace aql::loader {
namespace {

constexpr std::uint32_t kGfx6To9 = kGfx6 | kGfx9 | kGfx90a;
constexpr std::uint32_t kGfx10Up = kGfx10 | kGfx11 | kGfx12 | kGfx125;
constexpr std::uint32_t kAll = kGfx6To9 | kGfx10Up;
constexpr std::uint32_t kBefore12 = kGfx6To9 | kGfx10 | kGfx11;

enum class Word : std::uint8_t { rsrc1, rsrc2, rsrc3, properties, preload };
constexpr std::array<std::string_view, 5> kWordNames{"compute_pgm_rsrc1", "compute_pgm_rsrc2", "compute_pgm_rsrc3",
                                                     "kernel_code_properties", "kernarg_preload"};
constexpr std::array<std::uint32_t, 5> kWordOffsets{48, 52, 44, 56, 58};

// What the value means in words.
enum class Say : std::uint8_t { nothing, vgprs, sgprs, round, denormals, work_item_ids, accum_offset, must_be_zero };

struct Row {
  Word word;
  std::uint8_t shift, width;
  std::uint32_t families;
  std::string_view name;
  Say say = Say::nothing;
};

// AMDGPUUsage, tables "compute_pgm_rsrc1", "compute_pgm_rsrc2", "compute_pgm_rsrc3 for ..." and "Kernel Descriptor".
constexpr auto kRows = std::to_array<Row>({
    {Word::rsrc3, 0, 6, kGfx90a, "accum_offset", Say::accum_offset},
    {Word::rsrc3, 6, 10, kGfx90a, "reserved", Say::must_be_zero},
    {Word::rsrc3, 16, 1, kGfx90a, "tg_split"},
    {Word::rsrc3, 17, 15, kGfx90a, "reserved", Say::must_be_zero},
    {Word::rsrc3, 0, 32, kGfx6 | kGfx9, "reserved", Say::must_be_zero},
    {Word::rsrc3, 0, 4, kGfx10 | kGfx11, "shared_vgpr_count"},
    {Word::rsrc3, 0, 4, kGfx12 | kGfx125, "reserved", Say::must_be_zero},
    {Word::rsrc3, 4, 8, kGfx10, "reserved", Say::must_be_zero},
    {Word::rsrc3, 4, 6, kGfx11, "inst_pref_size"},
    {Word::rsrc3, 10, 1, kGfx11, "trap_on_start"},
    {Word::rsrc3, 11, 1, kGfx11, "trap_on_end"},
    {Word::rsrc3, 4, 8, kGfx12 | kGfx125, "inst_pref_size"},
    {Word::rsrc3, 12, 1, kGfx10Up, "reserved", Say::must_be_zero},
    {Word::rsrc3, 13, 1, kGfx10 | kGfx11, "reserved", Say::must_be_zero},
    {Word::rsrc3, 13, 1, kGfx12 | kGfx125, "glg_en"},
    {Word::rsrc3, 14, 8, kGfx10 | kGfx11 | kGfx12, "reserved", Say::must_be_zero},
    {Word::rsrc3, 14, 3, kGfx125, "named_bar_cnt"},
    {Word::rsrc3, 17, 1, kGfx125, "enable_dynamic_vgpr"},
    {Word::rsrc3, 18, 3, kGfx125, "tcp_split"},
    {Word::rsrc3, 21, 1, kGfx125, "enable_didt_throttle"},
    {Word::rsrc3, 22, 9, kGfx10Up, "reserved", Say::must_be_zero},
    {Word::rsrc3, 31, 1, kGfx10, "reserved", Say::must_be_zero},
    {Word::rsrc3, 31, 1, kGfx11 | kGfx12 | kGfx125, "image_op"},
    {Word::rsrc1, 0, 6, kAll, "granulated_workitem_vgpr_count", Say::vgprs},
    {Word::rsrc1, 6, 4, kAll, "granulated_wavefront_sgpr_count", Say::sgprs},
    {Word::rsrc1, 10, 2, kAll, "priority", Say::must_be_zero},
    {Word::rsrc1, 12, 2, kAll, "float_round_mode_32", Say::round},
    {Word::rsrc1, 14, 2, kAll, "float_round_mode_16_64", Say::round},
    {Word::rsrc1, 16, 2, kAll, "float_denorm_mode_32", Say::denormals},
    {Word::rsrc1, 18, 2, kAll, "float_denorm_mode_16_64", Say::denormals},
    {Word::rsrc1, 20, 1, kAll, "priv", Say::must_be_zero},
    {Word::rsrc1, 21, 1, kBefore12, "enable_dx10_clamp"},
    {Word::rsrc1, 21, 1, kGfx12 | kGfx125, "enable_wg_rr_en"},
    {Word::rsrc1, 22, 1, kAll, "debug_mode", Say::must_be_zero},
    {Word::rsrc1, 23, 1, kBefore12, "enable_ieee_mode"},
    {Word::rsrc1, 23, 1, kGfx12 | kGfx125, "disable_perf"},
    {Word::rsrc1, 24, 1, kAll, "bulky", Say::must_be_zero},
    {Word::rsrc1, 25, 1, kAll, "cdbg_user", Say::must_be_zero},
    {Word::rsrc1, 26, 1, kGfx6, "reserved", Say::must_be_zero},
    {Word::rsrc1, 26, 1, kAll & ~kGfx6, "fp16_ovfl"},
    {Word::rsrc1, 27, 1, kAll & ~kGfx125, "reserved", Say::must_be_zero},
    {Word::rsrc1, 27, 1, kGfx125, "flat_scratch_is_nv"},
    {Word::rsrc1, 28, 1, kAll, "reserved", Say::must_be_zero},
    {Word::rsrc1, 29, 3, kGfx6To9, "reserved", Say::must_be_zero},
    {Word::rsrc1, 29, 1, kGfx10Up, "wgp_mode"},
    {Word::rsrc1, 30, 1, kGfx10Up, "mem_ordered"},
    {Word::rsrc1, 31, 1, kGfx10Up, "fwd_progress"},
    {Word::rsrc2, 0, 1, kAll, "enable_private_segment"},
    {Word::rsrc2, 1, 5, kAll & ~kGfx125, "user_sgpr_count"},
    {Word::rsrc2, 1, 6, kGfx125, "user_sgpr_count"},
    {Word::rsrc2, 6, 1, kBefore12, "enable_trap_handler", Say::must_be_zero},
    {Word::rsrc2, 6, 1, kGfx12, "enable_dynamic_vgpr"},
    {Word::rsrc2, 7, 1, kAll, "enable_sgpr_workgroup_id_x"},
    {Word::rsrc2, 8, 1, kAll, "enable_sgpr_workgroup_id_y"},
    {Word::rsrc2, 9, 1, kAll, "enable_sgpr_workgroup_id_z"},
    {Word::rsrc2, 10, 1, kAll, "enable_sgpr_workgroup_info"},
    {Word::rsrc2, 11, 2, kAll, "enable_vgpr_workitem_id", Say::work_item_ids},
    {Word::rsrc2, 13, 1, kAll, "enable_exception_address_watch", Say::must_be_zero},
    {Word::rsrc2, 14, 1, kAll, "enable_exception_memory", Say::must_be_zero},
    {Word::rsrc2, 15, 9, kAll, "granulated_lds_size", Say::must_be_zero},
    {Word::rsrc2, 24, 1, kAll, "enable_exception_ieee_754_fp_invalid_operation"},
    {Word::rsrc2, 25, 1, kAll, "enable_exception_fp_denormal_source"},
    {Word::rsrc2, 26, 1, kAll, "enable_exception_ieee_754_fp_division_by_zero"},
    {Word::rsrc2, 27, 1, kAll, "enable_exception_ieee_754_fp_overflow"},
    {Word::rsrc2, 28, 1, kAll, "enable_exception_ieee_754_fp_underflow"},
    {Word::rsrc2, 29, 1, kAll, "enable_exception_ieee_754_fp_inexact"},
    {Word::rsrc2, 30, 1, kAll, "enable_exception_int_divide_by_zero"},
    {Word::rsrc2, 31, 1, kAll, "reserved", Say::must_be_zero},
    {Word::properties, 0, 1, kAll, "enable_sgpr_private_segment_buffer"},
    {Word::properties, 1, 1, kAll, "enable_sgpr_dispatch_ptr"},
    {Word::properties, 2, 1, kAll, "enable_sgpr_queue_ptr"},
    {Word::properties, 3, 1, kAll, "enable_sgpr_kernarg_segment_ptr"},
    {Word::properties, 4, 1, kAll, "enable_sgpr_dispatch_id"},
    {Word::properties, 5, 1, kAll, "enable_sgpr_flat_scratch_init"},
    {Word::properties, 6, 1, kAll, "enable_sgpr_private_segment_size"},
    {Word::properties, 7, 3, kAll, "reserved", Say::must_be_zero},
    {Word::properties, 10, 1, kGfx10Up, "enable_wavefront_size32"},
    {Word::properties, 10, 1, kGfx6To9, "reserved", Say::must_be_zero},
    {Word::properties, 11, 1, kAll, "uses_dynamic_stack"},
    {Word::properties, 12, 4, kAll, "reserved", Say::must_be_zero},
    {Word::preload, 0, 7, kAll, "kernarg_preload_spec_length"},
    {Word::preload, 7, 9, kAll, "kernarg_preload_spec_offset"},
});

std::uint64_t word_of(const abi::KernelDescriptor& d, Word word) noexcept {
  switch (word) {
  case Word::rsrc1: return d.compute_pgm_rsrc1;
  case Word::rsrc2: return d.compute_pgm_rsrc2;
  case Word::rsrc3: return d.compute_pgm_rsrc3;
  case Word::properties: return d.kernel_code_properties;
  case Word::preload: return d.kernarg_preload;
  }
  return 0;
}

std::uint64_t value_of(const abi::KernelDescriptor& d, const Row& row) noexcept {
  return (word_of(d, row.word) >> row.shift) & ((1ULL << row.width) - 1);
}

std::string meaning(const abi::KernelDescriptor& d, Family family, const Row& row, std::uint64_t value) {
  constexpr std::array<std::string_view, 4> rounds{"to nearest even", "toward +infinity", "toward -infinity", "toward zero"};
  constexpr std::array<std::string_view, 4> denormals{"flush source and result", "flush result", "flush source", "keep"};
  constexpr std::array<std::string_view, 4> ids{"x", "x, y", "x, y, z", "undefined"};
  switch (row.say) {
  case Say::vgprs: return fmt::format("{} VGPRs", descriptor_vgprs(d, family));
  case Say::sgprs: return (family & kGfx10Up) != 0 ? "always all" : fmt::format("{} SGPRs", descriptor_sgprs(d, family));
  case Say::round: return std::string(rounds[value & 3]);
  case Say::denormals: return std::string(denormals[value & 3]);
  case Say::work_item_ids: return std::string(ids[value & 3]);
  case Say::accum_offset: return fmt::format("AccVGPRs start at {}", descriptor_accum_offset(d, family));
  case Say::must_be_zero: return value == 0 ? "" : "must be 0";
  case Say::nothing: break;
  }
  return {};
}

template <std::size_t n>
bool all_zero(const std::uint8_t (&bytes)[n]) noexcept {
  return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; });
}

} // namespace

Family family_of(std::string_view processor) noexcept {
  if (processor == "gfx90a" || processor == "gfx942" || processor == "gfx950" || processor == "gfx9-4-generic") return kGfx90a;
  if (processor.starts_with("gfx125")) return kGfx125;
  if (processor.starts_with("gfx10")) return kGfx10;
  if (processor.starts_with("gfx11")) return kGfx11;
  if (processor.starts_with("gfx12")) return kGfx12;
  if (processor.starts_with("gfx9")) return kGfx9;
  return kGfx6;
}

std::uint32_t descriptor_vgprs(const abi::KernelDescriptor& d, Family family) noexcept {
  const bool wave32 = (family & kGfx10Up) != 0 && abi::PropWavefrontSize32::decode(d.kernel_code_properties) != 0;
  const std::uint32_t granule = family == kGfx90a ? 8 : family == kGfx125 ? 16 : wave32 ? 8 : 4;
  return (abi::Rsrc1VgprGranules::decode(d.compute_pgm_rsrc1) + 1) * granule;
}

std::uint32_t descriptor_sgprs(const abi::KernelDescriptor& d, Family family) noexcept {
  const std::uint32_t granules = abi::Rsrc1SgprGranules::decode(d.compute_pgm_rsrc1);
  if (family == kGfx6) return (granules + 1) * 8;
  if ((family & kGfx6To9) != 0) return (granules / 2 + 1) * 16;
  return 0;
}

std::uint32_t descriptor_accum_offset(const abi::KernelDescriptor& d, Family family) noexcept {
  return family == kGfx90a ? (abi::Rsrc3AccumOffset::decode(d.compute_pgm_rsrc3) + 1) * 4 : 0;
}

Result<void> attach_descriptor(CodeObject::State& state, KernelInfo& kernel, const ElfSymbol& symbol) {
  const std::string name = printable(kernel.symbol);
  if (symbol.size != sizeof(abi::KernelDescriptor) && symbol.size != 0) {
    return bad_object("kernel descriptor \"{}\" has {} bytes, expected 64", name, symbol.size);
  }
  if (symbol.value < state.image_base || symbol.value % 64 != 0) {
    return bad_object("kernel descriptor \"{}\" at address {:#x} is not 64-byte aligned", name, symbol.value);
  }
  AQL_TRY(const auto raw,
          state.elf.at_address(symbol.value, sizeof(abi::KernelDescriptor), fmt::format("kernel descriptor \"{}\"", name)));
  std::memcpy(kernel.descriptor_bytes.data(), raw.data(), raw.size());
  std::memcpy(&kernel.descriptor, raw.data(), raw.size());
  const auto& d = kernel.descriptor;
  if (!all_zero(d.reserved0) || !all_zero(d.reserved1) || !all_zero(d.reserved3)) {
    return bad_object("kernel descriptor \"{}\" at file offset {:#x}: reserved bytes (12-15, 24-43, 60-63) are not 0", name,
                      raw.data() - state.bytes.data());
  }

  const std::uint64_t entry = symbol.value + static_cast<std::uint64_t>(d.kernel_code_entry_byte_offset);
  const Segment* const segment = entry >= state.image_base ? state.segment_at(entry - state.image_base) : nullptr;
  if (segment == nullptr || !segment->execute) {
    return bad_object("kernel descriptor \"{}\": its entry {:#x} lies in no executable segment", name, entry);
  }
  if (entry % 256 != 0) return bad_object("kernel descriptor \"{}\": its entry {:#x} is not 256-byte aligned", name, entry);
  kernel.descriptor_offset = symbol.value - state.image_base;
  kernel.entry_offset = entry - state.image_base;

  const Family family = family_of(state.target.processor);
  const bool wave32 = abi::PropWavefrontSize32::decode(d.kernel_code_properties) != 0;
  if (wave32 && (family & kGfx6To9) != 0)
    return bad_object("kernel descriptor \"{}\" asks for wave32, which {} has not", name, state.target.processor);
  if (wave32 != (kernel.wavefront_size == 32)) {
    return bad_object("kernel \"{}\": metadata says wave{}, the descriptor wave{}", name, kernel.wavefront_size, wave32 ? 32 : 64);
  }
  const auto larger = [&](auto& from_metadata, std::uint32_t from_descriptor, std::string_view what) {
    if (from_metadata != from_descriptor && from_descriptor != 0) {
      state.warnings.push_back(fmt::format("kernel \"{}\": {} is {} in the metadata, {} in the descriptor; the larger holds", name,
                                           what, from_metadata, from_descriptor));
    }
    if (from_descriptor > from_metadata) from_metadata = from_descriptor;
  };
  larger(kernel.kernarg_size, d.kernarg_size, "the kernarg size");
  larger(kernel.group_segment_size, d.group_segment_fixed_size, "the group segment size");
  larger(kernel.private_segment_size, d.private_segment_fixed_size, "the private segment size");
  kernel.uses_dynamic_stack = kernel.uses_dynamic_stack || abi::PropUsesDynamicStack::decode(d.kernel_code_properties) != 0;
  kernel.allocated_vgprs = descriptor_vgprs(d, family);
  kernel.allocated_sgprs = descriptor_sgprs(d, family);
  kernel.accum_offset = descriptor_accum_offset(d, family);
  for (const auto& row : kRows) {
    if ((row.families & family) == 0 || row.say != Say::must_be_zero) continue;
    if (const auto value = value_of(d, row); value != 0) {
      state.warnings.push_back(fmt::format("kernel \"{}\": {} bits {}:{} ({}) are {:#x}, must be 0", name,
                                           kWordNames[static_cast<std::size_t>(row.word)], row.shift + row.width - 1, row.shift,
                                           row.name, value));
    }
  }
  return {};
}

} // namespace aql::loader

namespace aql {

std::vector<DescriptorField> CodeObject::describe(const KernelInfo& kernel) const {
  using namespace loader;
  const auto& d = kernel.descriptor;
  const Family family = family_of(state_->target.processor);
  std::vector<DescriptorField> fields{
      {"group_segment_fixed_size", "group_segment_fixed_size", 0, 0, 32, d.group_segment_fixed_size, "bytes"},
      {"private_segment_fixed_size", "private_segment_fixed_size", 4, 0, 32, d.private_segment_fixed_size, "bytes a work-item"},
      {"kernarg_size", "kernarg_size", 8, 0, 32, d.kernarg_size, "bytes"},
      {"kernel_code_entry_byte_offset", "kernel_code_entry_byte_offset", 16, 0, 64,
       static_cast<std::uint64_t>(d.kernel_code_entry_byte_offset),
       fmt::format("entry at image offset {:#x}", kernel.entry_offset)},
  };
  for (const auto& row : kRows) {
    if ((row.families & family) == 0) continue;
    const auto word = static_cast<std::size_t>(row.word);
    const auto value = value_of(d, row);
    fields.push_back({kWordNames[word], row.name, kWordOffsets[word], row.shift, row.width, value, meaning(d, family, row, value)});
  }
  return fields;
}

Result<std::uint64_t> scratch_bytes_per_wave(std::uint64_t bytes_per_work_item, std::uint32_t wavefront_size) {
  constexpr std::uint64_t unit = 1024, most_units = abi::TmpringWaveSize::kMax;
  if (wavefront_size != 32 && wavefront_size != 64) {
    return loader::refuse(Errc::invalid_argument, "scratch_bytes_per_wave", "a wave of {} work-items; there are 32 and 64",
                          wavefront_size);
  }
  if (bytes_per_work_item > most_units * unit / wavefront_size) {
    return loader::refuse(Errc::out_of_resources, "scratch_bytes_per_wave",
                          "{} bytes of private memory a work-item; a wave{} can have {} at most", bytes_per_work_item,
                          wavefront_size, most_units * unit / wavefront_size);
  }
  return (bytes_per_work_item * wavefront_size + unit - 1) / unit * unit;
}

} // namespace aql
