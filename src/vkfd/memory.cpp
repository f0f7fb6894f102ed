#include "vkfd/memory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/log.hpp"
#include "vkfd/note.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

constexpr std::uint32_t kDomains = std::uint32_t{KFD_IOC_ALLOC_MEM_FLAGS_VRAM} | KFD_IOC_ALLOC_MEM_FLAGS_GTT |
                                   KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL |
                                   KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP;
// The header shifts a one into the sign of an int.
constexpr auto kWritable = static_cast<std::uint32_t>(KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
constexpr std::uint64_t kAddressLimit = 1ull << 47;

sim::MemoryKind kind_of(const Bo& bo) noexcept {
  if ((bo.flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) != 0) return sim::MemoryKind::other;
  const bool fine = (bo.flags & (KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED)) != 0;
  if ((bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0) return fine ? sim::MemoryKind::device_fine : sim::MemoryKind::device_coarse;
  return fine ? sim::MemoryKind::host_fine : sim::MemoryKind::host_coarse;
}

std::uint8_t permissions_of(const Bo& bo) noexcept {
  unsigned p = sim::kRead;
  if ((bo.flags & kWritable) != 0) p |= sim::kWrite;
  if ((bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE) != 0) p |= sim::kExecute;
  return static_cast<std::uint8_t>(p);
}

bool is_user(const Bo& bo) noexcept { return (bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0; }

} // namespace

GpuContext* Memory::gpu_of(std::uint32_t gpu_id) const {
  for (const auto& gpu : gpus_) {
    if (gpu->id.gpu_id == gpu_id) return gpu.get();
  }
  return nullptr;
}

std::uint64_t Memory::new_handle(std::uint32_t gpu_id) { return static_cast<std::uint64_t>(gpu_id) << 32 | next_++; }

std::uint64_t Memory::available(const GpuContext& gpu) const {
  const std::uint64_t used = gpu.vram_used.load(std::memory_order_relaxed), all = gpu.id.profile->memory_bytes;
  return used < all ? all - used : 0;
}

int Memory::allocate(kfd_ioctl_alloc_memory_of_gpu_args& args, std::uint64_t fixed_mmap_offset, std::byte* fixed_host) {
  GpuContext* gpu = gpu_of(args.gpu_id);
  if (gpu == nullptr) return refuse(-EINVAL, "no GPU has the id {}", args.gpu_id);
  if (!gpu->vm_acquired.load(std::memory_order_acquire))
    return refuse(-ENODEV, "ACQUIRE_VM was not called for GPU {}", args.gpu_id);
  const std::uint32_t domains = args.flags & kDomains;
  if (!std::has_single_bit(domains))
    return refuse(-EINVAL, "flags {:#x} name {} kinds of memory; one is needed", args.flags, std::popcount(domains));
  if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM) != 0) {
    return refuse(-EOPNOTSUPP, "memory that is mapped twice in a row is only for queues of older cards");
  }
  if (args.size == 0) return refuse(-EINVAL, "a buffer of 0 bytes");
  if (args.size > kAddressLimit || args.va_addr >= kAddressLimit || args.va_addr + args.size > kAddressLimit) {
    return refuse(-EINVAL, "{} bytes at {:#x} do not fit the GPU's address space of 47 bits", args.size, args.va_addr);
  }
  if (args.va_addr % kPage != 0) return refuse(-EINVAL, "the address {:#x} is not page-aligned", args.va_addr);
  Bo bo;
  bo.gpu = gpu->index;
  bo.flags = args.flags;
  bo.va = args.va_addr;
  bo.size = round_to_page(args.size);
  if (fixed_host != nullptr) { // doorbells, registers
    bo.host = fixed_host;
    args.mmap_offset = fixed_mmap_offset;
  } else if (is_user(bo)) {
    const std::uint64_t cpu = args.mmap_offset;
    if (cpu % kPage != 0) return refuse(-EINVAL, "the host address {:#x} is not page-aligned", cpu);
    const HostRange range = host_range(cpu, bo.size);
    if (!range.mapped) return refuse(-EFAULT, "host memory of {} bytes at {:#x} is not mapped", bo.size, cpu);
    if (!range.readable || ((args.flags & kWritable) != 0 && !range.writable)) {
      return refuse(-EFAULT, "host memory of {} bytes at {:#x} may not be {}", bo.size, cpu, range.readable ? "written" : "read");
    }
    bo.host = reinterpret_cast<std::byte*>(cpu);
  } else {
    const bool vram = (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0;
    if (vram) {
      const std::uint64_t before = gpu->vram_used.fetch_add(bo.size, std::memory_order_relaxed);
      if (before + bo.size > gpu->id.profile->memory_bytes) {
        gpu->vram_used.fetch_sub(bo.size, std::memory_order_relaxed);
        return refuse(-ENOMEM, "{} bytes of VRAM asked for, {} of {} are free", bo.size, gpu->id.profile->memory_bytes - before,
                      gpu->id.profile->memory_bytes);
      }
    }
    bo.offset = gpu->offsets.take(bo.size);
    if (bo.offset != 0) bo.view = std::make_shared<const View>(gpu->memory.map(bo.offset, bo.size));
    if (!bo.view || !*bo.view) {
      if (bo.offset != 0) gpu->offsets.give(bo.offset, bo.size);
      if (vram) gpu->vram_used.fetch_sub(bo.size, std::memory_order_relaxed);
      return refuse(-ENOMEM, "the host has no room for {} bytes", bo.size);
    }
    bo.host = bo.view->get();
    args.mmap_offset = bo.offset;
  }
  if (is_user(bo)) user_ranges_.add(reinterpret_cast<std::uint64_t>(bo.host), reinterpret_cast<std::uint64_t>(bo.host) + bo.size);
  const std::lock_guard lock{mutex_};
  bo.handle = args.handle = new_handle(args.gpu_id);
  bos_.emplace(bo.handle, std::move(bo));
  return 0;
}

std::uint64_t Memory::adopt(Bo bo, std::uint64_t& mmap_offset) {
  const std::lock_guard lock{mutex_};
  bo.offset = mmap_offset = next_imported_;
  next_imported_ += bo.size;
  bo.handle = new_handle(gpus_[bo.gpu]->id.gpu_id);
  const std::uint64_t handle = bo.handle;
  bos_.emplace(handle, std::move(bo));
  return handle;
}

int Memory::free(std::uint64_t handle) {
  Bo bo;
  {
    const std::lock_guard lock{mutex_};
    const auto it = bos_.find(handle);
    if (it == bos_.end()) return refuse(-EINVAL, "no buffer has the handle {:#x}", handle);
    if (it->second.mapped != 0) return refuse(-EBUSY, "the buffer at {:#x} is still mapped to GPUs", it->second.va);
    bo = std::move(it->second);
    bos_.erase(it);
  }
  if (is_user(bo) && bo.host != nullptr)
    user_ranges_.remove(reinterpret_cast<std::uint64_t>(bo.host), reinterpret_cast<std::uint64_t>(bo.host) + bo.size);
  if (!bo.view || bo.imported || bo.kept) return 0;
  GpuContext& gpu = *gpus_[bo.gpu];
  (void)fallocate(gpu.memory.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(bo.offset),
                  static_cast<off_t>(bo.size));
  gpu.offsets.give(bo.offset, bo.size);
  if ((bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0) gpu.vram_used.fetch_sub(bo.size, std::memory_order_relaxed);
  return 0;
}

int Memory::map_on(Bo& bo, GpuContext& gpu) {
  if ((bo.mapped >> gpu.index & 1) != 0) return 0;
  if (bo.host == nullptr) return refuse(-EFAULT, "the host memory behind {:#x} is gone", bo.va);
  DeviceCore* core = gpu.core();
  if (core == nullptr) return refuse(-ENODEV, "the software GPU could not be started");
  sim::Region region;
  region.address = bo.va;
  region.size = bo.size;
  region.host = bo.host;
  region.permissions = permissions_of(bo);
  region.kind = kind_of(bo);
  if (auto done = core->map(region); !done) return refuse(-EINVAL, "{}", done.error().detail);
  bo.mapped |= 1ull << gpu.index;
  return 0;
}

void Memory::unmap_on(Bo& bo, GpuContext& gpu) {
  if ((bo.mapped >> gpu.index & 1) == 0) return;
  bo.mapped &= ~(1ull << gpu.index);
  if (auto done = gpu.core()->unmap(bo.va); !done) log::error(done.error().message());
}

int Memory::map(std::uint64_t handle, std::span<const std::uint32_t> gpu_ids, std::uint32_t& done) {
  const std::lock_guard lock{mutex_};
  const auto it = bos_.find(handle);
  if (it == bos_.end()) return refuse(-EINVAL, "no buffer has the handle {:#x}", handle);
  for (; done < gpu_ids.size(); ++done) {
    GpuContext* gpu = gpu_of(gpu_ids[done]);
    if (gpu == nullptr) return refuse(-EINVAL, "no GPU has the id {}", gpu_ids[done]);
    if (!gpu->vm_acquired.load(std::memory_order_acquire))
      return refuse(-ENODEV, "ACQUIRE_VM was not called for GPU {}", gpu_ids[done]);
    if (const int error = map_on(it->second, *gpu); error != 0) return error;
  }
  return 0;
}

int Memory::unmap(std::uint64_t handle, std::span<const std::uint32_t> gpu_ids, std::uint32_t& done) {
  Queues::Standstill queues{queues_};
  const auto found = find(handle);
  if (!found) return refuse(-EINVAL, "no buffer has the handle {:#x}", handle);
  for (const std::uint32_t id : gpu_ids) {
    if (GpuContext* gpu = gpu_of(id); gpu != nullptr && (found->mapped >> gpu->index & 1) != 0)
      queues.stop_overlapping(gpu->index, found->va, found->va + found->size);
  }
  const std::lock_guard lock{mutex_};
  const auto it = bos_.find(handle);
  if (it == bos_.end()) return refuse(-EINVAL, "no buffer has the handle {:#x}", handle);
  for (; done < gpu_ids.size(); ++done) {
    GpuContext* gpu = gpu_of(gpu_ids[done]);
    if (gpu == nullptr) return refuse(-EINVAL, "no GPU has the id {}", gpu_ids[done]);
    unmap_on(it->second, *gpu);
  }
  return 0;
}

std::optional<Bo> Memory::find(std::uint64_t handle) const {
  const std::lock_guard lock{mutex_};
  const auto it = bos_.find(handle);
  if (it == bos_.end()) return std::nullopt;
  return it->second;
}

std::optional<Bo> Memory::keep_pages(std::uint64_t handle) {
  const std::lock_guard lock{mutex_};
  const auto it = bos_.find(handle);
  if (it == bos_.end() || it->second.offset == 0 || it->second.imported) return std::nullopt;
  it->second.kept = true;
  return it->second;
}

std::optional<Memory::Target> Memory::mmap_target(std::uint32_t gpu, std::uint64_t offset, std::uint64_t size) const {
  const std::lock_guard lock{mutex_};
  for (const auto& [handle, bo] : bos_) {
    if (bo.gpu != gpu || bo.offset == 0 || offset < bo.offset || offset - bo.offset >= bo.size) continue;
    if (size > bo.size - (offset - bo.offset)) return std::nullopt;
    if (bo.imported) return Target{bo.imported_fd, bo.imported_offset + (offset - bo.offset)};
    return Target{-1, offset};
  }
  return std::nullopt;
}

void Memory::host_range_gone(std::uint64_t begin, std::uint64_t end) {
  const auto overlaps = [&](const Bo& bo) {
    const auto host = reinterpret_cast<std::uint64_t>(bo.host);
    return is_user(bo) && bo.host != nullptr && host < end && host + bo.size > begin;
  };
  Queues::Standstill queues{queues_};
  std::vector<Bo> gone;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [handle, bo] : bos_) {
      if (overlaps(bo)) gone.push_back(bo);
    }
  }
  for (const Bo& bo : gone) {
    for (const auto& gpu : gpus_) {
      if ((bo.mapped >> gpu->index & 1) != 0) queues.stop_overlapping(gpu->index, bo.va, bo.va + bo.size);
    }
  }
  const std::lock_guard lock{mutex_};
  for (const Bo& old : gone) {
    const auto it = bos_.find(old.handle);
    if (it == bos_.end() || !overlaps(it->second)) continue;
    Bo& bo = it->second;
    for (const auto& gpu : gpus_) unmap_on(bo, *gpu);
    user_ranges_.remove(reinterpret_cast<std::uint64_t>(bo.host), reinterpret_cast<std::uint64_t>(bo.host) + bo.size);
    bo.host = nullptr; // accesses fault from now on
  }
}

} // namespace aql::vkfd
