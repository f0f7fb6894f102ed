// `aql inspect` for people.

#include <map>

#include <fmt/format.h>

#include "inspect.hpp"
#include "loader/bytes.hpp"

namespace aql::tool {
namespace {

using loader::printable;

std::string dims(const Dim3& d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); }
std::string or_dash(std::string_view text) { return text.empty() ? "-" : printable(text, 60); }

std::string flags_of(const KernelArg& a) {
  std::string text;
  for (const auto& [set, word] :
       {std::pair{a.is_const, " const"}, {a.is_restrict, " restrict"}, {a.is_volatile, " volatile"}, {a.is_pipe, " pipe"}}) {
    if (set) text += word;
  }
  return text;
}

void add_args(std::string& out, const KernelInfo& kernel) {
  if (kernel.args.empty()) {
    out += "  arguments: none\n";
    return;
  }
  out += fmt::format("  arguments:\n    {:>3} {:>6} {:>6}  {:<26} {:<11} {:<10} {:<20} {}\n", "#", "offset", "size", "kind",
                     "space", "access", "type", "name");
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const auto& a = kernel.args[i];
    const auto access = a.actual_access != Access::unspecified ? a.actual_access : a.access;
    out += fmt::format("    {:>3} {:>6} {:>6}  {:<26} {:<11} {:<10} {:<20} {}{}\n", i, a.offset, a.size,
                       printable(a.value_kind, 40), or_dash(to_string(a.address_space)), or_dash(to_string(access)),
                       or_dash(a.type_name), or_dash(a.name), flags_of(a));
  }
}

void add_descriptor(std::string& out, const CodeObject& object, const KernelInfo& kernel) {
  out += "  descriptor bytes:\n";
  for (std::size_t at = 0; at < kernel.descriptor_bytes.size(); at += 16) {
    out += fmt::format("    {:02x}:", at);
    for (std::size_t i = 0; i < 16; ++i)
      out += fmt::format("{}{:02x}", i % 4 == 0 ? "  " : " ", std::to_integer<unsigned>(kernel.descriptor_bytes[at + i]));
    out += '\n';
  }
  out += "  descriptor fields:\n";
  std::string_view word;
  for (const auto& f : object.describe(kernel)) {
    const bool whole = f.word == f.name;
    if (f.word != word) {
      word = f.word;
      if (!whole) out += fmt::format("    {} (byte {}):\n", f.word, f.byte_offset);
    }
    std::string value = fmt::format("{}", f.value);
    if (f.name == "kernel_code_entry_byte_offset") value = fmt::format("{}", static_cast<std::int64_t>(f.value));
    const std::string bits = whole          ? fmt::format("byte {}", f.byte_offset)
                             : f.width == 1 ? fmt::format("{}", f.shift)
                                            : fmt::format("{}:{}", f.shift + f.width - 1, f.shift);
    out += fmt::format("    {}{:>7}  {:<48} {:<6} {}\n", whole ? "" : "  ", bits, f.name, value, f.meaning);
    while (out.ends_with(" \n")) out.erase(out.size() - 2, 1);
  }
}

void add_occupancy(std::string& out, const CodeObject& object, const KernelInfo& kernel, const InspectOptions& options) {
  const auto o = kernel_occupancy(object, kernel, options);
  if (!o) {
    const auto products = products_for(object.target_id());
    out += products.empty()
               ? fmt::format("  occupancy: no product known for {}\n", object.target_id().processor)
               : fmt::format("  occupancy: {} does not run {}\n", options.product->name, object.target_id().short_name());
    return;
  }
  out += fmt::format("  occupancy on {} ({}), groups of {} work-items ({} wave{}) with {} bytes of LDS:\n", o->product->name,
                     o->product->target, o->request.group_size, o->result.waves_per_group,
                     o->result.waves_per_group == 1 ? "" : "s", o->request.lds_bytes);
  for (std::size_t i = 0; i < loader::kOccupancyFactors; ++i) {
    const auto factor = static_cast<loader::OccupancyFactor>(i);
    const auto groups = o->result.groups_by_factor[i];
    out +=
        fmt::format("    {:<12} {}\n", to_string(factor),
                    groups == UINT32_MAX ? "no limit"
                                         : fmt::format("{:>3} groups a CU, {} waves a SIMD", groups, o->result.waves_by_factor[i]));
  }
  if (o->result.groups == 0) {
    out += fmt::format("    does not run: one group exceeds the {} of a CU\n", to_string(o->result.limit));
  } else {
    out += fmt::format("    resident: {} group{} a CU, {} wave{} a SIMD; limited by {}\n", o->result.groups,
                       o->result.groups == 1 ? "" : "s", o->result.waves_per_simd, o->result.waves_per_simd == 1 ? "" : "s",
                       to_string(o->result.limit));
  }
}

void add_kernel(std::string& out, const CodeObject& object, const KernelInfo& k, const InspectOptions& options) {
  out += fmt::format("\nkernel {}\n", printable(k.display_name()));
  out += fmt::format("  symbol        {}{}\n", printable(k.symbol),
                     k.name == k.display_name() ? "" : fmt::format("  (name in the source: {})", printable(k.name)));
  out += fmt::format("  place         descriptor at image offset {:#x}, entry at {:#x}, {} bytes of code\n", k.descriptor_offset,
                     k.entry_offset, k.code_size);
  out += fmt::format("  kernarg size  {} bytes, aligned to {}\n", k.kernarg_size, k.kernarg_align);
  out += fmt::format("  LDS           {} bytes\n", k.group_segment_size);
  const auto scratch = scratch_bytes_per_wave(k.private_segment_size, k.wavefront_size);
  out += fmt::format("  scratch       {} bytes a work-item, {}{}\n", k.private_segment_size,
                     scratch ? fmt::format("{} bytes a wave", *scratch) : scratch.error().detail,
                     k.uses_dynamic_stack ? ", dynamic stack" : "");
  out += fmt::format("  workgroup     at most {} work-items, wave{}", k.max_flat_workgroup_size, k.wavefront_size);
  if (k.required_workgroup_size) out += ", must be " + dims(*k.required_workgroup_size);
  if (k.workgroup_size_hint) out += ", hint " + dims(*k.workgroup_size_hint);
  if (k.cluster_dims) out += ", clusters of " + dims(*k.cluster_dims);
  if (k.uniform_work_group_size) out += ", no partial groups";
  out += fmt::format("\n  VGPRs         {} (AccVGPRs {}), allocated {}", k.vgpr_count, k.agpr_count, k.allocated_vgprs);
  if (k.accum_offset != 0) out += fmt::format(", AccVGPRs from {}", k.accum_offset);
  out += fmt::format("\n  SGPRs         {}, allocated {}\n", k.sgpr_count,
                     k.allocated_sgprs == 0 ? "all" : fmt::format("{}", k.allocated_sgprs));
  out += fmt::format("  spills        {} SGPRs, {} VGPRs\n", k.sgpr_spill_count, k.vgpr_spill_count);
  add_args(out, k);
  add_descriptor(out, object, k);
  add_occupancy(out, object, k, options);
}

} // namespace

std::string to_text(const CodeObject& object, const InspectOptions& options) {
  const auto& id = object.identity();
  const auto& target = object.target_id();
  std::string out;
  out += fmt::format("  ELF           64-bit little-endian, type {} (shared object), machine {} (AMDGPU), OS/ABI {} (AMDGPU HSA), "
                     "ABI version {}\n",
                     id.type, id.machine, id.os_abi, id.abi_version);
  out += fmt::format("  code object   version {}\n", object.code_object_version());
  out += fmt::format("  e_flags       {:#x}\n", id.flags);
  out += fmt::format("  target        {} (xnack {}, sramecc {}{})\n", target.to_string(), to_string(target.xnack),
                     to_string(target.sramecc),
                     target.generic_version == 0 ? "" : fmt::format(", generic version {}", target.generic_version));
  out += fmt::format("  sections      {}\n  headers       {} program headers\n", id.sections, id.program_headers);
  out += fmt::format("  image         {:#x} bytes, aligned to {:#x}\n", object.image_size(), object.image_align());
  for (const auto& s : object.segments()) {
    out += fmt::format("    {:#010x} {:#10x} bytes, {:#10x} from file offset {:#x}, {}{}{}\n", s.image_offset, s.memory_size,
                       s.file_size, s.file_offset, s.read ? 'r' : '-', s.write ? 'w' : '-', s.execute ? 'x' : '-');
  }
  std::map<std::string_view, std::size_t> relocations;
  for (const auto& r : object.relocations()) ++relocations[relocation_name(r.type)];
  out += fmt::format("  relocations   {}", object.relocations().size());
  for (const auto& [name, count] : relocations) out += fmt::format(", {} {}", count, name);
  out += fmt::format("\n  imports       {}\n", object.imports().empty() ? "none" : "");
  for (const auto& name : object.imports()) out += fmt::format("    {}\n", printable(name));
  out += fmt::format("  globals       {}\n", object.globals().empty() ? "none" : "");
  for (const auto& g : object.globals())
    out += fmt::format("    {:#010x} {:>10} bytes  {}\n", g.image_offset, g.size, printable(g.name));
  for (const auto& f : object.printf_formats()) out += fmt::format("  printf        {}\n", printable(f));
  for (const auto& w : object.warnings()) out += fmt::format("  warning       {}\n", w);
  out += fmt::format("  kernels       {}\n", object.kernels().size());
  for (const auto& k : object.kernels()) add_kernel(out, object, k, options);
  return out;
}

std::string to_text(const Bundle& bundle) {
  std::string out =
      bundle.compression() == Compression::none
          ? fmt::format("  offload bundle, {} entries\n", bundle.entries().size())
          : fmt::format("  compressed offload bundle ({}, header version {}), {} bytes when decompressed, {} entries\n",
                        to_string(bundle.compression()), bundle.header_version(), bundle.decompressed_size(),
                        bundle.entries().size());
  for (const auto& e : bundle.entries()) {
    out += fmt::format("    {:#010x} {:>10} bytes  {}{}\n", e.offset, e.bytes.size(), printable(e.id),
                       e.target || e.kind == "host" ? "" : "  (target not known)");
  }
  return out;
}

} // namespace aql::tool
