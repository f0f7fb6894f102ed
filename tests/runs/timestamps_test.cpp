// Dispatch times as users read them: from the completion signal, converted to the host's clock.

#include <chrono>
#include <thread>
#include <vector>

#include <time.h>

#include "run_support.hpp"

using namespace aql;
using namespace aql::test;

namespace {

std::int64_t host_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

TEST_CASE("timestamps: 100 serial dispatches lie between the host's times, in order, without overlap") {
  const auto device = open_sim(GENERATE(as<std::string>{}, "gfx90a", "gfx942"), GENERATE(1u, 4u));
  const auto module = load(device, "basics_O2");
  const auto kernel = kernel_of(module, "store_value");
  const auto out = buffer_of(device, 4);
  auto queue = queue_on(device, 128);
  std::vector<Signal> done;
  for (int i = 0; i < 100; ++i) done.push_back(*Signal::create(device, 1));
  CHECK(done[0].timestamps().error().code == Errc::not_ready);
  const std::int64_t before = host_ns();
  auto prepared = PreparedDispatch::create(queue, arguments(kernel, out, 7u), {.grid = {64}, .group = {64}, .barrier = Barrier::on});
  REQUIRE(prepared);
  for (const auto& signal : done) {
    prepared->packet().completion = signal;
    queue.submit(prepared->packet());
  }
  for (const auto& signal : done) REQUIRE(signal.wait(Condition::eq, 0) == 0);
  const std::int64_t after = host_ns();
  std::int64_t last_end = before;
  for (const auto& signal : done) {
    const auto stamps = signal.timestamps();
    REQUIRE(stamps);
    const std::int64_t start = device.to_host_ns(stamps->start), end = device.to_host_ns(stamps->end);
    CHECK(start >= last_end);
    CHECK(end >= start);
    last_end = end;
  }
  CHECK(last_end <= after);
}

TEST_CASE("timestamps: a dispatch that was ended by a fault has none") {
  const auto device = open_sim("gfx942");
  const auto module = load(device, "errors_O2");
  const auto buffer = buffer_of(device, 64);
  auto queue = queue_on(device);
  const auto done = *Signal::create(device, 1);
  auto prepared = PreparedDispatch::create(queue, arguments(kernel_of(module, "store_at"), buffer, 1u << 20, 1u), {.grid = {64}, .group = {64}});
  REQUIRE(prepared);
  prepared->packet().completion = done;
  queue.submit(prepared->packet());
  CHECK(done.wait(Condition::eq, 0, Deadline::never(), Wait::blocked, queue) != 0);
  CHECK_FALSE(queue.status());
  CHECK(done.timestamps().error().code == Errc::not_ready);
}

// The interval is the point: a wrong unit or a slope that is off by a part in ten thousand shows only over seconds.
TEST_CASE("timestamps: over two seconds the device's clock, converted, stays between readings of the host's") {
  const auto device = open_sim("gfx942");
  const std::int64_t first_before = host_ns();
  const std::uint64_t first = device.timestamp();
  const std::int64_t first_after = host_ns();
  std::this_thread::sleep_for(std::chrono::seconds{2});
  const std::int64_t last_before = host_ns();
  const std::uint64_t last = device.timestamp();
  const std::int64_t last_after = host_ns();
  const auto tick_ns = static_cast<std::int64_t>(1'000'000'000 / device.info().timestamp_hz);
  CHECK(device.to_host_ns(first) >= first_before - tick_ns);
  CHECK(device.to_host_ns(first) <= first_after);
  CHECK(device.to_host_ns(last) >= last_before - tick_ns);
  CHECK(device.to_host_ns(last) <= last_after);
  const auto ticks_as_ns = static_cast<std::int64_t>((last - first) * 1'000'000'000 / device.info().timestamp_hz);
  CHECK(std::abs(device.to_host_ns(last) - device.to_host_ns(first) - ticks_as_ns) <= tick_ns);
}
