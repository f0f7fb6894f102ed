#pragma once
// Ranges of the program's own memory that GPUs were given, so that munmap and its like know whether they matter.
// Thread safety: all members may be called from any thread; the lock is a leaf and is held only for the look.

#include <cstdint>
#include <map>
#include <mutex>

namespace aql::vkfd {

class UserRanges {
public:
  void add(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock{mutex_};
    ranges_.emplace(begin, end);
  }
  void remove(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock{mutex_};
    for (auto [it, last] = ranges_.equal_range(begin); it != last; ++it) {
      if (it->second != end) continue;
      ranges_.erase(it);
      return;
    }
  }
  [[nodiscard]] bool overlaps(std::uint64_t begin, std::uint64_t end) const {
    const std::lock_guard lock{mutex_};
    for (const auto& [b, e] : ranges_) {
      if (b >= end) return false;
      if (e > begin) return true;
    }
    return false;
  }

private:
  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, std::uint64_t> ranges_;
};

} // namespace aql::vkfd
