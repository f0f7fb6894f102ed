#pragma once
// SDMA: the copy engine's command format, version 4 (gfx9). An interpreter of its packets over a ring in device memory.
// Layouts are those of the public Linux kernel header vega10_sdma_pkt_open.h. Sizes in packets are "minus one".
// Every access is checked against the address map; a bad one, or a packet that does not exist, ends the stream with an error.
// Thread safety: an interpreter belongs to one thread, which holds an AddressMap::Slice while it runs.
// Memory ordering: bulk data moves by plain copies; fences, atomics and polls are release, sequentially consistent and acquire
// accesses, so that who sees a fence or a signal sees the data that was copied before it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <aql/error.hpp>

#include "sim/cp/host_view.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim {

namespace sdma {

enum Opcode : std::uint8_t {
  nop = 0,
  copy = 1,
  write = 2,
  indirect = 4,
  fence = 5,
  trap = 6,
  poll_regmem = 8,
  cond_exe = 9,
  atomic = 10,
  const_fill = 11,
  timestamp = 13,
  srbm_write = 14,
  pre_exe = 15,
  dummy_trap = 16,
};
inline constexpr std::uint32_t kCopyLinear = 0, kCopyLinearRect = 4;
inline constexpr std::uint32_t kTimestampSet = 0, kTimestampGetLocal = 1, kTimestampGetGlobal = 2;
inline constexpr std::uint32_t kCopyBroadcast = 1u << 27; // COPY_LINEAR: a second destination follows
inline constexpr std::uint32_t kHdpFlush = 1u << 26;      // POLL_REGMEM: write a request register, wait for another
inline constexpr std::uint32_t kMemoryPoll = 1u << 31;    // POLL_REGMEM: memory, not a register
inline constexpr std::uint32_t kAtomicLoop = 1u << 16;    // ATOMIC: again until the comparison holds

[[nodiscard]] constexpr std::uint32_t header(Opcode opcode, std::uint32_t sub_opcode = 0, std::uint32_t extra = 0) noexcept {
  return static_cast<std::uint32_t>(opcode) | sub_opcode << 8 | extra;
}

} // namespace sdma

class SdmaInterpreter {
public:
  // What the interpreter asks of its device. Called on the interpreter's thread.
  class Device {
  public:
    virtual ~Device() = default;
    // A packet that is about to be executed, once: its fixed part.
    virtual void packet(std::uint64_t, std::span<const std::uint32_t>) {}
    virtual std::uint64_t clock() = 0;
    virtual void interrupt(std::uint32_t context_id) = 0; // TRAP
    virtual void stored() = 0;                            // a fence, an atomic or a timestamp: somebody may wait for it
  };

  enum class Status : std::uint8_t {
    done,    // the ring is empty
    waiting, // a poll whose condition does not hold
    error,   // see error()
    budget,  // this turn's share is used up; there is more
  };

  SdmaInterpreter(AddressMap& map, Device& device) : map_(map), view_(map), port_(map), device_(device) {}

  // Positions count bytes and run free; the ring has `ring_bytes`, a power of two.
  void start_ring(std::uint64_t address, std::uint64_t ring_bytes, std::uint64_t read_position);
  void set_ring_end(std::uint64_t write_position) noexcept { ring_end_ = write_position / 4; }
  // Bytes up to which everything has been executed; inside an indirect buffer: its packet in the ring.
  [[nodiscard]] std::uint64_t ring_position() const noexcept { return 4 * (indirect_ ? indirect_start_ : position_); }

  // Executes at most `packets` packets and moves about `bytes` bytes: large copies take several turns.
  Status run(unsigned packets, std::uint64_t bytes);
  [[nodiscard]] const Error& error() const noexcept { return error_; }

private:
  enum class Step : std::uint8_t { next, jumped, waiting, more, error };
  static constexpr std::uint32_t kMostDwords = 16; // of a packet, without WRITE's data
  struct Frame {                                   // where packets come from: dword 0's address, next dword, end, mask
    std::uint64_t address = 0, mask = ~0ull;
  };

  Step execute();
  Step fail(Errc code, std::string detail);
  Step fault(const Fault& fault);
  [[nodiscard]] std::uint64_t address_of(std::uint64_t position) const noexcept {
    return frame_.address + 4 * (position & frame_.mask);
  }
  [[nodiscard]] bool fetch(std::uint64_t position, std::uint32_t count, std::uint32_t* words);
  // Bytes from `address` that lie in one region, at most `most`; at least 1, so that an access reports what is wrong.
  [[nodiscard]] std::uint64_t contiguous(std::uint64_t address, std::uint64_t most) const;
  // Moves bytes through the bounce buffer.
  Step move(std::uint64_t source, std::uint64_t destination, std::uint64_t second, std::uint64_t bytes);
  Step store(std::uint64_t address, unsigned bytes, std::uint64_t value);

  Step do_copy_linear(const std::uint32_t* p);
  Step do_copy_rect(const std::uint32_t* p);
  Step do_fill(const std::uint32_t* p);
  Step do_write(const std::uint32_t* p, std::uint32_t count);
  Step do_poll(const std::uint32_t* p);
  Step do_atomic(const std::uint32_t* p);
  Step do_timestamp(const std::uint32_t* p);
  Step do_indirect(const std::uint32_t* p);
  Step do_conditional(const std::uint32_t* p, std::uint32_t length);

  AddressMap& map_;
  HostView view_;
  MemoryPort port_;
  Device& device_;
  Frame frame_, ring_;
  std::uint64_t position_ = 0, end_ = 0; // dwords in frame_
  std::uint64_t ring_end_ = 0;
  bool indirect_ = false;
  std::uint64_t indirect_start_ = 0, indirect_return_ = 0; // the INDIRECT packet in the ring, and what follows it
  std::uint64_t skip_to_ = 0;                              // COND_EXE: dwords up to here are not executed
  std::uint64_t done_ = 0;      // bytes (rect: bytes of all rows so far) of the present packet that are done
  std::uint64_t budget_ = 0;    // bytes left in this turn
  std::uint64_t time_base_ = 0; // TIMESTAMP set
  bool waited_ = false;         // the present packet was seen before
  Error error_;
};

} // namespace aql::sim
