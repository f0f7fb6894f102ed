// The first packet, by hand: 64 bytes into a slot, the header last, then the doorbell. Nothing of the library's launch path is
// used but memory, the code loader and the ring itself.
#include <atomic>
#include <cstring>

#include "example.hpp"

int main() {
  const auto device = need(aql::Device::open(), "open");
  const auto module = need(aql::Module::load_file(device, kernel_file(device, "basics")), "load");
  const auto kernel = need(module.kernel("store_value"), "kernel");
  const auto out = need(device.allocate(aql::PoolKind::host_fine, 4, "out"), "allocate");

  // Kernel arguments: a pointer and a 32-bit value, then hidden arguments that this kernel's size leaves room for.
  const auto kernargs = need(device.allocate(aql::PoolKind::kernarg, kernel.info().kernarg_size, "kernargs"), "allocate");
  const std::uint64_t address = out.device_address();
  const std::uint32_t value = 42;
  std::memcpy(kernargs.host().data(), &address, 8);
  std::memcpy(kernargs.host().data() + 8, &value, 4);
  for (const auto& arg : kernel.info().args) { // this kernel asks for the group size: code object V5 and later read it here
    if (arg.kind == aql::ArgKind::hidden_group_size_x) {
      const std::uint16_t group_size = 64;
      std::memcpy(kernargs.host().data() + arg.offset, &group_size, 2);
    }
    if (arg.kind == aql::ArgKind::hidden_block_count_x) {
      const std::uint32_t count = 1;
      std::memcpy(kernargs.host().data() + arg.offset, &count, 4);
    }
  }

  auto queue = need(aql::Queue::create(device, {.packets = 64}), "queue");
  const auto done = need(aql::Signal::create(device, 1), "signal");

  // 1. Reserve. 2. Body: everything but the first 32 bits. 3. Header and setup, one release store. 4. Doorbell.
  auto& ring = queue.ring();
  const auto index = ring.try_reserve(1);
  if (!index) return verdict(false);
  auto* packet = reinterpret_cast<aql::abi::KernelDispatchPacket*>(&ring.slot(*index));
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->reserved0 = 0;
  packet->grid_size_x = 64; // work-items
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->private_segment_size = kernel.info().private_segment_size;
  packet->group_segment_size = kernel.info().group_segment_size;
  packet->kernel_object = kernel.kernel_object();
  packet->kernarg_address = kernargs.device_address();
  packet->reserved2 = 0;
  packet->completion_signal = done.handle();
  const std::uint32_t header = 2u        // kernel dispatch
                               | 1u << 8  // barrier bit
                               | 2u << 9  // acquire: system
                               | 2u << 11; // release: system
  const std::uint32_t setup = 1;          // one dimension
  std::atomic_ref<std::uint32_t>{ring.slot(*index).word[0]}.store(header | setup << 16, std::memory_order_release);
  ring.commit(*index, 1); // write index, then the doorbell with the index of the last packet

  const auto seen = done.wait(aql::Condition::eq, 0, aql::Deadline::in(std::chrono::seconds{10}));
  std::printf("signal %lld, value %u\n", static_cast<long long>(seen), out.as<std::uint32_t>()[0]);
  return verdict(seen == 0 && out.as<std::uint32_t>()[0] == 42);
}
