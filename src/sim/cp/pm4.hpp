#pragma once
// PM4: the command format below AQL. An interpreter of the type-3 packets that compute queues meet, as gfx9's MEC reads them. Used
// for the AQL vendor packet that carries an indirect buffer, and for whole PM4 rings.
// Layouts are those of the public Linux kernel headers (soc15d.h: PACKET3_*, gc_9_*_offset.h: COMPUTE_* registers).
// Thread safety: an interpreter belongs to one thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <aql/error.hpp>

namespace aql::sim {

namespace pm4 {

enum Opcode : std::uint8_t {
  nop = 0x10,
  set_base = 0x11,
  clear_state = 0x12,
  dispatch_direct = 0x15,
  dispatch_indirect = 0x16,
  atomic_mem = 0x1E,
  write_data = 0x37,
  wait_reg_mem = 0x3C,
  indirect_buffer = 0x3F,
  copy_data = 0x40,
  pfp_sync_me = 0x42,
  surface_sync = 0x43,
  event_write = 0x46,
  release_mem = 0x49,
  acquire_mem = 0x58,
  set_config_reg = 0x68,
  set_sh_reg = 0x76,
  set_uconfig_reg = 0x79,
  set_sh_reg_index = 0x9B,
};

// Type-3 header of a packet with `body` dwords after it.
[[nodiscard]] constexpr std::uint32_t header(Opcode opcode, std::uint32_t body) noexcept {
  return 3u << 30 | ((body - 1) & 0x3fffu) << 16 | static_cast<std::uint32_t>(opcode) << 8;
}

// Register numbers (dwords); SET_SH_REG counts from kShBase.
inline constexpr std::uint32_t kShBase = 0x2C00, kShCount = 0x400, kUconfigBase = 0xC000;
enum Register : std::uint32_t {
  compute_dispatch_initiator = 0x2E00,
  compute_start_x = 0x2E04,
  compute_num_thread_x = 0x2E07,
  compute_pgm_lo = 0x2E0C,
  compute_pgm_hi = 0x2E0D,
  compute_dispatch_scratch_base_lo = 0x2E10,
  compute_dispatch_scratch_base_hi = 0x2E11,
  compute_pgm_rsrc1 = 0x2E12,
  compute_pgm_rsrc2 = 0x2E13,
  compute_tmpring_size = 0x2E18,
  compute_pgm_rsrc3 = 0x2E2D,
  compute_user_data_0 = 0x2E40,
};

// Bits of the dispatch initiator.
inline constexpr std::uint32_t kInitiatorShaderEnable = 1u << 0, kInitiatorPartialGroups = 1u << 1,
                               kInitiatorForceStartAtZero = 1u << 2, kInitiatorThreadDimensions = 1u << 5;

} // namespace pm4

class Pm4Interpreter {
public:
  // What the interpreter asks of its device. Called on the interpreter's thread.
  class Device {
  public:
    virtual ~Device() = default;
    // A packet that is about to be executed, once: header and body.
    virtual void packet(std::uint64_t, std::span<const std::uint32_t>) {}
    // Host bytes of [address, address + size), or null.
    virtual std::byte* memory(std::uint64_t address, std::uint64_t size, std::uint8_t permissions) = 0;
    virtual std::string describe(std::uint64_t address) = 0;
    // All dispatches that this stream has started are over.
    virtual bool idle() = 0;
    // Starts a dispatch from the register state. Errc::ok, Errc::not_ready (try again later), or an error with its text.
    virtual Error dispatch(const std::uint32_t* sh_registers, const std::uint32_t dimensions[3], std::uint32_t initiator) = 0;
    virtual void acquire() = 0;
    virtual void release() = 0;
    virtual std::uint64_t clock() = 0;
    // RELEASE_MEM with an interrupt.
    virtual void interrupt(std::uint32_t context_id) = 0;
    // Registers outside the SH space (HDP flush, ...): WAIT_REG_MEM, WRITE_DATA and COPY_DATA with a register operand.
    virtual std::uint32_t read_register(std::uint32_t index) = 0;
    virtual void write_register(std::uint32_t index, std::uint32_t value) = 0;
  };

  enum class Status : std::uint8_t {
    done,    // the stream is at its end
    waiting, // WAIT_REG_MEM, a fence on work in flight, or no room for a dispatch
    error,   // see error()
    budget,  // `packets` were executed; there is more
  };

  explicit Pm4Interpreter(Device& device) noexcept : device_(device) {}

  // Begins an indirect buffer of `dwords`.
  void start(std::uint64_t address, std::uint32_t dwords);
  // Begins (or goes on with) a ring: positions count dwords and run free; the ring has `ring_dwords`, a power of two.
  void start_ring(std::uint64_t address, std::uint64_t ring_dwords, std::uint64_t read_position);
  void set_ring_end(std::uint64_t write_position) noexcept { ring_end_ = write_position; }
  // Position in the ring up to which everything has been executed.
  [[nodiscard]] std::uint64_t ring_position() const noexcept { return frames_.empty() ? ring_end_ : frames_.front().position; }

  Status run(unsigned packets);
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] std::uint32_t sh(std::uint32_t reg) const noexcept { return sh_[reg - pm4::kShBase]; }

private:
  bool waited_ = false; // the present packet was seen before
  struct Frame {
    std::uint64_t address = 0;  // of dword 0
    std::uint64_t position = 0; // next dword
    std::uint64_t end = 0;
    std::uint64_t mask = ~0ull; // ring: dwords - 1
    bool ring = false;
  };
  enum class Step : std::uint8_t { next, jumped, waiting, error };

  [[nodiscard]] bool fetch(const Frame& frame, std::uint64_t offset, std::uint32_t& word);
  Step execute();
  Step fail(Errc code, std::string detail);
  Step set_registers(std::uint32_t base, const std::uint32_t* body, std::uint32_t count);
  Step do_write_data(const std::uint32_t* body, std::uint32_t count);
  Step do_wait(const std::uint32_t* body, std::uint32_t count);
  Step do_copy_data(const std::uint32_t* body, std::uint32_t count);
  Step do_atomic(const std::uint32_t* body, std::uint32_t count);
  Step do_release(const std::uint32_t* body, std::uint32_t count);
  Step do_dispatch(const std::uint32_t* dimensions, std::uint32_t initiator);
  Step do_indirect(const std::uint32_t* body, std::uint32_t count);
  [[nodiscard]] bool load(std::uint64_t address, unsigned bytes, std::uint64_t& value);
  [[nodiscard]] bool store(std::uint64_t address, unsigned bytes, std::uint64_t value);

  Device& device_;
  std::vector<Frame> frames_;
  std::uint64_t ring_end_ = 0;
  std::array<std::uint32_t, pm4::kShCount> sh_{};
  Error error_;
};

} // namespace aql::sim
