// Initial state of waves: registers by descriptor, ids, EXEC, scratch.
#include "sim/cp/wave_setup.hpp"

#include "support/catch.hpp"

using namespace aql;
using namespace aql::sim;

namespace {

constexpr std::uint16_t kAllProperties =
    0x7f; // bits 0-6: buffer, dispatch, queue, kernarg, dispatch id, flat scratch, private size

struct Rig {
  explicit Rig(Arch arch = Arch::gfx942, std::uint32_t rsrc2 = 0, std::uint16_t properties = 0, std::uint32_t vgprs = 8,
               std::uint32_t accum_offset = 8) {
    const std::uint32_t rsrc1 = abi::Rsrc1VgprGranules::encode<std::uint32_t>(vgprs / 8 - 1) | extra_rsrc1;
    decode_resources(dispatch.code, rsrc1, rsrc2, abi::Rsrc3AccumOffset::encode<std::uint32_t>(accum_offset / 4 - 1));
    dispatch.code.properties = properties;
    dispatch.context.arch = arch;
    dispatch.context.packet_address = 0x1111'0000'2222;
    dispatch.context.queue_address = 0x3333'0000'4444;
    dispatch.context.kernarg_address = 0x5555'0000'6666;
    dispatch.context.dispatch_id = 0x7777'0000'8888;
    dispatch.context.entry_pc = 0xabc00;
  }
  void shape(std::uint32_t gx, std::uint32_t gy, std::uint32_t gz, std::uint32_t wx, std::uint32_t wy, std::uint32_t wz) {
    const std::uint32_t grid[3] = {gx, gy, gz}, size[3] = {wx, wy, wz};
    dispatch.full_group_items = wx * wy * wz;
    dispatch.full_group_waves = (dispatch.full_group_items + 63) / 64;
    for (unsigned d = 0; d < 3; ++d) {
      dispatch.context.grid[d] = grid[d];
      dispatch.context.group[d] = size[d];
      dispatch.context.groups[d] = (grid[d] + size[d] - 1) / size[d];
    }
  }
  void start(std::uint64_t index) { set_up_group(group, dispatch, index, options); }

  std::uint32_t extra_rsrc1 = 0;
  SetupOptions options;
  Dispatch dispatch;
  ResidentGroup group;
};

constexpr std::uint32_t user_sgprs(std::uint32_t n) { return abi::Rsrc2UserSgprCount::encode<std::uint32_t>(n); }

} // namespace

TEST_CASE("wave set-up: user SGPRs are dense and in the documented order") {
  Rig rig{Arch::gfx90a, user_sgprs(15), kAllProperties};
  fill_user_sgprs(rig.dispatch, 0x99, nullptr);
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  const Wave& w = rig.group.waves[0];
  CHECK(w.sgpr64(4) == 0x1111'0000'2222);
  CHECK(w.sgpr64(6) == 0x3333'0000'4444);
  CHECK(w.sgpr64(8) == 0x5555'0000'6666);
  CHECK(w.sgpr64(10) == 0x7777'0000'8888);
  CHECK(rig.dispatch.flat_scratch_sgpr == 12);
  CHECK(w.sgpr[14] == 0x99);
}

TEST_CASE("wave set-up: each user SGPR property alone takes the first registers") {
  struct Case {
    std::uint16_t property;
    std::uint64_t value;
    std::uint32_t count;
  };
  const auto c = GENERATE(Case{2, 0x1111'0000'2222, 2}, Case{4, 0x3333'0000'4444, 2}, Case{8, 0x5555'0000'6666, 2},
                          Case{16, 0x7777'0000'8888, 2}, Case{64, 0x99, 1});
  Rig rig{Arch::gfx942, user_sgprs(2), c.property};
  fill_user_sgprs(rig.dispatch, 0x99, nullptr);
  CHECK(rig.dispatch.user_sgpr_count == c.count);
  CHECK((rig.dispatch.user_sgpr[0] | static_cast<std::uint64_t>(rig.dispatch.user_sgpr[1]) << 32) == c.value);
}

TEST_CASE("wave set-up: preloaded kernel arguments follow the other user SGPRs, sixteen at most in all") {
  Rig rig{Arch::gfx942, user_sgprs(16), abi::PropKernargSegmentPtr::encode<std::uint16_t>(1)};
  rig.dispatch.code.preload_dwords = 20;
  std::uint32_t arguments[20];
  for (std::uint32_t i = 0; i < 20; ++i) arguments[i] = 100 + i;
  fill_user_sgprs(rig.dispatch, 0, arguments);
  CHECK(rig.dispatch.user_sgpr_count == 16);
  CHECK(rig.dispatch.user_sgpr[2] == 100);
  CHECK(rig.dispatch.user_sgpr[15] == 113);
}

TEST_CASE("wave set-up: system SGPRs follow in order x, y, z, workgroup info, scratch offset, each only if asked for") {
  const std::uint32_t asked = GENERATE(range(0u, 32u));
  std::uint32_t rsrc2 = user_sgprs(2);
  if ((asked & 1) != 0) rsrc2 |= abi::Rsrc2WorkgroupIdX::encode<std::uint32_t>(1);
  if ((asked & 2) != 0) rsrc2 |= abi::Rsrc2WorkgroupIdY::encode<std::uint32_t>(1);
  if ((asked & 4) != 0) rsrc2 |= abi::Rsrc2WorkgroupIdZ::encode<std::uint32_t>(1);
  if ((asked & 8) != 0) rsrc2 |= abi::Rsrc2WorkgroupInfo::encode<std::uint32_t>(1);
  if ((asked & 16) != 0) rsrc2 |= abi::Rsrc2PrivateSegment::encode<std::uint32_t>(1);
  Rig rig{Arch::gfx90a, rsrc2};
  WaveSlots slots;
  rig.dispatch.slots = &slots;
  rig.dispatch.scratch_wave_bytes = 1024;
  rig.group.scratch_slot[0] = 3;
  rig.shape(640, 20, 30, 64, 2, 2);
  rig.start(7 + 10 * (5 + 10 * 11)); // group (7, 5, 11), 4 waves
  const Wave& w = rig.group.waves[0];
  std::uint32_t next = 2;
  if ((asked & 1) != 0) CHECK(w.sgpr[next++] == 7);
  if ((asked & 2) != 0) CHECK(w.sgpr[next++] == 5);
  if ((asked & 4) != 0) CHECK(w.sgpr[next++] == 11);
  if ((asked & 8) != 0) {
    CHECK((w.sgpr[next] & 0x8000003fu) == (0x80000000u | 4u));
    CHECK((rig.group.waves[1].sgpr[next] & 0x8000003fu) == 4u);
    ++next;
  }
  if ((asked & 16) != 0) CHECK(w.sgpr[next++] == 3 * 1024);
  CHECK(w.sgpr[next] == 0);
}

TEST_CASE("wave set-up: gfx942 and gfx950 get architected flat scratch and no wave offset") {
  const auto arch = GENERATE(Arch::gfx942, Arch::gfx950);
  Rig rig{arch, user_sgprs(0) | abi::Rsrc2PrivateSegment::encode<std::uint32_t>(1)};
  WaveSlots slots;
  rig.dispatch.slots = &slots;
  rig.dispatch.context.scratch_base = 0x7f00'0000'0000;
  rig.dispatch.scratch_wave_bytes = 8 << 20;
  rig.group.scratch_slot[0] = 1000;
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  const Wave& w = rig.group.waves[0];
  CHECK(w.scratch_base == 0x7f00'0000'0000 + (1000ull << 23));
  CHECK(w.sgpr64(kFlatScratchLo) == w.scratch_base);
  CHECK(w.sgpr[0] == 0);
}

TEST_CASE("wave set-up: gfx90a scratch beyond 4 GiB: base and 32-bit offset together give the wave's memory") {
  Rig rig{Arch::gfx90a, user_sgprs(8) | abi::Rsrc2PrivateSegment::encode<std::uint32_t>(1),
          static_cast<std::uint16_t>(abi::PropPrivateSegmentBuffer::encode<std::uint16_t>(1) |
                                     abi::PropKernargSegmentPtr::encode<std::uint16_t>(1) |
                                     abi::PropFlatScratchInit::encode<std::uint16_t>(1))};
  fill_user_sgprs(rig.dispatch, 131056, nullptr);
  WaveSlots slots;
  rig.dispatch.slots = &slots;
  rig.dispatch.context.scratch_base = 0x7f00'1234'5000;
  rig.dispatch.scratch_wave_bytes = scratch_wave_bytes(131056);
  rig.group.scratch_slot[0] = 777;
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  const Wave& w = rig.group.waves[0];
  const std::uint64_t wave = 0x7f00'1234'5000 + 777ull * 8387584;
  const std::uint32_t offset = w.sgpr[8];
  CHECK(((w.sgpr64(0) & 0xffff'ffff'ffffull) + offset) == wave);
  CHECK(w.sgpr64(6) + offset == wave);
  CHECK(w.scratch_base == wave);
  CHECK(w.sgpr[1] >> 31 == 1);        // swizzled
  CHECK((w.sgpr[3] >> 23 & 1u) == 1); // add thread id
  CHECK((w.sgpr[3] >> 21 & 3u) == 3); // index stride 64
}

TEST_CASE("wave set-up: work-item ids are packed in v0, only for the dimensions asked for") {
  const std::uint32_t mode = GENERATE(0u, 1u, 2u);
  Rig rig{Arch::gfx942, abi::Rsrc2WorkitemId::encode<std::uint32_t>(mode)};
  rig.shape(8, 8, 8, 4, 3, 5);
  rig.start(0);
  const auto& v0 = rig.group.waves[0].vgpr[0];
  for (std::uint32_t i = 0; i < 60; ++i) {
    std::uint32_t expected = i % 4;
    if (mode >= 1) expected |= i / 4 % 3 << 10;
    if (mode >= 2) expected |= i / 12 << 20;
    CHECK(v0.lane[i] == expected);
  }
  CHECK(rig.group.waves[0].exec() == (1ull << 60) - 1);
}

TEST_CASE("wave set-up: ids count on through the waves of a group") {
  Rig rig{Arch::gfx942, abi::Rsrc2WorkitemId::encode<std::uint32_t>(2)};
  rig.shape(32, 8, 4, 32, 8, 4);
  rig.start(0);
  CHECK(rig.group.group.wave_count == 16);
  CHECK(rig.group.waves[15].vgpr[0].lane[63] == (31u | 7u << 10 | 3u << 20));
  CHECK(rig.group.waves[1].vgpr[0].lane[0] == (0u | 2u << 10));
  CHECK(rig.group.waves[15].index_in_group == 15);
}

TEST_CASE("wave set-up: a partial group has its own extent, fewer waves, and ids by that extent") {
  Rig rig{Arch::gfx942, abi::Rsrc2WorkitemId::encode<std::uint32_t>(1)};
  rig.shape(37, 21, 1, 16, 16, 1); // groups 3 x 2; the last is 5 x 5
  rig.start(5);
  CHECK(rig.group.group.id[0] == 2);
  CHECK(rig.group.group.id[1] == 1);
  CHECK(rig.group.group.wave_count == 1);
  CHECK(rig.group.waves[0].exec() == (1ull << 25) - 1);
  CHECK(rig.group.waves[0].vgpr[0].lane[24] == (4u | 4u << 10));
  rig.start(3); // 16 x 5
  CHECK(rig.group.group.wave_count == 2);
  CHECK(rig.group.waves[1].exec() == 0xffff);
  CHECK(rig.group.waves[1].vgpr[0].lane[15] == (15u | 4u << 10));
}

TEST_CASE("wave set-up: AccVGPRs begin at ACCUM_OFFSET of the unified file") {
  Rig rig{Arch::gfx90a, 0, 0, 128, 92};
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  CHECK(rig.group.waves[0].vgpr_count == 92);
  CHECK(rig.group.waves[0].agpr_base == 92);
  CHECK(rig.group.waves[0].agpr_count == 36);
}

TEST_CASE("wave set-up: an ACCUM_OFFSET past the allocation leaves no AccVGPRs") {
  Rig rig{Arch::gfx90a, 0, 0, 8, 256};
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  CHECK(rig.group.waves[0].vgpr_count == 8);
  CHECK(rig.group.waves[0].agpr_count == 0);
}

TEST_CASE("wave set-up: MODE comes from rsrc1 and the exception enables of rsrc2") {
  KernelCode code;
  decode_resources(
      code,
      abi::Rsrc1FloatRound32::encode<std::uint32_t>(1) | abi::Rsrc1FloatRound16_64::encode<std::uint32_t>(2) |
          abi::Rsrc1FloatDenorm32::encode<std::uint32_t>(3) | abi::Rsrc1FloatDenorm16_64::encode<std::uint32_t>(1) |
          abi::Rsrc1Dx10Clamp::encode<std::uint32_t>(1) | abi::Rsrc1Fp16Overflow::encode<std::uint32_t>(1),
      abi::Rsrc2ExceptionIeeeInvalid::encode<std::uint32_t>(1) | abi::Rsrc2ExceptionIntDivideByZero::encode<std::uint32_t>(1), 0);
  CHECK(code.mode.round32() == 1);
  CHECK(code.mode.round16_64() == 2);
  CHECK(code.mode.denorm32() == 3);
  CHECK(code.mode.denorm16_64() == 1);
  CHECK(code.mode.dx10_clamp());
  CHECK_FALSE(code.mode.ieee());
  CHECK(code.mode.fp16_ovfl());
  CHECK((code.mode.bits >> 12 & 0x7fu) == (1u | 1u << 6));
}

TEST_CASE("wave set-up: workgroups go to the XCDs round robin in dispatch order") {
  Rig rig;
  rig.options.xcc_count = 8;
  rig.options.cus_per_engine = 10;
  rig.dispatch.cu_count = 8 * 38;
  rig.shape(64 * 400, 1, 1, 64, 1, 1);
  for (const std::uint64_t i : {0u, 1u, 7u, 8u, 79u, 80u, 303u}) {
    rig.start(i);
    CHECK(rig.group.group.xcc_id == i % 8);
    CHECK(rig.group.group.se_id == i / 80);
    CHECK(rig.group.group.cu_id == i / 8 % 10);
  }
  rig.start(304);
  CHECK(rig.group.group.xcc_id == 0);
  CHECK(rig.group.group.cu_id == 0);
}

TEST_CASE("wave set-up: under a CU mask groups go to the compute units that are left, in turn") {
  Rig rig;
  const std::uint16_t cus[] = {3, 8, 17};
  rig.options.xcc_count = 8;
  rig.dispatch.cus = cus;
  rig.dispatch.cu_count = 3;
  rig.shape(64 * 20, 1, 1, 64, 1, 1);
  for (std::uint64_t i = 0; i < 6; ++i) {
    rig.start(i);
    CHECK(rig.group.group.xcc_id == cus[i % 3] % 8u);
    CHECK(rig.group.group.cu_id == cus[i % 3] / 8u);
  }
}

TEST_CASE("wave set-up: poison fills registers and LDS, otherwise LDS is zero") {
  const bool poison = GENERATE(false, true);
  Rig rig;
  rig.options.poison = poison;
  rig.dispatch.context.lds_bytes = 512;
  rig.shape(64, 1, 1, 64, 1, 1);
  rig.start(0);
  CHECK(rig.group.group.lds[511] == (poison ? std::byte{0xA5} : std::byte{0}));
  if (poison) CHECK(rig.group.waves[0].vgpr[7].lane[63] == 0xDEADBEEF);
}

TEST_CASE("scratch slots: bounded, most recently used first, and refused when there are not enough") {
  WaveSlots slots;
  slots.reset(4);
  std::uint32_t a[2], b[2], c[1];
  CHECK(slots.take(a));
  CHECK(slots.take(b));
  CHECK_FALSE(slots.take(c));
  slots.give(a);
  CHECK(slots.take(c));
  CHECK(c[0] == a[1]);
  CHECK(slots.high_water() == 4);
}

TEST_CASE("scratch: a wave's share is rounded up to 1 KiB, with 64-bit products") {
  CHECK(scratch_wave_bytes(1) == 1024);
  CHECK(scratch_wave_bytes(16) == 1024);
  CHECK(scratch_wave_bytes(17) == 2048);
  CHECK(scratch_wave_bytes(131056) == 8387584);
  CHECK(scratch_wave_bytes(131056) * 9728 > (1ull << 32));
}
