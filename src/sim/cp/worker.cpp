#include "sim/cp/worker.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cp/hw_queue.hpp"

namespace aql::sim {
namespace {

// Turns that running groups get before one more is started beside them, if none ended meanwhile. Small, so that groups which
// wait for each other soon meet; not 1, so that long kernels do not fill memory with half-run groups for nothing.
constexpr std::uint32_t kTurnsBetweenStarts = 4;
// Groups that are started one after the other, because newcomers keep coming, before one of those that run gets a turn.
constexpr std::uint32_t kStartsInRow = 16;
// A slice with no more instructions than this before s_sleep was a look at some flag.
constexpr std::uint64_t kPollInstructions = 64;
// Ended groups that a worker keeps for the next ones, with their registers and LDS.
constexpr std::size_t kKeptGroups = 128;

} // namespace

Worker::Worker(Engine& engine, unsigned number)
    : engine_(engine), number_(number), port_(engine.map), view_(engine.map), random_(engine.options.seed + number) {}

ResidentGroup* Worker::start_group() {
  const Scheduler::Grant grant = engine_.scheduler.start();
  if (grant.dispatch == nullptr) return nullptr;
  if (grant.more && engine_.workers.size() > 1) {
    for (auto& worker : engine_.workers) {
      if (worker.get() != this) worker->sleeper.wake();
    }
  }
  std::unique_ptr<ResidentGroup> group;
  if (free_.empty()) {
    group = std::make_unique<ResidentGroup>();
  } else {
    group = std::move(free_.back());
    free_.pop_back();
  }
  Dispatch& dispatch = *grant.dispatch;
  if (dispatch.slots != nullptr) {
    // Full groups' worth of slots is reserved for each resident group, so this fails only where queues share a scratch
    // that the runtime made (external scratch): the dispatch's limit is sized to that.
    group->scratch_slots = dispatch.full_group_waves;
    if (!dispatch.slots->take({group->scratch_slot, group->scratch_slots})) group->scratch_slots = 0;
  }
  set_up_group(*group, dispatch, grant.index, engine_.setup);
  if (engine_.options.seed != 0) group->first_wave = random_.below(group->group.wave_count);
  return group.release();
}

ResidentGroup* Worker::resume_group() {
  const std::lock_guard lock{mutex_};
  if (suspended_.empty()) return nullptr;
  auto chosen = suspended_.begin();
  if (engine_.options.seed != 0) chosen += random_.below(static_cast<std::uint32_t>(std::min<std::size_t>(suspended_.size(), 4)));
  ResidentGroup* group = *chosen;
  suspended_.erase(chosen);
  resident_count_.store(suspended_.size(), std::memory_order_relaxed);
  return group;
}

ResidentGroup* Worker::steal() {
  const std::lock_guard lock{mutex_};
  if (suspended_.empty()) return nullptr;
  ResidentGroup* group = suspended_.back();
  suspended_.pop_back();
  resident_count_.store(suspended_.size(), std::memory_order_relaxed);
  return group;
}

void Worker::suspend(ResidentGroup* group) {
  std::size_t count = 0;
  {
    const std::lock_guard lock{mutex_};
    suspended_.push_back(group);
    count = suspended_.size();
    resident_count_.store(count, std::memory_order_relaxed);
  }
  if (count > 1 && engine_.workers.size() > 1) { // enough for two
    next_to_wake_ = (next_to_wake_ + 1) % engine_.workers.size();
    if (next_to_wake_ != number_) engine_.workers[next_to_wake_]->sleeper.wake();
  }
}

ResidentGroup* Worker::next_group() {
  const bool idle = resident_count_.load(std::memory_order_relaxed) == 0;
  if (engine_.scheduler.waiting() &&
      (idle || (starts_in_row_ < kStartsInRow &&
                (want_start_ || turns_since_start_ >= kTurnsBetweenStarts || engine_.scheduler.newcomers() != 0)))) {
    turns_since_start_ = 0;
    want_start_ = false;
    if (ResidentGroup* group = start_group()) {
      ++starts_in_row_;
      return group;
    }
  }
  if (!idle) {
    starts_in_row_ = 0;
    if (ResidentGroup* group = resume_group()) return group;
  }
  for (std::size_t i = 1; i < engine_.workers.size(); ++i) {
    Worker& other = *engine_.workers[(number_ + i) % engine_.workers.size()];
    if (other.can_spare()) {
      if (ResidentGroup* group = other.steal()) return group;
    }
  }
  return nullptr;
}

void Worker::retire(ResidentGroup* group) {
  Dispatch* dispatch = group->dispatch;
  if (group->scratch_slots != 0) {
    dispatch->slots->give({group->scratch_slot, group->scratch_slots});
    group->scratch_slots = 0;
  }
  std::unique_ptr<ResidentGroup> owned{group};
  if (free_.size() < kKeptGroups) free_.push_back(std::move(owned));
  engine_.scheduler.end(dispatch);
  engine_.groups_over(view_, dispatch, 1);
}

Worker::Did Worker::run() {
  constexpr std::uint64_t kTurnCost = 64;
  executed_ = kTurnCost;
  ResidentGroup* group = next_group();
  if (group == nullptr) return Did::nothing;
  const AddressMap::Slice slice{engine_.map};
  Dispatch& dispatch = *group->dispatch;
  Did did = Did::worked;
  if (dispatch.queue->held() && !dispatch.stop.load(std::memory_order_relaxed)) {
    did = Did::slept;
  } else if (!dispatch.stop.load(std::memory_order_relaxed)) {
    in_turn_.store(true, std::memory_order_relaxed);
    did = turn(*group);
    in_turn_.store(false, std::memory_order_relaxed);
  }
  if (group->alive == 0 || dispatch.stop.load(std::memory_order_relaxed)) {
    turns_since_start_ = 0;
    retire(group);
    return Did::worked;
  }
  ++turns_since_start_;
  want_start_ = did == Did::slept;
  suspend(group);
  return did;
}

Worker::Did Worker::turn(ResidentGroup& group) {
  Dispatch& dispatch = *group.dispatch;
  const std::uint32_t waves = group.group.wave_count;
  std::uint32_t budget[kMaxWavesPerGroup];
  for (std::uint32_t i = 0; i < waves; ++i) {
    budget[i] = engine_.options.slice_instructions;
    if (engine_.options.seed != 0) budget[i] = 1 + random_.below(budget[i]);
    Wave& wave = group.waves[i];
    wave.port = &port_;
    wave.code = &engine_.code;
    wave.fault = &fault_;
    if (group.state[i] == WaveState::sleeping) group.state[i] = WaveState::ready;
  }
  std::uint64_t executed = 0;
  bool worked = false;
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t k = 0; k < waves; ++k) {
      const std::uint32_t i = (group.first_wave + k) % waves;
      if (group.state[i] != WaveState::ready || budget[i] == 0) continue;
      Wave& wave = group.waves[i];
      const std::uint64_t before = wave.instructions;
      const Next next = run_wave(wave, budget[i]);
      const std::uint64_t ran = wave.instructions - before;
      executed += ran;
      budget[i] -= static_cast<std::uint32_t>(std::min<std::uint64_t>(ran, budget[i]));
      again = true;
      switch (next) {
      case Next::barrier:
        group.state[i] = WaveState::barrier;
        ++group.at_barrier;
        worked = true;
        break;
      case Next::end:
        group.state[i] = WaveState::ended;
        --group.alive;
        worked = true;
        break;
      case Next::yield:
        group.state[i] = WaveState::sleeping;
        worked = worked || ran > kPollInstructions;
        break;
      case Next::fault: report_fault(group, wave); return Did::worked;
      default:
        budget[i] = 0;
        worked = true;
        break;
      }
      // Waves that have ended do not count at a barrier.
      if (group.at_barrier != 0 && group.at_barrier == group.alive) {
        for (std::uint32_t j = 0; j < waves; ++j) {
          if (group.state[j] == WaveState::barrier) group.state[j] = WaveState::ready;
        }
        group.at_barrier = 0;
      }
      if (dispatch.stop.load(std::memory_order_relaxed)) return Did::worked;
    }
  }
  executed_ += executed;
  if (waves > 1) group.first_wave = engine_.options.seed != 0 ? random_.below(waves) : (group.first_wave + 1) % waves;
  const auto& options = engine_.options;
  if (options.watchdog_instructions != 0) {
    const std::uint64_t total = dispatch.instructions.fetch_add(executed, std::memory_order_relaxed) + executed;
    if (total > options.watchdog_instructions && group.alive != 0) {
      report_hang(group, fmt::format("the dispatch executed {} instructions without end, the watchdog's limit is {}", total,
                                     options.watchdog_instructions));
    }
  }
  if (options.watchdog_ms != 0 && group.alive != 0) {
    const std::uint64_t ms = (monotonic_ns() - dispatch.start_ns) / 1'000'000;
    if (ms > options.watchdog_ms)
      report_hang(
          group, fmt::format("the dispatch has run for {} ms without end, the watchdog's limit is {} ms", ms, options.watchdog_ms));
  }
  return worked ? Did::worked : Did::slept;
}

void Worker::stop(Dispatch* dispatch) {
  dispatch->stop.store(true, std::memory_order_relaxed);
  if (const std::uint64_t left = engine_.scheduler.cancel(dispatch); left != 0) engine_.groups_over(view_, dispatch, left);
}

void Worker::report_fault(ResidentGroup& group, const Wave& wave) {
  Fault fault = fault_;
  fault_ = {};
  std::copy_n(group.group.id, 3, fault.workgroup);
  fault.wave = wave.index_in_group;
  fault.packet_index = group.dispatch->packet_index;
  group.dispatch->queue->record_fault({fault.code, queue_error_bits(fault.code), fault.packet_index, {}, fault},
                                      group.dispatch->context.kernel_object);
  stop(group.dispatch);
}

void Worker::report_hang(ResidentGroup& group, std::string why) {
  Fault fault;
  fault.code = Errc::hang;
  fault.reason = std::move(why) + describe_waves(group);
  const Wave* running = nullptr;
  for (std::uint32_t i = 0; i < group.group.wave_count; ++i) {
    if (group.state[i] != WaveState::ended && (running == nullptr || group.state[i] == WaveState::ready)) running = &group.waves[i];
  }
  if (running != nullptr) {
    fault.pc = running->pc;
    fault.wave = running->index_in_group;
  }
  std::copy_n(group.group.id, 3, fault.workgroup);
  fault.packet_index = group.dispatch->packet_index;
  group.dispatch->queue->record_fault({Errc::hang, queue_error_bits(Errc::hang), fault.packet_index, {}, fault},
                                      group.dispatch->context.kernel_object);
  stop(group.dispatch);
}

std::string Worker::describe_waves(const ResidentGroup& group) const {
  std::string text;
  for (std::uint32_t i = 0; i < group.group.wave_count; ++i) {
    const Wave& wave = group.waves[i];
    const char* state = "running";
    switch (group.state[i]) {
    case WaveState::ready: state = "running"; break;
    case WaveState::sleeping: state = "in s_sleep"; break;
    case WaveState::barrier: state = "waits at s_barrier"; break;
    case WaveState::ended: state = "ended"; break;
    }
    text += fmt::format("\n    group ({}, {}, {}) wave {}: {}, pc {:#x}, {} instructions", group.group.id[0], group.group.id[1],
                        group.group.id[2], i, state, wave.pc, wave.instructions);
  }
  return text;
}

} // namespace aql::sim
