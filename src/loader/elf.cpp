#include "loader/elf.hpp"

#include "base/try.hpp"
#include "loader/elf_dynamic.hpp"

namespace aql::loader {
namespace {

constexpr std::uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA
constexpr std::uint16_t kMaxPrograms = 1024; // linkers write about ten; a bound keeps look-ups by address cheap

std::string_view os_abi_name(std::uint8_t os_abi) noexcept {
  switch (os_abi) {
  case 0: return "System V";
  case 3: return "Linux";
  case 64: return "AMDGPU HSA";
  case 65: return "AMDGPU PAL";
  case 66: return "AMDGPU Mesa 3D";
  default: return "unknown";
  }
}

std::string_view machine_name(std::uint16_t machine) noexcept {
  switch (machine) {
  case 3: return "x86";
  case 62: return "x86-64";
  case 183: return "AArch64";
  case 190: return "CUDA";
  case 224: return "AMDGPU";
  case 243: return "RISC-V";
  default: return "unknown";
  }
}

Result<void> check_identity(ByteSpan bytes) {
  constexpr unsigned char magic[4] = {0x7f, 'E', 'L', 'F'};
  if (bytes.empty()) return bad_object("the file is empty");
  if (bytes.size() < 4 || std::memcmp(bytes.data(), magic, 4) != 0) {
    std::string start;
    for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i)
      start += fmt::format("{}{:02x}", i == 0 ? "" : " ", std::to_integer<unsigned>(bytes[i]));
    return bad_object("not an ELF file: starts with {} instead of 7f 45 4c 46", start);
  }
  AQL_TRY(const auto elf_class, load<std::uint8_t>(bytes, 4, "the ELF class"));
  if (elf_class == 1) return bad_object("32-bit ELF (class 1 at offset 4); AMDGPU code objects are 64-bit");
  if (elf_class != 2) return bad_object("ELF class {} at offset 4 is neither 32-bit (1) nor 64-bit (2)", elf_class);
  AQL_TRY(const auto endianness, load<std::uint8_t>(bytes, 5, "the ELF byte order"));
  if (endianness == 2) return bad_object("big-endian ELF (byte order 2 at offset 5); AMDGPU code objects are little-endian");
  if (endianness != 1)
    return bad_object("ELF byte order {} at offset 5 is neither little-endian (1) nor big-endian (2)", endianness);
  return {};
}

Result<std::uint32_t> check_header(const ElfHeader& h) {
  if (h.ident[6] != 1 || h.version != 1)
    return bad_object("ELF version {} (offset 6) and {} (offset 20) must both be 1", h.ident[6], h.version);
  if (h.machine != 224)
    return bad_object("machine {} ({}) at offset 18; an AMDGPU code object has 224", h.machine, machine_name(h.machine));
  if (h.ident[7] != 64) {
    return bad_object("OS/ABI {} ({}) at offset 7; this build reads AMDGPU HSA (64) only: compile with --target=amdgcn-amd-amdhsa",
                      h.ident[7], os_abi_name(h.ident[7]));
  }
  // The ABI byte counts from code object V2; people and compilers count code object versions.
  const std::uint32_t version = h.ident[8] + 2U;
  if (version < 4 || version > 6) {
    return refuse(Errc::unsupported, "CodeObject::parse",
                  "code object version {}, this build reads 4 to 6; compile with -mcode-object-version={}", version,
                  version < 4 ? 5 : 6);
  }
  if (h.type == 1) return bad_object("relocatable object (ELF type REL at offset 16): link it first, e.g. ld.lld -shared");
  if (h.type != 3) return bad_object("ELF type {} at offset 16; a code object is a shared object (3)", h.type);
  return version;
}

template <class Entry>
Result<std::vector<Entry>> read_table(ByteSpan bytes, std::uint64_t offset, std::uint64_t count, std::string_view what) {
  if (count > bytes.size() / sizeof(Entry)) {
    return bad_object("{} ({} entries at offset {:#x}) lie beyond the end ({:#x} bytes); is the file cut off?", what, count, offset,
                      bytes.size());
  }
  AQL_TRY(const auto raw, slice(bytes, offset, count * sizeof(Entry), what));
  std::vector<Entry> table(static_cast<std::size_t>(count));
  if (!raw.empty()) std::memcpy(table.data(), raw.data(), raw.size());
  return table;
}

Result<std::vector<SectionHeader>> read_sections(ByteSpan bytes, const ElfHeader& h) {
  if (h.section_offset == 0) return std::vector<SectionHeader>{};
  if (h.section_entry_size != sizeof(SectionHeader))
    return bad_object("section header size {} at offset 58, expected 64", h.section_entry_size);
  std::uint64_t count = h.section_count;
  if (count == 0) { // more than 0xfeff sections: the first one's size counts them
    AQL_TRY(const auto first, load<SectionHeader>(bytes, h.section_offset, "the first section header"));
    count = first.size;
  }
  return read_table<SectionHeader>(bytes, h.section_offset, count, "section headers");
}

Result<std::vector<ElfSymbol>> read_symtab(const Elf& elf, std::uint32_t section_type) {
  for (std::size_t i = 0; i < elf.sections.size(); ++i) {
    const auto& section = elf.sections[i];
    if (section.type != section_type) continue;
    if (section.link >= elf.sections.size() || elf.sections[section.link].type != kShtStrtab) {
      return bad_object("symbol table (section {}) links to section {}, which is not a string table", i, section.link);
    }
    const auto& strings = elf.sections[section.link];
    AQL_TRY(const auto table, slice(elf.bytes, section.offset, section.size, "a symbol table"));
    AQL_TRY(const auto names, slice(elf.bytes, strings.offset, strings.size, "a string table"));
    return read_symbols(table, names);
  }
  return std::vector<ElfSymbol>{};
}

// Looks for the metadata in one note area; leaves `elf` alone if it is not there.
Result<void> scan_notes(Elf& elf, std::uint64_t offset, std::uint64_t size) {
  AQL_TRY(const auto notes, slice(elf.bytes, offset, size, "a note segment"));
  std::uint64_t at = 0;
  while (notes.size() - at >= 12) {
    const auto name_size = load_unchecked<std::uint32_t>(notes, at);
    const auto payload_size = load_unchecked<std::uint32_t>(notes, at + 4);
    const auto type = load_unchecked<std::uint32_t>(notes, at + 8);
    const std::uint64_t name_at = at + 12;
    const std::uint64_t payload_at = name_at + ((std::uint64_t{name_size} + 3) & ~3ULL);
    if (!fits(name_at, name_size, notes.size()) || !fits(payload_at, payload_size, notes.size())) {
      return bad_object("the note at offset {:#x} (name {} bytes, payload {} bytes) runs over its segment's end", offset + at,
                        name_size, payload_size);
    }
    const std::string_view name(reinterpret_cast<const char*>(notes.data()) + name_at, name_size);
    if (type == kNoteMetadata && name == std::string_view("AMDGPU\0", 7)) {
      elf.metadata = notes.subspan(static_cast<std::size_t>(payload_at), payload_size);
      elf.metadata_offset = offset + payload_at;
      return {};
    }
    at = payload_at + ((std::uint64_t{payload_size} + 3) & ~3ULL);
    if (at > notes.size()) break;
  }
  return {};
}

} // namespace

Result<ByteSpan> Elf::at_address(std::uint64_t vaddr, std::uint64_t size, std::string_view what) const {
  for (const auto& p : programs) {
    if (p.type != kPtLoad || vaddr < p.vaddr || !fits(vaddr - p.vaddr, size, p.file_size)) continue;
    return slice(bytes, p.offset + (vaddr - p.vaddr), size, what);
  }
  return bad_object("{} ({} bytes at address {:#x}) does not lie in the file-backed part of any load segment", what, size, vaddr);
}

Result<Elf> Elf::read(ByteSpan bytes) {
  AQL_CHECK(check_identity(bytes));
  Elf elf;
  elf.bytes = bytes;
  AQL_TRY(elf.header, load<ElfHeader>(bytes, 0, "the ELF header"));
  AQL_TRY(elf.code_object_version, check_header(elf.header));
  const auto& h = elf.header;
  if (h.program_count == 0) return bad_object("no program headers (count at offset 56 is 0): nothing to load");
  if (h.program_count > kMaxPrograms)
    return bad_object("{} program headers (offset 56); code objects have fewer than {}", h.program_count, kMaxPrograms);
  if (h.program_entry_size != sizeof(ProgramHeader))
    return bad_object("program header size {} at offset 54, expected 56", h.program_entry_size);
  AQL_TRY(elf.programs, read_table<ProgramHeader>(bytes, h.program_offset, h.program_count, "program headers"));
  AQL_TRY(elf.sections, read_sections(bytes, h));
  for (std::size_t i = 0; i < elf.programs.size(); ++i) {
    const auto& p = elf.programs[i];
    if (p.type == kPtLoad && !fits(p.offset, p.file_size, bytes.size())) {
      return bad_object("load segment {} ({:#x} bytes at offset {:#x}) lies beyond the end ({:#x} bytes); is the file cut off?", i,
                        p.file_size, p.offset, bytes.size());
    }
  }

  AQL_TRY(const Dynamic dynamic, read_dynamic(elf));
  AQL_TRY(elf.dynamic_symbols, read_symtab(elf, kShtDynsym));
  if (elf.dynamic_symbols.empty()) { // no section table: the dynamic segment knows as well
    AQL_TRY(elf.dynamic_symbols, read_dynamic_symbols(elf, dynamic));
  }
  AQL_TRY(elf.symbols, read_symtab(elf, kShtSymtab));
  AQL_TRY(elf.relocations, read_relocations(elf, dynamic));

  for (const auto& p : elf.programs) {
    if (p.type != kPtNote || elf.metadata.data() != nullptr) continue;
    AQL_CHECK(scan_notes(elf, p.offset, p.file_size));
  }
  return elf;
}

} // namespace aql::loader
