#include "loader/elf_dynamic.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace aql::loader {
namespace {

constexpr std::size_t kSymbolSize = 24, kRelaSize = 24;

// Number of dynamic symbols as DT_HASH or, failing that, DT_GNU_HASH tells.
Result<std::uint64_t> symbol_count(const Elf& elf, const Dynamic& d) {
  if (d.hash != 0) {
    AQL_TRY(const auto head, elf.at_address(d.hash, 8, "the symbol hash table"));
    return load_unchecked<std::uint32_t>(head, 4); // nchain
  }
  if (d.gnu_hash == 0) return std::uint64_t{0};
  AQL_TRY(const auto head, elf.at_address(d.gnu_hash, 16, "the GNU hash table"));
  const std::uint64_t bucket_count = load_unchecked<std::uint32_t>(head, 0);
  const std::uint64_t first = load_unchecked<std::uint32_t>(head, 4);
  const std::uint64_t bloom_words = load_unchecked<std::uint32_t>(head, 8);
  const std::uint64_t buckets_at = d.gnu_hash + 16 + 8 * bloom_words;
  AQL_TRY(const auto buckets, elf.at_address(buckets_at, 4 * bucket_count, "the GNU hash table's buckets"));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < bucket_count; ++i)
    last = std::max<std::uint64_t>(last, load_unchecked<std::uint32_t>(buckets, 4 * i));
  if (last < first) return first; // all buckets empty: only the unhashed symbols before `first`
  const std::uint64_t chains_at = buckets_at + 4 * bucket_count;
  for (;; ++last) { // the chain of the last bucket ends with an odd word
    AQL_TRY(const auto word, elf.at_address(chains_at + 4 * (last - first), 4, "the GNU hash table's chains"));
    if ((load_unchecked<std::uint32_t>(word, 0) & 1) != 0) return last + 1;
  }
}

Result<void> read_rela(const Elf& elf, std::uint64_t vaddr, std::uint64_t size, std::vector<Rela>& out) {
  if (size == 0) return {};
  if (size % kRelaSize != 0) return bad_object("relocation table at address {:#x}: size {} is not a multiple of 24", vaddr, size);
  AQL_TRY(const auto table, elf.at_address(vaddr, size, "a relocation table"));
  for (std::size_t at = 0; at < table.size(); at += kRelaSize) {
    const auto info = load_unchecked<std::uint64_t>(table, at + 8);
    out.push_back({load_unchecked<std::uint64_t>(table, at), load_unchecked<std::int64_t>(table, at + 16),
                   static_cast<std::uint32_t>(info), static_cast<std::uint32_t>(info >> 32)});
  }
  return {};
}

// Packed relative relocations: an even word is a place, an odd word a bitmap of the 63 words that follow. The addend stands in
// place.
Result<void> read_relr(const Elf& elf, std::uint64_t vaddr, std::uint64_t size, std::vector<Rela>& out) {
  if (size == 0) return {};
  if (size % 8 != 0) return bad_object("packed relocation table at address {:#x}: size {} is not a multiple of 8", vaddr, size);
  AQL_TRY(const auto table, elf.at_address(vaddr, size, "a packed relocation table"));
  const std::size_t most = out.size() + elf.bytes.size() / 8; // each place is 8 file bytes of its own
  const auto add = [&](std::uint64_t place) -> Result<void> {
    if (out.size() >= most) return bad_object("packed relocation table at address {:#x} names places more than once", vaddr);
    AQL_TRY(const auto content, elf.at_address(place, 8, "the place of a packed relocation"));
    out.push_back({place, load_unchecked<std::int64_t>(content, 0), kRelRelative64, 0});
    return {};
  };
  std::uint64_t next = 0;
  for (std::size_t at = 0; at < table.size(); at += 8) {
    const auto word = load_unchecked<std::uint64_t>(table, at);
    if ((word & 1) == 0) {
      AQL_CHECK(add(word));
      next = word + 8;
    } else {
      for (unsigned bit = 1; bit < 64; ++bit) {
        if ((word >> bit) & 1) AQL_CHECK(add(next + 8ULL * (bit - 1)));
      }
      next += 63 * 8;
    }
  }
  return {};
}

} // namespace

Result<Dynamic> read_dynamic(const Elf& elf) {
  Dynamic d;
  for (const auto& p : elf.programs) {
    if (p.type != kPtDynamic) continue;
    AQL_TRY(const auto table, slice(elf.bytes, p.offset, p.file_size, "the dynamic segment"));
    for (std::size_t at = 0; at + 16 <= table.size(); at += 16) {
      const auto tag = load_unchecked<std::int64_t>(table, at);
      const auto value = load_unchecked<std::uint64_t>(table, at + 8);
      switch (tag) {
      case 0: return d; // DT_NULL
      case 2: d.jmprel_size = value; break;
      case 4: d.hash = value; break;
      case 5: d.strtab = value; break;
      case 6: d.symtab = value; break;
      case 7: d.rela = value; break;
      case 8: d.rela_size = value; break;
      case 9:
        if (value != kRelaSize) return bad_object("relocation entry size {} in the dynamic segment, expected 24", value);
        break;
      case 10: d.strtab_size = value; break;
      case 11:
        if (value != kSymbolSize) return bad_object("symbol entry size {} in the dynamic segment, expected 24", value);
        break;
      case 17:
        return refuse(Errc::unsupported, "CodeObject::parse",
                      "relocations without addends (DT_REL) are not used by AMDGPU code objects");
      case 23: d.jmprel = value; break;
      case 35: d.relr_size = value; break;
      case 36: d.relr = value; break;
      case 0x6ffffef5: d.gnu_hash = value; break;
      default: break;
      }
    }
    return d;
  }
  return d;
}

Result<std::vector<ElfSymbol>> read_symbols(ByteSpan table, ByteSpan names) {
  if (table.size() % kSymbolSize != 0) return bad_object("a symbol table of {} bytes is not a multiple of 24", table.size());
  std::vector<ElfSymbol> symbols;
  symbols.reserve(table.size() / kSymbolSize);
  for (std::size_t at = 0; at < table.size(); at += kSymbolSize) {
    ElfSymbol s;
    AQL_TRY(s.name, c_string(names, load_unchecked<std::uint32_t>(table, at), "a symbol"));
    const auto info = load_unchecked<std::uint8_t>(table, at + 4);
    s.type = info & 0xf;
    s.bind = info >> 4;
    s.section = load_unchecked<std::uint16_t>(table, at + 6);
    s.value = load_unchecked<std::uint64_t>(table, at + 8);
    s.size = load_unchecked<std::uint64_t>(table, at + 16);
    symbols.push_back(s);
  }
  return symbols;
}

Result<std::vector<ElfSymbol>> read_dynamic_symbols(const Elf& elf, const Dynamic& d) {
  if (d.symtab == 0) return std::vector<ElfSymbol>{};
  AQL_TRY(const auto count, symbol_count(elf, d));
  if (count > elf.bytes.size() / kSymbolSize)
    return bad_object("the hash table counts {} dynamic symbols, more than the file can hold", count);
  AQL_TRY(const auto table, elf.at_address(d.symtab, count * kSymbolSize, "the dynamic symbol table"));
  AQL_TRY(const auto names, elf.at_address(d.strtab, d.strtab_size, "the dynamic string table"));
  return read_symbols(table, names);
}

Result<std::vector<Rela>> read_relocations(const Elf& elf, const Dynamic& d) {
  std::vector<Rela> out;
  AQL_CHECK(read_rela(elf, d.rela, d.rela_size, out));
  if (d.jmprel != d.rela) AQL_CHECK(read_rela(elf, d.jmprel, d.jmprel_size, out));
  AQL_CHECK(read_relr(elf, d.relr, d.relr_size, out));
  return out;
}

} // namespace aql::loader
