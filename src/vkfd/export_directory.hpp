#pragma once
// Buffers that may be shared with other processes. A memory file begins with a directory of them, so that whoever gets hold of the
// file (a descriptor that was passed on, or /proc/PID/fd of an exported handle) can tell what lies where.
// Thread safety: entries are published with a release store of their offset.

#include <atomic>
#include <cstdint>
#include <optional>

#include "vkfd/backing.hpp"

namespace aql::vkfd {

struct ExportedBuffer {
  std::uint64_t offset = 0, size = 0;
  std::uint32_t flags = 0, gpu_id = 0;
};

class ExportDirectory {
public:
  static constexpr std::uint64_t kBytes = 1u << 20; // of the file, before the first buffer

  // Enters a buffer, if it is not there already. false: full, or the host refuses the mapping.
  [[nodiscard]] static bool enter(const BackingFile& file, const ExportedBuffer& buffer);
  // The buffer at `offset` of a memory file of any process, or nothing: no such file, or nothing was exported there.
  [[nodiscard]] static std::optional<ExportedBuffer> look_up(int fd, std::uint64_t offset);
};

} // namespace aql::vkfd
