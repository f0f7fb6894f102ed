// KFD ioctls about events.

#include <cerrno>
#include <vector>

#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"
#include "vkfd/user_memory.hpp"

namespace aql::vkfd {

int create_event(Process& process, kfd_ioctl_create_event_args& args) {
  Events& events = process.events();
  if (args.event_page_offset != 0) {
    // The program brings the page: a buffer's handle. Once.
    const auto second = [] { return refuse(-EINVAL, "the process has an event page already"); };
    if (events.has_page()) return second();
    const auto bo = process.memory().find(args.event_page_offset);
    if (!bo || bo->offset == 0 || bo->imported)
      return refuse(-EINVAL, "no buffer of the device has the handle {:#x}", args.event_page_offset);
    if (bo->size < Process::kEventPageBytes)
      return refuse(-EINVAL, "an event page of {} bytes; {} are needed", bo->size, Process::kEventPageBytes);
    // A view of our own, of pages that no other buffer gets: the program may free this one.
    if (!process.memory().keep_pages(args.event_page_offset)) return refuse(-EINVAL, "the buffer was freed meanwhile");
    View page = process.gpus()[bo->gpu]->memory.map(bo->offset, Process::kEventPageBytes);
    if (!page) return refuse(-ENOMEM, "the host refuses to map the event page");
    auto* slots = reinterpret_cast<std::uint64_t*>(page.get());
    if (!events.set_page(slots, std::move(page))) return second();
  }
  const bool signal = args.event_type == KFD_IOC_EVENT_SIGNAL || args.event_type == KFD_IOC_EVENT_DEBUG_EVENT;
  if (signal && !events.has_page()) {
    (void)events.set_page(process.own_event_page()); // or another thread did
    args.event_page_offset = Process::kEventPageOffset;
  }
  Events::Created created;
  if (const int error = events.create(args.event_type, args.auto_reset != 0, created); error != 0) {
    return error == -ENOSPC ? refuse(error, "all {} signal events are in use", KFD_SIGNAL_EVENT_LIMIT - 1)
                            : refuse(error, "event type {} does not exist", args.event_type);
  }
  if (created.has_slot) args.event_page_offset = Process::kEventPageOffset;
  args.event_id = created.id;
  args.event_trigger_data = created.id;
  args.event_slot_index = created.slot;
  return 0;
}

int destroy_event(Process& process, kfd_ioctl_destroy_event_args& args) {
  const int error = process.events().destroy(args.event_id);
  return error == 0 ? 0 : refuse(error, "no event has the id {}", args.event_id);
}

int set_event(Process& process, kfd_ioctl_set_event_args& args) {
  const int error = process.events().set(args.event_id);
  return error == 0 ? 0 : refuse(error, "no signal event has the id {}", args.event_id);
}

int reset_event(Process& process, kfd_ioctl_reset_event_args& args) {
  const int error = process.events().reset(args.event_id);
  return error == 0 ? 0 : refuse(error, "no signal event has the id {}", args.event_id);
}

int wait_events(Process& process, kfd_ioctl_wait_events_args& args) {
  if (args.num_events > KFD_SIGNAL_EVENT_LIMIT) return refuse(-EINVAL, "{} events are waited for", args.num_events);
  std::vector<kfd::EventData> data(args.num_events);
  if (!copy_from_user(data.data(), args.events_ptr, data.size() * sizeof data[0]))
    return refuse(-EFAULT, "the events at {:#x} cannot be read", args.events_ptr);
  if (const int error = process.events().wait(data, args.wait_for_all != 0, args.timeout, args.wait_result); error != 0) {
    return refuse(error, "one of the {} events {}", args.num_events, error == -EIO ? "was destroyed during the wait" : "does not exist");
  }
  if (args.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE &&
      !copy_to_user(args.events_ptr, data.data(), data.size() * sizeof data[0])) {
    return refuse(-EFAULT, "the events at {:#x} cannot be written", args.events_ptr);
  }
  return 0;
}

} // namespace aql::vkfd
