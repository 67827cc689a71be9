#include "troupe/app/job/schedule_schema.hpp"

#include <algorithm>

namespace troupe {

namespace {

using key = schema_key<schedule_options>;

constexpr const char* schedule_section = "optimizer.schedule.";

// A schedule in `then` in `then` ...: more would be a mistake, and the reader recurses.
constexpr size_t then_depth_max = 8;

// Reads one table into `target`; the keys inside complain about themselves.
bool read_schedule(const toml_value& value, const std::string& path, schedule_options& target,
                   std::vector<complaint>& complaints) {
  const auto* table = value.as<toml_value::table>();
  if (!table) {
    complaints.push_back({path, value.at, "expected a table, got " + description(value),
                          "write { kind = \"cosine\", steps = 100 }"});
    return false;
  }
  const auto dots = static_cast<size_t>(std::count(path.begin(), path.end(), '.'));
  if (dots > then_depth_max + 1) {
    complaints.push_back({path, value.at, "too many schedules in one another", {}});
    return false;
  }
  reading result;
  read_table(schedule_schema(), path + ".", "", *table, target, result);
  complaints.insert(complaints.end(), result.complaints.begin(), result.complaints.end());
  return true;
}

void set_then(schedule_options& target, const toml_value& value, const std::string& path,
              std::vector<complaint>& complaints) {
  schedule_options inner;
  if (read_schedule(value, path, inner, complaints))
    target.then = {inner};
}

void set_parts(schedule_options& target, const toml_value& value, const std::string& path,
               std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  if (!list) {
    complaints.push_back({path, value.at, "expected a list of tables, got " + description(value),
                          "write parts = [{ kind = \"linear\", steps = 100 }, "
                          "{ kind = \"constant\" }]"});
    return;
  }
  std::vector<schedule_options> parts;
  for (size_t i = 0; i < list->size(); ++i) {
    schedule_options part;
    if (!read_schedule((*list)[i], path + '[' + std::to_string(i) + ']', part, complaints))
      return;
    parts.push_back(part);
  }
  target.parts = parts;
}

void set_milestones(schedule_options& target, const toml_value& value, const std::string& path,
                    std::vector<complaint>& complaints) {
  const auto* list = value.as<toml_value::list>();
  if (!list) {
    complaints.push_back({path, value.at, "expected a list of integers, got " + description(value),
                          "write milestones = [100, 200]"});
    return;
  }
  const auto& bounds = bounds_of("optimizer.schedule.milestones");
  std::vector<uint64_t> milestones;
  for (const auto& element : *list) {
    uint64_t step = 0;
    if (!detail::accepted(read_whole(element, bounds, step), element, path, complaints))
      return;
    milestones.push_back(step);
  }
  target.milestones = milestones;
}

key then_key() {
  key result{"then",
             "table",
             "none: constant",
             "warmup: the schedule after the rise, its steps counted from there",
             false,
             {},
             {},
             copier<schedule_options>([](auto& x) -> auto& { return x.then; })};
  result.set = set_then;
  result.get = [](const schedule_options& x) -> std::optional<std::string> {
    if (x.then.empty())
      return std::nullopt;
    return toml_text(x.then.front());
  };
  return result;
}

std::string text_of_parts(const std::vector<schedule_options>& parts) {
  std::string result;
  for (const auto& part : parts)
    result += (result.empty() ? "[" : ", ") + toml_text(part);
  return result + ']';
}

key parts_key() {
  key result{"parts", "list of tables",
             "none",  "chained: schedules that are multiplied; sequential: that follow one another",
             false,   {},
             {},      copier<schedule_options>([](auto& x) -> auto& { return x.parts; })};
  result.set = set_parts;
  result.get = [](const schedule_options& x) {
    return x.parts.empty() ? std::nullopt : std::optional{text_of_parts(x.parts)};
  };
  return result;
}

key milestones_key() {
  key result{"milestones",
             "list of integers, each " + bounds_text(bounds_of("optimizer.schedule.milestones")),
             "none",
             "multi-step: steps at which factor applies; sequential: first step of each later part",
             false,
             {},
             {},
             copier<schedule_options>([](auto& x) -> auto& { return x.milestones; })};
  result.set = set_milestones;
  result.get = [](const schedule_options& x) {
    return x.milestones.empty() ? std::nullopt : std::optional{toml_text(x.milestones)};
  };
  return result;
}

std::vector<key> make_schema() {
  using target = schedule_options;
  std::vector<key> result;
  result.push_back(choice_key<target, schedule_kind>(
    {"kind", "how the learning rate changes; steps are counted from 0"},
    [](auto& x) -> auto& { return x.kind; }));
  const auto share = [&](const char* name, const char* meaning, const char* type, auto access) {
    result.push_back(plain_key<target, double>({name, meaning}, type, access));
  };
  result.push_back(whole_key<target>(
    {"steps", "step: of a stage; warmup: of the rise; others: see the table of schedules",
     "those of the run, or of its part; step, warmup: none"},
    [](auto& x) -> auto& { return x.steps; }, schedule_section));
  share(
    "factor", "step, multi-step: factor of each stage; exponential: of `steps` steps",
    "number in (0, 1]", [](auto& x) -> auto& { return x.factor; });
  share(
    "minimum", "cosine, polynomial: the last factor", "number in [0, 1]",
    [](auto& x) -> auto& { return x.minimum; });
  share(
    "start", "warmup, linear: the factor of step 0", "number in [0, 1]",
    [](auto& x) -> auto& { return x.start; });
  share(
    "end", "linear: the last factor", "number in [0, 1]", [](auto& x) -> auto& { return x.end; });
  share(
    "power", "polynomial: 1 is a straight line", "number > 0",
    [](auto& x) -> auto& { return x.power; });
  result.push_back(milestones_key());
  result.push_back(parts_key());
  result.push_back(then_key());
  return result;
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
