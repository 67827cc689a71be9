#include "data/table/class_finder.hpp"

#include "data/text/number_text.hpp"

#include <cmath>

namespace troupe {

namespace {

/// Above 2^53 neighbouring whole numbers share a double.
constexpr double exact_whole_max = 9007199254740992.0;

} // namespace

class_key key_of_text(std::string_view text) {
  return {0, text};
}

class_key key_of_number(std::string_view text, double value) {
  return {value, std::fabs(value) > exact_whole_max ? text : std::string_view()};
}

class_finder::class_finder(const std::vector<std::string>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    by_text_.emplace(classes[i], i);
    double value = 0;
    if (read_number(classes[i], value) == number_status::number)
      by_value_.emplace(value, i);
  }
  if (by_value_.size() != classes.size()) // text among them, or too large for a double to tell
    by_value_.clear();
}

std::optional<size_t> class_finder::find(std::string_view text) const {
  if (const auto found = by_text_.find(text); found != by_text_.end())
    return found->second;
  double value = 0;
  if (by_value_.empty() || read_number(text, value) != number_status::number)
    return std::nullopt;
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? std::nullopt : std::optional{found->second};
}

} // namespace troupe
