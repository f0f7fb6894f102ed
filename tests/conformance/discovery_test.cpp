// Discovery: what the device says of itself.
#include <algorithm>

#include "support.hpp"

using namespace aql;
using namespace aql::conformance;

TEST_CASE("discovery: the device is listed with what opening it shows") {
  const auto list = devices();
  const auto& info = device().info();
  const auto found = std::find_if(list.found.begin(), list.found.end(), [&](const DeviceInfo& each) { return each.selector == info.selector; });
  REQUIRE(found != list.found.end());
  CHECK(found->isa == info.isa);
  CHECK(found->compute_units == info.compute_units);
  CHECK(found->memory_bytes == info.memory_bytes);
}

TEST_CASE("discovery: every driver that is not listed is refused with a reason") {
  const auto list = devices();
  for (const char* driver : {"rocr", "kfd"}) {
    const bool found = std::any_of(list.found.begin(), list.found.end(), [&](const DeviceInfo& info) { return info.driver == driver; });
    const auto refused = std::find_if(list.refused.begin(), list.refused.end(), [&](const Refusal& r) { return r.selector.starts_with(driver); });
    INFO(driver);
    CHECK((found || refused != list.refused.end()));
    if (refused != list.refused.end()) CHECK_FALSE(refused->reason.empty());
  }
}

TEST_CASE("discovery: the information is complete and agrees with itself") {
  const auto& info = device().info();
  CHECK(info.isa.find("amdgcn-amd-amdhsa--" + info.target) == 0);
  CHECK((info.isa.find(":xnack+") != std::string::npos) == info.xnack);
  CHECK((info.isa.find(":sramecc+") != std::string::npos) == info.sramecc);
  CHECK_FALSE(info.name.empty());
  CHECK(info.compute_units > 0);
  CHECK(info.compute_units % info.xcc_count == 0);
  CHECK(info.wavefront_size == 64);
  CHECK(info.lds_bytes >= 65536);
  CHECK(info.memory_bytes >= std::uint64_t{1} << 30);
  CHECK(info.timestamp_hz >= 1'000'000);
  CHECK(info.max_workgroup_size == 1024);
  CHECK(info.min_queue_packets <= 64);
  CHECK(info.max_queue_packets >= 65536);
}

TEST_CASE("discovery: a device number that does not exist is refused with what there is") {
  if (simulated()) {
    const auto none = Device::open("sim:gfx000");
    REQUIRE_FALSE(none);
    CHECK_THAT(none.error().detail, Catch::Contains("gfx942"));
    return;
  }
  const auto none = Device::open(device().info().driver + ":63");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().detail, Catch::Contains("63"));
}

TEST_CASE("discovery: two opens of one device share it") {
  const auto again = Device::open(selector());
  REQUIRE(again);
  CHECK(again->state() == device().state());
}
