#include "sim/cp/sdma.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "sim/cp/packet_ops.hpp"

namespace aql::sim {
namespace {

using namespace sdma;

constexpr std::uint32_t kCountMask = 0x3fffffu; // byte and dword counts have 22 bits

[[nodiscard]] constexpr std::uint64_t pair(std::uint32_t low, std::uint32_t high) noexcept {
  return low | static_cast<std::uint64_t>(high) << 32;
}

// Dwords of a packet by its header, the data of WRITE apart; 0: no such packet.
[[nodiscard]] std::uint32_t packet_dwords(std::uint32_t head) noexcept {
  const std::uint32_t sub = head >> 8 & 0xffu;
  switch (head & 0xffu) {
  case nop: return 1 + (head >> 16 & 0x3fffu);
  case copy: return sub == kCopyLinear ? ((head & kCopyBroadcast) != 0 ? 9 : 7) : sub == kCopyLinearRect ? 13 : 0;
  case sdma::write: return sub == 0 ? 4 : 0;
  case indirect: return 6;
  case fence: return 4;
  case trap:
  case pre_exe:
  case dummy_trap: return 2;
  case poll_regmem: return sub == 0 ? 6 : 0;
  case cond_exe: return 5;
  case sdma::atomic: return 8;
  case const_fill: return 5;
  case timestamp: return sub <= kTimestampGetGlobal ? 3 : 0;
  case srbm_write: return 3;
  default: return 0;
  }
}

} // namespace

void SdmaInterpreter::start_ring(std::uint64_t address, std::uint64_t ring_bytes, std::uint64_t read_position) {
  frame_ = ring_ = {address, ring_bytes / 4 - 1};
  position_ = end_ = ring_end_ = read_position / 4;
  indirect_ = false;
  skip_to_ = done_ = 0;
  error_ = {};
}

SdmaInterpreter::Step SdmaInterpreter::fail(Errc code, std::string detail) {
  error_ = {code, 0, fmt::format("SDMA packet at {:#x} (byte {}): {}", address_of(position_), 4 * position_, detail), "sdma"};
  return Step::error;
}

SdmaInterpreter::Step SdmaInterpreter::fault(const Fault& fault) {
  const bool reads = fault.access == FaultAccess::read;
  return fail(Errc::memory_fault, fmt::format("{} bytes at {:#x} cannot be {}: {}", fault.size_bytes, fault.address,
                                              reads ? "read" : "written", fault.nearest));
}

bool SdmaInterpreter::fetch(std::uint64_t position, std::uint32_t count, std::uint32_t* words) {
  for (std::uint32_t i = 0; i < count; ++i) { // a packet may wrap around the end of the ring
    Fault bad;
    if (!port_.read(address_of(position + i), words + i, 4, bad)) {
      (void)fault(bad);
      return false;
    }
  }
  return true;
}

SdmaInterpreter::Status SdmaInterpreter::run(unsigned packets, std::uint64_t bytes) {
  if (error_.code != Errc::ok) return Status::error;
  budget_ = bytes;
  for (unsigned n = 0; n < packets; ++n) {
    if (indirect_ && position_ >= end_) {
      frame_ = ring_;
      position_ = indirect_return_;
      indirect_ = false;
      skip_to_ = 0;
    }
    if (!indirect_) end_ = ring_end_;
    if (position_ == end_) return Status::done;
    switch (execute()) {
    case Step::next:
    case Step::jumped: break;
    case Step::waiting: return Status::waiting;
    case Step::more: return Status::budget;
    case Step::error: return Status::error;
    }
  }
  return Status::budget;
}

SdmaInterpreter::Step SdmaInterpreter::execute() {
  std::uint32_t p[kMostDwords];
  if (!fetch(position_, 1, p)) return Step::error;
  const std::uint32_t opcode = p[0] & 0xffu;
  const std::uint32_t fixed = packet_dwords(p[0]);
  if (fixed == 0) {
    return fail(Errc::invalid_packet_format,
                fmt::format("{:08x}: opcode {} with sub-opcode {} is not known", p[0], opcode, p[0] >> 8 & 0xffu));
  }
  const std::uint64_t left = end_ - position_;
  const auto incomplete = [&](std::uint64_t needs) {
    return fail(Errc::invalid_packet_format, fmt::format("opcode {} has {} dwords, but only {} are left", opcode, needs, left));
  };
  if (fixed > left) return incomplete(fixed);
  if (opcode != nop && !fetch(position_, fixed, p)) return Step::error;
  std::uint64_t length = fixed;
  if (opcode == sdma::write) {
    length += (p[3] & kCountMask) + 1u;
    if (length > left) return incomplete(length);
  }
  if (!waited_ && done_ == 0) device_.packet(address_of(position_), {p, opcode == nop ? 1 : fixed});
  Step step = Step::next;
  if (static_cast<std::int64_t>(skip_to_ - position_) <= 0) {
    switch (opcode) {
    case copy: step = (p[0] >> 8 & 0xffu) == kCopyLinear ? do_copy_linear(p) : do_copy_rect(p); break;
    case sdma::write: step = do_write(p, (p[3] & kCountMask) + 1u); break;
    case indirect: step = do_indirect(p); break;
    case fence:
      step = store(pair(p[1], p[2]), 4, p[3]);
      device_.stored();
      break;
    case trap: device_.interrupt(p[1] & 0x0fffffffu); break;
    case poll_regmem: step = do_poll(p); break;
    case cond_exe:
    case pre_exe: step = do_conditional(p, fixed); break;
    case sdma::atomic: step = do_atomic(p); break;
    case const_fill: step = do_fill(p); break;
    case timestamp: step = do_timestamp(p); break;
    default: break; // NOP, DUMMY_TRAP; SRBM_WRITE: none of those registers exist here, and none is read back
    }
  }
  if (step == Step::next) {
    position_ += length;
    done_ = 0;
  }
  waited_ = step == Step::waiting || step == Step::more;
  return step;
}

SdmaInterpreter::Step SdmaInterpreter::store(std::uint64_t address, unsigned bytes, std::uint64_t value) {
  auto* host = address % bytes == 0 ? view_.get(address, bytes, kWrite) : nullptr;
  if (host == nullptr) {
    return fail(Errc::memory_fault,
                fmt::format("{} bytes at {:#x} cannot be written: {}", bytes, address,
                            address % bytes != 0 ? std::string{"not aligned"} : map_.describe_access(address, bytes, kWrite)));
  }
  if (bytes == 4) {
    std::atomic_ref{*reinterpret_cast<std::uint32_t*>(host)}.store(static_cast<std::uint32_t>(value), std::memory_order_release);
  } else {
    std::atomic_ref{*reinterpret_cast<std::uint64_t*>(host)}.store(value, std::memory_order_release);
  }
  return Step::next;
}

// Memory: waits, and there is no limit of retries (0xfff means forever on hardware; fewer end in an interrupt there that nobody
// of this stack handles). Registers: an HDP flush is done at once, as the host's memory is what the device sees.
SdmaInterpreter::Step SdmaInterpreter::do_poll(const std::uint32_t* p) {
  const std::uint32_t function = p[0] >> 28 & 7u;
  if (!wait_holds(function, 0, 0)) return fail(Errc::invalid_packet_format, "POLL_REGMEM with function 7; 0 to 6 exist");
  if ((p[0] & kMemoryPoll) == 0) {
    if ((p[0] & kHdpFlush) != 0 || function == 0) return Step::next;
    return fail(Errc::unsupported, fmt::format("POLL_REGMEM of register {:#x}, which the software GPU does not have", p[1] >> 2));
  }
  const std::uint64_t address = pair(p[1] & ~3u, p[2]);
  auto* word = view_.as<std::uint32_t>(address, kRead);
  if (word == nullptr) {
    return fail(Errc::memory_fault,
                fmt::format("4 bytes at {:#x} cannot be read: {}", address, map_.describe_access(address, 4, kRead)));
  }
  const std::uint32_t value = std::atomic_ref{*word}.load(std::memory_order_acquire) & p[4];
  return *wait_holds(function, value, p[3]) ? Step::next : Step::waiting;
}

SdmaInterpreter::Step SdmaInterpreter::do_atomic(const std::uint32_t* p) {
  const std::uint32_t tc_op = p[0] >> 25;
  if (!tc_is_known(tc_op)) return fail(Errc::unsupported, fmt::format("ATOMIC with operation {}", tc_op));
  const unsigned bytes = tc_is_wide(tc_op) ? 8 : 4;
  const std::uint64_t address = pair(p[1], p[2]);
  if (address % bytes != 0) return fail(Errc::memory_fault, fmt::format("ATOMIC on {} bytes at {:#x}, which is not aligned", bytes, address));
  std::byte* const host = view_.get(address, bytes, kRead | kWrite);
  if (host == nullptr) {
    return fail(Errc::memory_fault, fmt::format("{} bytes at {:#x} cannot be written: {}", bytes, address,
                                                map_.describe_access(address, bytes, kRead | kWrite)));
  }
  const bool equal = tc_atomic_at(host, tc_op, pair(p[3], p[4]), pair(p[5], p[6])).equal;
  device_.stored();
  return (p[0] & kAtomicLoop) != 0 && tc_operation(tc_op) == kTcCompareSwap && !equal ? Step::waiting : Step::next;
}

SdmaInterpreter::Step SdmaInterpreter::do_timestamp(const std::uint32_t* p) {
  const std::uint32_t sub = p[0] >> 8 & 0xffu;
  if (sub == kTimestampSet) { // the engine's own clock, which only "get local" shows
    time_base_ = pair(p[1], p[2]) - device_.clock();
    return Step::next;
  }
  const Step step = store(pair(p[1] & ~7u, p[2]), 8, device_.clock() + (sub == kTimestampGetLocal ? time_base_ : 0));
  device_.stored();
  return step;
}

SdmaInterpreter::Step SdmaInterpreter::do_indirect(const std::uint32_t* p) {
  if (indirect_) return fail(Errc::invalid_packet_format, "an indirect buffer inside an indirect buffer");
  indirect_ = true;
  indirect_start_ = position_;
  indirect_return_ = position_ + 6;
  frame_ = {pair(p[1] & ~31u, p[2]), ~0ull};
  position_ = 0;
  end_ = p[3] & 0xfffffu;
  skip_to_ = done_ = 0;
  return Step::jumped;
}

// COND_EXE: what follows is executed if memory holds the reference. PRE_EXE names engines of which we are the first.
SdmaInterpreter::Step SdmaInterpreter::do_conditional(const std::uint32_t* p, std::uint32_t length) {
  bool executes = true;
  std::uint32_t count = 0;
  if ((p[0] & 0xffu) == pre_exe) {
    executes = (p[0] >> 16 & 1u) != 0;
    count = p[1] & 0x3fffu;
  } else {
    const std::uint64_t address = pair(p[1] & ~3u, p[2]);
    auto* word = view_.as<std::uint32_t>(address, kRead);
    if (word == nullptr) {
      return fail(Errc::memory_fault,
                  fmt::format("4 bytes at {:#x} cannot be read: {}", address, map_.describe_access(address, 4, kRead)));
    }
    executes = std::atomic_ref{*word}.load(std::memory_order_acquire) == p[3];
    count = p[4] & 0x3fffu;
  }
  if (!executes) skip_to_ = position_ + length + count;
  return Step::next;
}

} // namespace aql::sim
