#include "data/records/trainer_table.hpp"

#include "data/text/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

struct column {
  std::string title;
  std::vector<std::string> cells; ///< by trainer
  bool is_shown = true;
};

template <class Value>
std::string text_of(const Value& x) {
  if constexpr (std::is_same_v<Value, double>) // milliseconds
    return fmt::format("{:.1f}", x);
  else
    return fmt::format("{}", x);
}

std::vector<column> columns_of(std::span<const trainer_record> trainers) {
  std::vector<column> result;
  const auto add = [&](size_t at, const std::string& title, const auto& value, none_is when_none) {
    if (at == result.size())
      result.push_back({title, {}, when_none == none_is::shown});
    result[at].cells.push_back(text_of(value));
    result[at].is_shown = result[at].is_shown || !is_none(value);
  };
  const bool one_process = std::ranges::all_of(
    trainers, [&](const trainer_record& one) { return one.process == trainers.front().process; });
  size_t class_count = 0;
  for (const auto& one : trainers) {
    add(0, "replica", (one_process ? "" : one.process + "/") + std::to_string(one.replica),
        none_is::shown);
    class_count = std::max(class_count, one.lags.size());
  }
  for (const auto asked : {none_is::shown, none_is::no_column})
    for (size_t first = result.size(); const auto& one : trainers)
      each_trainer_figure(one, [&, at = first](auto, const auto& value,
                                               none_is when_none = none_is::shown,
                                               const char* title = nullptr) mutable {
        if constexpr (!requires { value.data(); })
          if (title && when_none == asked)
            add(at++, title, value, when_none);
      });
  for (size_t i = 0, first = result.size(); i < class_count; ++i)
    for (const auto& one : trainers)
      add(first + i, "lag " + lag_class_name(i, class_count),
          i < one.lags.size() ? one.lags[i] : uint64_t{0}, none_is::no_column);
  for (size_t last = result.size(); const auto& one : trainers)
    add(last, "partition", one.partition, none_is::no_column);
  std::erase_if(result, [](const column& x) { return !x.is_shown; });
  return result;
}

} // namespace

std::string lag_class_name(size_t index, size_t class_count) {
  if (index < 2)
    return std::to_string(index);
  const auto first = uint64_t{1} << std::min<size_t>(index - 1, 63);
  if (index + 1 == class_count)
    return std::to_string(first) + "+";
  return std::to_string(first) + "-" + std::to_string(2 * first - 1);
}

std::string trainer_table(std::span<const trainer_record> trainers) {
  if (trainers.empty())
    return {};
  text_table result{0, {}};
  const auto columns = columns_of(trainers);
  for (size_t line = 0; line <= trainers.size(); ++line) {
    std::vector<std::string> cells;
    for (const auto& one : columns)
      cells.push_back(line == 0 ? one.title : one.cells[line - 1]);
    result.add(std::move(cells));
  }
  return result.text();
}

} // namespace troupe
