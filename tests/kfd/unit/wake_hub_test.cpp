// Wake-ups over a thunk of the test's own, whose event behaves as KFD's auto-reset ones: raised with nobody waiting it stays raised
// and ends the next wait; raised with waiters it ends all their waits.

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "driver/kfd/wake_hub.hpp"
#include "support/catch.hpp"

using namespace aql;
using namespace aql::detail::kfd;

namespace {

struct FakeEvent {
  std::mutex mutex;
  std::condition_variable changed;
  bool raised = false;
  unsigned waiting = 0;
  std::uint64_t round = 0;
  HsaEvent event{};
} g_event;

void raise() {
  const std::lock_guard lock{g_event.mutex};
  if (g_event.waiting == 0) g_event.raised = true;
  ++g_event.round;
  g_event.changed.notify_all();
}

HSAKMT_STATUS create_event(HsaEventDescriptor*, bool, bool, HsaEvent** out) {
  g_event.raised = false;
  g_event.event.EventId = 5;
  g_event.event.EventData.HWData2 = 0x1000;
  *out = &g_event.event;
  return HSAKMT_STATUS_SUCCESS;
}
HSAKMT_STATUS destroy_event(HsaEvent*) { return HSAKMT_STATUS_SUCCESS; }
HSAKMT_STATUS set_event(HsaEvent*) {
  raise();
  return HSAKMT_STATUS_SUCCESS;
}
// Deaf to the timeout.
HSAKMT_STATUS wait_on_event(HsaEvent*, HSAuint32) {
  std::unique_lock lock{g_event.mutex};
  if (g_event.raised) {
    g_event.raised = false;
    return HSAKMT_STATUS_SUCCESS;
  }
  const auto round = g_event.round;
  ++g_event.waiting;
  g_event.changed.wait(lock, [round] { return g_event.round != round; });
  --g_event.waiting;
  return HSAKMT_STATUS_SUCCESS;
}

Thunk fake_thunk() {
  Thunk thunk;
  thunk.hsaKmtCreateEvent = &create_event;
  thunk.hsaKmtDestroyEvent = &destroy_event;
  thunk.hsaKmtSetEvent = &set_event;
  thunk.hsaKmtWaitOnEvent = &wait_on_event;
  return thunk;
}

} // namespace

TEST_CASE("wake hub: signals carry mailbox and number of the event") {
  const Thunk thunk = fake_thunk();
  WakeHub hub{thunk, std::chrono::hours{1}}; // a lost wake-up hangs
  REQUIRE(hub.start());
  abi::AmdSignal signal{};
  hub.arm(signal);
  CHECK(signal.event_mailbox_ptr == 0x1000);
  CHECK(signal.event_id == 5);
}

TEST_CASE("wake hub: a change between the look and the sleep ends the sleep at once") {
  const Thunk thunk = fake_thunk();
  WakeHub hub{thunk, std::chrono::hours{1}}; // a lost wake-up hangs
  REQUIRE(hub.start());
  const auto epoch = hub.epoch();
  hub.notify();
  hub.wait(epoch, Deadline::never()); // would never return
  SUCCEED();
}

TEST_CASE("wake hub: an event with nobody waiting ends the next sleep") {
  const Thunk thunk = fake_thunk();
  WakeHub hub{thunk, std::chrono::hours{1}}; // a lost wake-up hangs
  REQUIRE(hub.start());
  raise();
  hub.wait(hub.epoch(), Deadline::never());
  SUCCEED();
}

TEST_CASE("wake hub: no wake-up is lost between device, host and several sleepers") {
  const Thunk thunk = fake_thunk();
  WakeHub hub{thunk, std::chrono::hours{1}}; // a lost wake-up hangs
  REQUIRE(hub.start());
  constexpr unsigned kSleepers = 4;
  constexpr std::int64_t kRounds = 2000;
  std::atomic<std::int64_t> value{0};
  std::atomic<std::int64_t> seen[kSleepers]{};
  std::vector<std::thread> sleepers;
  for (unsigned s = 0; s < kSleepers; ++s) {
    sleepers.emplace_back([&, s] {
      for (std::int64_t next = 1; next <= kRounds; ++next) {
        for (;;) {
          const auto epoch = hub.epoch();
          if (value.load() >= next) break;
          hub.wait(epoch, Deadline::never());
        }
        seen[s] = next;
      }
    });
  }
  for (std::int64_t next = 1; next <= kRounds; ++next) {
    value.store(next);
    if (next % 2 == 0) raise(); // the device
    else hub.notify();          // the host
    for (auto& s : seen) {
      while (s.load() < next) std::this_thread::yield();
    }
  }
  for (auto& thread : sleepers) thread.join();
  SUCCEED();
}
