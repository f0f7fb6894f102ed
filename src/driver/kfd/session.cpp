#include "driver/kfd/session.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

std::string reasons(const HsaAccessAttributeFailure& failure) {
  std::string text;
  const auto add = [&text](bool there, const char* name) {
    if (there) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  };
  add(failure.NotPresent != 0, "page not present");
  add(failure.ReadOnly != 0, "write to a read-only page");
  add(failure.NoExecute != 0, "execution of a page that is not executable");
  add(failure.GpuAccess != 0, "page of the host only");
  add(failure.ECC != 0, "uncorrectable memory error");
  add(failure.Imprecise != 0, "the address is imprecise");
  add(failure.ErrorType != 0, "RAS error");
  return text.empty() ? "no reason given" : text;
}

HsaEvent* make_event(const Thunk& thunk, HSA_EVENTTYPE type, bool manual_reset) {
  HsaEventDescriptor descriptor{};
  descriptor.EventType = type;
  descriptor.SyncVar.SyncVarSize = sizeof(std::int64_t);
  HsaEvent* event = nullptr;
  return thunk.hsaKmtCreateEvent(&descriptor, manual_reset, false, &event) == HSAKMT_STATUS_SUCCESS ? event : nullptr;
}

} // namespace

Result<std::shared_ptr<Session>> Session::get() {
  static std::mutex mutex;
  static std::weak_ptr<Session> current;
  const std::lock_guard lock{mutex};
  if (auto session = current.lock()) {
    if (!session->fork_.forked()) return session;
    new std::shared_ptr<Session>(std::move(session)); // the parent's: never closed here
  }
  auto thunk = load_thunk();
  if (!thunk) return std::unexpected(thunk.error());
  auto claim = KfdClaim::take("kfd");
  if (!claim) return std::unexpected(claim.error());
  std::shared_ptr<Session> session{new Session{**thunk, std::move(*claim)}};
  if (auto opened = session->open(); !opened) return std::unexpected(opened.error());
  current = session;
  return session;
}

Result<void> Session::open() {
  const auto refuse = [](Error error) {
    error.code = Errc::unsupported;
    return std::unexpected(std::move(error));
  };
  if (const auto status = thunk_.hsaKmtOpenKFD(); status != HSAKMT_STATUS_SUCCESS && status != HSAKMT_STATUS_KERNEL_ALREADY_OPENED)
    return refuse(failure(status, "/dev/kfd cannot be opened", "kfd"));
  opened_ = true;
  HsaVersionInfo version{};
  if (thunk_.hsaKmtGetVersion(&version) == HSAKMT_STATUS_SUCCESS) log::debug(fmt::format("kfd: interface {}.{}", version.KernelInterfaceMajorVersion, version.KernelInterfaceMinorVersion));
  auto gpus = read_topology(thunk_);
  if (!gpus) return refuse(gpus.error());
  gpus_ = std::move(*gpus);
  return {};
}

Session::~Session() {
  if (thread_.joinable()) {
    stop_.store(true, std::memory_order_release);
    (void)thunk_.hsaKmtSetEvent(alarm_);
    thread_.join();
  }
  for (HsaEvent* event : {alarm_, memory_, exception_}) {
    if (event != nullptr && thunk_.hsaKmtDestroyEvent(event) != HSAKMT_STATUS_SUCCESS) log::warn("kfd: an event could not be destroyed");
  }
  hub_.stop();
  if (!opened_) return;
  (void)thunk_.hsaKmtReleaseSystemProperties();
  if (const auto status = thunk_.hsaKmtCloseKFD(); status != HSAKMT_STATUS_SUCCESS) log::error(failure(status, "/dev/kfd cannot be closed", "kfd").message());
}

std::vector<std::uint32_t> Session::usable_nodes() const {
  std::vector<std::uint32_t> nodes;
  for (const Gpu& gpu : gpus_) {
    if (gpu.refusal.empty()) nodes.push_back(gpu.node);
  }
  return nodes;
}

Result<void> Session::start() {
  const std::lock_guard lock{start_mutex_};
  if (thread_.joinable()) return {};
  if (auto hub = hub_.start(); !hub) return hub;
  if (alarm_ == nullptr) alarm_ = make_event(thunk_, HSA_EVENTTYPE_SIGNAL, false);
  if (alarm_ == nullptr) return std::unexpected(Error{Errc::out_of_resources, 0, "libhsakmt gives no event for errors of queues", "kfd"});
  // The kernel tells of a memory fault by this event; without one it ends the process.
  if (memory_ == nullptr) memory_ = make_event(thunk_, HSA_EVENTTYPE_MEMORY, false);
  if (memory_ == nullptr) log::warn("kfd: no event for memory faults; a fault of the GPU ends the process");
  // Stays raised, because only that tells it from the others.
  if (exception_ == nullptr) exception_ = make_event(thunk_, HSA_EVENTTYPE_HW_EXCEPTION, true);
  thread_ = std::thread{[this] { listen(); }};
  return {};
}

void Session::add(std::shared_ptr<ErrorListener> listener) {
  const std::lock_guard lock{listeners_mutex_};
  listeners_.push_back(std::move(listener));
}

void Session::remove(const ErrorListener* listener) {
  const std::lock_guard lock{listeners_mutex_};
  std::erase_if(listeners_, [listener](const auto& known) { return known.get() == listener; });
}

void Session::listen() {
  bool lost = false;
  constexpr HSAuint32 kNobody = ~0u;
  while (!stop_.load(std::memory_order_acquire)) {
    HsaEvent* events[3];
    HSAuint32 count = 0;
    events[count++] = alarm_;
    if (memory_ != nullptr) {
      memory_->EventData.EventData.MemoryAccessFault = {};
      memory_->EventData.EventData.MemoryAccessFault.NodeId = kNobody; // filled in if it was this event
      events[count++] = memory_;
    }
    if (exception_ != nullptr && !lost) events[count++] = exception_;
    const auto status = thunk_.hsaKmtWaitOnMultipleEvents(events, count, false, HSA_EVENTTIMEOUT_INFINITE);
    if (stop_.load(std::memory_order_acquire)) return;
    if (status != HSAKMT_STATUS_SUCCESS && status != HSAKMT_STATUS_WAIT_TIMEOUT) {
      log::error(failure(status, "errors of queues will not be heard of any more", "kfd").message());
      return;
    }
    std::vector<std::shared_ptr<ErrorListener>> listeners;
    {
      const std::lock_guard lock{listeners_mutex_};
      listeners = listeners_;
    }
    if (memory_ != nullptr && memory_->EventData.EventData.MemoryAccessFault.NodeId != kNobody) {
      const HsaMemoryAccessFault& data = memory_->EventData.EventData.MemoryAccessFault;
      const MemoryFault fault{data.NodeId, data.VirtualAddress, reasons(data.Failure)};
      for (const auto& listener : listeners) listener->memory_fault(fault);
    }
    if (exception_ != nullptr && !lost && thunk_.hsaKmtWaitOnEvent(exception_, 0) == HSAKMT_STATUS_SUCCESS) {
      lost = true;
      for (const auto& listener : listeners) listener->device_lost("the kernel reports a hardware exception (a hang, or a reset of the GPU)");
    }
    for (const auto& listener : listeners) listener->queues_need_attention();
  }
}

} // namespace aql::detail::kfd
