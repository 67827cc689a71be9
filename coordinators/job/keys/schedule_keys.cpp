// The keys of a learning-rate schedule: `optimizer.schedule`, and the schedules inside its `then` and
// `parts`.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "models/keys/key_table.hpp"

#include <algorithm>

namespace troupe {

namespace {

using schedule_rows = std::vector<key_row<schedule_options>>;
using schedules = std::vector<schedule_options>;

// A schedule in `then` in `then` ...: more would be a mistake, and the reader recurses.
constexpr size_t then_depth_max = 8;

/// Reads one table into `target`; the keys inside complain about themselves. Whether it is one.
bool read_schedule(const toml_value& value, const std::string& path, schedule_options& target,
                   complaints& found) {
  const auto* table = value.as<toml_value::table>();
  if (!table) {
    auto refused = wrong_type("a table", value);
    refused.hint = "write { kind = \"cosine\", steps = 100 }";
    return accepted(refused, value, path, found);
  }
  const auto dots = static_cast<size_t>(std::ranges::count(path, '.'));
  if (dots > then_depth_max + 1) {
    found.push_back({path, value.at, "too many schedules in one another", {}});
    return false;
  }
  reading result;
  read_table(schedule_keys(), path + ".", "", *table, target, result);
  found.insert(found.end(), result.found.begin(), result.found.end());
  return true;
}

/// One that follows, as a table, or several in a list.
class schedules_type final : public type_for<schedules> {
public:
  explicit schedules_type(bool is_list) : is_list_(is_list) {}
  std::string words() const override { return is_list_ ? "list of tables" : "table"; }
  void read(schedules& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    if (is_list_ && !list) {
      auto refused = no_list("tables", value);
      refused.hint = "write parts = [{ kind = \"linear\", steps = 100 }, { kind = \"constant\" }]";
      accepted(refused, value, path, found);
      return;
    }
    schedules result(is_list_ ? list->size() : 1);
    for (size_t i = 0; i < result.size(); ++i)
      if (!read_schedule(is_list_ ? (*list)[i] : value,
                         is_list_ ? path + '[' + std::to_string(i) + ']' : path, result[i], found))
        return;
    out = result;
  }
  std::optional<std::string> text(const schedules& x) const override {
    if (x.empty())
      return std::nullopt;
    if (!is_list_)
      return toml_text(x.front());
    std::string result;
    for (const auto& part : x)
      result += (result.empty() ? "[" : ", ") + toml_text(part);
    return result + ']';
  }

private:
  bool is_list_;
};

schedule_rows make_schedule_rows() {
  using x = schedule_options;
  schedule_rows out;
  key_section<x> schedule{out, "", [](x& y) -> x& { return y; }};
  schedule.add("kind", &x::kind, "how the learning rate changes; steps are counted from 0");
  schedule.add("steps", &x::steps, within(1, steps_max),
               {"step: of a stage; warmup: of the rise; others: see the table of schedules",
                "those of the run, or of its part; step, warmup: none"});
  schedule.add("factor", &x::factor, option_range{0, 1, true, false, {}},
               {"step, multi-step: factor of each stage; exponential: of `steps` steps", "",
                "use a factor such as 0.1"});
  schedule.add(
    "minimum", &x::minimum, within(0, 1),
    {"cosine, polynomial: the last factor", "", "use a share of the learning rate such as 0.01"});
  schedule.add(
    "start", &x::start, within(0, 1),
    {"warmup, linear: the factor of step 0", "", "use a share of the learning rate such as 0.1"});
  schedule.add("end", &x::end, within(0, 1),
               {"linear: the last factor", "", "use a share of the learning rate such as 0.1"});
  schedule.add(
    "power", &x::power, above(0),
    {"polynomial: 1 is a straight line", "", "use a number such as 2; 1 is a straight line"});
  schedule.add(
    "milestones", &x::milestones, whole_list(within(1, steps_max), "write milestones = [100, 200]"),
    {"multi-step: steps at which factor applies; sequential: first step of each later part",
     "none"});
  schedule.add(
    "parts", &x::parts, std::make_shared<schedules_type>(true),
    {"chained: schedules that are multiplied; sequential: that follow one another", "none"});
  schedule.add(
    "then", &x::then, std::make_shared<schedules_type>(false),
    {"warmup: the schedule after the rise, its steps counted from there", "none: constant"});
  return out;
}

} // namespace

const schedule_rows& schedule_keys() {
  static const schedule_rows result = make_schedule_rows();
  return result;
}

std::string toml_text(const schedule_options& schedule) {
  std::string result;
  for (const auto& key : schedule_keys())
    if (const auto text = key.get(schedule))
      result += (result.empty() ? "{ " : ", ") + key.path + " = " + *text;
  return result + " }";
}

} // namespace troupe
