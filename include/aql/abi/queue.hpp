#pragma once
// Wire structs of a queue: hsa_queue_t and AMD's amd_queue_t (256 bytes, 64-byte aligned; must not cross a 4 GiB line).
// amd_hsa_queue.h of ROCr 5.2.3; the fields after 200 and the capabilities word are from newer headers.

#include <cstddef>
#include <cstdint>

#include <aql/abi/packet.hpp>

namespace aql::abi {

enum class QueueType : std::uint32_t { multi = 0, single = 1, cooperative = 2 };

struct HsaQueue {
  std::uint32_t type;            // QueueType
  std::uint32_t features;        // bit 0 kernel dispatch, bit 1 agent dispatch
  std::uint64_t base_address;    // ring of 64-byte slots
  std::uint64_t doorbell_signal; // signal handle
  std::uint32_t size;            // slots, a power of two
  std::uint32_t reserved1;
  std::uint64_t id;              // unique in the process
};
static_assert(sizeof(HsaQueue) == 40 && alignof(HsaQueue) == 8);
static_assert(offsetof(HsaQueue, features) == 4 && offsetof(HsaQueue, base_address) == 8);
static_assert(offsetof(HsaQueue, doorbell_signal) == 16 && offsetof(HsaQueue, size) == 24);
static_assert(offsetof(HsaQueue, reserved1) == 28 && offsetof(HsaQueue, id) == 32);

// amd_queue_t.queue_properties.
using QueueEnableTrapHandler = Field<0, 1>;
using QueueIsPtr64 = Field<1, 1>;
using QueueTrapHandlerSgprs = Field<2, 1>;
using QueueEnableProfiling = Field<3, 1>;
using QueueUseScratchOnce = Field<4, 1>;

// amd_queue_t.compute_tmpring_size: waves 11:0 that may use scratch, wave size 24:12 in units of 1 KiB.
using TmpringWaves = Field<0, 12>;
using TmpringWaveSize = Field<12, 13>;

struct alignas(64) AmdQueue {
  HsaQueue hsa_queue;
  std::uint32_t caps;                          // newer headers; else reserved, 0
  std::uint32_t reserved1[3];
  std::uint64_t write_dispatch_id;             // producers, atomic: packets reserved and published
  std::uint32_t group_segment_aperture_base_hi;
  std::uint32_t private_segment_aperture_base_hi;
  std::uint32_t max_cu_id;
  std::uint32_t max_wave_id;
  std::uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  std::uint32_t legacy_doorbell_lock;
  std::uint32_t reserved2[9];
  std::uint64_t read_dispatch_id;              // packet processor, atomic: slots given back
  std::uint32_t read_dispatch_id_field_base_byte_offset; // 128: how the processor finds this struct
  std::uint32_t compute_tmpring_size;          // TmpringWaves, TmpringWaveSize
  std::uint32_t scratch_resource_descriptor[4];
  std::uint64_t scratch_backing_memory_location;
  std::uint64_t scratch_backing_memory_byte_size;
  std::uint32_t scratch_wave64_lane_byte_size; // bytes of scratch a lane of wave64 may use
  std::uint32_t queue_properties;
  std::uint32_t reserved3[2];                  // newer: scratch_max_use_index
  std::uint64_t queue_inactive_signal;         // signal handle; the processor stores its error bits there
  std::uint32_t reserved4[14];                 // newer: alternate scratch
};
static_assert(sizeof(AmdQueue) == 256 && alignof(AmdQueue) == 64);
static_assert(offsetof(AmdQueue, caps) == 40 && offsetof(AmdQueue, reserved1) == 44);
static_assert(offsetof(AmdQueue, write_dispatch_id) == 56);
static_assert(offsetof(AmdQueue, group_segment_aperture_base_hi) == 64 && offsetof(AmdQueue, private_segment_aperture_base_hi) == 68);
static_assert(offsetof(AmdQueue, max_cu_id) == 72 && offsetof(AmdQueue, max_wave_id) == 76);
static_assert(offsetof(AmdQueue, max_legacy_doorbell_dispatch_id_plus_1) == 80 && offsetof(AmdQueue, legacy_doorbell_lock) == 88);
static_assert(offsetof(AmdQueue, reserved2) == 92 && offsetof(AmdQueue, read_dispatch_id) == 128);
static_assert(offsetof(AmdQueue, read_dispatch_id_field_base_byte_offset) == 136 && offsetof(AmdQueue, compute_tmpring_size) == 140);
static_assert(offsetof(AmdQueue, scratch_resource_descriptor) == 144 && offsetof(AmdQueue, scratch_backing_memory_location) == 160);
static_assert(offsetof(AmdQueue, scratch_backing_memory_byte_size) == 168 && offsetof(AmdQueue, scratch_wave64_lane_byte_size) == 176);
static_assert(offsetof(AmdQueue, queue_properties) == 180 && offsetof(AmdQueue, reserved3) == 184);
static_assert(offsetof(AmdQueue, queue_inactive_signal) == 192 && offsetof(AmdQueue, reserved4) == 200);

// Bits that the packet processor stores in queue_inactive_signal (ROCr: amd_aql_queue.cpp, DynamicScratchHandler).
enum QueueError : std::uint32_t {
  kQueueErrorScratch = 0x1,              // insufficient scratch: recoverable
  kQueueErrorDimensions = 0x2,           // INCOMPATIBLE_ARGUMENTS
  kQueueErrorGroupMemory = 0x4,          // INVALID_ALLOCATION
  kQueueErrorCode = 0x8,                 // INVALID_CODE_OBJECT
  kQueueErrorPacketFormat = 0x20,        // INVALID_PACKET_FORMAT
  kQueueErrorWorkgroupSize = 0x40,       // INVALID_ARGUMENT
  kQueueErrorRegisters = 0x80,           // OUT_OF_REGISTERS
  kQueueErrorVendorFormat = 0x100,       // INVALID_PACKET_FORMAT
  kQueueErrorScratchReclaim = 0x200,
  kQueueErrorScratchLarge = 0x400,       // OUT_OF_RESOURCES
  kQueueErrorAperture = 0x20000000,      // MEMORY_APERTURE_VIOLATION
  kQueueErrorIllegalInstruction = 0x40000000, // ILLEGAL_INSTRUCTION
  kQueueErrorTrap = 0x80000000,          // EXCEPTION
};

} // namespace aql::abi
