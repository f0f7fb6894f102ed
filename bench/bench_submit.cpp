// What it costs the producer to submit one dispatch, beside a hand-written floor in the same run: a fetch_add on the shared write
// index, the room check with a cached read index, 64 bytes of body, the header with release, the doorbell.
// The table of ratios at the end is the result: the median CPU time of the producing thread over interleaved repetitions of each pair.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <aql/ring.hpp>

namespace {
using namespace aql;

constexpr std::uint64_t kSlots = 1024;

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// A queue in plain memory. Nothing runs; free_all() or a consumer thread gives slots back.
struct Memory {
  std::unique_ptr<abi::Slot[]> slots{new abi::Slot[kSlots]};
  std::unique_ptr<abi::AmdQueue> queue = std::make_unique<abi::AmdQueue>();
  alignas(64) std::uint64_t doorbell = ~0ULL;
  std::atomic<bool> stop{false};
  std::thread consumer;

  explicit Memory(bool live) {
    std::memset(slots.get(), 0, kSlots * sizeof(abi::Slot));
    for (std::uint64_t i = 0; i < kSlots; ++i) slots[i].word[0] = 1;
    if (live) consumer = std::thread{[this] { consume(); }};
  }
  ~Memory() {
    stop = true;
    if (consumer.joinable()) consumer.join();
  }
  void consume() {
    pin(1);
    std::uint64_t read = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      abi::Slot& slot = slots[read & (kSlots - 1)];
      std::atomic_ref word{slot.word[0]};
      const std::uint32_t first = word.load(std::memory_order_acquire);
      if ((first & 0xFF) == 1) {
        __builtin_ia32_pause();
        continue;
      }
      std::uint32_t sum = 0;
      for (unsigned i = 1; i < 16; ++i) sum += slot.word[i];
      benchmark::DoNotOptimize(sum);
      word.store(1, std::memory_order_relaxed);
      std::atomic_ref{queue->read_dispatch_id}.store(++read, std::memory_order_release);
    }
  }
  void free_all() { std::atomic_ref{queue->read_dispatch_id}.store(std::atomic_ref{queue->write_dispatch_id}.load(), std::memory_order_release); }
  detail::QueueView view() {
    detail::QueueView v;
    v.ring = slots.get();
    v.mask = kSlots - 1;
    v.write_index = &queue->write_dispatch_id;
    v.read_index = &queue->read_dispatch_id;
    v.doorbell = &doorbell;
    return v;
  }
};

// The floor. `count` packets with one reservation and one doorbell.
struct Floor {
  abi::Slot* slots;
  std::uint64_t* write;
  std::uint64_t* read;
  std::uint64_t* bell;
  std::uint64_t cached_read = 0;
  explicit Floor(Memory& m) : slots(m.slots.get()), write(&m.queue->write_dispatch_id), read(&m.queue->read_dispatch_id), bell(&m.doorbell) {}

  void submit(const DispatchPacket& p, unsigned count) {
    const std::uint64_t first = std::atomic_ref{*write}.fetch_add(count, std::memory_order_relaxed);
    while (first + count - cached_read > kSlots) cached_read = std::atomic_ref{*read}.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) {
      auto* packet = reinterpret_cast<abi::KernelDispatchPacket*>(slots + ((first + i) & (kSlots - 1)));
      packet->workgroup_size_x = static_cast<std::uint16_t>(p.group.x);
      packet->workgroup_size_y = static_cast<std::uint16_t>(p.group.y);
      packet->workgroup_size_z = static_cast<std::uint16_t>(p.group.z);
      packet->reserved0 = 0;
      packet->grid_size_x = p.grid.x;
      packet->grid_size_y = p.grid.y;
      packet->grid_size_z = p.grid.z;
      packet->private_segment_size = p.private_bytes;
      packet->group_segment_size = p.group_bytes;
      packet->kernel_object = p.kernel_object;
      packet->kernarg_address = p.kernarg_address;
      packet->reserved2 = 0;
      packet->completion_signal = p.completion.value;
      const std::uint32_t header = 2u | static_cast<std::uint32_t>(p.barrier) << 8 | static_cast<std::uint32_t>(p.acquire) << 9 |
                                   static_cast<std::uint32_t>(p.release) << 11 | p.dimensions << 16;
      std::atomic_ref{*reinterpret_cast<std::uint32_t*>(packet)}.store(header, std::memory_order_release);
    }
    std::atomic_ref{*bell}.store(first + count - 1, std::memory_order_release);
  }
};

DispatchPacket packet() {
  return {.grid = {1024, 1, 1}, .group = {256, 1, 1}, .kernel_object = 0x1000, .kernarg_address = 0x2000, .dimensions = 1, .barrier = Barrier::on};
}

template <class Submit>
void loop(benchmark::State& state, Memory& memory, bool live, unsigned count, Submit submit) {
  pin(0);
  DispatchPacket p = packet();
  unsigned since = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(p);
    submit(p);
    if (!live && (since += count) >= kSlots) {
      since = 0;
      memory.free_all();
    }
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void floor_loop(benchmark::State& state, bool live, unsigned count) {
  Memory memory{live};
  Floor floor{memory};
  loop(state, memory, live, count, [&](const DispatchPacket& p) { floor.submit(p, count); });
}

void ring_loop(benchmark::State& state, bool live, unsigned count) {
  Memory memory{live};
  Ring ring{memory.view()};
  if (count == 1) {
    loop(state, memory, live, count, [&](const DispatchPacket& p) {
      while (!ring.try_push(p)) {}
    });
    return;
  }
  loop(state, memory, live, count, [&](const DispatchPacket& p) {
    std::optional<std::uint64_t> first;
    while (!(first = ring.try_reserve(count))) {}
    for (unsigned i = 0; i < count; ++i) ring.publish(*first + i, p.emit(ring.slot(*first + i)));
    ring.commit(*first, count);
  });
}

// Collects medians and prints each pair's ratio.
class Ratios : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name == "median") medians_[run.run_name.function_name] = run.GetAdjustedCPUTime();
    ConsoleReporter::ReportRuns(runs);
  }
  void print(const std::string& what, const std::string& ours, const std::string& floor, double target) const {
    const auto a = medians_.find(ours), b = medians_.find(floor);
    if (a == medians_.end() || b == medians_.end()) return;
    std::printf("%-44s %8.2f ns / %8.2f ns = %5.2f x floor (target <= %.2f)\n", what.c_str(), a->second, b->second, a->second / b->second, target);
  }

private:
  std::map<std::string, double> medians_;
};

} // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, auto function, bool live, unsigned count) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { function(state, live, count); })
        ->MinTime(0.05)
        ->Repetitions(9)
        ->ReportAggregatesOnly(true);
  };
  add("floor", floor_loop, false, 1);
  add("ring", ring_loop, false, 1);
  add("floor_live", floor_loop, true, 1);
  add("ring_live", ring_loop, true, 1);
  add("floor_batch64", floor_loop, false, 64);
  add("ring_batch64", ring_loop, false, 64);
  std::vector<char*> args(argv, argv + argc);
  static char interleave[] = "--benchmark_enable_random_interleaving=true";
  args.insert(args.begin() + 1, interleave);
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  Ratios ratios;
  benchmark::RunSpecifiedBenchmarks(&ratios);
  std::printf("\n");
  ratios.print("one dispatch, Ring, multi producer", "ring", "floor", 1.10);
  ratios.print("the same with a live consumer", "ring_live", "floor_live", 1.30);
  ratios.print("batch of 64", "ring_batch64", "floor_batch64", 1.10);
}
