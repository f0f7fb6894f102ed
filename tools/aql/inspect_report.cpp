// The reports of `aql inspect`: occupancy and JSON. The text stands in inspect_text.cpp.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "inspect.hpp"

namespace aql::tool {
namespace {

using nlohmann::json;

std::string hex_bytes(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const auto b : bytes) {
    out += digits[std::to_integer<unsigned>(b) >> 4];
    out += digits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

json dim_json(const std::optional<Dim3>& d) { return d ? json{d->x, d->y, d->z} : json(nullptr); }

// A limit that does not apply is null.
json count_json(std::uint32_t n) { return n == UINT32_MAX ? json(nullptr) : json(n); }

json args_json(const KernelInfo& kernel) {
  json args = json::array();
  for (const auto& a : kernel.args) {
    args.push_back({{"name", a.name},
                    {"type_name", a.type_name},
                    {"value_kind", a.value_kind},
                    {"offset", a.offset},
                    {"size", a.size},
                    {"hidden", a.hidden()},
                    {"address_space", to_string(a.address_space)},
                    {"access", to_string(a.access)},
                    {"actual_access", to_string(a.actual_access)},
                    {"is_const", a.is_const},
                    {"is_restrict", a.is_restrict},
                    {"is_volatile", a.is_volatile},
                    {"is_pipe", a.is_pipe},
                    {"pointee_align", a.pointee_align}});
  }
  return args;
}

json fields_json(const CodeObject& object, const KernelInfo& kernel) {
  json fields = json::array();
  for (const auto& f : object.describe(kernel)) {
    fields.push_back({{"word", f.word},
                      {"name", f.name},
                      {"byte_offset", f.byte_offset},
                      {"shift", f.shift},
                      {"width", f.width},
                      {"value", f.value},
                      {"meaning", f.meaning}});
  }
  return fields;
}

json occupancy_json(const KernelOccupancy& o) {
  json factors = json::object();
  for (std::size_t i = 0; i < loader::kOccupancyFactors; ++i) {
    factors[std::string(to_string(static_cast<loader::OccupancyFactor>(i)))] = {
        {"groups_per_cu", count_json(o.result.groups_by_factor[i])}, {"waves_per_simd", o.result.waves_by_factor[i]}};
  }
  return {{"product", o.product->name},
          {"target", o.product->target},
          {"group_size", o.request.group_size},
          {"lds_bytes", o.request.lds_bytes},
          {"waves_per_group", o.result.waves_per_group},
          {"groups_per_cu", o.result.groups},
          {"waves_per_simd", o.result.waves_per_simd},
          {"compiler_waves_per_simd", o.result.compiler_waves_per_simd},
          {"limit", to_string(o.result.limit)},
          {"factors", factors}};
}

json kernel_json(const CodeObject& object, const KernelInfo& kernel, const InspectOptions& options) {
  json j{{"name", kernel.name},
         {"symbol", kernel.symbol},
         {"language", kernel.language},
         {"kind", kernel.kind},
         {"descriptor_offset", kernel.descriptor_offset},
         {"entry_offset", kernel.entry_offset},
         {"code_size", kernel.code_size},
         {"kernarg_size", kernel.kernarg_size},
         {"kernarg_align", kernel.kernarg_align},
         {"group_segment_size", kernel.group_segment_size},
         {"private_segment_size", kernel.private_segment_size},
         {"max_flat_workgroup_size", kernel.max_flat_workgroup_size},
         {"wavefront_size", kernel.wavefront_size},
         {"sgpr_count", kernel.sgpr_count},
         {"vgpr_count", kernel.vgpr_count},
         {"agpr_count", kernel.agpr_count},
         {"sgpr_spill_count", kernel.sgpr_spill_count},
         {"vgpr_spill_count", kernel.vgpr_spill_count},
         {"allocated_vgprs", kernel.allocated_vgprs},
         {"allocated_sgprs", kernel.allocated_sgprs},
         {"accum_offset", kernel.accum_offset},
         {"uniform_work_group_size", kernel.uniform_work_group_size},
         {"uses_dynamic_stack", kernel.uses_dynamic_stack},
         {"required_workgroup_size", dim_json(kernel.required_workgroup_size)},
         {"workgroup_size_hint", dim_json(kernel.workgroup_size_hint)},
         {"cluster_dims", dim_json(kernel.cluster_dims)},
         {"args", args_json(kernel)},
         {"descriptor_bytes", hex_bytes(kernel.descriptor_bytes)},
         {"descriptor", fields_json(object, kernel)}};
  const auto scratch = scratch_bytes_per_wave(kernel.private_segment_size, kernel.wavefront_size);
  j["scratch_bytes_per_wave"] = scratch ? json(*scratch) : json(nullptr);
  const auto occupancy = kernel_occupancy(object, kernel, options);
  j["occupancy"] = occupancy ? occupancy_json(*occupancy) : json(nullptr);
  return j;
}

} // namespace

std::vector<const sim::DeviceProfile*> products_for(const TargetId& target) {
  std::vector<const sim::DeviceProfile*> products;
  for (const auto& p : sim::device_profiles()) {
    auto device = TargetId::parse(p.target);
    if (!device) continue;
    // Features do not change occupancy: a product counts even if its default state is the other one.
    device->xnack = target.xnack;
    device->sramecc = target.sramecc;
    if (!incompatibility(target, *device)) products.push_back(&p);
  }
  return products;
}

std::optional<KernelOccupancy> kernel_occupancy(const CodeObject& object, const KernelInfo& kernel, const InspectOptions& options) {
  const auto products = products_for(object.target_id());
  if (products.empty()) return std::nullopt;
  const sim::DeviceProfile* const p = options.product == nullptr ? products.front() : options.product;
  if (std::ranges::find(products, p) == products.end()) return std::nullopt;
  std::uint32_t group_size = options.group_size;
  if (group_size == 0 && kernel.required_workgroup_size) {
    const auto& d = *kernel.required_workgroup_size;
    group_size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{d.x} * d.y, 1024) * std::min<std::uint64_t>(d.z, 1024));
  }
  if (group_size == 0) group_size = std::min(kernel.max_flat_workgroup_size, p->max_workgroup_size);
  loader::OccupancyLimits limits;
  limits.simds = p->simds_per_cu;
  limits.waves_per_simd = p->waves_per_simd;
  limits.vgprs_per_lane = p->vgprs_per_lane;
  limits.vgpr_granule = p->vgpr_granule;
  limits.lds_bytes = p->lds_bytes;
  limits.lds_granule = p->lds_granule;
  limits.group_slots = p->groups_per_cu;
  KernelOccupancy o;
  o.product = p;
  // The descriptor's VGPRs, not the metadata's: that is what the hardware hands out.
  o.request = {kernel.allocated_vgprs, kernel.sgpr_count, kernel.group_segment_size + options.dynamic_lds, group_size,
               kernel.wavefront_size};
  o.result = loader::occupancy(o.request, limits);
  return o;
}

json to_json(const CodeObject& object, const InspectOptions& options) {
  const auto& id = object.identity();
  const auto& target = object.target_id();
  json j{{"elf",
          {{"class", 64},
           {"byte_order", "little"},
           {"type", id.type},
           {"machine", id.machine},
           {"os_abi", id.os_abi},
           {"abi_version", id.abi_version},
           {"flags", id.flags},
           {"sections", id.sections},
           {"program_headers", id.program_headers}}},
         {"code_object_version", object.code_object_version()},
         {"target_id", target.to_string()},
         {"processor", target.processor},
         {"xnack", to_string(target.xnack)},
         {"sramecc", to_string(target.sramecc)},
         {"generic_version", target.generic_version},
         {"size", id.file_size},
         {"image_size", object.image_size()},
         {"image_align", object.image_align()},
         {"imports", object.imports()},
         {"printf_formats", object.printf_formats()},
         {"warnings", object.warnings()}};
  j["segments"] = json::array();
  for (const auto& s : object.segments()) {
    j["segments"].push_back({{"image_offset", s.image_offset},
                             {"virtual_address", s.virtual_address},
                             {"file_offset", s.file_offset},
                             {"file_size", s.file_size},
                             {"memory_size", s.memory_size},
                             {"align", s.align},
                             {"read", s.read},
                             {"write", s.write},
                             {"execute", s.execute}});
  }
  j["relocations"] = json::array();
  for (const auto& r : object.relocations()) {
    j["relocations"].push_back({{"image_offset", r.image_offset},
                                {"type", relocation_name(r.type)},
                                {"addend", r.addend},
                                {"symbol", r.symbol},
                                {"undefined", r.undefined}});
  }
  j["globals"] = json::array();
  for (const auto& g : object.globals())
    j["globals"].push_back({{"name", g.name}, {"image_offset", g.image_offset}, {"size", g.size}});
  j["kernels"] = json::array();
  for (const auto& k : object.kernels()) j["kernels"].push_back(kernel_json(object, k, options));
  return j;
}

json to_json(const Bundle& bundle) {
  json entries = json::array();
  for (const auto& e : bundle.entries()) {
    entries.push_back({{"id", e.id},
                       {"kind", e.kind},
                       {"target", e.target ? json(e.target->to_string()) : json(nullptr)},
                       {"offset", e.offset},
                       {"size", e.bytes.size()}});
  }
  return {{"compression", to_string(bundle.compression())},
          {"header_version", bundle.header_version()},
          {"size", bundle.decompressed_size()},
          {"entries", entries}};
}

} // namespace aql::tool
