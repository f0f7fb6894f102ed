#pragma once
// Buffer resources (V#) and buffer addresses. CDNA3 ISA guide, tables "Buffer Resource Descriptor" and "Buffer Addressing".
// Thread safety: values.

#include <cstdint>

namespace aql::sim::mem {

struct BufferResource {
  std::uint64_t base = 0;
  std::uint32_t stride = 0;       // bytes; 14 bits, 18 with add_tid in untyped accesses
  std::uint32_t num_records = 0;  // bytes, or strides for structured accesses
  std::uint32_t index_stride = 8; // swizzle: indices that lie together
  std::uint8_t select[4] = {};    // destination selects: 0 zero, 1 one, 4-7 components
  std::uint8_t number_format = 0, data_format = 0;
  bool swizzle = false, add_tid = false;
  bool unbound = false;           // invalid data format: reads 0, writes nothing

  // From four SGPRs. `tid_stride`: the access is untyped, so that add_tid turns the data format into stride bits.
  static BufferResource from(const std::uint32_t* words, bool tid_stride) noexcept;
  // Byte offset of (index, offset) from base + soffset. The element size of swizzled buffers is 4 on these targets.
  [[nodiscard]] std::uint64_t place(std::uint32_t index, std::uint32_t offset) const noexcept;
};

} // namespace aql::sim::mem
