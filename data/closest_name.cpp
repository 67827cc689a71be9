#include "troupe/data/closest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace troupe {

namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (auto& letter : result)
    if (letter >= 'A' && letter <= 'Z')
      letter = static_cast<char>(letter - 'A' + 'a');
  return result;
}

} // namespace

size_t edit_distance(std::string_view left, std::string_view right) {
  // Row i holds the distances from the first i bytes of `left` to every prefix of `right`.
  std::vector<size_t> before_last(right.size() + 1), last(right.size() + 1), row(right.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= left.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      auto replaced = last[j - 1] + (left[i - 1] != right[j - 1]);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[right.size()];
}

std::string_view closest_name(std::string_view wanted, std::span<const std::string> names) {
  auto wanted_lower = lower_case(wanted);
  auto distance_max = std::max<size_t>(1, wanted.size() / 3);
  std::string_view best;
  auto best_distance = distance_max + 1;
  for (const auto& name : names) {
    auto longer = std::max(name.size(), wanted.size());
    auto shorter = std::min(name.size(), wanted.size());
    if (longer - shorter >= best_distance) // each byte too many is one edit
      continue;
    auto distance = edit_distance(wanted_lower, lower_case(name));
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

} // namespace troupe
