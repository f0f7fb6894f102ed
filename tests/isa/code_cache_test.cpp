// Code that changes, ends, hides literals, lies across pages, or is not code at all.
#include "support/catch.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "support/isa_bench.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

constexpr std::uint32_t kEndpgm = 0xbf810000, kNop = 0xbf800000;
constexpr std::uint32_t mov_s4(std::uint32_t inline_integer) { return 0xbe840080u + inline_integer; } // s_mov_b32 s4, n
constexpr std::uint32_t branch(std::int32_t dwords) { return 0xbf820000u | (static_cast<std::uint32_t>(dwords) & 0xffffu); }

// A buffer of code that tests write to as they like.
struct Code {
  IsaBench b;
  IsaBench::Buffer buffer;

  explicit Code(std::size_t size = 16384, std::uint8_t permissions = kRead | kWrite | kExecute) : b(Arch::gfx942), buffer(b.buffer(size, permissions, "text")) {}
  std::uint32_t& word(std::size_t n) { return buffer.as<std::uint32_t>()[n]; }
  Next run(std::uint64_t offset = 0, std::uint32_t budget = 100000) {
    b.fault = {};
    b.wave.pc = buffer.address + offset;
    const AddressMap::Slice slice(b.map);
    return run_wave(b.wave, budget);
  }
  void new_dispatch() { b.dispatch.code_generation = b.code().begin_dispatch(); }
};

} // namespace

TEST_CASE("code cache: code overwritten between dispatches runs as it is now", "[isa]") {
  Code c;
  c.word(0) = mov_s4(1);
  c.word(1) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.s(4) == 1);
  c.word(0) = mov_s4(2);
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.s(4) == 2);
}

TEST_CASE("code cache: unchanged code is not decoded again by later dispatches", "[isa]") {
  Code c;
  c.word(0) = mov_s4(1);
  c.word(1) = kEndpgm;
  for (unsigned n = 0; n < 10; ++n) {
    c.new_dispatch();
    REQUIRE(c.run() == Next::end);
  }
  CHECK(c.b.code().decoded_instructions() == 2);
}

TEST_CASE("code cache: bytes beside the decoded ones may change freely", "[isa]") {
  Code c;
  c.word(0) = mov_s4(1);
  c.word(1) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  c.word(2) = 0x12345678;
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.code().decoded_instructions() == 2);
}

TEST_CASE("code cache: s_icache_inv makes a wave see what it wrote over its own code", "[isa]") {
  Code c;
  c.word(0) = 0xbf930000; // s_icache_inv
  c.word(1) = mov_s4(1);
  c.word(2) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run(4) == Next::end); // decodes the old instruction
  CHECK(c.b.s(4) == 1);
  c.word(1) = mov_s4(3);
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.s(4) == 3);
}

TEST_CASE("code cache: a jump into a literal runs the literal as an instruction", "[isa]") {
  Code c;
  c.word(0) = 0xbe8500ff; // s_mov_b32 s5, literal
  c.word(1) = mov_s4(9);
  c.word(2) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.s(5) == mov_s4(9));
  CHECK(c.b.s(4) == 0);
  REQUIRE(c.run(4) == Next::end);
  CHECK(c.b.s(4) == 9);
}

TEST_CASE("code cache: an instruction that lies across a page boundary is whole", "[isa]") {
  Code c;
  c.word(1023) = 0xbe8500ff; // the last dword of the page; its literal is on the next
  c.word(1024) = 0xcafe;
  c.word(1025) = mov_s4(1);
  c.word(1026) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run(4092) == Next::end);
  CHECK(c.b.s(5) == 0xcafe);
  CHECK(c.b.s(4) == 1);
  c.word(1024) = 0xbeef; // belongs to the instruction of the page before
  c.new_dispatch();
  REQUIRE(c.run(4092) == Next::end);
  CHECK(c.b.s(5) == 0xbeef);
}

TEST_CASE("code cache: straight code runs on from page to page and through long blocks", "[isa]") {
  Code c;
  for (std::size_t n = 0; n < 3000; ++n) c.word(n) = 0x80048104; // s_add_u32 s4, s4, 1
  c.word(3000) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run() == Next::end);
  CHECK(c.b.s(4) == 3000);
  CHECK(c.b.wave.instructions == 3001);
}

TEST_CASE("code cache: a slice ends after its budget at the exact next instruction", "[isa]") {
  Code c;
  for (std::size_t n = 0; n < 1200; ++n) c.word(n) = 0x80048104; // s_add_u32 s4, s4, 1
  c.word(1200) = branch(-1201);
  c.new_dispatch();
  REQUIRE(c.run(0, 100) == Next::fallthrough);
  CHECK(c.b.s(4) == 100);
  CHECK(c.b.wave.pc == c.buffer.address + 400);
  c.b.wave.instructions = 0;
  for (unsigned n = 0; n < 12; ++n) REQUIRE(run_wave(c.b.wave, 100) == Next::fallthrough);
  CHECK(c.b.wave.instructions >= 1200 - 12); // moving to another block costs budget, but is no instruction
  CHECK(c.b.wave.instructions <= 1200);
}

TEST_CASE("code cache: running off the end of code is a fetch fault at the first address that is not there", "[isa]") {
  Code c(64);
  for (std::size_t n = 0; n < 16; ++n) c.word(n) = kNop;
  c.new_dispatch();
  REQUIRE(c.run() == Next::fault);
  CHECK(c.b.fault.code == Errc::memory_fault);
  CHECK(c.b.fault.access == FaultAccess::fetch);
  CHECK(c.b.fault.address == c.buffer.address + 64);
  CHECK(c.b.fault.pc == c.buffer.address + 64);
  CHECK(c.b.wave.instructions == 16);
}

TEST_CASE("code cache: an instruction whose second word is not there faults on that word", "[isa]") {
  Code c(64);
  for (std::size_t n = 0; n < 15; ++n) c.word(n) = kNop;
  c.word(15) = 0xbe8500ff; // s_mov_b32 s5, literal
  c.new_dispatch();
  REQUIRE(c.run() == Next::fault);
  CHECK(c.b.fault.access == FaultAccess::fetch);
  CHECK(c.b.fault.address == c.buffer.address + 64);
  CHECK(c.b.fault.pc == c.buffer.address + 60);
}

TEST_CASE("code cache: code needs execute permission", "[isa]") {
  Code c(4096, kRead | kWrite);
  c.word(0) = kEndpgm;
  c.new_dispatch();
  REQUIRE(c.run() == Next::fault);
  CHECK(c.b.fault.code == Errc::memory_fault);
  CHECK(c.b.fault.access == FaultAccess::fetch);
  CHECK(c.b.fault.address == c.buffer.address);
}

TEST_CASE("code cache: jumps to null, to data and to odd addresses fault at their target", "[isa]") {
  Code c;
  c.word(0) = 0xbe801d06; // s_setpc_b64 s[6:7]
  for (const std::uint64_t target : {std::uint64_t{0}, std::uint64_t{8}, c.buffer.address + 2, std::uint64_t{0x0000800000000000}, ~std::uint64_t{3}}) {
    c.b.wave.set_sgpr64(6, target);
    c.new_dispatch();
    REQUIRE(c.run() == Next::fault);
    CHECK(c.b.fault.code == Errc::memory_fault);
    CHECK(c.b.fault.access == FaultAccess::fetch);
    CHECK(c.b.fault.pc == target);
    CHECK(c.b.fault.address == target);
  }
}

TEST_CASE("code cache: an illegal word faults as illegal with its words, before anything of it happens", "[isa]") {
  Code c;
  // Reserved encodings: SOP2, SOP1, SOPK, SOPP, SOPC, VOP1, VOP2, VOP3, SMEM, DS, FLAT, MUBUF, MIMG, export, all ones.
  for (const std::uint32_t word : {0x9b000000u, 0xbe80ff00u, 0xb9800000u, 0xbfff0000u, 0xbf7f0000u, 0x7e01fe00u, 0x5c000000u | 1u << 29, 0xd3000000u,
                                   0xc3fc0000u, 0xd8320000u, 0xddfc0000u, 0xe1fc0000u, 0xf0000000u, 0xc4000000u, 0xffffffffu}) {
    c.word(0) = mov_s4(1);
    c.word(1) = word;
    c.word(2) = 0;
    c.new_dispatch();
    INFO(std::hex << word);
    REQUIRE(c.run() == Next::fault);
    CHECK(c.b.fault.code == Errc::illegal_instruction);
    CHECK(c.b.fault.pc == c.buffer.address + 4);
    CHECK(c.b.wave.pc == c.buffer.address + 4);
    CHECK(c.b.fault.words[0] == word);
    CHECK(c.b.fault.word_count >= 1);
    CHECK(c.b.fault.access == FaultAccess::none);
  }
}

TEST_CASE("code cache: registers that the wave does not have are refused by name before they are touched", "[isa]") {
  IsaBench b(Arch::gfx942, {.vgprs = 8, .agprs = 4});
  REQUIRE(b.run({mov_s4(1), kEndpgm, 0x7e0e0308})); // v_mov_b32 v7, v8 stands behind the end
  CHECK(b.s(4) == 1);
  CHECK_FALSE(b.run({mov_s4(2), 0x7e0e0308})); // v_mov_b32_e32 v7, v8
  CHECK(b.s(4) == 2);
  CHECK(b.fault.code == Errc::illegal_instruction);
  CHECK(b.fault.reason.find("v8") != std::string::npos);
  CHECK(b.fault.reason.find("8 vector registers") != std::string::npos);
  CHECK(b.fault.instruction == "v_mov_b32_e32 v7, v8");
  CHECK_FALSE(b.run({0xd3d94004, 0x18000081})); // v_accvgpr_write_b32 a4, 1
  CHECK(b.fault.reason.find("a4") != std::string::npos);
}

TEST_CASE("code cache: threads that run, decode and re-check the same code agree", "[isa]") {
  Code c(65536);
  for (std::size_t n = 0; n < 16000; ++n) c.word(n) = n % 100 == 99 && n < 15900 ? branch(3) : 0x80048104u;
  c.word(16000) = kEndpgm;
  std::atomic<unsigned> good{0};
  std::vector<std::thread> threads;
  std::uint32_t expected = 0;
  {
    c.new_dispatch();
    REQUIRE(c.run(0, ~0u) == Next::end);
    expected = c.b.s(4);
  }
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      MemoryPort port(c.b.map);
      Fault fault;
      for (unsigned round = 0; round < 20; ++round) {
        DispatchContext dispatch = c.b.dispatch;
        dispatch.code_generation = c.b.code().begin_dispatch();
        Wave wave = c.b.wave;
        wave.dispatch = &dispatch;
        wave.port = &port;
        wave.fault = &fault;
        wave.sgpr[4] = 0;
        wave.pc = c.buffer.address;
        const AddressMap::Slice slice(c.b.map);
        if (run_wave(wave, ~0u) == Next::end && wave.sgpr[4] == expected) good.fetch_add(1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(good == 80);
}
