// Host threads against the processor's threads. Meant for ThreadSanitizer too.
#include "cp/kernels.hpp"

using namespace cp_test;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kScale = 10;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kScale = 10;
#else
constexpr int kScale = 1;
#endif
#else
constexpr int kScale = 1;
#endif

// Reserves one slot on the shared write index (as many programs do), waits for room, publishes, rings.
template <class Packet>
void produce(Queue& queue, const Packet& packet) {
  const std::uint64_t index = std::atomic_ref{queue.amd().write_dispatch_id}.fetch_add(1, std::memory_order_acq_rel);
  wait_until([&] { return index - queue.read_index() < 64; });
  queue.write(index, packet);
  queue.ring(index);
}

} // namespace

TEST_CASE("concurrent: producers that reserve on the shared index and ring in any order: each packet runs exactly once") {
  const unsigned workers = GENERATE(1u, 2u);
  constexpr int kThreads = 4;
  const int each = 5000 / kScale;
  auto gpu = make_gpu({.workers = workers});
  auto count = make_kernel(*gpu, kCount);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  Signal done{*gpu, kThreads * each};
  Queue queue{*gpu};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      auto packet = dispatch(count->object(), done.handle());
      packet.kernarg_address = args.address();
      for (int i = 0; i < each; ++i) produce(queue, packet);
    });
  }
  for (auto& thread : threads) thread.join();
  wait_until([&] { return done.load() == 0 || queue.fault_count != 0; });
  CHECK(queue.fault_count == 0);
  CHECK(load32(counter) == static_cast<std::uint32_t>(kThreads * each));
  CHECK(queue.read_index() == static_cast<std::uint64_t>(kThreads * each));
}

TEST_CASE("concurrent: the processor never sees a packet whose body mixes two generations") {
  // The body carries its index in two places far apart; the agent function compares them.
  const int packets = 50'000 / kScale;
  auto gpu = make_gpu({.workers = 1});
  std::atomic<int> mixed{0}, seen{0};
  QueueOptions options;
  options.agent_function = [&](std::uint16_t, const std::uint64_t* args, std::uint64_t address) {
    if (args[0] != address || args[3] != address) mixed.fetch_add(1);
    seen.fetch_add(1);
    return Errc::ok;
  };
  Queue queue{*gpu, options};
  std::thread producer{[&] {
    for (int i = 0; i < packets; ++i) {
      abi::AgentDispatchPacket packet{};
      packet.header = static_cast<std::uint16_t>(abi::PacketType::agent_dispatch);
      packet.return_address = packet.arg[0] = packet.arg[3] = static_cast<std::uint64_t>(i) + 1;
      produce(queue, packet);
    }
  }};
  producer.join();
  wait_until([&] { return seen.load() == packets; });
  CHECK(mixed.load() == 0);
}

TEST_CASE("concurrent: a burst of 32 reserved at once and published one by one") {
  auto gpu = make_gpu({.workers = 1});
  const int bursts = 500 / kScale;
  Signal done{*gpu, bursts * 32};
  Queue queue{*gpu};
  for (int b = 0; b < bursts; ++b) {
    const std::uint64_t first = std::atomic_ref{queue.amd().write_dispatch_id}.fetch_add(32, std::memory_order_acq_rel);
    wait_until([&] { return first + 31 - queue.read_index() < 64; });
    for (std::uint64_t i = 0; i < 32; ++i) {
      queue.write(first + i, barrier(abi::PacketType::barrier_and, done.handle()));
      queue.ring(first + i);
    }
  }
  wait_until([&] { return done.load() == 0; });
  CHECK(queue.read_index() == static_cast<std::uint64_t>(bursts) * 32);
}

TEST_CASE("concurrent: a blocked wait loses no completion") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  Kernel kernel{*gpu, {kEndpgm}};
  Signal done{*gpu, 0};
  Queue queue{*gpu};
  for (int i = 0; i < 2000 / kScale; ++i) {
    done.store(1);
    queue.submit(dispatch(kernel.object(), done.handle(), 256, 64));
    for (;;) {
      const std::uint32_t epoch = gpu->event_counter().load(std::memory_order_acquire);
      if (done.load() == 0) break;
      gpu->wait_for_event(epoch, -1); // no time limit: a lost wake-up hangs here
    }
  }
  CHECK(queue.fault_count == 0);
}

TEST_CASE("concurrent: threads create, use and destroy queues at once") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto endless = make_kernel(*gpu, kEndless);
  Kernel empty{*gpu, {kEndpgm}};
  Kernel refused{*gpu, {kEndpgm}, {.vgprs = 512}};
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50 / kScale + 5; ++i) {
        Signal done{*gpu, 1};
        Queue queue{*gpu};
        if (t == 0) {
          queue.submit(dispatch(endless->object(), 0, 640, 64));
        } else if (t == 1) {
          queue.submit(dispatch(refused.object(), 0, 512, 512));
          wait_until([&] { return queue.fault_count != 0; });
          if (queue.faults[0].code != Errc::out_of_registers) wrong.fetch_add(1);
        } else {
          queue.submit(dispatch(empty.object(), done.handle()));
          wait_until([&] { return done.load() == 0; });
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("concurrent: memory taken away under a running kernel is a fault of that kernel, never a crash") {
  const unsigned workers = GENERATE(1u, 2u);
  auto gpu = make_gpu({.workers = workers});
  auto kernel = make_kernel(*gpu, kSpinOnFlag);
  for (int i = 0; i < 20; ++i) {
    auto flag = std::make_unique<Memory>(*gpu, 4096, kRead | kWrite, "flag");
    Kernargs args{*gpu};
    args.put64(0, flag->address());
    Queue queue{*gpu};
    auto packet = dispatch(kernel->object(), 0, 640, 64);
    packet.kernarg_address = args.address();
    queue.submit(packet);
    wait_until([&] { return queue.read_index() == 1; });
    flag.reset();
    wait_until([&] { return queue.fault_count != 0; });
    CHECK(queue.faults[0].code == Errc::memory_fault);
    CHECK_THAT(queue.faults[0].detail, Catch::Contains("flag"));
  }
}

TEST_CASE("concurrent: a chain of queues tied by signals, with kernels") {
  const unsigned workers = GENERATE(1u, 2u);
  constexpr std::size_t kQueues = 12;
  auto gpu = make_gpu({.workers = workers});
  auto count = make_kernel(*gpu, kCount);
  Memory counter{*gpu, 4096, kRead | kWrite, "counter"};
  Kernargs args{*gpu};
  args.put64(0, counter.address());
  std::vector<std::unique_ptr<Signal>> links;
  std::vector<std::unique_ptr<Queue>> queues;
  for (std::size_t i = 0; i <= kQueues; ++i) links.push_back(std::make_unique<Signal>(*gpu, 1));
  for (std::size_t i = 0; i < kQueues; ++i) queues.push_back(std::make_unique<Queue>(*gpu));
  for (std::size_t i = kQueues; i-- > 0;) {
    auto wait = barrier(abi::PacketType::barrier_and);
    wait.dep_signal[i % 5] = links[i]->handle();
    queues[i]->submit(wait);
    auto packet = dispatch(count->object(), links[i + 1]->handle(), 640, 64);
    packet.kernarg_address = args.address();
    queues[i]->submit(packet);
  }
  links[0]->store(0);
  gpu->notify_signal();
  wait_until([&] { return links.back()->load() == 0; });
  CHECK(load32(counter) == kQueues * 10);
}
