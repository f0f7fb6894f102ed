// A ring of SDMA packets as a hardware queue.

#include <fmt/format.h>

#include "sim/cp/hw_queue.hpp"
#include "sim/cp/processor.hpp"

namespace aql::sim {
namespace {

// Then other queues and the waves get their turn: about the time a slice of instructions takes.
constexpr unsigned kPacketsPerTurn = 64;
constexpr std::uint64_t kBytesPerTurn = 256 * 1024;

} // namespace

SdmaRing::SdmaRing(Engine& engine, QueueId id, const SdmaQueueConfig& c)
    : config(c), interpreter(engine.map, *this), engine_(engine), id_(id) {
  const std::uint64_t read = std::atomic_ref{*c.read_pointer}.load(std::memory_order_acquire);
  interpreter.start_ring(c.ring_address, c.ring_bytes, read);
  open_doorbell(*c.doorbell, read, c.write_pointer);
}

void SdmaRing::packet(std::uint64_t address, std::span<const std::uint32_t> words) {
  if (PacketObserver* observer = engine_.packet_observer.load(std::memory_order_acquire)) {
    observer->packet(id_, PacketEngine::sdma, address, words);
  }
}
std::uint64_t SdmaRing::clock() { return engine_.clock.now(); }
void SdmaRing::interrupt(std::uint32_t context_id) {
  if (config.on_interrupt) config.on_interrupt(context_id);
  engine_.bump_event_counter();
}
void SdmaRing::stored() { engine_.bump_event_counter(); }

HwQueue::HwQueue(Engine& engine, Processor& processor, QueueId id, const SdmaQueueConfig& config)
    : engine_(engine), processor_(processor), id_(id), config_{.on_error = config.on_error, .agent_function = {}},
      sdma_(std::make_unique<SdmaRing>(engine, id, config)), ring_(nullptr), mask_(0), single_(true) {}

HwQueue::Poll HwQueue::poll_sdma() {
  SdmaRing& ring = *sdma_;
  auto& interpreter = ring.interpreter;
  const std::uint64_t doorbell = std::atomic_ref{*ring.config.doorbell}.load(std::memory_order_acquire); // label B
  const std::uint64_t before = interpreter.ring_position();
  if (doorbell == before) return Poll::idle;
  if (doorbell % 4 != 0 || doorbell - before > ring.config.ring_bytes) {
    record_fault(
        {Errc::invalid_packet_format,
         abi::kQueueErrorPacketFormat,
         before,
         fmt::format("SDMA ring of {} bytes: the doorbell says {}, the engine is at {}", ring.config.ring_bytes, doorbell, before),
         {}});
    return Poll::worked;
  }
  const AddressMap::Slice slice{engine_.map};
  interpreter.set_ring_end(doorbell);
  const auto status = interpreter.run(kPacketsPerTurn, kBytesPerTurn);
  std::atomic_ref{*ring.config.read_pointer}.store(interpreter.ring_position(), std::memory_order_release); // label C
  return turn_over(interpreter, status, before, Stage::condition);
}

} // namespace aql::sim
