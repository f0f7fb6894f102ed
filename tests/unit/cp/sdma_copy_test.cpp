// SDMA packets that move data.
#include "unit/cp/sdma.hpp"

using namespace cp_test;

namespace {

// Bytes that differ from their neighbours.
void pattern(std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
}

} // namespace

TEST_CASE("sdma: COPY_LINEAR copies exactly the bytes it names, at any alignment") {
  const auto bytes = GENERATE(1u, 3u, 4u, 255u, 4093u);
  auto gpu = make_gpu();
  Memory from{*gpu, 8192, kRead, "from"}, to{*gpu, 8192, kRead | kWrite, "to"};
  pattern(from.host<std::uint8_t>(), 8192);
  Sdma queue{*gpu};
  queue.submit(
      {sd::header(sd::copy), bytes - 1, 0, lo(from.address() + 5), hi(from.address()), lo(to.address() + 9), hi(to.address())});
  CHECK(queue.finished());
  CHECK(std::memcmp(to.host<void>(9), from.host<void>(5), bytes) == 0);
  CHECK(*to.host<std::uint8_t>(8) == 0);
  CHECK(*to.host<std::uint8_t>(9 + bytes) == 0);
}

TEST_CASE("sdma: a large COPY_LINEAR takes several turns in which other queues move") {
  auto gpu = make_gpu();
  constexpr std::uint32_t kBytes = 0x5fffe0; // more than 22 bits of count
  Memory from{*gpu, kBytes, kRead, "from"}, to{*gpu, kBytes, kRead | kWrite, "to"};
  pattern(from.host<std::uint8_t>(), kBytes);
  Sdma queue{*gpu};
  Queue aql{*gpu};
  Signal done{*gpu};
  queue.put({sd::header(sd::copy), kBytes - 1, 0, lo(from.address()), hi(from.address()), lo(to.address()), hi(to.address())});
  queue.ring();
  CHECK(gpu->step());
  CHECK(queue.read == 0); // under way
  CHECK(std::memcmp(to.host<void>(), from.host<void>(), 65536) == 0);
  aql.submit(barrier(abi::PacketType::barrier_and, done.handle()));
  CHECK(gpu->step());
  CHECK(gpu->step());
  CHECK(done.load() == 0);
  CHECK(queue.read == 0); // still under way
  gpu->run_until_idle();
  CHECK(queue.finished());
  CHECK(std::memcmp(to.host<void>(), from.host<void>(), kBytes) == 0);
}

TEST_CASE("sdma: a queue is destroyed in the middle of a large copy") {
  auto gpu = make_gpu();
  constexpr std::uint32_t kBytes = 0x3fffe0;
  Memory from{*gpu, kBytes, kRead, "from"}, to{*gpu, kBytes, kRead | kWrite, "to"};
  std::memset(from.host<void>(), 0x5a, kBytes);
  Sdma queue{*gpu};
  queue.put({sd::header(sd::copy), kBytes - 1, 0, lo(from.address()), hi(from.address()), lo(to.address()), hi(to.address())});
  queue.ring();
  CHECK(gpu->step());
  queue.destroy();
  gpu->run_until_idle();
  CHECK(*to.host<std::uint8_t>(kBytes - 1) == 0);
}

TEST_CASE("sdma: COPY_LINEAR with broadcast writes two destinations") {
  auto gpu = make_gpu();
  Memory from{*gpu, 4096, kRead, "from"}, a{*gpu, 4096, kRead | kWrite, "a"}, b{*gpu, 4096, kRead | kWrite, "b"};
  pattern(from.host<std::uint8_t>(), 4096);
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::copy, 0, sd::kCopyBroadcast), 999, 0, lo(from.address()), hi(from.address()), lo(a.address()),
                hi(a.address()), lo(b.address() + 8), hi(b.address())});
  CHECK(queue.finished());
  CHECK(std::memcmp(a.host<void>(), from.host<void>(), 1000) == 0);
  CHECK(std::memcmp(b.host<void>(8), from.host<void>(), 1000) == 0);
}

TEST_CASE("sdma: a copy goes on across neighbouring regions") {
  auto gpu = make_gpu();
  Memory from{*gpu, 8192, kRead, "from"};
  void* pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  const auto base = reinterpret_cast<std::uint64_t>(pages);
  for (const std::uint64_t at : {base, base + 4096})
    REQUIRE(gpu->memory().map({.address = at, .size = 4096, .host = reinterpret_cast<std::byte*>(at)}));
  pattern(from.host<std::uint8_t>(), 8192);
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::copy), 5999, 0, lo(from.address()), hi(from.address()), lo(base + 1000), hi(base)});
  CHECK(queue.finished());
  CHECK(std::memcmp(static_cast<std::byte*>(pages) + 1000, from.host<void>(), 6000) == 0);
  for (const std::uint64_t at : {base, base + 4096}) REQUIRE(gpu->memory().unmap(at));
  munmap(pages, 8192);
}

TEST_CASE("sdma: a sub-window copy places rows and slices by pitch, in elements") {
  // 3 rows of 5 elements in 2 slices, from (1, 2, 0) to (2, 1, 1).
  const auto element = GENERATE(0u, 1u, 2u, 3u, 4u);
  auto gpu = make_gpu();
  Memory from{*gpu, 16384, kRead, "from"}, to{*gpu, 16384, kRead | kWrite, "to"};
  pattern(from.host<std::uint8_t>(), 16384);
  constexpr std::uint32_t kFromPitch = 10, kFromSlice = 100, kToPitch = 12, kToSlice = 144;
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::copy, sd::kCopyLinearRect, element << 29), lo(from.address()), hi(from.address()), 1u | 2u << 16,
                (kFromPitch - 1) << 13, kFromSlice - 1, lo(to.address()), hi(to.address()), 2u | 1u << 16,
                1u | (kToPitch - 1) << 13, kToSlice - 1, 4u | 2u << 16, 1});
  CHECK(queue.finished());
  std::vector<std::uint8_t> expected(16384, 0);
  const std::size_t size = 1u << element;
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t y = 0; y < 3; ++y) {
      std::memcpy(&expected[(2 + (1 + y) * kToPitch + (1 + z) * kToSlice) * size],
                  from.host<void>((1 + (2 + y) * kFromPitch + z * kFromSlice) * size), 5 * size);
    }
  }
  CHECK(std::memcmp(to.host<void>(), expected.data(), expected.size()) == 0);
}

TEST_CASE("sdma: a large sub-window copy takes several turns and loses no byte") {
  auto gpu = make_gpu();
  constexpr std::uint32_t kRows = 1000, kRow = 1500, kPitch = 1600;
  Memory from{*gpu, kRows * kPitch, kRead, "from"}, to{*gpu, kRows * kRow, kRead | kWrite, "to"};
  pattern(from.host<std::uint8_t>(), kRows * kPitch);
  Sdma queue{*gpu};
  queue.put({sd::header(sd::copy, sd::kCopyLinearRect, 2u << 29), lo(from.address()), hi(from.address()), 0, (kPitch / 4 - 1) << 13,
             0, lo(to.address()), hi(to.address()), 0, (kRow / 4 - 1) << 13, 0, (kRow / 4 - 1) | (kRows - 1) << 16, 0});
  queue.ring();
  CHECK(gpu->step());
  CHECK(queue.read == 0);
  gpu->run_until_idle();
  CHECK(queue.finished());
  int wrong = 0;
  for (std::uint32_t y = 0; y < kRows; ++y) wrong += std::memcmp(to.host<void>(y * kRow), from.host<void>(y * kPitch), kRow) != 0;
  CHECK(wrong == 0);
}

TEST_CASE("sdma: CONST_FILL repeats a byte, two bytes or a dword") {
  struct Case {
    std::uint32_t unit, count, bytes;
    std::uint8_t expected[4];
  };
  const auto c = GENERATE(Case{0, 6, 7, {0x44, 0x44, 0x44, 0x44}}, Case{1, 4, 6, {0x44, 0x33, 0x44, 0x33}},
                          Case{2, 396, 400, {0x44, 0x33, 0x22, 0x11}}, Case{2, 399, 400, {0x44, 0x33, 0x22, 0x11}});
  auto gpu = make_gpu();
  Memory to{*gpu, 4096, kRead | kWrite, "to"};
  Sdma queue{*gpu};
  queue.submit({sd::header(sd::const_fill, 0, c.unit << 30), lo(to.address() + 4), hi(to.address()), 0x11223344u, c.count});
  CHECK(queue.finished());
  // memcmp: clang 22 at -O2 counts 200 differences of 400 equal bytes in a loop over expected[i % 4].
  std::vector<std::uint8_t> expected;
  while (expected.size() < c.bytes) expected.push_back(c.expected[expected.size() % 4]);
  CHECK(std::memcmp(to.host<void>(4), expected.data(), c.bytes) == 0);
  CHECK(*to.host<std::uint8_t>(3) == 0);
  CHECK(*to.host<std::uint8_t>(4 + c.bytes) == 0);
}

TEST_CASE("sdma: WRITE stores the dwords of the packet, also where it wraps around the ring") {
  auto gpu = make_gpu();
  Memory to{*gpu, 4096, kRead | kWrite, "to"};
  Sdma queue{*gpu, 4096 - 8};
  queue.submit({sd::header(sd::write), lo(to.address() + 8), hi(to.address()), 2, 0xa1, 0xa2, 0xa3});
  CHECK(queue.finished());
  CHECK(queue.read == 4096 - 8 + 28);
  CHECK(to.host<std::uint32_t>(8)[0] == 0xa1);
  CHECK(to.host<std::uint32_t>(8)[2] == 0xa3);
  CHECK(to.host<std::uint32_t>(8)[3] == 0);
}

TEST_CASE("sdma: an access outside mapped memory is a fault of this queue that names the address") {
  auto gpu = make_gpu();
  Memory from{*gpu, 4096, kRead, "source"}, to{*gpu, 4096, kRead | kWrite, "destination"};
  const auto past = GENERATE(false, true);
  Sdma queue{*gpu}, other{*gpu};
  if (past) { // reads past the end
    queue.submit({sd::header(sd::copy), 8191, 0, lo(from.address()), hi(from.address()), lo(to.address()), hi(to.address())});
  } else { // writes what is read-only
    queue.submit({sd::header(sd::const_fill, 0, 2u << 30), lo(from.address()), hi(from.address()), 1, 63});
  }
  REQUIRE(queue.faults.size() == 1);
  CHECK(queue.faults[0].code == Errc::memory_fault);
  CHECK(queue.faults[0].error_bits == 0);
  CHECK_THAT(queue.faults[0].detail, Catch::Contains("source"));
  CHECK(queue.state() == QueueState::inactive);
  CHECK(queue.read == 0);
  other.submit({sd::header(sd::nop)});
  CHECK(other.finished());
}
