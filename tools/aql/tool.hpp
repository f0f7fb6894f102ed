#pragma once
// Subcommands of the aql tool. Each registers itself and stores its exit status: 0 done, 1 failed, 2 wrong usage, 3 the kernel
// or queue faulted.

#include <CLI/CLI.hpp>

namespace aql::tool {

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2, kFaulted = 3;

void add_bench(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_inspect(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_vgpu(CLI::App& app, int& status); // exits as the program does

} // namespace aql::tool
