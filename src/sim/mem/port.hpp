#pragma once
// The one way by which instructions, wave set-up and the packet processor reach memory. Every access is checked against the
// address map; a bad one fills a Fault and returns false, and nothing is written (loads, stores and atomics check all active
// lanes before the first is performed). A cache model will stand behind this class; nothing above it may keep host pointers.
// Thread safety: one port per worker thread; not shared. The caller holds an AddressMap::Slice around its accesses when others
// may unmap. Plain guest accesses are relaxed copies that TSan must not see (guest races belong to the guest); guest atomics
// are real atomics, sequentially consistent.

#include <cstddef>
#include <cstdint>

#include "sim/fault.hpp"
#include "sim/mem/address_map.hpp"

namespace aql::sim {

// Cache policy bits as encoded; only cache models look at them.
struct CachePolicy {
  bool sc0 = false, sc1 = false, nt = false; // gfx90a: glc, scc, slc
};

enum class AtomicOp : std::uint8_t {
  swap, cmpswap, add, sub, rsub, inc, dec, smin, umin, smax, umax, and_, or_, xor_, mskor,
  add_f32, add_f64, min_f64, max_f64, min_f32, max_f32, pk_add_f16, pk_add_bf16,
  cmpswap_f, // compares as floating-point numbers (LDS)
};

class MemoryPort {
public:
  explicit MemoryPort(AddressMap& map);

  // Scalar accesses of the processor and of SMEM: contiguous bytes.
  bool read(std::uint64_t address, void* out, std::uint32_t size_bytes, Fault& fault);
  bool write(std::uint64_t address, const void* in, std::uint32_t size_bytes, Fault& fault);
  bool fetch(std::uint64_t address, void* out, std::uint32_t size_bytes, Fault& fault); // needs execute permission

  // Vector load: for each lane in `exec`, `dwords` (1-4) dwords from address[lane] into out[d].lane (out points at consecutive
  // VReg-like rows of 64 dwords). Inactive lanes of `out` are unchanged.
  bool load_dwords(const std::uint64_t* address, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*out)[64], CachePolicy policy, Fault& fault);
  bool store_dwords(const std::uint64_t* address, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*in)[64], CachePolicy policy, Fault& fault);
  // The same at base + offset[lane], the offsets zero-extended.
  bool load_dwords(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t dwords, std::uint32_t (*out)[64], CachePolicy policy, Fault& fault);
  bool store_dwords(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t dwords, const std::uint32_t (*in)[64], CachePolicy policy, Fault& fault);
  // Sub-dword: size 1 or 2; loads zero-extend into out[lane], stores take the low bits.
  bool load_small(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, std::uint32_t* out, CachePolicy policy, Fault& fault);
  bool store_small(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, const std::uint32_t* in, CachePolicy policy, Fault& fault);
  // Atomics on 4 or 8 bytes, naturally aligned, lanes in ascending order. `old_value` gets the value before (may be null).
  // cmpswap: data = new, compare given; mskor: compare = the bits to clear. flush_denormals: f32 adds treat them as zero.
  bool atomic32(AtomicOp op, const std::uint64_t* address, std::uint64_t exec, const std::uint32_t* data, const std::uint32_t* compare, std::uint32_t* old_value, CachePolicy policy, Fault& fault, bool flush_denormals = false);
  bool atomic64(AtomicOp op, const std::uint64_t* address, std::uint64_t exec, const std::uint64_t* data, const std::uint64_t* compare, std::uint64_t* old_value, CachePolicy policy, Fault& fault);
  // Checks without accessing: all of the instruction's lanes, before the parts of an access that is done in several steps.
  bool check(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, Fault& fault);
  bool check(std::uint64_t address, std::uint64_t size_bytes, FaultAccess access, Fault& fault);

  [[nodiscard]] AddressMap& map() noexcept { return map_; }

private:
  // What a vector access works on: host address of lane l's data is address[l] + delta.
  struct Lanes {
    const std::uint64_t* address;
    std::uint64_t delta;
  };
  // Translates every active lane or fills `fault` with the first bad one. Lanes in more than one region: host addresses go to `spill`.
  bool resolve(const std::uint64_t* address, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, std::uint64_t* spill, Lanes& lanes, Fault& fault);
  // All lanes of base + offset in one extent: sets the host address of offset 0. False: not that simple.
  bool resolve32(std::uint64_t base, const std::uint32_t* offset, std::uint64_t exec, std::uint32_t size_bytes, FaultAccess access, std::uint64_t& host);
  // The cached extent that holds `address`, or null: refreshed when the map's generation changes.
  const AddressMap::Extent* lookup(std::uint64_t address);
  std::byte* translate(std::uint64_t address, std::uint64_t size_bytes, std::uint8_t permissions);
  bool refuse(std::uint64_t address, std::uint32_t size_bytes, FaultAccess access, std::uint32_t lane, Fault& fault);

  AddressMap& map_;
  std::uint64_t generation_ = 0;
  static constexpr unsigned kEntries = 16;
  AddressMap::Extent entries_[kEntries];
  unsigned recent_ = 0; // entry of the last hit
  unsigned next_ = 0;   // entry to replace
};

} // namespace aql::sim
