#include "driver/code_invalidation.hpp"

#include <atomic>

#include <aql/packet.hpp>

namespace aql::detail {
namespace {

template <class P>
void publish(const QueueView& view, std::uint64_t index, const P& packet) noexcept {
  abi::Slot& slot = view.ring[index & view.mask];
  const std::uint32_t word0 = packet.emit(slot);
  std::atomic_ref{slot.word[0]}.store(word0, std::memory_order_release); // A
}

} // namespace

// PM4 type 3 ACQUIRE_MEM of gfx9 (soc15d.h of the Linux kernel): CP_COHER_CNTL, size (40 bits of 256-byte units), base, poll interval.
void write_invalidation(std::uint32_t (&words)[kInvalidateDwords]) noexcept {
  constexpr std::uint32_t kAcquireMem = 0x58;
  constexpr std::uint32_t kL2WriteBack = 1u << 18, kL2 = 1u << 23;              // TC_WB_ACTION_ENA, TC_ACTION_ENA
  constexpr std::uint32_t kScalarCache = 1u << 27, kInstructionCache = 1u << 29; // SH_KCACHE_ACTION_ENA, SH_ICACHE_ACTION_ENA
  words[0] = 3u << 30 | (kInvalidateDwords - 2) << 16 | kAcquireMem << 8;
  words[1] = kL2WriteBack | kL2 | kScalarCache | kInstructionCache;
  words[2] = 0xffffffffu;
  words[3] = 0xff;
  words[4] = words[5] = 0;
  words[6] = 4;
}

std::uint64_t submit_invalidation(const QueueView& view, std::uint64_t write, std::uint64_t buffer, std::uint64_t done) noexcept {
  // A barrier packet completes: not every firmware completes a signal of the vendor packet itself.
  publish(view, write, Pm4IbPacket{.address = buffer, .size_dwords = kInvalidateDwords, .barrier = Barrier::on, .completion = {}});
  publish(view, write + 1, BarrierAndPacket{.barrier = Barrier::on, .completion = {done}});
  write += 2;
  std::atomic_ref{*view.write_index}.store(write, std::memory_order_release); // B
  std::atomic_ref{*view.doorbell}.store(write - 1, std::memory_order_release);
  return write;
}

} // namespace aql::detail
