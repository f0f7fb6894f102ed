// From posix_spawn to the end of the first dispatch (first_dispatch: startup_child tells the time then), and to the end of a small
// program, teardown included (vector_add: 02_vector_add). Software GPU, code object on disk, nothing subtracted. Beside them a program
// that does nothing (/bin/true), which is what this machine asks for any process.

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

extern char** environ;

namespace {

void run(benchmark::State& state, const std::string& program) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  for (auto _ : state) {
    pid_t child = 0;
    int status = -1;
    if (posix_spawn(&child, program.c_str(), &quiet, nullptr, argv, environ) != 0 || waitpid(child, &status, 0) != child || status != 0) {
      state.SkipWithError(("cannot run " + program + ", or it failed").c_str());
      break;
    }
  }
  posix_spawn_file_actions_destroy(&quiet);
}

std::filesystem::path beside_us() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

void vector_add(benchmark::State& state) { run(state, (beside_us() / "02_vector_add").string()); }

void first_dispatch(benchmark::State& state) {
  std::string program = (beside_us() / "startup_child").string(), code = AQL_BENCH_CODE_OBJECT;
  char* argv[] = {program.data(), code.data(), nullptr};
  for (auto _ : state) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return state.SkipWithError("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    timespec start{}, done{};
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = 0;
    const bool spawned = posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ) == 0;
    close(ends[1]);
    const bool told = spawned && read(ends[0], &done, sizeof done) == static_cast<ssize_t>(sizeof done);
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (spawned) waitpid(child, nullptr, 0);
    if (!told) return state.SkipWithError(("cannot run " + program + ", or it failed").c_str());
    state.SetIterationTime(static_cast<double>(done.tv_sec - start.tv_sec) + static_cast<double>(done.tv_nsec - start.tv_nsec) * 1e-9);
  }
}

void nothing(benchmark::State& state) { run(state, "/bin/true"); }

BENCHMARK(first_dispatch)->Name("first_dispatch (target 10 ms)")->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(vector_add)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(nothing)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace

int main(int argc, char** argv) {
  setenv("AQL_DEVICE", "sim:gfx942", 1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
