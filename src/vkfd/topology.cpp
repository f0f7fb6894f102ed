#include "vkfd/topology.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/env.hpp"

namespace aql::vkfd {
namespace {

// capability of a node (linux/drivers/gpu/drm/amd/include/kgd_kfd_interface.h, HSA_CAP_*): which features user space may use.
constexpr std::uint64_t kWatchPointsSupported = 1u << 7;
constexpr std::uint64_t kWatchPointsTotal = 4u << 8;
constexpr std::uint64_t kDoorbellType2 = 2u << 12; // 64-bit doorbells; anything else selects the legacy path
constexpr std::uint64_t kAsicRevision = 2u << 22;
constexpr std::uint64_t kSramEcc = 1u << 26;
constexpr std::uint64_t kSvmApi = 1u << 27;

std::uint32_t device_id_of(const sim::DeviceProfile& profile) {
  // PCI ids of the amdgpu driver's tables; a user-space library that knows one trusts it over gfx_target_version.
  switch (profile.arch) {
  case sim::Arch::gfx90a: return profile.cus_per_xcc == 110 ? 0x7408 : 0x740f;
  case sim::Arch::gfx942: return profile.xcc_count == 6 ? 0x74a0 : 0x74a1;
  case sim::Arch::gfx950: return profile.clock_mhz == 2400 ? 0x75a3 : 0x75a0;
  }
  return 0;
}

std::uint64_t host_memory_bytes() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? static_cast<std::uint64_t>(info.totalram) * info.mem_unit : 0;
}

class Tree {
public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  void file(const std::string& path, const std::string& text) {
    if (error_) return;
    const std::filesystem::path full = root_ + "/" + path;
    std::filesystem::create_directories(full.parent_path(), error_);
    if (error_) return;
    std::FILE* out = std::fopen(full.c_str(), "w");
    const bool ok = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out == nullptr || std::fclose(out) != 0 || !ok) error_ = std::error_code{errno, std::generic_category()};
  }
  void directory(const std::string& path) {
    if (!error_) std::filesystem::create_directories(root_ + "/" + path, error_);
  }
  [[nodiscard]] Result<void> done() const {
    if (!error_) return {};
    return std::unexpected(Error{Errc::system_error, error_.value(),
                                 fmt::format("the virtual topology could not be written under '{}'", root_), "write_topology"});
  }

private:
  std::string root_;
  std::error_code error_;
};

std::string io_link(std::uint32_t type, std::uint32_t from, std::uint32_t to) {
  return fmt::format(
      "type {}\nversion_major 0\nversion_minor 0\nnode_from {}\nnode_to {}\nweight 20\nmin_latency 0\nmax_latency 0\n"
      "min_bandwidth 312\nmax_bandwidth 31504\nrecommended_transfer_size 0\nflags 1\n",
      type, from, to);
}

std::string cache(std::uint32_t level, std::uint32_t size_kib, std::uint32_t line) {
  return fmt::format("processor_id_low 2147487744\nlevel {}\nsize {}\ncache_line_size {}\ncache_lines_per_tag 1\nassociation "
                     "16\nlatency 1\ntype 9\nsibling_map 1,0,0,0\n",
                     level, size_kib, line);
}

// Some virtual machines show no CPU caches in sysfs, and the thunk then gives up on the whole topology. What is missing is made
// up: 32 KiB of L1 each, 1 MiB of L2 a CPU.
void write_cpu_caches(Tree& tree) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string node = "/sys/devices/system/node/node0";
  for (const auto& entry : fs::directory_iterator{node, error}) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("cpu") || name.size() < 4 || name.find_first_not_of("0123456789", 3) != std::string::npos) continue;
    const std::string first = node + "/" + name + "/cache/index0";
    // Below another `aql vgpu` we see what that one has made, and the program will not.
    const auto outer = detail::env_text("AQL_VKFD_ROOT");
    if (fs::exists(first, error) && !(outer && fs::exists(std::string{*outer} + first, error))) continue;
    const unsigned cpu = static_cast<unsigned>(std::stoul(name.substr(3)));
    struct {
      unsigned level;
      const char* type;
      unsigned kib, ways;
    } constexpr kCaches[] = {{1, "Data", 32, 8}, {1, "Instruction", 32, 8}, {2, "Unified", 1024, 16}};
    for (unsigned i = 0; i < 3; ++i) {
      const auto& c = kCaches[i];
      const std::string at = fmt::format("{}/{}/cache/index{}/", node.substr(1), name, i);
      tree.file(at + "level", fmt::format("{}\n", c.level));
      tree.file(at + "type", fmt::format("{}\n", c.type));
      tree.file(at + "size", fmt::format("{}K\n", c.kib));
      tree.file(at + "coherency_line_size", "64\n");
      tree.file(at + "physical_line_partition", "1\n");
      tree.file(at + "ways_of_associativity", fmt::format("{}\n", c.ways));
      std::string map = fmt::format("{:08x}", 1u << cpu % 32);
      for (unsigned word = 0; word < cpu / 32; ++word) map += ",00000000";
      tree.file(at + "shared_cpu_map", map + "\n");
      tree.file(at + "shared_cpu_list", fmt::format("{}\n", cpu));
    }
  }
}

} // namespace

GpuIdentity identity_of(const sim::DeviceProfile& profile, std::uint32_t index) {
  GpuIdentity id;
  id.profile = &profile;
  id.node_id = 1 + index;
  id.gpu_id = 50123 + index;
  id.render_minor = 128 + index;
  id.unique_id = 1234567890123u + index;
  id.pci_device_id = device_id_of(profile);
  id.location_id = 0x300 + (index << 8);
  return id;
}

std::string cpu_properties(std::uint32_t gpus) {
  return fmt::format(
      "cpu_cores_count {}\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\nio_links_count {}\np2p_links_count 0\ncpu_core_id_base "
      "0\nsimd_id_base 0\n"
      "max_waves_per_simd 0\nlds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\nwave_front_size 0\narray_count "
      "0\nsimd_arrays_per_engine 0\n"
      "cu_per_simd_array 0\nsimd_per_cu 0\nmax_slots_scratch_cu 0\ngfx_target_version 0\nvendor_id 0\ndevice_id 0\nlocation_id "
      "0\ndomain 0\n"
      "drm_render_minor 0\nhive_id 0\nnum_sdma_engines 0\nnum_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\nnum_cp_queues 0\n"
      "max_engine_clk_ccompute 2450\n",
      sysconf(_SC_NPROCESSORS_ONLN), gpus);
}

std::string gpu_properties(const GpuIdentity& gpu, std::uint32_t io_links) {
  const auto& p = *gpu.profile;
  const std::uint32_t cus = p.xcc_count * p.cus_per_xcc;
  // Shader arrays: 8 for gfx90a, 4 an XCC for gfx94x and gfx950. cu_per_simd_array counts the slots, so it is rounded up.
  const std::uint32_t arrays = p.arch == sim::Arch::gfx90a ? 8 : 4 * p.xcc_count;
  const std::uint64_t capability = kWatchPointsSupported | kWatchPointsTotal | kDoorbellType2 | kAsicRevision | kSramEcc | kSvmApi;
  return fmt::format(
      "cpu_cores_count 0\nsimd_count {}\nmem_banks_count 1\ncaches_count 2\nio_links_count {}\np2p_links_count 0\ncpu_core_id_base "
      "0\n"
      "simd_id_base 2147487744\nmax_waves_per_simd {}\nlds_size_in_kb {}\ngds_size_in_kb 0\nnum_gws 0\nwave_front_size "
      "64\narray_count {}\n"
      "simd_arrays_per_engine 1\ncu_per_simd_array {}\nsimd_per_cu {}\nmax_slots_scratch_cu 32\ngfx_target_version {}\nvendor_id "
      "4098\n"
      "device_id {}\nlocation_id {}\ndomain 0\ndrm_render_minor {}\nhive_id 0\nnum_sdma_engines 2\nnum_sdma_xgmi_engines 3\n"
      "num_sdma_queues_per_engine 8\nnum_cp_queues {}\nmax_engine_clk_fcompute {}\nlocal_mem_size 0\nfw_version 71\ncapability {}\n"
      "debug_prop 1495\nsdma_fw_version 8\nunique_id {}\nnum_xcc {}\nmax_engine_clk_ccompute 2450\n",
      cus * p.simds_per_cu, io_links, p.waves_per_simd, p.lds_bytes / 1024, arrays, (cus + arrays - 1) / arrays, p.simds_per_cu,
      p.gfx_target_version, gpu.pci_device_id, gpu.location_id, gpu.render_minor, p.hw_queues, p.clock_mhz, capability,
      gpu.unique_id, p.xcc_count);
}

Result<void> write_topology(const std::string& root, std::span<const GpuIdentity> gpus) {
  Tree tree{root};
  const std::string base = "sys/devices/virtual/kfd/kfd/topology/";
  const auto count = static_cast<std::uint32_t>(gpus.size());
  tree.file(base + "generation_id", "2\n");
  tree.file(base + "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
  tree.file(base + "nodes/0/gpu_id", "0\n");
  tree.file(base + "nodes/0/name", "\n");
  tree.file(base + "nodes/0/properties", cpu_properties(count));
  tree.file(base + "nodes/0/mem_banks/0/properties",
            fmt::format("heap_type 0\nsize_in_bytes {}\nflags 0\nwidth 0\nmem_clk_max 0\n", host_memory_bytes()));
  write_cpu_caches(tree);
  constexpr std::uint32_t kPcie = 2;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& gpu = gpus[i];
    const auto& p = *gpu.profile;
    const auto node = fmt::format("{}nodes/{}/", base, gpu.node_id);
    tree.file(fmt::format("{}nodes/0/io_links/{}/properties", base, i), io_link(kPcie, 0, gpu.node_id));
    tree.file(node + "gpu_id", fmt::format("{}\n", gpu.gpu_id));
    tree.file(node + "name", fmt::format("{}\n", p.target));
    tree.file(node + "properties", gpu_properties(gpu, 1));
    // heap_type 1: frame buffer that the CPU may map (large BAR).
    tree.file(node + "mem_banks/0/properties",
              fmt::format("heap_type 1\nsize_in_bytes {}\nflags 0\nwidth 4096\nmem_clk_max 1600\n", p.memory_bytes));
    tree.file(node + "caches/0/properties", cache(1, p.l1_kib, 64));
    tree.file(node + "caches/1/properties", cache(2, p.l2_mib * 1024, 128));
    tree.file(node + "io_links/0/properties", io_link(kPcie, gpu.node_id, 0));
    tree.directory(fmt::format("sys/dev/char/226:{}/device/drm/renderD{}", gpu.render_minor, gpu.render_minor));
    tree.directory(fmt::format("sys/dev/char/226:{}/device/drm/card{}", gpu.render_minor, i));
  }
  tree.file("sys/module/amdgpu/initstate", "live\n");
  tree.file("sys/module/amdgpu/refcnt", "1\n");
  tree.directory("sys/module/amdgpu/holders");
  tree.file("proc/modules", "amdgpu 12345678 2 - Live 0x0000000000000000\n");
  return tree.done();
}

} // namespace aql::vkfd
