#pragma once
// Memory of one device through the thunk: pools, pinned ranges, and the copies that the host does itself.
// Thread safety: any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.hpp"
#include "driver/kfd/sdma.hpp"
#include "driver/kfd/topology.hpp"

namespace aql::detail::kfd {

class Memory {
public:
  // `nodes`: all GPUs of the process, for what all of them may see.
  Memory(const Thunk& thunk, const Gpu& gpu, std::vector<std::uint32_t> nodes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<Allocation> allocate(PoolKind kind, std::size_t size_bytes, std::string_view label);
  Result<void> free(const Allocation& allocation);
  Result<Allocation> pin(void* host, std::size_t size_bytes, bool writable);
  Result<void> unpin(const Allocation& allocation);
  Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes);
  Result<void> fill32(std::uint64_t dst, std::uint32_t pattern, std::size_t count);

  // What the driver itself needs. Memory of the host is visible to all GPUs; device memory (scratch) to nobody else.
  enum class Use : std::uint8_t { host, host_executable, device };
  struct Block {
    std::byte* address = nullptr; // host and device, except Use::device: device only
    std::size_t size_bytes = 0;
  };
  Result<Block> take(Use use, std::size_t size_bytes, std::string_view label);
  void give(const Block& block) noexcept;

  // What an address is, for fault reports: "it lies 16 bytes past 'x' (256 bytes)".
  [[nodiscard]] std::string describe(std::uint64_t address) const;

private:
  struct Range {
    std::size_t size_bytes = 0;
    std::byte* host = nullptr; // where the host reaches it; null: it cannot
    bool on_device = false;
    std::string label;
  };
  struct Pin {
    std::size_t size_bytes = 0;
    std::uint64_t device = 0;
    unsigned count = 0;
  };
  struct Side { // one end of a copy
    std::byte* host = nullptr;
    bool known = false, on_device = false;
  };
  [[nodiscard]] Result<std::byte*> obtain(std::uint32_t node, HsaMemFlags flags, std::size_t size_bytes, std::span<const std::uint32_t> mapped, const char* what);
  [[nodiscard]] Error no_memory(HSAKMT_STATUS status, std::size_t size_bytes, const char* what) const;
  [[nodiscard]] Result<Side> side(const char* what, std::uint64_t address, std::size_t size_bytes) const;
  [[nodiscard]] bool by_engine(const Side& to, const Side& from, std::size_t size_bytes) const noexcept;
  [[nodiscard]] Result<void> copy_by_engine(std::uint64_t dst, const Side& to, std::uint64_t src, const Side& from, std::size_t size_bytes);
  [[nodiscard]] Result<void> engine();
  void flush_host_writes() const noexcept;

  const Thunk& thunk_;
  const Gpu& gpu_;
  const std::vector<std::uint32_t> nodes_;
  enum class Copies : std::uint8_t { automatic, host, engine } copies_ = Copies::automatic; // AQL_KFD_COPY
  mutable std::mutex mutex_;              // ranges_, pins_
  std::map<std::uint64_t, Range> ranges_; // by device address
  std::map<std::byte*, Pin> pins_;        // by host address
  std::mutex engine_mutex_;               // what follows
  std::unique_ptr<Sdma> sdma_;
  Block staging_;
};

} // namespace aql::detail::kfd
