#pragma once
// The core of the vector ALU benchmarks: a program of one instruction repeated in a counted loop, run by the interpreter, and the
// floor beside it: 64-lane fused multiply-add in AVX2, straight line, from memory and to memory. Callers do the timing.
//
//   ValuLoop loop({0xd1cb0003, 0x040a0300});       // v_fma_f32 v3, v0, v1, v2
//   loop.run(100, ~0ull);                          // 3,200 instructions and 300 scalar ones
//   loop.fma_is_right(~0ull)                       // after timing
//   FmaFloor floor; floor.run(1000);               // 1,000 times 64 lanes

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <immintrin.h>

#include "sim/exec/code_cache.hpp"
#include "sim/exec/exec.hpp"

namespace aql::bench {

using namespace aql::sim;

inline constexpr unsigned kRegisters = 64;

inline void fill(VReg* registers, unsigned count) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<float> near_one(0.5f, 1.0f);
  for (unsigned r = 0; r < count; ++r) {
    for (std::uint32_t& lane : registers[r].lane) {
      const float v = near_one(random);
      std::memcpy(&lane, &v, 4);
    }
  }
}

__attribute__((target("avx2,fma"), noinline)) inline void fma64(float* d, const float* a, const float* b, const float* c) {
  for (unsigned i = 0; i < 64; i += 8) _mm256_storeu_ps(d + i, _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), _mm256_loadu_ps(c + i)));
}

inline float* lanes(VReg& r) { return reinterpret_cast<float*>(r.lane); }

class FmaFloor {
public:
  FmaFloor() { fill(regs_.get(), kRegisters); }
  [[nodiscard]] static bool possible() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
  void run(unsigned times) {
    for (unsigned n = 0; n < times; ++n) {
      const unsigned r = 4 * (n % 8);
      fma64(lanes(regs_[r + 3]), lanes(regs_[r]), lanes(regs_[r + 1]), lanes(regs_[r + 2]));
    }
    asm volatile("" : : "g"(regs_.get()) : "memory");
  }

private:
  std::unique_ptr<VReg[]> regs_ = std::make_unique<VReg[]>(kRegisters);
};

class ValuLoop {
public:
  explicit ValuLoop(const std::vector<std::uint32_t>& body) : code_(16384), registers_(std::make_unique<VReg[]>(kRegisters)) {
    constexpr std::uint64_t kAddress = 0x7f0000000000;
    (void)map_.map({.address = kAddress, .size = code_.size(), .host = code_.data(), .permissions = static_cast<std::uint8_t>(kRead | kExecute),
                    .kind = MemoryKind::device_coarse, .label = "code"});
    cache_ = std::make_unique<CodeCache>(map_, Arch::gfx942);
    std::vector<std::uint32_t> words;
    for (unsigned n = 0; n < kUnrolled; ++n) words.insert(words.end(), body.begin(), body.end());
    const auto length = static_cast<std::uint32_t>(words.size());
    words.push_back(0x80808100);                                       // s_sub_u32 s0, s0, 1
    words.push_back(0xbf078000);                                       // s_cmp_lg_u32 s0, 0
    words.push_back(0xbf850000u | ((0u - (length + 3u)) & 0xffffu));   // s_cbranch_scc1 to the start
    words.push_back(0xbf810000);                                       // s_endpgm
    std::memcpy(code_.data(), words.data(), words.size() * 4);
    fill(registers_.get(), kRegisters);
    wave_.vgpr = registers_.get();
    wave_.vgpr_count = kRegisters;
    wave_.mode.bits = 0x3f0;
    wave_.group = &group_;
    wave_.dispatch = &dispatch_;
    wave_.port = &port_;
    wave_.fault = &fault_;
    wave_.code = cache_.get();
    group_.dispatch = &dispatch_;
    dispatch_.code_generation = cache_->begin_dispatch();
    address_ = kAddress;
  }

  static constexpr unsigned kUnrolled = 32;
  // kUnrolled * loops instructions (and three scalar ones a loop). False: the program did not end.
  bool run(std::uint32_t loops, std::uint64_t exec) {
    wave_.set_exec(exec);
    wave_.sgpr[0] = loops;
    wave_.pc = address_;
    const AddressMap::Slice slice(map_);
    Next next = Next::fallthrough;
    while (next == Next::fallthrough) next = run_wave(wave_, 1u << 20);
    return next == Next::end;
  }

  VReg& v(unsigned n) { return registers_[n]; }

  // v3 = v0 * v1 + v2 in the lanes of exec.
  bool fma_is_right(std::uint64_t exec) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (((exec >> lane) & 1u) != 0 && lanes(v(3))[lane] != std::fma(lanes(v(0))[lane], lanes(v(1))[lane], lanes(v(2))[lane])) return false;
    }
    return true;
  }

private:
  AddressMap map_;
  MemoryPort port_{map_};
  std::vector<std::byte> code_;
  std::unique_ptr<CodeCache> cache_;
  std::unique_ptr<VReg[]> registers_;
  Fault fault_;
  DispatchContext dispatch_;
  Workgroup group_;
  Wave wave_;
  std::uint64_t address_ = 0;
};

} // namespace aql::bench
