// Random ioctls and random packets: whatever a program does, the virtual KFD neither crashes nor hangs, and keeps nothing when it
// ends. AQL_FUZZ_SECONDS makes it run longer by hand; AQL_FUZZ_SEED begins elsewhere.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <dirent.h>

#include "fuzz_actor.hpp"

using namespace aql;
using namespace aql::test;

namespace {

constexpr std::size_t kActors = 2;
constexpr int kStepsPerActor = 3000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Run {
  FuzzCounts counts;
  std::atomic<std::uint64_t> seed{0};
  std::array<std::atomic<const char*>, kActors> doing{};

  // One session from its first ioctl to its end.
  void session(std::uint64_t with) {
    seed = with;
    FuzzWorld world{with % 2 == 0};
    {
      std::vector<std::jthread> threads;
      for (std::size_t a = 0; a < kActors; ++a) {
        threads.emplace_back([&, a] {
          FuzzActor actor{world, counts, with * kActors + a, doing[a]};
          for (int i = 0; i < kStepsPerActor; ++i) actor.step();
          doing[a] = "nothing";
        });
      }
    }
    for (auto& d : doing) d = "the end of the session";
    world.queues.for_each([&](const FuzzQueue& queue) { counts.count(world, queue); });
  }
};

// Ends the process with the seed and what was going on if nothing has moved for a long time.
class HangWatch {
public:
  explicit HangWatch(const Run& run) : thread_([this, &run] { watch(run); }) {}
  ~HangWatch() {
    {
      const std::lock_guard lock{mutex_};
      over_ = true;
    }
    ended_.notify_all();
  }
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

private:
  void watch(const Run& run) {
    const std::chrono::seconds patience{from_environment("AQL_FUZZ_HANG_SECONDS", 60)};
    std::unique_lock lock{mutex_};
    for (std::uint64_t steps = ~0ull, seed = ~0ull;;) {
      if (run.counts.steps == steps && run.seed == seed) {
        std::fprintf(stderr, "fuzz: seed %llu hangs: nothing moved for %lld s, in", static_cast<unsigned long long>(seed),
                     static_cast<long long>(patience.count()));
        for (const auto& d : run.doing) std::fprintf(stderr, " '%s'", d.load() != nullptr ? d.load() : "");
        std::fprintf(stderr, "\n");
        std::abort();
      }
      steps = run.counts.steps;
      seed = run.seed;
      if (ended_.wait_for(lock, patience, [this] { return over_; })) return;
    }
  }
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::jthread thread_; // last: ends before the others go
};

std::size_t lines_of_maps(std::string_view with) {
  std::ifstream maps{"/proc/self/maps"};
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find(with) != std::string::npos ? 1 : 0;
  return n;
}
std::size_t open_descriptors() {
  DIR* directory = opendir("/proc/self/fd");
  REQUIRE(directory != nullptr);
  std::size_t n = 0;
  while (readdir(directory) != nullptr) ++n;
  closedir(directory);
  return n;
}

// Refused by design, whatever is asked.
const std::set<std::string_view> kAbsent{
    "dbg_register", "dbg_unregister", "dbg_address_watch", "dbg_wave_control", "alloc_queue_gws",
    "smi_events",   "criu",           "runtime_enable",    "dbg_trap",         "dbg_trap (thunk 5)"};

void print(const FuzzCounts& counts) {
  std::uint64_t calls = 0, good = 0;
  for (const auto& row : counts.ioctls) calls += row.calls, good += row.good;
  const auto& p = counts.pushed;
  const auto& c = counts.consumed;
  std::printf("%llu steps, %llu ioctls (%llu succeeded)\n", static_cast<unsigned long long>(counts.steps),
              static_cast<unsigned long long>(calls), static_cast<unsigned long long>(good));
  std::printf("executed: %llu of %llu AQL packets, %llu of %llu PM4 dwords, %llu of %llu SDMA bytes\n",
              static_cast<unsigned long long>(c[KFD_IOC_QUEUE_TYPE_COMPUTE_AQL]),
              static_cast<unsigned long long>(p[KFD_IOC_QUEUE_TYPE_COMPUTE_AQL]),
              static_cast<unsigned long long>(c[KFD_IOC_QUEUE_TYPE_COMPUTE]),
              static_cast<unsigned long long>(p[KFD_IOC_QUEUE_TYPE_COMPUTE]),
              static_cast<unsigned long long>(c[KFD_IOC_QUEUE_TYPE_SDMA] + c[KFD_IOC_QUEUE_TYPE_SDMA_XGMI]),
              static_cast<unsigned long long>(p[KFD_IOC_QUEUE_TYPE_SDMA] + p[KFD_IOC_QUEUE_TYPE_SDMA_XGMI]));
  if (std::getenv("AQL_FUZZ_SECONDS") == nullptr) return;
  for (const auto& row : vkfd::ioctl_rows()) {
    std::printf("  %-28s %8llu calls %8llu succeeded\n", row.name, static_cast<unsigned long long>(counts.ioctls[row.nr].calls),
                static_cast<unsigned long long>(counts.ioctls[row.nr].good));
  }
}

} // namespace

TEST_CASE("fuzz: random ioctls and packets neither crash nor hang the virtual KFD, and reach all of it") {
  const std::uint64_t seconds = from_environment("AQL_FUZZ_SECONDS", 0), first = from_environment("AQL_FUZZ_SEED", 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{seconds};
  Run run;
  {
    const HangWatch watch{run};
    std::uint64_t seed = first;
    do {
      std::printf("seed %llu, %zu mappings, %zu descriptors\n", static_cast<unsigned long long>(seed), lines_of_maps(""),
                  open_descriptors());
      std::fflush(stdout);
      run.session(seed++);
    } while (seed < first + 4 || std::chrono::steady_clock::now() < end);
  }
  print(run.counts);
  for (const auto& row : vkfd::ioctl_rows()) {
    INFO(row.name);
    CHECK(run.counts.ioctls[row.nr].calls != 0);
    CHECK((run.counts.ioctls[row.nr].good != 0) != kAbsent.contains(row.name));
  }
  CHECK(run.counts.drm.good != 0);
  CHECK(run.counts.mapped != 0);
  for (const auto& consumed : run.counts.consumed) CHECK(consumed != 0);
}

TEST_CASE("sessions: when one ends, its mappings and descriptors are gone, whatever was done in it") {
  Run run;
  const HangWatch watch{run};
  run.session(1000); // what the first one makes once stays: the heaps of threads, streams
  const std::size_t descriptors = open_descriptors(), mappings = lines_of_maps("");
  constexpr std::size_t kSessions = 6;
  for (std::size_t i = 0; i < kSessions; ++i) {
    run.session(1001 + i);
    CHECK(lines_of_maps("memfd:") == 0);
    CHECK(open_descriptors() == descriptors);
  }
#ifndef __SANITIZE_ADDRESS__ // its allocator maps as it likes
  // Others than those of the memory files: of threads' heaps and stacks some come and go, but not some with each session.
  CHECK(lines_of_maps("") < mappings + kSessions);
#else
  CHECK(mappings > 0);
#endif
}
