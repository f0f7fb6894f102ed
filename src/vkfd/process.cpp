#include "vkfd/process.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "base/env.hpp"
#include "sim/cp/gpu.hpp"

namespace aql::vkfd {
namespace {

// Offsets of the memory file never run out before memory does.
constexpr std::uint64_t kMemoryFileBytes = 1ull << 44;
constexpr std::size_t kMaxGpus = 64; // bits of a mask, and render minors 128 to 191

} // namespace

Result<std::vector<GpuIdentity>> parse_devices(std::string_view text) {
  std::vector<GpuIdentity> gpus;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const sim::DeviceProfile* profile = sim::find_profile(name);
    if (profile == nullptr) {
      std::string known;
      for (const auto& p : sim::device_profiles()) known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", p.name, p.target);
      return std::unexpected(
          Error{Errc::invalid_argument, 0, fmt::format("no device is called '{}'; there are {}", name, known), "parse_devices"});
    }
    if (gpus.size() == kMaxGpus)
      return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("more than {} GPUs are asked for; a process has at most that many", kMaxGpus), "parse_devices"});
    gpus.push_back(identity_of(*profile, static_cast<std::uint32_t>(gpus.size())));
  }
  if (gpus.empty()) return std::unexpected(Error{Errc::invalid_argument, 0, "no device is named", "parse_devices"});
  return gpus;
}

Result<Config> config_from_environment() {
  Config config;
  auto gpus = parse_devices(detail::env_text("AQL_VKFD_DEVICES").value_or("gfx90a"));
  if (!gpus) return std::unexpected(gpus.error());
  config.gpus = std::move(*gpus);
  config.root = detail::env_text("AQL_VKFD_ROOT").value_or("");
  if (config.root.empty())
    return std::unexpected(Error{Errc::invalid_argument, 0, "AQL_VKFD_ROOT is not set; start programs with `aql vgpu -- PROGRAM`",
                                 "config_from_environment"});
  config.trace = detail::env_text("AQL_VKFD_TRACE").value_or("");
  return config;
}

Result<std::unique_ptr<Process>> Process::create(std::span<const GpuIdentity> identities) {
  std::unique_ptr<Process> process{new Process};
  auto kfd = BackingFile::create("kfd", doorbell_offset(static_cast<std::uint32_t>(identities.size())));
  if (!kfd) return std::unexpected(kfd.error());
  process->kfd_ = std::move(*kfd);
  const auto no_view = [] {
    return std::unexpected(Error{Errc::system_error, errno, "the host refuses to map the doorbells", "Process::create"});
  };
  process->registers_ = process->kfd_.map(kRegistersOffset, identities.size() * kPage);
  process->event_page_ = process->kfd_.map(kEventPageOffset, kEventPageBytes);
  if (!process->registers_ || !process->event_page_) return no_view();
  for (const GpuIdentity& identity : identities) {
    auto file = BackingFile::create("renderD", kMemoryFileBytes);
    if (!file) return std::unexpected(file.error());
    auto gpu = std::make_unique<GpuContext>(identity, std::move(*file));
    gpu->doorbell_view = process->kfd_.map(doorbell_offset(gpu->index), kDoorbellBytes);
    if (!gpu->doorbell_view) return no_view();
    gpu->doorbells = reinterpret_cast<std::uint64_t*>(gpu->doorbell_view.get());
    static_assert(Events::kAny == sim::kAnyEvent);
    gpu->event_hook = [events_of = &process->events_](std::uint32_t id) { events_of->interrupt(id); };
    process->gpus_.push_back(std::move(gpu));
  }
  process->queues_ = std::make_unique<Queues>(process->gpus_, process->events_);
  process->memory_ = std::make_unique<Memory>(process->gpus_, *process->queues_);
  process->svm_ = std::make_unique<Svm>(process->gpus_, process->memory_->user_ranges(), *process->queues_);
  return process;
}

Process::~Process() {
  for (const auto& g : gpus_) g->stop();
}

void Process::host_range_gone(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end || !memory_->user_ranges().overlaps(begin, end)) return;
  memory_->host_range_gone(begin, end);
  svm_->host_range_gone(begin, end);
}

GpuContext* Process::gpu(std::uint32_t gpu_id) const {
  for (const auto& g : gpus_) {
    if (g->id.gpu_id == gpu_id) return g.get();
  }
  return nullptr;
}

bool Process::mappable(std::uint64_t offset, std::uint64_t size) const noexcept {
  const auto inside = [&](std::uint64_t begin, std::uint64_t bytes) {
    return offset >= begin && size <= bytes && offset - begin <= bytes - size;
  };
  if (inside(kEventPageOffset, kEventPageBytes) || inside(kRegistersOffset, gpus_.size() * kPage)) return true;
  for (const auto& g : gpus_) {
    if (inside(doorbell_offset(g->index), kDoorbellBytes)) return true;
  }
  return false;
}

} // namespace aql::vkfd
