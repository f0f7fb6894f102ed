// Bad addresses and bad instructions: always a report through the queue, never a crash, never a silent success.

#include <atomic>
#include <regex>
#include <vector>

#include <sys/mman.h>

#include "run_support.hpp"

using namespace aql;
using namespace aql::test;
using Catch::Matchers::Contains;

namespace {

std::string target() { return GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950"); }
std::string level() { return GENERATE(as<std::string>{}, "_O0", "_O2"); }
constexpr std::uint64_t kAll = ~0ull, kLast = 1ull << 63;

struct Bench {
  Device device;
  Module module;
  Buffer out;
  explicit Bench(const std::string& t, const std::string& l = "_O2") : device(open_sim(t)), module(load(device, "poke" + l)), out(buffer_of(device, 256)) {}

  // Runs `name` on a fresh queue; the error, or Errc::ok.
  Error poke(const char* name, std::uint64_t address, std::uint64_t lanes) const {
    const auto kernel = kernel_of(module, name);
    Kernargs args{kernel};
    REQUIRE(args.set_address(0, address));
    if (args.explicit_count() == 3) {
      if (std::string_view{name} == "load_at") REQUIRE(args.set(1, out));
      else REQUIRE(args.set(1, 1u));
      REQUIRE(args.set(2, lanes));
    }
    std::atomic<int> calls{0};
    QueueOptions options;
    options.packets = 64;
    options.on_fault = [&](const QueueFault&) { ++calls; };
    Result<void> ended{};
    {
      auto queue = Queue::create(device, options);
      REQUIRE(queue);
      ended = run(*queue, args, {.grid = {64}, .group = {64}});
      if (!ended) {
        const auto later = run(*queue, args, {.grid = {64}, .group = {64}}); // later submissions fail with the same error
        REQUIRE_FALSE(later);
        CHECK(later.error().code == ended.error().code);
      }
    }
    CHECK(calls == (ended ? 0 : 1)); // waiters wake first; the callback has run when the queue is gone
    return ended ? Error{} : ended.error();
  }
};

} // namespace

TEST_CASE("bad addresses: loads, stores and atomics fault with kernel, lane, address and what is near") {
  const Bench bench{target(), level()};
  auto buffer = buffer_of(bench.device, 1024, PoolKind::device_coarse, "victim");
  const auto end = buffer.device_address() + 1024;
  int host_only = 0; // valid host memory that was never registered
  auto freed = buffer_of(bench.device, 4096, PoolKind::device_coarse, "old");
  const auto freed_address = freed.device_address();
  REQUIRE(freed.free());
  const char* names[] = {"load_at", "store_at", "atomic_at"};
  for (const char* name : names) {
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{8}, end, end + 4, freed_address + 16, std::uint64_t{0x8000'0000'0000'0000}, reinterpret_cast<std::uint64_t>(&host_only)}) {
      INFO(name << " at " << std::hex << address);
      const auto error = bench.poke(name, address, kAll);
      REQUIRE(error.code == Errc::memory_fault);
      CHECK_THAT(error.detail, Contains(name));
      CHECK_THAT(error.detail, Contains(std::string{name} == "load_at" ? "read" : std::string{name} == "store_at" ? "write" : "atomic"));
    }
    CHECK_THAT(bench.poke(name, end + 4, kLast).detail, Contains("lane 63") && Contains("4 bytes past") && Contains("victim"));
    CHECK_THAT(bench.poke(name, freed_address, kAll).detail, Contains("freed") && Contains("old"));
    CHECK(bench.poke(name, 8, 0).code == Errc::ok); // no active lane
    CHECK(bench.poke(name, end - 4, kAll).code == Errc::ok);
  }
  CHECK(host_only == 0);
}

TEST_CASE("bad addresses: an access that straddles the end of a buffer faults") {
  const Bench bench{"gfx942"};
  const auto buffer = buffer_of(bench.device, 1022);
  CHECK(bench.poke("store_at", buffer.device_address() + 1020, kAll).code == Errc::memory_fault);
}

TEST_CASE("bad addresses: stores and atomics to read-only memory fault, loads do not") {
  const Bench bench{target()};
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  {
    const auto pinned = bench.device.pin(page, 4096, "read only", PinAccess::read_only);
    REQUIRE(pinned);
    CHECK(bench.poke("load_at", pinned->device_address(), kAll).code == Errc::ok);
    CHECK(bench.poke("store_at", pinned->device_address(), kAll).code == Errc::memory_fault);
    const auto error = bench.poke("atomic_at", pinned->device_address(), kAll);
    CHECK(error.code == Errc::memory_fault);
    CHECK_THAT(error.detail, Contains("read-only"));
  }
  munmap(page, 4096);
}

TEST_CASE("bad addresses: code of a module cannot be written") {
  const Bench bench{"gfx942"};
  const auto kernel = kernel_of(bench.module, "load_at");
  CHECK(bench.poke("store_at", kernel.kernel_object(), kAll).code == Errc::memory_fault);
}

TEST_CASE("bad addresses: flat stores fault as global ones do") {
  const Bench bench{target()};
  CHECK(bench.poke("store_flat", 8, kAll).code == Errc::memory_fault);
}

TEST_CASE("bad code: a call to unmapped or non-executable memory is a fetch fault") {
  const Bench bench{target(), level()};
  const auto data = buffer_of(bench.device, 4096, PoolKind::device_coarse, "data");
  for (const std::uint64_t address : {std::uint64_t{0x10000}, data.device_address()}) {
    const auto error = bench.poke("call_at", address, kAll);
    CHECK(error.code == Errc::memory_fault);
    CHECK_THAT(error.detail, Contains("fetch"));
  }
}

TEST_CASE("bad code: a trap ends the queue with an exception") {
  const Bench bench{target(), level()};
  auto queue = queue_on(bench.device);
  const auto ended = run(queue, Kernargs{kernel_of(bench.module, "trap")}, {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::exception);
}

TEST_CASE("bad packet: a kernarg address that is not mapped faults, no crash") {
  const Bench bench{target()};
  auto queue = queue_on(bench.device);
  const auto kernel = kernel_of(bench.module, "load_at");
  const auto ticket = queue.submit(DispatchPacket{.grid = {64}, .group = {64}, .kernel_object = kernel.kernel_object(), .kernarg_address = 0x4000, .barrier = Barrier::on});
  const auto ended = ticket.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::memory_fault);
}

TEST_CASE("illegal instructions: every reserved encoding stops at its pc with its words, and nothing behind it runs") {
  const auto device = open_sim(target());
  const auto module = load(device, "illegal");
  const auto name = GENERATE(as<std::string>{}, "illegal_sop1", "illegal_sop2", "illegal_sopc", "illegal_sopk", "illegal_sopp", "illegal_vop1", "illegal_vopc", "illegal_vop3",
                             "illegal_vop3p", "illegal_ds", "illegal_flat", "illegal_mubuf", "illegal_smem", "illegal_mimg", "middle_of_literal");
  INFO(name);
  const auto out = buffer_of(device, 4);
  auto queue = queue_on(device);
  const auto ended = run(queue, arguments(kernel_of(module, name.c_str()), out), {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::illegal_instruction);
  CHECK_THAT(ended.error().detail, Contains(name) && Contains("illegal"));
  CHECK(out.as<std::uint32_t>()[0] == 1); // stored before, not after
}

TEST_CASE("illegal instructions: what is legal but not executed is told apart, by name") {
  const auto device = open_sim(target());
  const auto module = load(device, "illegal");
  const auto out = buffer_of(device, 4);
  auto queue = queue_on(device);
  const auto ended = run(queue, arguments(kernel_of(module, "not_compute"), out), {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Errc::unsupported);
  CHECK_THAT(ended.error().detail, Contains("ds_gws_barrier"));
  CHECK(out.as<std::uint32_t>()[0] == 1);
}

TEST_CASE("illegal instructions: running off the end of code is a fault") {
  const auto device = open_sim(target());
  const auto module = load(device, "illegal");
  const auto out = buffer_of(device, 4);
  auto queue = queue_on(device);
  const auto ended = run(queue, arguments(kernel_of(module, "runs_off"), out), {.grid = {64}, .group = {64}});
  REQUIRE_FALSE(ended);
  CHECK((ended.error().code == Errc::memory_fault || ended.error().code == Errc::illegal_instruction));
}
