// Occupancy against clang's own count, for many kernels on all three targets; then what the compiler does not count.

#include "loader/occupancy.hpp"

#include <map>
#include <regex>
#include <sstream>

#include "sim/cp/profile.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "unit/loader/patch.hpp"

using aql::loader::occupancy;
using aql::loader::OccupancyFactor;
using aql::loader::OccupancyLimits;

namespace {

// One kernel for each of many register, LDS and group sizes: k_<group>_<number>.
std::string many_kernels() {
  std::ostringstream out;
  int number = 0;
  const auto add = [&](int vgprs, int agprs, int sgprs, int lds, int group) {
    out << "__attribute__((amdgpu_flat_work_group_size(" << group << ", " << group << "))) kernel void k_" << group << "_"
        << number++ << "(void) {";
    out << " __asm__ volatile(\"\" ::: \"memory\"";
    if (vgprs > 0) out << ", \"v" << vgprs - 1 << "\"";
    if (agprs > 0) out << ", \"a" << agprs - 1 << "\"";
    if (sgprs > 0) out << ", \"s" << sgprs - 1 << "\"";
    out << ");";
    if (lds > 0)
      out << " local char lds[" << lds << "]; __asm__ volatile(\"; use %0\" :: \"v\"(lds + __builtin_amdgcn_workitem_id_x()));";
    out << " }\n";
  };
  for (const int v : {1, 8, 24, 32, 33, 40, 48, 56, 64, 65, 72, 73, 80, 84, 85, 96, 102, 104, 128, 129, 168, 169, 170, 200, 256})
    add(v, 0, 0, 0, 64);
  for (const int v : {64, 65, 128}) add(v, 0, 0, 0, 256);
  for (const int a : {1, 4, 5, 20, 60, 128, 216, 256}) add(40, a, 0, 0, 256);
  add(256, 256, 0, 0, 256);
  for (const int s : {16, 40, 80, 90, 92, 94, 96, 98, 100, 102}) add(4, 0, s, 0, 64);
  for (const int lds : {1, 512, 1024, 2048, 4096, 5120, 8192, 10240, 16384, 20480, 32768, 40960, 65536}) {
    for (const int group : {64, 65, 128, 192, 256, 320, 512, 1024}) add(4, 0, 0, lds, group);
  }
  for (const int group : {1, 63, 64, 100, 128, 384, 640, 768, 1000}) add(4, 0, 0, 0, group);
  return out.str();
}

// The remark's "Occupancy [waves/SIMD]" and "LDS Size" by kernel.
struct Remark {
  unsigned occupancy = 0, lds = 0;
};
std::map<std::string, Remark> remarks(const std::string& text) {
  std::map<std::string, Remark> result;
  std::string name;
  std::istringstream lines(text);
  const std::regex function("Function Name: (\\S+)"), waves("Occupancy \\[waves/SIMD\\]: (\\d+)"),
      lds("LDS Size \\[bytes/block\\]: (\\d+)");
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, function)) name = match[1];
    if (std::regex_search(line, match, waves)) result[name].occupancy = static_cast<unsigned>(std::stoul(match[1]));
    if (std::regex_search(line, match, lds)) result[name].lds = static_cast<unsigned>(std::stoul(match[1]));
  }
  return result;
}

OccupancyLimits limits_of(std::string_view product) {
  const auto* p = aql::sim::find_profile(product);
  REQUIRE(p != nullptr);
  return {p->simds_per_cu, p->waves_per_simd, p->vgprs_per_lane, p->vgpr_granule, 800, 16,
          p->lds_bytes,    p->lds_granule,    p->groups_per_cu};
}

} // namespace

TEST_CASE("occupancy: equals clang's remark for many kernels on all three targets") {
  if (!aql::test::kernel_compiler()) AQL_SKIP("no clang");
  const std::string source = many_kernels();
  for (const std::string_view target : {"gfx90a", "gfx942", "gfx950"}) {
    INFO(target);
    const auto compiled = aql::test::compile_code_object(
        {.text = source, .target = target, .options = "-O2 -Rpass-analysis=kernel-resource-usage", .extension = ".cl"});
    REQUIRE(compiled.ok);
    const auto expected = remarks(compiled.messages);
    const auto object = aql::CodeObject::parse(compiled.bytes());
    REQUIRE(object);
    REQUIRE(object->kernels().size() > 150);
    // The compiler divides SGPRs and LDS without rounding to what the hardware hands out.
    OccupancyLimits limits = limits_of(target);
    limits.sgpr_granule = 1;
    limits.lds_granule = 1;
    for (const auto& kernel : object->kernels()) {
      const auto remark = expected.find(kernel.name);
      REQUIRE(remark != expected.end());
      INFO(kernel.name << ": vgprs " << kernel.vgpr_count << " sgprs " << kernel.sgpr_count << " lds "
                       << kernel.group_segment_size);
      CHECK(kernel.group_segment_size == remark->second.lds);
      // The descriptor may ask for more VGPRs than the code uses: clang does so where LDS keeps further waves out anyway.
      CHECK(kernel.allocated_vgprs % 8 == 0);
      CHECK(kernel.allocated_vgprs >= kernel.vgpr_count);
      for (const std::uint32_t vgprs : {kernel.vgpr_count, kernel.allocated_vgprs}) {
        const auto computed = occupancy({.vgprs = vgprs,
                                         .sgprs = kernel.sgpr_count,
                                         .lds_bytes = kernel.group_segment_size,
                                         .group_size = kernel.max_flat_workgroup_size,
                                         .wavefront_size = kernel.wavefront_size},
                                        limits);
        CHECK(computed.compiler_waves_per_simd == remark->second.occupancy);
      }
    }
  }
}

TEST_CASE("occupancy: whole groups count, so large groups fit at 128 registers and not at 129") {
  const OccupancyLimits cu;
  CHECK(occupancy({.vgprs = 512, .group_size = 256}, cu).groups == 1);
  CHECK(occupancy({.vgprs = 128, .group_size = 1024}, cu).groups == 1);
  const auto too_many = occupancy({.vgprs = 129, .group_size = 1024}, cu);
  CHECK(too_many.groups == 0);
  CHECK(too_many.limit == OccupancyFactor::vgprs);
  CHECK(too_many.compiler_waves_per_simd == 3); // which is why clang compiles it
  CHECK(occupancy({.vgprs = 168, .group_size = 64}, cu).waves_per_simd == 3);
}

TEST_CASE("occupancy: LDS is handed out in granules") {
  const OccupancyLimits cu;
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 21845, .group_size = 64}, cu).groups == 2); // three times 22016 are too many
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 21504, .group_size = 64}, cu).groups == 3);
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 65536, .group_size = 64}, cu).groups == 1);
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 65537, .group_size = 64}, cu).groups == 0);
  CHECK(occupancy({.vgprs = 8, .lds_bytes = ~0ULL, .group_size = 64}, cu).groups == 0);
  const OccupancyLimits gfx950 = limits_of("gfx950");
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 163840, .group_size = 64}, gfx950).groups == 1);
  CHECK(occupancy({.vgprs = 8, .lds_bytes = 1281, .group_size = 64}, gfx950).groups_by_factor[2] == 64);
}

TEST_CASE("occupancy: SGPRs are handed out in granules of 16 from 800") {
  const OccupancyLimits cu;
  CHECK(occupancy({.vgprs = 8, .sgprs = 96, .group_size = 64}, cu).waves_per_simd == 8);
  const auto most = occupancy({.vgprs = 8, .sgprs = 108, .group_size = 64}, cu);
  CHECK(most.waves_per_simd == 7);
  CHECK(most.limit == OccupancyFactor::sgprs);
}

TEST_CASE("occupancy: groups of one wave need no barrier slot, others at most 16 a compute unit") {
  const OccupancyLimits cu;
  const auto one_wave = occupancy({.vgprs = 8, .group_size = 64}, cu);
  CHECK(one_wave.groups == 32);
  CHECK(one_wave.limit == OccupancyFactor::wave_slots);
  const auto two_waves = occupancy({.vgprs = 8, .group_size = 65}, cu);
  CHECK(two_waves.waves_per_group == 2);
  CHECK(two_waves.groups == 16);
  CHECK(two_waves.limit == OccupancyFactor::wave_slots); // 16 groups of 2 waves fill the 32 wave slots as well
  OccupancyLimits few = cu;
  few.group_slots = 10;
  CHECK(occupancy({.vgprs = 8, .group_size = 128}, few).limit == OccupancyFactor::group_slots);
  CHECK(occupancy({.vgprs = 8, .group_size = 192}, cu).groups == 10);
}

TEST_CASE("occupancy: zeros and impossible sizes give an answer, not a division by zero") {
  const OccupancyLimits cu;
  CHECK(occupancy({.vgprs = 0, .sgprs = 0, .lds_bytes = 0, .group_size = 0, .wavefront_size = 0}, cu).groups == 32);
  CHECK(occupancy({.vgprs = 513, .group_size = 64}, cu).groups == 0);
  CHECK(occupancy({.vgprs = ~0U, .sgprs = ~0U, .group_size = ~0U}, cu).groups == 0);
}
