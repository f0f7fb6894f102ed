// What the packet processor costs: the round trip of an empty kernel beside the ping-pong of one cache line between two cores
// (the least that any two-thread hand-off can take), the processor's own work for a packet, and for a wave.

#include <atomic>
#include <cstring>
#include <thread>

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <aql/abi/kernel_descriptor.hpp>
#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/abi/signal.hpp>

#include "sim/cp/gpu.hpp"

namespace {

using namespace aql;
using namespace aql::sim;

constexpr std::size_t kRing = 1024;

// A device with one queue, one signal and one kernel, all in one mapping.
struct Rig {
  explicit Rig(GpuOptions options, std::initializer_list<std::uint32_t> code = {0xBF810000u /* s_endpgm */})
      : gpu(std::move(*Gpu::create(*find_profile("gfx942"), options))) {
    base =
        static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    (void)gpu->memory().map({.address = reinterpret_cast<std::uint64_t>(base),
                             .size = kBytes,
                             .host = base,
                             .permissions = kRead | kWrite | kExecute,
                             .kind = MemoryKind::host_fine,
                             .id = 0,
                             .label = "rig"});
    queue = reinterpret_cast<abi::AmdQueue*>(base);
    doorbell = reinterpret_cast<std::uint64_t*>(base + 4096);
    signal = reinterpret_cast<abi::AmdSignal*>(base + 8192);
    ring = reinterpret_cast<abi::Slot*>(base + 16384);
    auto* descriptor = reinterpret_cast<abi::KernelDescriptor*>(base + 12288);
    descriptor->kernel_code_entry_byte_offset = 256;
    descriptor->compute_pgm_rsrc1 =
        abi::Rsrc1FloatDenorm32::encode<std::uint32_t>(3) | abi::Rsrc1FloatDenorm16_64::encode<std::uint32_t>(3);
    descriptor->compute_pgm_rsrc3 = abi::Rsrc3AccumOffset::encode<std::uint32_t>(1);
    std::memcpy(base + 12288 + 256, code.begin(), code.size() * 4);
    for (std::size_t i = 0; i < kRing; ++i) ring[i].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);
    queue->hsa_queue.base_address = reinterpret_cast<std::uint64_t>(ring);
    queue->hsa_queue.size = kRing;
    signal->kind = static_cast<std::int64_t>(abi::SignalKind::user);
    QueueConfig config;
    config.amd_queue = queue;
    config.queue_address = reinterpret_cast<std::uint64_t>(queue);
    config.doorbell = doorbell;
    id = *gpu->create_queue(config);
  }
  ~Rig() {
    (void)gpu->destroy_queue(id);
    gpu.reset();
    munmap(base, kBytes);
  }

  void submit(std::uint32_t grid, std::uint16_t group, bool with_signal) {
    abi::KernelDispatchPacket p{};
    p.setup = 1;
    p.workgroup_size_x = group;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = grid;
    p.grid_size_y = p.grid_size_z = 1;
    p.kernel_object = reinterpret_cast<std::uint64_t>(base + 12288);
    p.completion_signal = with_signal ? reinterpret_cast<std::uint64_t>(signal) : 0;
    abi::Slot copy;
    std::memcpy(&copy, &p, 64);
    abi::Slot& slot = ring[index % kRing];
    std::memcpy(&slot.word[1], &copy.word[1], 60);
    std::atomic_ref{slot.word[0]}.store(static_cast<std::uint32_t>(abi::PacketType::kernel_dispatch) | 1u << 8 | 1u << 16,
                                        std::memory_order_release);
    std::atomic_ref{queue->write_dispatch_id}.store(index + 1, std::memory_order_release);
    std::atomic_ref{*doorbell}.store(index, std::memory_order_release);
    Gpu::notify(gpu.get());
    ++index;
  }
  void set_signal(std::int64_t value) { std::atomic_ref{signal->value}.store(value, std::memory_order_relaxed); }
  void wait() {
    while (std::atomic_ref{signal->value}.load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }

  static constexpr std::size_t kBytes = 16384 + kRing * 64;
  std::unique_ptr<Gpu> gpu;
  std::byte* base;
  abi::AmdQueue* queue;
  std::uint64_t* doorbell;
  abi::AmdSignal* signal;
  abi::Slot* ring;
  QueueId id = 0;
  std::uint64_t index = 0;
};

void ping_pong(benchmark::State& state) {
  struct alignas(64) Line {
    std::atomic<std::uint64_t> value{0};
  } line;
  std::atomic<bool> quit{false};
  std::thread other{[&] {
    for (std::uint64_t n = 1; !quit.load(std::memory_order_relaxed);) {
      if (line.value.load(std::memory_order_acquire) == n) {
        line.value.store(n + 1, std::memory_order_release);
        n += 2;
      }
    }
  }};
  std::uint64_t n = 1;
  for (auto _ : state) {
    line.value.store(n, std::memory_order_release);
    while (line.value.load(std::memory_order_acquire) != n + 1) {
    }
    n += 2;
  }
  quit = true;
  other.join();
}
BENCHMARK(ping_pong);

void round_trip(benchmark::State& state) {
  Rig rig{{.workers = 1}};
  for (auto _ : state) {
    rig.set_signal(1);
    rig.submit(64, 64, true);
    rig.wait();
  }
}
BENCHMARK(round_trip);

// Submit and process on one thread: no cache line moves, all that is left is instructions.
void processor_work(benchmark::State& state) {
  Rig rig{{.hand_stepped = true}};
  const bool with_signal = state.range(0) != 0;
  for (auto _ : state) {
    rig.set_signal(1);
    rig.submit(64, 64, with_signal);
    rig.gpu->step();
  }
}
BENCHMARK(processor_work)->Arg(0)->Arg(1);

// A large grid of empty kernels; items are waves.
void waves(benchmark::State& state) {
  Rig rig{{.workers = static_cast<unsigned>(state.range(0))}};
  const auto group = static_cast<std::uint16_t>(state.range(1));
  constexpr std::uint32_t kWaves = 65536;
  for (auto _ : state) {
    rig.set_signal(1);
    rig.submit(kWaves * 64, group, true);
    rig.wait();
  }
  state.SetItemsProcessed(state.iterations() * kWaves);
}
BENCHMARK(waves)->Args({1, 64})->Args({1, 256})->Args({2, 64})->Args({2, 256})->UseRealTime();

} // namespace

BENCHMARK_MAIN();
