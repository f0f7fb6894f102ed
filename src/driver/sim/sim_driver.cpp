#include "driver/sim/sim_driver.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.hpp"
#include "base/env.hpp"
#include "base/log.hpp"
#include "driver/sim/host_copy.hpp"
#include "sim/cp/gpu.hpp"

namespace aql::detail {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kKernargBlock = 256; // what a kernarg segment is rounded up to: the widest scalar load is 64 bytes
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

sim::MemoryKind memory_kind(PoolKind kind) {
  switch (kind) {
  case PoolKind::device_coarse: return sim::MemoryKind::device_coarse;
  case PoolKind::device_fine: return sim::MemoryKind::device_fine;
  case PoolKind::host_fine: return sim::MemoryKind::host_fine;
  case PoolKind::host_coarse: return sim::MemoryKind::host_coarse;
  case PoolKind::kernarg: return sim::MemoryKind::kernarg;
  case PoolKind::executable: return sim::MemoryKind::executable;
  }
  return sim::MemoryKind::other;
}

DeviceInfo info_of(const sim::DeviceProfile& p) {
  DeviceInfo info;
  info.driver = "sim";
  info.selector = fmt::format("sim:{}", p.name);
  info.name = p.name;
  info.target = p.target;
  info.isa = fmt::format("amdgcn-amd-amdhsa--{}:sramecc{}:xnack{}", p.target, p.sramecc ? '+' : '-', p.xnack ? '+' : '-');
  info.xnack = p.xnack;
  info.sramecc = p.sramecc;
  info.compute_units = p.xcc_count * p.cus_per_xcc;
  info.xcc_count = p.xcc_count;
  info.simds_per_cu = p.simds_per_cu;
  info.waves_per_simd = p.waves_per_simd;
  info.vgprs_per_lane = p.vgprs_per_lane;
  info.vgpr_granule = p.vgpr_granule;
  info.lds_bytes = p.lds_bytes;
  info.lds_granule = p.lds_granule;
  info.max_workgroup_size = p.max_workgroup_size;
  info.max_private_bytes = p.max_private_bytes;
  info.groups_per_cu = p.groups_per_cu;
  info.clock_mhz = p.clock_mhz;
  info.memory_bytes = p.memory_bytes;
  info.timestamp_hz = p.timestamp_hz;
  return info;
}

// Anonymous memory of the host, whole pages. NORESERVE: device memory of many GiB costs what is touched.
struct Pages {
  std::byte* base = nullptr;
  std::size_t size_bytes = 0;
};

Result<Pages> map_pages(std::size_t size_bytes) {
  const auto size = round_up(size_bytes, kPage);
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return std::unexpected(Error{Errc::out_of_resources, errno, fmt::format("the host could not map {} bytes for the software GPU", size), "mmap"});
  }
  return Pages{static_cast<std::byte*>(base), size};
}

class SimDriver final : public Driver {
public:
  SimDriver(DeviceInfo info, std::unique_ptr<sim::Gpu> gpu) : info_(std::move(info)), gpu_(std::move(gpu)) {
    info_.shared_aperture = gpu_->shared_aperture();
    info_.private_aperture = gpu_->private_aperture();
  }

  ~SimDriver() override {
    gpu_.reset(); // ends what runs, before the memory under it goes
    for (const auto& [address, pages] : pages_) munmap(pages.base, pages.size_bytes);
    for (const auto& pages : retired_) munmap(pages.base, pages.size_bytes);
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }

  Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view label) override {
    {
      const std::lock_guard lock{mutex_};
      const bool on_device = kind == PoolKind::device_coarse || kind == PoolKind::device_fine || kind == PoolKind::executable;
      if (on_device && size_bytes > info_.memory_bytes - device_bytes_) {
        return std::unexpected(Error{Errc::out_of_resources, 0,
                                     fmt::format("asked for {} bytes of {} memory; {} of the device's {} bytes are free", size_bytes, to_string(kind),
                                                 info_.memory_bytes - device_bytes_, info_.memory_bytes),
                                     "allocate"});
      }
    }
    auto pages = map_pages(size_bytes);
    if (!pages) return std::unexpected(pages.error());
    const auto address = reinterpret_cast<std::uint64_t>(pages->base);
    std::uint8_t permissions = sim::kRead | sim::kWrite;
    if (kind == PoolKind::executable) permissions |= sim::kExecute;
    // Compilers widen scalar loads of arguments past the end of the segment: kernarg memory is whole blocks, as on hardware.
    const auto accessible = kind == PoolKind::kernarg ? round_up(size_bytes, kKernargBlock) : size_bytes;
    auto mapped = gpu_->memory().map({.address = address, .size = accessible, .host = pages->base, .permissions = permissions, .kind = memory_kind(kind), .label = std::string{label}});
    if (!mapped) {
      munmap(pages->base, pages->size_bytes);
      return std::unexpected(mapped.error());
    }
    const std::lock_guard lock{mutex_};
    pages_[address] = *pages;
    regions_[address] = {address};
    if (memory_is_local(kind)) device_bytes_ += size_bytes;
    return Allocation{address, pages->base, size_bytes, kind, 0};
  }

  Result<void> free(const Allocation& allocation) override {
    Pages pages;
    std::vector<std::uint64_t> regions;
    {
      const std::lock_guard lock{mutex_};
      const auto found = pages_.find(allocation.device_address);
      if (found == pages_.end()) {
        return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{:#x} is no allocation of this device", allocation.device_address), "free"});
      }
      pages = found->second;
      pages_.erase(found);
      regions = std::move(regions_[allocation.device_address]);
      regions_.erase(allocation.device_address);
      if (memory_is_local(allocation.kind)) device_bytes_ -= allocation.size_bytes;
    }
    for (const auto address : regions) {
      if (auto done = gpu_->memory().unmap(address); !done) return std::unexpected(done.error());
    }
    retire(pages);
    return {};
  }

  Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable) override {
    const auto address = reinterpret_cast<std::uint64_t>(host);
    const std::uint8_t permissions = writable ? sim::kRead | sim::kWrite : sim::kRead;
    auto mapped = gpu_->memory().map({.address = address, .size = size_bytes, .host = static_cast<std::byte*>(host), .permissions = permissions, .kind = sim::MemoryKind::host_fine, .label = "pinned host memory"});
    if (!mapped) return std::unexpected(mapped.error());
    return Allocation{address, static_cast<std::byte*>(host), size_bytes, PoolKind::host_fine, 0};
  }

  Result<void> unpin(const Allocation& allocation) override {
    if (auto done = gpu_->memory().unmap(allocation.device_address); !done) return std::unexpected(done.error());
    return {};
  }

  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) override {
    return host_copy(gpu_->memory(), dst, src, size_bytes);
  }

  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count) override {
    auto* host = gpu_->memory().translate(dst, count * 4, sim::kWrite);
    if (host == nullptr && count != 0) {
      return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("fill of {} bytes at {:#x}: {}", count * 4, dst, gpu_->memory().describe(dst)), "fill32"});
    }
    for (std::size_t i = 0; i < count; ++i) std::memcpy(host + i * 4, &pattern, 4);
    return {};
  }

  Result<void> commit_code(const Allocation& allocation, std::span<const CodeSegment> segments) override {
    if (segments.empty()) return {};
    const std::lock_guard lock{mutex_};
    auto& regions = regions_[allocation.device_address];
    std::string label;
    for (const auto address : regions) {
      auto old = gpu_->memory().unmap(address);
      if (!old) return std::unexpected(old.error());
      label = old->label;
    }
    regions.clear();
    for (const auto& segment : segments) {
      if (segment.size_bytes == 0) continue;
      const auto address = allocation.device_address + segment.offset;
      const auto permissions = static_cast<std::uint8_t>((segment.read ? sim::kRead : 0) | (segment.write ? sim::kWrite : 0) | (segment.execute ? sim::kExecute : 0));
      auto mapped = gpu_->memory().map({.address = address, .size = segment.size_bytes, .host = allocation.host + segment.offset, .permissions = permissions, .kind = sim::MemoryKind::executable, .label = label});
      if (!mapped) return std::unexpected(mapped.error());
      regions.push_back(address);
    }
    return {};
  }

  void set_symbolizer(std::function<std::string(std::uint64_t)> symbolizer) override { gpu_->set_symbolizer(std::move(symbolizer)); }

  Result<SignalView> create_signal(std::int64_t initial) override {
    const std::lock_guard lock{mutex_};
    if (free_signals_.empty()) {
      if (auto grown = grow_signals(); !grown) return std::unexpected(grown.error());
    }
    abi::AmdSignal* object = free_signals_.back();
    free_signals_.pop_back();
    *object = {};
    object->kind = static_cast<std::int64_t>(abi::SignalKind::user);
    object->value = initial;
    return SignalView{object, reinterpret_cast<std::uint64_t>(object), &SimDriver::signal_changed, this, 0};
  }

  Result<void> destroy_signal(const SignalView& signal) override {
    const std::lock_guard lock{mutex_};
    signal.object->kind = static_cast<std::int64_t>(abi::SignalKind::invalid);
    free_signals_.push_back(signal.object);
    return {};
  }

  std::uint64_t wait_epoch(const SignalView&) noexcept override { return gpu_->event_counter().load(std::memory_order_acquire); }

  void wait_changed(const SignalView&, std::uint64_t epoch, Deadline deadline) noexcept override {
    // A kernel may store to a signal without any event: look again after a while.
    constexpr std::int64_t kLookAgainNs = 1'000'000;
    if (const std::int64_t ns = ns_left(deadline, kLookAgainNs); ns > 0) gpu_->wait_for_event(static_cast<std::uint32_t>(epoch), ns);
  }

  Result<QueueView> create_queue(const QueueRequest& request) override;
  Result<void> destroy_queue(std::uint64_t id) override;
  Result<void> inactivate_queue(std::uint64_t id) override { return gpu_->inactivate_queue(id); }

  std::uint64_t timestamp() noexcept override { return gpu_->timestamp(); }
  // The device counts from the zero of CLOCK_MONOTONIC (sim/cp/clock.hpp). Readings of both clocks side by side would only add the
  // time that this thread lost between them.
  std::int64_t to_host_ns(std::uint64_t ticks) noexcept override { return ticks_to_ns(ticks); }

  [[nodiscard]] sim::Gpu& gpu() noexcept { return *gpu_; }

private:
  struct QueueMemory {
    Allocation structure; // amd_queue_t, then the doorbell on the next page
    Allocation ring;
    SignalView inactive;
    SignalView doorbell;
  };

  // Freed addresses are kept out of use for a while: a kernel or packet that still names one gets a report instead of
  // somebody else's memory.
  void retire(Pages pages) {
    constexpr std::size_t kKept = 256;
    // Replaces the pages by an inaccessible reservation; the memory goes back to the host at once.
    if (mmap(pages.base, pages.size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
      munmap(pages.base, pages.size_bytes);
      return;
    }
    const std::lock_guard lock{mutex_};
    retired_.push_back(pages);
    if (retired_.size() <= kKept) return;
    munmap(retired_.front().base, retired_.front().size_bytes);
    retired_.pop_front();
  }

  static bool memory_is_local(PoolKind kind) { return kind == PoolKind::device_coarse || kind == PoolKind::device_fine || kind == PoolKind::executable; }

  static void signal_changed(void* self) noexcept { static_cast<SimDriver*>(self)->gpu_->notify_signal(); }

  [[nodiscard]] std::int64_t ticks_to_ns(std::uint64_t ticks) const noexcept {
    // Seconds apart from the rest: the product would overflow after three minutes otherwise.
    const std::uint64_t hz = info_.timestamp_hz;
    return static_cast<std::int64_t>(ticks / hz * 1'000'000'000u + ticks % hz * 1'000'000'000u / hz);
  }

  Result<void> grow_signals() {
    constexpr std::size_t kSlab = 1024;
    auto pages = map_pages(kSlab * sizeof(abi::AmdSignal));
    if (!pages) return std::unexpected(pages.error());
    const auto address = reinterpret_cast<std::uint64_t>(pages->base);
    auto mapped = gpu_->memory().map({.address = address, .size = pages->size_bytes, .host = pages->base, .permissions = sim::kRead | sim::kWrite, .kind = sim::MemoryKind::queue, .label = "signals"});
    if (!mapped) {
      munmap(pages->base, pages->size_bytes);
      return std::unexpected(mapped.error());
    }
    pages_[address] = *pages;
    regions_[address] = {address};
    auto* signals = reinterpret_cast<abi::AmdSignal*>(pages->base);
    for (std::size_t i = kSlab; i-- > 0;) free_signals_.push_back(signals + i);
    return {};
  }

  DeviceInfo info_;
  std::mutex mutex_;
  std::map<std::uint64_t, Pages> pages_;
  std::deque<Pages> retired_; // oldest first
  std::map<std::uint64_t, std::vector<std::uint64_t>> regions_; // allocation -> regions of the address map inside it
  std::uint64_t device_bytes_ = 0;
  std::vector<abi::AmdSignal*> free_signals_;
  std::map<std::uint64_t, QueueMemory> queues_;
  std::unique_ptr<sim::Gpu> gpu_;
};

Result<QueueView> SimDriver::create_queue(const QueueRequest& request) {
  if (!std::has_single_bit(request.packets) || request.packets < info_.min_queue_packets || request.packets > info_.max_queue_packets) {
    return std::unexpected(Error{Errc::invalid_queue_creation, 0,
                                 fmt::format("asked for a queue of {} packets; a power of two from {} to {} is needed", request.packets,
                                             info_.min_queue_packets, info_.max_queue_packets),
                                 "create_queue"});
  }
  {
    const std::lock_guard lock{mutex_};
    if (queues_.size() >= info_.max_queues) {
      return std::unexpected(Error{Errc::out_of_resources, 0, fmt::format("{} queues are open already, the limit of this device; destroy one first", queues_.size()), "create_queue"});
    }
  }
  auto structure = allocate(PoolKind::host_fine, 2 * kPage, "queue structure and doorbell");
  if (!structure) return std::unexpected(structure.error());
  auto ring = allocate(PoolKind::host_fine, request.packets * abi::kPacketSize, "queue ring");
  if (!ring) {
    (void)free(*structure);
    return std::unexpected(ring.error());
  }
  auto inactive = create_signal(0);
  auto doorbell = create_signal(0);
  if (!inactive || !doorbell) {
    (void)free(*ring);
    (void)free(*structure);
    return std::unexpected(!inactive ? inactive.error() : doorbell.error());
  }
  auto* slots = reinterpret_cast<abi::Slot*>(ring->host);
  for (std::uint32_t i = 0; i < request.packets; ++i) slots[i].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);

  auto* queue = reinterpret_cast<abi::AmdQueue*>(structure->host);
  auto* doorbell_word = reinterpret_cast<std::uint64_t*>(structure->host + kPage);
  doorbell->object->kind = static_cast<std::int64_t>(abi::SignalKind::doorbell);
  doorbell->object->value = static_cast<std::int64_t>(structure->device_address + kPage);
  doorbell->object->queue_ptr = structure->device_address;
  queue->hsa_queue.type = static_cast<std::uint32_t>(request.producers == QueueProducers::multi ? abi::QueueType::multi : abi::QueueType::single);
  queue->hsa_queue.features = request.agent_function ? 3u : 1u;
  queue->hsa_queue.base_address = ring->device_address;
  queue->hsa_queue.doorbell_signal = doorbell->handle;
  queue->hsa_queue.size = request.packets;
  queue->group_segment_aperture_base_hi = static_cast<std::uint32_t>(gpu_->shared_aperture() >> 32);
  queue->private_segment_aperture_base_hi = static_cast<std::uint32_t>(gpu_->private_aperture() >> 32);
  queue->max_cu_id = info_.compute_units - 1;
  queue->max_wave_id = info_.waves_per_simd * info_.simds_per_cu - 1;
  queue->read_dispatch_id_field_base_byte_offset = offsetof(abi::AmdQueue, read_dispatch_id);
  queue->queue_properties = abi::QueueIsPtr64::encode<std::uint32_t>(1) | abi::QueueEnableProfiling::encode<std::uint32_t>(1);
  queue->queue_inactive_signal = inactive->handle;

  sim::QueueConfig config;
  config.amd_queue = queue;
  config.queue_address = structure->device_address;
  config.doorbell = doorbell_word;
  config.priority = request.priority;
  config.agent_function = request.agent_function;
  for (std::size_t i = 0; i < request.cu_mask.size() && i < 16; ++i) {
    config.cu_mask[i / 2] |= static_cast<std::uint64_t>(request.cu_mask[i]) << (32 * (i % 2));
  }
  if (request.on_fault) {
    config.on_error = [callback = request.on_fault](const sim::QueueFault& fault) {
      callback(QueueFaultInfo{fault.code, hsa_status(fault.code), fault.packet_index, fault.detail});
    };
  }
  auto id = gpu_->create_queue(config);
  if (!id) {
    (void)destroy_signal(*doorbell);
    (void)destroy_signal(*inactive);
    (void)free(*ring);
    (void)free(*structure);
    return std::unexpected(id.error());
  }
  const std::lock_guard lock{mutex_};
  queue->hsa_queue.id = *id;
  queues_[*id] = QueueMemory{*structure, *ring, *inactive, *doorbell};
  QueueView view;
  view.ring = slots;
  view.mask = request.packets - 1;
  view.write_index = &queue->write_dispatch_id;
  view.read_index = &queue->read_dispatch_id;
  view.doorbell = doorbell_word;
  view.notify = &sim::Gpu::notify;
  view.notify_arg = gpu_.get();
  view.amd_queue = queue;
  view.queue_address = structure->device_address;
  view.id = *id;
  return view;
}

Result<void> SimDriver::destroy_queue(std::uint64_t id) {
  QueueMemory memory;
  {
    const std::lock_guard lock{mutex_};
    const auto found = queues_.find(id);
    if (found == queues_.end()) return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("queue {} does not exist or was destroyed before", id), "destroy_queue"});
    memory = found->second;
    queues_.erase(found);
  }
  auto done = gpu_->destroy_queue(id);
  (void)destroy_signal(memory.doorbell);
  (void)destroy_signal(memory.inactive);
  if (auto freed = free(memory.ring); !freed && done) done = freed;
  if (auto freed = free(memory.structure); !freed && done) done = freed;
  return done;
}

sim::GpuOptions gpu_options(SimOptions options) {
  if (const auto n = env_u64("AQL_SIM_WORKERS")) options.workers = static_cast<unsigned>(*n);
  if (const auto n = env_u64("AQL_SIM_SEED")) options.seed = *n;
  if (const auto n = env_u64("AQL_SIM_WATCHDOG_INSTRUCTIONS")) options.watchdog_instructions = *n;
  if (const auto n = env_u64("AQL_SIM_WATCHDOG_MS")) options.watchdog_ms = *n;
  if (const auto on = env_switch("AQL_SIM_POISON")) options.poison = *on;
  if (const auto text = env_text("AQL_SIM_MATRIX")) {
    if (*text == "fast") options.fast_matrix = true;
    else if (*text == "exact") options.fast_matrix = false;
    else log::warn(fmt::format("AQL_SIM_MATRIX='{}' is neither exact nor fast; ignored", *text));
  }
  sim::GpuOptions gpu;
  gpu.workers = options.workers;
  gpu.seed = options.seed;
  gpu.watchdog_instructions = options.watchdog_instructions;
  gpu.watchdog_ms = options.watchdog_ms;
  gpu.poison = options.poison;
  gpu.numerics = options.fast_matrix ? sim::MatrixNumerics::fast : sim::MatrixNumerics::exact;
  return gpu;
}

} // namespace

Result<std::shared_ptr<Driver>> open_sim(std::string_view text, const SimOptions& options) {
  const auto* profile = sim::find_profile(text.empty() ? std::string_view{"gfx942"} : text);
  if (profile == nullptr) {
    std::string known;
    for (const auto& p : sim::device_profiles()) known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", p.name, p.target);
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("the software GPU has no product or target '{}'; it has {}", text, known), "open_sim"});
  }
  auto gpu = sim::Gpu::create(*profile, gpu_options(options));
  if (!gpu) return std::unexpected(gpu.error());
  return std::make_shared<SimDriver>(info_of(*profile), std::move(*gpu));
}

sim::Gpu* sim_gpu(Driver& driver) noexcept {
  auto* sim = dynamic_cast<SimDriver*>(&driver);
  return sim == nullptr ? nullptr : &sim->gpu();
}

std::vector<DeviceInfo> list_sim() {
  std::vector<DeviceInfo> list;
  for (const auto& profile : sim::device_profiles()) list.push_back(info_of(profile));
  return list;
}

} // namespace aql::detail
