#pragma once
// A hand-stepped Gpu with an SDMA queue, and packets by hand.

#include <initializer_list>

#include "sim/cp/sdma.hpp"
#include "unit/cp/bench.hpp"

namespace cp_test {

namespace sd = aql::sim::sdma;

inline std::uint32_t lo(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
inline std::uint32_t hi(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }

class Sdma {
public:
  explicit Sdma(Gpu& gpu, std::uint64_t first = 0, std::uint64_t ring_bytes = 4096)
      : gpu_(gpu), ring_(gpu, ring_bytes, kRead | kWrite, "sdma ring"), mask_(ring_bytes / 4 - 1), write_(first / 4), read(first) {
    auto id = gpu.create_sdma_queue({.ring_address = ring_.address(),
                                     .ring_bytes = ring_bytes,
                                     .read_pointer = &read,
                                     .doorbell = &doorbell,
                                     .on_error = [this](const QueueFault& f) { faults.push_back(f); },
                                     .on_interrupt = [this](std::uint32_t c) { interrupts.push_back(c); }});
    REQUIRE(id);
    id_ = *id;
  }
  ~Sdma() {
    if (id_ != 0) CHECK(gpu_.destroy_queue(id_));
  }
  void destroy() {
    CHECK(gpu_.destroy_queue(id_));
    id_ = 0;
  }
  void put(std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words) ring_.host<std::uint32_t>()[write_++ & mask_] = word;
  }
  void ring() {
    std::atomic_ref{doorbell}.store(write_ * 4, std::memory_order_release);
    Gpu::notify(&gpu_);
  }
  void submit(std::initializer_list<std::uint32_t> words) {
    put(words);
    ring();
    gpu_.run_until_idle();
  }
  // Nothing left to do and no fault.
  [[nodiscard]] bool finished() const { return faults.empty() && read == write_ * 4; }
  [[nodiscard]] QueueState state() { return *gpu_.queue_state(id_); }
  [[nodiscard]] std::uint64_t ring_address() const { return ring_.address(); }
  [[nodiscard]] std::uint64_t written() const { return write_ * 4; }

private:
  Gpu& gpu_;
  Memory ring_;
  std::uint64_t mask_, write_;
  QueueId id_ = 0;

public:
  std::uint64_t read = 0, doorbell = 0;
  std::vector<QueueFault> faults;
  std::vector<std::uint32_t> interrupts;
};

} // namespace cp_test
