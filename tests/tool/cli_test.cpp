// Runs build/bin/aql in a shell and looks at what it prints and returns.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using Catch::Matchers::Contains;

namespace {

struct Output {
  int status = -1;
  std::string text; // stdout and stderr
};

Output aql(const std::string& arguments) {
  const std::string command = std::string{"AQL_SIM_WATCHDOG_MS=60000 "} + AQL_TEST_BIN_DIR + "/aql " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Output out;
  std::array<char, 4096> block{};
  std::size_t n = 0;
  while ((n = std::fread(block.data(), 1, block.size(), pipe)) > 0) out.text.append(block.data(), n);
  const int status = pclose(pipe);
  out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return out;
}

std::string kernel(const std::string& name) { return std::string{AQL_TEST_KERNEL_DIR} + "/" + name + ".co"; }

struct TemporaryFile {
  std::string path;
  TemporaryFile() {
    char name[] = "/tmp/aql-cli-XXXXXX";
    const int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    close(fd);
    path = name;
  }
  ~TemporaryFile() { unlink(path.c_str()); }
};

} // namespace

TEST_CASE("aql run: the reference kernel gives 48 on every target") {
  const auto target = GENERATE(as<std::string>{}, "gfx90a", "gfx942", "gfx950");
  const auto out = aql("run " + kernel("mfma_loop_O3." + target) +
                       " --kernel gemm_tile --grid 256 --group 256 --arg buf:f32:16:out=- --arg buf:f16:12:init=const=1 --arg buf:f16:12:init=const=2 --arg i32:3");
  CHECK(out.status == 0);
  CHECK_THAT(out.text, Contains("48 48 48 48 48 48 48 48\n48 48 48 48 48 48 48 48\n"));
}

TEST_CASE("aql run: a fault prints its report and exits with 3") {
  const auto out = aql("run " + kernel("errors_O2.gfx942") + " --kernel store_at --grid 64 --group 64 --arg buf:u32:4 --arg u32:4 --arg u32:1");
  CHECK(out.status == 3);
  CHECK_THAT(out.text, Contains("memory_fault") && Contains("store_at") && Contains("lane 63") && Contains("0 bytes past"));
}

TEST_CASE("aql run: wrong usage exits with 2 and says what is wrong") {
  const std::string file = kernel("basics_O2.gfx942");
  const std::string tail = " --grid 64 --group 64 --arg buf:u32:1 --arg u32:1";
  CHECK(aql("").status == 2);
  CHECK(aql("run").status == 2);
  CHECK(aql("run " + file + " --kernel store_value --grid 0 --group 64").status == 2);
  CHECK(aql("run " + file + " --kernel store_value --bogus" + tail).status == 2);
  CHECK_THAT(aql("run " + file + " --kernel store_valu" + tail).text, Contains("store_value"));
  CHECK(aql("run " + file + " --kernel store_valu" + tail).status == 2);
  const auto count = aql("run " + file + " --kernel store_value --grid 64 --group 64 --arg u32:1");
  CHECK(count.status == 2);
  CHECK_THAT(count.text, Contains("takes 2 arguments"));
  const auto spec = aql("run " + file + " --kernel store_value --grid 64 --group 64 --arg buf:u33:1 --arg u32:1");
  CHECK(spec.status == 2);
  CHECK_THAT(spec.text, Contains("u33"));
  CHECK(aql("run " + file + " --kernel store_value --acquire world" + tail).status == 2);
  CHECK(aql("run " + file + " --kernel store_value --device sim:gfx1" + tail).status == 2);
}

TEST_CASE("aql run: a launch that cannot be is refused before it, with status 1") {
  const auto out = aql("run " + kernel("mfma_loop_O3.gfx942") + " --kernel gemm_tile --grid 512 --group 512 --arg buf:f32:16 --arg buf:f16:12 --arg buf:f16:12 --arg i32:3");
  CHECK(out.status == 1);
  CHECK_THAT(out.text, Contains("at most 256"));
  const auto other = aql("run " + kernel("basics_O2.gfx942") + " --kernel store_value --device sim:gfx90a --grid 64 --group 64 --arg buf:u32:1 --arg u32:1");
  CHECK(other.status == 1);
  CHECK_THAT(other.text, Contains("gfx942") && Contains("gfx90a"));
  CHECK(aql("run /nowhere.co --kernel k --grid 1 --group 1").status == 1);
}

TEST_CASE("aql run: buffers come from files and go to files, raw") {
  const TemporaryFile in, out;
  std::ofstream{in.path, std::ios::binary} << std::string("\1\0\0\0\2\0\0\0", 8);
  const auto ran = aql("run " + kernel("basics_O2.gfx942") + " --kernel scale_add --grid 64 --group 64 --arg buf:u32:2:init=@" + in.path + ":out=" + out.path +
                       " --arg u32:2 --arg u32:10 --arg u32:1");
  CHECK(ran.status == 0);
  std::ifstream result{out.path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{result}, {}};
  CHECK(bytes == std::string("\13\0\0\0\25\0\0\0", 8)); // 1 * 10 + 1, 2 * 10 + 1
}

TEST_CASE("aql run: an argument may name the buffer of an earlier one") {
  const auto out = aql("run " + kernel("basics_O2.gfx942") + " --kernel vector_add --grid 64 --group 64 --arg buf:f32:4:init=iota:out=- --arg ref:0 --arg ref:0 --arg u32:4");
  CHECK(out.status == 0);
  CHECK_THAT(out.text, Contains("0 2 4 6\n"));
  CHECK(aql("run " + kernel("basics_O2.gfx942") + " --kernel vector_add --grid 64 --group 64 --arg ref:1 --arg buf:f32:4 --arg ref:0 --arg u32:4").status == 2);
}

TEST_CASE("aql run: repeated dispatches, the packet, the trace and JSON") {
  const std::string base = "run " + kernel("basics_O2.gfx942") + " --kernel count --grid 64 --group 64 --arg buf:u32:1:out=- ";
  const auto repeated = aql(base + "--repeat 5 --barrier --acquire agent --release none --print-packet");
  CHECK(repeated.status == 0);
  CHECK_THAT(repeated.text, Contains("\n5\n") && Contains("barrier on, acquire agent, release none") && Contains("5 dispatches"));
  const auto traced = aql(base + "--trace-insts");
  CHECK_THAT(traced.text, Contains("s_endpgm") && Contains("group (0,0,0) wave 0"));
  const auto json = aql(base + "--json");
  CHECK(json.status == 0);
  CHECK_THAT(json.text, Contains("\"completed\": true") && Contains("\"outputs\""));
  const auto fault = aql("run " + kernel("errors_O2.gfx942") + " --kernel store_at --grid 64 --group 64 --arg null --arg u32:0 --arg u32:1 --json");
  CHECK(fault.status == 3);
  CHECK_THAT(fault.text, Contains("\"completed\": false") && Contains("memory_fault"));
}

TEST_CASE("aql run: the fidelity statement tells exact from assumed") {
  const std::string tail = " --kernel gemm_tile --grid 256 --group 256 --fidelity --arg buf:f32:16 --arg buf:f16:4 --arg buf:f16:4 --arg i32:1";
  const auto exact = aql("run " + kernel("mfma_loop_O3.gfx942") + tail);
  CHECK(exact.status == 0);
  CHECK_THAT(exact.text, Contains("fidelity: matrix arithmetic exact") && Contains("kinds of instructions"));
  const auto assumed = aql("run " + kernel("mfma_loop_O3.gfx950") + tail);
  CHECK_THAT(assumed.text, Contains("assumed") && Contains("v_mfma_f32_32x32x8"));
}

TEST_CASE("aql info: devices, and drivers refused with the reason") {
  const auto text = aql("info");
  CHECK(text.status == 0);
  CHECK_THAT(text.text, Contains("sim:MI300X") && Contains("gfx90a") && Contains("gfx950") && Contains("refused"));
  CHECK_THAT(aql("info --json").text, Contains("\"devices\"") && Contains("\"refused\""));
}

TEST_CASE("aql inspect: the reference object's identity on every target") {
  struct Row {
    const char *target, *flags;
  };
  const auto row = GENERATE(Row{"gfx90a", "53f"}, Row{"gfx942", "54c"}, Row{"gfx950", "54f"});
  const auto out = aql("inspect " + kernel(std::string{"mfma_loop_O3."} + row.target));
  INFO(out.text);
  CHECK(out.status == 0);
  CHECK_THAT(out.text, Contains(row.flags, Catch::CaseSensitive::No));
  CHECK_THAT(out.text, Contains(row.target) && Contains("gemm_tile"));
  CHECK(aql("inspect /nowhere").status != 0);
}
