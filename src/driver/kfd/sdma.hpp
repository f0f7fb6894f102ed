#pragma once
// A queue of our own to one of the card's copy engines: linear copies, one at a time, waited for.
// Thread safety: one thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "driver/kfd/thunk.hpp"

namespace aql::detail::kfd {

class Sdma {
public:
  // `ring` and `fence`: memory that host and device see at the same address, of kRingBytes and 4 bytes.
  static constexpr std::size_t kRingBytes = 64 * 1024;
  [[nodiscard]] static Result<std::unique_ptr<Sdma>> create(const Thunk& thunk, std::uint32_t node, std::byte* ring, std::uint32_t* fence);
  ~Sdma();
  Sdma(const Sdma&) = delete;
  Sdma& operator=(const Sdma&) = delete;

  // Both addresses are the device's. Errors: device_lost if the engine does not finish.
  [[nodiscard]] Result<void> copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes);

private:
  Sdma(const Thunk& thunk, std::byte* ring, std::uint32_t* fence) noexcept : thunk_(thunk), ring_(ring), fence_(fence) {}
  void put(const std::uint32_t* words, std::size_t count) noexcept;
  [[nodiscard]] Result<void> submit_and_wait();

  const Thunk& thunk_;
  std::byte* const ring_;
  std::uint32_t* const fence_;
  HsaQueueResource queue_{};
  bool open_ = false, lost_ = false;
  std::uint64_t written_ = 0; // bytes, free running
  std::uint32_t sequence_ = 0;
};

} // namespace aql::detail::kfd
