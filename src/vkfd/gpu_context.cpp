#include "vkfd/gpu_context.hpp"

#include "base/log.hpp"
#include "vkfd/export_directory.hpp"

namespace aql::vkfd {

GpuContext::GpuContext(const GpuIdentity& identity, BackingFile file)
    : index(identity.node_id - 1), id(identity), memory(std::move(file)), offsets(ExportDirectory::kBytes, 1ull << 44) {}

void GpuContext::stop() {
  const std::lock_guard lock{core_mutex_};
  made_.store(nullptr, std::memory_order_release);
  core_.reset();
}

DeviceCore* GpuContext::core() {
  if (DeviceCore* made = core_if_made()) return made;
  const std::lock_guard lock{core_mutex_};
  if (!core_) {
    auto core = make_software_core(*id.profile);
    if (!core) {
      log::error(core.error().message());
      return nullptr;
    }
    (*core)->set_event_hook(event_hook);
    core_ = std::move(*core);
    made_.store(core_.get(), std::memory_order_release);
  }
  return core_.get();
}

} // namespace aql::vkfd
