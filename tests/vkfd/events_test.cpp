#include "vkfd/events.hpp"

#include <cerrno>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace aql;
using vkfd::Events;

namespace {

std::uint32_t make(Events& events, std::uint32_t type, bool auto_reset) {
  Events::Created created;
  REQUIRE(events.create(type, auto_reset, created) == 0);
  return created.id;
}

vkfd::kfd::EventData data_for(std::uint32_t id, std::uint64_t age = 0) {
  vkfd::kfd::EventData data{};
  data.event_id = id;
  data.last_event_age = age;
  return data;
}

// Result of a wait that does not block.
std::uint32_t look(Events& events, std::vector<vkfd::kfd::EventData> data, bool all = false) {
  std::uint32_t result = 99;
  REQUIRE(events.wait(data, all, 0, result) == 0);
  return result;
}

constexpr std::uint32_t kSeen = KFD_IOC_WAIT_RESULT_COMPLETE, kNotSeen = KFD_IOC_WAIT_RESULT_TIMEOUT;

// Sets an event that resets itself until another thread's wait has taken it: that thread waits by then.
void give(Events& events, std::uint32_t id) {
  do {
    std::this_thread::yield();
    REQUIRE(events.set(id) == 0);
  } while (look(events, {data_for(id)}) == kSeen);
}

} // namespace

TEST_CASE("events: one that resets itself is seen by one wait, another by every wait until it is reset") {
  Events events;
  const auto once = make(events, KFD_IOC_EVENT_SIGNAL, true), always = make(events, KFD_IOC_EVENT_SIGNAL, false);
  CHECK(look(events, {data_for(once)}) == kNotSeen);
  REQUIRE(events.set(once) == 0);
  REQUIRE(events.set(always) == 0);
  CHECK(look(events, {data_for(once)}) == kSeen);
  CHECK(look(events, {data_for(once)}) == kNotSeen);
  CHECK(look(events, {data_for(always)}) == kSeen);
  CHECK(look(events, {data_for(always)}) == kSeen);
  REQUIRE(events.reset(always) == 0);
  CHECK(look(events, {data_for(always)}) == kNotSeen);
}

TEST_CASE("events: a wait for all needs all, a wait for any needs one") {
  Events events;
  const auto a = make(events, KFD_IOC_EVENT_SIGNAL, false), b = make(events, KFD_IOC_EVENT_SIGNAL, false);
  REQUIRE(events.set(a) == 0);
  CHECK(look(events, {data_for(a), data_for(b)}, false) == kSeen);
  CHECK(look(events, {data_for(a), data_for(b)}, true) == kNotSeen);
  REQUIRE(events.set(b) == 0);
  CHECK(look(events, {data_for(a), data_for(b)}, true) == kSeen);
}

TEST_CASE("events: a waiter that tells the age it knows sees what was set while it did not wait") {
  Events events;
  const auto id = make(events, KFD_IOC_EVENT_SIGNAL, true);
  REQUIRE(events.set(id) == 0);
  REQUIRE(look(events, {data_for(id)}) == kSeen); // somebody else took it
  std::vector<vkfd::kfd::EventData> data{data_for(id, 1)};
  std::uint32_t result = 99;
  REQUIRE(events.wait(data, false, 0, result) == 0);
  CHECK(result == kSeen);
  CHECK(data[0].last_event_age == 2);
  REQUIRE(events.wait(data, false, 0, result) == 0);
  CHECK(result == kNotSeen);
}

TEST_CASE("events: an interrupt empties the slot and wakes who waits") {
  Events events;
  std::vector<std::uint64_t> page(KFD_SIGNAL_EVENT_LIMIT);
  events.set_page(page.data());
  Events::Created created;
  REQUIRE(events.create(KFD_IOC_EVENT_SIGNAL, true, created) == 0);
  REQUIRE(created.has_slot);
  CHECK(page[created.slot] == vkfd::kfd::kUnsignaledSlot);
  std::uint32_t result = 99;
  std::thread waiter{[&] {
    std::vector<vkfd::kfd::EventData> data{data_for(created.id)};
    (void)events.wait(data, false, 0xffffffffu, result);
  }};
  page[created.slot] = created.id; // what the device stores
  events.interrupt(created.id);
  waiter.join();
  CHECK(result == kSeen);
  CHECK(page[created.slot] == vkfd::kfd::kUnsignaledSlot);
}

TEST_CASE("events: an interrupt of a wave sets the events that have something in their slots, and no others") {
  Events events;
  std::vector<std::uint64_t> page(KFD_SIGNAL_EVENT_LIMIT);
  events.set_page(page.data());
  Events::Created stored, empty;
  REQUIRE(events.create(KFD_IOC_EVENT_SIGNAL, false, stored) == 0);
  REQUIRE(events.create(KFD_IOC_EVENT_SIGNAL, false, empty) == 0);
  page[stored.slot] = stored.id;
  events.interrupt(Events::kAny);
  CHECK(look(events, {data_for(stored.id)}) == kSeen);
  CHECK(look(events, {data_for(empty.id)}) == kNotSeen);
  CHECK(page[stored.slot] == vkfd::kfd::kUnsignaledSlot);
}

TEST_CASE("events: a wait for an event that is destroyed fails with an input/output error") {
  Events events;
  const auto first = make(events, KFD_IOC_EVENT_SIGNAL, true), id = make(events, KFD_IOC_EVENT_SIGNAL, true);
  std::uint32_t result = 99;
  int error = 0;
  std::thread waiter{[&] {
    std::vector<vkfd::kfd::EventData> data{data_for(first), data_for(id)};
    error = events.wait(data, true, 0xffffffffu, result);
  }};
  give(events, first);
  REQUIRE(events.destroy(id) == 0);
  waiter.join();
  CHECK(error == -EIO);
  CHECK(result == KFD_IOC_WAIT_RESULT_FAIL);
}

TEST_CASE("events: a wait for any that has seen one does not mind that a later one is destroyed") {
  Events events;
  const auto first = make(events, KFD_IOC_EVENT_SIGNAL, true), id = make(events, KFD_IOC_EVENT_SIGNAL, true);
  std::uint32_t result = 99;
  int error = 99;
  std::thread waiter{[&] {
    std::vector<vkfd::kfd::EventData> data{data_for(first), data_for(id)};
    error = events.wait(data, false, 0xffffffffu, result);
  }};
  give(events, first);
  REQUIRE(events.destroy(id) == 0);
  waiter.join();
  CHECK(error == 0);
  CHECK(result == kSeen);
}

TEST_CASE("events: a memory exception is told to memory events only, with its data") {
  Events events;
  const auto memory = make(events, KFD_IOC_EVENT_MEMORY, true), hardware = make(events, KFD_IOC_EVENT_HW_EXCEPTION, true);
  kfd_hsa_memory_exception_data what{};
  what.va = 0xdead000;
  what.failure.NotPresent = 1;
  events.memory_exception(what);
  std::vector<vkfd::kfd::EventData> data{data_for(memory)};
  std::uint32_t result = 99;
  REQUIRE(events.wait(data, false, 0, result) == 0);
  CHECK(result == kSeen);
  CHECK(data[0].memory.va == 0xdead000);
  CHECK(data[0].memory.failure.NotPresent == 1);
  CHECK(look(events, {data_for(hardware)}) == kNotSeen);
}

TEST_CASE("events: the slots end, and unknown events and types are refused") {
  Events events;
  Events::Created created;
  for (std::uint32_t i = 1; i < KFD_SIGNAL_EVENT_LIMIT; ++i) REQUIRE(events.create(KFD_IOC_EVENT_SIGNAL, true, created) == 0);
  CHECK(events.create(KFD_IOC_EVENT_SIGNAL, true, created) == -ENOSPC);
  REQUIRE(events.destroy(77) == 0);
  REQUIRE(events.create(KFD_IOC_EVENT_SIGNAL, true, created) == 0);
  CHECK(created.id == 77);
  CHECK(events.create(9, true, created) == -EINVAL);
  CHECK(events.set(0) == -EINVAL);
  CHECK(events.destroy(0x90000000u) == -EINVAL);
}
