#include "driver/kfd/drm.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libdrm/amdgpu.h>
#include <unistd.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

constexpr std::uint32_t kDomainVram = 4; // AMDGPU_GEM_DOMAIN_VRAM

#define AQL_DRM_ENTRY_POINTS(X)  \
  X(amdgpu_device_initialize)    \
  X(amdgpu_device_deinitialize)  \
  X(amdgpu_get_marketing_name)   \
  X(amdgpu_query_gpu_info)       \
  X(amdgpu_query_heap_info)

struct Library {
#define AQL_DRM_MEMBER(name) decltype(&::name) name = nullptr;
  AQL_DRM_ENTRY_POINTS(AQL_DRM_MEMBER)
#undef AQL_DRM_MEMBER
  bool there = false;
};

Library load() {
  Library library;
  constexpr const char* kName = "libdrm_amdgpu.so.1";
  void* handle = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    log::debug(fmt::format("{} cannot be loaded: no market names, clocks from the thunk", kName));
    return library;
  }
  library.there = true;
#define AQL_DRM_LOOK_UP(name)                                                      \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, #name));   \
  library.there = library.there && library.name != nullptr;
  AQL_DRM_ENTRY_POINTS(AQL_DRM_LOOK_UP)
#undef AQL_DRM_LOOK_UP
  return library;
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

amdgpu_device_handle handle_of(void* device) noexcept { return static_cast<amdgpu_device_handle>(device); }

} // namespace

std::shared_ptr<Drm> Drm::open(int render_minor) {
  std::shared_ptr<Drm> drm{new Drm};
  if (render_minor < 128 || !library().there) return drm;
  const auto path = fmt::format("/dev/dri/renderD{}", render_minor);
  drm->fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (drm->fd_ < 0) return drm;
  std::uint32_t major = 0, minor = 0;
  amdgpu_device_handle device = nullptr;
  if (library().amdgpu_device_initialize(drm->fd_, &major, &minor, &device) != 0) {
    log::debug(fmt::format("{} is no amdgpu device to libdrm_amdgpu", path));
    return drm;
  }
  drm->device_ = device;
  if (const char* name = library().amdgpu_get_marketing_name(device)) drm->name_ = name;
  amdgpu_gpu_info info{};
  if (library().amdgpu_query_gpu_info(device, &info) == 0) {
    drm->counter_hz_ = static_cast<std::uint64_t>(info.gpu_counter_freq) * 1000; // kHz
    drm->engine_mhz_ = static_cast<std::uint32_t>(info.max_engine_clk / 1000);   // kHz
  }
  return drm;
}

Drm::~Drm() {
  if (device_ != nullptr) (void)library().amdgpu_device_deinitialize(handle_of(device_));
  if (fd_ >= 0) ::close(fd_);
}

std::optional<std::uint64_t> Drm::vram_free() const noexcept {
  amdgpu_heap_info heap{};
  if (device_ == nullptr || library().amdgpu_query_heap_info(handle_of(device_), kDomainVram, 0, &heap) != 0) return std::nullopt;
  return heap.heap_size > heap.heap_usage ? heap.heap_size - heap.heap_usage : 0;
}

} // namespace aql::detail::kfd
