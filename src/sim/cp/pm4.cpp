#include "sim/cp/pm4.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "sim/cp/packet_ops.hpp"
#include "sim/mem/address_map.hpp"

namespace aql::sim {
namespace {

using namespace pm4;

constexpr std::size_t kMaxDepth = 4;       // ring, IB, chained IBs below it
constexpr std::uint32_t kMaxBody = 0x4000; // dwords the count field can mean

[[nodiscard]] constexpr std::uint64_t address_of(std::uint32_t low, std::uint32_t high) noexcept {
  return low | static_cast<std::uint64_t>(high & 0xffffu) << 32;
}

// Fewest body dwords; shorter packets are refused.
[[nodiscard]] constexpr std::uint32_t least_body(std::uint32_t opcode) noexcept {
  switch (opcode) {
  case dispatch_direct: return 4;
  case dispatch_indirect: return 3;
  case atomic_mem: return 8;
  case write_data: return 4;
  case wait_reg_mem: return 6;
  case indirect_buffer: return 3;
  case copy_data: return 5;
  case release_mem: return 6;
  case set_config_reg:
  case set_sh_reg:
  case set_sh_reg_index:
  case set_uconfig_reg: return 2;
  case event_write: return 1;
  default: return 0;
  }
}

} // namespace

void Pm4Interpreter::start(std::uint64_t address, std::uint32_t dwords) {
  frames_.clear();
  error_ = {};
  frames_.push_back({address, 0, dwords, ~0ull, false});
}

void Pm4Interpreter::start_ring(std::uint64_t address, std::uint64_t ring_dwords, std::uint64_t read_position) {
  frames_.clear();
  error_ = {};
  ring_end_ = read_position;
  frames_.push_back({address, read_position, read_position, ring_dwords - 1, true});
}

Pm4Interpreter::Step Pm4Interpreter::fail(Errc code, std::string detail) {
  const Frame& frame = frames_.back();
  error_ = {code, 0,
            fmt::format("PM4 at {:#x} (dword {}): {}", frame.address + 4 * (frame.position & frame.mask), frame.position, detail),
            "pm4"};
  return Step::error;
}

bool Pm4Interpreter::fetch(const Frame& frame, std::uint64_t offset, std::uint32_t& word) {
  const std::uint64_t address = frame.address + 4 * ((frame.position + offset) & frame.mask);
  const auto* host = device_.memory(address, 4, kRead);
  if (host == nullptr) {
    (void)fail(Errc::memory_fault, fmt::format("{:#x} cannot be read: {}", address, device_.describe(address)));
    return false;
  }
  std::memcpy(&word, host, 4);
  return true;
}

bool Pm4Interpreter::load(std::uint64_t address, unsigned bytes, std::uint64_t& value) {
  auto* host = address % bytes == 0 ? device_.memory(address, bytes, kRead) : nullptr;
  if (host == nullptr) {
    (void)fail(Errc::memory_fault, fmt::format("{} bytes at {:#x} cannot be read: {}", bytes, address, device_.describe(address)));
    return false;
  }
  value = bytes == 4 ? std::atomic_ref{*reinterpret_cast<std::uint32_t*>(host)}.load(std::memory_order_acquire)
                     : std::atomic_ref{*reinterpret_cast<std::uint64_t*>(host)}.load(std::memory_order_acquire);
  return true;
}

bool Pm4Interpreter::store(std::uint64_t address, unsigned bytes, std::uint64_t value) {
  auto* host = address % bytes == 0 ? device_.memory(address, bytes, kWrite) : nullptr;
  if (host == nullptr) {
    (void)fail(Errc::memory_fault,
               fmt::format("{} bytes at {:#x} cannot be written: {}", bytes, address, device_.describe(address)));
    return false;
  }
  if (bytes == 4) {
    std::atomic_ref{*reinterpret_cast<std::uint32_t*>(host)}.store(static_cast<std::uint32_t>(value), std::memory_order_release);
  } else {
    std::atomic_ref{*reinterpret_cast<std::uint64_t*>(host)}.store(value, std::memory_order_release);
  }
  return true;
}

Pm4Interpreter::Status Pm4Interpreter::run(unsigned packets) {
  if (error_.code != Errc::ok) return Status::error;
  for (unsigned n = 0; n < packets; ++n) {
    while (!frames_.empty() && !frames_.back().ring && frames_.back().position >= frames_.back().end) frames_.pop_back();
    if (frames_.empty()) return Status::done;
    if (frames_.back().ring) {
      frames_.back().end = ring_end_;
      if (frames_.back().position == frames_.back().end) return Status::done;
    }
    switch (execute()) {
    case Step::next:
    case Step::jumped: waited_ = false; break;
    case Step::waiting: waited_ = true; return Status::waiting;
    case Step::error: return Status::error;
    }
  }
  return Status::budget;
}

Pm4Interpreter::Step Pm4Interpreter::execute() {
  const std::size_t depth = frames_.size();
  const Frame frame = frames_.back();
  std::uint32_t head = 0;
  if (!fetch(frame, 0, head)) return Step::error;
  const std::uint32_t type = head >> 30;
  if (type == 2) { // filler
    ++frames_.back().position;
    return Step::next;
  }
  if (type != 3)
    return fail(Errc::invalid_packet_format, fmt::format("{:08x} is a type-{} packet; only types 2 and 3 are known", head, type));
  const std::uint32_t opcode = head >> 8 & 0xffu;
  std::uint32_t count = (head >> 16 & 0x3fffu) + 1;
  if (count == kMaxBody) count = 0; // 0x3fff: a header alone (NOP)
  if (count > frame.end - frame.position - 1) {
    return fail(Errc::invalid_packet_format,
                fmt::format("opcode {:#x} has {} dwords, but only {} are left", opcode, count, frame.end - frame.position - 1));
  }
  if (count < least_body(opcode))
    return fail(Errc::invalid_packet_format,
                fmt::format("opcode {:#x} has {} dwords and needs {}", opcode, count, least_body(opcode)));
  std::vector<std::uint32_t> words(1, head);
  if (opcode != nop) {
    words.resize(1 + count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!fetch(frame, 1 + i, words[1 + i])) return Step::error;
    }
  }
  if (!waited_) device_.packet(frame.address + 4 * (frame.position & frame.mask), words);
  const std::span<const std::uint32_t> body = std::span{words}.subspan(1);
  Step step = Step::next;
  switch (opcode) {
  case nop:
  case set_base:
  case clear_state:
  case pfp_sync_me: break;
  case surface_sync:
  case acquire_mem: device_.acquire(); break;
  case event_write: {
    constexpr std::uint32_t kCsPartialFlush = 7;
    if ((body[0] & 0x3fu) == kCsPartialFlush && !device_.idle()) step = Step::waiting;
    break;
  }
  case set_config_reg: break; // nothing of compute lives there
  case set_uconfig_reg: step = set_registers(kUconfigBase, body.data(), count); break;
  case set_sh_reg:
  case set_sh_reg_index: step = set_registers(kShBase, body.data(), count); break;
  case write_data: step = do_write_data(body.data(), count); break;
  case wait_reg_mem: step = do_wait(body.data(), count); break;
  case copy_data: step = do_copy_data(body.data(), count); break;
  case atomic_mem: step = do_atomic(body.data(), count); break;
  case release_mem: step = do_release(body.data(), count); break;
  case dispatch_direct: step = do_dispatch(body.data(), body[3]); break;
  case dispatch_indirect: {
    const std::uint64_t address = address_of(body[0], body[1]);
    std::uint32_t dimensions[3];
    const auto* host = device_.memory(address, sizeof dimensions, kRead);
    if (host == nullptr)
      return fail(Errc::memory_fault, fmt::format("dimensions at {:#x} cannot be read: {}", address, device_.describe(address)));
    std::memcpy(dimensions, host, sizeof dimensions);
    step = do_dispatch(dimensions, body[2]);
    break;
  }
  case indirect_buffer: step = do_indirect(body.data(), count); break;
  default: return fail(Errc::invalid_packet_format, fmt::format("opcode {:#x} is not known", opcode));
  }
  if (step == Step::next) frames_[depth - 1].position += 1 + count;
  return step;
}

Pm4Interpreter::Step Pm4Interpreter::set_registers(std::uint32_t base, const std::uint32_t* body, std::uint32_t count) {
  const std::uint32_t first = body[0] & 0xffffu; // index bits above are a hint for other engines
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t offset = first + i - 1;
    if (base == kShBase) {
      if (offset >= kShCount)
        return fail(Errc::invalid_packet_format, fmt::format("SH register {:#x} does not exist", base + offset));
      sh_[offset] = body[i];
    } else {
      device_.write_register(base + offset, body[i]);
    }
  }
  return Step::next;
}

Pm4Interpreter::Step Pm4Interpreter::do_write_data(const std::uint32_t* body, std::uint32_t count) {
  const std::uint32_t destination = body[0] >> 8 & 0xfu;
  const bool one_address = (body[0] >> 16 & 1u) != 0;
  switch (destination) {
  case 0: // register
    for (std::uint32_t i = 3; i < count; ++i) device_.write_register((body[1] & 0x3ffffu) + (one_address ? 0 : i - 3), body[i]);
    return Step::next;
  case 1:
  case 2:
  case 5: { // memory, through whichever cache
    const std::uint64_t address = address_of(body[1] & ~3u, body[2]);
    for (std::uint32_t i = 3; i < count; ++i) {
      if (!store(address + (one_address ? 0 : 4ull * (i - 3)), 4, body[i])) return Step::error;
    }
    return Step::next;
  }
  default: return fail(Errc::unsupported, fmt::format("WRITE_DATA to destination {}", destination));
  }
}

Pm4Interpreter::Step Pm4Interpreter::do_wait(const std::uint32_t* body, std::uint32_t) {
  const std::uint32_t function = body[0] & 7u, operation = body[0] >> 6 & 3u;
  std::uint64_t raw = 0;
  std::uint32_t value = 0;
  if ((body[0] >> 4 & 3u) != 0) {
    if (!load(address_of(body[1] & ~3u, body[2]), 4, raw)) return Step::error;
    value = static_cast<std::uint32_t>(raw);
  } else if (operation == 1) { // write one register, wait for another (HDP flush)
    device_.write_register(body[1] & 0x3ffffu, body[3]);
    value = device_.read_register(body[2] & 0x3ffffu);
  } else {
    value = device_.read_register(body[1] & 0x3ffffu);
  }
  const std::uint32_t reference = body[3], masked = value & body[4];
  const auto holds = wait_holds(function, masked, reference);
  if (!holds) return fail(Errc::invalid_packet_format, fmt::format("WAIT_REG_MEM with function {}", function));
  return *holds ? Step::next : Step::waiting;
}

Pm4Interpreter::Step Pm4Interpreter::do_copy_data(const std::uint32_t* body, std::uint32_t) {
  const std::uint32_t source = body[0] & 0xfu, destination = body[0] >> 8 & 0xfu;
  const unsigned bytes = (body[0] >> 16 & 1u) != 0 ? 8 : 4;
  std::uint64_t value = 0;
  switch (source) {
  case 0:
    value = device_.read_register(body[1] & 0x3ffffu);
    if (bytes == 8) value |= static_cast<std::uint64_t>(device_.read_register((body[1] & 0x3ffffu) + 1)) << 32;
    break;
  case 1:
  case 2:
    if (!load(address_of(body[1], body[2]), bytes, value)) return Step::error;
    break;
  case 5: value = body[1] | static_cast<std::uint64_t>(bytes == 8 ? body[2] : 0) << 32; break;
  case 9: value = device_.clock(); break;
  default: return fail(Errc::unsupported, fmt::format("COPY_DATA from source {}", source));
  }
  switch (destination) {
  case 0:
    device_.write_register(body[3] & 0x3ffffu, static_cast<std::uint32_t>(value));
    if (bytes == 8) device_.write_register((body[3] & 0x3ffffu) + 1, static_cast<std::uint32_t>(value >> 32));
    return Step::next;
  case 1:
  case 2:
  case 5: return store(address_of(body[3], body[4]), bytes, value) ? Step::next : Step::error;
  default: return fail(Errc::unsupported, fmt::format("COPY_DATA to destination {}", destination));
  }
}

Pm4Interpreter::Step Pm4Interpreter::do_atomic(const std::uint32_t* body, std::uint32_t) {
  const std::uint32_t tc_op = body[0] & 0x7fu, command = body[0] >> 8 & 0xfu;
  const unsigned bytes = tc_is_wide(tc_op) ? 8 : 4;
  const std::uint64_t address = address_of(body[1], body[2]);
  auto* host = address % bytes == 0 ? device_.memory(address, bytes, kRead | kWrite) : nullptr;
  if (host == nullptr)
    return fail(Errc::memory_fault, fmt::format("atomic on {} bytes at {:#x}: {}", bytes, address, device_.describe(address)));
  const std::uint64_t data = body[3] | static_cast<std::uint64_t>(body[4]) << 32,
                      compare = body[5] | static_cast<std::uint64_t>(body[6]) << 32;
  const auto [known, equal] = tc_atomic_at(host, tc_op, data, compare);
  if (!known) return fail(Errc::unsupported, fmt::format("ATOMIC_MEM with operation {:#x}", tc_op));
  return command == 1 && tc_operation(tc_op) == kTcCompareSwap && !equal ? Step::waiting : Step::next; // loop until the comparison holds
}

Pm4Interpreter::Step Pm4Interpreter::do_release(const std::uint32_t* body, std::uint32_t count) {
  if (!device_.idle()) return Step::waiting; // end of pipe: after what was started before
  device_.release();
  const std::uint32_t data_select = body[1] >> 29, interrupt_select = body[1] >> 24 & 7u;
  const std::uint64_t address = address_of(body[2], body[3]);
  const std::uint64_t data = body[4] | static_cast<std::uint64_t>(body[5]) << 32;
  bool stored = true;
  switch (data_select) {
  case 0: break;
  case 1: stored = store(address, 4, data); break;
  case 2: stored = store(address, 8, data); break;
  case 3:
  case 4: stored = store(address, 8, device_.clock()); break;
  default: return fail(Errc::unsupported, fmt::format("RELEASE_MEM with data select {}", data_select));
  }
  if (!stored) return Step::error;
  if (interrupt_select == 1 || interrupt_select == 2) device_.interrupt(count > 6 ? body[6] : 0);
  return Step::next;
}

Pm4Interpreter::Step Pm4Interpreter::do_dispatch(const std::uint32_t* dimensions, std::uint32_t initiator) {
  if ((initiator & kInitiatorShaderEnable) == 0) return Step::next;
  const Error result = device_.dispatch(sh_.data(), dimensions, initiator);
  if (result.code == Errc::not_ready) return Step::waiting;
  return result.code == Errc::ok ? Step::next : fail(result.code, result.detail);
}

Pm4Interpreter::Step Pm4Interpreter::do_indirect(const std::uint32_t* body, std::uint32_t) {
  const std::uint64_t address = address_of(body[0] & ~3u, body[1]);
  const std::uint32_t dwords = body[2] & 0xfffffu;
  const bool chain = (body[2] >> 20 & 1u) != 0;
  Frame& frame = frames_.back();
  if (chain && !frame.ring) { // goes on there and does not come back
    frame = {address, 0, dwords, ~0ull, false};
    return Step::jumped;
  }
  if (frames_.size() >= kMaxDepth)
    return fail(Errc::invalid_packet_format, fmt::format("indirect buffers nest deeper than {}", kMaxDepth));
  frames_.push_back({address, 0, dwords, ~0ull, false});
  return Step::next;
}

} // namespace aql::sim
