// Which nodes of the topology become devices, and why others do not.

#include <cstring>

#include "driver/kfd/topology.hpp"
#include "support/catch.hpp"

using namespace aql::detail::kfd;
using Catch::Matchers::Contains;

namespace {

// An MI210 as the kernel describes it.
struct Node {
  HsaNodeProperties p{};
  std::vector<HsaMemoryProperties> banks;
  std::uint32_t xcc = 0;

  Node() {
    p.NumFComputeCores = 416;
    p.NumSIMDPerCU = 4;
    p.MaxWavesPerSIMD = 8;
    p.WaveFrontSize = 64;
    p.LDSSizeInKB = 64;
    p.NumShaderBanks = 8;
    p.MaxSlotsScratchCU = 32;
    p.NumSdmaEngines = 2;
    p.MaxEngineClockMhzFCompute = 1700;
    p.Capability.ui32.DoorbellType = 2;
    p.Capability.ui32.SRAM_EDCSupport = 1;
    target(9, 0, 10);
    bank(HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, 64ull << 30, 0);
    bank(HSA_HEAPTYPE_GPU_LDS, 65536, 0x1000000000000);
    bank(HSA_HEAPTYPE_GPU_SCRATCH, 1 << 30, 0x2000000000000);
    bank(HSA_HEAPTYPE_MMIO_REMAP, 4096, 0x7000);
  }
  void target(unsigned major, unsigned minor, unsigned stepping) {
    p.EngineId.ui32.Major = major & 0x3f;
    p.EngineId.ui32.Minor = minor & 0xff;
    p.EngineId.ui32.Stepping = stepping & 0xff;
  }
  void bank(HSA_HEAPTYPE type, std::uint64_t size, std::uint64_t base) {
    HsaMemoryProperties m{};
    m.HeapType = type;
    m.SizeInBytes = size;
    m.VirtualBaseAddress = base;
    banks.push_back(m);
  }
  [[nodiscard]] Gpu gpu() const { return gpu_of({1, p, banks, xcc, false}); }
};

} // namespace

TEST_CASE("kfd topology: a gfx90a node is a device with its numbers") {
  const Gpu gpu = Node{}.gpu();
  CHECK(gpu.refusal.empty());
  CHECK(gpu.info.isa == "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  CHECK(gpu.info.compute_units == 104);
  CHECK(gpu.info.xcc_count == 1);
  CHECK(gpu.info.lds_bytes == 65536);
  CHECK(gpu.info.memory_bytes == 64ull << 30);
  CHECK(gpu.info.shared_aperture == 0x1000000000000);
  CHECK(gpu.info.private_aperture == 0x2000000000000);
  CHECK(gpu.large_bar);
  CHECK(gpu.hdp_flush == 0x7000);
}

TEST_CASE("kfd topology: memory that the host sees in part is not mapped by it") {
  Node node;
  node.bank(HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE, 32ull << 30, 0);
  const Gpu gpu = node.gpu();
  CHECK_FALSE(gpu.large_bar);
  CHECK(gpu.info.memory_bytes == 96ull << 30);
}

TEST_CASE("kfd topology: gfx942 and gfx950 are refused where the thunk does not count XCCs") {
  Node node;
  const bool mi350 = GENERATE(false, true);
  if (mi350) node.target(9, 5, 0);
  else node.target(9, 4, 2);
  const Gpu gpu = node.gpu();
  CHECK_THAT(gpu.refusal, Contains(mi350 ? "gfx950" : "gfx942") && Contains("XCC") && Contains("does not tell their number"));
}

TEST_CASE("kfd topology: a partition of a gfx942 has its share of XCCs") {
  Node node;
  node.target(9, 4, 2);
  node.p.NumFComputeCores = 2 * 38 * 4; // QPX of an MI300X
  node.xcc = 2;
  const Gpu gpu = node.gpu();
  CHECK(gpu.refusal.empty());
  CHECK(gpu.info.target == "gfx942");
  CHECK(gpu.info.xcc_count == 2);
  CHECK(gpu.info.compute_units == 76);
}

TEST_CASE("kfd topology: gfx950 has larger LDS granules") {
  Node node;
  node.target(9, 5, 0);
  node.p.LDSSizeInKB = 160;
  node.xcc = 8;
  const Gpu gpu = node.gpu();
  CHECK(gpu.refusal.empty());
  CHECK(gpu.info.lds_bytes == 163840);
  CHECK(gpu.info.lds_granule == 1280);
}

TEST_CASE("kfd topology: other targets are refused by name") {
  Node node;
  node.target(10, 3, 0);
  CHECK_THAT(node.gpu().refusal, Contains("gfx1030") && Contains("gfx90a, gfx942 and gfx950"));
}

TEST_CASE("kfd topology: old doorbells are refused") {
  Node node;
  node.p.Capability.ui32.DoorbellType = 1;
  CHECK_THAT(node.gpu().refusal, Contains("doorbells are of type 1"));
}

TEST_CASE("kfd topology: XCCs that compute units cannot be shared out to are refused") {
  Node node;
  node.target(9, 4, 2);
  node.xcc = 7;
  CHECK_THAT(node.gpu().refusal, Contains("104 compute units") && Contains("7 XCCs"));
}

TEST_CASE("kfd topology: an incomplete node is refused with what it says") {
  Node node;
  node.p.NumFComputeCores = 0;
  CHECK_THAT(node.gpu().refusal, Contains("incomplete") && Contains("0 compute units"));
}

TEST_CASE("kfd topology: the number of XCCs is where newer thunks write it") {
  HsaNodeProperties p{};
  CHECK(xcc_count(p) == 0);
  const std::uint32_t eight = 8;
  std::memcpy(reinterpret_cast<char*>(&p.SGPRSizePerCU) + sizeof p.SGPRSizePerCU, &eight, sizeof eight);
  CHECK(xcc_count(p) == 8);
}
