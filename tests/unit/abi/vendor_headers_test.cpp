// Our wire structs against the headers of the distribution's ROCr. Fields that only newer headers have are checked where they exist.

#include "support/catch.hpp"
#include "support/skip.hpp"

#if __has_include(<hsa/hsa.h>) && __has_include(<hsa/hsa_ext_amd.h>) && __has_include(<hsa/amd_hsa_queue.h>)
#define AQL_HAVE_HSA_HEADERS 1
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/abi/signal.hpp>
#include <aql/error.hpp>

#ifndef AQL_HAVE_HSA_HEADERS

TEST_CASE("abi: wire structs equal those of hsa.h") { AQL_SKIP("hsa/hsa.h is not installed (package libhsa-runtime-dev)"); }

#else

namespace {
namespace abi = aql::abi;

#define SAME_FIELD(Ours, our_field, Theirs, their_field)                                                                       \
  do {                                                                                                                         \
    CHECK(offsetof(Ours, our_field) == offsetof(Theirs, their_field));                                                         \
    CHECK(sizeof(Ours::our_field) == sizeof(Theirs::their_field));                                                             \
  } while (false)

template <class Ours, class Theirs>
void check_size() {
  CHECK(sizeof(Ours) == sizeof(Theirs));
}

// A bit field of ours against the header's shift and width.
template <class Field>
bool is_field(int shift, int width) {
  return Field::kShift == static_cast<unsigned>(shift) && Field::kWidth == static_cast<unsigned>(width);
}
template <class Field>
bool is_mask(std::int64_t shift, std::int64_t width) {
  return Field::kShift == static_cast<unsigned>(shift) && Field::kWidth == static_cast<unsigned>(width);
}
} // namespace

TEST_CASE("abi: packet types, scopes and header bits are those of hsa.h") {
  CHECK(static_cast<int>(abi::PacketType::vendor_specific) == HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  CHECK(static_cast<int>(abi::PacketType::invalid) == HSA_PACKET_TYPE_INVALID);
  CHECK(static_cast<int>(abi::PacketType::kernel_dispatch) == HSA_PACKET_TYPE_KERNEL_DISPATCH);
  CHECK(static_cast<int>(abi::PacketType::barrier_and) == HSA_PACKET_TYPE_BARRIER_AND);
  CHECK(static_cast<int>(abi::PacketType::agent_dispatch) == HSA_PACKET_TYPE_AGENT_DISPATCH);
  CHECK(static_cast<int>(abi::PacketType::barrier_or) == HSA_PACKET_TYPE_BARRIER_OR);
  CHECK(static_cast<int>(abi::FenceScope::none) == HSA_FENCE_SCOPE_NONE);
  CHECK(static_cast<int>(abi::FenceScope::agent) == HSA_FENCE_SCOPE_AGENT);
  CHECK(static_cast<int>(abi::FenceScope::system) == HSA_FENCE_SCOPE_SYSTEM);
  CHECK(is_field<abi::HeaderType>(HSA_PACKET_HEADER_TYPE, HSA_PACKET_HEADER_WIDTH_TYPE));
  CHECK(is_field<abi::HeaderBarrier>(HSA_PACKET_HEADER_BARRIER, HSA_PACKET_HEADER_WIDTH_BARRIER));
  CHECK(is_field<abi::HeaderAcquire>(HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE, HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE));
  CHECK(is_field<abi::HeaderRelease>(HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE, HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE));
  CHECK(is_field<abi::SetupDimensions>(HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
                                       HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS));
}

TEST_CASE("abi: the kernel dispatch packet is hsa_kernel_dispatch_packet_t") {
  using Ours = abi::KernelDispatchPacket;
  using Theirs = hsa_kernel_dispatch_packet_t;
  check_size<Ours, Theirs>();
  SAME_FIELD(Ours, header, Theirs, header);
  SAME_FIELD(Ours, setup, Theirs, setup);
  SAME_FIELD(Ours, workgroup_size_x, Theirs, workgroup_size_x);
  SAME_FIELD(Ours, workgroup_size_y, Theirs, workgroup_size_y);
  SAME_FIELD(Ours, workgroup_size_z, Theirs, workgroup_size_z);
  SAME_FIELD(Ours, reserved0, Theirs, reserved0);
  SAME_FIELD(Ours, grid_size_x, Theirs, grid_size_x);
  SAME_FIELD(Ours, grid_size_y, Theirs, grid_size_y);
  SAME_FIELD(Ours, grid_size_z, Theirs, grid_size_z);
  SAME_FIELD(Ours, private_segment_size, Theirs, private_segment_size);
  SAME_FIELD(Ours, group_segment_size, Theirs, group_segment_size);
  SAME_FIELD(Ours, kernel_object, Theirs, kernel_object);
  SAME_FIELD(Ours, kernarg_address, Theirs, kernarg_address);
  SAME_FIELD(Ours, reserved2, Theirs, reserved2);
  SAME_FIELD(Ours, completion_signal, Theirs, completion_signal);
}

TEST_CASE("abi: barrier packets are hsa_barrier_and_packet_t and hsa_barrier_or_packet_t") {
  using Ours = abi::BarrierPacket;
  check_size<Ours, hsa_barrier_and_packet_t>();
  check_size<Ours, hsa_barrier_or_packet_t>();
  SAME_FIELD(Ours, header, hsa_barrier_and_packet_t, header);
  SAME_FIELD(Ours, reserved0, hsa_barrier_and_packet_t, reserved0);
  SAME_FIELD(Ours, reserved1, hsa_barrier_and_packet_t, reserved1);
  SAME_FIELD(Ours, dep_signal, hsa_barrier_and_packet_t, dep_signal);
  SAME_FIELD(Ours, reserved2, hsa_barrier_and_packet_t, reserved2);
  SAME_FIELD(Ours, completion_signal, hsa_barrier_and_packet_t, completion_signal);
  SAME_FIELD(Ours, header, hsa_barrier_or_packet_t, header);
  SAME_FIELD(Ours, reserved0, hsa_barrier_or_packet_t, reserved0);
  SAME_FIELD(Ours, reserved1, hsa_barrier_or_packet_t, reserved1);
  SAME_FIELD(Ours, dep_signal, hsa_barrier_or_packet_t, dep_signal);
  SAME_FIELD(Ours, reserved2, hsa_barrier_or_packet_t, reserved2);
  SAME_FIELD(Ours, completion_signal, hsa_barrier_or_packet_t, completion_signal);
}

TEST_CASE("abi: the agent dispatch packet is hsa_agent_dispatch_packet_t") {
  using Ours = abi::AgentDispatchPacket;
  using Theirs = hsa_agent_dispatch_packet_t;
  check_size<Ours, Theirs>();
  SAME_FIELD(Ours, header, Theirs, header);
  SAME_FIELD(Ours, type, Theirs, type);
  SAME_FIELD(Ours, reserved0, Theirs, reserved0);
  SAME_FIELD(Ours, return_address, Theirs, return_address);
  SAME_FIELD(Ours, arg, Theirs, arg);
  SAME_FIELD(Ours, reserved2, Theirs, reserved2);
  SAME_FIELD(Ours, completion_signal, Theirs, completion_signal);
}

TEST_CASE("abi: the barrier-value packet is hsa_amd_barrier_value_packet_t") {
  using Ours = abi::BarrierValuePacket;
  using Theirs = hsa_amd_barrier_value_packet_t;
  check_size<Ours, Theirs>();
  SAME_FIELD(Ours, header, Theirs, header.header);
  SAME_FIELD(Ours, amd_format, Theirs, header.AmdFormat);
  SAME_FIELD(Ours, reserved0, Theirs, header.reserved);
  SAME_FIELD(Ours, reserved1, Theirs, reserved0);
  SAME_FIELD(Ours, signal, Theirs, signal);
  SAME_FIELD(Ours, value, Theirs, value);
  SAME_FIELD(Ours, mask, Theirs, mask);
  SAME_FIELD(Ours, cond, Theirs, cond);
  SAME_FIELD(Ours, reserved2, Theirs, reserved1);
  SAME_FIELD(Ours, reserved3, Theirs, reserved2);
  SAME_FIELD(Ours, reserved4, Theirs, reserved3);
  SAME_FIELD(Ours, completion_signal, Theirs, completion_signal);
  CHECK(static_cast<int>(abi::VendorFormat::barrier_value) == HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
  CHECK(static_cast<int>(abi::ValueCondition::eq) == HSA_SIGNAL_CONDITION_EQ);
  CHECK(static_cast<int>(abi::ValueCondition::ne) == HSA_SIGNAL_CONDITION_NE);
  CHECK(static_cast<int>(abi::ValueCondition::lt) == HSA_SIGNAL_CONDITION_LT);
  CHECK(static_cast<int>(abi::ValueCondition::gte) == HSA_SIGNAL_CONDITION_GTE);
}

TEST_CASE("abi: signal is amd_signal_t") {
  using Ours = abi::AmdSignal;
  using Theirs = amd_signal_t;
  check_size<Ours, Theirs>();
  CHECK(alignof(Ours) == AMD_SIGNAL_ALIGN_BYTES);
  SAME_FIELD(Ours, kind, Theirs, kind);
  SAME_FIELD(Ours, value, Theirs, value);
  SAME_FIELD(Ours, value, Theirs, hardware_doorbell_ptr);
  SAME_FIELD(Ours, event_mailbox_ptr, Theirs, event_mailbox_ptr);
  SAME_FIELD(Ours, event_id, Theirs, event_id);
  SAME_FIELD(Ours, reserved1, Theirs, reserved1);
  SAME_FIELD(Ours, start_ts, Theirs, start_ts);
  SAME_FIELD(Ours, end_ts, Theirs, end_ts);
  SAME_FIELD(Ours, queue_ptr, Theirs, queue_ptr);
  SAME_FIELD(Ours, reserved3, Theirs, reserved3);
  CHECK(static_cast<int>(abi::SignalKind::invalid) == AMD_SIGNAL_KIND_INVALID);
  CHECK(static_cast<int>(abi::SignalKind::user) == AMD_SIGNAL_KIND_USER);
  CHECK(static_cast<int>(abi::SignalKind::doorbell) == AMD_SIGNAL_KIND_DOORBELL);
  CHECK(static_cast<int>(abi::SignalKind::legacy_doorbell) == AMD_SIGNAL_KIND_LEGACY_DOORBELL);
}

TEST_CASE("abi: queue is hsa_queue_t inside amd_queue_t") {
  using Ours = abi::HsaQueue;
  using Theirs = hsa_queue_t;
  check_size<Ours, Theirs>();
  SAME_FIELD(Ours, type, Theirs, type);
  SAME_FIELD(Ours, features, Theirs, features);
  SAME_FIELD(Ours, base_address, Theirs, base_address);
  SAME_FIELD(Ours, doorbell_signal, Theirs, doorbell_signal);
  SAME_FIELD(Ours, size, Theirs, size);
  SAME_FIELD(Ours, reserved1, Theirs, reserved1);
  SAME_FIELD(Ours, id, Theirs, id);
  CHECK(static_cast<int>(abi::QueueType::multi) == HSA_QUEUE_TYPE_MULTI);
  CHECK(static_cast<int>(abi::QueueType::single) == HSA_QUEUE_TYPE_SINGLE);
}

TEST_CASE("abi: the AMD queue is amd_queue_t") {
  using Ours = abi::AmdQueue;
  using Theirs = amd_queue_t;
  check_size<Ours, Theirs>();
  CHECK(alignof(Ours) == AMD_QUEUE_ALIGN_BYTES);
  SAME_FIELD(Ours, hsa_queue, Theirs, hsa_queue);
  CHECK(offsetof(Ours, caps) == offsetof(Theirs, reserved1)); // newer headers split the reserved words
  CHECK(sizeof(Ours::caps) + sizeof(Ours::reserved1) == sizeof(Theirs::reserved1));
  SAME_FIELD(Ours, write_dispatch_id, Theirs, write_dispatch_id);
  SAME_FIELD(Ours, group_segment_aperture_base_hi, Theirs, group_segment_aperture_base_hi);
  SAME_FIELD(Ours, private_segment_aperture_base_hi, Theirs, private_segment_aperture_base_hi);
  SAME_FIELD(Ours, max_cu_id, Theirs, max_cu_id);
  SAME_FIELD(Ours, max_wave_id, Theirs, max_wave_id);
  SAME_FIELD(Ours, max_legacy_doorbell_dispatch_id_plus_1, Theirs, max_legacy_doorbell_dispatch_id_plus_1);
  SAME_FIELD(Ours, legacy_doorbell_lock, Theirs, legacy_doorbell_lock);
  SAME_FIELD(Ours, reserved2, Theirs, reserved2);
  SAME_FIELD(Ours, read_dispatch_id, Theirs, read_dispatch_id);
  SAME_FIELD(Ours, read_dispatch_id_field_base_byte_offset, Theirs, read_dispatch_id_field_base_byte_offset);
  SAME_FIELD(Ours, compute_tmpring_size, Theirs, compute_tmpring_size);
  SAME_FIELD(Ours, scratch_resource_descriptor, Theirs, scratch_resource_descriptor);
  SAME_FIELD(Ours, scratch_backing_memory_location, Theirs, scratch_backing_memory_location);
  SAME_FIELD(Ours, scratch_backing_memory_byte_size, Theirs, scratch_backing_memory_byte_size);
  SAME_FIELD(Ours, scratch_wave64_lane_byte_size, Theirs, scratch_wave64_lane_byte_size);
  SAME_FIELD(Ours, queue_properties, Theirs, queue_properties);
  SAME_FIELD(Ours, reserved3, Theirs, reserved3);
  SAME_FIELD(Ours, queue_inactive_signal, Theirs, queue_inactive_signal);
  SAME_FIELD(Ours, reserved4, Theirs, reserved4);
  CHECK(is_mask<abi::QueueEnableTrapHandler>(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_SHIFT,
                                             AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_WIDTH));
  CHECK(is_mask<abi::QueueIsPtr64>(AMD_QUEUE_PROPERTIES_IS_PTR64_SHIFT, AMD_QUEUE_PROPERTIES_IS_PTR64_WIDTH));
  CHECK(is_mask<abi::QueueTrapHandlerSgprs>(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS_SHIFT,
                                            AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS_WIDTH));
  CHECK(is_mask<abi::QueueEnableProfiling>(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING_SHIFT,
                                           AMD_QUEUE_PROPERTIES_ENABLE_PROFILING_WIDTH));
  CHECK(is_mask<abi::QueueUseScratchOnce>(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE_SHIFT,
                                          AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE_WIDTH));
}

TEST_CASE("abi: error codes map to the statuses of hsa.h and hsa_ext_amd.h") {
  using aql::Errc;
  using aql::hsa_status;
  CHECK(hsa_status(Errc::ok) == HSA_STATUS_SUCCESS);
  CHECK(hsa_status(Errc::invalid_argument) == HSA_STATUS_ERROR_INVALID_ARGUMENT);
  CHECK(hsa_status(Errc::invalid_queue_creation) == HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  CHECK(hsa_status(Errc::invalid_allocation) == HSA_STATUS_ERROR_INVALID_ALLOCATION);
  CHECK(hsa_status(Errc::invalid_agent) == HSA_STATUS_ERROR_INVALID_AGENT);
  CHECK(hsa_status(Errc::out_of_resources) == HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  CHECK(hsa_status(Errc::invalid_packet_format) == HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  CHECK(hsa_status(Errc::incompatible_arguments) == HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
  CHECK(hsa_status(Errc::invalid_isa) == HSA_STATUS_ERROR_INVALID_ISA);
  CHECK(hsa_status(Errc::invalid_code_object) == HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  CHECK(hsa_status(Errc::invalid_symbol_name) == HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
  CHECK(hsa_status(Errc::exception) == HSA_STATUS_ERROR_EXCEPTION);
  CHECK(hsa_status(Errc::invalid_file) == HSA_STATUS_ERROR_INVALID_FILE);
  CHECK(hsa_status(Errc::memory_aperture_violation) == HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  CHECK(hsa_status(Errc::illegal_instruction) == HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
  CHECK(hsa_status(Errc::memory_fault) == HSA_STATUS_ERROR_MEMORY_FAULT);
}

#endif
