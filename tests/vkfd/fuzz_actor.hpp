#pragma once
// One actor of the fuzz: a step is an ioctl with arguments that could be right, an ioctl with garbage, a packet, or something that
// the program does to its memory. What was reached is counted.
// Thread safety: an actor belongs to one thread; counts may be shared.

#include <array>

#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include "fuzz_packets.hpp"
#include "vkfd/drm.hpp"

namespace aql::test {

struct FuzzCounts {
  struct Row {
    std::atomic<std::uint64_t> calls{0}, good{0};
  };
  std::array<Row, 256> ioctls{}; // by number
  Row drm;
  std::array<std::atomic<std::uint64_t>, 4> pushed{}, consumed{}; // by queue type: packets, dwords or bytes
  std::atomic<std::uint64_t> steps{0}, mapped{0};

  // What the device has executed of a queue, by its read pointer; nothing is known if the memory went first.
  void count(const FuzzWorld& world, const FuzzQueue& queue) {
    std::uint64_t read = world.read(queue.memory, FuzzWorld::kReadPointer);
    if (queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE) read &= 0xffffffffu;
    if (read >= queue.first && read <= queue.written) consumed[queue.type].fetch_add(read - queue.first, std::memory_order_relaxed);
  }
};

class FuzzActor {
public:
  // `doing` says what the actor is at, for the report of a hang.
  FuzzActor(FuzzWorld& world, FuzzCounts& counts, std::uint64_t seed, std::atomic<const char*>& doing)
      : world_(world), counts_(counts), random_(seed), packets_(world, random_), doing_(doing) {}

  void step() {
    const auto now = random_() % 64;
    if (now < 4) {
      doing_ = "a buffer", make_buffer();
    } else if (now < 8) {
      doing_ = "a queue", make_queue(random_() % 16 != 0);
    } else if (now < 32) {
      doing_ = "packets", push_packets();
    } else if (now < 34) {
      doing_ = "garbage in a queue", world_.tame ? push_packets() : scribble();
    } else if (now < 36 && !world_.tame) {
      doing_ = "pages of the program", change_pages();
    } else if (now < 38) {
      doing_ = "mmap of a buffer", map_buffer();
    } else if (now < 40) {
      doing_ = "DRM", drm();
    } else {
      const auto rows = vkfd::ioctl_rows();
      const auto& row = rows[random_() % rows.size()];
      doing_ = row.name;
      if (world_.tame && (row.nr == Nr::kAllocMemory || row.nr == Nr::kFreeMemory || row.nr == Nr::kUnmapMemory)) return;
      now < 60 || world_.tame ? plausible(row) : garbage(row);
    }
    counts_.steps.fetch_add(1, std::memory_order_relaxed);
  }

private:
  using Nr = vkfd::kfd::Nr;
  static constexpr std::size_t kTameBuffers = 32;

  // Values that could be anything.
  std::uint64_t number() {
    switch (random_() % 8) {
    case 0: return random_();
    case 1: return random_() % 16;
    case 2: return FuzzWorld::some_address(random_);
    case 3: return world_.pages.address() + random_() % 256 * 4096;
    case 4: return handle();
    case 5: return gpu_id() + random_() % 3;
    case 6: return 1ull << random_() % 64;
    default: return 0;
    }
  }
  std::uint64_t handle() {
    const auto buffer = world_.buffers.any(random_);
    return buffer ? buffer->handle : 0;
  }
  std::uint32_t gpu_id() { return world_.gpu(random_() % 8 == 0).id.gpu_id; }
  std::uint32_t queue_id() {
    const auto queue = world_.queues.any(random_);
    return queue ? queue->id : 0;
  }
  static std::uint64_t pointer(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

  int call(unsigned nr, std::size_t size, std::uint64_t user) {
    auto& row = counts_.ioctls[nr & 0xffu];
    row.calls.fetch_add(1, std::memory_order_relaxed);
    const bool registers_pages = nr == Nr::kAllocMemory || nr == Nr::kSvm;
    std::shared_lock lock{world_.pages_mutex, std::defer_lock};
    if (registers_pages) lock.lock();
    const int result = vkfd::kfd_ioctl(*world_.kfd.process, _IOC(_IOC_READ | _IOC_WRITE, 'K', nr, size), user);
    if (result >= 0) row.good.fetch_add(1, std::memory_order_relaxed);
    return result;
  }
  template <class Args>
  int call(Nr nr, Args& args) {
    return call(nr, sizeof args, pointer(&args));
  }

  // A buffer that is mapped, so that more than the checks of arguments is reached.
  void make_buffer() {
    if (world_.tame && world_.buffers.size() >= kTameBuffers) return;
    kfd_ioctl_alloc_memory_of_gpu_args args = wanted_buffer();
    if (call(Nr::kAllocMemory, args) != 0) return;
    if (!world_.tame) keep_buffer(args);
    ids_ = {world_.gpu(0).id.gpu_id, world_.gpu(1).id.gpu_id};
    kfd_ioctl_map_memory_to_gpu_args map{args.handle, pointer(ids_.data()), random_() % 4 == 0 ? 1u : 2u, 0};
    const bool mapped = call(Nr::kMapMemory, map) == 0;
    if (mapped) counts_.mapped.fetch_add(1, std::memory_order_relaxed);
    if (!world_.tame) return;
    mapped ? keep_buffer(args) : free_buffer(args.handle); // another may lie there: a queue would work on that one
  }
  kfd_ioctl_alloc_memory_of_gpu_args wanted_buffer() {
    kfd_ioctl_alloc_memory_of_gpu_args args{};
    args.gpu_id = gpu_id();
    args.size = FuzzWorld::kBufferBytes;
    args.va_addr = FuzzWorld::some_address(random_);
    args.flags = (world_.tame || random_() % 8 != 0 ? kWritable : 0) | (world_.tame || random_() % 4 != 0 ? kExecutable : 0) |
                 (random_() % 4 == 0 ? KFD_IOC_ALLOC_MEM_FLAGS_COHERENT : 0);
    switch (world_.tame ? 6 + random_() % 10 : random_() % 16) { // buffers of the program's pages overlap
    case 0:
      args.flags |= KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL;
      args.size = vkfd::kDoorbellBytes;
      break;
    case 1:
      args.flags |= KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP;
      args.size = vkfd::kPage;
      break;
    case 2:
    case 3:
    case 4:
    case 5:
      args.flags |= kUser;
      args.mmap_offset = world_.pages.address() + random_() % 16 * 0x10000;
      break;
    case 6:
    case 7: args.flags |= KFD_IOC_ALLOC_MEM_FLAGS_GTT; break;
    default: args.flags |= kVram; break;
    }
    return args;
  }
  void keep_buffer(const kfd_ioctl_alloc_memory_of_gpu_args& args) {
    FuzzBuffer buffer{args.handle, args.va_addr, args.size, args.gpu_id == world_.gpu(1).id.gpu_id ? 1u : 0u, 0, 0};
    if ((args.flags & kUser) != 0) {
      buffer.host_address = args.mmap_offset;
    } else if ((args.flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)) == 0) {
      buffer.file_offset = args.mmap_offset;
    } else {
      buffer.size = 0; // nothing is written there
    }
    // The oldest would go, with its queue.
    if (world_.tame && world_.buffers.size() >= kTameBuffers) return free_buffer(buffer.handle);
    if (const auto old = world_.buffers.add(buffer)) free_buffer(old->handle);
  }
  void free_buffer(std::uint64_t old) {
    ids_ = {world_.gpu(0).id.gpu_id, world_.gpu(1).id.gpu_id};
    kfd_ioctl_unmap_memory_from_gpu_args unmap{old, pointer(ids_.data()), 2, 0};
    (void)call(Nr::kUnmapMemory, unmap);
    kfd_ioctl_free_memory_of_gpu_args args{old};
    (void)call(Nr::kFreeMemory, args);
  }

  kfd_ioctl_create_queue_args wanted_queue(const FuzzBuffer& memory) {
    kfd_ioctl_create_queue_args args{};
    args.gpu_id = world_.gpu(memory.gpu).id.gpu_id;
    args.queue_type = static_cast<std::uint32_t>(random_() % 4);
    args.ring_size = FuzzWorld::kRingBytes;
    args.ring_base_address = memory.va + FuzzWorld::kRing;
    args.read_pointer_address = memory.va + FuzzWorld::kReadPointer;
    args.write_pointer_address = memory.va + FuzzWorld::kWritePointer;
    args.queue_percentage = random_() % 8 != 0 ? 100 : 0;
    args.queue_priority = static_cast<std::uint32_t>(random_() % 16);
    return args;
  }
  void make_queue(bool fresh) {
    const auto memory = memory_for_queue();
    if (!memory) return;
    auto args = wanted_queue(*memory);
    if (fresh) clear_ring(*memory);
    if (call(Nr::kCreateQueue, args) == 0) keep_queue(args, *memory);
  }
  std::optional<FuzzBuffer> memory_for_queue() {
    const auto memory = world_.buffers.any(random_);
    if (!memory || memory->size < FuzzWorld::kBufferBytes) return std::nullopt;
    bool taken = false; // two queues on one ring say little
    world_.queues.for_each([&](const FuzzQueue& queue) { taken |= queue.memory.handle == memory->handle; });
    return taken && (world_.tame || random_() % 16 != 0) ? std::nullopt : memory;
  }
  void clear_ring(const FuzzBuffer& memory) {
    abi::AmdQueue amd{};
    amd.hsa_queue.base_address = memory.va + FuzzWorld::kRing;
    amd.hsa_queue.size = FuzzWorld::kRingBytes / sizeof(abi::Slot);
    world_.put(memory, 0, amd);
    std::array<abi::Slot, FuzzWorld::kRingBytes / sizeof(abi::Slot)> ring{};
    for (auto& slot : ring) slot.word[0] = static_cast<std::uint32_t>(abi::PacketType::invalid);
    world_.put(memory, FuzzWorld::kRing, ring);
  }
  void keep_queue(const kfd_ioctl_create_queue_args& args, const FuzzBuffer& memory) {
    FuzzQueue queue{args.queue_id, args.queue_type, memory.gpu, memory, nullptr, 0, 0};
    queue.written = world_.read(memory, FuzzWorld::kReadPointer); // of a ring that was used before
    if (queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE) queue.written &= 0xffffffffu;
    queue.first = queue.written;
    queue.doorbell = world_.gpu(memory.gpu).doorbells + args.doorbell_offset % (1ull << 32) / 8;
    if (const auto old = world_.queues.add(queue)) destroy_queue(*old);
  }
  // false: the other actor was quicker, and the number may be a new queue's; only the wild go on then.
  bool give_up(const FuzzQueue& queue) {
    return world_.queues.remove_if([&](const FuzzQueue& q) { return q.id == queue.id; }) != 0 || !world_.tame;
  }
  void destroy_queue(const FuzzQueue& queue) {
    counts_.count(world_, queue);
    kfd_ioctl_destroy_queue_args args{queue.id, 0};
    (void)call(Nr::kDestroyQueue, args);
  }

  // Whole packets behind those that are there, and the doorbell; a ring that does not move is given up at times.
  void push_packets() {
    const auto chosen = world_.queues.any(random_);
    if (!chosen) return make_queue(true);
    bool full = false;
    world_.queues.for_each([&](FuzzQueue& queue) {
      if (queue.id != chosen->id || queue.type != chosen->type || queue.gpu != chosen->gpu) return;
      packets_.set_home(queue.memory);
      for (std::uint64_t n = 1 + random_() % 4; n != 0 && !full; --n) full = !push(queue);
    });
    if (!full && (!world_.tame || random_() % 4 != 0)) return;
    // The program answers what the queue may wait for, or gives it up.
    world_.put(chosen->memory, FuzzWorld::kSignals, std::array<std::uint64_t, 0x900 / 8>{});
    world_.put(chosen->memory, FuzzWorld::kData, std::array<std::uint64_t, 0x900 / 8>{});
    if (full && random_() % 4 == 0) {
      if (give_up(*chosen)) destroy_queue(*chosen);
    }
  }
  bool push(FuzzQueue& queue) {
    const std::uint64_t read = world_.read(queue.memory, FuzzWorld::kReadPointer);
    if (queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
      constexpr std::uint64_t kSlots = FuzzWorld::kRingBytes / sizeof(abi::Slot);
      if (queue.written - read >= kSlots) return false;
      abi::Slot slot = packets_.aql();
      const std::uint64_t at = FuzzWorld::kRing + queue.written % kSlots * sizeof slot;
      world_.write(queue.memory, at + 4, reinterpret_cast<const std::byte*>(&slot) + 4, sizeof slot - 4);
      world_.put(queue.memory, at, slot.word[0]);
      world_.put(queue.memory, FuzzWorld::kWritePointer, ++queue.written);
      counts_.pushed[queue.type].fetch_add(1, std::memory_order_relaxed);
      std::atomic_ref{*queue.doorbell}.store(queue.written - 1, std::memory_order_release);
      return true;
    }
    const bool pm4 = queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE;
    const std::uint64_t unit = pm4 ? 1 : 4, room = FuzzWorld::kRingBytes / 4 - 1;
    const auto words = pm4 ? packets_.pm4() : packets_.sdma();
    const std::uint64_t used = pm4 ? (queue.written - read) & 0xffffffffu : (queue.written - read) / 4;
    if (used + words.size() > room) return false;
    for (std::size_t i = 0; i < words.size(); ++i)
      world_.put(queue.memory, FuzzWorld::kRing + (queue.written / unit + i) * 4 % FuzzWorld::kRingBytes, words[i]);
    queue.written += words.size() * unit;
    counts_.pushed[queue.type].fetch_add(words.size() * unit, std::memory_order_relaxed);
    std::atomic_ref{*queue.doorbell}.store(queue.written, std::memory_order_release);
    return true;
  }

  // Anything into rings, queue structures and doorbells.
  void scribble() {
    if (const auto buffer = world_.buffers.any(random_)) {
      const std::uint64_t at =
          random_() % 2 != 0 ? FuzzWorld::kRing + random_() % FuzzWorld::kRingBytes / 4 * 4 : random_() % 0x4000 * 4;
      for (std::uint64_t i = 0; i < 64; ++i) world_.put(*buffer, at + i * 4, static_cast<std::uint32_t>(number()));
    }
    if (const auto queue = world_.queues.any(random_); queue && random_() % 2 != 0)
      std::atomic_ref{*queue->doorbell}.store(random_() % 3 != 0 ? random_() % 256 : number(), std::memory_order_release);
  }

  void change_pages() {
    const std::uint64_t page = random_() % 256, count = 1 + random_() % std::min<std::uint64_t>(16, 256 - page);
    constexpr int kProtections[] = {PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
    world_.change_pages(world_.pages.address() + page * 4096, count * 4096, kProtections[random_() % 4]);
  }

  // As the program maps a buffer through its render node: the pages are there, and nothing but the buffer's.
  void map_buffer() {
    const auto buffer = world_.buffers.any(random_);
    if (!buffer || buffer->file_offset == 0) return;
    const auto target = world_.kfd.process->memory().mmap_target(buffer->gpu, buffer->file_offset, buffer->size);
    if (!target) return; // freed meanwhile
    const vkfd::View view{target->fd >= 0 ? target->fd : world_.gpu(buffer->gpu).memory.fd(), target->offset, buffer->size};
    if (!view) return; // an import that was freed meanwhile
    auto* word = reinterpret_cast<std::uint32_t*>(view.get() + FuzzWorld::kData);
    std::atomic_ref{*word}.fetch_add(1);
  }

  void drm() {
    auto& gpu = world_.gpu(random_());
    char text[64];
    drm_version version{};
    version.name = version.date = version.desc = text;
    version.name_len = version.date_len = version.desc_len = random_() % sizeof text;
    alignas(8) std::byte answer[1024];
    drm_amdgpu_info info{};
    info.return_pointer = pointer(answer);
    info.return_size = static_cast<std::uint32_t>(random_() % sizeof answer);
    info.query = static_cast<std::uint32_t>(random_() % 0x30);
    info.read_mmr_reg.count = random_() % 2 != 0 ? 1 : static_cast<std::uint32_t>(number());
    const bool asks = random_() % 4 != 0;
    const auto request = asks ? _IOC(_IOC_WRITE, 'd', DRM_COMMAND_BASE + DRM_AMDGPU_INFO, sizeof info)
                              : _IOC(_IOC_READ | _IOC_WRITE, 'd', random_() % 4 != 0 ? 0 : random_() % 256, sizeof version);
    counts_.drm.calls.fetch_add(1, std::memory_order_relaxed);
    if (vkfd::drm_ioctl(*world_.kfd.process, gpu, request, asks ? pointer(&info) : pointer(&version)) >= 0)
      counts_.drm.good.fetch_add(1, std::memory_order_relaxed);
  }

  void plausible(const vkfd::IoctlRow& row);
  void garbage(const vkfd::IoctlRow& row);
  void learn(unsigned nr, const std::byte* bytes, std::size_t size);

  FuzzWorld& world_;
  FuzzCounts& counts_;
  Random random_;
  PacketSource packets_;
  std::atomic<const char*>& doing_;
  std::array<std::uint32_t, 2> ids_{};
  std::array<kfd_process_device_apertures, 4> apertures_{};
  std::array<vkfd::kfd::EventData, 4> waits_{};
  std::array<std::uint32_t, 32> mask_{};
};

} // namespace aql::test

#include "fuzz_ioctls.hpp"
