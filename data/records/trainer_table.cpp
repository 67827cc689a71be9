#include "troupe/data/records/trainer_table.hpp"

#include "troupe/data/text/json_value.hpp"
#include "troupe/data/text/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

/// The numbers of a record, once for reading and writing.
template <class Record, class Function>
void for_each_number(Record& x, Function function) {
  function("replica", x.replica);
  function("results", x.results);
  function("applied", x.applied);
  function("discarded", x.discarded);
  function("refused", x.refused);
  function("lost", x.lost);
  function("last_count", x.last_count);
  function("last_by_ms", x.last_by_ms);
  function("last_by_max_ms", x.last_by_max_ms);
  function("waited_ms", x.waited_ms);
  function("computed_ms", x.computed_ms);
  function("network_ms", x.network_ms);
  function("lags", x.lags);
}

json object_of(const trainer_record& x) {
  json result{{"process", x.process}};
  if (!x.portion.empty())
    result["portion"] = x.portion;
  for_each_number(x, [&](const char* key, const auto& value) { result[key] = value; });
  return result;
}

trainer_record record_of(const json& object) {
  trainer_record result;
  result.process = object.value("process", "");
  result.portion = object.value("portion", "");
  for_each_number(result, [&](const char* key, auto& value) {
    if (object.contains(key))
      read_value_of(object.at(key), value);
  });
  return result;
}

struct column {
  std::string title;
  std::vector<std::string> cells; ///< by trainer
  bool is_shown = true;
};

std::string text_of(uint64_t count) {
  return std::to_string(count);
}

std::string text_of(double milliseconds) {
  return fmt::format("{:.1f}", milliseconds);
}

template <class Figure>
column column_of(const std::string& title, std::span<const trainer_record> trainers,
                 Figure figure) {
  column result{title, {}, true};
  for (const auto& one : trainers)
    result.cells.push_back(text_of(figure(one)));
  return result;
}

/// The same, shown when somebody has some of it.
template <class Figure>
column rare_column(const std::string& title, std::span<const trainer_record> trainers,
                   Figure figure) {
  auto result = column_of(title, trainers, figure);
  result.is_shown = std::ranges::any_of(
    trainers, [&](const trainer_record& one) { return figure(one) > uint64_t{0}; });
  return result;
}

column names_of(std::span<const trainer_record> trainers) {
  const bool one_process = std::ranges::all_of(
    trainers, [&](const trainer_record& one) { return one.process == trainers.front().process; });
  column result{"replica", {}, true};
  for (const auto& one : trainers)
    result.cells.push_back((one_process ? "" : one.process + "/") + std::to_string(one.replica));
  return result;
}

column portions_of(std::span<const trainer_record> trainers) {
  column result{"portion", {}, false};
  for (const auto& one : trainers) {
    result.cells.push_back(one.portion);
    result.is_shown = result.is_shown || !one.portion.empty();
  }
  return result;
}

std::vector<column> columns_of(std::span<const trainer_record> trainers) {
  using record = trainer_record;
  std::vector<column> result{
    names_of(trainers),
    column_of("results", trainers, [](const record& x) { return x.results; }),
    column_of("last", trainers, [](const record& x) { return x.last_count; }),
    column_of("by ms", trainers, [](const record& x) { return x.last_by_ms; }),
    column_of("most ms", trainers, [](const record& x) { return x.last_by_max_ms; }),
    column_of("waited ms", trainers, [](const record& x) { return x.waited_ms; }),
    column_of("computed ms", trainers, [](const record& x) { return x.computed_ms; }),
    column_of("network ms", trainers, [](const record& x) { return x.network_ms; }),
    rare_column("applied", trainers, [](const record& x) { return x.applied; }),
    rare_column("discarded", trainers, [](const record& x) { return x.discarded; }),
    rare_column("refused", trainers, [](const record& x) { return x.refused; }),
    rare_column("lost", trainers, [](const record& x) { return x.lost; })};
  size_t class_count = 0;
  for (const auto& one : trainers)
    class_count = std::max(class_count, one.lags.size());
  for (size_t i = 0; i < class_count; ++i)
    result.push_back(
      rare_column("lag " + lag_class_name(i, class_count), trainers,
                  [i](const record& x) { return i < x.lags.size() ? x.lags[i] : uint64_t{0}; }));
  result.push_back(portions_of(trainers));
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

std::string trainers_json(std::span<const trainer_record> trainers) {
  auto result = json::array();
  for (const auto& one : trainers)
    result.push_back(object_of(one));
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::vector<trainer_record>> read_trainers(std::string_view text) {
  std::vector<trainer_record> result;
  try {
    for (const auto& object : json::parse(text))
      result.push_back(record_of(object));
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return result;
}

} // namespace troupe
