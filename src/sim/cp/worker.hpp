#pragma once
// Runs workgroups: a turn of one group at a time, each wave for a bounded number of instructions, so that everything that is
// resident moves on, even with one worker (rule 13).
// Thread safety: run() by one thread; steal() by any.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/cp/engine.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim {

class Worker {
public:
  enum class Did : std::uint8_t {
    nothing, // no group anywhere
    slept,   // only waves that wait in s_sleep loops
    worked,
  };

  Worker(Engine& engine, unsigned number);
  // One turn of one group.
  Did run();
  [[nodiscard]] HostView& view() noexcept { return view_; }
  // Instructions of the last turn, and something for its overhead.
  [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }
  [[nodiscard]] std::size_t resident() const noexcept { return resident_count_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool can_spare() const noexcept { return resident() > (in_turn_.load(std::memory_order_relaxed) ? 0u : 1u); }
  // Takes a suspended group away, for another worker. Null: none to spare.
  [[nodiscard]] ResidentGroup* steal();

  Sleeper sleeper; // additional workers

private:
  [[nodiscard]] ResidentGroup* next_group();
  [[nodiscard]] ResidentGroup* start_group();
  [[nodiscard]] ResidentGroup* resume_group();
  void suspend(ResidentGroup* group);
  void retire(ResidentGroup* group);
  Did turn(ResidentGroup& group);
  void report_fault(ResidentGroup& group, const Wave& wave);
  void report_hang(ResidentGroup& group, std::string why);
  [[nodiscard]] std::string describe_waves(const ResidentGroup& group) const;
  void stop(Dispatch* dispatch);

  Engine& engine_;
  const unsigned number_;
  MemoryPort port_;
  HostView view_;
  Fault fault_;
  Random random_;
  std::uint64_t executed_ = 0;
  std::uint32_t turns_since_start_ = 0;
  std::uint32_t starts_in_row_ = 0;
  bool want_start_ = true; // the last turn only waited: another group may be what it waits for
  std::mutex mutex_;       // suspended_
  std::deque<ResidentGroup*> suspended_;
  std::atomic<std::size_t> resident_count_{0};
  std::atomic<bool> in_turn_{false}; // a group is being run, so a suspended one may be taken away
  std::size_t next_to_wake_ = 0;
  std::vector<std::unique_ptr<ResidentGroup>> free_;
};

} // namespace aql::sim
