// `aql vgpu`: runs a program with the virtual KFD preloaded, so that the ROCm stack below it finds software GPUs.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
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

// What is wrong with a list of preload libraries, or empty. AQL_VKFD_LIBRARY may name several, as LD_PRELOAD does.
std::string why_not_preloadable(std::string_view libraries) {
  if (libraries.find(' ') != std::string_view::npos) {
    return fmt::format("the preload library '{}' has a space in its path, which LD_PRELOAD takes for the end of a name; put it "
                       "elsewhere and name it in AQL_VKFD_LIBRARY",
                       libraries);
  }
  while (!libraries.empty()) {
    const std::size_t colon = std::min(libraries.find(':'), libraries.size());
    const std::string library{libraries.substr(0, colon)};
    libraries.remove_prefix(std::min(colon + 1, libraries.size()));
    if (access(library.c_str(), R_OK) != 0) {
      return fmt::format("the preload library '{}' cannot be read: {}; AQL_VKFD_LIBRARY names it, or several with colons between",
                         library, std::strerror(errno));
    }
  }
  return {};
}

// Where execvp would find the program, or empty.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string_view path = detail::env_text("PATH").value_or("/bin:/usr/bin");
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string candidate = fmt::format("{}/{}", colon == 0 || path.empty() ? "." : path.substr(0, colon), name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    if (colon == std::string_view::npos) return {};
    path.remove_prefix(colon + 1);
  }
}

// Why the dynamic linker will not preload anything into the program, or empty. A script is not looked into: its interpreter is
// started.
std::string out_of_reach(const std::string& name) {
  const std::string path = find_program(name);
  struct stat info{};
  if (path.empty() || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) || ((info.st_mode & S_ISGID) != 0 && info.st_gid != getgid()))
    return "runs with another user's or group's rights (setuid, setgid)";
  if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) return "runs with capabilities of its own";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "rb"), &std::fclose};
  Elf64_Ehdr elf{};
  if (!file || std::fread(&elf, sizeof elf, 1, file.get()) != 1 || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (elf.e_ident[EI_CLASS] != ELFCLASS64) return "is a 32-bit program";
  if (elf.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (std::fseek(file.get(), static_cast<long>(elf.e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
        std::fread(&segment, sizeof segment, 1, file.get()) != 1)
      return {};
    if (segment.p_type == PT_INTERP) return {};
  }
  return "is statically linked";
}

// A directory that goes when we go.
class TemporaryTree {
public:
  TemporaryTree() {
    std::error_code error;
    std::string name = std::filesystem::temp_directory_path(error).string() + "/aql-vgpu-XXXXXX";
    if (error) {
      errno = error.value();
    } else if (mkdtemp(name.data()) != nullptr) {
      path_ = name;
    }
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
  if (const std::string why = why_not_preloadable(library); !why.empty()) return complain(why);
  if (const std::string why = out_of_reach(program[0]); !why.empty()) {
    fmt::print(stderr,
               "aql vgpu: '{}' {}: a preload library is not loaded into it, so it will find no virtual GPU; programs that it "
               "starts may\n",
               program[0], why);
  }
  const TemporaryTree tree;
  if (tree.path().empty())
    return complain(fmt::format("no directory can be made below the temporary one ({}); TMPDIR names another: {}",
                                detail::env_text("TMPDIR").value_or("/tmp"), std::strerror(errno)));
  if (auto written = vkfd::write_topology(tree.path(), *gpus); !written) return complain(written.error().message());
  if (!options.trace.empty()) {
    std::FILE* file = std::fopen(options.trace.c_str(), "w"); // starts empty; all processes append
    if (file == nullptr)
      return complain(
          fmt::format("the trace cannot be written to '{}': {}; --trace names the file", options.trace, std::strerror(errno)));
    std::fclose(file);
    setenv("AQL_VKFD_TRACE", std::filesystem::absolute(options.trace).c_str(), 1);
  }
  setenv("AQL_VKFD_DEVICES", devices.c_str(), 1);
  setenv("AQL_VKFD_ROOT", tree.path().c_str(), 1);
  const auto others = detail::env_text("LD_PRELOAD"); // also ours, below another `aql vgpu`: it is loaded once
  const std::string preload = others ? fmt::format("{}:{}", library, *others) : library;

  const pid_t child = fork();
  if (child < 0) return complain(fmt::format("fork failed: {}", std::strerror(errno)));
  if (child == 0) {
    setenv("LD_PRELOAD", preload.c_str(), 1);
    std::vector<char*> arguments;
    for (const auto& text : program) arguments.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    fmt::print(stderr, "aql vgpu: '{}' cannot be run: {}\n", program[0], std::strerror(error));
    _exit(error == ENOENT ? 127 : 126);
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
