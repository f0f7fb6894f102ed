// `aql bench isa`: the speed report, by the benchmark program beside this one.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tool.hpp"

namespace aql::tool {

void add_bench(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("bench", "measure the software GPU beside its rivals in one run");
  command->require_subcommand(1);
  auto* isa = command->add_subcommand("isa", "vector ALU, matrix products, copies and worker threads: target and reached");
  isa->allow_extras()->prefix_command();
  isa->footer("Options are those of bench_isa: --json, --cpu-time, --repeat N, --only valu|gemm|fp8|copy|workers, --kernels DIR");
  isa->callback([isa, &status] {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "bench_isa";
    std::vector<std::string> words = isa->remaining();
    words.insert(words.begin(), program.string());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    fmt::print(stderr, "aql bench: cannot run {}: {}. Benchmarks are built with AQL_BUILD_BENCH=ON (./run build) and are not installed\n", program.string(), std::strerror(errno));
    status = kFailed;
  });
}

} // namespace aql::tool
