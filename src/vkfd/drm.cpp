#include "vkfd/drm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/sysinfo.h>

#include "vkfd/memory.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

constexpr unsigned kVersionNr = 0x00, kInfoNr = DRM_COMMAND_BASE + DRM_AMDGPU_INFO;
constexpr std::uint32_t kFamilyAi = AMDGPU_FAMILY_AI; // Vega, MI100 to MI300

int version(std::uint64_t user_args, std::size_t size) {
  constexpr std::string_view name = "amdgpu", date = "20150101", description = "AMD GPU";
  drm_version v{};
  if (size != sizeof v) return refuse(-EINVAL, "DRM_IOCTL_VERSION with {} bytes", size);
  if (!copy_from_user(&v, user_args, sizeof v)) return refuse(-EFAULT, "the arguments at {:#x} cannot be read", user_args);
  v.version_major = 3;
  v.version_minor = 49;
  v.version_patchlevel = 0;
  // As many characters as the caller has room for; then the full length.
  const auto text = [](char* to, auto& room, std::string_view from) {
    const std::size_t n = std::min<std::size_t>(room, from.size());
    room = from.size();
    return n == 0 || to == nullptr || copy_to_user(reinterpret_cast<std::uint64_t>(to), from.data(), n);
  };
  if (!text(v.name, v.name_len, name) || !text(v.date, v.date_len, date) || !text(v.desc, v.desc_len, description))
    return refuse(-EFAULT, "the texts cannot be written");
  return copy_to_user(user_args, &v, sizeof v) ? 0 : refuse(-EFAULT, "the results cannot be written to {:#x}", user_args);
}

drm_amdgpu_info_device device_info(const GpuContext& gpu) {
  const auto& p = *gpu.id.profile;
  const std::uint32_t cus = p.xcc_count * p.cus_per_xcc;
  drm_amdgpu_info_device d{};
  d.device_id = gpu.id.pci_device_id;
  d.chip_rev = 1;
  d.external_rev = 0x3d;
  d.pci_rev = p.arch == sim::Arch::gfx90a ? 2 : 0;
  d.family = kFamilyAi;
  // Shader engines: eight on the one die of MI200, four on an XCC of MI300. The bitmap has room for 4 x 4; what is over is left
  // out.
  const std::uint32_t engines = p.xcc_count == 1 ? 8 : 4;
  d.num_shader_engines = engines;
  d.num_shader_arrays_per_engine = 1;
  d.gpu_counter_freq = static_cast<std::uint32_t>(p.timestamp_hz / 1000);
  d.max_engine_clock = p.clock_mhz * 1000ull;
  d.max_memory_clock = 1'600'000;
  d.cu_active_number = cus;
  const std::uint32_t per_engine = (p.cus_per_xcc + engines - 1) / engines;
  for (auto& row : d.cu_bitmap) row[0] = (1u << std::min(per_engine, 31u)) - 1;
  d.num_cu_per_sh = per_engine;
  d.num_hw_gfx_contexts = 8;
  d.virtual_address_offset = 0x200000;
  d.virtual_address_max = 1ull << 47;
  d.virtual_address_alignment = 4096;
  d.pte_fragment_size = 2u << 20;
  d.gart_page_size = 4096;
  d.vram_type = 6; // HBM
  d.vram_bit_width = 4096;
  d.wave_front_size = 64;
  d.num_shader_visible_vgprs = 256;
  d.num_tcc_blocks = 16;
  d.high_va_offset = 0xffff800000000000ull;
  d.high_va_max = 0xffffffffffe00000ull;
  return d;
}

std::uint64_t host_memory() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? static_cast<std::uint64_t>(info.totalram) * info.mem_unit : 0;
}

int info(Process& process, GpuContext& gpu, std::uint64_t user_args, std::size_t size) {
  drm_amdgpu_info args{};
  if (!copy_from_user(&args, user_args, std::min(size, sizeof args)))
    return refuse(-EFAULT, "the arguments at {:#x} cannot be read", user_args);
  const auto answer = [&args](const void* data, std::size_t bytes) {
    const std::size_t n = std::min<std::size_t>(args.return_size, bytes);
    return copy_to_user(args.return_pointer, data, n)
               ? 0
               : refuse(-EFAULT, "the answer cannot be written to {:#x}", args.return_pointer);
  };
  const auto number = [&answer](auto value) { return answer(&value, sizeof value); };
  const std::uint64_t vram = gpu.id.profile->memory_bytes, used = vram - process.memory().available(gpu);
  switch (args.query) {
  case AMDGPU_INFO_ACCEL_WORKING: return number(std::uint32_t{1});
  case AMDGPU_INFO_DEV_INFO: return number(device_info(gpu));
  case AMDGPU_INFO_READ_MMR_REG: {
    // Address and tiling configuration: a linear memory.
    if (args.read_mmr_reg.count == 0 || args.read_mmr_reg.count > 128)
      return refuse(-EINVAL, "{} registers are asked for", args.read_mmr_reg.count);
    const std::vector<std::uint32_t> zeros(args.read_mmr_reg.count);
    return answer(zeros.data(), zeros.size() * 4);
  }
  case AMDGPU_INFO_MEMORY: {
    drm_amdgpu_memory_info m{};
    m.vram = m.cpu_accessible_vram = {vram, vram, used, vram * 3 / 4};
    m.gtt = {host_memory(), host_memory(), 0, host_memory() * 3 / 4};
    return number(m);
  }
  case AMDGPU_INFO_VRAM_GTT: return number(drm_amdgpu_info_vram_gtt{vram, vram, host_memory()});
  case AMDGPU_INFO_VRAM_USAGE:
  case AMDGPU_INFO_VIS_VRAM_USAGE: return number(used);
  case AMDGPU_INFO_GTT_USAGE:
  case AMDGPU_INFO_NUM_BYTES_MOVED:
  case AMDGPU_INFO_NUM_EVICTIONS: return number(std::uint64_t{0});
  case AMDGPU_INFO_VRAM_LOST_COUNTER: return number(std::uint32_t{0});
  case AMDGPU_INFO_TIMESTAMP: {
    const DeviceCore* core = gpu.core();
    return core != nullptr ? number(core->timestamp()) : refuse(-ENODEV, "the software GPU could not be started");
  }
  case AMDGPU_INFO_FW_VERSION: return number(drm_amdgpu_info_firmware{});
  case AMDGPU_INFO_HW_IP_COUNT: return number(std::uint32_t{args.query_hw_ip.type == AMDGPU_HW_IP_COMPUTE ? 1u : 0u});
  default: return refuse(-EINVAL, "AMDGPU_INFO {:#x} is not answered", args.query);
  }
}

} // namespace

const char* drm_ioctl_name(unsigned nr) noexcept {
  return nr == kVersionNr ? "DRM_VERSION" : nr == kInfoNr ? "AMDGPU_INFO" : "DRM ioctl";
}

int drm_ioctl(Process& process, GpuContext& gpu, unsigned long request, std::uint64_t user_args) {
  switch (_IOC_NR(request)) {
  case kVersionNr: return version(user_args, _IOC_SIZE(request));
  case kInfoNr: return info(process, gpu, user_args, _IOC_SIZE(request));
  default: return refuse(-ENOTTY, "no DRM ioctl with the number {:#x} is answered", _IOC_NR(request));
  }
}

} // namespace aql::vkfd
