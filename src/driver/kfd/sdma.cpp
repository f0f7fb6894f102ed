#include "driver/kfd/sdma.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/log.hpp"

namespace aql::detail::kfd {
namespace {

// Packets of SDMA 4 (vega10_sdma_pkt_open.h of the Linux kernel): opcode 7:0, sub-opcode 15:8.
constexpr std::uint32_t kCopyLinear = 1, kFence = 5;
constexpr std::size_t kCopyDwords = 7, kFenceDwords = 4;
constexpr std::size_t kMostBytes = 0x3fffe0; // of one copy: the count has 22 bits; whole 32-byte lines
constexpr std::size_t kBatch = 512;          // copies in the ring at a time
static_assert((kBatch * kCopyDwords + kFenceDwords) * 4 * 2 <= Sdma::kRingBytes);
constexpr auto kPatience = std::chrono::seconds{60}; // for one batch

constexpr std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
constexpr std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

} // namespace

Result<std::unique_ptr<Sdma>> Sdma::create(const Thunk& thunk, std::uint32_t node, std::byte* ring, std::uint32_t* fence) {
  std::unique_ptr<Sdma> sdma{new Sdma{thunk, ring, fence}};
  std::memset(ring, 0, kRingBytes); // NOPs
  *fence = 0;
  const auto status = thunk.hsaKmtCreateQueue(node, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL, ring, kRingBytes, nullptr, &sdma->queue_);
  if (status != HSAKMT_STATUS_SUCCESS) return std::unexpected(failure(status, "no queue to the copy engine", "copy"));
  sdma->open_ = true;
  return sdma;
}

Sdma::~Sdma() {
  if (open_ && thunk_.hsaKmtDestroyQueue(queue_.QueueId) != HSAKMT_STATUS_SUCCESS) log::error("kfd: the copy queue could not be destroyed");
}

void Sdma::put(const std::uint32_t* words, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) { // a packet may wrap around the end of the ring
    std::memcpy(ring_ + written_ % kRingBytes, words + i, 4);
    written_ += 4;
  }
}

Result<void> Sdma::submit_and_wait() {
  const std::uint32_t expected = ++sequence_;
  const auto fence = reinterpret_cast<std::uint64_t>(fence_);
  const std::uint32_t words[kFenceDwords] = {kFence, low(fence), high(fence), expected};
  put(words, kFenceDwords);
  // B: packets, then write index, then doorbell, in bytes.
  std::atomic_ref{*queue_.Queue_write_ptr_aql}.store(written_, std::memory_order_release);
  std::atomic_ref{*queue_.Queue_DoorBell_aql}.store(written_, std::memory_order_release);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (unsigned round = 0; std::atomic_ref{*fence_}.load(std::memory_order_acquire) != expected; ++round) { // D
    if (round < 256) continue;
    if (round < 1024) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds{20});
    if (std::chrono::steady_clock::now() < give_up) continue;
    lost_ = true;
    return std::unexpected(Error{Errc::device_lost, 0, fmt::format("the copy engine has not finished a batch within {} s", kPatience.count()), "copy"});
  }
  return {};
}

Result<void> Sdma::copy(std::uint64_t dst, std::uint64_t src, std::size_t size_bytes) {
  if (lost_) return std::unexpected(Error{Errc::device_lost, 0, "the copy engine stopped at an earlier copy; open the device anew", "copy"});
  std::size_t batch = 0;
  for (std::size_t done = 0; done < size_bytes;) {
    const std::size_t n = std::min(size_bytes - done, kMostBytes);
    const std::uint32_t words[kCopyDwords] = {kCopyLinear, static_cast<std::uint32_t>(n - 1), 0, low(src + done), high(src + done), low(dst + done), high(dst + done)};
    put(words, kCopyDwords);
    done += n;
    if (++batch < kBatch && done < size_bytes) continue;
    if (auto over = submit_and_wait(); !over) return over;
    batch = 0;
  }
  return {};
}

} // namespace aql::detail::kfd
