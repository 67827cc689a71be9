#include "troupe/app/schedule_schema.hpp"

#include <algorithm>

namespace troupe {

namespace {

using key = schema_key<schedule_options>;

// A schedule in `then` in `then` ...: more would be a mistake, and the reader recurses.
constexpr size_t then_depth_max = 8;

void set_then(schedule_options& target, const toml_value& value, const std::string& path,
              std::vector<complaint>& complaints) {
  const auto* table = value.as<toml_value::table>();
  if (!table) {
    complaints.push_back({path, value.at, "expected a table, got " + description(value),
                          "write then = { kind = \"cosine\", steps = 100 }"});
    return;
  }
  const auto dots = static_cast<size_t>(std::count(path.begin(), path.end(), '.'));
  if (dots > then_depth_max + 1) {
    complaints.push_back({path, value.at, "too many schedules in one another", {}});
    return;
  }
  schedule_options inner;
  reading result;
  read_table(schedule_schema(), path + ".", "", *table, inner, result);
  complaints.insert(complaints.end(), result.complaints.begin(), result.complaints.end());
  target.then = {inner};
}

key then_key() {
  key result{"then",
             "table",
             "none: constant",
             "warmup: the schedule after the rise, its steps counted from there",
             false,
             {},
             {}};
  result.set = set_then;
  result.get = [](const schedule_options& x) -> std::optional<std::string> {
    if (x.then.empty())
      return std::nullopt;
    return toml_text(x.then.front());
  };
  return result;
}

std::vector<key> make_schema() {
  using target = schedule_options;
  std::vector<key> keys;
  keys.push_back(choice_key<target, schedule_kind>(
    {"kind", "how the learning rate changes; steps are counted from 0"},
    [](auto& x) -> auto& { return x.kind; }));
  keys.push_back(whole_key<target>(
    {"steps", "step: steps of a stage; cosine: steps down to minimum; warmup: steps of the rise"},
    1, [](auto& x) -> auto& { return x.steps; }));
  keys.push_back(plain_key<target, double>(
    {"factor", "step: factor of each stage"}, "number in (0, 1]",
    [](auto& x) -> auto& { return x.factor; }));
  keys.push_back(plain_key<target, double>(
    {"minimum", "cosine: the last factor"}, "number in [0, 1]",
    [](auto& x) -> auto& { return x.minimum; }));
  keys.push_back(plain_key<target, double>(
    {"start", "warmup: the factor of step 0"}, "number in [0, 1]",
    [](auto& x) -> auto& { return x.start; }));
  keys.push_back(then_key());
  return keys;
}

} // namespace

const std::vector<key>& schedule_schema() {
  static const std::vector<key> keys = make_schema();
  return keys;
}

std::string toml_text(const schedule_options& schedule) {
  std::string result;
  for (const auto& key : schedule_schema())
    if (const auto text = key.get(schedule))
      result += (result.empty() ? "{ " : ", ") + key.path + " = " + *text;
  return result + " }";
}

} // namespace troupe
