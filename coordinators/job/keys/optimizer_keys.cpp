// Section optimizer: the rule of the update, and what is done to a gradient before it.

#include "coordinators/job/keys/job_keys.hpp"
#include "coordinators/job/keys/key_limits.hpp"
#include "coordinators/job/keys/kind_types.hpp"
#include "models/keys/key_table.hpp"
#include "models/kinds/added_tables.hpp"
#include "models/kinds/optimizer_kinds.hpp"

#include <algorithm>

namespace troupe {

namespace {

using optimizer_section = key_section<job, optimizer_options>;

/// A constant that some rules have: which ones, and their values, the table of rules says.
void add_constant(optimizer_section& optimizer, std::string_view name, const option_range& range,
                  std::string meaning, const std::string& hint) {
  const auto& constant = *std::ranges::find(optimizer_constants, name, &optimizer_constant::key);
  if (meaning.find(':') == meaning.npos)
    meaning = rules_with(constant.of_rule) + ": " + meaning;
  optimizer.add(std::string{name}, constant.member, range,
                {meaning, defaults_text(constant.of_rule), hint});
}

void add_constants(optimizer_section& optimizer) {
  optimizer.add("learning_rate", &optimizer_options::learning_rate, above(0),
                {"base rate, times the schedule's factor",
                 defaults_text(&rule_constants::learning_rate), "use a number such as 0.01"});
  optimizer.add("momentum", &optimizer_options::momentum, from_to_below(0, 1),
                {"sgd: 0 is none", "", "use a number such as 0.9"});
  optimizer.add("nesterov", &optimizer_options::nesterov,
                "sgd: looks ahead along the momentum, which must not be 0");
  const auto decay = from_to_below(0, 1);
  add_constant(optimizer, "beta1", decay, "decay of the first moment", "the paper's value is 0.9");
  add_constant(optimizer, "beta2", decay, "decay of the second moment",
               "the paper's value is 0.999");
  add_constant(optimizer, "rho", decay, "share of the mean square that a step keeps",
               "use the share that is kept, such as 0.9");
  add_constant(optimizer, "epsilon", above(0),
               "all but sgd, rprop, lbfgs: keeps from dividing by 0",
               "use a small number such as 1e-8");
  add_constant(optimizer, "weight_decay", at_least(0),
               "a step takes this times the rate off each parameter", "use a number such as 0.01");
  add_constant(optimizer, "damping", at_least(0), "more makes steps shorter and surer",
               "use a small number such as 1e-3");
  optimizer.add("history_size", &optimizer_options::history_size, within(1, history_size_max),
                "lbfgs: moves it remembers; each takes twice the model's memory");
}

void add_gradient_changes(optimizer_section& optimizer) {
  optimizer.add("l1", &optimizer_options::l1, at_least(0),
                {"penalty on the size of weights, not of biases; 0 is none", "",
                 "use a small number such as 1e-4, or 0 for none"});
  optimizer.add("l2", &optimizer_options::l2, at_least(0),
                {"penalty on half the square of weights, not of biases; 0 is none", "",
                 "use a small number such as 1e-4, or 0 for none"});
  optimizer.add("clip_value", &optimizer_options::clip_value, at_least(0),
                {"keeps each element of the mean gradient within it; 0 is off", "",
                 "use a number such as 1, or 0 for none"});
  optimizer.add("clip_norm", &optimizer_options::clip_norm, at_least(0),
                {"scales a mean gradient of a greater norm down to it; 0 is off", "",
                 "use a number such as 1, or 0 for none"});
}

void add_schedule(job_key_rows& out) {
  for (const auto& inner : schedule_keys())
    out.push_back({inner, "optimizer.schedule." + inner.path, inner.type,
                   [inner = inner.member](job& y) { return inner(y.optimizer.schedule); }});
}

void add_plateau(job_key_rows& out) {
  using y = plateau_options;
  key_section<job, y> plateau{out, "optimizer.plateau",
                              [](job& of) -> y& { return of.optimizer.plateau; }};
  plateau.add("patience", &y::patience, within(1, epochs_max),
              {"evaluations without improvement after which the rate is lowered", "off"});
  plateau.add("rule", &y::rule, "of the application: lowers the rate when it says so");
  plateau.add("factor", &y::factor, option_range{0, 1, true, true, {}},
              {"of the rate each time it is lowered", "", "use a factor such as 0.1"});
  plateau.add(
    "tolerance", &y::tolerance, at_least(0),
    {"what a loss has to be lower by to count as improved", "", "use a small number such as 1e-4"});
  plateau.add("minimum", &y::minimum, within(0, 1),
              {"share of the rate: a reduction that would go below it is left out", "",
               "use a share of the learning rate such as 0.01"});
}

} // namespace

void add_optimizer_keys(job_key_rows& out, bool with_options) {
  optimizer_section optimizer{out, "optimizer", &job::optimizer};
  optimizer.add(
    "kind",
    std::make_shared<kind_type<optimizer_options, optimizer_kind, optimizer_table>>(optimizers()),
    "rule of the update");
  add_constants(optimizer);
  add_gradient_changes(optimizer);
  if (with_options) {
    std::vector<std::string> constants;
    for (const auto& constant : optimizer_constants)
      constants.emplace_back(constant.key);
    add_options<optimizer_table, job>(
      out, "optimizer", optimizers(), [](job& x) -> component& { return x.optimizer.own; },
      constants);
  }
  add_schedule(out);
  add_plateau(out);
  if (with_options)
    add_options<result_table, job>(out, "optimizer.plateau", result_rules(),
                                   [](job& x) -> component& { return x.optimizer.plateau.own; });
}

namespace {

using schedule_rows = std::vector<key_row<schedule_options>>;
using schedule_list = std::vector<schedule_options>;

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
class schedules_type final : public type_for<schedule_list> {
public:
  explicit schedules_type(bool is_list) : is_list_(is_list) {}
  std::string words() const override { return is_list_ ? "list of tables" : "table"; }
  void read(schedule_list& out, const toml_value& value, const std::string& path,
            complaints& found) const override {
    const auto* list = value.as<toml_value::list>();
    if (is_list_ && !list) {
      auto refused = no_list("tables", value);
      refused.hint = "write parts = [{ kind = \"linear\", steps = 100 }, { kind = \"constant\" }]";
      accepted(refused, value, path, found);
      return;
    }
    schedule_list result(is_list_ ? list->size() : 1);
    for (size_t i = 0; i < result.size(); ++i)
      if (!read_schedule(is_list_ ? (*list)[i] : value,
                         is_list_ ? path + '[' + std::to_string(i) + ']' : path, result[i], found))
        return;
    out = result;
  }
  std::optional<std::string> text(const schedule_list& x) const override {
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
  add_options<schedule_table, x>(out, "", schedules(), [](x& y) -> component& { return y.own; });
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
