#pragma once
// The 64-lane loops of the memory port: range checks and the copies between guest memory and vector registers, once per host
// instruction-set tier. They check nothing themselves: the port has translated and checked every active lane before.
// Thread safety: pure functions. Memory ordering: relaxed; aligned dwords do not tear. Not seen by ThreadSanitizer: races
// between guest accesses, or between guest and host, belong to the guest program.

#include <cstdint>

// Functions that touch guest memory by plain loads and stores.
#define AQL_GUEST_ACCESS __attribute__((no_sanitize("thread")))

namespace aql::sim {

struct LaneOps {
  // Every lane of `exec` has address - begin <= last.
  bool (*inside)(const std::uint64_t* address, std::uint64_t exec, std::uint64_t begin, std::uint64_t last);
  // address[l] == address[0] + l * 4 for all 64 lanes.
  bool (*consecutive)(const std::uint64_t* address);
  // The lanes with address - begin <= last.
  std::uint64_t (*inside_mask)(const std::uint64_t* address, std::uint64_t begin, std::uint64_t last);
  // The same for 32-bit offsets: (offset[l] + add) mod 2^32, less `begin`, <= last.
  bool (*inside32)(const std::uint32_t* offset, std::uint32_t add, std::uint64_t exec, std::uint32_t begin, std::uint32_t last);
  // out[l] = base + offset[l], the offsets zero-extended; and the sum of two registers that hold 64 bits, and `add`.
  void (*widen)(std::uint64_t base, const std::uint32_t* offset, std::uint64_t* out);
  void (*join)(const std::uint32_t* low, const std::uint32_t* high, std::uint64_t add, std::uint64_t* out);
  // Host address of a lane's data: address[l] + delta. Row d of `rows` is dword d of every lane; 1-4 dwords.
  void (*load)(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*rows)[64]);
  void (*store)(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*rows)[64]);
  // The same at base + (offset[l] + add) mod 2^32: LDS, and global memory behind a scalar base.
  void (*load32)(const std::uint32_t* offset, std::uint32_t add, std::uint64_t base, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*rows)[64]);
  void (*store32)(const std::uint32_t* offset, std::uint32_t add, std::uint64_t base, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*rows)[64]);
  // One or two bytes a lane; loads zero-extend.
  void (*load_small)(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t size_bytes, std::uint32_t* row);
  void (*store_small)(const std::uint64_t* address, std::uint64_t delta, std::uint64_t exec, std::uint32_t size_bytes, const std::uint32_t* row);
};

namespace tier0 { extern const LaneOps kLaneOps; }
namespace tier1 { extern const LaneOps kLaneOps; }
namespace tier2 { extern const LaneOps kLaneOps; }

// The loops for this host.
[[nodiscard]] const LaneOps& lane_ops() noexcept;

} // namespace aql::sim
