#include <aql/launch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "kernel/launch_check.hpp"
#include "kernel/kernarg_ring.hpp"
#include "queue/queue_core.hpp"

namespace aql {
namespace {

struct Checked {
  detail::LaunchShape shape;
  detail::LaunchSizes sizes;
};

Result<Checked> check(const Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch) {
  if (auto complete = kernargs.complete(); !complete) return std::unexpected(complete.error());
  const Kernel& kernel = kernargs.kernel();
  if (kernel.device().driver() != queue.driver()) {
    return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("'{}' was loaded on another device ({}) than the queue's", kernel.name(), kernel.device().info().selector), "launch"});
  }
  if (const auto why = kernel.refusal(); !why.empty()) {
    return std::unexpected(Error{Errc::unsupported, 0, fmt::format("'{}' cannot be launched: {}", kernel.name(), why), "launch"});
  }
  const auto& info = kernel.device().info();
  const detail::LaunchShape shape{dispatch.grid, dispatch.group, dispatch.dynamic_lds + kernargs.local_bytes(), dispatch.stack_bytes};
  auto sizes = detail::check_launch(kernel.info(), info, shape);
  if (!sizes) return std::unexpected(sizes.error());
  return Checked{shape, *sizes};
}

void fill_block(std::span<std::byte> block, const Queue& queue, const Kernargs& kernargs, const Checked& checked) {
  const auto bytes = kernargs.bytes();
  std::memcpy(block.data(), bytes.data(), bytes.size());
  detail::fill_hidden(kernargs.kernel().info(), kernargs.kernel().device().info(), checked.shape, checked.sizes, queue.queue_address(), block);
}

DispatchPacket make_packet(const Kernargs& kernargs, const Dispatch& dispatch, const Checked& checked, std::uint64_t kernarg_address) {
  DispatchPacket packet;
  packet.grid = dispatch.grid;
  packet.group = dispatch.group;
  packet.kernel_object = kernargs.kernel().kernel_object();
  packet.kernarg_address = kernarg_address;
  packet.private_bytes = checked.sizes.private_segment;
  packet.group_bytes = checked.sizes.group_segment;
  packet.dimensions = checked.sizes.dimensions;
  packet.barrier = dispatch.barrier;
  packet.acquire = dispatch.acquire;
  packet.release = dispatch.release;
  return packet;
}

} // namespace

Result<Ticket> launch(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch) {
  auto checked = check(queue, kernargs, dispatch);
  if (!checked) return std::unexpected(checked.error());
  if (auto alive = queue.status(); !alive) return std::unexpected(alive.error());
  const auto& kernel = kernargs.kernel();
  const auto size = kernargs.bytes().size();
  auto ring = detail::KernargRing::of(*queue.core(), kernel.device());
  // A kernel without arguments takes a block too: the entry keeps its module loaded until it has completed.
  auto block = ring->allocate(std::max<std::size_t>(size, 1), Deadline::never());
  if (!block) return std::unexpected(block.error());
  if (size != 0) fill_block(block->host, queue, kernargs, *checked);
  const auto ticket = queue.submit(make_packet(kernargs, dispatch, *checked, size == 0 ? 0 : block->device_address));
  if (!ticket.submitted()) {
    ring->cancel(block->sequence);
    auto why = queue.status();
    if (why) why = ticket.wait(Deadline::now());
    return std::unexpected(why ? Error{Errc::queue_inactive, 0, "the queue did not take the packet", "launch"} : why.error());
  }
  ring->retire(block->sequence, ticket, std::make_shared<Kernel>(kernel));
  return ticket;
}

Result<PreparedDispatch> PreparedDispatch::create(Queue& queue, const Kernargs& kernargs, const Dispatch& dispatch) {
  auto checked = check(queue, kernargs, dispatch);
  if (!checked) return std::unexpected(checked.error());
  PreparedDispatch prepared;
  prepared.kernel_ = kernargs.kernel();
  std::uint64_t address = 0;
  if (!kernargs.bytes().empty()) {
    auto block = kernargs.kernel().device().allocate(PoolKind::kernarg, kernargs.bytes().size(), "kernargs of a prepared dispatch");
    if (!block) return std::unexpected(block.error());
    std::vector<std::byte> staging(kernargs.bytes().size());
    fill_block(staging, queue, kernargs, *checked);
    if (auto done = block->write(staging.data(), staging.size()); !done) return std::unexpected(done.error());
    address = block->device_address();
    prepared.block_ = std::move(*block);
  }
  prepared.packet_ = make_packet(kernargs, dispatch, *checked, address);
  return prepared;
}

} // namespace aql
