#pragma once
// Programs of the distribution that tests compare us with: found by version at run time, never by a hard-coded path.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

namespace aql::test {

// The newest NAME-NN in PATH (NN from 40 down to `oldest`), else plain NAME; nothing if there is none.
inline std::optional<std::string> find_tool(std::string_view name, int oldest = 20) {
  const char* path = std::getenv("PATH");
  const std::string dirs = path == nullptr ? "/usr/bin" : path;
  const auto search = [&](const std::string& file) -> std::optional<std::string> {
    for (std::size_t begin = 0; begin <= dirs.size();) {
      const std::size_t end = std::min(dirs.find(':', begin), dirs.size());
      const std::string candidate = dirs.substr(begin, end - begin) + "/" + file;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
      begin = end + 1;
    }
    return std::nullopt;
  };
  for (int version = 40; version >= oldest; --version)
    if (auto found = search(std::string{name} + "-" + std::to_string(version))) return found;
  return search(std::string{name});
}

struct RunOutput {
  int status = -1;    // exit status, or -1 when the command did not end by itself
  std::string output; // standard output and standard error
};

inline RunOutput run_command(const std::string& command) {
  RunOutput result;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) result.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

// A directory that goes away with the test.
class TempDir {
public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "aql-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

} // namespace aql::test
