// Random ioctls and random packets: whatever a program does, the virtual KFD neither crashes nor hangs. AQL_FUZZ_SECONDS makes it
// run longer by hand; AQL_FUZZ_SEED repeats a run.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include <unistd.h>

#include <aql/abi/queue.hpp>

#include "ioctl_harness.hpp"

using namespace aql;
using namespace aql::test;

namespace {

class Fuzzer {
public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed), pages_(1 << 20), kfd_("gfx90a,gfx942") {
    for (std::size_t i = 0; i < kKinds; ++i) make_buffer(i);
  }

  void step() {
    switch (random_() % 8) {
    case 0: make_buffer(random_() % kKinds); break;
    case 1: make_queue(); break;
    case 2:
    case 3: scribble(); break;
    default: any_ioctl(); break;
    }
  }

private:
  static constexpr std::size_t kKinds = 4;

  std::uint64_t number() {
    switch (random_() % 8) {
    case 0: return random_();
    case 1: return random_() % 16;
    case 2: return kVa + random_() % 64 * 0x10000;
    case 3: return pages_.address() + random_() % 256 * 4096;
    case 4: return handles_.empty() ? 0 : handles_[random_() % handles_.size()];
    case 5: return kfd_.gpu_id + random_() % 3;
    case 6: return 1ull << random_() % 64;
    default: return 0;
    }
  }

  // A buffer that is mapped, so that more than the checks of arguments is reached.
  void make_buffer(std::size_t kind) {
    kfd_ioctl_alloc_memory_of_gpu_args args{};
    args.gpu_id = kfd_.gpu_id;
    args.size = 0x10000;
    args.va_addr = kVa + random_() % 64 * 0x10000;
    args.flags = kWritable | (random_() % 2 != 0 ? kExecutable : 0);
    if (kind == 0) {
      args.flags |= kUser;
      args.mmap_offset = pages_.address() + random_() % 16 * 0x10000;
    } else {
      args.flags |= kind == 1 ? KFD_IOC_ALLOC_MEM_FLAGS_GTT : kVram;
    }
    if (kfd_.call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args) != 0) return;
    handles_.push_back(args.handle);
    (void)kfd_.map(args.handle);
  }

  void make_queue() {
    const std::uint64_t base = kVa + random_() % 64 * 0x10000;
    std::byte* host = kfd_.device_view(base, 0x10000, sim::kRead | sim::kWrite);
    if (host == nullptr) return;
    kfd_ioctl_create_queue_args args{};
    args.gpu_id = kfd_.gpu_id;
    args.queue_type = random_() % 4;
    args.ring_size = 4096;
    args.ring_base_address = base + 0x4000;
    args.read_pointer_address = base + 0x80;
    args.write_pointer_address = base + 56;
    args.queue_percentage = 100;
    args.queue_priority = random_() % 16;
    auto* amd = reinterpret_cast<abi::AmdQueue*>(host);
    *amd = {};
    amd->hsa_queue.base_address = args.ring_base_address;
    amd->hsa_queue.size = 4096 / 64;
    if (kfd_.call(AMDKFD_IOC_CREATE_QUEUE, args) != 0) return;
    queues_.push_back(args.queue_id);
    // Keep the number of queues small: each costs the processor a look.
    if (queues_.size() > 8) {
      kfd_ioctl_destroy_queue_args old{queues_.front(), 0};
      (void)kfd_.call(AMDKFD_IOC_DESTROY_QUEUE, old);
      queues_.erase(queues_.begin());
    }
  }

  // Packets, pointers and doorbells.
  void scribble() {
    const std::uint64_t base = kVa + random_() % 64 * 0x10000;
    if (std::byte* host = kfd_.device_view(base, 0x10000, sim::kRead | sim::kWrite)) {
      auto* words = reinterpret_cast<std::uint32_t*>(host);
      const std::size_t at = random_() % 2 != 0 ? 0x1000 + random_() % 1024 : random_() % 0x4000;
      for (std::size_t i = 0; i < 64 && at + i < 0x4000; ++i)
        std::atomic_ref{words[at + i]}.store(packet_word(), std::memory_order_relaxed);
      std::atomic_ref{*reinterpret_cast<std::uint64_t*>(host + 56)}.store(random_() % 128, std::memory_order_release);
    }
    std::uint64_t* doorbells = kfd_.process->gpus()[0]->doorbells;
    for (std::size_t i = 0; i < 12; ++i) {
      if (random_() % 2 != 0)
        std::atomic_ref{doorbells[i]}.store(random_() % 3 != 0 ? random_() % 256 : number(), std::memory_order_release);
    }
  }

  std::uint32_t packet_word() {
    switch (random_() % 6) {
    case 0: return static_cast<std::uint32_t>(random_());
    case 1: return 0xc0000000u | static_cast<std::uint32_t>(random_() % 8 << 16 | random_() % 256 << 8); // PM4
    case 2: return static_cast<std::uint32_t>(random_() % 16);                                           // SDMA, AQL types
    case 3: return 0x10002u;
    case 4: return static_cast<std::uint32_t>(kVa);
    default: return static_cast<std::uint32_t>(kVa >> 32);
    }
  }

  void any_ioctl() {
    const auto rows = vkfd::ioctl_rows();
    const auto& row = rows[random_() % rows.size()];
    const unsigned nr = random_() % 32 != 0 ? row.nr : static_cast<unsigned>(random_() % 256);
    alignas(8) std::uint64_t words[64];
    const bool halves = random_() % 2 != 0;
    for (auto& word : words) word = halves ? (number() & 0xffffffffu) | number() << 32 : number();
    auto* bytes = reinterpret_cast<std::byte*>(words);
    if (nr == vkfd::kfd::kWaitEvents) { // would rightly wait for ever
      const std::uint32_t ms = random_() % 2;
      std::memcpy(bytes + offsetof(kfd_ioctl_wait_events_args, timeout), &ms, sizeof ms);
    }
    std::size_t size = row.size;
    if (random_() % 8 == 0) size = random_() % sizeof words;
    const std::uint64_t user = random_() % 32 != 0 ? reinterpret_cast<std::uint64_t>(words) : number();
    const bool ours = user == reinterpret_cast<std::uint64_t>(words);
    if (!ours && user >= pages_.address() && user < pages_.address() + pages_.size)
      return; // results may go there, but not into queues
    const int result = vkfd::kfd_ioctl(*kfd_.process, _IOC(_IOC_READ | _IOC_WRITE, 'K', nr, size), user);
    if (result != 0 || !ours) return;
    if (nr == vkfd::kfd::kAllocMemory) handles_.push_back(words[offsetof(kfd_ioctl_alloc_memory_of_gpu_args, handle) / 8]);
    if (nr == vkfd::kfd::kExportDmabuf) {
      std::uint32_t fd = 0;
      std::memcpy(&fd, bytes + offsetof(vkfd::kfd::ExportDmabufArgs, dmabuf_fd), sizeof fd);
      if (size >= sizeof(vkfd::kfd::ExportDmabufArgs)) close(static_cast<int>(fd));
    }
    if (handles_.size() > 64) handles_.erase(handles_.begin(), handles_.begin() + 32);
  }

  std::mt19937_64 random_;
  Pages pages_; // outlives the queues in it
  VirtualKfd kfd_;
  std::vector<std::uint64_t> handles_;
  std::vector<std::uint32_t> queues_;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace

TEST_CASE("fuzz: random ioctls and packets neither crash nor hang the virtual KFD") {
  const std::uint64_t seconds = from_environment("AQL_FUZZ_SECONDS", 0), first = from_environment("AQL_FUZZ_SEED", 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{seconds};
  std::uint64_t seed = first;
  do {
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    Fuzzer fuzzer{seed++};
    for (int i = 0; i < 1500; ++i) fuzzer.step();
  } while (seed < first + 4 || std::chrono::steady_clock::now() < end);
  SUCCEED("still here");
}
