#pragma once
// The fuzz's ioctls: for every row arguments that name what lives, with a wrong word at times, and garbage.
// Thread safety: see fuzz_actor.hpp.

#include "fuzz_actor.hpp"

namespace aql::test {

inline void FuzzActor::plausible(const vkfd::IoctlRow& row) {
  alignas(8) std::byte block[4096]{};
  std::size_t size = row.size;
  const auto fill = [&block]<class Args>(const Args& args) { std::memcpy(block, &args, sizeof args); };
  const auto any = [this](std::uint64_t most) { return static_cast<std::uint32_t>(random_() % most); };
  const auto event = [this] { return world_.events.any(random_).value_or(0); };
  const auto fd = [this] { return static_cast<std::uint32_t>(world_.fds.any(random_).value_or(-1)); };
  for (auto& id : ids_) id = gpu_id();
  std::optional<FuzzBuffer> memory; // of a queue
  switch (row.nr) {
  case Nr::kCreateQueue:
    memory = world_.tame ? memory_for_queue() : world_.buffers.any(random_);
    if (!memory) return;
    if (world_.tame) clear_ring(*memory);
    fill(wanted_queue(*memory));
    break;
  case Nr::kDestroyQueue: {
    const auto queue = world_.queues.any(random_);
    if (!queue || !give_up(*queue)) return;
    counts_.count(world_, *queue);
    fill(kfd_ioctl_destroy_queue_args{queue->id, 0});
    break;
  }
  case Nr::kUpdateQueue: {
    const auto queue = world_.queues.any(random_);
    if (!queue) return;
    fill(kfd_ioctl_update_queue_args{queue->memory.va + FuzzWorld::kRing, queue->id, FuzzWorld::kRingBytes, any(3) != 0 ? 100u : 0u,
                                     any(16)});
    break;
  }
  case Nr::kSetCuMask:
    for (auto& word : mask_) word = any(1u << 31);
    fill(kfd_ioctl_set_cu_mask_args{queue_id(), 32 * (1 + any(32)), pointer(mask_.data())});
    break;
  case Nr::kGetQueueWaveState: {
    kfd_ioctl_get_queue_wave_state_args args{};
    args.queue_id = queue_id();
    fill(args);
    break;
  }
  case Nr::kAllocQueueGws: fill(kfd_ioctl_alloc_queue_gws_args{queue_id(), any(64), 0, 0}); break;
  case Nr::kSetMemoryPolicy: fill(kfd_ioctl_set_memory_policy_args{0, 0, gpu_id(), any(2), any(2), 0}); break;
  case Nr::kGetClockCounters: {
    kfd_ioctl_get_clock_counters_args args{};
    args.gpu_id = gpu_id();
    fill(args);
    break;
  }
  case Nr::kGetProcessAperturesNew: fill(kfd_ioctl_get_process_apertures_new_args{pointer(apertures_.data()), any(5), 0}); break;
  case Nr::kCreateEvent: {
    kfd_ioctl_create_event_args args{};
    args.event_type = any(2) != 0 ? KFD_IOC_EVENT_SIGNAL : any(9);
    args.auto_reset = any(2);
    args.event_page_offset = any(8) == 0 ? handle() : 0;
    fill(args);
    break;
  }
  case Nr::kDestroyEvent:
  case Nr::kSetEvent:
  case Nr::kResetEvent: fill(kfd_ioctl_set_event_args{event(), 0}); break; // all alike
  case Nr::kWaitEvents:
    for (auto& w : waits_) w = {}, w.event_id = event(), w.last_event_age = any(3);
    fill(kfd_ioctl_wait_events_args{pointer(waits_.data()), 1 + any(waits_.size()), any(2), any(2), 0});
    break;
  case Nr::kSetScratchBackingVa: fill(kfd_ioctl_set_scratch_backing_va_args{FuzzWorld::some_address(random_), gpu_id(), 0}); break;
  case Nr::kGetTileConfig: {
    kfd_ioctl_get_tile_config_args args{};
    args.gpu_id = gpu_id();
    fill(args);
    break;
  }
  case Nr::kSetTrapHandler:
    fill(kfd_ioctl_set_trap_handler_args{FuzzWorld::some_address(random_), FuzzWorld::some_address(random_), gpu_id(), 0});
    break;
  case Nr::kAcquireVm: {
    const auto& gpu = world_.gpu(random_());
    fill(kfd_ioctl_acquire_vm_args{static_cast<std::uint32_t>(gpu.memory.fd()), gpu.id.gpu_id});
    break;
  }
  case Nr::kAllocMemory: fill(wanted_buffer()); break;
  case Nr::kFreeMemory: fill(kfd_ioctl_free_memory_of_gpu_args{handle()}); break;
  case Nr::kMapMemory:
  case Nr::kUnmapMemory: fill(kfd_ioctl_map_memory_to_gpu_args{handle(), pointer(ids_.data()), 1 + any(2), 0}); break; // both alike
  case Nr::kGetDmabufInfo: {
    kfd_ioctl_get_dmabuf_info_args args{};
    args.dmabuf_fd = fd();
    fill(args);
    break;
  }
  case Nr::kImportDmabuf: fill(kfd_ioctl_import_dmabuf_args{FuzzWorld::some_address(random_), 0, gpu_id(), fd()}); break;
  case Nr::kExportDmabuf: fill(vkfd::kfd::ExportDmabufArgs{handle(), O_CLOEXEC, 0}); break;
  case Nr::kIpcExportHandle: fill(vkfd::kfd::IpcExportHandleArgs{handle(), {}, gpu_id(), 0}); break;
  case Nr::kIpcImportHandle: {
    vkfd::kfd::IpcImportHandleArgs args{0, FuzzWorld::some_address(random_), 0, {}, gpu_id(), 0};
    if (const auto shared = world_.handles.any(random_)) std::copy_n(shared->words, 4, args.share_handle);
    fill(args);
    break;
  }
  case Nr::kSvm: {
    const std::uint64_t page = any(256), count = 1 + any(std::min<std::uint64_t>(32, 256 - page));
    kfd_ioctl_svm_args args; // with attributes behind it
    args.start_addr = world_.pages.address() + page * 4096;
    args.size = count * 4096;
    args.op = any(3) != 0 ? KFD_IOCTL_SVM_OP_SET_ATTR : KFD_IOCTL_SVM_OP_GET_ATTR;
    args.nattr = 1 + any(4);
    fill(args);
    for (std::uint32_t i = 0; i < args.nattr; ++i) {
      kfd_ioctl_svm_attribute attribute{any(9), 0};
      const bool flags = attribute.type == KFD_IOCTL_SVM_ATTR_SET_FLAGS || attribute.type == KFD_IOCTL_SVM_ATTR_CLR_FLAGS;
      attribute.value = flags || attribute.type == KFD_IOCTL_SVM_ATTR_GRANULARITY ? any(64) : gpu_id();
      std::memcpy(block + sizeof args + i * sizeof attribute, &attribute, sizeof attribute);
    }
    size = sizeof args + args.nattr * sizeof(kfd_ioctl_svm_attribute);
    break;
  }
  case Nr::kSetXnackMode: fill(kfd_ioctl_set_xnack_mode_args{static_cast<std::int32_t>(any(3)) - 1}); break;
  case Nr::kAvailableMemory: {
    kfd_ioctl_get_available_memory_args args{};
    args.gpu_id = gpu_id();
    fill(args);
    break;
  }
  default: // nothing to say, or nothing is offered
    for (std::size_t i = 0; i < size; i += 8)
      std::memcpy(block + i, std::array{number()}.data(), std::min<std::size_t>(8, size - i));
    break;
  }
  const bool spoiled = !world_.tame && any(8) == 0;
  if (spoiled) {
    const auto wrong = number();
    std::size_t bytes = any(2) != 0 && size >= 8 ? 8 : 4, at = random_() % (size / bytes) * bytes;
    // Half of a pointer to results would send them anywhere among our own pages: the heap of a thread, say.
    std::uint64_t word = 0;
    std::memcpy(&word, block + at / 8 * 8, std::min<std::size_t>(8, size - at / 8 * 8));
    if (word >> 32 == pointer(this) >> 32) bytes = 8, at = at / 8 * 8;
    std::memcpy(block + at, &wrong, bytes);
  }
  if (row.nr == Nr::kWaitEvents) { // others would rightly wait for ever
    const std::uint32_t ms = any(2);
    std::memcpy(block + offsetof(kfd_ioctl_wait_events_args, timeout), &ms, sizeof ms);
    kfd_ioctl_wait_events_args args; // results go no further than our own events
    std::memcpy(&args, block, sizeof args);
    if (args.num_events > waits_.size()) return;
  }
  if (call(row.nr, size, pointer(block)) < 0) return;
  if (row.nr == Nr::kCreateQueue && !spoiled) {
    kfd_ioctl_create_queue_args args;
    std::memcpy(&args, block, sizeof args);
    keep_queue(args, *memory);
  } else {
    learn(row.nr, block, size);
  }
}

// What an ioctl brought to life, or ended.
inline void FuzzActor::learn(unsigned nr, const std::byte* bytes, std::size_t size) {
  const auto as = [&]<class Args>(Args args) {
    std::memcpy(&args, bytes, std::min(size, sizeof args));
    return args;
  };
  switch (nr) {
  case Nr::kAllocMemory:
    if (const auto args = as(kfd_ioctl_alloc_memory_of_gpu_args{}); args.size == FuzzWorld::kBufferBytes) {
      keep_buffer(args);
    } else {
      free_buffer(args.handle);
    }
    break;
  case Nr::kFreeMemory:
    world_.buffers.remove_if([h = as(kfd_ioctl_free_memory_of_gpu_args{}).handle](const FuzzBuffer& b) { return b.handle == h; });
    break;
  case Nr::kCreateEvent: {
    const auto old = world_.events.add(as(kfd_ioctl_create_event_args{}).event_id);
    if (old) {
      kfd_ioctl_destroy_event_args args{*old, 0};
      (void)call(Nr::kDestroyEvent, args);
    }
    break;
  }
  case Nr::kDestroyEvent:
    world_.events.remove_if([id = as(kfd_ioctl_destroy_event_args{}).event_id](std::uint32_t e) { return e == id; });
    break;
  case Nr::kExportDmabuf: {
    const auto args = as(vkfd::kfd::ExportDmabufArgs{});
    if (const auto old = world_.fds.add(static_cast<int>(args.dmabuf_fd))) close(*old);
    break;
  }
  case Nr::kIpcExportHandle: {
    const auto args = as(vkfd::kfd::IpcExportHandleArgs{});
    FuzzHandle shared{};
    std::copy_n(args.share_handle, 4, shared.words);
    (void)world_.handles.add(shared);
    break;
  }
  case Nr::kImportDmabuf:
  case Nr::kIpcImportHandle: { // mapped, used and freed like another buffer
    const bool ipc = nr == Nr::kIpcImportHandle;
    const auto from_file = as(kfd_ioctl_import_dmabuf_args{});
    const auto from_process = as(vkfd::kfd::IpcImportHandleArgs{});
    const FuzzBuffer buffer{
        ipc ? from_process.handle : from_file.handle, ipc ? from_process.va_addr : from_file.va_addr, 0, 0, 0, 0};
    ids_ = {gpu_id(), gpu_id()};
    kfd_ioctl_map_memory_to_gpu_args map{buffer.handle, pointer(ids_.data()), 1, 0};
    (void)call(Nr::kMapMemory, map);
    if (world_.tame) return free_buffer(buffer.handle);
    if (const auto old = world_.buffers.add(buffer)) free_buffer(old->handle);
    break;
  }
  default: break;
  }
}

inline void FuzzActor::garbage(const vkfd::IoctlRow& row) {
  const unsigned nr = random_() % 32 != 0 ? row.nr : static_cast<unsigned>(random_() % 256);
  alignas(8) std::uint64_t words[64];
  const bool halves = random_() % 2 != 0;
  for (auto& word : words) word = halves ? (number() & 0xffffffffu) | number() << 32 : number();
  auto* bytes = reinterpret_cast<std::byte*>(words);
  std::size_t size = row.size;
  if (random_() % 8 == 0) size = random_() % sizeof words;
  if (nr == Nr::kWaitEvents) { // would rightly wait for ever; a shorter block reads as 0
    const std::uint32_t ms = random_() % 2;
    std::memcpy(bytes + offsetof(kfd_ioctl_wait_events_args, timeout), &ms, sizeof ms);
  }
  const std::uint64_t user = random_() % 32 != 0 ? pointer(words) : number();
  const bool ours = user == pointer(words);
  if (!ours && nr == Nr::kWaitEvents) return; // the time is not ours to say
  if (!ours && user + size > world_.pages.address() && user < world_.pages.address() + world_.pages.size) return; // nor results
  if (call(nr, size, user) == 0 && ours) learn(nr, bytes, size);
}

} // namespace aql::test
