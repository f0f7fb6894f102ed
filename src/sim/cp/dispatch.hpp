#pragma once
// One kernel dispatch in flight, and one workgroup on a worker.
// Thread safety: `context`, `code` and the set-up fields are written before the scheduler knows the dispatch and read-only
// afterwards. `remaining`, `stop` and `instructions` are atomics. Fields marked "scheduler" belong to its lock.
// Memory ordering: label G. Each group's last memory operation happens before its decrement of `remaining` (acq_rel); whoever
// brings it to 0 completes the dispatch and so has seen all of them.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include <aql/abi/packet.hpp>

#include "sim/cp/gpu.hpp"
#include "sim/cp/kernel_code.hpp"
#include "sim/cp/scratch.hpp"
#include "sim/exec/wave.hpp"

namespace aql::sim {

class HwQueue;

inline constexpr unsigned kMaxWavesPerGroup = 16;

enum class WaitList : std::uint8_t { none, fresh, started };

// What a workgroup takes of the device.
struct Resources {
  std::int64_t waves = 0, vgprs = 0, lds_bytes = 0, groups = 0;
};

struct Dispatch {
  DispatchContext context;
  KernelCode code; // a copy: the cache entry may be replaced
  HwQueue* queue = nullptr;
  std::uint64_t packet_index = 0;
  std::uint64_t completion_signal = 0; // handle, 0 = none
  abi::FenceScope release = abi::FenceScope::none;
  std::uint64_t start_ts = 0; // ticks
  std::uint64_t start_ns = 0; // for the watchdog
  std::uint64_t group_total = 0;
  std::uint32_t full_group_items = 1;
  std::uint32_t full_group_waves = 1;
  std::uint32_t user_sgpr[32] = {};
  std::uint32_t user_sgpr_count = 0;
  std::uint32_t group_offset[3] = {0, 0, 0}; // first workgroup id (PM4 COMPUTE_START_*)
  const std::uint16_t* cus = nullptr;        // compute units that groups go to, in turn: number * xcc_count + xcc
  std::uint32_t cu_count = 1;
  bool scratch_buffer = false;                         // s[0:3] is a scratch resource
  std::uint32_t flat_scratch_sgpr = ~0u;               // index of flat_scratch_init, ~0: none
  ScratchArena* arena = nullptr;                       // own; null: none, or the queue's (external scratch)
  WaveSlots* slots = nullptr;                          // null: no scratch
  std::atomic<std::uint32_t>* scratch_users = nullptr; // external scratch: decremented when the dispatch is over
  std::uint64_t scratch_wave_bytes = 0;
  std::byte* packet_copy = nullptr; // host address of context.packet_address
  // v0 of every wave of a full group with more than one dimension; computed when first needed.
  std::mutex ids_mutex;
  std::atomic<bool> ids_ready{false};
  std::unique_ptr<VReg[]> ids;

  std::atomic<std::uint64_t> remaining{0}; // groups not ended yet, unstarted ones included
  std::atomic<bool> stop{false};           // waves end at their next slice; the completion signal is not touched
  std::atomic<std::uint64_t> instructions{0};

  // Scheduler.
  Resources cost;
  std::uint64_t next_group = 0;
  std::uint32_t resident = 0, resident_limit = 0;
  std::int32_t priority = 0;
  WaitList wait = WaitList::none;
  Dispatch* next_waiting = nullptr;
  Dispatch* previous_waiting = nullptr;

  // Processor thread.
  Dispatch* next_in_queue = nullptr;
  Dispatch* previous_in_queue = nullptr;
  std::atomic<Dispatch*> next_retired{nullptr};
};

// Grow-only, 64-byte aligned memory without initialisation.
class AlignedBuffer {
public:
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      std::free(data_);
      size_ = (bytes + 4095) / 4096 * 4096;
      data_ = static_cast<std::byte*>(std::aligned_alloc(64, size_));
      if (data_ == nullptr) throw_bad_alloc();
      std::memset(data_, 0, size_);
    }
    return data_;
  }

private:
  [[noreturn]] static void throw_bad_alloc() { throw std::bad_alloc{}; }
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

enum class WaveState : std::uint8_t { ready, sleeping, barrier, ended };

// A workgroup that holds registers and LDS. All its waves run on the worker that has it at the moment.
struct ResidentGroup {
  Workgroup group;
  Dispatch* dispatch = nullptr;
  std::uint32_t alive = 0, at_barrier = 0;
  std::uint32_t first_wave = 0; // rotates, or follows the seed
  std::uint64_t index = 0;      // linear, in dispatch order
  WaveState state[kMaxWavesPerGroup] = {};
  std::uint32_t scratch_slot[kMaxWavesPerGroup] = {};
  std::uint32_t scratch_slots = 0;
  Wave waves[kMaxWavesPerGroup];
  AlignedBuffer vgprs, lds;
};

} // namespace aql::sim
