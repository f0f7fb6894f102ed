// `aql vgpu`: runs a program with the virtual KFD preloaded, so that the ROCm stack below it finds software GPUs.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.hpp"
#include "tool.hpp"

#ifdef AQL_HAVE_VKFD
#include "vkfd/process.hpp"
#include "vkfd/topology.hpp"
#endif

namespace aql::tool {
namespace {

struct VgpuOptions {
  std::string device = "gfx90a";
  unsigned gpus = 1;
  std::string trace;
  std::vector<std::string> program;
};

#ifdef AQL_HAVE_VKFD

volatile std::sig_atomic_t g_child = 0;

void pass_on(int signal) {
  if (g_child > 0) kill(static_cast<pid_t>(g_child), signal);
}

int complain(const std::string& text) {
  fmt::print(stderr, "aql vgpu: {}\n", text);
  return kFailed;
}

std::string find_library() {
  if (const auto given = detail::env_text("AQL_VKFD_LIBRARY")) return std::string{*given};
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* directory : {"lib", AQL_VKFD_LIBDIR}) {
    const auto candidate = self.parent_path().parent_path() / directory / "libaql-vkfd.so";
    if (std::filesystem::exists(candidate, error)) return candidate.string();
  }
  return {};
}

// A directory that goes when we go.
class TemporaryTree {
public:
  TemporaryTree() {
    std::string name = std::filesystem::temp_directory_path().string() + "/aql-vgpu-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryTree() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  std::string path_;
};

int run_program(const VgpuOptions& options) {
  const auto& program = options.program;
  std::string devices;
  for (unsigned i = 0; i < options.gpus; ++i) devices += (i != 0 ? "," : "") + options.device;
  const auto gpus = vkfd::parse_devices(devices);
  if (!gpus) {
    complain(gpus.error().detail);
    return kUsage;
  }
  const std::string library = find_library();
  if (library.empty()) return complain("libaql-vkfd.so is not where this tool is installed; name it in AQL_VKFD_LIBRARY");
  const TemporaryTree tree;
  if (tree.path().empty()) return complain(fmt::format("no temporary directory: {}", std::strerror(errno)));
  if (auto written = vkfd::write_topology(tree.path(), *gpus); !written) return complain(written.error().message());
  if (!options.trace.empty()) {
    std::FILE* file = std::fopen(options.trace.c_str(), "w"); // starts empty; all processes append
    if (file == nullptr)
      return complain(fmt::format("the trace cannot be written to '{}': {}", options.trace, std::strerror(errno)));
    std::fclose(file);
    setenv("AQL_VKFD_TRACE", std::filesystem::absolute(options.trace).c_str(), 1);
  }
  setenv("AQL_VKFD_DEVICES", devices.c_str(), 1);
  setenv("AQL_VKFD_ROOT", tree.path().c_str(), 1);
  const auto others = detail::env_text("LD_PRELOAD");
  const std::string preload = others ? fmt::format("{}:{}", library, *others) : library;

  const pid_t child = fork();
  if (child < 0) return complain(fmt::format("fork failed: {}", std::strerror(errno)));
  if (child == 0) {
    setenv("LD_PRELOAD", preload.c_str(), 1);
    std::vector<char*> arguments;
    for (const auto& text : program) arguments.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    fmt::print(stderr, "aql vgpu: '{}' cannot be run: {}\n", program[0], std::strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
  }
  g_child = child;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) std::signal(signal, pass_on);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (WIFSIGNALED(status)) {
    fmt::print(stderr, "aql vgpu: '{}' was ended by signal {} ({})\n", program[0], WTERMSIG(status), strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}

#else

int run_program(const VgpuOptions&) {
  fmt::print(stderr, "aql vgpu: this build has no virtual KFD; it needs libdrm-dev\n");
  return kFailed;
}

#endif

} // namespace

void add_vgpu(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("vgpu", "run a ROCm program on software GPUs: aql vgpu [options] -- PROGRAM ARGS...");
  auto options = std::make_shared<VgpuOptions>();
  command->add_option("--device", options->device,
                      "target or product of the GPUs (gfx90a, gfx942, gfx950, MI250X, ...), or a comma-separated list");
  command->add_option("--gpus", options->gpus, "how many of them")->check(CLI::Range(1, 64));
  command->add_option("--trace", options->trace, "file for every ioctl and packet, decoded");
  command->add_option("program", options->program, "after --: the program and its arguments")->required();
  command->callback([options, &status] { status = run_program(*options); });
}

} // namespace aql::tool
