// PM4: the interpreter on plain memory, the AQL vendor packet, and whole rings.
#include "sim/cp/pm4.hpp"
#include "unit/cp/bench.hpp"

using namespace cp_test;
namespace p4 = aql::sim::pm4;

namespace {

class FakeDevice final : public Pm4Interpreter::Device {
public:
  std::byte* memory(std::uint64_t address, std::uint64_t size, std::uint8_t) override {
    const auto begin = reinterpret_cast<std::uint64_t>(words);
    return address >= begin && address + size <= begin + sizeof words ? reinterpret_cast<std::byte*>(address) : nullptr;
  }
  std::string describe(std::uint64_t) override { return "nowhere"; }
  bool idle() override { return idle_now; }
  Error dispatch(const std::uint32_t* sh, const std::uint32_t d[3], std::uint32_t initiator) override {
    dispatched.push_back({d[0], d[1], d[2], initiator, sh[p4::compute_pgm_lo - p4::kShBase]});
    return {};
  }
  void acquire() override { ++acquires; }
  void release() override { ++releases; }
  std::uint64_t clock() override { return 4242; }
  void interrupt(std::uint32_t id) override { interrupts.push_back(id); }
  std::uint32_t read_register(std::uint32_t index) override { return index == 7 ? 70 : 0; }
  void write_register(std::uint32_t index, std::uint32_t value) override { written.push_back({index, value}); }

  [[nodiscard]] std::uint64_t at(std::size_t word) const { return reinterpret_cast<std::uint64_t>(words + word); }
  [[nodiscard]] std::uint32_t lo(std::size_t word) const { return static_cast<std::uint32_t>(at(word)); }
  [[nodiscard]] std::uint32_t hi(std::size_t word) const { return static_cast<std::uint32_t>(at(word) >> 32); }

  alignas(64) std::uint32_t words[512] = {};
  bool idle_now = true;
  int acquires = 0, releases = 0;
  std::vector<std::array<std::uint32_t, 5>> dispatched;
  std::vector<std::uint32_t> interrupts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> written;
};

// Commands at word 0, data from word 256 on.
Pm4Interpreter::Status run(FakeDevice& device, Pm4Interpreter& interpreter, std::vector<std::uint32_t> commands) {
  std::copy(commands.begin(), commands.end(), device.words);
  interpreter.start(device.at(0), static_cast<std::uint32_t>(commands.size()));
  return interpreter.run(100);
}

constexpr auto kDone = Pm4Interpreter::Status::done;
constexpr auto kWaiting = Pm4Interpreter::Status::waiting;
constexpr auto kError = Pm4Interpreter::Status::error;

} // namespace

TEST_CASE("pm4: NOP of any length and type-2 filler are skipped") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  CHECK(run(device, interpreter,
            {p4::header(p4::nop, 2), 1, 2, 0x80000000u, 0xFFFF1000u, p4::header(p4::acquire_mem, 6), 0, 0, 0, 0, 0, 0}) == kDone);
  CHECK(device.acquires == 1);
}

TEST_CASE("pm4: WRITE_DATA stores dwords in a row, or all to one address") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  CHECK(run(device, interpreter,
            {p4::header(p4::write_data, 5), 5u << 8, device.lo(256), device.hi(256), 11, 22, p4::header(p4::write_data, 5),
             5u << 8 | 1u << 16, device.lo(260), device.hi(260), 33, 44}) == kDone);
  CHECK(device.words[256] == 11);
  CHECK(device.words[257] == 22);
  CHECK(device.words[260] == 44);
  CHECK(device.words[261] == 0);
}

TEST_CASE("pm4: WAIT_REG_MEM on memory waits until the function holds under the mask") {
  struct Case {
    std::uint32_t function, reference, mask, waits, goes;
  };
  const auto c = GENERATE(Case{1, 5, ~0u, 5, 4}, Case{2, 5, ~0u, 6, 5}, Case{3, 5, 0xff, 0x104, 0x105}, Case{4, 5, ~0u, 5, 6},
                          Case{5, 5, ~0u, 4, 5}, Case{6, 5, ~0u, 5, 6});
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  device.words[256] = c.waits;
  CHECK(run(device, interpreter,
            {p4::header(p4::wait_reg_mem, 6), c.function | 1u << 4, device.lo(256), device.hi(256), c.reference, c.mask, 4}) ==
        kWaiting);
  CHECK(interpreter.run(100) == kWaiting);
  device.words[256] = c.goes;
  CHECK(interpreter.run(100) == kDone);
}

TEST_CASE("pm4: WAIT_REG_MEM writes one register and waits for another") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  CHECK(run(device, interpreter, {p4::header(p4::wait_reg_mem, 6), 3u | 1u << 6, 3, 7, 70, ~0u, 4}) == kDone);
  CHECK(device.written == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{3, 70}});
}

TEST_CASE("pm4: ATOMIC_MEM on 32 and 64 bits") {
  struct Case {
    std::uint32_t op;
    std::uint64_t before, data, compare, after;
  };
  const auto c = GENERATE(Case{0x0f, 10, 3, 0, 13}, Case{0x4f, 10, 3, 0, 13}, Case{0x10, 10, 3, 0, 7}, Case{0x07, 10, 3, 0, 3},
                          Case{0x08, 10, 3, 10, 3}, Case{0x08, 10, 3, 11, 10}, Case{0x11, 0xffffffff, 3, 0, 0xffffffff},
                          Case{0x12, 0xffffffff, 3, 0, 3}, Case{0x13, 0xffffffff, 3, 0, 3},
                          Case{0x14, 0xffffffff, 3, 0, 0xffffffff}, Case{0x15, 12, 10, 0, 8}, Case{0x16, 12, 10, 0, 14},
                          Case{0x17, 12, 10, 0, 6}, Case{0x18, 5, 5, 0, 0}, Case{0x18, 4, 5, 0, 5}, Case{0x19, 0, 5, 0, 5},
                          Case{0x19, 4, 5, 0, 3}, Case{0x2f, 0xffffffffull, 1, 0, 0x100000000ull}, Case{0x6f, 0, ~0ull, 0, ~0ull},
                          Case{0x28, 1ull << 40, 7, 1ull << 40, 7});
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  std::memcpy(&device.words[256], &c.before, 8);
  CHECK(run(device, interpreter,
            {p4::header(p4::atomic_mem, 8), c.op, device.lo(256), device.hi(256), static_cast<std::uint32_t>(c.data),
             static_cast<std::uint32_t>(c.data >> 32), static_cast<std::uint32_t>(c.compare),
             static_cast<std::uint32_t>(c.compare >> 32), 16}) == kDone);
  std::uint64_t after = 0;
  std::memcpy(&after, &device.words[256], 8);
  CHECK(after == c.after);
}

TEST_CASE("pm4: a looping compare-and-swap waits until it succeeds") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  device.words[256] = 1;
  CHECK(run(device, interpreter,
            {p4::header(p4::atomic_mem, 8), 0x08u | 1u << 8, device.lo(256), device.hi(256), 9, 0, 0, 0, 16}) == kWaiting);
  device.words[256] = 0;
  CHECK(interpreter.run(10) == kDone);
  CHECK(device.words[256] == 9);
}

TEST_CASE("pm4: COPY_DATA from memory, immediate and clock, 32 and 64 bits") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  device.words[256] = 0x11;
  device.words[257] = 0x22;
  CHECK(run(device, interpreter,
            {p4::header(p4::copy_data, 5), 1u | 5u << 8 | 1u << 16, device.lo(256), device.hi(256), device.lo(260), device.hi(260),
             p4::header(p4::copy_data, 5), 5u | 5u << 8, 99, 0, device.lo(264), device.hi(264), p4::header(p4::copy_data, 5),
             9u | 5u << 8 | 1u << 16, 0, 0, device.lo(266), device.hi(266)}) == kDone);
  CHECK(device.words[260] == 0x11);
  CHECK(device.words[261] == 0x22);
  CHECK(device.words[264] == 99);
  CHECK(device.words[265] == 0);
  CHECK(device.words[266] == 4242);
}

TEST_CASE("pm4: RELEASE_MEM waits for work in flight, stores, and interrupts") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  device.idle_now = false;
  CHECK(run(device, interpreter,
            {p4::header(p4::release_mem, 7), 0x14u | 5u << 8, 2u << 29 | 2u << 24, device.lo(256), device.hi(256), 5, 6, 321}) ==
        kWaiting);
  CHECK(device.words[256] == 0);
  device.idle_now = true;
  CHECK(interpreter.run(10) == kDone);
  CHECK(device.words[256] == 5);
  CHECK(device.words[257] == 6);
  CHECK(device.releases == 1);
  CHECK(device.interrupts == std::vector<std::uint32_t>{321});
}

TEST_CASE("pm4: EVENT_WRITE of a partial flush waits for work in flight, other events do not") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  device.idle_now = false;
  CHECK(run(device, interpreter, {p4::header(p4::event_write, 1), 7u | 4u << 8}) == kWaiting);
  CHECK(run(device, interpreter, {p4::header(p4::event_write, 1), 0x16u}) == kDone);
}

TEST_CASE("pm4: SET_SH_REG and DISPATCH_DIRECT reach the device; a dispatch without the enable bit does nothing") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  CHECK(run(device, interpreter,
            {p4::header(p4::set_sh_reg, 3), p4::compute_pgm_lo - p4::kShBase, 0x1234, 0, p4::header(p4::dispatch_direct, 4), 2, 3,
             4, 1, p4::header(p4::dispatch_direct, 4), 2, 3, 4, 0}) == kDone);
  REQUIRE(device.dispatched.size() == 1);
  CHECK(device.dispatched[0] == std::array<std::uint32_t, 5>{2, 3, 4, 1, 0x1234});
}

TEST_CASE("pm4: an indirect buffer is executed and returns, a chained one does not return") {
  const bool chain = GENERATE(false, true);
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  const std::vector<std::uint32_t> inner{p4::header(p4::write_data, 4), 5u << 8, device.lo(256), device.hi(256), 1};
  std::copy(inner.begin(), inner.end(), device.words + 128);
  CHECK(run(device, interpreter,
            {p4::header(p4::indirect_buffer, 3), device.lo(128), device.hi(128), 5u | (chain ? 1u << 20 : 0u) | 1u << 23,
             p4::header(p4::write_data, 4), 5u << 8, device.lo(257), device.hi(257), 2}) == kDone);
  CHECK(device.words[256] == 1);
  CHECK(device.words[257] == (chain ? 0u : 2u));
}

TEST_CASE("pm4: wrong input is an error with its place") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  SECTION("unknown opcode") { CHECK(run(device, interpreter, {p4::header(static_cast<p4::Opcode>(0xEE), 1), 0}) == kError); }
  SECTION("type 0") { CHECK(run(device, interpreter, {0x00000001u, 0}) == kError); }
  SECTION("body beyond the buffer") { CHECK(run(device, interpreter, {p4::header(p4::nop, 8), 0}) == kError); }
  SECTION("body too short") { CHECK(run(device, interpreter, {p4::header(p4::wait_reg_mem, 2), 0, 0}) == kError); }
  SECTION("unmapped destination") { CHECK(run(device, interpreter, {p4::header(p4::write_data, 4), 5u << 8, 64, 0, 1}) == kError); }
  SECTION("SH register out of range") { CHECK(run(device, interpreter, {p4::header(p4::set_sh_reg, 2), 0x400, 1}) == kError); }
  SECTION("endless nesting") {
    CHECK(run(device, interpreter, {p4::header(p4::indirect_buffer, 3), device.lo(0), device.hi(0), 4}) == kError);
  }
  SECTION("unmapped buffer") {
    interpreter.start(0x40, 4);
    CHECK(interpreter.run(10) == kError);
  }
  CHECK_FALSE(interpreter.error().detail.empty());
}

TEST_CASE("pm4: a buffer that chains to itself uses up its budget and no more") {
  FakeDevice device;
  Pm4Interpreter interpreter{device};
  CHECK(run(device, interpreter, {p4::header(p4::indirect_buffer, 3), device.lo(0), device.hi(0), 4u | 1u << 20}) ==
        Pm4Interpreter::Status::budget);
}

TEST_CASE("pm4: an AQL vendor packet runs its indirect buffer and completes") {
  auto gpu = make_gpu();
  Memory memory{*gpu, 4096, kRead | kWrite, "commands"};
  const std::uint64_t target = memory.address() + 2048;
  const std::uint32_t commands[] = {p4::header(p4::acquire_mem, 6),
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    p4::header(p4::write_data, 4),
                                    5u << 8,
                                    static_cast<std::uint32_t>(target),
                                    static_cast<std::uint32_t>(target >> 32),
                                    0x600D};
  std::memcpy(memory.host<std::byte>(), commands, sizeof commands);
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  abi::Pm4IbPacket packet{};
  packet.amd_format = static_cast<std::uint8_t>(abi::VendorFormat::pm4_indirect_buffer);
  packet.ib_jump_cmd[0] = p4::header(p4::indirect_buffer, 3);
  packet.ib_jump_cmd[1] = static_cast<std::uint32_t>(memory.address());
  packet.ib_jump_cmd[2] = static_cast<std::uint32_t>(memory.address() >> 32);
  packet.ib_jump_cmd[3] = std::size(commands) | 1u << 23;
  packet.dw_cnt_remain = 0xA;
  packet.completion_signal = done.handle();
  SECTION("good") {
    queue.submit(packet);
    gpu->run_until_idle();
    CHECK(*memory.host<std::uint32_t>(2048) == 0x600D);
    CHECK(done.load() == 0);
    CHECK(queue.read_index() == 1);
  }
  SECTION("no INDIRECT_BUFFER command, size not valid, or bad commands: a vendor format error") {
    const int which = GENERATE(0, 1, 2);
    if (which == 0) packet.ib_jump_cmd[0] = p4::header(p4::nop, 3);
    if (which == 1) packet.ib_jump_cmd[3] &= ~(1u << 23);
    if (which == 2) *memory.host<std::uint32_t>() = p4::header(static_cast<p4::Opcode>(0xEE), 1);
    queue.submit(packet);
    gpu->run_until_idle();
    REQUIRE(queue.faults.size() == 1);
    CHECK(queue.faults[0].code == Errc::invalid_packet_format);
    CHECK(queue.faults[0].error_bits == abi::kQueueErrorVendorFormat);
    CHECK(done.load() == 1);
    CHECK(queue.read_index() == 0);
  }
}

TEST_CASE("pm4: a ring is executed up to its doorbell, wraps, and reports its read position") {
  auto gpu = make_gpu();
  Memory memory{*gpu, 8192, kRead | kWrite, "pm4 ring"};
  auto* ring = memory.host<std::uint32_t>();
  auto* read_pointer = memory.host<std::uint32_t>(4096);
  auto* doorbell = memory.host<std::uint64_t>(4104);
  const std::uint64_t target = memory.address() + 6000;
  Pm4QueueConfig config;
  config.ring_address = memory.address();
  config.ring_dwords = 16;
  config.read_pointer = read_pointer;
  config.doorbell = doorbell;
  std::vector<std::string> errors;
  config.on_error = [&errors](const QueueFault& fault) { errors.push_back(fault.detail); };
  const auto id = gpu->create_pm4_queue(config);
  REQUIRE(id);
  for (std::uint64_t position = 0, n = 1; n <= 20; ++n) {
    const std::uint32_t command[] = {p4::header(p4::write_data, 4), 5u << 8, static_cast<std::uint32_t>(target),
                                     static_cast<std::uint32_t>(target >> 32), static_cast<std::uint32_t>(n)};
    for (const std::uint32_t word : command) ring[position++ % 16] = word;
    std::atomic_ref{*doorbell}.store(position, std::memory_order_release);
    Gpu::notify(gpu.get());
    gpu->run_until_idle();
    CHECK(*memory.host<std::uint32_t>(6000) == n);
    CHECK(*read_pointer == position);
  }
  CHECK(errors.empty());
  std::atomic_ref{*doorbell}.store(100000, std::memory_order_release);
  gpu->run_until_idle();
  CHECK(errors.size() == 1);
  CHECK(gpu->destroy_queue(*id));
}

TEST_CASE("pm4: a ring starts at its write position, and positions of 32 bits overflow") {
  auto gpu = make_gpu();
  Memory memory{*gpu, 8192, kRead | kWrite, "pm4 ring"};
  auto* read_pointer = memory.host<std::uint32_t>(4096);
  auto* doorbell = memory.host<std::uint64_t>(4104);
  auto* write_pointer = memory.host<std::uint32_t>(4112);
  const std::uint64_t target = memory.address() + 6000;
  std::uint32_t position = 0xfffffffdu;
  const auto put = [&](std::uint32_t value) {
    const std::uint32_t command[] = {p4::header(p4::write_data, 4), 5u << 8, static_cast<std::uint32_t>(target),
                                     static_cast<std::uint32_t>(target >> 32), value};
    for (const std::uint32_t word : command) memory.host<std::uint32_t>()[position++ % 16] = word;
  };
  *read_pointer = position;
  put(7);
  *write_pointer = position;
  *doorbell = 12345; // of an earlier queue
  std::vector<std::string> errors;
  Pm4QueueConfig config;
  config.ring_address = memory.address();
  config.ring_dwords = 16;
  config.read_pointer = read_pointer;
  config.write_pointer = write_pointer;
  config.doorbell = doorbell;
  config.on_error = [&errors](const QueueFault& fault) { errors.push_back(fault.detail); };
  const auto id = gpu->create_pm4_queue(config);
  REQUIRE(id);
  gpu->run_until_idle();
  CHECK(*memory.host<std::uint32_t>(6000) == 7);
  CHECK(*read_pointer == 2);
  put(8);
  std::atomic_ref{*doorbell}.store((1ull << 32) + position, std::memory_order_release); // one that counts with 64 bits
  gpu->run_until_idle();
  CHECK(*memory.host<std::uint32_t>(6000) == 8);
  put(9);
  std::atomic_ref{*doorbell}.store(position, std::memory_order_release);
  gpu->run_until_idle();
  CHECK(*memory.host<std::uint32_t>(6000) == 9);
  CHECK(errors.empty());
  CHECK(gpu->destroy_queue(*id));
}
