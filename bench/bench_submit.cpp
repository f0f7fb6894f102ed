// What it costs the producer to submit one dispatch, beside a hand-written floor in the same run: a fetch_add on the shared write
// index, the room check with a cached read index, 64 bytes of body, the header with release, the doorbell.
// The replay of a recorded list stands beside a plain copy of the same slots, their headers with release, one fetch_add, index, doorbell.
// Each benchmark alternates short chunks of both, so that a busy machine disturbs both alike; `ratio` is that of the medians.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>

#include <aql/command_list.hpp>
#include <aql/queue.hpp>

#include "driver/driver.hpp"

namespace {
using namespace aql;

constexpr std::uint64_t kSlots = 1024;
constexpr unsigned kChunk = 2048; // packets between two looks at the clock

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
  std::atomic<bool> active{false};
  std::thread consumer;

  explicit Memory(bool live) {
    std::memset(slots.get(), 0, kSlots * sizeof(abi::Slot));
    for (std::uint64_t i = 0; i < kSlots; ++i) slots[i].word[0] = 1;
    if (live) consumer = std::thread{[this] { consume(); }};
  }
  ~Memory() {
    stop = true;
    activate();
    if (consumer.joinable()) consumer.join();
  }
  void activate() {
    active = true;
    active.notify_one();
  }
  // The consumer gives its core to the other side's.
  void rest() {
    while (std::atomic_ref{queue->read_dispatch_id}.load() != std::atomic_ref{queue->write_dispatch_id}.load()) std::this_thread::yield();
    active = false;
  }
  void consume() {
    pin(1);
    std::uint64_t read = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      if (!active.load(std::memory_order_relaxed)) active.wait(false);
      abi::Slot& slot = slots[read & (kSlots - 1)];
      std::atomic_ref word{slot.word[0]};
      if ((word.load(std::memory_order_acquire) & 0xFF) == 1) {
        __builtin_ia32_pause();
        continue;
      }
      std::uint32_t sum = 0;
      for (unsigned i = 1; i < 16; ++i) sum += slot.word[i];
      benchmark::DoNotOptimize(sum);
      if (const std::uint64_t handle = detail::get64(slot, 14); handle != 0)
        std::atomic_ref{reinterpret_cast<abi::AmdSignal*>(handle)->value}.fetch_sub(1, std::memory_order_release);
      word.store(1, std::memory_order_relaxed);
      std::atomic_ref{queue->read_dispatch_id}.store(++read, std::memory_order_release);
    }
  }
  // Gives all slots back, as a processor that keeps up would have.
  void free_all() { std::atomic_ref{queue->read_dispatch_id}.store(std::atomic_ref{queue->write_dispatch_id}.load(), std::memory_order_release); }
  // Completes what the slots hold.
  void complete_all() {
    for (std::uint64_t i = 0; i < kSlots; ++i)
      if (const std::uint64_t handle = detail::get64(slots[i], 14); handle != 0) --reinterpret_cast<abi::AmdSignal*>(handle)->value;
  }
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

// As much of a driver as a queue needs.
class BenchDriver final : public detail::Driver {
public:
  explicit BenchDriver(const detail::QueueView& view) : view_(view) {}
  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  Result<detail::Allocation> allocate(PoolKind, std::size_t, std::string_view) override { return no(); }
  Result<void> free(const detail::Allocation&) override { return {}; }
  Result<detail::Allocation> pin(void*, std::size_t, bool) override { return no(); }
  Result<void> unpin(const detail::Allocation&) override { return {}; }
  Result<void> copy(std::uint64_t, std::uint64_t, std::size_t) override { return {}; }
  Result<void> fill32(std::uint64_t, std::uint32_t, std::size_t) override { return {}; }
  Result<void> commit_code(const detail::Allocation&, std::span<const detail::CodeSegment>) override { return {}; }
  void set_symbolizer(std::function<std::string(std::uint64_t)>) override {}
  Result<detail::SignalView> create_signal(std::int64_t initial) override {
    detail::SignalView view;
    view.object = new (std::align_val_t{64}) abi::AmdSignal{};
    view.object->value = initial;
    view.handle = reinterpret_cast<std::uint64_t>(view.object);
    return view;
  }
  Result<void> destroy_signal(const detail::SignalView& signal) override {
    ::operator delete(signal.object, std::align_val_t{64});
    return {};
  }
  std::uint64_t wait_epoch(const detail::SignalView&) noexcept override { return 0; }
  void wait_changed(const detail::SignalView&, std::uint64_t, Deadline) noexcept override {}
  Result<detail::QueueView> create_queue(const detail::QueueRequest&) override { return view_; }
  Result<void> destroy_queue(std::uint64_t) override { return {}; }
  Result<void> inactivate_queue(std::uint64_t) override { return {}; }
  std::uint64_t timestamp() noexcept override { return 0; }
  std::int64_t to_host_ns(std::uint64_t) noexcept override { return 0; }

private:
  static std::unexpected<Error> no() { return std::unexpected(Error{Errc::unsupported, 0, "no memory here", "BenchDriver"}); }
  DeviceInfo info_;
  detail::QueueView view_;
};

// The floor. `count` packets with one reservation and one doorbell.
struct Floor {
  abi::Slot* slots;
  std::uint64_t* write;
  std::uint64_t* read;
  std::uint64_t* bell;
  std::uint64_t cached_read = 0;
  explicit Floor(Memory& m) : slots(m.slots.get()), write(&m.queue->write_dispatch_id), read(&m.queue->read_dispatch_id), bell(&m.doorbell) {}

  void submit(const DispatchPacket* packets, unsigned count) {
    const std::uint64_t first = std::atomic_ref{*write}.fetch_add(count, std::memory_order_relaxed);
    while (first + count - cached_read > kSlots) cached_read = std::atomic_ref{*read}.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i) {
      const DispatchPacket& p = packets[i];
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

// The floor of a replay: `image` holds whole slots with INVALID headers.
struct ReplayFloor {
  Floor floor;
  std::uint64_t reserved = 0;
  std::vector<abi::Slot> image;
  std::vector<std::uint32_t> headers;
  ReplayFloor(Memory& m, const std::vector<DispatchPacket>& packets) : floor(m) {
    for (const DispatchPacket& p : packets) {
      image.push_back(p.encode());
      headers.push_back(image.back().word[0]);
      image.back().word[0] = 1;
    }
  }
  void submit() {
    const std::uint64_t count = image.size();
    const std::uint64_t first = std::atomic_ref{reserved}.fetch_add(count, std::memory_order_relaxed);
    while (first + count - floor.cached_read > kSlots) floor.cached_read = std::atomic_ref{*floor.read}.load(std::memory_order_acquire);
    abi::Slot* const to = floor.slots + (first & (kSlots - 1)); // counts divide the ring: never across its end
    std::memcpy(to, image.data(), count * sizeof(abi::Slot));
    for (std::uint64_t i = 0; i < count; ++i) std::atomic_ref{to[i].word[0]}.store(headers[i], std::memory_order_release);
    std::atomic_ref{*floor.write}.store(first + count, std::memory_order_release);
    std::atomic_ref{*floor.bell}.store(first + count - 1, std::memory_order_release);
  }
};

DispatchPacket packet(Barrier barrier = Barrier::on) {
  return {.grid = {1024, 1, 1}, .group = {256, 1, 1}, .kernel_object = 0x1000, .kernarg_address = 0x2000, .dimensions = 1, .barrier = barrier};
}

double median(std::vector<double>& v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

struct Case {
  bool live = false;               // a consumer on the other core
  unsigned count = 1;              // packets a submission
  Barrier barrier = Barrier::on;
};

// Nanoseconds a packet of one chunk.
template <class Submit>
double chunk(Memory& memory, const Case& c, const std::vector<DispatchPacket>& packets, Submit& submit) {
  if (c.live) memory.activate();
  Clock::duration spent{};
  for (unsigned done = 0; done < kChunk;) {
    const unsigned part = c.live ? kChunk : static_cast<unsigned>(kSlots);
    const auto start = Clock::now();
    for (unsigned i = 0; i < part; i += c.count) {
      benchmark::ClobberMemory(); // the packet comes from memory each time
      submit(packets.data());
    }
    spent += Clock::now() - start;
    done += part;
    if (c.live) continue;
    memory.free_all();
    if (c.barrier == Barrier::off) memory.complete_all();
  }
  if (c.live) memory.rest();
  return std::chrono::duration<double, std::nano>(spent).count() / kChunk;
}

// Alternates ours(memory) and theirs(memory): each returns the function that submits `count` packets.
template <class Ours, class Theirs>
void alternate(benchmark::State& state, const Case& c, Ours make_ours, Theirs make_theirs) {
  pin(0);
  const std::vector<DispatchPacket> packets(c.count, packet(c.barrier));
  Memory our_memory{c.live}, floor_memory{c.live};
  auto ours = make_ours(our_memory);
  auto theirs = make_theirs(floor_memory);
  std::vector<double> a, b;
  for (auto _ : state) {
    b.push_back(chunk(floor_memory, c, packets, theirs));
    a.push_back(chunk(our_memory, c, packets, ours));
    state.SetIterationTime(a.back() * kChunk * 1e-9);
  }
  state.counters["ours_ns"] = median(a);
  state.counters["floor_ns"] = median(b);
  state.counters["ratio"] = state.counters["ours_ns"] / state.counters["floor_ns"];
}

template <class Make>
void against_floor(benchmark::State& state, const Case& c, Make make) {
  alternate(state, c, make, [&c](Memory& memory) {
    return [floor = Floor{memory}, &c](const DispatchPacket* p) mutable { c.count == 1 ? floor.submit(p, 1) : floor.submit(p, c.count); };
  });
}

void replay(benchmark::State& state, const Case& c) {
  const std::vector<DispatchPacket> packets(c.count, packet(c.barrier));
  std::optional<Queue> queue;
  std::optional<CommandList> list;
  alternate(
      state, c,
      [&](Memory& memory) {
        const auto driver = std::make_shared<BenchDriver>(memory.view());
        queue = std::move(*Queue::create(driver, {.packets = kSlots}));
        list.emplace(driver);
        for (const DispatchPacket& p : packets) list->add(p);
        return [&](const DispatchPacket*) { benchmark::DoNotOptimize(list->replay(*queue)); };
      },
      [&](Memory& memory) { return [floor = ReplayFloor{memory, packets}](const DispatchPacket*) mutable { floor.submit(); }; });
  (void)queue->inactivate();
}

void ring(benchmark::State& state, const Case& c) {
  std::unique_ptr<Ring> ring;
  against_floor(state, c, [&](Memory& memory) {
    ring = std::make_unique<Ring>(memory.view());
    return [&ring = *ring, count = c.count](const DispatchPacket* p) {
      if (count == 1) {
        while (!ring.try_push(*p)) {}
        return;
      }
      std::optional<std::uint64_t> first;
      while (!(first = ring.try_reserve(count))) {}
      for (unsigned i = 0; i < count; ++i) ring.publish(*first + i, p[i].emit(ring.slot(*first + i)));
      ring.commit(*first, count);
    };
  });
}

// The queue with its tickets, over a driver whose queue is in Memory.
template <bool ticket>
void queue(benchmark::State& state, const Case& c) {
  std::optional<Queue> queue;
  against_floor(state, c, [&](Memory& memory) {
    queue = std::move(*Queue::create(std::make_shared<BenchDriver>(memory.view()), {.packets = kSlots}));
    return [&queue = *queue, &c](const DispatchPacket* p) {
      if constexpr (!ticket) benchmark::DoNotOptimize(queue.post(*p));
      else if (c.count == 1) benchmark::DoNotOptimize(queue.submit(*p));
      else benchmark::DoNotOptimize(queue.submit(std::span{p, c.count}));
    };
  });
  (void)queue->inactivate(); // nothing here completes by itself
}

void add(const char* name, void (*function)(benchmark::State&, const Case&), const Case& c) {
  benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { function(state, c); })->UseManualTime()->Iterations(400);
}

} // namespace

int main(int argc, char** argv) {
  add("one/ring_try_push (target ratio 1.10)", ring, {});
  add("one/queue_post (target ratio 1.10)", queue<false>, {});
  add("one/queue_submit_barrier (target ratio 1.10)", queue<true>, {});
  add("one/queue_submit_no_barrier", queue<true>, {.barrier = Barrier::off});
  add("live/ring_try_push (target ratio 1.30)", ring, {.live = true});
  add("live/queue_submit_barrier (target ratio 1.30)", queue<true>, {.live = true});
  add("live/queue_submit_no_barrier", queue<true>, {.live = true, .barrier = Barrier::off});
  add("batch64/ring", ring, {.count = 64});
  add("batch64/queue_submit", queue<true>, {.count = 64});
  add("replay64/command_list (target ratio 1.15)", replay, {.count = 64});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
