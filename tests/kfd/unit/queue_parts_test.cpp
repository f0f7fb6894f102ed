// Scratch layouts, error bits, clocks and the cache invalidation: arithmetic of the kfd driver.

#include "driver/code_invalidation.hpp"
#include "driver/kfd/clock.hpp"
#include "driver/kfd/hw_queue.hpp"
#include "driver/kfd/scratch.hpp"
#include "driver/kfd_claim.hpp"
#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail;
using namespace aql::detail::kfd;
using Catch::Matchers::Contains;

namespace {

Gpu mi210() {
  Gpu gpu;
  gpu.info.compute_units = 104;
  gpu.info.xcc_count = 1;
  gpu.info.memory_bytes = 64ull << 30;
  gpu.shader_engines = 8;
  gpu.scratch_slots_per_cu = 32;
  return gpu;
}

Gpu mi300x() {
  Gpu gpu = mi210();
  gpu.info.compute_units = 304;
  gpu.info.xcc_count = 8;
  gpu.shader_engines = 32;
  return gpu;
}

constexpr std::uint64_t kBudget = 16ull << 30;

} // namespace

TEST_CASE("kfd scratch: every wave slot of the device has room") {
  const auto layout = lay_out_scratch(mi210(), 512, kBudget);
  REQUIRE(layout);
  CHECK(layout->lane_bytes == 512);
  CHECK(layout->wave_kib == 32);
  CHECK(layout->waves_per_xcc == 104 * 32);
  CHECK(layout->total_bytes == 104ull * 32 * 32 * 1024); // 104 MiB
}

TEST_CASE("kfd scratch: waves have whole KiB") {
  const auto layout = lay_out_scratch(mi210(), 17, kBudget);
  REQUIRE(layout);
  CHECK(layout->lane_bytes == 32);
  CHECK(layout->wave_kib == 2);
}

TEST_CASE("kfd scratch: each XCC has its own part") {
  const auto layout = lay_out_scratch(mi300x(), 64, kBudget);
  REQUIRE(layout);
  CHECK(layout->waves_per_xcc == 38 * 32);
  CHECK(layout->bytes_per_xcc == 38ull * 32 * 4096);
  CHECK(layout->total_bytes == 8 * layout->bytes_per_xcc);
}

TEST_CASE("kfd scratch: large frames get fewer waves, dealt evenly to the shader engines") {
  const auto layout = lay_out_scratch(mi210(), 131056, kBudget);
  REQUIRE(layout);
  CHECK(layout->wave_kib == 8191);
  CHECK(layout->waves_per_xcc % 8 == 0);
  CHECK(layout->total_bytes <= kBudget);
  CHECK(layout->total_bytes + 8 * 8191ull * 1024 > kBudget);
}

TEST_CASE("kfd scratch: more than the register holds is refused") {
  const auto layout = lay_out_scratch(mi210(), 131072, kBudget);
  REQUIRE_FALSE(layout);
  CHECK(layout.error().code == Errc::out_of_resources);
  CHECK_THAT(layout.error().detail, Contains("131072") && Contains("131056"));
}

TEST_CASE("kfd scratch: each shader engine has room for the largest workgroup, or it is refused") {
  struct Card {
    Gpu gpu;
    std::uint64_t engines, xccs;
  };
  const auto card = GENERATE(Card{mi210(), 8, 1}, Card{mi300x(), 4, 8});
  const std::uint64_t wave_bytes = 4096 * 64, least = 16 * card.engines * card.xccs * wave_bytes;
  const auto layout = lay_out_scratch(card.gpu, 4096, least);
  REQUIRE(layout);
  CHECK(layout->waves_per_xcc == 16 * card.engines);
  CHECK(layout->total_bytes == least);
  const auto refused = lay_out_scratch(card.gpu, 4096, least - 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::out_of_resources);
  CHECK_THAT(refused.error().detail, Contains(std::to_string(least)) && Contains("16 for each shader engine"));
}

TEST_CASE("kfd scratch: no room for one workgroup is refused") {
  const auto layout = lay_out_scratch(mi210(), 131056, 100u << 20);
  REQUIRE_FALSE(layout);
  CHECK(layout.error().code == Errc::out_of_resources);
}

TEST_CASE("kfd scratch: amd_queue_t tells the processor where it lies") {
  abi::AmdQueue queue{};
  const ScratchLayout layout{.lane_bytes = 512, .wave_kib = 32, .waves_per_xcc = 3328, .bytes_per_xcc = 109051904, .total_bytes = 109051904};
  describe_scratch(queue, layout, 0x7f1234560000);
  CHECK(queue.scratch_backing_memory_location == 0x7f1234560000);
  CHECK(queue.scratch_backing_memory_byte_size == 109051904);
  CHECK(queue.scratch_wave64_lane_byte_size == 512);
  CHECK(queue.compute_tmpring_size == (3328u | 32u << 12));
  CHECK(queue.scratch_resource_descriptor[0] == 0x34560000u);
  CHECK(queue.scratch_resource_descriptor[1] == (0x7f12u | 0x80000000u)); // SWIZZLE_ENABLE
  CHECK(queue.scratch_resource_descriptor[2] == 109051904u);
  CHECK(queue.scratch_resource_descriptor[3] == 0x00EA4FACu);
}

TEST_CASE("kfd errors: every bit of the processor has its code") {
  using enum abi::QueueError;
  CHECK(meaning_of(kQueueErrorDimensions).code == Errc::incompatible_arguments);
  CHECK(meaning_of(kQueueErrorGroupMemory).code == Errc::invalid_allocation);
  CHECK(meaning_of(kQueueErrorCode).code == Errc::invalid_code_object);
  CHECK(meaning_of(kQueueErrorPacketFormat).code == Errc::invalid_packet_format);
  CHECK(meaning_of(kQueueErrorVendorFormat).code == Errc::invalid_packet_format);
  CHECK(meaning_of(kQueueErrorWorkgroupSize).code == Errc::invalid_argument);
  CHECK(meaning_of(kQueueErrorRegisters).code == Errc::out_of_registers);
  CHECK(meaning_of(kQueueErrorAperture).code == Errc::memory_aperture_violation);
  CHECK(meaning_of(kQueueErrorIllegalInstruction).code == Errc::illegal_instruction);
  CHECK(meaning_of(kQueueErrorTrap).code == Errc::exception);
  CHECK(meaning_of(0x10).code == Errc::exception); // none that is known
}

TEST_CASE("kfd errors: only errors of packets name the packet at the read index") {
  CHECK(meaning_of(abi::kQueueErrorDimensions).at_packet);
  CHECK_FALSE(meaning_of(abi::kQueueErrorIllegalInstruction).at_packet);
}

TEST_CASE("kfd clock: one pair of readings goes by the nominal rate") {
  const ClockPair pair{1'000'000, 5'000'000'000};
  CHECK(interpolate(pair, pair, 100'000'000, 1'000'100) == 5'000'001'000);
  CHECK(interpolate(pair, pair, 100'000'000, 999'900) == 4'999'999'000);
}

TEST_CASE("kfd clock: two pairs a second apart measure the rate") {
  const ClockPair first{0, 0}, last{50'000'000, 1'000'000'000}; // really 50 MHz
  CHECK(interpolate(first, last, 100'000'000, 25'000'000) == 500'000'000);
}

TEST_CASE("kfd clock: pairs that are too close do not") {
  const ClockPair first{0, 0}, last{1, 1'000'000};
  CHECK(interpolate(first, last, 100'000'000, 101) == 1'001'000);
}

TEST_CASE("kfd code cache: ACQUIRE_MEM invalidates instruction, scalar and L2 caches over all addresses, and L2 is written back first") {
  std::uint32_t words[kInvalidateDwords];
  write_invalidation(words);
  CHECK(words[0] == 0xC0055800u);
  CHECK(words[1] == 0x28840000u);
  CHECK(words[2] == 0xFFFFFFFFu);
  CHECK(words[3] == 0xFFu);
}

TEST_CASE("kfd claim: the other hardware driver is refused while one is open, by name") {
  auto kfd = KfdClaim::take("kfd");
  REQUIRE(kfd);
  CHECK(KfdClaim::take("kfd"));
  const auto rocr = KfdClaim::take("rocr");
  REQUIRE_FALSE(rocr);
  CHECK(rocr.error().code == Errc::unsupported);
  CHECK_THAT(rocr.error().detail, Contains("kfd driver is open"));
}

TEST_CASE("kfd claim: given back, the other driver may have it") {
  { auto kfd = KfdClaim::take("kfd"); }
  CHECK(KfdClaim::take("rocr"));
}
