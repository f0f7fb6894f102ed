#pragma once
// The trace file: one line for each ioctl with its fields before and after, and one for each packet. All processes below one
// `aql vgpu` append to one file; a line is one write.
// Thread safety: all may be called from any thread.

#include <cstdint>
#include <string>

namespace aql::vkfd {

[[nodiscard]] bool tracing() noexcept;
void trace(const std::string& text);

} // namespace aql::vkfd
