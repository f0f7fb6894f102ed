#pragma once
// What PM4 and SDMA packets say alike: the comparison of a wait, and the operation of an atomic.
// Thread safety: pure, but for tc_atomic, which works on shared memory.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace aql::sim {

// The function of WAIT_REG_MEM and POLL_REGMEM; nothing for 7, which does not exist.
[[nodiscard]] constexpr std::optional<bool> wait_holds(std::uint32_t function, std::uint32_t value, std::uint32_t reference) noexcept {
  switch (function) {
  case 0: return true;
  case 1: return value < reference;
  case 2: return value <= reference;
  case 3: return value == reference;
  case 4: return value != reference;
  case 5: return value >= reference;
  case 6: return value > reference;
  default: return std::nullopt;
  }
}

// A TC_OP: bit 6 set without return value, bit 5 set for 64 bits; the rest is the operation.
[[nodiscard]] constexpr bool tc_is_wide(std::uint32_t tc_op) noexcept { return (tc_op & 0x20u) != 0; }
[[nodiscard]] constexpr std::uint32_t tc_operation(std::uint32_t tc_op) noexcept { return tc_op & 0x1fu; }
inline constexpr std::uint32_t kTcCompareSwap = 0x08;

// One integer atomic on `memory`; the value before. Nothing, and memory untouched, for operations that do not exist here.
// Sequentially consistent: what a copy engine or a processor did before is seen by who sees the result.
template <class T>
[[nodiscard]] std::optional<T> tc_atomic(T& memory, std::uint32_t operation, T data, T compare) noexcept {
  using Signed = std::make_signed_t<T>;
  std::atomic_ref target{memory};
  T old = target.load(std::memory_order_relaxed);
  for (;;) {
    T wanted = old;
    switch (operation) {
    case 0x07: wanted = data; break;
    case kTcCompareSwap: wanted = old == compare ? data : old; break;
    case 0x0f: wanted = old + data; break;
    case 0x10: wanted = old - data; break;
    case 0x11: wanted = static_cast<Signed>(data) < static_cast<Signed>(old) ? data : old; break;
    case 0x12: wanted = std::min(data, old); break;
    case 0x13: wanted = static_cast<Signed>(data) > static_cast<Signed>(old) ? data : old; break;
    case 0x14: wanted = std::max(data, old); break;
    case 0x15: wanted = old & data; break;
    case 0x16: wanted = old | data; break;
    case 0x17: wanted = old ^ data; break;
    case 0x18: wanted = old >= data ? 0 : old + 1; break;
    case 0x19: wanted = old == 0 || old > data ? data : old - 1; break;
    default: return std::nullopt;
    }
    if (target.compare_exchange_weak(old, wanted, std::memory_order_seq_cst)) return old;
  }
}

// The same on `host`, 4 or 8 bytes as the TC_OP says and aligned to them. `equal`: the value before was `compare`.
struct TcResult {
  bool known = false, equal = false;
};
[[nodiscard]] inline TcResult tc_atomic_at(void* host, std::uint32_t tc_op, std::uint64_t data, std::uint64_t compare) noexcept {
  if (tc_is_wide(tc_op)) {
    const auto old = tc_atomic(*static_cast<std::uint64_t*>(host), tc_operation(tc_op), data, compare);
    return {old.has_value(), old == compare};
  }
  const auto compare32 = static_cast<std::uint32_t>(compare);
  const auto old = tc_atomic(*static_cast<std::uint32_t*>(host), tc_operation(tc_op), static_cast<std::uint32_t>(data), compare32);
  return {old.has_value(), old == compare32};
}

// True for the operations that tc_atomic has.
[[nodiscard]] inline bool tc_is_known(std::uint32_t tc_op) noexcept {
  std::uint32_t nowhere = 0;
  return tc_atomic(nowhere, tc_operation(tc_op), 0u, 0u).has_value();
}

} // namespace aql::sim
