#include "models/keys/closest_name.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

void make_lower_case(std::string& text) {
  for (auto& letter : text)
    if (letter >= 'A' && letter <= 'Z')
      letter = static_cast<char>(letter - 'A' + 'a');
}

// Row i holds the distances from the first i bytes of one word to every prefix of another. The rows
// stay from word to word.
class word_ruler {
public:
  // The distance, or `limit` when it is not below that. A row follows from the one before it and,
  // at the cost of one more edit, from the one before that, which is nearer by one edit at most:
  // once a row is far enough, so is the end.
  size_t distance_below(size_t limit, std::string_view left, std::string_view right) {
    for (auto* row : {&before_last_, &last_, &row_})
      row->resize(right.size() + 1);
    std::iota(row_.begin(), row_.end(), size_t{0});
    for (size_t i = 1; i <= left.size(); ++i) {
      std::swap(before_last_, last_);
      std::swap(last_, row_);
      if (fill_row(i, left, right) >= limit)
        return limit;
    }
    return std::min(limit, row_[right.size()]);
  }

private:
  // Gives the least of the row.
  size_t fill_row(size_t i, std::string_view left, std::string_view right) {
    size_t nearest = row_[0] = i;
    for (size_t j = 1; j <= right.size(); ++j) {
      auto distance = last_[j - 1] + (left[i - 1] != right[j - 1]);
      distance = std::min({distance, last_[j] + 1, row_[j - 1] + 1});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
        distance = std::min(distance, before_last_[j - 2] + 1);
      row_[j] = distance;
      nearest = std::min(nearest, distance);
    }
    return nearest;
  }

  std::vector<size_t> before_last_, last_, row_;
};

} // namespace

size_t edit_distance(std::string_view left, std::string_view right) {
  return word_ruler{}.distance_below(left.size() + right.size() + 1, left, right);
}

std::string_view closest_name(std::string_view wanted, std::span<const std::string> names) {
  std::string wanted_lower(wanted);
  make_lower_case(wanted_lower);
  // Of a single letter all would have to change.
  auto distance_max = wanted.size() < 2 ? 0 : std::max<size_t>(1, wanted.size() / 3);
  std::string name_lower;
  word_ruler ruler;
  std::string_view best;
  auto best_distance = distance_max + 1;
  for (const auto& name : names) {
    auto longer = std::max(name.size(), wanted.size());
    auto shorter = std::min(name.size(), wanted.size());
    if (longer - shorter >= best_distance) // each byte too many is one edit
      continue;
    make_lower_case(name_lower = name);
    auto distance = ruler.distance_below(best_distance, wanted_lower, name_lower);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string near{closest_name(wanted, names)};
  return near.empty() ? std::string{} : "did you mean '" + near + "'?";
}

} // namespace troupe
