// The memory image: where segments go, and relocation.

#include <algorithm>

#include "base/try.hpp"
#include "loader/code_object_state.hpp"

namespace aql {
namespace loader {
namespace {

constexpr std::uint64_t kMaxAlign = 1ULL << 30;
constexpr std::uint64_t kMaxImage = 1ULL << 47; // the device's address space

constexpr bool is_power_of_two(std::uint64_t v) noexcept { return v != 0 && (v & (v - 1)) == 0; }

} // namespace

Result<void> lay_out_image(CodeObject::State& state) {
  std::uint64_t align = 256; // kernel entries are 256-byte aligned
  for (std::size_t i = 0; i < state.elf.programs.size(); ++i) {
    const auto& p = state.elf.programs[i];
    if (p.type != kPtLoad || p.memory_size == 0) continue;
    if (p.file_size > p.memory_size)
      return bad_object("load segment {}: {:#x} bytes in the file, but {:#x} in memory", i, p.file_size, p.memory_size);
    if (!fits(p.vaddr, p.memory_size, kMaxImage))
      return bad_object("load segment {}: {:#x} bytes at address {:#x} exceed 47 address bits", i, p.memory_size, p.vaddr);
    if (p.align > 1 && (!is_power_of_two(p.align) || p.align > kMaxAlign)) {
      return bad_object("load segment {}: alignment {:#x} is not a power of two up to {:#x}", i, p.align, kMaxAlign);
    }
    align = std::max(align, p.align);
    Segment s;
    s.virtual_address = p.vaddr;
    s.file_offset = p.offset;
    s.file_size = p.file_size;
    s.memory_size = p.memory_size;
    s.align = std::max<std::uint64_t>(p.align, 1);
    s.read = (p.flags & 4) != 0;
    s.write = (p.flags & 2) != 0;
    s.execute = (p.flags & 1) != 0;
    state.segments.push_back(s);
  }
  if (state.segments.empty()) return bad_object("no load segment: nothing to load");
  std::ranges::sort(state.segments, {}, &Segment::virtual_address);
  for (std::size_t i = 1; i < state.segments.size(); ++i) {
    const auto& before = state.segments[i - 1];
    if (before.virtual_address + before.memory_size > state.segments[i].virtual_address) {
      return bad_object("load segments overlap: [{:#x}, {:#x}) and the one at {:#x}", before.virtual_address,
                        before.virtual_address + before.memory_size, state.segments[i].virtual_address);
    }
  }
  state.image_align = align;
  state.image_base = state.segments.front().virtual_address & ~(align - 1);
  state.image_size = state.segments.back().virtual_address + state.segments.back().memory_size - state.image_base;
  for (auto& s : state.segments) {
    s.image_offset = s.virtual_address - state.image_base;
    if (s.write && s.execute)
      state.warnings.push_back(fmt::format("the segment at {:#x} is both writable and executable", s.virtual_address));
  }
  return {};
}

Result<void> check_relocations(CodeObject::State& state) {
  const auto& symbols = state.elf.dynamic_symbols;
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    if (!symbols[i].defined() && !symbols[i].name.empty()) state.imports.emplace_back(symbols[i].name);
  }
  std::ranges::sort(state.imports);
  state.imports.erase(std::unique(state.imports.begin(), state.imports.end()), state.imports.end());

  state.relocations.reserve(state.elf.relocations.size());
  for (std::size_t i = 0; i < state.elf.relocations.size(); ++i) {
    const auto& r = state.elf.relocations[i];
    if (r.type == kRelNone) continue;
    const auto name = relocation_name(r.type);
    if (name == "unknown" || name.starts_with("R_AMDGPU_GOT") || name == "R_AMDGPU_REL16") {
      return refuse(Errc::unsupported, "CodeObject::parse",
                    "relocation {} at address {:#x} has type {} ({}), which has no place in a linked object", i, r.vaddr, r.type,
                    name);
    }
    const std::uint64_t size = (r.type == kRelAbs64 || r.type == kRelRel64 || r.type == kRelRelative64) ? 8 : 4;
    const std::uint64_t offset = r.vaddr - state.image_base;
    const Segment* const segment = r.vaddr >= state.image_base ? state.segment_at(offset) : nullptr;
    if (segment == nullptr || !fits(offset - segment->image_offset, size, segment->memory_size)) {
      return bad_object("relocation {} ({}): its place {:#x} lies outside all load segments", i, name, r.vaddr);
    }
    if (r.symbol >= symbols.size() && r.symbol != 0) {
      return bad_object("relocation {} ({}) at {:#x} uses symbol {}, but there are {}", i, name, r.vaddr, r.symbol, symbols.size());
    }
    Relocation out{offset, r.type, r.addend, {}, false};
    if (r.symbol != 0) {
      out.symbol = symbols[r.symbol].name;
      out.undefined = !symbols[r.symbol].defined();
    }
    state.relocations.push_back(out);
  }
  return {};
}

} // namespace loader

namespace {

using loader::refuse;

constexpr std::string_view kWhere = "CodeObject::load_into";

// Value of one relocation's symbol at this load address.
Result<std::uint64_t> symbol_value(const loader::ElfSymbol& symbol, std::uint64_t bias, const SymbolResolver& resolve) {
  if (symbol.section == loader::kShnAbs) return symbol.value;
  if (symbol.defined()) return symbol.value + bias;
  if (resolve) {
    if (const auto value = resolve(symbol.name)) return *value;
  }
  if (symbol.bind == loader::kStbWeak) return std::uint64_t{0};
  return refuse(Errc::invalid_symbol_name, kWhere,
                "the code object needs symbol \"{}\", which it does not define and nobody supplied",
                loader::printable(symbol.name));
}

} // namespace

std::string_view relocation_name(std::uint32_t type) noexcept {
  switch (type) {
  case 0: return "R_AMDGPU_NONE";
  case 1: return "R_AMDGPU_ABS32_LO";
  case 2: return "R_AMDGPU_ABS32_HI";
  case 3: return "R_AMDGPU_ABS64";
  case 4: return "R_AMDGPU_REL32";
  case 5: return "R_AMDGPU_REL64";
  case 6: return "R_AMDGPU_ABS32";
  case 7: return "R_AMDGPU_GOTPCREL";
  case 8: return "R_AMDGPU_GOTPCREL32_LO";
  case 9: return "R_AMDGPU_GOTPCREL32_HI";
  case 10: return "R_AMDGPU_REL32_LO";
  case 11: return "R_AMDGPU_REL32_HI";
  case 13: return "R_AMDGPU_RELATIVE64";
  case 14: return "R_AMDGPU_REL16";
  default: return "unknown";
  }
}

const Segment* CodeObject::State::segment_at(std::uint64_t image_offset) const noexcept {
  auto after = std::ranges::upper_bound(segments, image_offset, {}, &Segment::image_offset);
  if (after == segments.begin()) return nullptr;
  const Segment& s = *--after;
  return image_offset - s.image_offset < s.memory_size ? &s : nullptr;
}

Result<void> CodeObject::place(std::span<std::byte> image) const {
  if (image.size() < state_->image_size) {
    return refuse(Errc::invalid_argument, kWhere, "the image needs {} bytes, {} were given", state_->image_size, image.size());
  }
  std::size_t done = 0;
  for (const auto& s : state_->segments) {
    const auto at = static_cast<std::size_t>(s.image_offset);
    const auto size = static_cast<std::size_t>(s.file_size);
    std::fill(image.begin() + static_cast<std::ptrdiff_t>(done), image.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0});
    if (size != 0) std::memcpy(image.data() + at, state_->bytes.data() + s.file_offset, size);
    done = at + size;
  }
  std::fill(image.begin() + static_cast<std::ptrdiff_t>(done), image.begin() + static_cast<std::ptrdiff_t>(state_->image_size),
            std::byte{0});
  return {};
}

Result<void> CodeObject::relocate(std::span<std::byte> image, std::uint64_t load_address, const SymbolResolver& resolve) const {
  const State& state = *state_;
  if (image.size() < state.image_size) {
    return refuse(Errc::invalid_argument, kWhere, "the image needs {} bytes, {} were given", state.image_size, image.size());
  }
  if (load_address % state.image_align != 0) {
    return refuse(Errc::invalid_argument, kWhere, "load address {:#x} is not a multiple of the image's alignment {:#x}",
                  load_address, state.image_align);
  }
  const std::uint64_t bias = load_address - state.image_base;
  for (const auto& r : state.elf.relocations) {
    if (r.type == loader::kRelNone) continue;
    std::uint64_t value = bias;
    if (r.type != loader::kRelRelative64) {
      value = 0;
      if (r.symbol != 0) {
        AQL_TRY(value, symbol_value(state.elf.dynamic_symbols[r.symbol], bias, resolve));
      }
    }
    value += static_cast<std::uint64_t>(r.addend);
    const std::uint64_t place = r.vaddr + bias;
    std::size_t size = 4;
    switch (r.type) {
    case loader::kRelAbs64:
    case loader::kRelRelative64: size = 8; break;
    case loader::kRelRel64:
      value -= place;
      size = 8;
      break;
    case loader::kRelAbs32Lo: value &= 0xffffffffU; break;
    case loader::kRelAbs32Hi: value >>= 32; break;
    case loader::kRelRel32Lo: value = (value - place) & 0xffffffffU; break;
    case loader::kRelRel32Hi: value = (value - place) >> 32; break;
    case loader::kRelAbs32:
      if (value > 0xffffffffU) {
        return refuse(Errc::invalid_code_object, kWhere, "R_AMDGPU_ABS32 at address {:#x}: {:#x} does not fit 32 bits", place,
                      value);
      }
      break;
    case loader::kRelRel32: {
      const auto distance = static_cast<std::int64_t>(value - place);
      if (distance != static_cast<std::int32_t>(distance)) {
        return refuse(Errc::invalid_code_object, kWhere, "R_AMDGPU_REL32 at address {:#x}: the distance {} does not fit 32 bits",
                      place, distance);
      }
      value = static_cast<std::uint32_t>(distance);
      break;
    }
    default: return refuse(Errc::unsupported, kWhere, "relocation type {} at address {:#x}", r.type, place);
    }
    std::memcpy(image.data() + (r.vaddr - state.image_base), &value, size); // little-endian host
  }
  return {};
}

Result<void> CodeObject::load_into(std::span<std::byte> image, std::uint64_t load_address, const SymbolResolver& resolve) const {
  AQL_CHECK(place(image));
  return relocate(image, load_address, resolve);
}

} // namespace aql
