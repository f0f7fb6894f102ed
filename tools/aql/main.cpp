// The aql tool: what there is (info), what a file holds (inspect), one launch by hand (run), and
// programs of the ROCm stack on the software GPU (vgpu).

#include <cstdio>

#include <fmt/format.h>

#include <aql/version.hpp>

#include "tool.hpp"

int main(int argc, char** argv) {
  CLI::App app{"aql: AMD GPU kernels launched through AQL queues, without HIP", "aql"};
  app.set_version_flag("--version", std::string{aql::version_string()});
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  int status = aql::tool::kUsage;
  aql::tool::add_bench(app, status);
  aql::tool::add_info(app, status);
  aql::tool::add_inspect(app, status);
  aql::tool::add_run(app, status);
  aql::tool::add_vgpu(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error); // prints help, version or the error
    return code == 0 ? aql::tool::kOk : aql::tool::kUsage;
  }
  return status;
}
