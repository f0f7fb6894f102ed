#pragma once
// Makes code that was just written visible to instruction fetch: a small queue of the driver's own runs a PM4 buffer that
// invalidates the caches.
// Thread safety: any thread.

#include <mutex>

#include "driver/code_invalidation.hpp"
#include "driver/kfd/hw_queue.hpp"
#include "driver/kfd/session.hpp"
#include "driver/kfd/signals.hpp"

namespace aql::detail::kfd {

class CodeCache {
public:
  CodeCache(Session& session, const Gpu& gpu, Memory& memory, Signals& signals) noexcept : session_(session), gpu_(gpu), memory_(memory), signals_(signals) {}
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  [[nodiscard]] Result<void> invalidate();

private:
  [[nodiscard]] Result<void> start();

  Session& session_;
  const Gpu& gpu_;
  Memory& memory_;
  Signals& signals_;
  std::mutex mutex_;
  std::shared_ptr<HwQueue> queue_;
  QueueView view_;
  Memory::Block words_;
  SignalView done_;
  std::uint64_t write_ = 0;
};

} // namespace aql::detail::kfd
