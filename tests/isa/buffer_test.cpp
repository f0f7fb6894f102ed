#include "support/catch.hpp"

#include "isa/buffer_model.hpp"
#include "isa/mem_fixture.hpp"
#include "sim/exec/mem_buffer.hpp"

using namespace aql;
using namespace aql::sim;
using namespace aql::test;

namespace {

constexpr MemLine kMubufLines[] = {
#include "isa/cases/mubuf.inc"
};
const MemCases kMubuf(kMubufLines);
constexpr MemLine kMtbufLines[] = {
#include "isa/cases/mtbuf.inc"
};
const MemCases kMtbuf(kMtbufLines);

bool is_cache(const MemCase& c) { return c.name == "wbl2" || c.name.rfind("inv", 0) == 0 || c.name.rfind("wbinv", 0) == 0; }
bool is_typed(const MemCase& c) { return c.name.find("format") != std::string::npos; }
bool is_lds(const MemCase& c) { return c.name.rfind("lds_", 0) == 0 || c.name == "store_lds_dword"; }
bool idxen(const MemCase& c) { return c.form == MemForm::idxen || c.form == MemForm::both; }
bool offen(const MemCase& c) { return c.form == MemForm::offen || c.form == MemForm::both; }

// A resource whose every address for index < 64 and offset < 160 lies in the fixture's buffer.
model::Resource pick_resource(MemFixture& f, unsigned round) {
  static constexpr std::uint32_t kStrides[] = {0, 4, 8, 20, 32, 64};
  model::Resource r;
  r.base = f.buffer.address + f.random() % 16 * 8;
  r.stride = kStrides[f.random() % 6];
  r.swizzle = f.random() % 3 == 0;
  r.add_tid = f.random() % 4 == 0;
  r.index_stride_code = static_cast<unsigned>(f.random() % 4);
  r.data = 1 + static_cast<unsigned>(f.random() % 14);
  r.number = static_cast<unsigned>(f.random() % 8);
  if (round % 3 != 0) r.records = static_cast<std::uint32_t>(f.random() % 220); // some lanes out of range
  for (auto& s : r.select) s = f.random() % 3 == 0 ? static_cast<unsigned>(f.random() % 2) : 4 + static_cast<unsigned>(f.random() % 4);
  if (round % 2 == 0) std::copy_n(model::Resource{}.select, 4, r.select);
  return r;
}

// Puts resource, soffset and addresses into registers. Offsets and strides keep `align`.
std::array<model::BufferLane, 64> place(MemFixture& f, const MemCase& c, const model::Resource& r, std::uint32_t align) {
  const auto words = r.words();
  for (unsigned n = 0; n < 4; ++n) f.bench.s(8 + n) = words[n];
  const std::uint32_t soffset = static_cast<std::uint32_t>(f.random() % 8 * 8);
  f.bench.s(12) = soffset;
  std::array<model::BufferLane, 64> lanes;
  for (unsigned l = 0; l < 64; ++l) {
    auto& lane = lanes[l];
    lane = {.index = static_cast<std::uint32_t>(f.random() % 64), .offset = static_cast<std::uint32_t>(f.random() % 128) / align * align, .idxen = idxen(c),
            .offen = offen(c), .imm = static_cast<std::uint32_t>(c.imm), .soffset = soffset, .lane = l};
    f.bench.v(2, l) = lane.idxen ? lane.index : lane.offset;
    f.bench.v(3, l) = lane.offset;
    if (!f.active(l)) f.bench.v(2, l) = f.bench.v(3, l) = 0xdeadbeef;
  }
  return lanes;
}

std::uint32_t stride_of(const model::Resource& r, bool typed) { return r.add_tid && !typed ? r.stride | r.data << 14 : r.stride; }

model::ByteAt bytes_of(MemFixture& f, const model::Resource& r, const model::BufferLane& lane, std::uint32_t stride) {
  return [&f, r, lane, stride](std::uint32_t n) -> std::uint8_t& {
    return f.want_buffer.at(r.base - f.buffer.address + lane.soffset + model::position(r, lane, stride, n));
  };
}

bool check(MemFixture& f, const MemCase& c, unsigned first, const std::array<model::Regs, 64>& want) {
  bool good = f.memory_agrees();
  for (unsigned l = 0; l < 64; ++l) good = good && f.registers(c.acc, first, l) == want[l];
  return good;
}

// One untyped lane on registers: dword by dword, atomics as a whole.
void untyped(const std::string& name, bool returns, const model::Resource& r, const model::BufferLane& lane, std::uint32_t stride, const model::ByteAt& at, model::LaneState& state) {
  const bool atomic = name.rfind("atomic_", 0) == 0;
  const unsigned bytes = model::access_bytes(name);
  if (atomic || bytes < 4) {
    if (model::in_range(r, lane, stride, 0, bytes)) return model::access(name, returns, at, state);
    model::LaneState zero = state; // reads 0, writes nothing
    std::uint8_t nothing[16] = {};
    model::access(name, returns, [&](std::uint32_t n) -> std::uint8_t& { return nothing[n]; }, zero);
    state.result = zero.result;
    if (atomic && returns) {
      for (unsigned d = 0; d < bytes / 4; ++d) state.result[d] = 0;
    }
    return;
  }
  for (unsigned d = 0; d < bytes / 4; ++d) {
    const bool in = model::in_range(r, lane, stride, d * 4, 4);
    if (name[0] == 'l') state.result[d] = in ? static_cast<std::uint32_t>(model::get(at, d * 4, 4)) : 0;
    else if (in) model::put(at, d * 4, 4, state.data[d]);
  }
}

// One typed lane. `data`, `number`: the format; select: identity for MTBUF.
void typed(const std::string& name, const model::Resource& r, const unsigned* select, unsigned data, unsigned number, const model::BufferLane& lane, const model::ByteAt& at, model::LaneState& state) {
  const auto& format = model::format(data);
  const bool in = format.bytes != 0 && model::in_range(r, lane, r.stride, 0, format.bytes);
  const bool load = name.rfind("load", 0) == 0 || name.rfind("lds_load", 0) == 0, d16 = name.find("_d16_") != std::string::npos, high = name.find("_hi_") != std::string::npos;
  const std::size_t count = name.size() - name.rfind('_') - 1;
  // The element as one long string of bits, X lowest.
  if (load) {
    std::uint32_t component[4] = {};
    for (unsigned c = 0, bit = 0; c < format.count && in; bit += format.bits[c], ++c) {
      std::uint32_t raw = 0;
      for (unsigned b = 0; b < format.bits[c]; ++b) raw |= static_cast<std::uint32_t>((at((bit + b) / 8) >> ((bit + b) % 8)) & 1) << b;
      component[c] = model::decode(raw, format.bits[c], number);
    }
    for (unsigned c = 0; c < count; ++c) {
      std::uint32_t v = select[c] >= 4 ? component[select[c] - 4] : select[c] == 1 ? (model::integer_format(number) ? 1 : 0x3f800000) : 0;
      if (!d16) {
        state.result[c] = v;
        continue;
      }
      v = model::integer_format(number) ? v & 0xffff : static_cast<std::uint32_t>(model::narrow_float(model::kF16, v));
      if (high) state.result[0] = v << 16; // with ECC the other half becomes 0
      else if (c % 2 == 0) state.result[c / 2] = v;
      else state.result[c / 2] |= v << 16;
    }
    return;
  }
  if (!in) return;
  std::uint32_t component[4] = {};
  for (unsigned c = 0; c < count; ++c) {
    std::uint32_t v = state.data[d16 ? c / 2 : c];
    if (d16) {
      v = high || c % 2 == 1 ? v >> 16 : v & 0xffff;
      if (number == 5) v = static_cast<std::uint32_t>(std::int32_t{static_cast<std::int16_t>(v)});
      else if (number != 4) v = model::widen_float(model::kF16, v);
    }
    if (select[c] >= 4) component[select[c] - 4] = v;
  }
  for (unsigned n = 0; n < format.bytes; ++n) at(n) = 0;
  for (unsigned c = 0, bit = 0; c < format.count; bit += format.bits[c], ++c) {
    const std::uint32_t raw = model::encode(component[c], format.bits[c], number);
    for (unsigned b = 0; b < format.bits[c]; ++b) at((bit + b) / 8) = static_cast<std::uint8_t>(at((bit + b) / 8) | ((raw >> b) & 1) << ((bit + b) % 8));
  }
}

// s[8:11] as in clang's gfx90a code for private memory: swizzle and add_tid, 64 indices, no stride.
void private_resource(IsaBench& b, std::uint64_t address) {
  b.s(8) = static_cast<std::uint32_t>(address);
  b.s(9) = static_cast<std::uint32_t>(address >> 32) | 0x80000000u;
  b.s(10) = 0xffffffff;
  b.s(11) = 0x00e00000;
}

} // namespace

TEST_CASE("buffer: every untyped instruction agrees with the model in raw, structured, swizzled and private buffers", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kMubuf) {
      if (!c.on(arch) || is_cache(c) || is_typed(c) || is_lds(c)) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      const bool atomic = c.name.rfind("atomic_", 0) == 0;
      const unsigned first = atomic ? 8 : 16;
      bool good = true;
      for (unsigned round = 0; round < 12; ++round) {
        f.shuffle(round);
        auto r = pick_resource(f, round);
        if (r.add_tid) r.data = 0;                     // it would be part of the stride
        if (atomic) {                                  // naturally aligned, not torn apart by swizzling
          if (model::access_bytes(c.name) == 8) r.swizzle = false;
          if (c.imm % 8 != 0 && model::access_bytes(c.name) == 8) r.base = f.buffer.address + 4;
          if (model::access_bytes(c.name) == 8) r.stride = r.stride / 8 * 8;
        }
        const std::uint32_t stride = stride_of(r, false);
        const auto lanes = place(f, c, r, atomic ? model::access_bytes(c.name) : round % 2 == 0 ? 4 : 1);
        std::array<model::Regs, 64> want;
        for (unsigned l = 0; l < 64; ++l) {
          model::LaneState state{.data = f.registers(c.acc, 8, l), .result = f.registers(c.acc, first, l), .f32 = {}, .f64 = {}};
          if (arch == Arch::gfx90a && c.name == "atomic_add_f32") state.f32 = {true, true};
          if (f.active(l)) untyped(c.name, c.returns, r, lanes[l], stride, bytes_of(f, r, lanes[l], stride), state);
          want[l] = state.result;
        }
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && check(f, c, first, want);
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("buffer: every typed instruction agrees with the model in every format", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const bool from_instruction : {false, true}) {
      for (const MemCase& c : from_instruction ? kMtbuf : kMubuf) {
        if (!c.on(arch) || !is_typed(c) || is_lds(c)) continue;
        INFO(isa::to_string(arch) << ": " << c.code.text);
        bool good = true;
        for (unsigned round = 0; round < (from_instruction ? 2u : 40u); ++round) {
          f.shuffle(round);
          auto r = pick_resource(f, round);
          const std::uint32_t format_field = c.code.words[0] >> 19;
          const unsigned data = from_instruction ? format_field & 15 : r.data, number = from_instruction ? (format_field >> 4) & 7 : r.number;
          const auto lanes = place(f, c, r, round % 4 < 2 ? 4 : 1);
          const unsigned identity[4] = {4, 5, 6, 7};
          std::array<model::Regs, 64> want;
          for (unsigned l = 0; l < 64; ++l) {
            model::LaneState state{.data = f.registers(c.acc, 8, l), .result = f.registers(c.acc, 16, l), .f32 = {}, .f64 = {}};
            if (f.active(l)) typed(c.name, r, from_instruction ? identity : r.select, data, number, lanes[l], bytes_of(f, r, lanes[l], r.stride), state);
            want[l] = state.result;
          }
          const bool ran = f.bench.run(c.code);
          INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
          REQUIRE(ran);
          good = good && check(f, c, 16, want);
        }
        CHECK(good);
        if (good) f.bench.agreed();
      }
    }
  }
}

TEST_CASE("buffer: loads to LDS put lane l's data at M0 + offset + l times 4, or 16 for three and four dwords", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kMubuf) {
      if (!c.on(arch) || !is_lds(c)) continue;
      INFO(isa::to_string(arch) << ": " << c.code.text);
      bool good = true;
      for (unsigned round = 0; round < 8; ++round) {
        f.shuffle(round);
        auto r = pick_resource(f, round);
        if (r.add_tid && !is_typed(c)) r.data = 0;
        const std::uint32_t stride = stride_of(r, is_typed(c)), m0 = round == 7 ? 65500 : static_cast<std::uint32_t>(f.random() % 60000);
        f.bench.s(kM0) = m0;
        const auto lanes = place(f, c, r, round < 4 ? 4 : 1);
        for (unsigned l = 0; l < 64; ++l) {
          if (!f.active(l)) continue;
          const unsigned dwords = is_typed(c) ? 1 : std::max(1u, model::access_bytes(c.name.rfind("lds_", 0) == 0 ? c.name.substr(4) : "load_dword") / 4);
          const std::uint32_t to = (m0 & 0xfffc) + static_cast<std::uint32_t>(c.imm) + l * (dwords > 2 ? 16 : 4);
          if (to + dwords * 4 > MemFixture::kLds) continue;
          const auto at = bytes_of(f, r, lanes[l], stride);
          if (c.name == "store_lds_dword") {
            if (model::in_range(r, lanes[l], stride, 0, 4)) model::put(at, 0, 4, model::get(f.in_lds(to), 0, 4));
            continue;
          }
          model::LaneState state{};
          if (is_typed(c)) typed(c.name, r, r.select, r.data, r.number, lanes[l], at, state);
          else untyped(c.name.substr(4), false, r, lanes[l], stride, at, state);
          for (unsigned d = 0; d < dwords; ++d) model::put(f.in_lds(to), d * 4, 4, state.result[d]);
        }
        const bool ran = f.bench.run(c.code);
        INFO(f.bench.fault.reason << ", " << f.bench.fault.nearest);
        REQUIRE(ran);
        good = good && f.memory_agrees();
      }
      CHECK(good);
      if (good) f.bench.agreed();
    }
  }
}

TEST_CASE("buffer: write-backs and invalidations run and change nothing", "[isa]") {
  for (const Arch arch : kAllArchs) {
    MemFixture f(arch);
    for (const MemCase& c : kMubuf) {
      if (!c.on(arch) || !is_cache(c)) continue;
      f.shuffle(0);
      CHECK(f.bench.run(c.code));
      CHECK(f.memory_agrees());
      f.bench.agreed();
    }
  }
}

TEST_CASE("buffer: linear addresses are stride times index plus offset", "[isa]") {
  const std::uint32_t words[4] = {0x1000, 12u << 16, 100, 4u << 15};
  const auto r = mem::BufferResource::from(words, true);
  CHECK(r.base == 0x1000);
  CHECK(r.stride == 12);
  CHECK(r.place(3, 5) == 41);
}

TEST_CASE("buffer: swizzled addresses keep index-stride records of a dword together", "[isa]") {
  const std::uint32_t words[4] = {0, 0x80000000u | 16u << 16, 100, 1u << 21 | 4u << 15}; // 16 indices, stride 16
  const auto r = mem::BufferResource::from(words, true);
  CHECK(r.place(0, 0) == 0);
  CHECK(r.place(1, 0) == 4);
  CHECK(r.place(1, 4) == 64 + 4);
  CHECK(r.place(1, 6) == 64 + 4 + 2);
  CHECK(r.place(16, 0) == 256);
  CHECK(r.place(35, 8) == 2 * 256 + 128 + 3 * 4);
}

TEST_CASE("buffer: add_tid turns the data format of untyped accesses into stride bits 17 to 14", "[isa]") {
  const std::uint32_t words[4] = {0, 4u << 16, 0, 1u << 23 | 5u << 15};
  CHECK(mem::BufferResource::from(words, true).stride == (5u << 14 | 4));
  CHECK(mem::BufferResource::from(words, false).stride == 4);
}

TEST_CASE("buffer: a private buffer reaches each lane's own dwords", "[isa]") {
  IsaBench b(Arch::gfx90a);
  const auto scratch = b.buffer(64 * 32);
  private_resource(b, scratch.address);
  b.s(12) = 0;
  for (unsigned l = 0; l < 64; ++l) {
    b.v(2, l) = 8;
    b.v(8, l) = 100 + l;
  }
  REQUIRE(b.run("buffer_store_dword v8, v2, s[8:11], s12 offen offset:4"));
  CHECK(scratch.as<std::uint32_t>()[3 * 64 + 17] == 117);
}

TEST_CASE("buffer: an unaligned access of a private buffer goes on in the lane's own next dword", "[isa]") {
  IsaBench b(Arch::gfx90a);
  const auto scratch = b.buffer(64 * 16);
  private_resource(b, scratch.address);
  for (unsigned l = 0; l < 64; ++l) b.v(8, l) = 0xaabb0000u + l;
  REQUIRE(b.run("buffer_store_dword v8, off, s[8:11], 0 offset:2\n buffer_load_dword v16, off, s[8:11], 0 offset:2\n"
                "buffer_load_ushort v17, off, s[8:11], 0 offset:3"));
  CHECK(scratch.as<std::uint32_t>()[17] == 17u << 16);
  CHECK(scratch.as<std::uint32_t>()[64 + 17] == 0xaabb);
  CHECK(b.v(16, 17) == 0xaabb0011);
  CHECK(b.v(17, 17) == 0xbb00);
}

TEST_CASE("buffer: soffset counts against num_records, and a dword has to end within it", "[isa]") {
  IsaBench b(Arch::gfx950);
  const auto data = b.buffer(64);
  std::memset(data.host.data(), 0x11, 64);
  b.s(8) = static_cast<std::uint32_t>(data.address);
  b.s(9) = static_cast<std::uint32_t>(data.address >> 32);
  b.s(10) = 30;
  b.s(11) = 4u << 15;
  b.s(12) = 16;
  for (unsigned l = 0; l < 64; ++l) b.v(2, l) = 8;
  REQUIRE(b.run("buffer_load_dwordx2 v[16:17], v2, s[8:11], s12 offen\n" // bytes 24-27 and 28-31
                "buffer_load_ushort v18, v2, s[8:11], s12 offen offset:4\n buffer_load_ushort v19, v2, s[8:11], s12 offen offset:5"));
  CHECK(b.v(16, 0) == 0x11111111);
  CHECK(b.v(17, 0) == 0);
  CHECK(b.v(18, 0) == 0x1111);
  CHECK(b.v(19, 0) == 0);
}

TEST_CASE("buffer: an unbound resource reads 0 and writes nothing", "[isa]") {
  IsaBench b(Arch::gfx942);
  for (unsigned l = 0; l < 64; ++l) b.v(16, l) = 77;
  REQUIRE(b.run("buffer_load_dword v16, off, s[8:11], 0\n buffer_store_dword v16, off, s[8:11], 0"));
  CHECK(b.v(16, 5) == 0);
}

TEST_CASE("buffer: an address inside the buffer that is not mapped faults", "[isa]") {
  IsaBench b(Arch::gfx942);
  const auto small = b.buffer(64, kRead | kWrite, "small");
  b.s(8) = static_cast<std::uint32_t>(small.address);
  b.s(9) = static_cast<std::uint32_t>(small.address >> 32);
  b.s(10) = 4096;
  b.s(11) = 4u << 15;
  for (unsigned l = 0; l < 64; ++l) b.v(2, l) = l * 4;
  CHECK_FALSE(b.run("buffer_store_dword v16, v2, s[8:11], 0 offen"));
  CHECK(b.fault.lane == 16);
  CHECK(b.fault.nearest == "0 bytes past buffer 'small' of 64 bytes at 0x7f1000020000, device coarse");
}
