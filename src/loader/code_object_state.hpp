#pragma once
// What a CodeObject holds, and the steps that fill it. Internal to the loader.
// Thread safety: filled by one thread in CodeObject::parse, constant afterwards.

#include <string>
#include <unordered_map>
#include <vector>

#include <aql/abi/queue.hpp>
#include <aql/code_object.hpp>

#include "loader/elf.hpp"

namespace aql {

struct CodeObject::State {
  // Where code lives in the image, for symbolization. Sorted by offset.
  struct Function {
    std::uint64_t offset = 0, size = 0;
    std::string_view name;
    std::size_t order = 0; // as found: exported symbols first
  };
  struct KernelRange {
    std::uint64_t begin = 0, end = 0;
    std::size_t kernel = 0;
  };

  std::vector<std::byte> bytes;
  loader::Elf elf;
  ElfIdentity identity;
  TargetId target;
  std::uint64_t image_base = 0, image_size = 0, image_align = 1;
  std::vector<Segment> segments;
  std::vector<KernelInfo> kernels;
  std::unordered_map<std::string_view, std::size_t> kernel_by_symbol;
  std::vector<DeviceGlobal> globals;
  std::vector<Relocation> relocations;
  std::vector<std::string> imports;
  std::vector<std::string> printf_formats;
  std::vector<std::string> warnings;
  std::vector<Function> functions;
  std::vector<KernelRange> kernel_ranges;

  [[nodiscard]] const Segment* segment_at(std::uint64_t image_offset) const noexcept;
};

namespace loader {

// Steps of CodeObject::parse, in this order.
[[nodiscard]] Result<void> lay_out_image(CodeObject::State& state);     // segments, image base, size, alignment
[[nodiscard]] Result<void> check_relocations(CodeObject::State& state); // relocations, imports
[[nodiscard]] Result<void> read_kernels(CodeObject::State& state);      // metadata, then each kernel's descriptor
void collect_symbols(CodeObject::State& state);                         // globals, functions, kernel ranges

// Fills the descriptor's part of `kernel` from the symbol; checks alignment, reserved bytes and the entry.
[[nodiscard]] Result<void> attach_descriptor(CodeObject::State& state, KernelInfo& kernel, const ElfSymbol& symbol);

// Names near to `asked` among `names`, ready for a message: ": did you mean a or b?" or "; there are: a, b".
[[nodiscard]] std::string suggest(std::string_view asked, const std::vector<std::string_view>& names);

} // namespace loader
} // namespace aql
