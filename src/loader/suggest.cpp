// Near matches for a name that was not found.

#include <algorithm>
#include <numeric>
#include <utility>

#include "loader/code_object_state.hpp"

namespace aql::loader {
namespace {

constexpr std::size_t kLongest = 200; // longer names are compared by substring only
constexpr std::size_t kShown = 5;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

std::string join(const std::vector<std::string_view>& names, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count && i < names.size(); ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return text;
}

} // namespace

std::string suggest(std::string_view asked, const std::vector<std::string_view>& names) {
  if (names.empty()) return "; the object has none";
  std::vector<std::pair<std::size_t, std::size_t>> near; // distance, index
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = names[i];
    const bool contains = !asked.empty() && (name.find(asked) != std::string_view::npos ||
                                             (!name.empty() && asked.find(name) != std::string_view::npos));
    if (contains)
      near.emplace_back(0, i);
    else if (!asked.empty() && asked.size() <= kLongest && name.size() <= kLongest) {
      const std::size_t distance = edit_distance(asked, name);
      if (distance <= std::max<std::size_t>(1, asked.size() / 3)) near.emplace_back(distance, i);
    }
  }
  std::ranges::sort(near);
  std::vector<std::string_view> best;
  for (const auto& [distance, i] : near) best.push_back(names[i]);
  if (!best.empty()) return "; did you mean: " + join(best, kShown) + "?";
  return "; the object has: " + join(names, kShown) +
         (names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

} // namespace aql::loader
