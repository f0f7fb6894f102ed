#pragma once
// The dynamic segment of an AMDGPU shared object: symbol table, hash tables and relocation tables. Internal to the loader.

#include "loader/elf.hpp"

namespace aql::loader {

struct Dynamic {
  std::uint64_t symtab = 0, strtab = 0, strtab_size = 0, hash = 0, gnu_hash = 0;
  std::uint64_t rela = 0, rela_size = 0, jmprel = 0, jmprel_size = 0, relr = 0, relr_size = 0;
};

// All zero if there is no PT_DYNAMIC.
[[nodiscard]] Result<Dynamic> read_dynamic(const Elf& elf);
[[nodiscard]] Result<std::vector<ElfSymbol>> read_symbols(ByteSpan table, ByteSpan names);
// Through DT_SYMTAB and a hash table, for files without section headers.
[[nodiscard]] Result<std::vector<ElfSymbol>> read_dynamic_symbols(const Elf& elf, const Dynamic& dynamic);
// DT_RELA, DT_JMPREL and DT_RELR. Needs elf.dynamic_symbols.
[[nodiscard]] Result<std::vector<Rela>> read_relocations(const Elf& elf, const Dynamic& dynamic);

} // namespace aql::loader
