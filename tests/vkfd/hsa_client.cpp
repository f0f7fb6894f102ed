// A program against hsa.h and hsa_ext_amd.h. CTest runs it under `aql vgpu`: what it needs, it needs from the distribution's
// unmodified runtime. usage: hsa_client CASE KERNEL-DIRECTORY

#include <algorithm>
#include <atomic>
#include <thread>

#include <sys/wait.h>

#include "hsa_support.hpp"

namespace {

std::string g_kernels;

std::string code_for(const Agents& agents, const char* name) {
  char isa[64]{};
  CHECK(hsa_agent_get_info(agents.gpus[0], HSA_AGENT_INFO_NAME, isa));
  return g_kernels + "/" + name + "." + isa + ".co";
}

void dispatches_with_interrupt_signals() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto add = code.kernel("vector_add"), slow = code.kernel("scale_add");
  Queue queue{agents.gpus[0]};
  constexpr unsigned n = 1000;
  auto* a = agents.host<float>(n);
  auto* b = agents.device<float>(n);
  auto* c = agents.host<float>(n);
  for (unsigned i = 0; i < n; ++i)
    a[i] = static_cast<float>(i), b[i] = 2.0f * static_cast<float>(i), c[i] = -1; // VRAM over the large BAR
  Arguments arguments{agents, add};
  arguments.add(a).add(b).add(c).add(n);
  const Signal done{1};
  queue.dispatch(add, 1024, 256, arguments.data(), done.handle);
  done.wait();
  for (unsigned i = 0; i < n; ++i) REQUIRE(c[i] == 3.0f * static_cast<float>(i));
  // Long enough that the wait blocks in the kernel interface.
  auto* x = agents.device<unsigned>(1024);
  std::fill_n(x, 1024, 1u);
  Arguments more{agents, slow};
  more.add(x).add(1024u).add(3u).add(20000u);
  const Signal later{1};
  queue.dispatch(slow, 1024, 64, more.data(), later.handle);
  later.wait();
  unsigned expected = 1;
  for (unsigned r = 0; r < 20000; ++r) expected = expected * 3 + 1;
  for (unsigned i = 0; i < 1024; ++i) REQUIRE(x[i] == expected);
  // More packets than the ring has.
  auto* counter = agents.host<unsigned>(1);
  *counter = 0;
  const auto count = code.kernel("count");
  Arguments counted{agents, count};
  counted.add(counter);
  for (unsigned i = 0; i < 199; ++i) queue.dispatch(count, 64, 64, counted.data(), {});
  const Signal last{1};
  queue.dispatch(count, 64, 64, counted.data(), last.handle);
  last.wait();
  REQUIRE(*counter == 200);
}

void copies_between_all_kinds_of_memory() {
  const Agents agents;
  constexpr std::size_t n = 1 << 20;
  auto* host = agents.host<std::uint32_t>(n);
  auto* device = agents.device<std::uint32_t>(n);
  auto* other = agents.device<std::uint32_t>(n);
  auto* back = agents.host<std::uint32_t>(n);
  for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<std::uint32_t>(i * 2654435761u);
  std::fill_n(back, n, 0u);
  const Signal first{1}, second{1}, third{1};
  const auto gpu = agents.gpus[0], cpu = agents.cpu;
  // Each waits for the one before it.
  CHECK(hsa_amd_memory_async_copy(device, gpu, host, cpu, n * 4, 0, nullptr, first.handle));
  CHECK(hsa_amd_memory_async_copy(other, gpu, device, gpu, n * 4, 1, &first.handle, second.handle));
  CHECK(hsa_amd_memory_async_copy(back, cpu, other, gpu, n * 4, 1, &second.handle, third.handle));
  third.wait();
  REQUIRE(std::memcmp(host, back, n * 4) == 0);
  // Memory of malloc: the runtime registers it, and the GPU sees it at another address.
  std::vector<std::uint32_t> plain(n + 3);
  CHECK(hsa_memory_copy(plain.data() + 3, other, n * 4 - 4));
  REQUIRE(std::memcmp(host, plain.data() + 3, n * 4 - 4) == 0);
  plain[100] = 77;
  CHECK(hsa_memory_copy(device, plain.data(), 4096));
  REQUIRE(device[100] == 77);
}

void fills_and_blit_kernels() {
  const Agents agents;
  constexpr std::size_t n = 100003;
  auto* device = agents.device<std::uint32_t>(n);
  auto* other = agents.device<std::uint32_t>(n);
  CHECK(hsa_amd_memory_fill(device, 0xdeadbeef, n));
  for (std::size_t i = 0; i < n; ++i) REQUIRE(device[i] == 0xdeadbeef);
  device[n - 1] = 5;
  CHECK(hsa_memory_copy(other, device, n * 4));
  REQUIRE(other[0] == 0xdeadbeef);
  REQUIRE(other[n - 1] == 5);
  // Misaligned: another kernel of the runtime.
  CHECK(hsa_memory_copy(reinterpret_cast<char*>(other) + 1, reinterpret_cast<char*>(device) + 3, 1001));
  REQUIRE(std::memcmp(reinterpret_cast<char*>(other) + 1, reinterpret_cast<char*>(device) + 3, 1001) == 0);
}

void scratch_grows_with_the_kernel() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_private")};
  Queue queue{agents.gpus[0]};
  auto* errors = agents.host<unsigned>(1);
  *errors = 0;
  for (const char* name : {"private_small", "private_large", "private_small"}) {
    const auto kernel = code.kernel(name);
    REQUIRE(kernel.private_bytes != 0);
    Arguments arguments{agents, kernel};
    arguments.add(errors).add(17u);
    const Signal done{1};
    queue.dispatch(kernel, 2048, 256, arguments.data(), done.handle);
    done.wait();
    REQUIRE(*errors == 0);
  }
}

// The runtime takes a queue's scratch away when it is asked for more, and gives it to the next queue: by then nothing may use it.
void scratch_stays_while_it_is_used() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_private")};
  const auto held = code.kernel("private_held"), larger = code.kernel("private_held_large");
  auto* words = agents.host<unsigned>(4);
  unsigned *gate = words, *open_gate = words + 1, *errors = words + 2, *started = words + 3;
  std::fill_n(words, 4, 0u);
  *open_gate = 1;
  Queue queue{agents.gpus[0]};
  Arguments first{agents, held}, second{agents, larger}, other{agents, held};
  first.add(gate).add(errors).add(started).add(1000u);
  second.add(open_gate).add(errors).add(started).add(7u);
  other.add(open_gate).add(errors).add(started).add(5000u);
  const Signal first_done{1}, second_done{1};
  queue.dispatch(held, 64, 64, first.data(), first_done.handle);
  while (__atomic_load_n(started, __ATOMIC_ACQUIRE) != 64) std::this_thread::yield();
  queue.dispatch(larger, 416, 1, second.data(), second_done.handle, false);
  for (unsigned i = 0; i < 20; ++i) { // time enough for the runtime to hear of the second
    Queue next{agents.gpus[0]};
    const Signal done{1};
    next.dispatch(held, 64, 64, other.data(), done.handle);
    done.wait();
  }
  REQUIRE(hsa_signal_load_scacquire(first_done.handle) == 1);
  __atomic_store_n(gate, 1u, __ATOMIC_RELEASE);
  first_done.wait();
  second_done.wait();
  REQUIRE(*errors == 0);
}

void barriers_wait_for_their_signals() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto store = code.kernel("store_value");
  Queue queue{agents.gpus[0]};
  auto* out = agents.host<unsigned>(1);
  *out = 0;
  const Signal gate{1}, passed{1}, done{1};
  hsa_barrier_and_packet_t barrier{};
  barrier.dep_signal[0] = gate.handle;
  barrier.completion_signal = passed.handle;
  queue.publish(barrier, Queue::header(HSA_PACKET_TYPE_BARRIER_AND), 0);
  Arguments arguments{agents, store};
  arguments.add(out).add(42u);
  queue.dispatch(store, 64, 64, arguments.data(), done.handle);
  REQUIRE(hsa_signal_wait_scacquire(done.handle, HSA_SIGNAL_CONDITION_LT, 1, 1000, HSA_WAIT_STATE_BLOCKED) == 1);
  REQUIRE(*out == 0);
  hsa_signal_store_screlease(gate.handle, 0);
  done.wait();
  REQUIRE(*out == 42);
  REQUIRE(hsa_signal_load_scacquire(passed.handle) == 0);
  const Signal never{1}, now{0}, either{1};
  hsa_barrier_or_packet_t any{};
  any.dep_signal[1] = never.handle;
  any.dep_signal[3] = now.handle;
  any.completion_signal = either.handle;
  queue.publish(any, Queue::header(HSA_PACKET_TYPE_BARRIER_OR), 0);
  either.wait();
}

std::atomic<std::uint64_t> g_fault_address{0};
std::atomic<std::uint32_t> g_fault_reasons{0}, g_faults{0};

void watch_faults() {
  CHECK(hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t* event, void*) {
        if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
        g_fault_address = event->memory_fault.virtual_address;
        g_fault_reasons = event->memory_fault.fault_reason_mask;
        ++g_faults;
        return HSA_STATUS_SUCCESS;
      },
      nullptr));
}

void wait_for_a_fault() {
  while (g_faults.load() == 0) usleep(100);
}

void a_store_to_nowhere_is_a_memory_fault() {
  const Agents agents;
  watch_faults();
  const Code code{agents.gpus[0], code_for(agents, "vkfd_poke")};
  const auto store = code.kernel("store_at");
  Queue queue{agents.gpus[0]};
  Arguments arguments{agents, store};
  arguments.add(std::uint64_t{0xdead012}).add(1u).add(std::uint64_t{1});
  queue.dispatch(store, 64, 64, arguments.data(), {});
  wait_for_a_fault();
  REQUIRE(g_fault_address.load() == 0xdead000);
  REQUIRE((g_fault_reasons.load() & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT) != 0);
}

void without_a_handler_a_fault_ends_the_program() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_poke")};
  const auto store = code.kernel("store_at");
  Queue queue{agents.gpus[0]};
  Arguments arguments{agents, store};
  arguments.add(std::uint64_t{0xdead000}).add(1u).add(std::uint64_t{1});
  const Signal done{1};
  queue.dispatch(store, 64, 64, arguments.data(), done.handle);
  done.wait(); // the runtime prints the report and aborts meanwhile
}

std::atomic<std::uint32_t> g_queue_status{0};

void bad_packets_reach_the_queue_callback() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto store = code.kernel("store_value");
  const auto callback = [](hsa_status_t status, hsa_queue_t*, void*) { g_queue_status = status; };
  Arguments arguments{agents, store};
  arguments.add(agents.host<unsigned>(1)).add(1u);
  const auto status_of = [&](auto change) {
    g_queue_status = 0;
    Queue queue{agents.gpus[0], 64, callback};
    hsa_kernel_dispatch_packet_t p{};
    p.workgroup_size_x = 64;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = 64;
    p.grid_size_y = p.grid_size_z = 1;
    p.kernel_object = store.object;
    p.kernarg_address = arguments.data();
    std::uint16_t header = Queue::header(HSA_PACKET_TYPE_KERNEL_DISPATCH);
    change(p, header);
    queue.publish(p, header, 1);
    while (g_queue_status.load() == 0) usleep(100);
    return g_queue_status.load();
  };
  REQUIRE(status_of([](auto&, std::uint16_t& header) { header = Queue::header(static_cast<hsa_packet_type_t>(7)); }) ==
          HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  REQUIRE(status_of([](auto& p, auto&) { p.kernel_object = 0; }) == HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  REQUIRE(status_of([](auto& p, auto&) { p.group_segment_size = 1 << 20; }) == HSA_STATUS_ERROR_INVALID_ALLOCATION);
  REQUIRE(status_of([](auto& p, auto&) { p.grid_size_x = 0; }) == HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
}

void queues_come_and_go_also_while_they_are_busy() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto slow = code.kernel("scale_add");
  auto* x = agents.device<unsigned>(64);
  Arguments arguments{agents, slow};
  arguments.add(x).add(64u).add(3u).add(0xffffffffu); // hours
  for (unsigned i = 0; i < 8; ++i) {
    Queue queue{agents.gpus[0]};
    queue.dispatch(slow, 64, 64, arguments.data(), {});
    usleep(i * 100);
  }
  Arguments quick{agents, slow};
  quick.add(x).add(64u).add(3u).add(1u);
  std::vector<std::unique_ptr<Queue>> many;
  for (unsigned i = 0; i < 30; ++i) many.push_back(std::make_unique<Queue>(agents.gpus[0]));
  const Signal done{30};
  for (auto& queue : many) queue->dispatch(slow, 64, 64, quick.data(), done.handle);
  done.wait();
}

void profiling_gives_times_in_order() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto slow = code.kernel("scale_add");
  Queue queue{agents.gpus[0]};
  CHECK(hsa_amd_profiling_set_profiler_enabled(queue.queue, 1));
  auto* x = agents.device<unsigned>(64);
  Arguments arguments{agents, slow};
  arguments.add(x).add(64u).add(3u).add(1000u);
  const Signal first{1}, second{1};
  std::uint64_t before = 0, after = 0;
  CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
  queue.dispatch(slow, 64, 64, arguments.data(), first.handle);
  queue.dispatch(slow, 64, 64, arguments.data(), second.handle);
  second.wait();
  first.wait();
  CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
  hsa_amd_profiling_dispatch_time_t a{}, b{};
  CHECK(hsa_amd_profiling_get_dispatch_time(agents.gpus[0], first.handle, &a));
  CHECK(hsa_amd_profiling_get_dispatch_time(agents.gpus[0], second.handle, &b));
  REQUIRE(a.start < a.end);
  REQUIRE(b.start < b.end);
  REQUIRE(a.end <= b.start); // the barrier bit
  // The device clock and the system clock tick differently; the runtime converts. Give it a millisecond.
  REQUIRE(a.start + 1'000'000 > before);
  REQUIRE(b.end < after + 1'000'000);
}

void async_handlers_run() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto store = code.kernel("store_value");
  Queue queue{agents.gpus[0]};
  auto* out = agents.host<unsigned>(1);
  Arguments arguments{agents, store};
  arguments.add(out).add(9u);
  const Signal done{1};
  static std::atomic<int> ran{0};
  CHECK(hsa_amd_signal_async_handler(
      done.handle, HSA_SIGNAL_CONDITION_LT, 1, [](hsa_signal_value_t, void*) { return ++ran, false; }, nullptr));
  queue.dispatch(store, 64, 64, arguments.data(), done.handle);
  while (ran.load() == 0) usleep(50);
  REQUIRE(*out == 9);
}

void locked_memory_is_reached() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto add = code.kernel("vector_add");
  Queue queue{agents.gpus[0]};
  std::vector<float> memory(4099, 1.0f);
  float* at = memory.data() + 3; // not page-aligned
  void* device = nullptr;
  hsa_agent_t gpu = agents.gpus[0];
  CHECK(hsa_amd_memory_lock(at, 4096 * sizeof(float), &gpu, 1, &device));
  Arguments arguments{agents, add};
  arguments.add(device).add(device).add(device).add(4096u);
  const Signal done{1};
  queue.dispatch(add, 4096, 256, arguments.data(), done.handle);
  done.wait();
  REQUIRE(memory[2] == 1.0f);
  REQUIRE(memory[3] == 2.0f);
  REQUIRE(memory[4098] == 2.0f);
  CHECK(hsa_amd_memory_unlock(at));
}

void a_forked_child_starts_anew() {
  {
    const Agents agents;
    auto* p = agents.device<unsigned>(16);
    p[0] = 5;
  }
  std::fflush(stdout);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The child may not use what it inherited, and must not hang or crash.
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const Agents agents;
  auto* p = agents.device<unsigned>(16);
  CHECK(hsa_amd_memory_fill(p, 3, 16));
  REQUIRE(p[15] == 3);
}

void exit_with_work_in_flight() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto slow = code.kernel("scale_add");
  static auto* queue = new Queue{agents.gpus[0]}; // both are there until the end
  static auto* arguments = new Arguments{agents, slow};
  arguments->add(agents.device<unsigned>(64)).add(64u).add(3u).add(0xffffffffu);
  queue->dispatch(slow, 64, 64, arguments->data(), {});
  std::exit(0);
}

void another_process_sees_exported_memory() {
  int to_child[2];
  REQUIRE(pipe(to_child) == 0);
  const pid_t child = fork(); // before the runtime is there
  REQUIRE(child >= 0);
  hsa_amd_ipc_memory_t handle{};
  constexpr std::size_t n = 1 << 16;
  if (child == 0) {
    REQUIRE(read(to_child[0], &handle, sizeof handle) == static_cast<ssize_t>(sizeof handle));
    CHECK(hsa_init());
    const Agents agents;
    void* mapped = nullptr;
    CHECK(hsa_amd_ipc_memory_attach(&handle, n * 4, 1, agents.gpus.data(), &mapped));
    auto* words = static_cast<std::uint32_t*>(mapped);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(words[i] == i * 3);
    CHECK(hsa_amd_memory_fill(words, 77, n)); // by this process's GPU
    CHECK(hsa_amd_ipc_memory_detach(mapped));
    CHECK(hsa_shut_down());
    _exit(0);
  }
  CHECK(hsa_init());
  const Agents agents;
  auto* words = agents.device<std::uint32_t>(n);
  for (std::size_t i = 0; i < n; ++i) words[i] = static_cast<std::uint32_t>(i * 3);
  CHECK(hsa_amd_ipc_memory_create(words, n * 4, &handle));
  REQUIRE(write(to_child[1], &handle, sizeof handle) == static_cast<ssize_t>(sizeof handle));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (std::size_t i = 0; i < n; ++i) REQUIRE(words[i] == 77);
}

void two_gpus_reach_each_others_memory() {
  const Agents agents;
  REQUIRE(agents.gpus.size() == 2);
  const Code code{agents.gpus[1], code_for(agents, "vkfd_basics")};
  const auto store = code.kernel("store_value");
  auto* on_first = agents.device<std::uint32_t>(1024, 0);
  auto* on_second = agents.device<std::uint32_t>(1024, 1);
  std::fill_n(on_first, 1024, 4u);
  Queue queue{agents.gpus[1]};
  Arguments arguments{agents, store};
  arguments.add(on_first).add(5u);
  const Signal done{1}, copied{1};
  queue.dispatch(store, 64, 64, arguments.data(), done.handle);
  done.wait();
  REQUIRE(on_first[0] == 5);
  CHECK(hsa_amd_memory_async_copy(on_second, agents.gpus[1], on_first, agents.gpus[0], 4096, 0, nullptr, copied.handle));
  copied.wait();
  REQUIRE(on_second[0] == 5);
  REQUIRE(on_second[1023] == 4);
}

void queues_take_masks_and_stop() {
  const Agents agents;
  const Code code{agents.gpus[0], code_for(agents, "vkfd_basics")};
  const auto scale = code.kernel("scale_add");
  Queue queue{agents.gpus[0]};
  const std::uint32_t mask[4] = {0x5, 0, 0, 0};
  CHECK(hsa_amd_queue_cu_set_mask(queue.queue, 128, mask));
  auto* x = agents.device<unsigned>(4096);
  std::fill_n(x, 4096, 1u);
  Arguments arguments{agents, scale};
  arguments.add(x).add(4096u).add(3u).add(2u);
  const Signal done{1};
  queue.dispatch(scale, 4096, 64, arguments.data(), done.handle);
  done.wait();
  for (unsigned i = 0; i < 4096; ++i) REQUIRE(x[i] == 13);
  CHECK(hsa_amd_queue_set_priority(queue.queue, HSA_AMD_QUEUE_PRIORITY_HIGH));
  const Signal after{1}, never{1};
  queue.dispatch(scale, 64, 64, arguments.data(), after.handle);
  after.wait();
  CHECK(hsa_queue_inactivate(queue.queue));
  queue.dispatch(scale, 64, 64, arguments.data(), never.handle);
  usleep(20000);
  REQUIRE(hsa_signal_load_scacquire(never.handle) == 1);
}

struct Case {
  const char* name;
  void (*run)();
  bool shut_down;
};
constexpr Case kCases[] = {
    {"dispatch", dispatches_with_interrupt_signals, true},
    {"copies", copies_between_all_kinds_of_memory, true},
    {"fill", fills_and_blit_kernels, true},
    {"scratch", scratch_grows_with_the_kernel, true},
    {"scratch_in_use", scratch_stays_while_it_is_used, true},
    {"barriers", barriers_wait_for_their_signals, true},
    {"fault", a_store_to_nowhere_is_a_memory_fault, false},
    {"abort", without_a_handler_a_fault_ends_the_program, false},
    {"errors", bad_packets_reach_the_queue_callback, true},
    {"queues", queues_come_and_go_also_while_they_are_busy, true},
    {"times", profiling_gives_times_in_order, true},
    {"handlers", async_handlers_run, true},
    {"lock", locked_memory_is_reached, true},
    {"fork", a_forked_child_starts_anew, true},
    {"ipc", another_process_sees_exported_memory, true},
    {"gpus", two_gpus_reach_each_others_memory, true},
    {"masks", queues_take_masks_and_stop, true},
    {"exit", exit_with_work_in_flight, false},
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  g_kernels = argv[2];
  for (const Case& c : kCases) {
    if (std::strcmp(c.name, argv[1]) != 0) continue;
    if (c.run != another_process_sees_exported_memory) CHECK(hsa_init());
    c.run();
    if (c.shut_down) {
      CHECK(hsa_shut_down());
    } else {
      std::printf("done\n");
      std::fflush(stdout);
      _exit(0);
    }
    std::printf("done\n");
    return 0;
  }
  std::printf("no case is called %s\n", argv[1]);
  return 2;
}
