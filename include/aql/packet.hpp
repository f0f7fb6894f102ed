#pragma once
// AQL packets as values: made with designated initialisers, checked, printed, written into a slot, read back from bytes.
// Thread safety: values; no shared state.
// Memory ordering: emit() fills a slot's bytes 4 to 63 and returns the first 32-bit word (header and setup); whoever owns the
// ring publishes that word last, as one release store (label A). Nothing here touches the first word of a slot.
// HSA Platform System Architecture 1.2, section 2.8; vendor formats from hsa_ext_amd.h.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <aql/abi/packet.hpp>
#include <aql/device_info.hpp>
#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/types.hpp>

namespace aql {

// on: the packet does not launch before every earlier packet of its queue has completed. It implies no fence.
enum class Barrier : std::uint8_t { off = 0, on = 1 };

// Fence scope. Acquire applies when the packet becomes active, release after its work ends and before its completion signal.
enum class Scope : std::uint8_t { none = 0, agent = 1, system = 2 };

// Handle of a signal, 0 = none. A Signal turns into one by itself: `.completion = signal`.
struct SignalHandle {
  std::uint64_t value = 0;
  constexpr SignalHandle() noexcept = default;
  constexpr SignalHandle(std::uint64_t handle) noexcept : value(handle) {}
  friend constexpr bool operator==(SignalHandle, SignalHandle) = default;
};

namespace detail {
constexpr std::uint16_t saturate16(std::uint32_t v) noexcept { return static_cast<std::uint16_t>(std::min<std::uint32_t>(v, 0xFFFF)); }
constexpr std::uint8_t saturate8(std::uint32_t v) noexcept { return static_cast<std::uint8_t>(std::min<std::uint32_t>(v, 0xFF)); }
constexpr std::uint32_t pack16(std::uint32_t low, std::uint32_t high) noexcept { return low | high << 16; }
// Two words at once: on the submit path a slot is eight 64-bit stores.
[[gnu::always_inline]] constexpr void put64(abi::Slot& slot, unsigned word, std::uint64_t value) noexcept {
  if consteval {
    slot.word[word] = static_cast<std::uint32_t>(value);
    slot.word[word + 1] = static_cast<std::uint32_t>(value >> 32);
  } else {
    __builtin_memcpy(slot.word + word, &value, sizeof value);
  }
}
constexpr std::uint64_t pack32(std::uint64_t low, std::uint64_t high) noexcept { return low | high << 32; }
constexpr std::uint64_t get64(const abi::Slot& slot, unsigned word) noexcept {
  return slot.word[word] | static_cast<std::uint64_t>(slot.word[word + 1]) << 32;
}
constexpr std::uint32_t header_word(abi::PacketType type, Barrier barrier, Scope acquire, Scope release) noexcept {
  constexpr std::uint32_t kFields = abi::HeaderBarrier::encode<std::uint32_t>(~0u) | abi::HeaderAcquire::encode<std::uint32_t>(~0u) |
                                    abi::HeaderRelease::encode<std::uint32_t>(~0u);
  return static_cast<std::uint32_t>(type) |
         ((static_cast<std::uint32_t>(barrier) << abi::HeaderBarrier::kShift | static_cast<std::uint32_t>(acquire) << abi::HeaderAcquire::kShift |
           static_cast<std::uint32_t>(release) << abi::HeaderRelease::kShift) & kFields);
}
constexpr std::uint32_t derive_dimensions(std::uint32_t asked, Dim3 a, Dim3 b) noexcept {
  if (asked != 0) return std::min<std::uint32_t>(asked, 3); // the field has two bits; validate() names larger values
  return (a.z > 1 || b.z > 1) ? 3 : (a.y > 1 || b.y > 1) ? 2 : 1;
}
constexpr Barrier barrier_of(std::uint32_t word) noexcept { return static_cast<Barrier>(abi::HeaderBarrier::decode(word)); }
constexpr Scope acquire_of(std::uint32_t word) noexcept { return static_cast<Scope>(abi::HeaderAcquire::decode(word)); }
constexpr Scope release_of(std::uint32_t word) noexcept { return static_cast<Scope>(abi::HeaderRelease::decode(word)); }

// encode() for every packet type: a whole slot, for tables, tests and printing. Rings use emit() and publish the word themselves.
template <class Packet>
constexpr abi::Slot encode_packet(const Packet& packet) noexcept {
  abi::Slot slot{};
  slot.word[0] = packet.emit(slot);
  return slot;
}
} // namespace detail

// Sizes that do not fit their field are stored as the field's largest value, which every processor refuses; validate() says
// which field and why before that.

struct DispatchPacket {
  Dim3 grid{};                           // work-items, not groups; a partial last group is legal
  Dim3 group{};                          // work-items
  std::uint64_t kernel_object = 0;     // device address of the kernel descriptor
  std::uint64_t kernarg_address = 0;   // device address; 0 for a kernel without arguments
  std::uint32_t private_bytes = 0;     // scratch a work-item
  std::uint32_t group_bytes = 0;       // LDS a group, static and dynamic
  std::uint32_t dimensions = 0;        // 1 to 3; 0 = as many as grid and group use
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system;
  Scope release = Scope::system;
  SignalHandle completion{};           // decremented by one when the dispatch has ended

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    using namespace detail;
    Dim3 wg = group;
    if ((wg.x | wg.y | wg.z) > 0xFFFF) [[unlikely]] wg = {saturate16(wg.x), saturate16(wg.y), saturate16(wg.z)};
    slot.word[1] = pack16(wg.x, wg.y);
    put64(slot, 2, pack32(wg.z, grid.x));
    put64(slot, 4, pack32(grid.y, grid.z));
    put64(slot, 6, pack32(private_bytes, group_bytes));
    put64(slot, 8, kernel_object);
    put64(slot, 10, kernarg_address);
    put64(slot, 12, 0);
    put64(slot, 14, completion.value);
    return header_word(abi::PacketType::kernel_dispatch, barrier, acquire, release) |
           abi::SetupDimensions::encode<std::uint32_t>(derive_dimensions(dimensions, grid, group)) << 16;
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  // Reads the fields of a slot that holds such a packet; reserved fields are not looked at.
  [[nodiscard]] static constexpr DispatchPacket decode(const abi::Slot& slot) noexcept {
    using namespace detail;
    const auto* w = slot.word;
    return {.grid = {w[3], w[4], w[5]},
            .group = {w[1] & 0xFFFF, w[1] >> 16, w[2] & 0xFFFF},
            .kernel_object = get64(slot, 8),
            .kernarg_address = get64(slot, 10),
            .private_bytes = w[6],
            .group_bytes = w[7],
            .dimensions = abi::SetupDimensions::decode(w[0] >> 16),
            .barrier = barrier_of(w[0]),
            .acquire = acquire_of(w[0]),
            .release = release_of(w[0]),
            .completion = get64(slot, 14)};
  }
  friend constexpr bool operator==(const DispatchPacket&, const DispatchPacket&) = default;
};

// Barrier packets. Nothing behind one in its queue launches until it completes, whatever the next packet's barrier bit says.
template <abi::PacketType type>
struct BasicBarrierPacket {
  static constexpr abi::PacketType kType = type;
  std::array<SignalHandle, abi::kBarrierDependencies> dependencies{};
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system; // after the condition holds
  Scope release = Scope::system;
  SignalHandle completion{};

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    slot.word[1] = 0;
    for (unsigned i = 0; i < abi::kBarrierDependencies; ++i) detail::put64(slot, 2 + 2 * i, dependencies[i].value);
    detail::put64(slot, 12, 0);
    detail::put64(slot, 14, completion.value);
    return detail::header_word(type, barrier, acquire, release);
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  [[nodiscard]] static constexpr BasicBarrierPacket decode(const abi::Slot& slot) noexcept {
    BasicBarrierPacket p;
    for (unsigned i = 0; i < abi::kBarrierDependencies; ++i) p.dependencies[i] = detail::get64(slot, 2 + 2 * i);
    p.barrier = detail::barrier_of(slot.word[0]);
    p.acquire = detail::acquire_of(slot.word[0]);
    p.release = detail::release_of(slot.word[0]);
    p.completion = detail::get64(slot, 14);
    return p;
  }
  friend constexpr bool operator==(const BasicBarrierPacket&, const BasicBarrierPacket&) = default;
};
// Waits until every non-null dependency has been seen at 0; a null one counts as satisfied.
using BarrierAndPacket = BasicBarrierPacket<abi::PacketType::barrier_and>;
// Waits until any non-null dependency is seen at 0; with five null ones it can never complete (validate() says so).
using BarrierOrPacket = BasicBarrierPacket<abi::PacketType::barrier_or>;

// Runs a function of the agent that owns the queue (QueueOptions::agent_function).
struct AgentPacket {
  std::uint16_t type = 0;            // which function, chosen by the application
  std::uint64_t return_address = 0;  // where the function stores its result, or 0
  std::array<std::uint64_t, 4> arguments{};
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system;
  Scope release = Scope::system;
  SignalHandle completion{};

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    slot.word[1] = 0;
    detail::put64(slot, 2, return_address);
    for (unsigned i = 0; i < 4; ++i) detail::put64(slot, 4 + 2 * i, arguments[i]);
    detail::put64(slot, 12, 0);
    detail::put64(slot, 14, completion.value);
    return detail::header_word(abi::PacketType::agent_dispatch, barrier, acquire, release) | static_cast<std::uint32_t>(type) << 16;
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  [[nodiscard]] static constexpr AgentPacket decode(const abi::Slot& slot) noexcept {
    AgentPacket p;
    p.type = static_cast<std::uint16_t>(slot.word[0] >> 16);
    p.return_address = detail::get64(slot, 2);
    for (unsigned i = 0; i < 4; ++i) p.arguments[i] = detail::get64(slot, 4 + 2 * i);
    p.barrier = detail::barrier_of(slot.word[0]);
    p.acquire = detail::acquire_of(slot.word[0]);
    p.release = detail::release_of(slot.word[0]);
    p.completion = detail::get64(slot, 14);
    return p;
  }
  friend constexpr bool operator==(const AgentPacket&, const AgentPacket&) = default;
};

using ValueCondition = abi::ValueCondition;

// AMD vendor packet: waits until (signal & mask) <condition> value. A null signal counts as satisfied.
struct BarrierValuePacket {
  SignalHandle signal{};
  std::int64_t value = 0;
  std::int64_t mask = -1;
  ValueCondition condition = ValueCondition::eq;
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system;
  Scope release = Scope::system;
  SignalHandle completion{};

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    slot.word[1] = 0;
    detail::put64(slot, 2, signal.value);
    detail::put64(slot, 4, static_cast<std::uint64_t>(value));
    detail::put64(slot, 6, static_cast<std::uint64_t>(mask));
    slot.word[8] = static_cast<std::uint32_t>(condition);
    slot.word[9] = 0;
    detail::put64(slot, 10, 0);
    detail::put64(slot, 12, 0);
    detail::put64(slot, 14, completion.value);
    return detail::header_word(abi::PacketType::vendor_specific, barrier, acquire, release) |
           static_cast<std::uint32_t>(abi::VendorFormat::barrier_value) << 16;
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  [[nodiscard]] static constexpr BarrierValuePacket decode(const abi::Slot& slot) noexcept {
    return {.signal = detail::get64(slot, 2),
            .value = static_cast<std::int64_t>(detail::get64(slot, 4)),
            .mask = static_cast<std::int64_t>(detail::get64(slot, 6)),
            .condition = static_cast<ValueCondition>(slot.word[8]),
            .barrier = detail::barrier_of(slot.word[0]),
            .acquire = detail::acquire_of(slot.word[0]),
            .release = detail::release_of(slot.word[0]),
            .completion = detail::get64(slot, 14)};
  }
  friend constexpr bool operator==(const BarrierValuePacket&, const BarrierValuePacket&) = default;
};

// AMD vendor packet: runs an indirect buffer of PM4 words.
struct Pm4IbPacket {
  static constexpr std::uint32_t kIndirectBuffer = 0xC0023F00; // PM4 type 3, opcode 0x3F, four dwords
  static constexpr std::uint32_t kValid = 1u << 23;            // of the size word
  static constexpr std::uint32_t kSizeMask = 0xFFFFF;
  static constexpr std::uint32_t kRemaining = 0xA;             // dwords of this packet behind the count itself
  std::uint64_t address = 0;       // device address of the words, 4-byte aligned
  std::uint32_t size_dwords = 0;   // 1 to 0xFFFFF
  std::uint32_t control = kValid;  // upper 12 bits of the size word
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system;
  Scope release = Scope::system;
  SignalHandle completion{};

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    slot.word[1] = kIndirectBuffer;
    detail::put64(slot, 2, address);
    slot.word[4] = std::min(size_dwords, kSizeMask) | (control & ~kSizeMask);
    slot.word[5] = kRemaining;
    for (unsigned i = 6; i < 14; ++i) slot.word[i] = 0;
    detail::put64(slot, 14, completion.value);
    return detail::header_word(abi::PacketType::vendor_specific, barrier, acquire, release) |
           static_cast<std::uint32_t>(abi::VendorFormat::pm4_indirect_buffer) << 16;
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  [[nodiscard]] static constexpr Pm4IbPacket decode(const abi::Slot& slot) noexcept {
    return {.address = detail::get64(slot, 2),
            .size_dwords = slot.word[4] & kSizeMask,
            .control = slot.word[4] & ~kSizeMask,
            .barrier = detail::barrier_of(slot.word[0]),
            .acquire = detail::acquire_of(slot.word[0]),
            .release = detail::release_of(slot.word[0]),
            .completion = detail::get64(slot, 14)};
  }
  friend constexpr bool operator==(const Pm4IbPacket&, const Pm4IbPacket&) = default;
};

// AMD vendor packet: a dispatch that counts clusters of workgroups and can wait for one signal. Newer targets only.
struct ExtendedDispatchPacket {
  Dim3 cluster_count{};                  // clusters in the grid; y and z have 16 bits
  Dim3 cluster_size{};                   // workgroups in a cluster; 8 bits each
  Dim3 group{};                          // work-items in a workgroup
  std::uint64_t kernel_object = 0;
  std::uint64_t kernarg_address = 0;
  std::uint32_t private_bytes = 0;
  std::uint32_t group_bytes = 0;
  std::uint32_t dimensions = 0;        // 1 to 3; 0 = as many as count, size and group use
  std::uint8_t perf_hint = 0;
  SignalHandle dependency{};           // waited for until 0; null = none
  Barrier barrier = Barrier::off;
  Scope acquire = Scope::system;
  Scope release = Scope::system;
  SignalHandle completion{};

  [[nodiscard, gnu::always_inline]] constexpr std::uint32_t emit(abi::Slot& slot) const noexcept {
    using namespace detail;
    slot.word[1] = pack16(saturate16(group.x), saturate16(group.y));
    slot.word[2] = saturate16(group.z);
    slot.word[3] = cluster_count.x;
    slot.word[4] = pack16(saturate16(cluster_count.y), saturate16(cluster_count.z));
    slot.word[5] = saturate8(cluster_size.x) | static_cast<std::uint32_t>(saturate8(cluster_size.y)) << 8 |
                   static_cast<std::uint32_t>(saturate8(cluster_size.z)) << 16 | static_cast<std::uint32_t>(perf_hint) << 24;
    slot.word[6] = private_bytes;
    slot.word[7] = group_bytes;
    put64(slot, 8, kernel_object);
    put64(slot, 10, kernarg_address);
    put64(slot, 12, dependency.value);
    put64(slot, 14, completion.value);
    const Dim3 clusters{1, std::max(cluster_count.y, cluster_size.y), std::max(cluster_count.z, cluster_size.z)};
    return header_word(abi::PacketType::vendor_specific, barrier, acquire, release) |
           static_cast<std::uint32_t>(abi::VendorFormat::extended_dispatch) << 16 |
           abi::SetupDimensions::encode<std::uint32_t>(derive_dimensions(dimensions, clusters, group)) << 24;
  }
  [[nodiscard]] constexpr abi::Slot encode() const noexcept { return detail::encode_packet(*this); }
  [[nodiscard]] static constexpr ExtendedDispatchPacket decode(const abi::Slot& slot) noexcept {
    using namespace detail;
    const auto* w = slot.word;
    return {.cluster_count = {w[3], w[4] & 0xFFFF, w[4] >> 16},
            .cluster_size = {w[5] & 0xFF, w[5] >> 8 & 0xFF, w[5] >> 16 & 0xFF},
            .group = {w[1] & 0xFFFF, w[1] >> 16, w[2] & 0xFFFF},
            .kernel_object = get64(slot, 8),
            .kernarg_address = get64(slot, 10),
            .private_bytes = w[6],
            .group_bytes = w[7],
            .dimensions = abi::SetupDimensions::decode(w[0] >> 24),
            .perf_hint = static_cast<std::uint8_t>(w[5] >> 24),
            .dependency = get64(slot, 12),
            .barrier = barrier_of(w[0]),
            .acquire = acquire_of(w[0]),
            .release = release_of(w[0]),
            .completion = get64(slot, 14)};
  }
  friend constexpr bool operator==(const ExtendedDispatchPacket&, const ExtendedDispatchPacket&) = default;
};

// What can be submitted: fills a slot's body and returns its first word.
template <class P>
concept Packet = requires(const P& packet, abi::Slot& slot) {
  { packet.emit(slot) } noexcept -> std::same_as<std::uint32_t>;
  { packet.completion } -> std::convertible_to<SignalHandle>;
};

using AnyPacket = std::variant<DispatchPacket, BarrierAndPacket, BarrierOrPacket, AgentPacket, BarrierValuePacket, Pm4IbPacket,
                               ExtendedDispatchPacket>;

// What a device accepts; the defaults are those of gfx90a and gfx942.
struct PacketLimits {
  std::uint32_t max_workgroup_size = 1024;
  std::uint32_t max_group_bytes = 65536;
  std::uint32_t max_private_bytes = 131056;
  bool extended_dispatch = false;
  [[nodiscard]] static PacketLimits of(const DeviceInfo& info) noexcept {
    return {info.max_workgroup_size, info.lds_bytes, info.max_private_bytes, info.target.starts_with("gfx125")};
  }
};

// One message per bad field ("grid.x = 3 is smaller than group.x = 64; ..."); empty if the packet may be submitted.
[[nodiscard]] AQL_API std::vector<std::string> validate(const DispatchPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const BarrierAndPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const BarrierOrPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const AgentPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const BarrierValuePacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const Pm4IbPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const ExtendedDispatchPacket& packet, const PacketLimits& limits = {});
[[nodiscard]] AQL_API std::vector<std::string> validate(const AnyPacket& packet, const PacketLimits& limits = {});
// The same for 64 bytes from anywhere: also type, vendor format, header bits, and every reserved field that is not 0.
[[nodiscard]] AQL_API std::vector<std::string> validate(const abi::Slot& slot, const PacketLimits& limits = {});

// Reads a packet back. Errors (invalid_packet_format): an unpublished slot (INVALID), an unknown type or vendor format.
// Reserved fields are not looked at: validate(slot) does that.
[[nodiscard]] AQL_API Result<AnyPacket> parse(std::span<const std::byte, abi::kPacketSize> bytes);
[[nodiscard]] AQL_API Result<AnyPacket> parse(const abi::Slot& slot);

// One line: "dispatch grid 1024x1x1 group 256x1x1 kernel 0x7f00... barrier on acquire agent release system completion 0x0".
// Any 64 bytes can be printed; what is not understood is shown as numbers.
[[nodiscard]] AQL_API std::string to_line(const abi::Slot& slot);
// One line a field: offset, bytes in memory order, name, meaning.
[[nodiscard]] AQL_API std::string to_hex_dump(const abi::Slot& slot);
template <Packet P>
[[nodiscard]] std::string to_line(const P& packet) {
  return to_line(packet.encode());
}
template <Packet P>
[[nodiscard]] std::string to_hex_dump(const P& packet) {
  return to_hex_dump(packet.encode());
}

[[nodiscard]] AQL_API std::string_view to_string(Barrier barrier) noexcept;
[[nodiscard]] AQL_API std::string_view to_string(Scope scope) noexcept;            // "none", "agent", "system", "reserved"
[[nodiscard]] AQL_API std::string_view to_string(ValueCondition condition) noexcept; // "==", "!=", "<", ">=", "?"

} // namespace aql
