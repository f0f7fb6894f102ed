// Memory instructions of one wave, beside the host's own copies. No packet processor: run_wave on hand-assembled loops.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "sim/exec/code_cache.hpp"
#include "sim/exec/exec.hpp"
#include "sim/exec/wave.hpp"
#include "sim/mem/port.hpp"

namespace {

using namespace aql::sim;

constexpr std::size_t kCopyBytes = 256u << 20;

// One wave64 on gfx942 with its memory. Device addresses are host addresses.
struct Machine {
  AddressMap map;
  MemoryPort port{map};
  aql::sim::Fault fault;
  DispatchContext dispatch;
  Workgroup group;
  Wave wave;
  CodeCache cache{map, Arch::gfx942};
  std::vector<VReg> registers = std::vector<VReg>(512);
  std::vector<std::byte> lds = std::vector<std::byte>(65536 + 64);
  std::unique_ptr<std::uint32_t[]> code = std::make_unique<std::uint32_t[]>(1024);

  Machine() {
    dispatch.arch = Arch::gfx942;
    group.dispatch = &dispatch;
    group.lds = lds.data() + (64 - reinterpret_cast<std::uintptr_t>(lds.data()) % 64) % 64;
    group.lds_bytes = 65536;
    wave.vgpr = registers.data();
    wave.vgpr_count = wave.agpr_base = wave.agpr_count = 256;
    wave.mode.bits = 0x3f0;
    wave.group = &group;
    wave.dispatch = &dispatch;
    wave.port = &port;
    wave.fault = &fault;
    wave.code = &cache;
    wave.set_exec(~0ull);
    add(code.get(), 4096, kRead | kExecute);
  }
  void add(void* host, std::size_t size, std::uint8_t permissions = kRead | kWrite) {
    if (!map.map({.address = reinterpret_cast<std::uint64_t>(host), .size = size, .host = static_cast<std::byte*>(host), .permissions = permissions})) std::abort();
  }
  void load(std::span<const std::uint32_t> words) { std::memcpy(code.get(), words.data(), words.size_bytes()); }
  void run() {
    dispatch.code_generation = cache.begin_dispatch();
    wave.pc = reinterpret_cast<std::uint64_t>(code.get());
    for (;;) {
      const AddressMap::Slice slice(map);
      const Next next = run_wave(wave, 4096);
      if (next == Next::end) return;
      if (next == Next::fault) std::abort();
    }
  }
  // The instruction 16 times in a loop of s[4].
  void loop(std::span<const std::uint32_t> words) {
    std::vector<std::uint32_t> all;
    for (int n = 0; n < 16; ++n) all.insert(all.end(), words.begin(), words.end());
    const auto back = static_cast<std::uint32_t>(0x10000u - (all.size() + 3)) & 0xffffu;
    for (const std::uint32_t w : {0x80848104u, 0xbf078004u, 0xbf850000u | back, 0xbf810000u}) all.push_back(w); // s_sub, s_cmp_lg, s_cbranch_scc1, s_endpgm
    load(all);
  }
};

std::byte* pages(std::size_t bytes) {
  auto* p = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  std::memset(p, 1, bytes);
  return p;
}

void copy_host(benchmark::State& state) {
  std::byte *from = pages(kCopyBytes), *to = pages(kCopyBytes);
  for (auto _ : state) {
    std::memcpy(to, from, kCopyBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kCopyBytes));
  std::free(from);
  std::free(to);
}

// global_load_dwordx4 and global_store_dwordx4 with a scalar base that moves on by 1 KiB.
void copy_dwordx4(benchmark::State& state) {
  Machine m;
  std::byte *from = pages(kCopyBytes), *to = pages(kCopyBytes);
  m.add(from, kCopyBytes);
  m.add(to, kCopyBytes);
  m.load(std::vector<std::uint32_t>{0xdc5c8000, 0x04000000, 0xbf8c0f70, 0xdc7c8000, 0x00020400, 0x8000ff00, 0x00000400, 0x82018001, 0x8002ff02, 0x00000400,
                                    0x82038003, 0x80848104, 0xbf078004, 0xbf85fff2, 0xbf810000});
  for (unsigned l = 0; l < 64; ++l) m.wave.v(0).lane[l] = l * 16;
  for (auto _ : state) {
    m.wave.set_sgpr64(0, reinterpret_cast<std::uint64_t>(from));
    m.wave.set_sgpr64(2, reinterpret_cast<std::uint64_t>(to));
    m.wave.sgpr[4] = kCopyBytes / 1024;
    m.run();
  }
  if (std::memcmp(from, to, kCopyBytes) != 0) state.SkipWithError("the copy differs");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kCopyBytes));
  std::free(from);
  std::free(to);
}

// Instructions a second: two words each; v0 = lane * stride (v[0:1] = an address), data in v[4:7].
void instruction(benchmark::State& state, std::uint32_t w0, std::uint32_t w1, std::uint32_t stride, bool vector_address) {
  Machine m;
  std::byte* memory = pages(65536);
  m.add(memory, 65536);
  const std::uint32_t words[2] = {w0, w1};
  m.loop(words);
  m.wave.set_sgpr64(0, reinterpret_cast<std::uint64_t>(memory));
  for (unsigned l = 0; l < 64; ++l) {
    const std::uint64_t at = l * stride % 32768u + (vector_address ? reinterpret_cast<std::uint64_t>(memory) : 0);
    m.wave.v(0).lane[l] = static_cast<std::uint32_t>(at);
    m.wave.v(1).lane[l] = static_cast<std::uint32_t>(at >> 32);
  }
  for (auto _ : state) {
    m.wave.sgpr[4] = 256;
    m.run();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * 256 * 16));
  std::free(memory);
}

BENCHMARK(copy_host)->Unit(benchmark::kMillisecond);
BENCHMARK(copy_dwordx4)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(instruction, global_load_dword_consecutive, 0xdc508000u, 0x04000000u, 4u, false);
BENCHMARK_CAPTURE(instruction, global_load_dword_strided, 0xdc508000u, 0x04000000u, 516u, false);
BENCHMARK_CAPTURE(instruction, global_load_dwordx2, 0xdc548000u, 0x04000000u, 8u, false);
BENCHMARK_CAPTURE(instruction, global_load_dwordx4, 0xdc5c8000u, 0x04000000u, 16u, false);
BENCHMARK_CAPTURE(instruction, global_load_dwordx4_vector, 0xdc5c8000u, 0x047f0000u, 16u, true);
BENCHMARK_CAPTURE(instruction, flat_load_dword, 0xdc500000u, 0x04000000u, 4u, true);
BENCHMARK_CAPTURE(instruction, global_atomic_add, 0xdd088000u, 0x00000400u, 4u, false);
BENCHMARK_CAPTURE(instruction, ds_read_b32, 0xd86c0000u, 0x04000000u, 4u, false);
BENCHMARK_CAPTURE(instruction, ds_read_b64, 0xd8ec0000u, 0x04000000u, 8u, false);
BENCHMARK_CAPTURE(instruction, ds_read_b128, 0xd9fe0000u, 0x04000000u, 16u, false);
BENCHMARK_CAPTURE(instruction, ds_write_b128, 0xd9be0000u, 0x00000400u, 16u, false);

} // namespace

BENCHMARK_MAIN();
