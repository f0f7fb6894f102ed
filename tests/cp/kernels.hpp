#pragma once
// Kernels in assembly, and what the tests of this folder share.

#include <atomic>
#include <thread>

#include "support/isa_bench.hpp"
#include "unit/cp/bench.hpp"

namespace cp_test {

extern const aql::test::AsmCases kSpinOnFlag, kSleepOnFlag; // kernarg: address of a dword; ends when it is not 0
extern const aql::test::AsmCases kMeet, kMeetAsleep;        // kernargs: counter, number of waves to meet
extern const aql::test::AsmCases kCount;                    // kernarg: counter that each wave raises by 1
extern const aql::test::AsmCases kEndless;
extern const aql::test::AsmCases kLoadNull;
extern const aql::test::AsmCases kStoreLane63;         // kernarg: address to which lane 63 of wave 1 stores
extern const aql::test::AsmCases kBarrierWithoutWave0; // kernarg: counter that each wave but the first raises, after a barrier
extern const aql::test::AsmCases kBarrierNeverReached;
extern const aql::test::AsmCases kStoreIds; // kernarg: out[workgroup x * 64 + lane] = v0
extern const aql::test::AsmCases kScratchGfx942, kScratchGfx90a,
    kScratchFlatGfx90a;                       // kernargs: error counter, bytes a work-item, group size
extern const aql::test::AsmCases kPersistent; // kernarg: mailbox; answers 64 bytes further on
extern const aql::test::AsmCases kLdsMirror;  // kernargs: sum, last id of the group

inline std::unique_ptr<Kernel> make_kernel(Gpu& gpu, const aql::test::AsmCases& code, KernelOptions options = {}) {
  return std::make_unique<Kernel>(gpu, code[0].words, options);
}

inline KernelOptions scratch_options(Arch arch) {
  KernelOptions o;
  if (arch == Arch::gfx90a) {
    o.properties = static_cast<std::uint16_t>(abi::PropPrivateSegmentBuffer::encode<std::uint16_t>(1) |
                                              abi::PropKernargSegmentPtr::encode<std::uint16_t>(1) |
                                              abi::PropFlatScratchInit::encode<std::uint16_t>(1));
    o.rsrc2 = abi::Rsrc2UserSgprCount::encode<std::uint32_t>(8) | abi::Rsrc2WorkgroupIdX::encode<std::uint32_t>(1) |
              abi::Rsrc2PrivateSegment::encode<std::uint32_t>(1);
  } else {
    o.rsrc2 |= abi::Rsrc2PrivateSegment::encode<std::uint32_t>(1);
  }
  return o;
}

// Kernel arguments of one dispatch: dwords.
class Kernargs {
public:
  explicit Kernargs(Gpu& gpu) : memory_(gpu, 4096, kRead, "kernarg", MemoryKind::kernarg) {}
  Kernargs& put64(std::size_t offset, std::uint64_t value) {
    std::memcpy(memory_.host<std::byte>(offset), &value, 8);
    return *this;
  }
  Kernargs& put32(std::size_t offset, std::uint32_t value) {
    std::memcpy(memory_.host<std::byte>(offset), &value, 4);
    return *this;
  }
  [[nodiscard]] std::uint64_t address() const { return memory_.address(); }

private:
  Memory memory_;
};

inline std::uint32_t load32(const Memory& memory, std::size_t offset = 0) {
  return std::atomic_ref{*memory.host<std::uint32_t>(offset)}.load(std::memory_order_acquire);
}
inline void store32(const Memory& memory, std::size_t offset, std::uint32_t value) {
  std::atomic_ref{*memory.host<std::uint32_t>(offset)}.store(value, std::memory_order_release);
}

// Busy wait that a broken scheduler would never leave; the test's own time limit catches that.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

} // namespace cp_test
