#pragma once
// Buffer objects: what ALLOC_MEMORY_OF_GPU makes and MAP_MEMORY_TO_GPU shows to GPUs.
// Thread safety: all members may be called from any thread. Lock order: Queues, Memory, a device's own locks, UserRanges.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "vkfd/gpu_context.hpp"
#include "vkfd/kfd_abi.hpp"
#include "vkfd/queues.hpp"
#include "vkfd/user_ranges.hpp"

namespace aql::vkfd {

struct Bo {
  std::uint64_t handle = 0;
  std::uint32_t gpu = 0; // index
  std::uint32_t flags = 0;
  std::uint64_t va = 0, size = 0;
  std::uint64_t offset = 0;             // in the GPU's memory file; 0: none
  std::byte* host = nullptr;            // in our view, or the program's memory
  std::shared_ptr<const View> view;     // null: memory that others own
  std::uint64_t mapped = 0;             // GPUs, bit by index
  bool kept = false;                    // its pages are never used again: others may go on with them
  std::shared_ptr<const void> imported; // keeps a foreign memory file open
  int imported_fd = -1;
  std::uint64_t imported_offset = 0;
};

class Memory {
public:
  Memory(std::span<const std::unique_ptr<GpuContext>> gpus, Queues& queues) : gpus_(gpus), queues_(queues) {}

  // All: 0 or -errno.
  int allocate(kfd_ioctl_alloc_memory_of_gpu_args& args, std::uint64_t fixed_mmap_offset, std::byte* fixed_host);
  int free(std::uint64_t handle);
  int map(std::uint64_t handle, std::span<const std::uint32_t> gpu_ids, std::uint32_t& done);
  int unmap(std::uint64_t handle, std::span<const std::uint32_t> gpu_ids, std::uint32_t& done);
  // Puts a buffer that was made elsewhere under a handle of this process. It can be mapped at `mmap_offset` of the render node.
  std::uint64_t adopt(Bo bo, std::uint64_t& mmap_offset);
  // The buffer, whose pages are from now on never used for another one, or nothing: no such buffer of the device's memory.
  [[nodiscard]] std::optional<Bo> keep_pages(std::uint64_t handle);

  [[nodiscard]] std::optional<Bo> find(std::uint64_t handle) const;
  // What a program maps that maps these offsets of a render node, if they lie in one buffer.
  struct Target {
    int fd = -1; // -1: the node's own memory file
    std::uint64_t offset = 0;
  };
  [[nodiscard]] std::optional<Target> mmap_target(std::uint32_t gpu, std::uint64_t offset, std::uint64_t size) const;
  [[nodiscard]] std::uint64_t available(const GpuContext& gpu) const;

  // The program gives back or replaces host memory that GPUs may know (munmap and its like).
  void host_range_gone(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] UserRanges& user_ranges() noexcept { return user_ranges_; }

private:
  [[nodiscard]] GpuContext* gpu_of(std::uint32_t gpu_id) const;
  int map_on(Bo& bo, GpuContext& gpu);
  void unmap_on(Bo& bo, GpuContext& gpu);
  std::uint64_t new_handle(std::uint32_t gpu_id);

  const std::span<const std::unique_ptr<GpuContext>> gpus_;
  Queues& queues_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Bo> bos_;
  std::uint64_t next_ = 1;
  // Imported buffers lie in other files; these offsets stand for them.
  static constexpr std::uint64_t kImportedOffsets = 1ull << 45;
  std::uint64_t next_imported_ = kImportedOffsets;
  UserRanges user_ranges_;
};

} // namespace aql::vkfd
