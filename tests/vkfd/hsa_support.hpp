#pragma once
// A small program frame on hsa.h, as other people's programs are written: no part of aql.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

inline void require(bool ok, const char* what, int line) {
  if (ok) return;
  std::printf("line %d: not true: %s\n", line, what);
  std::fflush(stdout);
  _exit(1); // whatever state the runtime is in
}
#define REQUIRE(x) require((x), #x, __LINE__)
inline void check(hsa_status_t status, const char* what, int line) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  std::printf("line %d: %s gave %#x: %s\n", line, what, status, text == nullptr ? "" : text);
  std::fflush(stdout);
  _exit(1);
}
#define CHECK(x) check((x), #x, __LINE__)

struct Agents {
  hsa_agent_t cpu{};
  std::vector<hsa_agent_t> gpus;
  hsa_amd_memory_pool_t kernarg{}, fine{};

  Agents() {
    CHECK(hsa_iterate_agents(
        [](hsa_agent_t agent, void* data) {
          hsa_device_type_t type;
          CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
          auto& self = *static_cast<Agents*>(data);
          if (type == HSA_DEVICE_TYPE_CPU) self.cpu = agent;
          if (type == HSA_DEVICE_TYPE_GPU) self.gpus.push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        this));
    REQUIRE(!gpus.empty());
    for_pools(cpu, [this](hsa_amd_memory_pool_t pool, std::uint32_t flags) {
      if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) kernarg = pool;
      if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) fine = pool;
    });
  }
  static void for_pools(hsa_agent_t agent, const std::function<void(hsa_amd_memory_pool_t, std::uint32_t)>& f) {
    CHECK(hsa_amd_agent_iterate_memory_pools(
        agent,
        [](hsa_amd_memory_pool_t pool, void* data) {
          hsa_amd_segment_t segment;
          CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
          if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
          std::uint32_t flags = 0;
          CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
          (*static_cast<const std::function<void(hsa_amd_memory_pool_t, std::uint32_t)>*>(data))(pool, flags);
          return HSA_STATUS_SUCCESS;
        },
        const_cast<void*>(static_cast<const void*>(&f))));
  }
  hsa_amd_memory_pool_t device_pool(hsa_agent_t gpu) const {
    hsa_amd_memory_pool_t found{};
    for_pools(gpu, [&](hsa_amd_memory_pool_t pool, std::uint32_t flags) {
      if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) found = pool;
    });
    return found;
  }
  template <class T>
  T* host(std::size_t count) const {
    return allocate<T>(fine, count);
  }
  template <class T>
  T* device(std::size_t count, std::size_t gpu = 0) const {
    return allocate<T>(device_pool(gpus[gpu]), count);
  }
  template <class T>
  T* allocate(hsa_amd_memory_pool_t pool, std::size_t count) const {
    void* p = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &p));
    std::vector<hsa_agent_t> all = gpus;
    all.push_back(cpu);
    (void)hsa_amd_agents_allow_access(static_cast<std::uint32_t>(gpus.size()), gpus.data(), nullptr, p);
    return static_cast<T*>(p);
  }
};

struct Signal {
  hsa_signal_t handle{};
  explicit Signal(hsa_signal_value_t value) { CHECK(hsa_signal_create(value, 0, nullptr, &handle)); }
  ~Signal() { hsa_signal_destroy(handle); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  // Blocks in WAIT_EVENTS after the runtime has spun for a while. Loops: waits may return early.
  hsa_signal_value_t wait(hsa_signal_condition_t condition = HSA_SIGNAL_CONDITION_LT, hsa_signal_value_t value = 1) const {
    for (;;) {
      const auto seen = hsa_signal_wait_scacquire(handle, condition, value, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
      if (condition == HSA_SIGNAL_CONDITION_LT ? seen < value : true) return seen;
    }
  }
};

class Code {
public:
  Code(hsa_agent_t agent, const std::string& path) : agent_(agent) {
    const int fd = open(path.c_str(), O_RDONLY);
    if (fd < 0) std::printf("cannot open %s\n", path.c_str());
    REQUIRE(fd >= 0);
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_file(fd, &reader));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_));
    CHECK(hsa_executable_load_agent_code_object(executable_, agent, reader, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable_, nullptr));
    CHECK(hsa_code_object_reader_destroy(reader));
    close(fd);
  }
  ~Code() { hsa_executable_destroy(executable_); }
  struct Kernel {
    std::uint64_t object = 0;
    std::uint32_t group = 0, private_bytes = 0, kernarg = 0;
  };
  Kernel kernel(const std::string& name) const {
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable_, (name + ".kd").c_str(), &agent_, &symbol));
    Kernel k;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.group));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.private_bytes));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.kernarg));
    return k;
  }

private:
  hsa_agent_t agent_;
  hsa_executable_t executable_{};
};

struct Queue {
  hsa_queue_t* queue = nullptr;
  std::uint64_t index = 0;
  Queue(hsa_agent_t agent, std::uint32_t size = 64, void (*callback)(hsa_status_t, hsa_queue_t*, void*) = nullptr,
        void* data = nullptr) {
    CHECK(hsa_queue_create(agent, size, HSA_QUEUE_TYPE_MULTI, callback, data, UINT32_MAX, UINT32_MAX, &queue));
  }
  ~Queue() { hsa_queue_destroy(queue); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <class Packet>
  void publish(Packet packet, std::uint16_t header, std::uint16_t second) {
    const std::uint64_t at = hsa_queue_add_write_index_relaxed(queue, 1);
    while (at - hsa_queue_load_read_index_scacquire(queue) >= queue->size) usleep(10);
    auto* slot = static_cast<Packet*>(queue->base_address) + (at & (queue->size - 1));
    std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), header | static_cast<std::uint32_t>(second) << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(at));
    index = at;
  }
  static std::uint16_t header(hsa_packet_type_t type, bool barrier = true) {
    return static_cast<std::uint16_t>(type << HSA_PACKET_HEADER_TYPE | (barrier ? 1 : 0) << HSA_PACKET_HEADER_BARRIER |
                                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  }
  void dispatch(const Code::Kernel& kernel, std::uint32_t grid, std::uint16_t group, void* kernargs, hsa_signal_t completion,
                bool barrier = true) {
    hsa_kernel_dispatch_packet_t p{};
    p.workgroup_size_x = group;
    p.workgroup_size_y = p.workgroup_size_z = 1;
    p.grid_size_x = grid;
    p.grid_size_y = p.grid_size_z = 1;
    p.private_segment_size = kernel.private_bytes;
    p.group_segment_size = kernel.group;
    p.kernel_object = kernel.object;
    p.kernarg_address = kernargs;
    p.completion_signal = completion;
    publish(p, header(HSA_PACKET_TYPE_KERNEL_DISPATCH, barrier), 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
  }
};

// Kernel arguments, laid out as a C struct is.
class Arguments {
public:
  Arguments(const Agents& agents, const Code::Kernel& kernel)
      : data_(agents.allocate<char>(agents.kernarg, kernel.kernarg < 256 ? 256 : kernel.kernarg)) {
    std::memset(data_, 0, 256);
  }
  ~Arguments() { hsa_amd_memory_pool_free(data_); }
  template <class T>
  Arguments& add(T value) {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(data_ + at_, &value, sizeof value);
    at_ += sizeof(T);
    return *this;
  }
  void* data() const { return data_; }

private:
  char* data_;
  std::size_t at_ = 0;
};
