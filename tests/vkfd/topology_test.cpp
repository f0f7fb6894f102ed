#include "vkfd/topology.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.hpp"

using namespace aql;
using Catch::Matchers::Contains;

namespace {

struct TemporaryDirectory {
  std::string path;
  TemporaryDirectory() {
    char name[] = "/tmp/aql-topology-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

std::string text_of(const std::string& path) {
  std::ifstream in{path};
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("topology: an MI210 shows 104 compute units, 64 GiB, gfx90a and the doorbell type that runtimes need") {
  const TemporaryDirectory root;
  const auto gpu = vkfd::identity_of(*sim::find_profile("MI210"), 0);
  REQUIRE(vkfd::write_topology(root.path, std::span{&gpu, 1}));
  const auto node = root.path + "/sys/devices/virtual/kfd/kfd/topology/nodes/1/";
  const auto properties = text_of(node + "properties");
  CHECK_THAT(properties, Contains("simd_count 416\n") && Contains("simd_per_cu 4\n") && Contains("gfx_target_version 90010\n") &&
                             Contains("drm_render_minor 128\n"));
  CHECK_THAT(properties, Contains("capability 209724544\n")); // the value of a real gfx90a node: doorbell type 2, SRAM ECC, SVM
  CHECK_THAT(text_of(node + "mem_banks/0/properties"), Contains("size_in_bytes 68719476736\n") && Contains("heap_type 1\n"));
  CHECK(text_of(node + "gpu_id") == "50123\n");
  CHECK_THAT(text_of(root.path + "/proc/modules"), Contains("amdgpu "));
}

TEST_CASE("topology: several GPUs are linked to the CPU node, each with its own render node") {
  const TemporaryDirectory root;
  const vkfd::GpuIdentity gpus[] = {vkfd::identity_of(*sim::find_profile("MI210"), 0),
                                    vkfd::identity_of(*sim::find_profile("MI300X"), 1)};
  REQUIRE(vkfd::write_topology(root.path, gpus));
  const auto nodes = root.path + "/sys/devices/virtual/kfd/kfd/topology/nodes/";
  CHECK_THAT(text_of(nodes + "0/properties"), Contains("io_links_count 2\n"));
  CHECK_THAT(text_of(nodes + "0/io_links/1/properties"), Contains("node_to 2\n"));
  CHECK_THAT(text_of(nodes + "2/properties"), Contains("drm_render_minor 129\n") && Contains("num_xcc 8\n"));
}

TEST_CASE("topology: a directory that cannot be written is an error") {
  const auto gpu = vkfd::identity_of(*sim::find_profile("MI210"), 0);
  CHECK_FALSE(vkfd::write_topology("/proc/nowhere", std::span{&gpu, 1}));
}
