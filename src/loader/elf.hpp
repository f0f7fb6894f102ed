#pragma once
// ELF64 reader for AMDGPU shared objects: headers, sections, symbols, notes and relocation tables over a span of bytes that
// may be hostile. libelf is not made for that. ELF gABI; LLVM AMDGPUUsage, "ELF Code Object". Internal to the loader.
// Thread safety: values; views point into the bytes that were given.

#include <cstdint>
#include <string_view>
#include <vector>

#include "loader/bytes.hpp"

namespace aql::loader {

inline constexpr std::uint32_t kPtLoad = 1, kPtDynamic = 2, kPtNote = 4;
inline constexpr std::uint32_t kShtSymtab = 2, kShtStrtab = 3, kShtNobits = 8, kShtDynsym = 11;
inline constexpr std::uint16_t kShnUndef = 0, kShnAbs = 0xfff1;
inline constexpr std::uint8_t kSttObject = 1, kSttFunc = 2, kSttKernel = 10;
inline constexpr std::uint8_t kStbLocal = 0, kStbWeak = 2;

// Relocation types, AMDGPUUsage "Relocation Records".
enum RelocationType : std::uint32_t {
  kRelNone = 0,
  kRelAbs32Lo = 1,
  kRelAbs32Hi = 2,
  kRelAbs64 = 3,
  kRelRel32 = 4,
  kRelRel64 = 5,
  kRelAbs32 = 6,
  kRelRel32Lo = 10,
  kRelRel32Hi = 11,
  kRelRelative64 = 13,
};

struct ElfHeader { // Elf64_Ehdr as in the file
  std::uint8_t ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_offset, section_offset;
  std::uint32_t flags;
  std::uint16_t header_size, program_entry_size, program_count, section_entry_size, section_count, name_section;
};
static_assert(sizeof(ElfHeader) == 64);

struct ProgramHeader { // Elf64_Phdr
  std::uint32_t type, flags;
  std::uint64_t offset, vaddr, paddr, file_size, memory_size, align;
};
static_assert(sizeof(ProgramHeader) == 56);

struct SectionHeader { // Elf64_Shdr
  std::uint32_t name, type;
  std::uint64_t flags, addr, offset, size;
  std::uint32_t link, info;
  std::uint64_t align, entry_size;
};
static_assert(sizeof(SectionHeader) == 64);

struct ElfSymbol {
  std::string_view name;
  std::uint64_t value = 0, size = 0;
  std::uint16_t section = 0;
  std::uint8_t type = 0, bind = 0;
  [[nodiscard]] bool defined() const noexcept { return section != kShnUndef; }
};

struct Rela {
  std::uint64_t vaddr = 0;
  std::int64_t addend = 0;
  std::uint32_t type = 0, symbol = 0; // symbol: index into the dynamic symbols, 0 = none
};

struct Elf {
  ByteSpan bytes;
  ElfHeader header{};
  std::uint32_t code_object_version = 0; // 4, 5, 6
  std::vector<ProgramHeader> programs;
  std::vector<SectionHeader> sections; // empty if the section table was stripped
  std::vector<ElfSymbol> dynamic_symbols;
  std::vector<ElfSymbol> symbols; // .symtab; empty if stripped
  std::vector<Rela> relocations;
  ByteSpan metadata; // the AMDGPU metadata note's payload (MessagePack)
  std::uint64_t metadata_offset = 0;

  // Checks identity, class, machine, version and type, each with its own message, and reads all tables.
  [[nodiscard]] static Result<Elf> read(ByteSpan bytes);

  // The file bytes behind [vaddr, vaddr + size), which must lie in the file-backed part of one PT_LOAD.
  [[nodiscard]] Result<ByteSpan> at_address(std::uint64_t vaddr, std::uint64_t size, std::string_view what) const;
};

} // namespace aql::loader
