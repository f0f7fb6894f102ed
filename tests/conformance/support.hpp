#pragma once
// The device under test, named by AQL_CONFORMANCE_DEVICE (default sim:gfx942), and what the cases do again and again. Cases use the
// public API only, and read device memory by copies: a hardware driver may have no host view of it.

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include <aql/aql.hpp>

#include "support/catch.hpp"
#include "support/skip.hpp"

namespace aql::conformance {

// Long enough for a loaded machine; every wait that reaches it is a failure.
inline Deadline soon() { return Deadline::in(std::chrono::seconds{120}); }

inline std::string selector() {
  const char* name = std::getenv("AQL_CONFORMANCE_DEVICE");
  return name != nullptr && *name != '\0' ? name : "sim:gfx942";
}

inline const Device& device() {
  static const Device opened = [] {
    Select select;
    select.selector = selector();
    select.sim.watchdog_ms = 120'000;
    auto device = Device::open(select);
    if (!device) FAIL(device.error().message());
    return *device;
  }();
  return opened;
}
inline bool simulated() { return device().info().driver == "sim"; }

inline Module load(const std::string& name = "conformance") {
  auto module = Module::load_file(device(), std::string{AQL_TEST_KERNEL_DIR} + "/" + name + "." + device().info().target + ".co");
  if (!module) FAIL(module.error().message());
  return *module;
}
inline Kernel kernel(const char* name) {
  static const Module module = load();
  auto found = module.kernel(name);
  if (!found) FAIL(found.error().message());
  return *found;
}

// Zeroed.
inline Buffer buffer(std::size_t bytes, PoolKind kind = PoolKind::host_fine) {
  auto made = device().allocate(kind, bytes, "conformance");
  if (!made) FAIL(made.error().message());
  if (auto done = made->fill(std::byte{0}); !done) FAIL(done.error().message());
  return std::move(*made);
}
template <class T>
std::vector<T> read(const Buffer& from) {
  std::vector<T> out(from.size_bytes() / sizeof(T));
  if (auto done = from.read(out); !done) FAIL(done.error().message());
  return out;
}
inline std::atomic_ref<std::uint32_t> word(const Buffer& host, std::size_t index = 0) { return std::atomic_ref{host.as<std::uint32_t>()[index]}; }

inline Signal signal(std::int64_t value = 1) {
  auto made = Signal::create(device(), value);
  if (!made) FAIL(made.error().message());
  return std::move(*made);
}
inline bool zero(const SignalRef& s) { return s.wait(Condition::eq, 0, soon()) == 0; }

inline Queue queue(QueueOptions options = {.packets = 64}) {
  auto made = Queue::create(device(), std::move(options));
  if (!made) FAIL(made.error().message());
  return std::move(*made);
}

template <class... Args>
Kernargs arguments(const char* name, const Args&... args) {
  Kernargs kernargs{kernel(name)};
  if (auto done = kernargs.set_all(args...); !done) FAIL(done.error().message());
  return kernargs;
}
inline Ticket start(Queue& on, const Kernargs& kernargs, const Dispatch& dispatch = {.grid = {64}, .group = {64}}) {
  auto ticket = launch(on, kernargs, dispatch);
  if (!ticket) FAIL(ticket.error().message());
  return *ticket;
}
inline void finish(const Ticket& ticket) {
  if (auto done = ticket.wait(soon()); !done) FAIL(done.error().message());
}
inline void run(Queue& on, const Kernargs& kernargs, const Dispatch& dispatch = {.grid = {64}, .group = {64}}) { finish(start(on, kernargs, dispatch)); }

// A packet for hand-made batches; the prepared dispatch owns its kernargs and must outlive it.
inline PreparedDispatch prepare(Queue& on, const Kernargs& kernargs, const Dispatch& dispatch = {.grid = {64}, .group = {64}}) {
  auto made = PreparedDispatch::create(on, kernargs, dispatch);
  if (!made) FAIL(made.error().message());
  return std::move(*made);
}

// The order in which dispatches came to the journal. Kernels may be adding to it.
inline std::vector<std::uint32_t> journal(const Buffer& log) {
  const auto words = log.as<std::uint32_t>();
  std::vector<std::uint32_t> entries(words.begin() + 1, words.begin() + 1 + std::min<std::uint32_t>(word(log).load(), 1023));
  return entries;
}
constexpr std::size_t kJournalBytes = 4096;

} // namespace aql::conformance
