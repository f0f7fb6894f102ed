// Agent dispatch: a packet that asks the device's host agent to call a function. The function runs on the packet processor's
// thread, with the packet's four arguments; its result is stored at the return address before the signal is decremented.
#include "example.hpp"

int main() {
  constexpr std::uint16_t multiply = 7; // function codes are the application's
  const auto device = need(aql::Device::open(), "open");
  if (device.info().driver == "rocr") return std::puts("SKIP: the HSA runtime's queues take no agent dispatch"), 0;
  const auto result = need(device.allocate(aql::PoolKind::host_fine, 8, "result"), "allocate");
  aql::QueueOptions options;
  options.agent_function = [](std::uint16_t type, const std::uint64_t args[4], std::uint64_t return_address) {
    if (type != multiply) return aql::Errc::invalid_packet_format;
    *reinterpret_cast<std::uint64_t*>(return_address) = args[0] * args[1]; // host memory: device and host address are equal
    return aql::Errc::ok;
  };
  auto queue = need(aql::Queue::create(device, options), "queue");
  auto ticket = queue.submit(aql::AgentPacket{.type = multiply, .return_address = result.device_address(), .arguments = {6, 7, 0, 0}, .barrier = aql::Barrier::on});
  need(ticket.wait(), "wait");
  std::printf("6 * 7 = %llu\n", static_cast<unsigned long long>(result.as<std::uint64_t>()[0]));

  auto unknown = queue.submit(aql::AgentPacket{.type = 8});
  const auto refused = unknown.wait();
  std::printf("function 8: %s\n", refused ? "ran" : refused.error().message().c_str());
  return verdict(result.as<std::uint64_t>()[0] == 42 && !refused);
}
