#pragma once
// Memory through the HSA runtime: pools, pinned ranges, copies that check host pointers.
// Thread safety: any thread.

#include <map>
#include <mutex>

#include "driver/driver.hpp"
#include "driver/rocr/runtime.hpp"

namespace aql::detail::rocr {

class Memory {
public:
  Memory(const Runtime& runtime, const Agent& agent) : runtime_(runtime), api_(runtime.api()), agent_(agent) {}
  ~Memory();

  Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes);
  Result<void> free(const Allocation& allocation);
  Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable);
  Result<void> unpin(const Allocation& allocation);
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes);
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count);

private:
  // What the runtime knows of [address, address + size). host: memory that it did not allocate; the address is then the host's
  // (pinned memory may have another one on the device).
  enum class Place : std::uint8_t { host, runtime, leaves };
  [[nodiscard]] Place place(std::uint64_t& address, std::size_t size_bytes) const;
  [[nodiscard]] Result<void> copy_known(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes);
  [[nodiscard]] Result<std::byte*> staging(); // mutex_ held

  const Runtime& runtime_;
  const HsaApi& api_;
  const Agent& agent_;
  std::mutex mutex_; // staging_
  std::byte* staging_ = nullptr;
};

} // namespace aql::detail::rocr
