#pragma once
// Random packets that mean something: every kind that the software GPU knows, with addresses of buffers that live, and now and
// then a wrong word.
// Thread safety: a source belongs to one thread.

#include <cstring>
#include <vector>

#include <aql/abi/kernel_descriptor.hpp>
#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>

#include "fuzz_world.hpp"
#include "sim/cp/pm4.hpp"
#include "sim/cp/sdma.hpp"

namespace aql::test {

class PacketSource {
public:
  using Words = std::vector<std::uint32_t>;
  PacketSource(FuzzWorld& world, Random& random) : world_(world), random_(random) {}

  // Packets for a queue in this buffer: most of what they name lies there too, so that they get somewhere.
  void set_home(const FuzzBuffer& buffer) { home_ = buffer; }

  // Somewhere in a buffer, or nowhere.
  std::uint64_t address(std::uint64_t part, std::uint64_t align = 4) {
    if (!world_.tame && random_() % 64 == 0) return random_();
    const auto buffer = some_buffer();
    return (buffer ? buffer->va : FuzzWorld::some_address(random_)) + part + random_() % 0x800 / align * align;
  }
  std::uint64_t data() { return address(FuzzWorld::kData); }
  std::uint32_t event() { return world_.events.any(random_).value_or(1); }
  std::uint32_t small(std::uint64_t most) { return static_cast<std::uint32_t>(random_() % most); }
  // One of those that exist; seldom one that does not.
  std::uint32_t valid(std::uint64_t count, std::uint64_t all) { return small(odd() ? all : count); }
  bool odd() { return !world_.tame && random_() % 48 == 0; }

  Words sdma() {
    using namespace sim::sdma;
    Words w;
    const auto at = [&](std::uint64_t a) { w.push_back(low(a)), w.push_back(high(a)); };
    const std::uint32_t bytes = !world_.tame && random_() % 16 == 0 ? small(1 << 20) : small(0x1000); // minus one
    switch (const auto kind = random_() % 13; world_.tame && nested_ != 0 && kind == 5 ? 0 : kind) { // none inside another
    case 0:
      w = {header(nop, 0, small(4) << 16)};
      w.resize(1 + (w[0] >> 16));
      break;
    case 1:
      w = {header(copy, kCopyLinear), bytes, 0};
      at(data()), at(data());
      break;
    case 2:
      w = {header(copy, kCopyLinear, kCopyBroadcast), bytes, 0};
      at(data()), at(data()), at(data());
      break;
    case 3:
      w = {header(copy, kCopyLinearRect, valid(3, 6) << 29)};
      for (int side = 0; side < 2; ++side)
        at(data()), w.push_back(small(8) | small(8) << 16), w.push_back(small(256) << 13), w.push_back(small(4096));
      w.push_back(small(64) | small(8) << 16), w.push_back(odd() ? small(2048) : small(2));
      break;
    case 4:
      w = {header(sim::sdma::write)};
      at(data()), w.push_back(small(8));
      for (std::uint32_t i = 0, n = w.back() + 1; i < n; ++i) w.push_back(small(1u << 31));
      break;
    case 5:
      w = {header(indirect)};
      at(make_indirect(true)), w.push_back(kIndirectWords), at(0);
      break;
    case 6:
      w = {header(fence)};
      at(data()), w.push_back(event());
      break;
    case 7: w = {header(trap), event()}; break;
    case 8: // half of them can hold; the others keep the ring until it is destroyed
      w = {header(poll_regmem, 0, kMemoryPoll | (odd() ? 7 : random_() % 4 != 0 ? 0 : small(7)) << 28)};
      at(data()), w.push_back(small(4)), w.push_back(small(16)), w.push_back(0xfff0000a);
      break;
    case 9:
      w = {header(sim::sdma::atomic, 0, atomic_operation() << 25 | (odd() ? kAtomicLoop : 0))};
      at(address(FuzzWorld::kSignals, 8)), at(~0ull), at(random_() % 4), w.push_back(0);
      break;
    case 10:
      w = {header(const_fill, 0, valid(3, 4) << 30)};
      at(data()), w.push_back(small(1u << 31)), w.push_back(bytes);
      break;
    case 11:
      w = {header(timestamp, valid(3, 4))};
      at(address(FuzzWorld::kData, 8));
      break;
    default:
      w = {header(cond_exe)};
      at(data()), w.push_back(small(4)), w.push_back(world_.tame ? 0 : small(8));
      break;
    }
    return spoiled(std::move(w));
  }

  Words pm4() {
    using namespace sim::pm4;
    constexpr std::uint32_t sources[] = {0, 1, 2, 5, 9}, destinations[] = {0, 1, 2, 5};
    Words body;
    const auto at = [&](std::uint64_t a) { body.push_back(low(a)), body.push_back(high(a)); };
    Opcode opcode = nop;
    switch (const auto kind = random_() % 14; world_.tame && nested_ == 2 && kind == 4 ? 0 : kind) { // none is put there
    case 0: body.resize(1 + random_() % 4); break;
    case 1: opcode = acquire_mem, body.resize(6); break;
    case 2:
      opcode = write_data, body = {5u << 8 | small(2) << 20 | small(2) << 16};
      at(data());
      for (std::uint32_t n = small(8) + 1; n != 0; --n) body.push_back(small(1u << 31));
      break;
    case 3:
      opcode = wait_reg_mem, body = {(random_() % 4 != 0 ? 0 : valid(7, 8)) | 1u << 4};
      at(data()), body.push_back(small(4)), body.push_back(small(16)), body.push_back(4);
      break;
    case 4:
      opcode = indirect_buffer;
      at(make_indirect(false)), body.push_back(kIndirectWords | (odd() ? 1u << 20 : 0) | 1u << 23);
      break;
    case 5:
      opcode = copy_data;
      body = {(odd() ? small(16) : sources[small(5)]) | (odd() ? small(16) : destinations[small(4)]) << 8 | small(2) << 16};
      at(address(FuzzWorld::kData, 8)), at(address(FuzzWorld::kData, 8));
      break;
    case 6:
      opcode = atomic_mem, body = {atomic_operation() | (odd() ? 1u : 0u) << 8};
      at(address(FuzzWorld::kSignals, 8)), at(~0ull), at(random_() % 4), body.push_back(0);
      break;
    case 7:
      opcode = release_mem, body = {0x14, valid(5, 8) << 29 | small(3) << 24};
      at(address(FuzzWorld::kData, 8)), at(random_()), body.push_back(event());
      break;
    case 8: opcode = event_write, body = {random_() % 2 != 0 ? 7u : small(64)}; break;
    case 9:
      opcode = dispatch_indirect;
      at(data()), body.push_back(odd() ? small(64) : 0);
      break;
    case 10: opcode = set_uconfig_reg, body = {small(0x400), small(1u << 31)}; break;
    default: { // what a launch needs, in the order of the registers
      const std::uint64_t entry = kernel(random_() % 4 == 0) + (FuzzWorld::kCode - FuzzWorld::kDescriptor);
      Words w{header(set_sh_reg, 3), compute_pgm_lo - kShBase, low(entry >> 8), high(entry >> 8)};
      const auto set = [&w](std::uint32_t reg, Words values) {
        w.push_back(header(set_sh_reg, static_cast<std::uint32_t>(values.size()) + 1));
        w.push_back(reg - kShBase);
        w.insert(w.end(), values.begin(), values.end());
      };
      set(compute_pgm_rsrc1, {small(4) | small(4) << 6, small(16) << 1 | small(4) << 7});
      set(compute_num_thread_x, {64, odd() ? small(65) : 1, 1});
      const Words launch{header(dispatch_direct, 4), small(4), odd() ? small(1u << 20) : 1, 1, small(64) | kInitiatorShaderEnable};
      w.insert(w.end(), launch.begin(), launch.end());
      return spoiled(std::move(w));
    }
    }
    body.insert(body.begin(), header(opcode, static_cast<std::uint32_t>(body.size())));
    return spoiled(std::move(body));
  }

  abi::Slot aql() {
    abi::Slot slot{};
    std::uint32_t head = small(2) << 8 | small(3) << 9 | small(3) << 11;
    const auto signal = [&] { return random_() % 4 == 0 ? 0 : address(FuzzWorld::kSignals, 64); };
    const auto copy = [&slot](const auto& packet) { std::memcpy(&slot, &packet, sizeof slot); };
    switch (random_() % 8) {
    case 0:
    case 1: {
      abi::BarrierPacket p{};
      for (auto& d : p.dep_signal) d = random_() % 2 != 0 ? 0 : signal();
      if (world_.tame) p.dep_signal[0] = address(FuzzWorld::kSignals, 64); // five null ones of barrier-OR are an error
      p.completion_signal = signal();
      copy(p);
      head |= random_() % 2 != 0 ? 3u : 5u;
      break;
    }
    case 2: {
      abi::BarrierValuePacket p{};
      p.signal = signal();
      p.value = static_cast<std::int64_t>(random_() % 4);
      p.mask = -1;
      p.cond = valid(4, 5);
      p.completion_signal = signal();
      copy(p);
      head |= 2u << 16;
      break;
    }
    case 3: {
      abi::Pm4IbPacket p{};
      const std::uint64_t buffer = make_indirect(false);
      const std::uint32_t command[] = {sim::pm4::header(sim::pm4::indirect_buffer, 3), low(buffer), high(buffer),
                                       kIndirectWords | 1u << 23};
      std::copy_n(command, 4, p.ib_jump_cmd);
      p.dw_cnt_remain = 10;
      p.completion_signal = signal();
      copy(p);
      head |= 1u << 16;
      break;
    }
    default: {
      abi::KernelDispatchPacket p{};
      const bool one = !odd();
      p.workgroup_size_x = one ? 64 : static_cast<std::uint16_t>(random_() % 1025);
      p.workgroup_size_y = p.workgroup_size_z = one ? 1 : static_cast<std::uint16_t>(random_() % 9);
      p.grid_size_x = one ? 64 : small(2048);
      p.grid_size_y = p.grid_size_z = one ? 1 : small(9);
      p.private_segment_size = odd() ? small(8192) : 0;
      p.group_segment_size = random_() % 4 == 0 ? small(odd() ? 70000 : 65000) : 0;
      p.kernel_object = kernel(false);
      p.kernarg_address = random_() % 2 != 0 ? 0 : address(FuzzWorld::kData, 16);
      p.completion_signal = signal();
      copy(p);
      head |= 2u | (one ? 1u : small(5)) << 16;
      break;
    }
    }
    slot.word[0] = head;
    if (odd()) slot.word[random_() % 16] = static_cast<std::uint32_t>(random_());
    return slot;
  }

  // A kernel descriptor with code behind it, at its usual place in some buffer; the entry's address is aligned for PM4.
  std::uint64_t kernel(bool registers_only) {
    const auto buffer = some_buffer();
    if (!buffer) return data();
    if (!registers_only && !world_.tame && random_() % 4 == 0) return buffer->va + FuzzWorld::kDescriptor; // what is there
    std::uint64_t descriptor[8]{};
    descriptor[2] = FuzzWorld::kCode - FuzzWorld::kDescriptor;
    descriptor[6] = small(4) | static_cast<std::uint64_t>(small(4)) << 6 | static_cast<std::uint64_t>(small(32)) << 32;
    if (odd()) descriptor[random_() % 8] = random_();
    world_.put(*buffer, FuzzWorld::kDescriptor, descriptor);
    const Words code = program();
    world_.write(*buffer, FuzzWorld::kCode, code.data(), code.size() * 4);
    return buffer->va + FuzzWorld::kDescriptor;
  }

private:
  std::optional<FuzzBuffer> some_buffer() { return world_.tame || random_() % 16 != 0 ? home_ : world_.buffers.any(random_); }
  static std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
  static std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

  std::uint32_t atomic_operation() {
    constexpr std::uint32_t kOperations[] = {0x07, 0x08, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19};
    return odd() ? small(128) : kOperations[random_() % std::size(kOperations)] | small(2) << 5;
  }

  // Most of them end, and well.
  Words program() {
    constexpr std::uint32_t end = 0xbf810000;
    switch (world_.tame ? 3 + random_() % 15 / 3 : random_() % 40) {
    case 0: return {0xbf82ffff};             // s_branch to itself
    case 1: return {0xbf8e0010, 0xbf82fffe}; // s_sleep 16, and again
    case 2: return {0xbf920002, end};        // s_trap 2
    case 3: return {0xbf8a0000, end};        // s_barrier
    case 4:
    case 5:
    case 6:
    case 7: { // v_mov_b32 v0, v1: an address; v2: 1; flat_store_dword or flat_atomic_add
      const std::uint64_t to = data();
      return {0x7e0002ff, low(to), 0x7e0202ff, high(to), 0x7e040281, random_() % 2 != 0 ? 0xdc700000 : 0xdd080000, 0x00000200, end};
    }
    case 8: { // random instructions
      Words words(16);
      for (auto& w : words) w = static_cast<std::uint32_t>(random_());
      words.push_back(end);
      return words;
    }
    default: return {end};
    }
  }

  // Packets in a buffer, for INDIRECT_BUFFER and its like; seldom what is there, or of the other engine.
  static constexpr std::uint32_t kIndirectWords = 64;
  std::uint64_t make_indirect(bool copies) {
    const auto buffer = some_buffer();
    if (!buffer) return data();
    // One place after the other: what was pushed before may not have run yet.
    const std::uint64_t at = FuzzWorld::kIndirect + indirects_++ % FuzzWorld::kIndirects * kIndirectWords * 4;
    if (nested_ < 2 && !odd()) {
      ++nested_;
      if (odd()) copies = !copies;
      Words words;
      for (;;) {
        const Words packet = copies ? sdma() : pm4();
        if (words.size() + packet.size() > kIndirectWords) break;
        words.insert(words.end(), packet.begin(), packet.end());
      }
      words.resize(kIndirectWords, copies ? 0 : 0x80000000u); // no operation
      world_.write(*buffer, at, words.data(), words.size() * 4);
      --nested_;
    }
    return buffer->va + at;
  }

  Words spoiled(Words words) {
    if (!world_.tame && random_() % 64 == 0) words[random_() % words.size()] = static_cast<std::uint32_t>(random_());
    return words;
  }

  FuzzWorld& world_;
  Random& random_;
  std::optional<FuzzBuffer> home_;
  int nested_ = 0;
  std::uint64_t indirects_ = 0;
};

} // namespace aql::test
