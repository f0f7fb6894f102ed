// The submit path in its steady state: no system call, no allocation, no lock, and no call into the driver.
// Each proof has a control that shows that the trap would have sprung.

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aql/queue.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/skip.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define AQL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define AQL_SANITIZED 1
#endif
#endif

namespace {
[[maybe_unused]] std::atomic<std::uint64_t> g_allocations{0};
[[maybe_unused]] std::atomic<std::uint64_t> g_locks{0};
} // namespace

#ifndef AQL_SANITIZED
// Every allocation and every mutex of this program comes through here: operator new calls malloc, std::mutex pthread_mutex_lock.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, n);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Function = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  g_locks.fetch_add(1, std::memory_order_relaxed);
  return real(mutex);
}
}
#endif

namespace {
using namespace aql;
using aql::test::FakeDriver;
using aql::test::FakeProcessor;

constexpr int kLoops = 1000;

// Consumes and completes the next packet with nothing but memory accesses.
void step(FakeProcessor& gpu) {
  gpu.step([](std::uint64_t, const abi::Slot& slot) {
    const std::uint64_t handle = slot.word[14] | static_cast<std::uint64_t>(slot.word[15]) << 32;
    if (handle != 0) std::atomic_ref{reinterpret_cast<abi::AmdSignal*>(handle)->value}.fetch_sub(1, std::memory_order_release);
  });
}

DispatchPacket dispatch(Barrier barrier) {
  return {.grid = {64, 1, 1}, .group = {64, 1, 1}, .kernel_object = 0x1000, .kernarg_address = 0x2000, .barrier = barrier};
}

// A driver on pages of its own, that can be made unreachable.
struct Pages {
  static constexpr std::size_t kBytes = (sizeof(FakeDriver) + 4095) / 4096 * 4096;
  void* base = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void forbid() const { mprotect(base, kBytes, PROT_NONE); }
  void allow() const { mprotect(base, kBytes, PROT_READ | PROT_WRITE); }
};

struct Fixture {
  Pages pages;
  std::shared_ptr<FakeDriver> driver{new (pages.base) FakeDriver, [](FakeDriver* d) { d->~FakeDriver(); }};
  Queue queue;
  FakeProcessor& gpu;
  explicit Fixture(Producers producers = Producers::multi)
      : queue(*Queue::create(driver, {.packets = 64, .producers = producers})), gpu(driver->last_queue().processor()) {
    for (int i = 0; i < 256; ++i) { // every slot gets its signal: the steady state begins after that
      queue.submit(dispatch(Barrier::off));
      step(gpu);
    }
  }
  ~Fixture() { driver->last_queue().start(); }

  // Every way to submit, and asking whether it is done. False if something did not complete.
  bool use_everything() {
    bool good = true;
    const DispatchPacket batch[] = {dispatch(Barrier::off), dispatch(Barrier::off), dispatch(Barrier::on)};
    const DispatchPacket loose[] = {dispatch(Barrier::off), dispatch(Barrier::off)};
    for (int i = 0; i < kLoops; ++i) {
      const Ticket epoch = queue.submit(dispatch(Barrier::on));
      const Ticket own = queue.submit(dispatch(Barrier::off));
      const auto tried = queue.try_submit(BarrierAndPacket{});
      const Ticket three = queue.submit(batch);
      const Ticket two = queue.submit(loose);
      const auto posted = queue.post(dispatch(Barrier::off));
      const auto pushed = queue.ring().try_push(dispatch(Barrier::off));
      for (int k = 0; k < 10; ++k) step(gpu);
      good = good && epoch.done() && own.done() && tried && tried->done() && three.done() && two.done() && posted && pushed;
    }
    return good;
  }
};

// Runs `body` in a child; its exit status, or minus the signal that ended it.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL); // not Catch2's
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// From now on every system call but exit_group kills this process.
void forbid_system_calls() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) _exit(99);
}
} // namespace

TEST_CASE("hot path: submitting makes no system call") {
#ifdef AQL_SANITIZED
  AQL_SKIP("sanitizers make system calls of their own");
#endif
  const int control = in_child([] {
    forbid_system_calls();
    return static_cast<int>(getppid());
  });
  if (control == 99) AQL_SKIP("this system does not allow seccomp filters");
  CHECK(control == -SIGSYS); // the filter works
  for (const Producers producers : {Producers::single, Producers::multi}) {
    CHECK(in_child([producers] {
            auto* f = new Fixture{producers}; // never destroyed: that would need system calls
            forbid_system_calls();
            return f->use_everything() ? 0 : 1;
          }) == 0);
  }
}

TEST_CASE("hot path: submitting allocates nothing and takes no lock") {
#ifdef AQL_SANITIZED
  AQL_SKIP("sanitizers bring their own allocator");
#endif
  Fixture f;
  std::uint64_t allocations = g_allocations, locks = g_locks;
  const auto control = std::make_unique<std::mutex>();
  control->lock();
  control->unlock();
  CHECK(g_allocations > allocations); // the hooks work
  CHECK(g_locks > locks);
  allocations = g_allocations;
  locks = g_locks;
  const bool good = f.use_everything();
  allocations = g_allocations - allocations;
  locks = g_locks - locks;
  CHECK(good);
  CHECK(allocations == 0);
  CHECK(locks == 0);
}

TEST_CASE("hot path: submitting does not touch the driver") {
#ifdef AQL_SANITIZED
  AQL_SKIP("sanitizers replace the handling of SIGSEGV");
#endif
  CHECK(in_child([] {
          auto* f = new Fixture;
          f->pages.forbid();
          return static_cast<int>(f->driver->info().target.size()); // the control: a virtual call
        }) == -SIGSEGV);
  CHECK(in_child([] {
          auto* f = new Fixture;
          f->pages.forbid();
          const bool good = f->use_everything();
          f->pages.allow();
          return good ? 0 : 1;
        }) == 0);
}
