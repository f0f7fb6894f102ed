// From exec to the end of a small program: 02_vector_add on the software GPU, code object on disk. posix_spawn and wait, nothing
// subtracted. Beside it the same for a program that does nothing (/bin/true), which is what this machine asks for any process.

#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

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

void vector_add(benchmark::State& state) {
  std::error_code error;
  run(state, (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "02_vector_add").string());
}
void nothing(benchmark::State& state) { run(state, "/bin/true"); }

BENCHMARK(vector_add)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(nothing)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace

int main(int argc, char** argv) {
  setenv("AQL_DEVICE", "sim:gfx942", 1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
