#pragma once
// Launching kernels: from arguments and a shape to a packet in a queue.
// Thread safety: launch() may be called from several threads on one MULTI queue. A PreparedDispatch may be submitted by one
// thread at a time.
// Lifetime: what a launch uses (kernarg block, kernel, module) is kept until the launch has completed, whatever becomes of the
// caller's objects. Buffers are the caller's to keep.

#include <cstdint>
#include <memory>

#include <aql/error.hpp>
#include <aql/export.hpp>
#include <aql/kernargs.hpp>
#include <aql/packet.hpp>
#include <aql/queue.hpp>
#include <aql/types.hpp>

namespace aql {

struct Dispatch {
  Dim3 grid;                        // work-items
  Dim3 group;                       // work-items
  std::uint32_t dynamic_lds = 0;    // bytes a group behind static LDS
  // Bytes a work-item for recursion, indirect calls and variable-length arrays; only kernels whose metadata says "uses dynamic
  // stack" get them, because their fixed private segment does not count those.
  std::uint32_t stack_bytes = 16384;
  Barrier barrier = Barrier::off;   // on: waits for every earlier packet of the queue
  Scope acquire = Scope::system;
  Scope release = Scope::system;
};

// Checks everything a packet cannot say about itself (group and grid against kernel and device, registers, LDS, scratch,
// arguments set, services the kernel needs), fills a kernarg block from the queue's kernarg ring, submits. Errors:
// invalid_argument, incompatible_arguments, invalid_allocation, out_of_registers, out_of_resources, unsupported (the kernel
// needs hostcall, printf, ...), and the queue's own once it has failed. Nothing was submitted when it fails.
[[nodiscard]] AQL_API Result<Ticket> launch(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch);

// The same work done once: a checked packet with its own kernarg block, to be submitted again and again with
// queue.submit(prepared.packet()). The block is shared by all submissions: change it only while none is in flight.
class AQL_API PreparedDispatch {
public:
  [[nodiscard]] static Result<PreparedDispatch> create(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch);
  [[nodiscard]] const DispatchPacket& packet() const noexcept { return packet_; }
  [[nodiscard]] DispatchPacket& packet() noexcept { return packet_; }
  [[nodiscard]] std::span<std::byte> kernarg_bytes() const noexcept { return block_.host(); }

private:
  PreparedDispatch() = default;
  DispatchPacket packet_{};
  Buffer block_;
  Kernel kernel_;
};

} // namespace aql
