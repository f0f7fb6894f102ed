#include <aql/code_object.hpp>

#include <algorithm>

#include "base/try.hpp"
#include "loader/code_object_state.hpp"
#include "loader/metadata.hpp"

namespace aql {

using loader::printable;
using loader::refuse;

namespace {

constexpr std::uint32_t kKnownFlags = 0xff000fff;

Result<std::shared_ptr<CodeObject::State>> read_state(std::vector<std::byte>&& bytes) {
  auto state = std::make_shared<CodeObject::State>();
  state->bytes = std::move(bytes);
  AQL_TRY(state->elf, loader::Elf::read(state->bytes));
  const auto& h = state->elf.header;
  state->identity = {h.ident[7],         h.ident[8], h.type, h.machine, h.flags, h.program_count, state->elf.sections.size(),
                     state->bytes.size()};
  AQL_TRY(state->target, TargetId::from_elf_flags(h.flags, state->elf.code_object_version));
  if ((h.flags & ~kKnownFlags) != 0)
    state->warnings.push_back(fmt::format("e_flags {:#x} has bits that this build does not know", h.flags));
  AQL_CHECK(loader::lay_out_image(*state));
  AQL_CHECK(loader::check_relocations(*state));
  AQL_CHECK(loader::read_kernels(*state));
  loader::collect_symbols(*state);
  return state;
}

} // namespace

Result<CodeObject> CodeObject::parse(std::vector<std::byte>&& bytes) {
  AQL_TRY(auto state, read_state(std::move(bytes)));
  return CodeObject(std::move(state));
}

Result<CodeObject> CodeObject::parse(std::span<const std::byte> bytes) {
  return parse(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

std::uint32_t CodeObject::code_object_version() const noexcept { return state_->elf.code_object_version; }
const TargetId& CodeObject::target_id() const noexcept { return state_->target; }
const ElfIdentity& CodeObject::identity() const noexcept { return state_->identity; }
std::span<const std::byte> CodeObject::bytes() const noexcept { return state_->bytes; }
std::span<const KernelInfo> CodeObject::kernels() const noexcept { return state_->kernels; }
std::span<const DeviceGlobal> CodeObject::globals() const noexcept { return state_->globals; }
std::span<const Segment> CodeObject::segments() const noexcept { return state_->segments; }
std::span<const Relocation> CodeObject::relocations() const noexcept { return state_->relocations; }
std::span<const std::string> CodeObject::printf_formats() const noexcept { return state_->printf_formats; }
std::span<const std::string> CodeObject::imports() const noexcept { return state_->imports; }
std::span<const std::string> CodeObject::warnings() const noexcept { return state_->warnings; }
std::uint64_t CodeObject::image_size() const noexcept { return state_->image_size; }
std::uint64_t CodeObject::image_align() const noexcept { return state_->image_align; }

Result<const KernelInfo*> CodeObject::find_kernel(std::string_view name) const {
  const auto& index = state_->kernel_by_symbol;
  auto found = index.find(name);
  if (found == index.end()) found = index.find(std::string(name) + ".kd");
  if (found != index.end()) return &state_->kernels[found->second];
  std::vector<std::string_view> names;
  for (const auto& k : state_->kernels) {
    if (!name.empty() && k.name == name) {
      return refuse(Errc::invalid_symbol_name, "CodeObject::find_kernel",
                    "\"{}\" is a kernel's name in the source; its symbol is \"{}\": ask for that", printable(name),
                    printable(k.display_name()));
    }
    names.push_back(k.display_name());
  }
  return refuse(Errc::invalid_symbol_name, "CodeObject::find_kernel", "no kernel \"{}\"{}", printable(name),
                loader::suggest(name, names));
}

Result<const DeviceGlobal*> CodeObject::find_global(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& g : state_->globals) {
    if (g.name == name) return &g;
    names.push_back(g.name);
  }
  return refuse(Errc::invalid_symbol_name, "CodeObject::find_global", "no global \"{}\"{}", printable(name),
                loader::suggest(name, names));
}

const KernelInfo* CodeObject::kernel_at(std::uint64_t image_offset) const noexcept {
  const auto& ranges = state_->kernel_ranges;
  auto after = std::ranges::upper_bound(ranges, image_offset, {}, &State::KernelRange::begin);
  if (after == ranges.begin()) return nullptr;
  const auto& range = *--after;
  return image_offset < range.end ? &state_->kernels[range.kernel] : nullptr;
}

std::optional<SymbolAt> CodeObject::function_at(std::uint64_t image_offset) const noexcept {
  const auto& functions = state_->functions;
  auto after = std::ranges::upper_bound(functions, image_offset, {}, &State::Function::offset);
  if (after == functions.begin()) return std::nullopt;
  const auto& f = *--after;
  if (image_offset - f.offset >= f.size) return std::nullopt;
  return SymbolAt{f.name, image_offset - f.offset};
}

namespace loader {

Result<void> read_kernels(CodeObject::State& state) {
  if (state.elf.metadata.empty()) {
    state.warnings.emplace_back("no AMDGPU metadata note: the object offers no kernels");
    return {};
  }
  AQL_TRY(auto metadata, read_metadata(state.elf.metadata, state.elf.metadata_offset));
  state.printf_formats = std::move(metadata.printf_formats);
  state.kernels = std::move(metadata.kernels);
  if (!metadata.target.empty()) {
    const auto named = TargetId::parse(metadata.target);
    if (!named || named->short_name() != state.target.short_name()) {
      state.warnings.push_back(
          fmt::format("the metadata says target \"{}\", e_flags say \"{}\"", printable(metadata.target), state.target.to_string()));
    }
  }
  // The dynamic symbols decide; the full table serves objects whose descriptors are not exported.
  std::unordered_map<std::string_view, const ElfSymbol*> by_name;
  for (const auto* table : {&state.elf.dynamic_symbols, &state.elf.symbols}) {
    for (const auto& s : *table) {
      if (s.defined() && !s.name.empty()) by_name.try_emplace(s.name, &s);
    }
  }
  state.kernel_by_symbol.reserve(state.kernels.size());
  for (std::size_t i = 0; i < state.kernels.size(); ++i) {
    auto& kernel = state.kernels[i];
    if (!state.kernel_by_symbol.try_emplace(kernel.symbol, i).second) {
      return bad_object("metadata: two kernels have the symbol \"{}\"", printable(kernel.symbol));
    }
    const auto found = by_name.find(kernel.symbol);
    if (found == by_name.end())
      return bad_object("metadata names the kernel symbol \"{}\", which the symbol table has not", printable(kernel.symbol));
    AQL_CHECK(attach_descriptor(state, kernel, *found->second));
  }
  return {};
}

void collect_symbols(CodeObject::State& state) {
  const auto& elf = state.elf;
  const auto& exported = elf.dynamic_symbols.empty() ? elf.symbols : elf.dynamic_symbols;
  for (const auto& s : exported) {
    if (!s.defined() || s.type != kSttObject || s.bind == kStbLocal || s.section == kShnAbs ||
        state.kernel_by_symbol.contains(s.name))
      continue;
    const std::uint64_t offset = s.value - state.image_base;
    const Segment* const segment = s.value >= state.image_base ? state.segment_at(offset) : nullptr;
    if (segment == nullptr || !fits(offset - segment->image_offset, s.size, segment->memory_size)) {
      state.warnings.push_back(fmt::format("global \"{}\" ({} bytes at {:#x}) lies outside all load segments and is left out",
                                           printable(s.name), s.size, s.value));
      continue;
    }
    state.globals.push_back({std::string(s.name), offset, s.size});
  }

  auto& functions = state.functions;
  for (const auto* table : {&elf.dynamic_symbols, &elf.symbols}) {
    for (const auto& s : *table) {
      const bool code = s.type == kSttFunc || s.type == kSttKernel;
      if (!code || !s.defined() || s.value < state.image_base || s.value - state.image_base >= state.image_size) continue;
      functions.push_back({s.value - state.image_base, s.size, s.name, 0});
    }
  }
  // Exported names stand first in the list and stay before local aliases of the same place.
  for (std::size_t i = 0; i < functions.size(); ++i) functions[i].order = i;
  std::ranges::sort(functions,
                    [](const auto& a, const auto& b) { return std::pair(a.offset, a.order) < std::pair(b.offset, b.order); });
  const auto same_place = [](const auto& a, const auto& b) { return a.offset == b.offset; };
  functions.erase(std::unique(functions.begin(), functions.end(), same_place), functions.end());
  for (std::size_t i = 0; i < functions.size(); ++i) { // a symbol without a size reaches to the next, or to its segment's end
    if (functions[i].size != 0) continue;
    const Segment* const segment = state.segment_at(functions[i].offset);
    const std::uint64_t limit = segment == nullptr ? functions[i].offset : segment->image_offset + segment->memory_size;
    const std::uint64_t next = i + 1 < functions.size() ? functions[i + 1].offset : limit;
    functions[i].size = std::min(next, limit) - functions[i].offset;
  }

  for (std::size_t i = 0; i < state.kernels.size(); ++i) {
    auto& kernel = state.kernels[i];
    const auto at = std::ranges::lower_bound(functions, kernel.entry_offset, {}, &CodeObject::State::Function::offset);
    if (at != functions.end() && at->offset == kernel.entry_offset) kernel.code_size = at->size;
    state.kernel_ranges.push_back({kernel.entry_offset, kernel.entry_offset + kernel.code_size, i});
  }
  auto& ranges = state.kernel_ranges;
  std::ranges::sort(ranges,
                    [](const auto& a, const auto& b) { return std::pair(a.begin, a.kernel) < std::pair(b.begin, b.kernel); });
  for (std::size_t i = 0; i < ranges.size(); ++i) { // no symbol at the entry: up to the next kernel or the segment's end
    if (ranges[i].end != ranges[i].begin) continue;
    const Segment* const segment = state.segment_at(ranges[i].begin);
    std::uint64_t limit = segment->image_offset + segment->memory_size;
    if (i + 1 < ranges.size()) limit = std::min(limit, std::max(ranges[i + 1].begin, ranges[i].begin));
    ranges[i].end = limit;
  }
}

} // namespace loader
} // namespace aql
