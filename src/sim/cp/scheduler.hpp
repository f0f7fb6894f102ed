#pragma once
// Which workgroup starts next. Groups are made one at a time, so a grid of any size starts at once; how many may be resident is
// what the whole device has of wave slots, registers, LDS and group slots (rule 13: all groups that fit make progress together).
// Thread safety: all members may be called from any thread; with one worker the lock is left out.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "sim/cp/dispatch.hpp"
#include "sim/cp/profile.hpp"

namespace aql::sim {

// Small deterministic generator (xorshift64*).
class Random {
public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {}
  [[nodiscard]] std::uint32_t below(std::uint32_t limit) noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t x = state_ * 0x2545F4914F6CDD1Dull;
    return static_cast<std::uint32_t>((x >> 32) * limit >> 32);
  }

private:
  std::uint64_t state_;
};

class Scheduler {
public:
  Scheduler(const DeviceProfile& profile, bool shared, std::uint64_t seed);

  // A dispatch with work; it leaves the lists when its last group has started or it is cancelled.
  void add(Dispatch* dispatch);
  struct Grant {
    Dispatch* dispatch = nullptr;
    std::uint64_t index = 0;
    bool more = false; // other groups wait to be started
  };
  // Takes the resources of one group, of the next dispatch in turn. Empty: nothing waits, or nothing that waits fits now.
  [[nodiscard]] Grant start();
  // Gives the resources of one group back.
  void end(Dispatch* dispatch);
  // Removes the groups that have not started and returns how many they were.
  [[nodiscard]] std::uint64_t cancel(Dispatch* dispatch);
  void change_priority(Dispatch* dispatch, std::int32_t priority);
  // Dispatches none of whose groups has started: worth a look before anything that runs goes on.
  [[nodiscard]] std::uint32_t newcomers() const noexcept { return newcomers_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

private:
  class Lock;
  struct List {
    Dispatch* first = nullptr;
    Dispatch* last = nullptr;
    void append(Dispatch* d) noexcept;
    void remove(Dispatch* d) noexcept;
  };
  // Dispatches of one priority: those that have not started, oldest first, and those that have, longest not served first.
  struct Level {
    std::int32_t priority = 0;
    List fresh, started;
  };
  [[nodiscard]] bool fits(const Dispatch& dispatch) const noexcept;
  [[nodiscard]] Dispatch* first_that_fits(const List& list) noexcept;
  [[nodiscard]] Dispatch* pick();
  [[nodiscard]] Level& level(std::int32_t priority);
  void take_off(Dispatch* dispatch) noexcept;

  const bool shared_;
  const bool seeded_;
  Random random_;
  std::mutex mutex_;
  std::vector<Level> levels_; // highest priority first
  Resources free_;
  std::uint32_t picks_ = 0;
  // A newcomer for which there was no room although others could start: they hold back until it has, so that a stream of
  // small groups cannot keep out a large one. Given up after a while in which nothing ended.
  Dispatch* starving_ = nullptr;
  std::uint32_t refusals_ = 0;
  bool hold_off_ = false;
  std::atomic<std::uint32_t> newcomers_{0}, waiting_{0};
};

} // namespace aql::sim
