#include "vkfd/svm.hpp"

#include <algorithm>
#include <cerrno>

#include "base/log.hpp"
#include "vkfd/note.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {
namespace {

int check_range(std::uint64_t begin, std::uint64_t size) {
  if (size == 0 || begin % kPage != 0 || size % kPage != 0 || begin + size < begin) {
    return refuse(-EINVAL, "a range of {} bytes at {:#x}; whole pages are needed", size, begin);
  }
  return 0;
}

} // namespace

const GpuContext* Svm::gpu_of(std::uint32_t id) const {
  const auto it = std::find_if(gpus_.begin(), gpus_.end(), [id](const auto& g) { return g->id.gpu_id == id; });
  return it == gpus_.end() ? nullptr : it->get();
}

// Flags are kept and not looked at: newer thunks know more of them, and clear all but a few.
int Svm::check_set(std::span<const kfd_ioctl_svm_attribute> attributes) const {
  for (const auto& a : attributes) {
    switch (a.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      if (a.value == KFD_IOCTL_SVM_LOCATION_UNDEFINED) {
        if (a.type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC) return refuse(-EINVAL, "a prefetch to no place");
      } else if (a.value != KFD_IOCTL_SVM_LOCATION_SYSMEM && gpu_of(a.value) == nullptr) {
        return refuse(-EINVAL, "no GPU has the id {}", a.value);
      }
      break;
    case KFD_IOCTL_SVM_ATTR_ACCESS:
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
      if (gpu_of(a.value) == nullptr) return refuse(-EINVAL, "no GPU has the id {}", a.value);
      break;
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
    case KFD_IOCTL_SVM_ATTR_GRANULARITY: break;
    default: return refuse(-EINVAL, "SVM attribute {} does not exist", a.type);
    }
  }
  return 0;
}

// Values are only written, but for the GPU whose access is asked for.
int Svm::check_get(std::span<const kfd_ioctl_svm_attribute> attributes) const {
  for (const auto& a : attributes) {
    if (a.type > KFD_IOCTL_SVM_ATTR_GRANULARITY) return refuse(-EINVAL, "SVM attribute {} does not exist", a.type);
    if (a.type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE || a.type == KFD_IOCTL_SVM_ATTR_NO_ACCESS)
      return refuse(-EINVAL, "SVM attribute {} is an answer; attribute {} asks for it", a.type, std::uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS});
    if (a.type == KFD_IOCTL_SVM_ATTR_ACCESS && gpu_of(a.value) == nullptr) return refuse(-EINVAL, "no GPU has the id {}", a.value);
  }
  return 0;
}

void Svm::apply(Attributes& to, std::span<const kfd_ioctl_svm_attribute> attributes) const {
  for (const auto& a : attributes) {
    const GpuContext* gpu = gpu_of(a.value);
    const std::uint64_t bit = gpu != nullptr ? 1ull << gpu->index : 0;
    switch (a.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC: to.preferred = a.value; break;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC: to.prefetch = a.value; break;
    case KFD_IOCTL_SVM_ATTR_ACCESS: to.access |= bit, to.in_place &= ~bit; break;
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE: to.in_place |= bit, to.access &= ~bit; break;
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS: to.access &= ~bit, to.in_place &= ~bit; break;
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS: to.flags |= a.value; break;
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS: to.flags &= ~a.value; break;
    case KFD_IOCTL_SVM_ATTR_GRANULARITY: to.granularity = std::min(a.value, 27u); break;
    default: break;
    }
  }
}

void Svm::unmap(std::uint64_t begin, Range& range, std::uint64_t gpus) {
  gpus &= range.mapped;
  if (gpus == 0) return;
  for (const auto& gpu : gpus_) {
    if ((gpus >> gpu->index & 1) == 0) continue;
    if (auto done = gpu->core()->unmap(begin); !done) log::error(done.error().message());
  }
  range.mapped &= ~gpus;
  if (range.mapped == 0) user_ranges_.remove(begin, range.end);
}

// Kernels may run on what stays mapped: it is changed in place.
int Svm::map(std::uint64_t begin, Range& range) {
  const std::uint64_t wanted = range.attributes.access | range.attributes.in_place;
  if (wanted == 0) {
    unmap(begin, range, range.mapped);
    return 0;
  }
  const HostRange host = host_range(begin, range.end - begin);
  if (!host.mapped || !host.readable)
    return refuse(-EFAULT, "host memory of {} bytes at {:#x} cannot be read", range.end - begin, begin);
  const std::uint32_t flags = range.attributes.flags;
  unsigned permissions = sim::kRead;
  if (host.writable && (flags & (KFD_IOCTL_SVM_FLAG_GPU_RO | KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY)) == 0) permissions |= sim::kWrite;
  if ((flags & KFD_IOCTL_SVM_FLAG_GPU_EXEC) != 0) permissions |= sim::kExecute;
  sim::Region region;
  region.address = begin;
  region.size = range.end - begin;
  region.host = reinterpret_cast<std::byte*>(begin);
  region.permissions = static_cast<std::uint8_t>(permissions);
  region.kind = (flags & KFD_IOCTL_SVM_FLAG_COHERENT) != 0 ? sim::MemoryKind::host_fine : sim::MemoryKind::host_coarse;
  region.label = "shared virtual memory";
  const std::uint64_t before = range.mapped;
  for (const auto& gpu : gpus_) { // the part that can fail
    const std::uint64_t bit = 1ull << gpu->index;
    if ((wanted & ~before & bit) == 0) continue;
    DeviceCore* core = gpu->core();
    const auto done = core != nullptr ? core->map(region) : Result<void>{};
    if (core == nullptr || !done) {
      unmap(begin, range, ~before);
      return core == nullptr ? refuse(-ENODEV, "the software GPU could not be started") : refuse(-EADDRINUSE, "{}", done.error().detail);
    }
    if (range.mapped == 0) user_ranges_.add(begin, range.end);
    range.mapped |= bit;
  }
  for (const auto& gpu : gpus_) {
    if (((before & wanted) >> gpu->index & 1) == 0) continue;
    if (auto done = gpu->core()->change(begin, region.permissions, region.kind); !done) log::error(done.error().message());
  }
  unmap(begin, range, before & ~wanted);
  return 0;
}

// Afterwards no range reaches over `at`. Both parts stay mapped.
void Svm::split(std::uint64_t at) {
  auto it = ranges_.upper_bound(at);
  if (it == ranges_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Range upper = it->second;
  if (upper.mapped != 0) {
    user_ranges_.add(it->first, at);
    user_ranges_.add(at, upper.end);
    user_ranges_.remove(it->first, upper.end);
  }
  for (const auto& gpu : gpus_) {
    if ((upper.mapped >> gpu->index & 1) != 0) gpu->core()->split(at);
  }
  it->second.end = at;
  ranges_.emplace(at, upper);
}

// Rings and queue structures may lie where a GPU loses access; nothing of the program's memory is watched there afterwards.
void Svm::stop_queues(Queues::Standstill& queues, std::uint64_t begin, std::uint64_t end,
                      std::span<const kfd_ioctl_svm_attribute> attributes) const {
  struct Lost {
    std::uint64_t begin, end, gpus;
  };
  std::vector<Lost> lost;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [at, range] : ranges_) {
      if (at >= end) break;
      Attributes after = range.attributes;
      apply(after, attributes);
      const std::uint64_t gpus = range.mapped & ~(after.access | after.in_place);
      if (range.end > begin && gpus != 0) lost.push_back({std::max(at, begin), std::min(range.end, end), gpus});
    }
  }
  for (const Lost& part : lost) {
    for (const auto& gpu : gpus_) {
      if ((part.gpus >> gpu->index & 1) != 0) queues.stop_overlapping(gpu->index, part.begin, part.end);
    }
  }
}

int Svm::set(std::uint64_t begin, std::uint64_t size, std::span<const kfd_ioctl_svm_attribute> attributes) {
  if (const int error = check_range(begin, size); error != 0) return error;
  if (const int error = check_set(attributes); error != 0) return error;
  const std::uint64_t end = begin + size;
  if (!host_range(begin, size).mapped) return refuse(-EFAULT, "host memory of {} bytes at {:#x} is not mapped", size, begin);
  Queues::Standstill queues{queues_}; // ranges change only under one
  stop_queues(queues, begin, end, attributes);
  const std::lock_guard lock{mutex_};
  split(begin);
  split(end);
  for (std::uint64_t at = begin; at < end;) {
    auto it = ranges_.lower_bound(at);
    if (it == ranges_.end() || it->first != at) { // a hole
      const std::uint64_t stop = it == ranges_.end() ? end : std::min(end, it->first);
      it = ranges_.emplace(at, Range{stop, {}, 0}).first;
    }
    Range& range = it->second;
    const Attributes before = range.attributes;
    apply(range.attributes, attributes);
    const bool access_changed = before.flags != range.attributes.flags ||
                                ((before.access | before.in_place) != (range.attributes.access | range.attributes.in_place));
    if (access_changed) {
      if (const int error = map(at, range); error != 0) {
        range.attributes = before;
        return error;
      }
    }
    at = range.end;
  }
  return 0;
}

int Svm::get(std::uint64_t begin, std::uint64_t size, std::span<kfd_ioctl_svm_attribute> attributes) const {
  if (const int error = check_range(begin, size); error != 0) return error;
  if (const int error = check_get(attributes); error != 0) return error;
  if (!host_range(begin, size).mapped) return refuse(-EFAULT, "host memory of {} bytes at {:#x} is not mapped", size, begin);
  const std::uint64_t end = begin + size;
  std::vector<Attributes> parts;
  const std::lock_guard lock{mutex_};
  std::uint64_t at = begin;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
  for (; at < end; ++it) {
    if (it == ranges_.end() || it->first > at) parts.push_back({}); // a part that nobody has spoken of
    if (it == ranges_.end() || it->first >= end) break;
    parts.push_back(it->second.attributes);
    at = it->second.end;
  }
  Attributes all = parts.front();
  std::uint32_t set_somewhere = 0;
  for (const Attributes& p : parts) {
    if (p.preferred != all.preferred) all.preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    if (p.prefetch != all.prefetch) all.prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    set_somewhere |= p.flags;
    all.flags &= p.flags;
    all.granularity = std::min(all.granularity, p.granularity);
    // Access of one kind somewhere and of the other elsewhere is access; in place only if all is.
    const std::uint64_t both = (all.access | all.in_place) & (p.access | p.in_place);
    all.in_place &= p.in_place;
    all.access = both & ~all.in_place;
  }
  for (auto& a : attributes) {
    switch (a.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC: a.value = all.preferred; break;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC: a.value = all.prefetch; break;
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS: a.value = all.flags; break;
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS: a.value = ~set_somewhere; break;
    case KFD_IOCTL_SVM_ATTR_GRANULARITY: a.value = all.granularity; break;
    default: {
      const std::uint64_t bit = 1ull << gpu_of(a.value)->index;
      a.type = (all.in_place & bit) != 0 ? KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE
               : (all.access & bit) != 0 ? KFD_IOCTL_SVM_ATTR_ACCESS
                                         : KFD_IOCTL_SVM_ATTR_NO_ACCESS;
      break;
    }
    }
  }
  return 0;
}

void Svm::host_range_gone(std::uint64_t begin, std::uint64_t end) {
  begin &= ~(kPage - 1);
  end = round_to_page(end);
  Queues::Standstill queues{queues_};
  std::uint64_t mapped = 0;
  {
    const std::lock_guard lock{mutex_};
    split(begin);
    split(end);
    for (auto it = ranges_.lower_bound(begin); it != ranges_.end() && it->first < end;) {
      mapped |= it->second.mapped;
      unmap(it->first, it->second, it->second.mapped);
      it = ranges_.erase(it);
    }
  }
  // Rings and queue structures may lie there too.
  for (const auto& gpu : gpus_) {
    if ((mapped >> gpu->index & 1) != 0) queues.stop_overlapping(gpu->index, begin, end);
  }
}

} // namespace aql::vkfd
