#pragma once
// State of one wave, its workgroup and its dispatch, as instructions see them.
// Thread safety: a wave is run by one worker at a time; a Workgroup's waves all run on one worker; DispatchContext is
// read-only while waves run, except where a comment says atomic.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "sim/fault.hpp"
#include "sim/isa/inst.hpp"

namespace aql::sim {

class MemoryPort;
class CodeCache;
struct TraceSink;
struct FidelityCounters;

inline constexpr unsigned kLanes = 64;

// One vector register: 64 lanes of 32 bits.
struct alignas(64) VReg {
  std::uint32_t lane[kLanes];
};

enum SgprIndex : unsigned {
  kFlatScratchLo = 102, kFlatScratchHi = 103, kXnackMaskLo = 104, kXnackMaskHi = 105,
  kVccLo = 106, kVccHi = 107, kTtmp0 = 108, kM0 = 124, kExecLo = 126, kExecHi = 127,
};

enum class MatrixNumerics : std::uint8_t { exact, fast };

// MODE register fields (ISA guide, "MODE").
struct Mode {
  std::uint32_t bits = 0;
  [[nodiscard]] constexpr unsigned round32() const noexcept { return bits & 3u; }           // 0 RNE 1 +inf 2 -inf 3 zero
  [[nodiscard]] constexpr unsigned round16_64() const noexcept { return (bits >> 2) & 3u; }
  [[nodiscard]] constexpr unsigned denorm32() const noexcept { return (bits >> 4) & 3u; }    // bit0: keep sources, bit1: keep results (0 flush both, 3 keep)
  [[nodiscard]] constexpr unsigned denorm16_64() const noexcept { return (bits >> 6) & 3u; }
  [[nodiscard]] constexpr bool dx10_clamp() const noexcept { return (bits >> 8) & 1u; }
  [[nodiscard]] constexpr bool ieee() const noexcept { return (bits >> 9) & 1u; }
  [[nodiscard]] constexpr bool fp16_ovfl() const noexcept { return (bits >> 23) & 1u; }
  [[nodiscard]] constexpr bool gpr_idx_en() const noexcept { return (bits >> 27) & 1u; }
  // RNE everywhere and all denormals kept: what clang sets, and the fast path.
  [[nodiscard]] constexpr bool plain() const noexcept { return (bits & 0xffu) == 0xf0u; }
};

// What a dispatch has in common; filled by the packet processor, before its first wave starts.
struct DispatchContext {
  Arch arch = Arch::gfx942;
  MatrixNumerics numerics = MatrixNumerics::exact;
  bool sramecc = true;                   // 16-bit loads clear the other half of the register
  std::uint64_t packet_address = 0;
  std::uint64_t queue_address = 0;       // amd_queue_t
  std::uint64_t kernel_object = 0;
  std::uint64_t kernarg_address = 0;
  std::uint64_t entry_pc = 0;
  std::uint64_t dispatch_id = 0;         // packet index
  std::uint32_t grid[3] = {1, 1, 1};     // work-items
  std::uint32_t group[3] = {1, 1, 1};    // work-items of a full group
  std::uint32_t groups[3] = {1, 1, 1};   // workgroups, partial ones counted
  std::uint32_t lds_bytes = 0;           // allocated, granule-rounded
  std::uint32_t lds_limit = 65536;
  std::uint64_t shared_aperture = 0;     // 64-bit base, low 32 bits 0
  std::uint64_t private_aperture = 0;
  std::uint64_t scratch_base = 0;        // device address of the dispatch's scratch backing memory
  std::uint32_t scratch_lane_bytes = 0;  // private segment of a work-item
  std::uint32_t scratch_wave_bytes = 0;  // rounded
  std::uint64_t code_generation = 0;     // CodeCache::begin_dispatch()
  std::uint64_t (*clock)(void* arg) = nullptr; // s_memrealtime: device timestamp; null: the host's steady clock in 10 ns ticks
  void* clock_arg = nullptr;
  void (*interrupt)(void* arg) = nullptr;      // s_sendmsg MSG_INTERRUPT: a wave has stored to signals or their mailboxes
  void* interrupt_arg = nullptr;
  std::uint32_t core_clocks_per_tick = 17;     // s_memtime counts core clocks
  TraceSink* trace = nullptr;            // --trace-insts, null when off
  FidelityCounters* fidelity = nullptr;  // null when off
};

struct Workgroup {
  DispatchContext* dispatch = nullptr;
  std::uint32_t id[3] = {0, 0, 0};
  std::uint32_t wave_count = 0;
  std::byte* lds = nullptr;              // lds_bytes, zero or poison at start; 64-byte aligned
  std::uint32_t lds_bytes = 0;
  std::uint32_t xcc_id = 0, se_id = 0, cu_id = 0; // placement, for HW_ID and caches
};

struct Wave {
  // SGPRs in encoding order. 126/127 (exec) and 106/107 (vcc) live here too; use the accessors for 64 bits.
  alignas(64) std::uint32_t sgpr[isa::kSgprFileSize] = {};
  // Address of the next instruction, exact whenever run_wave has returned (on a fault: of the faulting instruction). Inside
  // handlers it is stale: they read Inst::pc, and write this only to return Next::jump.
  std::uint64_t pc = 0;
  std::uint32_t scc = 0;                 // 0 or 1
  std::uint32_t status = 0;              // STATUS bits without SCC/EXECZ/VCCZ, which are computed
  std::uint32_t trapsts = 0;
  Mode mode;
  VReg* vgpr = nullptr;                  // ArchVGPR 0; AccVGPR n is vgpr[accum_offset + n]
  std::uint32_t vgpr_count = 0;          // ArchVGPRs addressable as v0..: accum_offset, or all when no AGPR part
  std::uint32_t agpr_base = 0;           // accum_offset
  std::uint32_t agpr_count = 0;          // AccVGPRs
  std::uint32_t sgpr_count = 102;
  std::uint32_t index_in_group = 0;      // wave number inside the workgroup
  std::uint32_t hw_slot = 0;             // simd * 8 + wave slot, for HW_ID
  std::uint64_t scratch_base = 0;        // this wave's scratch backing memory (device address)
  Workgroup* group = nullptr;
  DispatchContext* dispatch = nullptr;
  MemoryPort* port = nullptr;
  CodeCache* code = nullptr;
  std::uint64_t code_generation = 0;     // raised by s_icache_inv; the newer of this and the dispatch's counts
  std::uint64_t instructions = 0;        // executed
  std::uint32_t sleep_hint = 0;          // s_sleep operand when Next::yield
  Fault* fault = nullptr;                // storage provided by the worker; filled before Next::fault is returned

  [[nodiscard]] std::uint64_t sgpr64(unsigned i) const noexcept {
    std::uint64_t v;
    std::memcpy(&v, &sgpr[i], 8);
    return v;
  }
  void set_sgpr64(unsigned i, std::uint64_t v) noexcept { std::memcpy(&sgpr[i], &v, 8); }
  [[nodiscard]] std::uint64_t exec() const noexcept { return sgpr64(kExecLo); }
  void set_exec(std::uint64_t v) noexcept { set_sgpr64(kExecLo, v); }
  [[nodiscard]] std::uint64_t vcc() const noexcept { return sgpr64(kVccLo); }
  void set_vcc(std::uint64_t v) noexcept { set_sgpr64(kVccLo, v); }
  [[nodiscard]] VReg& v(unsigned i) noexcept { return vgpr[i]; }
  [[nodiscard]] VReg& a(unsigned i) noexcept { return vgpr[agpr_base + i]; }
};

} // namespace aql::sim
