#pragma once
// Shared virtual memory: ranges of the program's own memory with attributes; a GPU that has access sees them at the same address.
// Without XNACK, access is what the attributes say, at once.
// Thread safety: all members may be called from any thread.

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "vkfd/gpu_context.hpp"
#include "vkfd/kfd_abi.hpp"
#include "vkfd/queues.hpp"
#include "vkfd/user_ranges.hpp"

namespace aql::vkfd {

class Svm {
public:
  Svm(std::span<const std::unique_ptr<GpuContext>> gpus, UserRanges& user_ranges, Queues& queues)
      : gpus_(gpus), user_ranges_(user_ranges), queues_(queues) {}

  // 0 or -errno. Ranges that had other attributes are split. Queues of a GPU that loses access leave the device.
  int set(std::uint64_t begin, std::uint64_t size, std::span<const kfd_ioctl_svm_attribute> attributes);
  // The intersection of what the range's parts have.
  int get(std::uint64_t begin, std::uint64_t size, std::span<kfd_ioctl_svm_attribute> attributes) const;
  void host_range_gone(std::uint64_t begin, std::uint64_t end);

private:
  struct Attributes {
    std::uint32_t preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED, prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
    std::uint32_t flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT;
    std::uint32_t granularity = 9;
    std::uint64_t access = 0, in_place = 0; // GPUs, bit by index
    bool operator==(const Attributes&) const = default;
  };
  struct Range {
    std::uint64_t end = 0;
    Attributes attributes;
    std::uint64_t mapped = 0; // GPUs
  };
  [[nodiscard]] const GpuContext* gpu_of(std::uint32_t id) const;
  int check_set(std::span<const kfd_ioctl_svm_attribute> attributes) const;
  int check_get(std::span<const kfd_ioctl_svm_attribute> attributes) const;
  void apply(Attributes& to, std::span<const kfd_ioctl_svm_attribute> attributes) const;
  void stop_queues(Queues::Standstill& queues, std::uint64_t begin, std::uint64_t end,
                   std::span<const kfd_ioctl_svm_attribute> attributes) const;
  void split(std::uint64_t at);
  // Brings what the GPUs see of a range to what its attributes say. 0, or -errno and nothing has changed.
  int map(std::uint64_t begin, Range& range);
  void unmap(std::uint64_t begin, Range& range, std::uint64_t gpus);

  const std::span<const std::unique_ptr<GpuContext>> gpus_;
  UserRanges& user_ranges_;
  Queues& queues_;
  mutable std::mutex mutex_; // after a Standstill
  std::map<std::uint64_t, Range> ranges_; // by first address; none overlap
};

} // namespace aql::vkfd
