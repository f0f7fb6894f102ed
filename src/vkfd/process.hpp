#pragma once
// What the virtual KFD keeps for one process: its GPUs, memory, events and queues. Made when a device file is first opened; a
// forked child starts without one, as the kernel's would, and the descriptors it inherited answer EBADF.
// Thread safety: members guard themselves.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vkfd/backing.hpp"
#include "vkfd/events.hpp"
#include "vkfd/gpu_context.hpp"
#include "vkfd/memory.hpp"
#include "vkfd/queues.hpp"
#include "vkfd/svm.hpp"

namespace aql::vkfd {

struct Config {
  std::vector<GpuIdentity> gpus;
  std::string root;  // of the redirected /sys and /proc files
  std::string trace; // file, empty: none
};
// From AQL_VKFD_DEVICES (comma-separated targets or products, default gfx90a), AQL_VKFD_ROOT, AQL_VKFD_TRACE.
[[nodiscard]] Result<Config> config_from_environment();
[[nodiscard]] Result<std::vector<GpuIdentity>> parse_devices(std::string_view text);

class Process {
public:
  static Result<std::unique_ptr<Process>> create(std::span<const GpuIdentity> identities);

  // Only tests destroy one: a program's device lives until it ends. Devices are stopped before anything that they reach or call
  // goes.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] GpuContext* gpu(std::uint32_t gpu_id) const;
  [[nodiscard]] std::span<const std::unique_ptr<GpuContext>> gpus() const noexcept { return gpus_; }
  [[nodiscard]] const BackingFile& kfd_file() const noexcept { return kfd_; }
  [[nodiscard]] Memory& memory() noexcept { return *memory_; }
  [[nodiscard]] Events& events() noexcept { return events_; }
  [[nodiscard]] Queues& queues() noexcept { return *queues_; }
  [[nodiscard]] Svm& svm() noexcept { return *svm_; }
  // The program gives back, replaces or protects host memory. Cheap if no GPU knows it.
  void host_range_gone(std::uint64_t begin, std::uint64_t end);

  // Offsets of /dev/kfd. The doorbells of a GPU: doorbell_offset().
  static constexpr std::uint64_t kEventPageOffset = 0x10000;
  static constexpr std::uint64_t kEventPageBytes = KFD_SIGNAL_EVENT_LIMIT * 8;
  static constexpr std::uint64_t kRegistersOffset = 0x100000; // one page a GPU
  [[nodiscard]] static std::uint64_t registers_offset(std::uint32_t gpu) noexcept { return kRegistersOffset + gpu * kPage; }
  [[nodiscard]] std::byte* registers(std::uint32_t gpu) const noexcept { return registers_.get() + gpu * kPage; }
  [[nodiscard]] std::uint64_t* own_event_page() const noexcept { return reinterpret_cast<std::uint64_t*>(event_page_.get()); }
  // May the program map these offsets of /dev/kfd?
  [[nodiscard]] bool mappable(std::uint64_t offset, std::uint64_t size) const noexcept;

private:
  Process() = default;
  std::vector<std::unique_ptr<GpuContext>> gpus_;
  BackingFile kfd_;
  View registers_, event_page_;
  Events events_;
  std::unique_ptr<Queues> queues_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Svm> svm_;
};

} // namespace aql::vkfd
