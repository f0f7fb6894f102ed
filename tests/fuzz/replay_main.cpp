// Runs a fuzz target without libFuzzer: every file of the folders given, whole, cut and mutated in a way that is the same on
// every run. Exit status 0 if nothing crashed; a crash is a crash (build with sanitizers to see more).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutations = 400; // a file

// xorshift64*: fixed seed, so that a failure repeats.
struct Random {
  std::uint64_t state = 0x9e3779b97f4a7c15U;
  std::uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dU;
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

void run(const std::vector<std::uint8_t>& bytes) { LLVMFuzzerTestOneInput(bytes.data(), bytes.size()); }

void mutate(std::vector<std::uint8_t>& bytes, Random& random) {
  constexpr std::uint64_t kEdges[] = {
      0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff};
  for (std::size_t changes = 1 + random.below(4); changes != 0 && !bytes.empty(); --changes) {
    const std::size_t at = random.below(bytes.size());
    switch (random.below(4)) {
    case 0: bytes[at] ^= static_cast<std::uint8_t>(1U << random.below(8)); break;
    case 1: bytes[at] = static_cast<std::uint8_t>(random.next()); break;
    case 2: { // a length, offset or count at one of its edges
      const std::uint64_t edge = kEdges[random.below(std::size(kEdges))];
      std::memcpy(bytes.data() + at, &edge, std::min<std::size_t>(bytes.size() - at, 1U << random.below(4)));
      break;
    }
    default: bytes.resize(at); break;
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  std::size_t files = 0, inputs = 0;
  Random random;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], error)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      const std::vector<std::uint8_t> bytes(text.begin(), text.end());
      run(bytes);
      ++files;
      ++inputs;
      for (int m = 0; m < kMutations; ++m, ++inputs) {
        auto changed = bytes;
        mutate(changed, random);
        changed.shrink_to_fit(); // so that a sanitizer sees one byte too far
        run(changed);
      }
    }
  }
  std::printf("%zu files, %zu inputs\n", files, inputs);
  if (files == 0) {
    std::fprintf(stderr, "no corpus files found\n");
    return 1;
  }
  return 0;
}
