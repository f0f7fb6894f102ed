#pragma once
// Compiles kernels at test time with the newest clang of the distribution, and keeps the results in the build directory (by a
// hash of tool, options and source), because every test case is its own process.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/tools.hpp"

namespace aql::test {

using Bytes = std::vector<std::byte>;

inline Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Bytes bytes(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) bytes[i] = static_cast<std::byte>(text[i]);
  return bytes;
}

inline void write_bytes(const std::string& path, const void* data, std::size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

struct CodeSource {
  std::string_view text;
  std::string_view target = "gfx942";
  std::string_view options = "-O3";
  std::string_view extension = ".c"; // ".c", ".cl", ".s"
};

struct Compiled {
  bool ok = false;
  std::string path;     // the code object
  std::string messages; // what clang said (remarks too)
  [[nodiscard]] Bytes bytes() const { return read_bytes(path); }
};

// A target's compiler: none if no clang was found. gfx950 needs clang 20, which is the oldest that is looked for by number.
inline const std::optional<std::string>& kernel_compiler() {
  static const std::optional<std::string> found = find_tool("clang");
  return found;
}

// `flags` and the source decide the result: `stem_name`-<hash>.<suffix> in the build directory.
inline Compiled compile_cached(std::string_view stem_name, const std::string& flags, std::string_view text, std::string_view extension, std::string_view suffix) {
  Compiled result;
  if (!kernel_compiler()) return result;
  std::uint64_t hash = 0xcbf29ce484222325U; // FNV-1a
  for (const auto& part : {*kernel_compiler(), flags, std::string(text), std::string(extension)}) {
    for (const char c : part + '\n') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  const std::filesystem::path cache = std::filesystem::path(AQL_TEST_KERNEL_DIR) / "compiled";
  std::error_code ignored;
  std::filesystem::create_directories(cache, ignored);
  const std::string stem = (cache / (std::string(stem_name) + "-" + std::to_string(hash))).string();
  result.path = stem + std::string(suffix);
  if (!std::filesystem::exists(result.path)) {
    const TempDir work; // others may compile the same at the same time: build apart, then rename
    const std::string input = work.file("kernel") + std::string(extension);
    write_bytes(input, text.data(), text.size());
    const std::string made = stem + "." + std::to_string(::getpid());
    const auto run = run_command(*kernel_compiler() + flags + " " + input + " -o " + made);
    write_bytes(made + ".txt", run.output.data(), run.output.size());
    result.messages = run.output;
    if (run.status != 0) {
      std::filesystem::remove(made + ".txt", ignored);
      return result;
    }
    std::filesystem::rename(made + ".txt", stem + ".txt", ignored);
    std::filesystem::rename(made, result.path, ignored);
  }
  const Bytes messages = read_bytes(stem + ".txt");
  result.messages.assign(reinterpret_cast<const char*>(messages.data()), messages.size());
  result.ok = true;
  return result;
}

inline Compiled compile_code_object(const CodeSource& source) {
  std::string language;
  if (source.extension == ".cl") language = " -cl-std=CL2.0 -Xclang -finclude-default-header";
  return compile_cached(source.target,
                        " --target=amdgcn-amd-amdhsa -mcpu=" + std::string(source.target) + " -nogpulib -fuse-ld=lld " + std::string(source.options) + language,
                        source.text, source.extension, ".co");
}

// A C source as a shared library for this host, by the same compiler.
inline Compiled compile_for_host(std::string_view text, std::string_view options) {
  return compile_cached("host", " -shared -fPIC " + std::string(options), text, ".c", ".so");
}

} // namespace aql::test
