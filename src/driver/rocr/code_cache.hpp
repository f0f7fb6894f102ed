#pragma once
// Makes code that our own loader has placed visible to instruction fetch. The runtime does that for code that its loader places, and
// for nothing else: a small queue of the driver's own runs the same commands.
// Thread safety: any thread.

#include <atomic>
#include <mutex>

#include "driver/code_invalidation.hpp"
#include "driver/rocr/queues.hpp"

namespace aql::detail::rocr {

class CodeCache {
public:
  CodeCache(const Runtime& runtime, const Agent& agent, Queues& queues) noexcept : runtime_(runtime), api_(runtime.api()), agent_(agent), queues_(queues) {}
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  [[nodiscard]] Result<void> invalidate();

private:
  [[nodiscard]] Result<void> start();
  void drop_queue();

  const Runtime& runtime_;
  const HsaApi& api_;
  const Agent& agent_;
  Queues& queues_;
  std::mutex mutex_;
  void* words_ = nullptr;
  hsa_signal_t done_{};
  QueueView view_; // ring null: there is no queue
  std::uint64_t write_ = 0;
  std::atomic<bool> failed_{false}; // the queue
};

} // namespace aql::detail::rocr
