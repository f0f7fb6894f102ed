// Every error code, one bad field at a time; what an error stops and what it leaves alone.
#include "unit/cp/bench.hpp"

using namespace cp_test;

namespace {

struct Bad {
  const char* what;
  void (*spoil)(abi::KernelDispatchPacket&);
  Errc code;
  std::uint32_t bits;
  const char* text; // part of the report
};

const Bad kBadFields[] = {
    {"no dimensions", [](auto& p) { p.setup = 0; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions, "0 dimensions"},
    {"workgroup_size_x 0", [](auto& p) { p.workgroup_size_x = 0; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions,
     "workgroup_size_x is 0"},
    {"workgroup_size_y 0", [](auto& p) { p.setup = 2, p.workgroup_size_y = 0; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "workgroup_size_y is 0"},
    {"workgroup_size_z 0", [](auto& p) { p.setup = 3, p.workgroup_size_z = 0; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "workgroup_size_z is 0"},
    {"grid_size_x 0", [](auto& p) { p.grid_size_x = 0; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions,
     "grid_size_x is 0"},
    {"grid_size_y 0", [](auto& p) { p.setup = 2, p.grid_size_y = 0; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions,
     "grid_size_y is 0"},
    {"grid_size_z 0", [](auto& p) { p.setup = 3, p.grid_size_z = 0; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions,
     "grid_size_z is 0"},
    {"grid smaller than the group, x", [](auto& p) { p.grid_size_x = 63; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "smaller than workgroup_size_x"},
    {"grid smaller than the group, y", [](auto& p) { p.setup = 2, p.workgroup_size_y = 2; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "smaller than workgroup_size_y"},
    {"grid smaller than the group, z", [](auto& p) { p.setup = 3, p.workgroup_size_z = 2; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "smaller than workgroup_size_z"},
    {"unused grid dimension y", [](auto& p) { p.grid_size_y = 2; }, Errc::incompatible_arguments, abi::kQueueErrorDimensions,
     "not used"},
    {"unused grid dimension z", [](auto& p) { p.setup = 2, p.grid_size_z = 2; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "not used"},
    {"unused group dimension y", [](auto& p) { p.workgroup_size_y = 2, p.grid_size_y = 2; }, Errc::incompatible_arguments,
     abi::kQueueErrorDimensions, "not used"},
    {"1025 work-items in a group", [](auto& p) { p.grid_size_x = 1025, p.workgroup_size_x = 1025; }, Errc::invalid_argument,
     abi::kQueueErrorWorkgroupSize, "1025"},
    {"33 x 32 work-items in a group",
     [](auto& p) { p.setup = 2, p.workgroup_size_x = 33, p.workgroup_size_y = 32, p.grid_size_x = 33, p.grid_size_y = 32; },
     Errc::invalid_argument, abi::kQueueErrorWorkgroupSize, "1056"},
    {"65535^3 work-items in a group",
     [](auto& p) {
       p.setup = 3, p.workgroup_size_x = p.workgroup_size_y = p.workgroup_size_z = 65535,
       p.grid_size_x = p.grid_size_y = p.grid_size_z = 65535;
     },
     Errc::invalid_argument, abi::kQueueErrorWorkgroupSize, "work-items"},
    {"more workgroups than 62 bits count", [](auto& p) { p.setup = 3, p.workgroup_size_x = 1, p.grid_size_x = p.grid_size_y = p.grid_size_z = ~0u; },
     Errc::incompatible_arguments, abi::kQueueErrorDimensions, "workgroups"},
    {"group segment one byte too large", [](auto& p) { p.group_segment_size = 65537; }, Errc::invalid_allocation,
     abi::kQueueErrorGroupMemory, "65537"},
    {"kernel object null", [](auto& p) { p.kernel_object = 0; }, Errc::invalid_code_object, abi::kQueueErrorCode, "null"},
    {"kernel object misaligned", [](auto& p) { p.kernel_object += 8; }, Errc::invalid_code_object, abi::kQueueErrorCode, "aligned"},
    {"kernel object unmapped", [](auto& p) { p.kernel_object = 0x10000; }, Errc::invalid_code_object, abi::kQueueErrorCode,
     "0x10000"},
    {"private segment beyond the limit", [](auto& p) { p.private_segment_size = 131057; }, Errc::out_of_resources,
     abi::kQueueErrorScratchLarge, "131056"},
    {"completion signal unmapped", [](auto& p) { p.completion_signal = 0x20000; }, Errc::memory_fault, 0,
     "0x20000"},
    {"completion signal misaligned", [](auto& p) { p.completion_signal += 4; }, Errc::memory_fault, 0,
     "completion signal"},
};

} // namespace

TEST_CASE("errors: each bad field of a dispatch packet has its code, is reported once, and completes nothing") {
  const auto& bad = GENERATE(from_range(std::begin(kBadFields), std::end(kBadFields)));
  INFO(bad.what);
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1}, later{*gpu, 1}, elsewhere{*gpu, 1};
  Queue queue{*gpu}, other{*gpu};
  auto packet = dispatch(kernel.object(), done.handle());
  bad.spoil(packet);
  queue.submit(packet);
  queue.submit(barrier(abi::PacketType::barrier_and, later.handle()));
  other.submit(barrier(abi::PacketType::barrier_and, elsewhere.handle()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == bad.code);
  CHECK(queue.faults[0].error_bits == bad.bits);
  CHECK(queue.faults[0].packet_index == 0);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains(bad.text));
  CHECK(queue.inactive().load() == static_cast<std::int64_t>(bad.bits));
  CHECK(queue.state() == QueueState::inactive);
  CHECK(queue.read_index() == 0);
  CHECK(queue.header(0) == static_cast<std::uint32_t>(abi::PacketType::kernel_dispatch));
  CHECK(done.load() == 1);
  CHECK(later.load() == 1);
  CHECK(elsewhere.load() == 0);
  CHECK(other.fault_count == 0);
}

TEST_CASE("errors: packet types that do not exist are not consumed and complete nothing") {
  const auto type = static_cast<std::uint16_t>(GENERATE(6, 7, 42, 128, 255));
  auto gpu = make_gpu();
  Signal done{*gpu, 1}, later{*gpu, 1}, elsewhere{*gpu, 1};
  Queue queue{*gpu}, other{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and, done.handle());
  packet.header = type;
  queue.submit(packet);
  queue.submit(barrier(abi::PacketType::barrier_and, later.handle()));
  other.submit(barrier(abi::PacketType::barrier_and, elsewhere.handle()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_packet_format);
  CHECK(queue.faults[0].error_bits == abi::kQueueErrorPacketFormat);
  CHECK(queue.read_index() == 0);
  CHECK(done.load() == 1);
  CHECK(later.load() == 1);
  CHECK(elsewhere.load() == 0);
}

TEST_CASE("errors: vendor formats that do not exist are vendor format errors") {
  const auto format = static_cast<std::uint8_t>(GENERATE(0, 4, 200, 0xFE));
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  abi::BarrierValuePacket packet{};
  packet.amd_format = format;
  packet.completion_signal = done.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_packet_format);
  CHECK(queue.faults[0].error_bits == abi::kQueueErrorVendorFormat);
  CHECK(done.load() == 1);
  CHECK(queue.read_index() == 0);
}

TEST_CASE("errors: an agent dispatch on a queue without a function is a packet format error") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  abi::AgentDispatchPacket packet{};
  packet.header = static_cast<std::uint16_t>(abi::PacketType::agent_dispatch);
  packet.completion_signal = done.handle();
  queue.submit(packet);
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_packet_format);
  CHECK(done.load() == 1);
}

TEST_CASE("errors: code that is mapped but not executable is refused") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  REQUIRE(gpu->memory().change(kernel.object(), kRead | kWrite, MemoryKind::executable));
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_code_object);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("not executable"));
}

TEST_CASE("errors: an entry that is not 256-byte aligned, and wave32, are refused") {
  const bool wave32 = GENERATE(false, true);
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  if (wave32) {
    kernel.descriptor().kernel_code_properties |= abi::PropWavefrontSize32::encode<std::uint16_t>(1);
  } else {
    kernel.descriptor().kernel_code_entry_byte_offset = 260;
  }
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object()));
  gpu->run_until_idle();
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::invalid_code_object);
}

TEST_CASE("errors: a descriptor that was good and is overwritten is noticed") {
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}};
  Queue first{*gpu}, second{*gpu};
  first.submit(dispatch(kernel.object()));
  gpu->run_until_idle();
  kernel.descriptor().kernel_code_entry_byte_offset = 1 << 20;
  second.submit(dispatch(kernel.object()));
  gpu->run_until_idle();
  REQUIRE(second.faults.size() == 1);
  CHECK(second.faults[0].code == Errc::invalid_code_object);
}

TEST_CASE("registers: 256 x 512 and 1024 x 128 fit, 1024 x 129 and 512 x 257 do not") {
  struct Case {
    std::uint16_t group;
    std::uint32_t vgprs;
    bool fits;
  };
  const auto c = GENERATE(Case{256, 512, true}, Case{1024, 128, true}, Case{1024, 129, false}, Case{512, 256, true},
                          Case{512, 257, false}, Case{64, 512, true}, Case{320, 264, false});
  auto gpu = make_gpu();
  Kernel kernel{*gpu, {kEndpgm}, {.vgprs = c.vgprs}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  queue.submit(dispatch(kernel.object(), done.handle(), c.group, c.group));
  gpu->run_until_idle();
  if (c.fits) {
    CHECK(done.load() == 0);
  } else {
    REQUIRE(queue.faults.size() == 1);
    CHECK(queue.faults[0].code == Errc::out_of_registers);
    CHECK(queue.faults[0].error_bits == abi::kQueueErrorRegisters);
  }
}

TEST_CASE("LDS: the whole of it may be asked for; gfx950 has more") {
  struct Case {
    const char* target;
    std::uint32_t bytes;
    bool fits;
  };
  const auto c = GENERATE(Case{"gfx942", 65536, true}, Case{"gfx90a", 65536, true}, Case{"gfx950", 163840, true},
                          Case{"gfx950", 163841, false}, Case{"gfx90a", 65537, false});
  auto gpu = make_gpu({.hand_stepped = true}, c.target);
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  auto packet = dispatch(kernel.object(), done.handle());
  packet.group_segment_size = c.bytes;
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(done.load() == (c.fits ? 0 : 1));
  CHECK(queue.faults.size() == (c.fits ? 0u : 1u));
}

TEST_CASE("errors: the callback may destroy its own queue") {
  auto gpu = make_gpu();
  Queue* self = nullptr;
  QueueOptions options;
  options.on_error = [&self](const QueueFault&) { self->destroy(); };
  Queue queue{*gpu, options};
  self = &queue;
  auto packet = barrier(abi::PacketType::barrier_and);
  packet.header = 99;
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(queue.fault_count == 1);
}

TEST_CASE("errors: an inactive queue stays so, and its error is reported once only") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  auto packet = barrier(abi::PacketType::barrier_and);
  packet.header = 99;
  queue.submit(packet);
  gpu->run_until_idle();
  queue.submit(barrier(abi::PacketType::barrier_and));
  queue.submit(packet);
  gpu->run_until_idle();
  CHECK(queue.fault_count == 1);
  CHECK(queue.read_index() == 0);
}

TEST_CASE("queues: inactivate stops one as if it had faulted") {
  auto gpu = make_gpu();
  Signal done{*gpu, 1};
  Queue queue{*gpu};
  CHECK(gpu->inactivate_queue(queue.id()));
  queue.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  gpu->run_until_idle();
  CHECK(queue.state() == QueueState::inactive);
  CHECK(done.load() == 1);
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::queue_inactive);
}

TEST_CASE("queues: a ring that is not mapped, not a power of two or misaligned is refused") {
  auto gpu = make_gpu();
  Memory memory{*gpu, 16384, kRead | kWrite, "queue"};
  auto& amd = *memory.host<abi::AmdQueue>();
  amd.hsa_queue.size = 64;
  amd.hsa_queue.base_address = memory.address() + 8192;
  QueueConfig config;
  config.amd_queue = &amd;
  config.doorbell = memory.host<std::uint64_t>(4096);
  SECTION("not mapped") { amd.hsa_queue.base_address = 0x100000; }
  SECTION("beyond the mapping") { amd.hsa_queue.size = 256; }
  SECTION("not a power of two") { amd.hsa_queue.size = 65; }
  SECTION("zero packets") { amd.hsa_queue.size = 0; }
  SECTION("misaligned") { amd.hsa_queue.base_address += 8; }
  SECTION("no doorbell") { config.doorbell = nullptr; }
  SECTION("no structure") { config.amd_queue = nullptr; }
  const auto id = gpu->create_queue(config);
  REQUIRE_FALSE(id);
  CHECK(id.error().code == Errc::invalid_queue_creation);
}

TEST_CASE("queues: destroying an unknown or destroyed queue is an error") {
  auto gpu = make_gpu();
  Queue queue{*gpu};
  const QueueId id = queue.id();
  queue.destroy();
  CHECK_FALSE(gpu->destroy_queue(id));
  CHECK_FALSE(gpu->destroy_queue(12345));
  CHECK(*gpu->queue_state(id) == QueueState::destroyed);
  CHECK_FALSE(gpu->queue_state(12345));
}
