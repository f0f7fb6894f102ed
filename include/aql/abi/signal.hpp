#pragma once
// Wire struct of an HSA signal as AMD hardware sees it: amd_signal_t of amd_hsa_signal.h. A signal handle is its address.

#include <cstddef>
#include <cstdint>

namespace aql::abi {

// amd_signal_kind64_t.
enum class SignalKind : std::int64_t { invalid = 0, user = 1, doorbell = -1, legacy_doorbell = -2 };

struct alignas(64) AmdSignal {
  std::int64_t kind;                 // SignalKind; the creator writes it once
  std::int64_t value;                // user signal: the value (atomic). Doorbell kinds: the 64-bit address of the doorbell
  std::uint64_t event_mailbox_ptr;   // where to store event_id on completion, or 0: no interrupt
  std::uint32_t event_id;            // KFD event to raise on completion
  std::uint32_t reserved1;
  std::uint64_t start_ts;            // device clock ticks, written by the packet processor
  std::uint64_t end_ts;
  std::uint64_t queue_ptr;           // doorbell kinds: the amd_queue_t
  std::uint32_t reserved3[2];
};
static_assert(sizeof(AmdSignal) == 64 && alignof(AmdSignal) == 64);
static_assert(offsetof(AmdSignal, value) == 8 && offsetof(AmdSignal, event_mailbox_ptr) == 16);
static_assert(offsetof(AmdSignal, event_id) == 24 && offsetof(AmdSignal, reserved1) == 28);
static_assert(offsetof(AmdSignal, start_ts) == 32 && offsetof(AmdSignal, end_ts) == 40);
static_assert(offsetof(AmdSignal, queue_ptr) == 48 && offsetof(AmdSignal, reserved3) == 56);

} // namespace aql::abi
