#pragma once
// A Gpu over plain memory for tests of the packet processor: code, signals, a queue, packets by hand.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>

#include <aql/abi/kernel_descriptor.hpp>
#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/abi/signal.hpp>

#include "sim/cp/gpu.hpp"
#include "support/catch.hpp"

namespace cp_test {

using namespace aql;
using namespace aql::sim;

// Pages that the device sees at their host address; the page after them is not mapped for it.
class Memory {
public:
  Memory(Gpu& gpu, std::size_t bytes, std::uint8_t permissions, std::string label, MemoryKind kind = MemoryKind::host_fine)
      : gpu_(gpu), bytes_((bytes + 4095) / 4096 * 4096) {
    base_ = mmap(nullptr, bytes_ + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(gpu.memory().map({.address = address(),
                              .size = bytes_,
                              .host = host<std::byte>(),
                              .permissions = permissions,
                              .kind = kind,
                              .id = 0,
                              .label = std::move(label)}));
  }
  ~Memory() {
    (void)gpu_.memory().unmap(address());
    munmap(base_, bytes_ + 4096);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(base_); }
  template <class T>
  [[nodiscard]] T* host(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(base_) + offset);
  }

private:
  Gpu& gpu_;
  std::size_t bytes_;
  void* base_ = nullptr;
};

struct KernelOptions {
  std::uint32_t vgprs = 8;
  std::uint32_t rsrc2 = abi::Rsrc2UserSgprCount::encode<std::uint32_t>(2) | abi::Rsrc2WorkgroupIdX::encode<std::uint32_t>(1);
  std::uint16_t properties = abi::PropKernargSegmentPtr::encode<std::uint16_t>(1);
  std::uint32_t accum_offset = 0; // 0: all registers are ArchVGPRs
  std::uint16_t preload = 0;
};

inline std::uint32_t rsrc1_of(std::uint32_t vgprs) {
  return abi::Rsrc1VgprGranules::encode<std::uint32_t>((vgprs + 7) / 8 - 1) | abi::Rsrc1FloatDenorm32::encode<std::uint32_t>(3) |
         abi::Rsrc1FloatDenorm16_64::encode<std::uint32_t>(3) | abi::Rsrc1Dx10Clamp::encode<std::uint32_t>(1) |
         abi::Rsrc1IeeeMode::encode<std::uint32_t>(1);
}

// A descriptor and, 256 bytes after it, the code.
class Kernel {
public:
  Kernel(Gpu& gpu, const std::vector<std::uint32_t>& words, KernelOptions options = {})
      : memory_(gpu, 256 + words.size() * 4 + 256, kRead | kExecute, "kernel code", MemoryKind::executable) {
    auto& d = descriptor();
    d.kernel_code_entry_byte_offset = 256;
    d.compute_pgm_rsrc1 = rsrc1_of(options.vgprs);
    d.compute_pgm_rsrc2 = options.rsrc2;
    const std::uint32_t total = (options.vgprs + 7) / 8 * 8;
    d.compute_pgm_rsrc3 =
        abi::Rsrc3AccumOffset::encode<std::uint32_t>((options.accum_offset == 0 ? total : options.accum_offset) / 4 - 1);
    d.kernel_code_properties = options.properties;
    d.kernarg_preload = options.preload;
    std::memcpy(memory_.host<std::uint32_t>(256), words.data(), words.size() * 4);
  }
  [[nodiscard]] abi::KernelDescriptor& descriptor() { return *memory_.host<abi::KernelDescriptor>(); }
  [[nodiscard]] std::uint64_t object() const { return memory_.address(); }
  [[nodiscard]] std::uint64_t entry() const { return memory_.address() + 256; }

private:
  Memory memory_;
};

class Signal {
public:
  explicit Signal(Gpu& gpu, std::int64_t value = 1) : memory_(gpu, sizeof(abi::AmdSignal), kRead | kWrite, "signal") {
    object().kind = 1;
    store(value);
  }
  [[nodiscard]] abi::AmdSignal& object() { return *memory_.host<abi::AmdSignal>(); }
  [[nodiscard]] std::uint64_t handle() const { return memory_.address(); }
  [[nodiscard]] std::int64_t load() { return std::atomic_ref{object().value}.load(std::memory_order_acquire); }
  void store(std::int64_t value) { std::atomic_ref{object().value}.store(value, std::memory_order_release); }

private:
  Memory memory_;
};

struct QueueOptions {
  std::uint32_t packets = 64;
  abi::QueueType type = abi::QueueType::multi;
  std::uint64_t first_index = 0;
  bool external_scratch = false;
  std::int32_t priority = 0;
  std::function<Errc(std::uint16_t, const std::uint64_t*, std::uint64_t)> agent_function = {};
  std::function<void(const QueueFault&)> on_error = {};
  std::uint64_t cu_mask = 0;
};

class Queue {
public:
  explicit Queue(Gpu& gpu, QueueOptions options = {})
      : gpu_(gpu), memory_(gpu, 8192 + options.packets * 64, kRead | kWrite, "queue"), inactive_(gpu, 0),
        mask_(options.packets - 1) {
    amd().hsa_queue.type = static_cast<std::uint32_t>(options.type);
    amd().hsa_queue.base_address = memory_.address() + 8192;
    amd().hsa_queue.size = options.packets;
    amd().write_dispatch_id = amd().read_dispatch_id = options.first_index;
    amd().queue_inactive_signal = inactive_.handle();
    for (std::uint32_t i = 0; i < options.packets; ++i) slot(i).word[0] = 1;
    config_.amd_queue = &amd();
    config_.queue_address = memory_.address();
    config_.doorbell = memory_.host<std::uint64_t>(4096);
    config_.external_scratch = options.external_scratch;
    config_.priority = options.priority;
    config_.agent_function = options.agent_function;
    config_.cu_mask[0] = options.cu_mask;
    config_.on_error = [this, extra = options.on_error](const QueueFault& fault) {
      faults.push_back(fault);
      fault_count.fetch_add(1, std::memory_order_release);
      if (extra) extra(fault);
    };
    auto id = gpu.create_queue(config_);
    REQUIRE(id);
    id_ = *id;
  }
  ~Queue() { destroy(); }
  void destroy() {
    if (id_ != 0) CHECK(gpu_.destroy_queue(id_));
    id_ = 0;
  }

  [[nodiscard]] abi::AmdQueue& amd() { return *memory_.host<abi::AmdQueue>(); }
  [[nodiscard]] abi::Slot& slot(std::uint64_t index) { return memory_.host<abi::Slot>(8192)[index & mask_]; }
  [[nodiscard]] std::uint32_t header(std::uint64_t index) {
    return std::atomic_ref{slot(index).word[0]}.load(std::memory_order_acquire) & 0xffffu;
  }
  [[nodiscard]] std::uint64_t read_index() { return std::atomic_ref{amd().read_dispatch_id}.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t write_index() { return std::atomic_ref{amd().write_dispatch_id}.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t doorbell() {
    return std::atomic_ref{*memory_.host<std::uint64_t>(4096)}.load(std::memory_order_acquire);
  }
  [[nodiscard]] QueueId id() const { return id_; }
  [[nodiscard]] std::uint64_t address() const { return memory_.address(); }
  [[nodiscard]] Signal& inactive() { return inactive_; }
  [[nodiscard]] QueueState state() { return *gpu_.queue_state(id_); }

  // Body, then the first word with release.
  template <class Packet>
  void write(std::uint64_t index, const Packet& packet) {
    static_assert(sizeof(Packet) == 64);
    abi::Slot copy;
    std::memcpy(&copy, &packet, 64);
    std::memcpy(&slot(index).word[1], &copy.word[1], 60);
    std::atomic_ref{slot(index).word[0]}.store(copy.word[0], std::memory_order_release);
  }
  void reserve(std::uint64_t count) { std::atomic_ref{amd().write_dispatch_id}.fetch_add(count, std::memory_order_release); }
  void ring(std::uint64_t index) {
    std::atomic_ref{*memory_.host<std::uint64_t>(4096)}.store(index, std::memory_order_release);
    Gpu::notify(&gpu_);
  }
  // One packet, reserved, written, rung. Returns its index.
  template <class Packet>
  std::uint64_t submit(const Packet& packet) {
    const std::uint64_t index = write_index();
    write(index, packet);
    reserve(1);
    ring(index);
    return index;
  }

  std::vector<QueueFault> faults; // read after fault_count says so
  std::atomic<int> fault_count{0};

private:
  Gpu& gpu_;
  Memory memory_;
  Signal inactive_;
  std::uint64_t mask_;
  QueueConfig config_;
  QueueId id_ = 0;
};

inline constexpr std::uint16_t kBarrierBit = 1u << 8;
inline constexpr std::uint32_t kEndpgm = 0xBF810000u;

inline abi::KernelDispatchPacket dispatch(std::uint64_t kernel_object, std::uint64_t signal = 0, std::uint32_t grid = 64,
                                          std::uint16_t group = 64) {
  abi::KernelDispatchPacket p{};
  p.header = static_cast<std::uint16_t>(abi::PacketType::kernel_dispatch);
  p.setup = 1;
  p.workgroup_size_x = group;
  p.workgroup_size_y = p.workgroup_size_z = 1;
  p.grid_size_x = grid;
  p.grid_size_y = p.grid_size_z = 1;
  p.kernel_object = kernel_object;
  p.completion_signal = signal;
  return p;
}

inline abi::BarrierPacket barrier(abi::PacketType type, std::uint64_t signal = 0) {
  abi::BarrierPacket p{};
  p.header = static_cast<std::uint16_t>(type);
  p.completion_signal = signal;
  return p;
}

inline std::unique_ptr<Gpu> make_gpu(GpuOptions options = {.hand_stepped = true}, const char* target = "gfx942") {
  auto gpu = Gpu::create(*find_profile(target), options);
  REQUIRE(gpu);
  return std::move(*gpu);
}

} // namespace cp_test
