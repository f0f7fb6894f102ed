// A program of somebody else: includes everything, checks the version, opens the software GPU, makes a queue.
#include <cstdio>

#include <aql/aql.hpp>

int main() {
  if (aql::version().major != AQL_EXPECT_MAJOR || aql::version().minor != AQL_EXPECT_MINOR) {
    std::printf("linked aql %s, expected %d.%d\n", std::string{aql::version_string()}.c_str(), AQL_EXPECT_MAJOR, AQL_EXPECT_MINOR);
    return 1;
  }
  auto device = aql::Device::open("sim:gfx942");
  if (!device) {
    std::printf("%s\n", device.error().message().c_str());
    return 1;
  }
  auto queue = aql::Queue::create(*device, {.packets = 64});
  if (!queue) {
    std::printf("%s\n", queue.error().message().c_str());
    return 1;
  }
  std::printf("aql %s on %s\n", std::string{aql::version_string()}.c_str(), device->info().selector.c_str());
  return 0;
}
