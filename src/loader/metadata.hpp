#pragma once
// The MessagePack metadata of a code object (note NT_AMDGPU_METADATA): kernels and their arguments.
// LLVM AMDGPUUsage, "Code Object V3 Metadata" to "Code Object V5 Metadata". Internal to the loader; msgpack stays in the .cpp.
// Thread safety: a pure function.

#include <string>
#include <vector>

#include <aql/code_object.hpp>

#include "loader/bytes.hpp"

namespace aql::loader {

struct Metadata {
  std::uint64_t version_major = 0, version_minor = 0;
  std::string target; // "amdgcn-amd-amdhsa--gfx942", empty if not recorded
  std::vector<std::string> printf_formats;
  std::vector<KernelInfo> kernels; // everything that does not need the descriptor
};

// `file_offset` is where the payload starts in the file, for messages. Hostile nesting, counts and sizes are refused before
// anything is allocated for them; no exception leaves.
[[nodiscard]] Result<Metadata> read_metadata(ByteSpan payload, std::uint64_t file_offset);

} // namespace aql::loader
