#include <aql/target_id.hpp>

#include <set>

#include "support/catch.hpp"

using aql::FeatureState;
using aql::TargetId;

namespace {
TargetId id(std::string_view text) {
  auto parsed = TargetId::parse(text);
  INFO(text);
  REQUIRE(parsed);
  return *parsed;
}
bool runs(std::string_view code, std::string_view device) { return !aql::incompatibility(id(code), id(device)); }
} // namespace

TEST_CASE("target id: a name without features means any for what the processor has") {
  CHECK(id("gfx942") == TargetId{"gfx942", FeatureState::any, FeatureState::any, 0});
  CHECK(id("gfx900") == TargetId{"gfx900", FeatureState::unsupported, FeatureState::any, 0});
  CHECK(id("gfx1100") == TargetId{"gfx1100", FeatureState::unsupported, FeatureState::unsupported, 0});
}

TEST_CASE("target id: the triple may be there, in any of its spellings") {
  const TargetId expected{"gfx90a", FeatureState::on, FeatureState::off, 0};
  CHECK(id("gfx90a:sramecc+:xnack-") == expected);
  CHECK(id("gfx90a:xnack-:sramecc+") == expected);
  CHECK(id("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == expected);
  CHECK(id("amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-") == expected);
  CHECK(id("amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-") == expected);
}

TEST_CASE("target id: formatting is canonical and parses back") {
  CHECK(id("gfx942:xnack-:sramecc+").to_string() == "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
  CHECK(id("gfx9-4-generic:xnack+").to_string() == "amdgcn-amd-amdhsa--gfx9-4-generic:xnack+");
  CHECK(id("gfx942").short_name() == "gfx942");
  for (const auto& p : aql::processors()) CHECK(id(id(p.name).to_string()) == id(p.name));
}

TEST_CASE("target id: what is wrong is named") {
  CHECK(TargetId::parse("gfx9999").error().detail.find("\"gfx9999\" is not a processor") != std::string::npos);
  CHECK(TargetId::parse("").error().code == aql::Errc::invalid_argument);
  CHECK(TargetId::parse("gfx942:").error().detail.find("is not a feature") != std::string::npos);
  CHECK(TargetId::parse("gfx942:xnack").error().detail.find("\"xnack\" is not a feature") != std::string::npos);
  CHECK(TargetId::parse("gfx942:tgsplit+").error().detail.find("\"tgsplit+\" is not a feature") != std::string::npos);
  CHECK(TargetId::parse("gfx942:xnack+:xnack-").error().detail.find("given twice") != std::string::npos);
  CHECK(TargetId::parse("gfx1100:xnack+").error().detail.find("gfx1100 has no feature xnack") != std::string::npos);
}

TEST_CASE("target id: any runs everywhere, on and off only where the device says the same") {
  CHECK(runs("gfx942", "gfx942:sramecc+:xnack-"));
  CHECK(runs("gfx942", "gfx942:sramecc+:xnack+"));
  CHECK(runs("gfx942:xnack-", "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx942:xnack+", "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx942:xnack-", "gfx942:sramecc+:xnack+"));
  CHECK(runs("gfx942:sramecc+", "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx942:sramecc-", "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx90a", "gfx942:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx942:xnack-", "gfx942"));
  CHECK(runs("gfx942", "gfx942"));
}

TEST_CASE("target id: generic code runs on the members of its family") {
  CHECK(runs("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  CHECK(runs("gfx9-4-generic", "gfx950:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx9-4-generic", "gfx90a:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx9-4-generic:xnack+", "gfx942:sramecc+:xnack-"));
  CHECK(runs("gfx9-generic", "gfx906:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx9-generic", "gfx908:sramecc+:xnack-"));
  CHECK_FALSE(runs("gfx9-generic", "gfx90a:sramecc+:xnack-"));
}

TEST_CASE("target id: generic code of any version that exists runs on its members") {
  TargetId code = id("gfx9-4-generic");
  code.generic_version = 1; // the newest and the oldest there is
  CHECK_FALSE(aql::incompatibility(code, id("gfx942")));
  code.generic_version = 0; // a bundle entry does not say
  CHECK_FALSE(aql::incompatibility(code, id("gfx942")));
}

TEST_CASE("target id: reasons say what differs") {
  CHECK(*aql::incompatibility(id("gfx90a"), id("gfx942")) == "the code is for gfx90a, the device is gfx942");
  CHECK(*aql::incompatibility(id("gfx942:xnack+"), id("gfx942:xnack-")) == "the code needs xnack on, the device has xnack off");
  CHECK(*aql::incompatibility(id("gfx942:sramecc-"), id("gfx942")) ==
        "the code needs sramecc off, the device does not say which it has");
  CHECK(*aql::incompatibility(id("gfx9-4-generic"), id("gfx90a")) == "gfx9-4-generic does not include gfx90a");
}

TEST_CASE("target id: e_flags give processor, features and generic version") {
  CHECK(*TargetId::from_elf_flags(0x53F, 6) == TargetId{"gfx90a", FeatureState::any, FeatureState::any, 0});
  CHECK(*TargetId::from_elf_flags(0xF4C, 6) == TargetId{"gfx942", FeatureState::on, FeatureState::on, 0});
  CHECK(*TargetId::from_elf_flags(0xA4F, 4) == TargetId{"gfx950", FeatureState::off, FeatureState::off, 0});
  CHECK(*TargetId::from_elf_flags(0x0100055F, 6) == TargetId{"gfx9-4-generic", FeatureState::any, FeatureState::any, 1});
}

TEST_CASE("target id: e_flags that contradict themselves are refused") {
  CHECK(TargetId::from_elf_flags(0x5FF, 6).error().detail.find("machine 0xff") != std::string::npos);
  CHECK(TargetId::from_elf_flags(0x541, 6).error().detail.find("gfx1100 has no such feature") != std::string::npos);
  CHECK(TargetId::from_elf_flags(0x52C, 6).error().detail.find("sramecc is \"any\", but gfx900") != std::string::npos);
  CHECK(TargetId::from_elf_flags(0x55F, 6).error().detail.find("without a version") != std::string::npos);
  CHECK(TargetId::from_elf_flags(0x0100055F, 5).error().detail.find("needs code object version 6") != std::string::npos);
}

TEST_CASE("target id: no name and no machine number stands twice in the table") {
  std::set<std::string_view> names;
  std::set<std::uint32_t> machines;
  for (const auto& p : aql::processors()) {
    CHECK(names.insert(p.name).second);
    CHECK(machines.insert(p.machine).second);
    if (!p.generic.empty()) CHECK(aql::find_processor(p.generic) != nullptr);
  }
}
