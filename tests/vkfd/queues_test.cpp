#include "ioctl_harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <aql/abi/packet.hpp>
#include <aql/abi/queue.hpp>
#include <aql/abi/signal.hpp>

using namespace aql;
using namespace aql::test;

namespace {

constexpr std::uint32_t kEndProgram = 0xbf810000;

template <class Condition>
bool soon(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// One buffer with an amd_queue_t, a ring, a signal, a kernel descriptor and its code.
struct Device : VirtualKfd {
  static constexpr std::uint64_t kRing = kVa + 0x1000, kSignal = kVa + 0x3000, kDescriptor = kVa + 0x4000, kCode = kVa + 0x4100,
                                 kData = kVa + 0x6000;
  std::uint64_t handle = 0;
  std::uint32_t queue_id = 0;

  explicit Device(const char* devices = "gfx90a") : VirtualKfd(devices) {
    handle = allocate(kVa, 0x10000, kVram | kWritable | kExecutable).handle;
    REQUIRE(map(handle) == 0);
  }
  template <class T>
  T* at(std::uint64_t address) {
    return reinterpret_cast<T*>(device_view(address, sizeof(T), sim::kRead));
  }
  kfd_ioctl_create_queue_args create_queue(std::uint32_t type, int expected = 0, std::uint32_t percentage = 100) {
    auto* amd = at<abi::AmdQueue>(kVa);
    *amd = {};
    amd->hsa_queue.base_address = kRing;
    amd->hsa_queue.size = 64;
    for (unsigned i = 0; i < 64; ++i) at<abi::Slot>(kRing)[i].word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);
    kfd_ioctl_create_queue_args args{};
    args.gpu_id = gpu_id;
    args.queue_type = type;
    args.ring_base_address = kRing;
    args.ring_size = 4096;
    args.read_pointer_address = kVa + offsetof(abi::AmdQueue, read_dispatch_id);
    args.write_pointer_address = kVa + offsetof(abi::AmdQueue, write_dispatch_id);
    args.queue_percentage = percentage;
    args.queue_priority = 7;
    REQUIRE(call(AMDKFD_IOC_CREATE_QUEUE, args) == expected);
    queue_id = args.queue_id;
    return args;
  }
  int update(std::uint32_t percentage, std::uint32_t priority = 7, std::uint64_t ring = kRing) {
    kfd_ioctl_update_queue_args args{ring, queue_id, 4096, percentage, priority};
    return call(AMDKFD_IOC_UPDATE_QUEUE, args);
  }
  int destroy() {
    kfd_ioctl_destroy_queue_args args{queue_id, 0};
    return call(AMDKFD_IOC_DESTROY_QUEUE, args);
  }
  void ring(std::uint64_t value) { std::atomic_ref{process->gpus()[0]->doorbells[0]}.store(value, std::memory_order_release); }
  // A kernel of these words, launched once with the signal at 1.
  void launch(const std::vector<std::uint32_t>& code) {
    std::memcpy(at<std::uint32_t>(kCode), code.data(), code.size() * 4);
    auto* descriptor = at<std::uint64_t>(kDescriptor);
    std::fill_n(descriptor, 8, 0ull);
    descriptor[2] = kCode - kDescriptor;
    *at<abi::AmdSignal>(kSignal) = {};
    at<abi::AmdSignal>(kSignal)->value = 1;
    abi::KernelDispatchPacket packet{};
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = kDescriptor;
    packet.completion_signal = kSignal;
    auto& write = at<abi::AmdQueue>(kVa)->write_dispatch_id;
    const std::uint64_t index = std::atomic_ref{write}.fetch_add(1);
    auto* slot = at<abi::Slot>(kRing) + index % 64;
    std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    std::atomic_ref{slot->word[0]}.store(2u | 1u << 16, std::memory_order_release);
    ring(index);
  }
  // A kernel that runs until the word is not 0: s_getpc_b64 s[0:1]; loop: s_load_dword s2, s[0:1], 0xfc; s_waitcnt lgkmcnt(0);
  // s_cmp_eq_u32 s2, 0; s_cbranch_scc1 loop; s_endpgm
  std::uint32_t* spin() {
    auto* flag = at<std::uint32_t>(kCode + 0x100);
    *flag = 0;
    launch({0xbe801c00, 0xc0020080, 0x000000fc, 0xbf8cc07f, 0xbf068002, 0xbf85fffb, kEndProgram});
    REQUIRE(soon([&] { return std::atomic_ref{at<abi::AmdQueue>(kVa)->read_dispatch_id}.load() == 1; }));
    return flag;
  }
  std::int64_t signal() { return std::atomic_ref{at<abi::AmdSignal>(kSignal)->value}.load(std::memory_order_acquire); }
};

} // namespace

TEST_CASE("queues: an AQL queue runs a kernel on every target") {
  const auto target = GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950");
  Device device{target.c_str()};
  const auto made = device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  CHECK((made.doorbell_offset & 0xffffffffu) == 0); // slot 0; the thunk of 5.2 takes the low 32 bits as the place in the page
  device.launch({kEndProgram});
  CHECK(soon([&] { return device.signal() == 0; }));
  CHECK(device.destroy() == 0);
  CHECK(device.destroy() == -EINVAL);
}

TEST_CASE("queues: running into memory that is not executable is a memory exception that says so") {
  Device device;
  kfd_ioctl_create_event_args event{};
  event.event_type = KFD_IOC_EVENT_MEMORY;
  event.auto_reset = 1;
  REQUIRE(device.call(AMDKFD_IOC_CREATE_EVENT, event) == 0);
  const auto data = device.allocate(kVa + 0x20000, 4096, kVram | kWritable);
  REQUIRE(device.map(data.handle) == 0);
  *device.at<std::uint32_t>(kVa + 0x20000) = kEndProgram;
  (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  const auto distance = static_cast<std::uint32_t>(kVa + 0x20000 - (Device::kCode + 4));
  // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, distance; s_addc_u32 s1, s1, 0; s_setpc_b64 s[0:1]
  device.launch({0xbe801c00, 0x8000ff00, distance, 0x82018001, 0xbe801d00});
  vkfd::kfd::EventData seen{};
  seen.event_id = event.event_id;
  kfd_ioctl_wait_events_args wait{reinterpret_cast<std::uint64_t>(&seen), 1, 1, 60'000, 99};
  REQUIRE(device.call(AMDKFD_IOC_WAIT_EVENTS, wait) == 0);
  REQUIRE(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE);
  CHECK(seen.memory.failure.NoExecute == 1);
  CHECK(seen.memory.failure.NotPresent == 0);
  CHECK(seen.memory.va == kVa + 0x20000);
  CHECK(seen.memory.gpu_id == device.gpu_id);
}

TEST_CASE("queues: a disabled queue keeps its waves and its packets until it is enabled") {
  Device device;
  (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  auto* flag = device.spin();
  REQUIRE(device.update(0) == 0);
  kfd_ioctl_get_queue_wave_state_args waves{};
  waves.queue_id = device.queue_id;
  CHECK(device.call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, waves) == 0);
  REQUIRE(device.update(100) == 0);
  CHECK(device.call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, waves) == -EINVAL);
  CHECK(device.signal() == 1);
  std::atomic_ref{*flag}.store(1);
  CHECK(soon([&] { return device.signal() == 0; }));
  // Rung while the queue is off the device.
  REQUIRE(device.update(0) == 0);
  device.launch({kEndProgram});
  std::this_thread::yield();
  CHECK(device.signal() == 1);
  REQUIRE(device.update(100) == 0);
  CHECK(soon([&] { return device.signal() == 0; }));
}

TEST_CASE("queues: a new priority leaves the waves and what waits in a ring alone") {
  Device device;
  SECTION("a kernel that runs") {
    (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
    auto* flag = device.spin();
    REQUIRE(device.update(100, 15) == 0);
    std::atomic_ref{*flag}.store(1);
    CHECK(soon([&] { return device.signal() == 0; }));
  }
  SECTION("a kernel of a disabled queue") {
    (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
    auto* flag = device.spin();
    REQUIRE(device.update(0, 15) == 0);
    REQUIRE(device.update(100, 0) == 0);
    std::atomic_ref{*flag}.store(1);
    CHECK(soon([&] { return device.signal() == 0; }));
  }
  SECTION("a fence of the copy engine behind a poll") {
    (void)device.create_queue(KFD_IOC_QUEUE_TYPE_SDMA);
    auto* data = device.at<std::uint32_t>(Device::kData);
    data[0] = data[1] = 0;
    const auto low = static_cast<std::uint32_t>(Device::kData), high = static_cast<std::uint32_t>(Device::kData >> 32);
    const std::uint32_t packets[] = {8u | 3u << 28 | 1u << 31, low, high, 7, ~0u, 0xfffu << 16 | 10, 5, low + 4, high, 77};
    std::copy_n(packets, 10, device.at<std::uint32_t>(Device::kRing));
    device.ring(40);
    REQUIRE(device.update(100, 15) == 0);
    std::atomic_ref{data[0]}.store(7);
    CHECK(soon([&] { return std::atomic_ref{data[1]}.load() == 77; }));
  }
  CHECK(device.destroy() == 0);
}

TEST_CASE("queues: a kernel that the watchdog ends is a hardware exception") {
  setenv("AQL_SIM_WATCHDOG_INSTRUCTIONS", "100000", 1);
  Device device;
  REQUIRE(device.process->gpus()[0]->core() != nullptr); // made with the watchdog
  unsetenv("AQL_SIM_WATCHDOG_INSTRUCTIONS");
  kfd_ioctl_create_event_args event{};
  event.event_type = KFD_IOC_EVENT_HW_EXCEPTION;
  REQUIRE(device.call(AMDKFD_IOC_CREATE_EVENT, event) == 0);
  (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  device.launch({0xbf82ffff}); // s_branch to itself
  vkfd::kfd::EventData seen{};
  seen.event_id = event.event_id;
  kfd_ioctl_wait_events_args wait{reinterpret_cast<std::uint64_t>(&seen), 1, 1, 60'000, 99};
  REQUIRE(device.call(AMDKFD_IOC_WAIT_EVENTS, wait) == 0);
  REQUIRE(wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE);
  CHECK(seen.hardware.reset_cause == KFD_HW_EXCEPTION_GPU_HANG);
  CHECK(seen.hardware.gpu_id == device.gpu_id);
}

TEST_CASE("queues: an AQL queue that was rung before it came to the device starts with that") {
  Device device;
  (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, 0, 0);
  device.launch({kEndProgram});
  REQUIRE(device.update(100) == 0);
  CHECK(soon([&] { return device.signal() == 0; }));
  CHECK(device.destroy() == 0);
}

TEST_CASE("queues: PM4 and copy-engine rings that were rung while they were off the device, or moved, go on with that") {
  Device device;
  const bool sdma = GENERATE(false, true);
  (void)device.create_queue(sdma ? KFD_IOC_QUEUE_TYPE_SDMA : KFD_IOC_QUEUE_TYPE_COMPUTE, 0, 0);
  auto* data = device.at<std::uint32_t>(Device::kData);
  *data = 0;
  std::uint64_t position = 0;
  // Stores the value, in the ring at this address.
  const auto put = [&](std::uint64_t ring, std::uint32_t value) {
    const auto low = static_cast<std::uint32_t>(Device::kData), high = static_cast<std::uint32_t>(Device::kData >> 32);
    const std::vector<std::uint32_t> packet = sdma ? std::vector<std::uint32_t>{5, low, high, value}
                                                   : std::vector<std::uint32_t>{0xc0033700, 5u << 8 | 1u << 20, low, high, value};
    std::copy(packet.begin(), packet.end(), device.at<std::uint32_t>(ring) + (sdma ? position / 4 : position));
    position += sdma ? packet.size() * 4 : packet.size();
    std::atomic_ref{device.at<abi::AmdQueue>(kVa)->write_dispatch_id}.store(position, std::memory_order_release);
    device.ring(position);
  };
  put(Device::kRing, 77);
  REQUIRE(device.update(100) == 0);
  CHECK(soon([&] { return std::atomic_ref{*data}.load() == 77; }));
  REQUIRE(device.update(0) == 0);
  const std::uint64_t other = kVa + 0x8000;
  put(other, 78);
  REQUIRE(device.update(100, 7, other) == 0);
  CHECK(soon([&] { return std::atomic_ref{*data}.load() == 78; }));
  put(other, 79);
  CHECK(soon([&] { return std::atomic_ref{*data}.load() == 79; }));
  CHECK(device.destroy() == 0);
}

TEST_CASE("queues: PM4 and copy-engine rings") {
  Device device;
  const bool sdma = GENERATE(false, true);
  (void)device.create_queue(sdma ? KFD_IOC_QUEUE_TYPE_SDMA : KFD_IOC_QUEUE_TYPE_COMPUTE);
  auto* ring = device.at<std::uint32_t>(Device::kRing);
  auto* data = device.at<std::uint32_t>(Device::kData);
  *data = 0;
  const auto low = static_cast<std::uint32_t>(Device::kData), high = static_cast<std::uint32_t>(Device::kData >> 32);
  if (sdma) {
    const std::uint32_t fence[] = {5, low, high, 77};
    std::copy_n(fence, 4, ring);
    device.ring(16); // bytes
  } else {
    const std::uint32_t write_data[] = {0xc0033700, 5u << 8 | 1u << 20, low, high, 77};
    std::copy_n(write_data, 5, ring);
    device.ring(5); // dwords
  }
  CHECK(soon([&] { return std::atomic_ref{*data}.load() == 77; }));
  CHECK(device.destroy() == 0);
}

TEST_CASE("queues: a queue whose memory is unmapped leaves the device and can only be destroyed") {
  Device device;
  (void)device.create_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  REQUIRE(device.map(device.handle, false) == 0);
  CHECK(device.update(100) == -EFAULT);
  CHECK(device.destroy() == 0);
  CHECK(device.free(device.handle) == 0);
}

TEST_CASE("queues: a queue in shared virtual memory that its GPU loses access to leaves the device") {
  VirtualKfd kfd;
  auto pages = std::make_unique<Pages>(4 * 4096);
  SvmCall svm{kfd};
  const auto set = [&](std::uint64_t first, std::uint64_t count, std::uint32_t type) {
    return svm(KFD_IOCTL_SVM_OP_SET_ATTR, pages->address() + first * 4096, count * 4096, {type, kfd.gpu_id},
               {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4});
  };
  REQUIRE(set(0, 4, KFD_IOCTL_SVM_ATTR_ACCESS) == 0);
  kfd_ioctl_create_queue_args args{};
  args.gpu_id = kfd.gpu_id;
  args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
  args.ring_base_address = pages->address();
  args.ring_size = 4096;
  args.read_pointer_address = pages->address() + 2 * 4096;
  args.write_pointer_address = args.read_pointer_address + 64;
  args.queue_percentage = 100;
  args.queue_priority = 7;
  REQUIRE(kfd.call(AMDKFD_IOC_CREATE_QUEUE, args) == 0);
  kfd_ioctl_update_queue_args update{args.ring_base_address, args.queue_id, 4096, 100, 7};
  REQUIRE(set(0, 4, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE) == 0);
  REQUIRE(set(3, 1, KFD_IOCTL_SVM_ATTR_NO_ACCESS) == 0); // nothing of the queue's
  CHECK(kfd.call(AMDKFD_IOC_UPDATE_QUEUE, update) == 0);
  REQUIRE(set(2, 1, KFD_IOCTL_SVM_ATTR_NO_ACCESS) == 0);
  CHECK(kfd.call(AMDKFD_IOC_UPDATE_QUEUE, update) == -EFAULT);
  pages.reset();
  std::atomic_ref{kfd.process->gpus()[0]->doorbells[0]}.store(16, std::memory_order_release); // nobody looks
  kfd_ioctl_destroy_queue_args destroy{args.queue_id, 0};
  CHECK(kfd.call(AMDKFD_IOC_DESTROY_QUEUE, destroy) == 0);
}

TEST_CASE("queues: what cannot be a queue is refused") {
  Device device;
  (void)device.create_queue(9, -EINVAL);
  kfd_ioctl_create_queue_args args{};
  args.gpu_id = device.gpu_id;
  args.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
  args.queue_percentage = 100;
  args.ring_size = 4096;
  CHECK(device.call(AMDKFD_IOC_CREATE_QUEUE, args) == -EFAULT); // no ring
  args.ring_base_address = Device::kRing;
  CHECK(device.call(AMDKFD_IOC_CREATE_QUEUE, args) == -EFAULT); // no pointers
  args.ring_size = 3000;
  CHECK(device.call(AMDKFD_IOC_CREATE_QUEUE, args) == -EINVAL);
  args.gpu_id = 1;
  CHECK(device.call(AMDKFD_IOC_CREATE_QUEUE, args) == -EINVAL);
  kfd_ioctl_set_cu_mask_args mask{device.queue_id, 33, 0};
  CHECK(device.call(AMDKFD_IOC_SET_CU_MASK, mask) == -EINVAL);
}
