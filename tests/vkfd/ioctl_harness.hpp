#pragma once
// A virtual KFD without the hooks: ioctls are called as functions.

#include <cerrno>
#include <cstring>
#include <memory>

#include <sys/mman.h>

#include "support/catch.hpp"
#include "vkfd/ioctl_table.hpp"
#include "vkfd/process.hpp"

namespace aql::test {

struct VirtualKfd {
  std::unique_ptr<vkfd::Process> process;
  std::uint32_t gpu_id = 0;

  explicit VirtualKfd(const char* devices = "gfx90a") {
    const auto gpus = vkfd::parse_devices(devices);
    REQUIRE(gpus);
    auto made = vkfd::Process::create(*gpus);
    REQUIRE(made);
    process = std::move(*made);
    for (const auto& gpu : process->gpus()) {
      kfd_ioctl_acquire_vm_args args{static_cast<std::uint32_t>(gpu->memory.fd()), gpu->id.gpu_id};
      REQUIRE(call(AMDKFD_IOC_ACQUIRE_VM, args) == 0);
    }
    gpu_id = process->gpus()[0]->id.gpu_id;
  }
  template <class Args>
  int call(unsigned long request, Args& args) {
    return vkfd::kfd_ioctl(*process, request, reinterpret_cast<std::uint64_t>(&args));
  }
  kfd_ioctl_alloc_memory_of_gpu_args allocate(std::uint64_t va, std::uint64_t size, std::uint32_t flags, int expected = 0,
                                              std::uint64_t host = 0) {
    kfd_ioctl_alloc_memory_of_gpu_args args{};
    args.va_addr = va;
    args.size = size;
    args.mmap_offset = host;
    args.gpu_id = gpu_id;
    args.flags = flags;
    REQUIRE(call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args) == expected);
    return args;
  }
  int map(std::uint64_t handle, bool to_gpu = true) {
    kfd_ioctl_map_memory_to_gpu_args args{handle, reinterpret_cast<std::uint64_t>(&gpu_id), 1, 0};
    return call(to_gpu ? AMDKFD_IOC_MAP_MEMORY_TO_GPU : AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, args);
  }
  int free(std::uint64_t handle) {
    kfd_ioctl_free_memory_of_gpu_args args{handle};
    return call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args);
  }
  [[nodiscard]] std::byte* device_view(std::uint64_t va, std::uint64_t size, std::uint8_t permissions) const {
    return process->gpus()[0]->core()->translate(va, size, permissions);
  }
};

// Arguments of the svm ioctl with two attributes.
struct SvmCall {
  std::uint64_t block[(sizeof(kfd_ioctl_svm_args) + 2 * sizeof(kfd_ioctl_svm_attribute)) / 8]{};
  kfd_ioctl_svm_args* args = reinterpret_cast<kfd_ioctl_svm_args*>(block);
  kfd_ioctl_svm_attribute* attributes = reinterpret_cast<kfd_ioctl_svm_attribute*>(block + sizeof(kfd_ioctl_svm_args) / 8);
  static constexpr unsigned long kRequest = _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x20, sizeof block);
  VirtualKfd& kfd;

  explicit SvmCall(VirtualKfd& k) : kfd(k) {}
  int operator()(std::uint32_t op, std::uint64_t begin, std::uint64_t size, kfd_ioctl_svm_attribute a, kfd_ioctl_svm_attribute b) {
    args->start_addr = begin;
    args->size = size;
    args->op = op;
    args->nattr = 2;
    attributes[0] = a;
    attributes[1] = b;
    return kfd.call(kRequest, block);
  }
};

// Anonymous memory of the program.
struct Pages {
  void* base;
  std::size_t size;
  explicit Pages(std::size_t bytes)
      : base(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), size(bytes) {
    REQUIRE(base != MAP_FAILED);
  }
  ~Pages() { munmap(base, size); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(base); }
};

inline constexpr std::uint32_t kVram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM, kUser = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, kWritable = 1u << 31,
                               kExecutable = KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
inline constexpr std::uint64_t kVa = 0x7e0000000000;

} // namespace aql::test
