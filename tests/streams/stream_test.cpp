// Random streams of legal instructions: no crash, no fault, and one result with one and two worker threads and on every tier of
// the host's instruction set. AQL_LONG_TESTS=1 runs a thousand streams a target, otherwise forty.
//
// A tier is chosen once in a process, so the other tiers run in processes of their own: this binary with the hidden test
// [print], whose lines are compared. `AQL_STREAMS=gfx942:17 AQL_SIM_TIER=0 streams [trace]` shows what one stream does.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.hpp"
#include "generator.hpp"
#include "runs/run_support.hpp"
#include "sim/cp/gpu.hpp"
#include "sim/exec/fidelity.hpp"
#include "sim/exec/tier.hpp"
#include "sim/exec/trace.hpp"
#include "sim/isa/decode.hpp"
#include "sim/isa/op_info.hpp"
#include "support/compile.hpp"

using namespace aql;
using namespace aql::test;

namespace {

bool long_tests() {
  const char* asked = std::getenv("AQL_LONG_TESTS");
  return asked != nullptr && std::string_view(asked) == "1";
}
unsigned stream_count() { return long_tests() ? 1000 : 40; }

sim::Arch arch_of(const std::string& target) { return target == "gfx90a" ? sim::Arch::gfx90a : target == "gfx942" ? sim::Arch::gfx942 : sim::Arch::gfx950; }

struct Outcome {
  std::string fault;                // empty: none
  std::vector<std::uint32_t> dump;  // registers and LDS of every group, then the arena
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const std::uint32_t w : dump) h = (h ^ w) * 0x100000001b3u;
    return h;
  }
};

// What the 32-bit words of a dump are.
std::string name_of(std::size_t word) {
  const std::size_t per_group = kStateBytes / 4;
  char text[96];
  if (word >= kStreamGroups * per_group) {
    word -= kStreamGroups * per_group;
    std::snprintf(text, sizeof text, "group %zu, arena byte 0x%zx", word / (kArenaBytes / 4), word % (kArenaBytes / 4) * 4);
    return text;
  }
  const std::size_t group = word / per_group, row = word % per_group / 64, lane = word % 64;
  constexpr const char* kLast[] = {"vcc_lo", "vcc_hi", "m0", "scc", "exec_lo", "exec_hi"};
  std::string reg;
  if (row == 0) reg = "v0";
  else if (row < 113) reg = "v" + std::to_string(row + 15);
  else if (row < 241) reg = "a" + std::to_string(row - 113);
  else if (row < 313) reg = "s" + std::to_string(row - 241 + 24);
  else if (row < 319) reg = kLast[row - 313];
  else reg = "LDS byte " + std::to_string((row - 319) * 256) + " +";
  std::snprintf(text, sizeof text, "group %zu, %s, lane %zu", group, reg.c_str(), lane);
  return text;
}

std::string first_difference(const Outcome& a, const Outcome& b) {
  if (a.fault != b.fault) return "faults: '" + a.fault + "' and '" + b.fault + "'";
  for (std::size_t n = 0; n < a.dump.size(); ++n) {
    if (a.dump[n] == b.dump[n]) continue;
    char text[64];
    std::snprintf(text, sizeof text, ": %08x and %08x", a.dump[n], b.dump[n]);
    return name_of(n) + text;
  }
  return {};
}

class Runner {
public:
  Runner(const std::string& target, unsigned workers) : device_(open_sim(target, workers)), queue_(queue_on(device_)), frame_(read_bytes(std::string(AQL_TEST_KERNEL_DIR) + "/stream." + target + ".co")) {
    for (std::size_t n = 0; n + 4 <= frame_.size(); n += 4) {
      std::uint32_t w = 0;
      std::memcpy(&w, frame_.data() + n, 4);
      if (w == kBodyMarker) body_ = n + 4;
    }
    REQUIRE(body_ != 0);
    dump_ = buffer_of(device_, kStreamGroups * kStateBytes, PoolKind::device_coarse, "dump");
    state_ = buffer_of(device_, kStreamGroups * kStateBytes, PoolKind::device_coarse, "state");
    arena_ = buffer_of(device_, kStreamGroups * kArenaBytes, PoolKind::device_coarse, "arena");
  }

  Outcome run(const Stream& stream) {
    REQUIRE(stream.words.size() < kBodyWords);
    Bytes file = frame_;
    std::memcpy(file.data() + body_, stream.words.data(), stream.words.size() * 4);
    const auto rest = static_cast<std::uint32_t>(kBodyWords - stream.words.size() - 1);
    const std::uint32_t jump = 0xbf820000u | rest; // over what is left of the room
    std::memcpy(file.data() + body_ + stream.words.size() * 4, &jump, 4);
    const auto module = Module::load(device_, file);
    if (!module) FAIL(module.error().message());
    check(dump_.fill(std::byte{0}));
    check(state_.write(stream.state));
    check(arena_.write(stream.arena));
    Outcome outcome;
    if (auto done = aql::test::run(queue_, arguments(kernel_of(*module, "stream"), dump_, arena_, state_), {.grid = {64 * kStreamGroups}, .group = {64}}); !done) {
      outcome.fault = done.error().message();
      queue_ = queue_on(device_);
    }
    outcome.dump.resize(kStreamGroups * (kStateBytes + kArenaBytes) / 4);
    check(dump_.read(outcome.dump.data(), kStreamGroups * kStateBytes));
    check(arena_.read(outcome.dump.data() + kStreamGroups * kStateBytes / 4, kStreamGroups * kArenaBytes));
    return outcome;
  }

  sim::Gpu& gpu() { return *detail::sim_gpu(*device_.driver()); }

private:
  Device device_;
  Queue queue_;
  Bytes frame_;
  std::size_t body_ = 0;
  Buffer dump_, state_, arena_;
};

std::string print_line(const std::string& target, std::uint32_t seed, const Outcome& outcome) {
  char text[96];
  std::snprintf(text, sizeof text, "%s %u %016llx%s", target.c_str(), seed, static_cast<unsigned long long>(outcome.hash()), outcome.fault.empty() ? "" : " fault");
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("gfx")) lines.push_back(line);
  return lines;
}

std::string command(unsigned tier, const std::string& target, const char* what) {
  return "AQL_SIM_TIER=" + std::to_string(tier) + " AQL_STREAMS=" + target + " " + AQL_TEST_BIN_DIR + "/streams '" + what + "'";
}

void one_and_two_workers_and_all_tiers(const std::string& target) {
  Runner one(target, 1), two(target, 2);
  std::vector<std::string> here;
  for (std::uint32_t seed = 1; seed <= stream_count(); ++seed) {
    const Stream stream = make_stream(arch_of(target), seed);
    const Outcome a = one.run(stream), b = two.run(stream);
    INFO(target << ", stream " << seed);
    CHECK(a.fault == "");
    CHECK(first_difference(a, b) == "");
    here.push_back(print_line(target, seed, a));
  }
  for (unsigned tier = 0; tier < sim::host_tier(); ++tier) {
    const auto other = run_command(command(tier, target, "[print]"));
    INFO("tier " << tier << " against tier " << sim::host_tier());
    CHECK(other.status == 0);
    CHECK(lines_of(other.output) == here);
  }
}

std::string asked_target() {
  const char* asked = std::getenv("AQL_STREAMS");
  return asked == nullptr ? "gfx942" : std::string(asked).substr(0, 6);
}
std::uint32_t asked_seed() {
  const char* asked = std::getenv("AQL_STREAMS");
  return asked == nullptr || std::strlen(asked) < 8 ? 1 : static_cast<std::uint32_t>(std::strtoul(asked + 7, nullptr, 10));
}

} // namespace

TEST_CASE("streams: gfx90a gives one result with one and two workers and on every tier") { one_and_two_workers_and_all_tiers("gfx90a"); }
TEST_CASE("streams: gfx942 gives one result with one and two workers and on every tier") { one_and_two_workers_and_all_tiers("gfx942"); }
TEST_CASE("streams: gfx950 gives one result with one and two workers and on every tier") { one_and_two_workers_and_all_tiers("gfx950"); }

TEST_CASE("streams: every family is in one of twenty, and half of all streams run 200 instructions or more") {
  const std::string target = GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950");
  Runner runner(target, 1);
  std::map<std::string, unsigned> with;
  std::vector<std::uint64_t> lengths;
  for (std::uint32_t seed = 1; seed <= stream_count(); ++seed) {
    const Stream stream = make_stream(arch_of(target), seed);
    for (const std::string& family : stream.families) ++with[family];
    sim::FidelityCounters counters;
    runner.gpu().set_fidelity(&counters);
    const Outcome outcome = runner.run(stream);
    runner.gpu().set_fidelity(nullptr);
    REQUIRE(outcome.fault == "");
    std::uint64_t all = 0;
    for (const auto& count : counters.count) all += count.load();
    constexpr std::uint64_t kFrame = 2100; // of stream.s, rounded up
    lengths.push_back(all / kStreamGroups > kFrame ? all / kStreamGroups - kFrame : 0);
  }
  for (const std::string& family : families_of(arch_of(target))) {
    INFO(target << " " << family);
    CHECK(with[family] * 20 >= stream_count());
  }
  std::ranges::sort(lengths);
  CHECK(lengths[lengths.size() / 2] >= 200);
}

TEST_CASE("streams: every row that is not left out can be in a stream") {
  for (const sim::Arch arch : {sim::Arch::gfx90a, sim::Arch::gfx942, sim::Arch::gfx950}) CHECK(rows_never_made(arch) == std::vector<std::string>{});
}

TEST_CASE("streams: what is only in patterns is in one of forty streams, what else is left out is in none, and the documentation names all of it") {
  const std::string target = GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950");
  std::set<std::string_view> seen;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const Stream stream = make_stream(arch_of(target), seed);
    for (std::span<const std::uint32_t> rest = stream.words; !rest.empty();) {
      sim::Inst inst;
      REQUIRE(sim::isa::decode(rest, arch_of(target), inst) == sim::isa::DecodeStatus::ok);
      seen.insert(inst.info->mnemonic);
      rest = rest.subspan(inst.size_bytes / 4);
    }
  }
  const Bytes page = read_bytes(AQL_SOURCE_DIR "/docs/verification.md");
  const std::string_view text(reinterpret_cast<const char*>(page.data()), page.size());
  for (const LeftOut& row : left_out()) {
    INFO(target << " " << row.mnemonic << ": " << row.why);
    CHECK(seen.contains(row.mnemonic) == row.why.starts_with("only in a pattern"));
    CHECK(text.find("`" + std::string(row.mnemonic) + "`") != std::string_view::npos);
  }
}

TEST_CASE("streams: print the results of one target", "[.print]") {
  const std::string target = asked_target();
  Runner runner(target, 1);
  for (std::uint32_t seed = 1; seed <= stream_count(); ++seed) std::printf("%s\n", print_line(target, seed, runner.run(make_stream(arch_of(target), seed))).c_str());
}

// Says which instruction changed a register that belongs to the frame.
struct FrameWatch : sim::TraceSink {
  sim::InstructionTrace trace{[](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); }, {.lanes = 64}};
  std::vector<sim::VReg> saved = std::vector<sim::VReg>(16);
  bool inside = false;
  void before(const sim::Wave& wave, const sim::Inst& inst) override {
    trace.before(wave, inst);
    if (inside) std::copy(wave.vgpr, wave.vgpr + 16, saved.begin());
  }
  void after(const sim::Wave& wave, const sim::Inst& inst, sim::Next next) override {
    trace.after(wave, inst, next);
    if (inside && std::memcmp(saved.data() + 1, wave.vgpr + 1, 15 * sizeof(sim::VReg)) != 0 && wave.sgpr[21] == kBodyMarker) std::fprintf(stderr, "^^^ changed a register of the frame\n");
    inside = wave.sgpr[21] == kBodyMarker;
  }
};

// Runs one stream with a trace on standard error.
TEST_CASE("streams: trace one", "[.trace]") {
  Runner runner(asked_target(), 1);
  FrameWatch trace;
  runner.gpu().set_trace(&trace);
  const Outcome outcome = runner.run(make_stream(arch_of(asked_target()), asked_seed()));
  runner.gpu().set_trace(nullptr);
  std::fprintf(stderr, "%s\n", outcome.fault.c_str());
}
