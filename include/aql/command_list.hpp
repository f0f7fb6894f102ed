#pragma once
// Command lists: packets recorded once, patched where they change, replayed with one reservation, one copy, one header store a
// packet and one doorbell.
// Thread safety: a list is used by one thread at a time; it may be replayed on several queues of its device.
// Memory ordering: a replay is A and B of ring.hpp for all its packets.
// Lifetime: a list keeps its device alive. Destroying it while replays that use its kernarg memory are in flight waits for them,
// at most 10 s; after that the memory is left alone and a warning logged. Kernels and buffers are the caller's to keep.
//
// Kernel arguments: add(packet, arguments) lets the list keep them. They live in frames, one frame holding the arguments of the
// whole list. A replay after a patch never writes into a frame that an earlier replay still reads: it takes another one. Replays
// without a patch in between share theirs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/packet.hpp>
#include <aql/queue.hpp>

namespace aql {

class AQL_API CommandList {
public:
  explicit CommandList(const Device& device);
  explicit CommandList(std::shared_ptr<detail::Driver> driver);
  CommandList(CommandList&&) noexcept;
  CommandList& operator=(CommandList&&) noexcept;
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;
  ~CommandList();

  // Records a packet as it is; its number in the list. A completion signal that it names is decremented by every replay.
  template <Packet P>
  std::size_t add(const P& packet) {
    return add_slot(packet.encode());
  }
  // Records a dispatch whose arguments the list keeps (copied now); kernarg_address is the list's to fill.
  std::size_t add(const DispatchPacket& packet, std::span<const std::byte> arguments);

  [[nodiscard]] std::size_t size() const noexcept;
  // What is recorded, for looking at: the kernarg address is that of the last replay.
  [[nodiscard]] abi::Slot packet(std::size_t number) const noexcept;

  // Patches, for the replays from now on. Errors: invalid_argument (no such packet, not a dispatch, outside the arguments).
  Result<void> set_grid(std::size_t number, Dim3 grid);
  Result<void> set_group_bytes(std::size_t number, std::uint32_t group_bytes);
  Result<void> set_completion(std::size_t number, SignalHandle completion);
  Result<void> set_arguments(std::size_t number, std::size_t offset, std::span<const std::byte> bytes);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Result<void> set_argument(std::size_t number, std::size_t offset, const T& value) {
    return set_arguments(number, offset, std::as_bytes(std::span<const T, 1>{&value, 1}));
  }
  // Another packet in its place; a dispatch whose arguments the list keeps stays one.
  template <Packet P>
  Result<void> set(std::size_t number, const P& packet) {
    return set_slot(number, packet.encode());
  }

  // Submits all packets. The ticket is that of Queue::submit of the same batch. Errors: invalid_argument (empty, or more packets
  // than the ring holds), out_of_resources (kernarg memory), the queue's error.
  Result<Ticket> replay(Queue& queue);
  // Frames of kernarg memory made so far.
  [[nodiscard]] std::size_t frames() const noexcept;

private:
  struct State;
  std::size_t add_slot(const abi::Slot& slot);
  Result<void> set_slot(std::size_t number, const abi::Slot& slot);
  std::unique_ptr<State> state_;
};

} // namespace aql
